/* Refuses every call with what its first argument is: the kind, and the fields that say it. Every slice and text that
 * is empty has a null pointer. */

#include "onnxport.h"

#include <stdio.h>

static const uint64_t host_prints[] = ONNXPORT_LOWERING_HOST_LAYOUT;

static uint32_t lower(uint32_t index, const onnxport_table *table, onnxport_lowering_context cx) {
    (void)index;
    if (!onnxport_has(table, host_prints, ONNXPORT_LOWERING_HOST_REFUSE)) return ONNXPORT_STATUS_INVALID;
    const onnxport_lowering_host *host = table->pointer;
    onnxport_lowering_call_view call = {0};
    if (host->call(cx, &call) != ONNXPORT_STATUS_OK) return ONNXPORT_STATUS_INVALID;
    /* For plugins of older headers, which do not take it. */
    if (call.elements.data == NULL || call.args.data[0].text.data == NULL) {
        host->refuse(cx, (onnxport_str){0}, (onnxport_str)ONNXPORT_TEXT("a null pointer"), (onnxport_str){0});
        return ONNXPORT_STATUS_REFUSED;
    }
    const onnxport_lowering_arg_record *arg = &call.args.data[0];
    char text[200];
    int length = snprintf(text, sizeof text, "kind %u, int %lld, float %g, imaginary %g, len %u, text %.*s", arg->kind,
                          (long long)arg->int_, arg->float_, arg->imaginary, arg->len, (int)arg->text.length,
                          (const char *)arg->text.data);
    host->refuse(cx, (onnxport_str){0}, (onnxport_str){(const uint8_t *)text, (size_t)length}, (onnxport_str){0});
    return ONNXPORT_STATUS_REFUSED;
}

/* The schemas are the test's: one operator each, in the order of its list. */
static const onnxport_lowering_entry entries[] = {
#define OPERATOR(name, schema) {.target = ONNXPORT_TEXT("kinds." name ".default"), .min_opset = 1, .max_opset = UINT32_MAX},
#include "operators.h"
#undef OPERATOR
};

static const char schemas[] =
#define OPERATOR(name, schema) "kinds::" name "(" schema " a) -> Tensor\n"
#include "operators.h"
#undef OPERATOR
    ;

static const onnxport_lowering_table lowerings = {
    .schemas = {(const uint8_t *)schemas, sizeof schemas - 1},
    .entries = {entries, sizeof entries / sizeof *entries},
    .lower = lower,
};

static const onnxport_str provided[] = {ONNXPORT_TEXT(ONNXPORT_LOWERING_INTERFACE)};

static onnxport_slice_about_option_entry options(void) { return (onnxport_slice_about_option_entry){0}; }

static uint32_t configure(onnxport_slice_executor_option_record given, const onnxport_executor_sink *sink) {
    (void)sink;
    return given.length == 0 ? ONNXPORT_STATUS_OK : ONNXPORT_STATUS_REFUSED;
}

static const onnxport_about_table about = {
    .id = ONNXPORT_TEXT("kinds"),
    .version = ONNXPORT_TEXT("0.1.0"),
    .contract = {ONNXPORT_CONTRACT_MAJOR, ONNXPORT_CONTRACT_MINOR},
    .needs = {1, 0},
    .provides = {provided, 1},
    .options = options,
    .configure = configure,
};

static const uint64_t about_prints[] = ONNXPORT_ABOUT_TABLE_LAYOUT;
static const uint64_t lowering_prints[] = ONNXPORT_LOWERING_TABLE_LAYOUT;

#define IS(text, literal) onnxport_is(text, literal, sizeof(literal) - 1)

static onnxport_table query(onnxport_str interface) {
    if (IS(interface, ONNXPORT_ABOUT_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(about, about_prints);
    if (IS(interface, ONNXPORT_LOWERING_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(lowerings, lowering_prints);
    return (onnxport_table){0};
}

static uint32_t attach(const onnxport_host_root *host) {
    (void)host;
    return ONNXPORT_STATUS_OK;
}

ONNXPORT_ROOT(query, attach);
