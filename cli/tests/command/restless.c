/* A lowering that does not give the same for the same: with COUNTS it counts its calls, with PLACES it tells where its
 * memory lies. */

#include "onnxport.h"

#include <string.h>

static const uint64_t host_prints[] = ONNXPORT_LOWERING_HOST_LAYOUT;

static uint32_t lower(uint32_t index, const onnxport_table *table, onnxport_lowering_context cx) {
    static uint32_t calls;
    if (index != 0 || !onnxport_has(table, host_prints, ONNXPORT_LOWERING_HOST_REFUSE)) return ONNXPORT_STATUS_INVALID;
    const onnxport_lowering_host *host = table->pointer;
    onnxport_lowering_call_view call = {0};
    if (host->call(cx, &call) != ONNXPORT_STATUS_OK || call.args.length != 1) return ONNXPORT_STATUS_INVALID;
    uint32_t inputs[2] = {call.args.data[0].value, ONNXPORT_LOWERING_ABSENT};
#if defined(COUNTS)
    uint64_t told = ++calls;
#else
    uint64_t told = (uint64_t)(uintptr_t)&calls >> 12;
#endif
    uint8_t bytes[4];
    float value = (float)(told & 0xffffff);
    memcpy(bytes, &value, sizeof value);
    const onnxport_slice_uint64 dims = {NULL, 0};
    const onnxport_slice_uint8 data = {bytes, sizeof bytes};
    if (host->constant(cx, 1, dims, data, &inputs[1]) != ONNXPORT_STATUS_OK) return ONNXPORT_STATUS_INVALID;
    onnxport_lowering_node_record node = {0};
    node.op = (onnxport_str)ONNXPORT_TEXT("Mul");
    node.inputs = (onnxport_slice_uint32){inputs, 2};
    uint32_t result = ONNXPORT_LOWERING_ABSENT;
    if (host->emit(cx, &node, (onnxport_slice_mut_uint32){&result, 1}) != ONNXPORT_STATUS_OK) {
        return ONNXPORT_STATUS_INVALID;
    }
    return host->finish(cx, (onnxport_slice_uint32){&result, 1});
}

static const onnxport_lowering_entry entries[] = {
    {.target = ONNXPORT_TEXT("restless.op.default"), .min_opset = 1, .max_opset = UINT32_MAX},
};

static const onnxport_lowering_table lowerings = {
    .schemas = ONNXPORT_TEXT("restless::op(Tensor x) -> Tensor\n"),
    .entries = {entries, sizeof entries / sizeof *entries},
    .lower = lower,
};

static const onnxport_str provided[] = {ONNXPORT_TEXT(ONNXPORT_LOWERING_INTERFACE)};
static const onnxport_about_table about = {
    .id = ONNXPORT_TEXT("restless"),
    .version = ONNXPORT_TEXT("0.1.0"),
    .contract = {ONNXPORT_CONTRACT_MAJOR, ONNXPORT_CONTRACT_MINOR},
    .needs = {1, 0},
    .provides = {provided, 1},
};

static const uint64_t about_prints[] = ONNXPORT_ABOUT_TABLE_LAYOUT;
static const uint64_t lowering_prints[] = ONNXPORT_LOWERING_TABLE_LAYOUT;

#define IS(text, literal) onnxport_is(text, literal, sizeof(literal) - 1)

static onnxport_table query(onnxport_str name) {
    if (IS(name, ONNXPORT_ABOUT_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(about, about_prints);
    if (IS(name, ONNXPORT_LOWERING_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(lowerings, lowering_prints);
    return (onnxport_table){0};
}

static uint32_t attach(const onnxport_host_root *host) {
    return host->version.major == ONNXPORT_CONTRACT_MAJOR ? ONNXPORT_STATUS_OK : ONNXPORT_STATUS_REFUSED;
}

ONNXPORT_ROOT(query, attach);
