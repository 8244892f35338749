/* A plugin in plain C: it lowers an operator of its own, and has a rule for every model.
 *
 *     cc -std=c11 -O2 -shared -fPIC -I ../../plugin-sdk/abi/include -o libcexample.so plugin.c
 *
 * `docs/c-plugins.md` walks through it. */

#include "onnxport.h"

#include <string.h>

#define F32 1 /* of TensorProto.DataType */

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TEXT(literal) ((onnxport_str)ONNXPORT_TEXT(literal))

/* ---- lowering/1: cexample::softclip(x, limit) = limit * x / (limit + |x|) ---- */

static const uint64_t lowering_host_prints[] = ONNXPORT_LOWERING_HOST_LAYOUT;

/* What a lowering works with; `failed` once the host refused something. */
typedef struct {
    const onnxport_lowering_host *host;
    onnxport_lowering_context cx;
    int failed;
} lowering;

static uint32_t refuse(const lowering *to, onnxport_str code, onnxport_str message, onnxport_str help) {
    to->host->refuse(to->cx, code, message, help);
    return ONNXPORT_STATUS_REFUSED;
}

/* Emits a node of ONNX's own with one output, and gives its id. */
static uint32_t emit(lowering *to, onnxport_str op, const uint32_t *inputs, size_t count) {
    onnxport_lowering_node_record node = {0};
    node.op = op;
    node.inputs = (onnxport_slice_uint32){inputs, count};
    uint32_t output = ONNXPORT_LOWERING_ABSENT;
    if (to->host->emit(to->cx, &node, (onnxport_slice_mut_uint32){&output, 1}) != ONNXPORT_STATUS_OK) to->failed = 1;
    return output;
}

static uint32_t binary(lowering *to, onnxport_str op, uint32_t a, uint32_t b) {
    const uint32_t inputs[] = {a, b};
    return emit(to, op, inputs, COUNT(inputs));
}

/* A constant without axes. Its list of extents is empty, and so its pointer may be null. */
static uint32_t scalar(lowering *to, float value) {
    uint8_t bytes[sizeof value];
    memcpy(bytes, &value, sizeof value); /* little-endian, as the machine is */
    uint32_t id = ONNXPORT_LOWERING_ABSENT;
    const onnxport_slice_uint64 dims = {NULL, 0};
    const onnxport_slice_uint8 data = {bytes, sizeof bytes};
    if (to->host->constant(to->cx, F32, dims, data, &id) != ONNXPORT_STATUS_OK) to->failed = 1;
    return id;
}

static uint32_t lower(uint32_t index, const onnxport_table *table, onnxport_lowering_context cx) {
    /* `refuse` is the last function of contract 1.0: a host that has it has all that is used here. */
    if (index != 0 || !onnxport_has(table, lowering_host_prints, ONNXPORT_LOWERING_HOST_REFUSE)) {
        return ONNXPORT_STATUS_INVALID;
    }
    lowering to = {table->pointer, cx, 0};
    onnxport_lowering_call_view call = {0};
    if (to.host->call(cx, &call) != ONNXPORT_STATUS_OK || call.args.length != 2 || call.results.length != 1) {
        return ONNXPORT_STATUS_INVALID;
    }
    /* Arguments stand in the order of the schema, defaults filled in. */
    const onnxport_lowering_arg_record *x = &call.args.data[0], *limit = &call.args.data[1];
    if (x->kind != ONNXPORT_LOWERING_ARG_KIND_TENSOR || call.results.data[0].dtype != F32) {
        return refuse(&to, TEXT("E01"), TEXT("argument `x` is not a tensor of float32"), TEXT("cast it in the model"));
    }
    if (limit->kind != ONNXPORT_LOWERING_ARG_KIND_FLOAT || !(limit->float_ > 0)) {
        return refuse(&to, TEXT("E02"), TEXT("argument `limit` is not a positive number"), TEXT(""));
    }
    const uint32_t bound = scalar(&to, (float)limit->float_);
    const uint32_t size = emit(&to, TEXT("Abs"), &x->value, 1);
    const uint32_t scaled = binary(&to, TEXT("Mul"), x->value, bound);
    const uint32_t result = binary(&to, TEXT("Div"), scaled, binary(&to, TEXT("Add"), size, bound));
    if (to.failed || to.host->finish(cx, (onnxport_slice_uint32){&result, 1}) != ONNXPORT_STATUS_OK) {
        return ONNXPORT_STATUS_INVALID;
    }
    return ONNXPORT_STATUS_OK;
}

static const onnxport_lowering_entry entries[] = {
    {.target = ONNXPORT_TEXT("cexample.softclip.default"), .min_opset = 13, .max_opset = UINT32_MAX},
};

static const onnxport_lowering_table lowerings = {
    .schemas = ONNXPORT_TEXT("cexample::softclip(Tensor x, float limit) -> Tensor\n"),
    .entries = {entries, COUNT(entries)},
    .lower = lower,
};

/* ---- rules/1: an absolute value has no negative part ---- */

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
    /* What the host lends is its own again at the next call. */
    const uint64_t x = bound.values.data[0];
    onnxport_graph_new_node node = {0};
    node.op = TEXT("Abs");
    node.inputs = (onnxport_slice_uint64){&x, 1};
    uint64_t result = ONNXPORT_GRAPH_NOTHING;
    if (host->emit(cx, &node, (onnxport_slice_mut_uint64){&result, 1}) != ONNXPORT_STATUS_OK) {
        return ONNXPORT_STATUS_INVALID;
    }
    return host->finish(cx, (onnxport_slice_uint64){&result, 1});
}

static const onnxport_str values[] = {ONNXPORT_TEXT("x")};

static const onnxport_rules_rule_text rules[] = {
    {
        .name = ONNXPORT_TEXT("relu_abs"),
        .documentation = ONNXPORT_TEXT("The positive part of |x| is |x|."),
        .pattern = ONNXPORT_TEXT("Relu(Abs(x))"),
        .min_opset = 13,
        .max_opset = UINT32_MAX,
        .values = {values, COUNT(values)},
    },
};

static const onnxport_rules_table rewriting = {.rules = {rules, COUNT(rules)}, .check = check, .build = build};

/* ---- what the plugin is ---- */

static const onnxport_str provided[] = {
    ONNXPORT_TEXT(ONNXPORT_LOWERING_INTERFACE),
    ONNXPORT_TEXT(ONNXPORT_RULES_INTERFACE),
};

static const onnxport_about_table about = {
    .id = ONNXPORT_TEXT("cexample"),
    .version = ONNXPORT_TEXT("0.1.0"),
    .description = ONNXPORT_TEXT("An example in C."),
    .contract = {ONNXPORT_CONTRACT_MAJOR, ONNXPORT_CONTRACT_MINOR},
    .needs = {1, 0},
    .provides = {provided, COUNT(provided)},
};

static const uint64_t about_prints[] = ONNXPORT_ABOUT_TABLE_LAYOUT;
static const uint64_t lowering_prints[] = ONNXPORT_LOWERING_TABLE_LAYOUT;
static const uint64_t rules_prints[] = ONNXPORT_RULES_TABLE_LAYOUT;

/* Whether `text` is this literal. */
#define IS(text, literal) onnxport_is(text, literal, sizeof(literal) - 1)

static onnxport_table query(onnxport_str interface) {
    if (IS(interface, ONNXPORT_ABOUT_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(about, about_prints);
    if (IS(interface, ONNXPORT_LOWERING_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(lowerings, lowering_prints);
    if (IS(interface, ONNXPORT_RULES_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(rewriting, rules_prints);
    return (onnxport_table){0};
}

static uint32_t attach(const onnxport_host_root *host) {
    return host->version.major == ONNXPORT_CONTRACT_MAJOR ? ONNXPORT_STATUS_OK : ONNXPORT_STATUS_REFUSED;
}

ONNXPORT_ROOT(query, attach);
