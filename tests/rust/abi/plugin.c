/* A plugin in C with most interfaces. Macros build it as another revision of the contract would have been:
 *
 *   NEWER    its tables have a field more, and its minor version is higher
 *   OLDER    its tables end before their optional fields
 *   MAJOR    its major version is higher
 *   SHORT    its table of lowerings lacks the last field
 *   CHANGED  a field of its table of lowerings has another layout
 */

#include "onnxport.h"

#include <stdlib.h>
#include <string.h>

#define F32 1
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TEXT(literal) ((onnxport_str)ONNXPORT_TEXT(literal))
#define IS(text, literal) onnxport_is(text, literal, sizeof(literal) - 1)

static const uint64_t host_prints[] = ONNXPORT_LOWERING_HOST_LAYOUT;

/* The option that a user can set. */
static float factor = 2;

static uint32_t plain(const onnxport_lowering_host *host, onnxport_lowering_context cx, uint32_t x, onnxport_str op,
                      const uint32_t *more) {
    const uint32_t inputs[] = {x, more == NULL ? x : *more};
    onnxport_lowering_node_record node = {0};
    node.op = op;
    node.inputs = (onnxport_slice_uint32){inputs, more == NULL ? 1 : 2};
    uint32_t output = ONNXPORT_LOWERING_ABSENT;
    uint32_t answer = host->emit(cx, &node, (onnxport_slice_mut_uint32){&output, 1});
    return answer == ONNXPORT_STATUS_OK ? host->finish(cx, (onnxport_slice_uint32){&output, 1}) : answer;
}

static uint32_t lower(uint32_t index, const onnxport_table *table, onnxport_lowering_context cx) {
    if (!onnxport_has(table, host_prints, ONNXPORT_LOWERING_HOST_REFUSE)) return ONNXPORT_STATUS_INVALID;
    const onnxport_lowering_host *host = table->pointer;
    onnxport_lowering_call_view call = {0};
    if (host->call(cx, &call) != ONNXPORT_STATUS_OK || call.args.length != 1) return ONNXPORT_STATUS_INVALID;
    const uint32_t x = call.args.data[0].value;
    uint32_t number = ONNXPORT_LOWERING_ABSENT;
    uint8_t bytes[sizeof factor];
    switch (index) {
    case 0:
        memset(bytes, 0, sizeof bytes);
        break;
    case 1:
        if (!onnxport_has(table, host_prints, ONNXPORT_LOWERING_HOST_ORIGIN)) return ONNXPORT_STATUS_INVALID;
        onnxport_lowering_origin_view origin = {0};
        if (host->origin(cx, &origin) != ONNXPORT_STATUS_OK) return ONNXPORT_STATUS_INVALID;
        return plain(host, cx, x, TEXT("Relu"), NULL);
    case 2:
        host->refuse(cx, (onnxport_str){0}, TEXT("this is what it says"), (onnxport_str){0});
        return ONNXPORT_STATUS_REFUSED;
    case 3:
        memcpy(bytes, &factor, sizeof bytes);
        break;
    default:
        return ONNXPORT_STATUS_INVALID;
    }
    const onnxport_slice_uint64 dims = {NULL, 0};
    const onnxport_slice_uint8 data = {bytes, sizeof bytes};
    if (host->constant(cx, F32, dims, data, &number) != ONNXPORT_STATUS_OK) return ONNXPORT_STATUS_INVALID;
    return plain(host, cx, x, index == 0 ? TEXT("Max") : TEXT("Mul"), &number);
}

#define ENTRY(name) {.target = ONNXPORT_TEXT(name ".default"), .max_opset = UINT32_MAX}

static const onnxport_lowering_entry entries[] = {
    ENTRY("aten.relu"), ENTRY("sample.plain"), ENTRY("sample.refused"), ENTRY("sample.scaled"),
};

static const onnxport_lowering_table lowerings = {
    .schemas = ONNXPORT_TEXT("sample::plain(Tensor self) -> Tensor\n"
                             "sample::refused(Tensor self) -> Tensor\n"
                             "sample::scaled(Tensor self) -> Tensor\n"),
    .entries = {entries, COUNT(entries)},
    .lower = lower,
};

/* ---- executor/1: gives its inputs back ---- */

static int opened;

static uint32_t open(onnxport_slice_executor_option_record options, onnxport_executor_handle *out,
                     const onnxport_executor_sink *sink) {
    (void)options, (void)sink;
    *out = &opened;
    return ONNXPORT_STATUS_OK;
}

static uint32_t describe(onnxport_executor_handle runtime, const onnxport_executor_sink *sink) {
    (void)runtime;
    sink->text(sink->receiver, TEXT("echo C"));
    return ONNXPORT_STATUS_OK;
}

static uint32_t load(onnxport_executor_handle runtime, onnxport_str path, onnxport_executor_handle *out,
                     const onnxport_executor_sink *sink) {
    (void)path, (void)sink;
    *out = runtime;
    return ONNXPORT_STATUS_OK;
}

static uint32_t run(onnxport_executor_handle session, onnxport_slice_executor_tensor_view inputs,
                    const onnxport_executor_sink *sink) {
    (void)session;
    for (size_t i = 0; i < inputs.length; i++) sink->tensor(sink->receiver, &inputs.data[i]);
    return ONNXPORT_STATUS_OK;
}

static void forget(onnxport_executor_handle handle) { (void)handle; }

static const onnxport_executor_table executor = {
    .name = ONNXPORT_TEXT("echo C"),
    .open = open,
    .describe = describe,
    .load = load,
    .run = run,
    .unload = forget,
    .close = forget,
};

/* ---- options, weights and rules ---- */

static const onnxport_about_option_entry option_entries[] = {
    {.name = ONNXPORT_TEXT("factor"), .kind = ONNXPORT_ABOUT_OPTION_KIND_FLOAT, .default_ = ONNXPORT_TEXT("2")},
};

static onnxport_slice_about_option_entry options(void) {
    return (onnxport_slice_about_option_entry){option_entries, COUNT(option_entries)};
}

static uint32_t configure(onnxport_slice_executor_option_record given, const onnxport_executor_sink *sink) {
    (void)sink;
    factor = given.length == 0 ? 2 : 3;
    return ONNXPORT_STATUS_OK;
}

static const onnxport_weights_quantiser_entry quantiser_entries[] = {{.name = ONNXPORT_TEXT("rounds")}};

static onnxport_slice_weights_quantiser_entry quantisers(void) {
    return (onnxport_slice_weights_quantiser_entry){quantiser_entries, COUNT(quantiser_entries)};
}

static uint32_t quantise(uint32_t index, const onnxport_weights_rectangle_record *part, onnxport_slice_mut_float scales,
                         onnxport_slice_mut_int32 zeros, onnxport_slice_mut_int32 codes,
                         const onnxport_executor_sink *sink) {
    (void)index, (void)part, (void)zeros, (void)codes, (void)sink;
    for (size_t i = 0; i < scales.length; i++) scales.data[i] = 1;
    return ONNXPORT_STATUS_OK;
}

static uint32_t fill(uint32_t index, uint64_t offset, onnxport_slice_mut_uint8 out, const onnxport_executor_sink *sink) {
    (void)index, (void)offset, (void)out, (void)sink;
    return ONNXPORT_STATUS_INVALID;
}

static uint32_t output(uint32_t index, const onnxport_weights_weight_record *input, const onnxport_executor_sink *sink) {
    (void)index, (void)input, (void)sink;
    return ONNXPORT_STATUS_INVALID;
}

static uint32_t apply(uint32_t index, const onnxport_weights_weight_record *input, uint64_t first,
                      onnxport_slice_uint8 bytes, onnxport_slice_mut_uint8 out, const onnxport_executor_sink *sink) {
    (void)index, (void)input, (void)first, (void)bytes, (void)out, (void)sink;
    return ONNXPORT_STATUS_INVALID;
}

static const onnxport_weights_table weights = {
    .fill = fill, .output = output, .apply = apply, .quantisers = quantisers, .quantise = quantise,
};
static const uint64_t weights_prints[] = ONNXPORT_WEIGHTS_TABLE_LAYOUT;

static const uint64_t rules_host_prints[] = ONNXPORT_RULES_HOST_LAYOUT;

static uint32_t check(uint32_t index, const onnxport_table *host, const onnxport_table *graph,
                      onnxport_graph_context cx) {
    (void)host, (void)graph, (void)cx;
    return index == 0 ? ONNXPORT_STATUS_OK : ONNXPORT_STATUS_INVALID;
}

static uint32_t build(uint32_t index, const onnxport_table *table, const onnxport_table *graph,
                      onnxport_graph_context cx) {
    (void)graph;
    if (index != 0 || !onnxport_has(table, rules_host_prints, ONNXPORT_RULES_HOST_REFUSE)) {
        return ONNXPORT_STATUS_INVALID;
    }
    const onnxport_rules_host *host = table->pointer;
    onnxport_rules_bindings bound = {0};
    if (host->bindings(cx, &bound) != ONNXPORT_STATUS_OK || bound.values.length != 1) return ONNXPORT_STATUS_INVALID;
    const uint64_t x = bound.values.data[0];
    return host->finish(cx, (onnxport_slice_uint64){&x, 1});
}

static const onnxport_str names[] = {ONNXPORT_TEXT("x")};
static const onnxport_rules_rule_text rule_texts[] = {
    {.name = ONNXPORT_TEXT("sample_neg"), .pattern = ONNXPORT_TEXT("Neg(Neg(x))"), .max_opset = UINT32_MAX,
     .values = {names, COUNT(names)}},
};
static const onnxport_rules_table rules = {.rules = {rule_texts, COUNT(rule_texts)}, .check = check, .build = build};
static const uint64_t rules_prints[] = ONNXPORT_RULES_TABLE_LAYOUT;

/* ---- what the plugin is ---- */

static const onnxport_str provided[] = {
    ONNXPORT_TEXT(ONNXPORT_LOWERING_INTERFACE),
    ONNXPORT_TEXT(ONNXPORT_EXECUTOR_INTERFACE),
    ONNXPORT_TEXT(ONNXPORT_WEIGHTS_INTERFACE),
    ONNXPORT_TEXT(ONNXPORT_RULES_INTERFACE),
};

static const onnxport_about_table about = {
    .id = ONNXPORT_TEXT("sample"),
    .version = ONNXPORT_TEXT("0.1.0"),
    .contract = {ONNXPORT_CONTRACT_MAJOR, ONNXPORT_CONTRACT_MINOR},
    .needs = {1, 0},
    .provides = {provided, COUNT(provided)},
    .options = options,
    .configure = configure,
};

static const uint64_t about_prints[] = ONNXPORT_ABOUT_TABLE_LAYOUT;
static const uint64_t lowering_prints[] = ONNXPORT_LOWERING_TABLE_LAYOUT;
static const uint64_t executor_prints[] = ONNXPORT_EXECUTOR_TABLE_LAYOUT;

/* The envelope as another revision would have written it. `base` is the number of fields that are not optional. */
static onnxport_table revised(onnxport_table table, size_t base) {
    (void)base;
#if defined(NEWER)
    /* It stays for the process, as a table does. */
    uint64_t *longer = malloc((table.layout.length + 1) * sizeof *longer);
    if (longer == NULL) return (onnxport_table){0};
    memcpy(longer, table.layout.data, table.layout.length * sizeof *longer);
    longer[table.layout.length] = 1;
    table.layout.data = longer;
    table.layout.length++;
    table.size += sizeof(void *);
    table.version.minor++;
#elif defined(OLDER)
    table.layout.length = base;
#elif defined(MAJOR)
    table.version.major++;
#endif
    return table;
}

#define ANSWER(table, prints, base) revised((onnxport_table)ONNXPORT_ENVELOPE(table, prints), base)

static onnxport_table query(onnxport_str name) {
    if (IS(name, ONNXPORT_ABOUT_INTERFACE)) return ANSWER(about, about_prints, ONNXPORT_ABOUT_TABLE_OPTIONS);
    if (IS(name, ONNXPORT_EXECUTOR_INTERFACE)) return ANSWER(executor, executor_prints, ONNXPORT_EXECUTOR_TABLE_LOAD_WITH);
    if (IS(name, ONNXPORT_WEIGHTS_INTERFACE)) return ANSWER(weights, weights_prints, ONNXPORT_WEIGHTS_TABLE_QUANTISERS);
    if (IS(name, ONNXPORT_RULES_INTERFACE)) return ANSWER(rules, rules_prints, ONNXPORT_RULES_TABLE_CLASS_OF);
    if (!IS(name, ONNXPORT_LOWERING_INTERFACE)) return (onnxport_table){0};
    onnxport_table table = ANSWER(lowerings, lowering_prints, COUNT(lowering_prints));
#if defined(SHORT)
    table.layout.length--;
#elif defined(CHANGED)
    static const uint64_t changed[COUNT(lowering_prints)];
    table.layout.data = changed;
#endif
    return table;
}

static uint32_t attach(const onnxport_host_root *host) {
    return host->version.major == ONNXPORT_CONTRACT_MAJOR ? ONNXPORT_STATUS_OK : ONNXPORT_STATUS_REFUSED;
}

ONNXPORT_ROOT(query, attach);
