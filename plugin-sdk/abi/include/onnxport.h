/* Generated from plugin-sdk/abi/contract.rs by `cargo xtask gen contract`. Do not edit. */
#ifndef ONNXPORT_H
#define ONNXPORT_H

#define ONNXPORT_CONTRACT_MAJOR 1u
#define ONNXPORT_CONTRACT_MINOR 0u

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "the contract is one of machines with 64 bits"
#endif

/* What a library shows to those that load it. */
#if defined(_WIN32)
#define ONNXPORT_EXPORT __declspec(dllexport)
#else
#define ONNXPORT_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8 text of `length` bytes, not terminated. Where `length` is 0, `data` may be null: both sides accept it, here
 * and in every slice below. What a host gives is never null, for plugins that were built with older headers. */
typedef struct onnxport_str { const uint8_t *data; size_t length; } onnxport_str;

/* A version of the contract. The major versions of both sides must be equal. */
typedef struct onnxport_version { uint32_t major; uint32_t minor; } onnxport_version;

/* One fingerprint per field of a table. */
typedef struct onnxport_layout { const uint64_t *data; size_t length; } onnxport_layout;

/* The envelope of a table. `pointer` is null when the interface is not provided. A reader uses the fields that
 * both sides know: at most `layout.length` of them, and only while the fingerprints agree with its own. */
typedef struct onnxport_table {
    onnxport_version version;
    uint64_t size;
    const void *pointer;
    onnxport_layout layout;
} onnxport_table;

/* What a plugin can ask of the host. It never changes. */
typedef struct onnxport_host_root {
    onnxport_version version;
    onnxport_table (*query)(onnxport_str interface);
} onnxport_host_root;

/* What a plugin answers. It never changes. `query` gives the plugin's table for an interface such as `lowering/1`, or
 * a table whose `pointer` is null; any thread may call it. `attach` returns a status; every host calls it once, before
 * any table but `about/1` is used. */
typedef struct onnxport_plugin_root {
    onnxport_table (*query)(onnxport_str interface);
    uint32_t (*attach)(const onnxport_host_root *host);
} onnxport_plugin_root;

/* The root of a plugin in C, which its library exports under the name `onnxport_root`. It only grows at its end, with a
 * higher minor version; the version is that of this struct, not of the contract. Libraries in Rust export the same two
 * functions through the crate abi_stable 0.11; a host takes either, and that one where a library has both. */
typedef struct onnxport_c_root {
    uint64_t magic;
    uint64_t size;
    onnxport_version version;
    onnxport_table (*query)(onnxport_str interface);
    uint32_t (*attach)(const onnxport_host_root *host);
} onnxport_c_root;

/* `ONNXPORT` in the order of a little-endian machine. */
#define ONNXPORT_ROOT_MAGIC UINT64_C(0x54524f50584e4e4f)
#define ONNXPORT_ROOT_MAJOR 1u
#define ONNXPORT_ROOT_MINOR 0u

extern ONNXPORT_EXPORT const onnxport_c_root onnxport_root;

/* Exports the root of this library: `ONNXPORT_ROOT(query, attach);` at the level of a file. */
#define ONNXPORT_ROOT(query, attach) \
    const onnxport_c_root onnxport_root = { \
        ONNXPORT_ROOT_MAGIC, sizeof(onnxport_c_root), {ONNXPORT_ROOT_MAJOR, ONNXPORT_ROOT_MINOR}, (query), (attach) \
    }

/* A text of a literal, and the initializer of one. */
#define ONNXPORT_TEXT(literal) {(const uint8_t *)("" literal), sizeof(literal) - 1}

/* The envelope of `table`, a struct that lives on, whose fields have the fingerprints of the array `prints`. */
#define ONNXPORT_ENVELOPE(table, prints) { \
    {ONNXPORT_CONTRACT_MAJOR, ONNXPORT_CONTRACT_MINOR}, sizeof(table), &(table), \
    {(prints), sizeof(prints) / sizeof *(prints)} \
}

/* Whether `text` is the `length` bytes at `other`. */
static inline int onnxport_is(onnxport_str text, const char *other, size_t length) {
    if (text.length != length) return 0;
    for (size_t i = 0; i < length; i++) {
        if (text.data[i] != (uint8_t)other[i]) return 0;
    }
    return 1;
}

/* Whether the table of the other side has the field at this place of `prints`, the fingerprints of its struct here, and
 * that field and all before it are laid out as here: what must hold before the field is read. `pointer` of a table
 * without a field that is there for all revisions is of no use. */
static inline int onnxport_has(const onnxport_table *table, const uint64_t *prints, size_t place) {
    return table->pointer != NULL && table->version.major == ONNXPORT_CONTRACT_MAJOR && place < table->layout.length
        && table->layout.data[place] == prints[place];
}

/* The status of a call across the boundary. */
#define ONNXPORT_STATUS_OK ((uint32_t)(0))
#define ONNXPORT_STATUS_REFUSED ((uint32_t)(1))
#define ONNXPORT_STATUS_PANICKED ((uint32_t)(2))
#define ONNXPORT_STATUS_INVALID ((uint32_t)(3))
#define ONNXPORT_STATUS_UNSUPPORTED ((uint32_t)(4))

/* about/1: the description of a plugin. The only table that may be read before the plugin is attached. */
#define ONNXPORT_ABOUT_INTERFACE "about/1"
#define ONNXPORT_ABOUT_OPTION_KIND_TEXT ((uint32_t)(0))
#define ONNXPORT_ABOUT_OPTION_KIND_BOOL ((uint32_t)(1))
#define ONNXPORT_ABOUT_OPTION_KIND_INT ((uint32_t)(2))
#define ONNXPORT_ABOUT_OPTION_KIND_FLOAT ((uint32_t)(3))
#define ONNXPORT_ABOUT_OPTION_KIND_PATH ((uint32_t)(4))

/* lowering/1: a plugin turns calls of exported operators into ONNX nodes. */
#define ONNXPORT_LOWERING_INTERFACE "lowering/1"
#define ONNXPORT_LOWERING_ABSENT UINT32_MAX
#define ONNXPORT_LOWERING_ENTRY_FLAGS_COMPLEX ((uint32_t)(1))
#define ONNXPORT_LOWERING_ARG_KIND_NONE ((uint32_t)(0))
#define ONNXPORT_LOWERING_ARG_KIND_TENSOR ((uint32_t)(1))
#define ONNXPORT_LOWERING_ARG_KIND_SYM_INT ((uint32_t)(2))
#define ONNXPORT_LOWERING_ARG_KIND_SYM_FLOAT ((uint32_t)(3))
#define ONNXPORT_LOWERING_ARG_KIND_SYM_BOOL ((uint32_t)(4))
#define ONNXPORT_LOWERING_ARG_KIND_INT ((uint32_t)(5))
#define ONNXPORT_LOWERING_ARG_KIND_FLOAT ((uint32_t)(6))
#define ONNXPORT_LOWERING_ARG_KIND_BOOL ((uint32_t)(7))
#define ONNXPORT_LOWERING_ARG_KIND_STR ((uint32_t)(8))
#define ONNXPORT_LOWERING_ARG_KIND_COMPLEX ((uint32_t)(9))
#define ONNXPORT_LOWERING_ARG_KIND_DTYPE ((uint32_t)(10))
#define ONNXPORT_LOWERING_ARG_KIND_DEVICE ((uint32_t)(11))
#define ONNXPORT_LOWERING_ARG_KIND_LAYOUT ((uint32_t)(12))
#define ONNXPORT_LOWERING_ARG_KIND_MEMORY_FORMAT ((uint32_t)(13))
#define ONNXPORT_LOWERING_ARG_KIND_LIST ((uint32_t)(14))
#define ONNXPORT_LOWERING_ARG_KIND_DICT ((uint32_t)(15))
#define ONNXPORT_LOWERING_ARG_KIND_GRAPH ((uint32_t)(16))
#define ONNXPORT_LOWERING_ARG_KIND_OPERATOR ((uint32_t)(17))
#define ONNXPORT_LOWERING_DIM_KIND_UNKNOWN ((uint32_t)(0))
#define ONNXPORT_LOWERING_DIM_KIND_CONST ((uint32_t)(1))
#define ONNXPORT_LOWERING_DIM_KIND_EXPR ((uint32_t)(2))
#define ONNXPORT_LOWERING_ATTR_KIND_INT ((uint32_t)(1))
#define ONNXPORT_LOWERING_ATTR_KIND_FLOAT ((uint32_t)(2))
#define ONNXPORT_LOWERING_ATTR_KIND_STR ((uint32_t)(3))
#define ONNXPORT_LOWERING_ATTR_KIND_INTS ((uint32_t)(4))
#define ONNXPORT_LOWERING_ATTR_KIND_FLOATS ((uint32_t)(5))
#define ONNXPORT_LOWERING_ATTR_KIND_STRS ((uint32_t)(6))
#define ONNXPORT_LOWERING_ATTR_KIND_TENSOR ((uint32_t)(7))
#define ONNXPORT_LOWERING_ATTR_KIND_BLOCK ((uint32_t)(8))
#define ONNXPORT_LOWERING_ATTR_KIND_REF ((uint32_t)(9))
#define ONNXPORT_LOWERING_DIM_OP_ADD ((uint32_t)(0))
#define ONNXPORT_LOWERING_DIM_OP_SUB ((uint32_t)(1))
#define ONNXPORT_LOWERING_DIM_OP_MUL ((uint32_t)(2))
#define ONNXPORT_LOWERING_DIM_OP_FLOOR_DIV ((uint32_t)(3))
#define ONNXPORT_LOWERING_DIM_OP_MOD ((uint32_t)(4))
#define ONNXPORT_LOWERING_DIM_OP_MIN ((uint32_t)(5))
#define ONNXPORT_LOWERING_DIM_OP_MAX ((uint32_t)(6))

/* executor/1: a plugin runs ONNX models. */
#define ONNXPORT_EXECUTOR_INTERFACE "executor/1"

/* graph/1: a plugin reads an ONNX graph. */
#define ONNXPORT_GRAPH_INTERFACE "graph/1"
#define ONNXPORT_GRAPH_NOTHING ((uint64_t)(0))
#define ONNXPORT_GRAPH_OP_TRAIT_ELEMENTWISE ((uint64_t)(1))
#define ONNXPORT_GRAPH_OP_TRAIT_BROADCASTING ((uint64_t)(2))
#define ONNXPORT_GRAPH_OP_TRAIT_COMMUTATIVE ((uint64_t)(4))
#define ONNXPORT_GRAPH_OP_TRAIT_MOVES ((uint64_t)(8))
#define ONNXPORT_GRAPH_OP_TRAIT_RESHAPES ((uint64_t)(16))
#define ONNXPORT_GRAPH_OP_TRAIT_REDUCTION ((uint64_t)(32))
#define ONNXPORT_GRAPH_OP_TRAIT_ACCUMULATES ((uint64_t)(64))
#define ONNXPORT_GRAPH_OP_TRAIT_RANDOM ((uint64_t)(128))
#define ONNXPORT_GRAPH_OP_TRAIT_TYPED ((uint64_t)(256))
#define ONNXPORT_GRAPH_OP_TRAIT_QUANTIZES ((uint64_t)(512))
#define ONNXPORT_GRAPH_OP_TRAIT_DISCONTINUOUS ((uint64_t)(1024))
#define ONNXPORT_GRAPH_OP_TRAIT_NONEXPANSIVE ((uint64_t)(2048))
#define ONNXPORT_GRAPH_OP_TRAIT_BITWISE ((uint64_t)(4096))
#define ONNXPORT_GRAPH_OP_TRAIT_UPDATES ((uint64_t)(8192))
#define ONNXPORT_GRAPH_ATTRIBUTE_KIND_NONE ((uint32_t)(0))
#define ONNXPORT_GRAPH_ATTRIBUTE_KIND_REFERENCE ((uint32_t)(9))
#define ONNXPORT_GRAPH_VALUE_KIND_UNKNOWN ((uint32_t)(0))
#define ONNXPORT_GRAPH_VALUE_KIND_TENSOR ((uint32_t)(1))
#define ONNXPORT_GRAPH_VALUE_KIND_SEQUENCE ((uint32_t)(2))
#define ONNXPORT_GRAPH_DEFINITION_INPUT ((uint32_t)(1))
#define ONNXPORT_GRAPH_DEFINITION_INITIALIZER ((uint32_t)(2))
#define ONNXPORT_GRAPH_DEFINITION_NODE ((uint32_t)(3))
#define ONNXPORT_GRAPH_DERIVE_CONCAT ((uint32_t)(0))
#define ONNXPORT_GRAPH_DERIVE_ADD ((uint32_t)(1))
#define ONNXPORT_GRAPH_DERIVE_SUB ((uint32_t)(2))
#define ONNXPORT_GRAPH_DERIVE_MUL ((uint32_t)(3))
#define ONNXPORT_GRAPH_DERIVE_DIV ((uint32_t)(4))
#define ONNXPORT_GRAPH_DERIVE_NEG ((uint32_t)(5))
#define ONNXPORT_GRAPH_DERIVE_SQRT ((uint32_t)(6))
#define ONNXPORT_GRAPH_DERIVE_RECIPROCAL ((uint32_t)(7))
#define ONNXPORT_GRAPH_DERIVE_CAST ((uint32_t)(8))
#define ONNXPORT_GRAPH_DERIVE_TRANSPOSE ((uint32_t)(9))
#define ONNXPORT_GRAPH_DERIVE_RESHAPE ((uint32_t)(10))
#define ONNXPORT_GRAPH_DERIVE_EXPAND ((uint32_t)(11))
#define ONNXPORT_GRAPH_DERIVE_SLICE ((uint32_t)(12))
#define ONNXPORT_GRAPH_DERIVE_FILL ((uint32_t)(13))
#define ONNXPORT_GRAPH_DERIVE_SUM ((uint32_t)(14))

/* rules/1: a plugin rewrites small parts of the graph. */
#define ONNXPORT_RULES_INTERFACE "rules/1"
#define ONNXPORT_RULES_CLASS_UNSTATED ((uint32_t)(0))
#define ONNXPORT_RULES_CLASS_EXACT ((uint32_t)(1))
#define ONNXPORT_RULES_CLASS_BOUNDED ((uint32_t)(2))
#define ONNXPORT_RULES_CLASS_TARGET ((uint32_t)(3))
#define ONNXPORT_RULES_RULE_FLAGS_CONDITION ((uint32_t)(1))

/* pass/1: a plugin edits the whole graph. */
#define ONNXPORT_PASS_INTERFACE "pass/1"
#define ONNXPORT_PASS_WHEN_BEFORE_RULES ((uint32_t)(0))
#define ONNXPORT_PASS_WHEN_AFTER_RULES ((uint32_t)(1))
#define ONNXPORT_PASS_PLACE_BEFORE ((uint32_t)(0))
#define ONNXPORT_PASS_PLACE_AFTER ((uint32_t)(1))

/* compare/1: a plugin compares tensors with expected ones. */
#define ONNXPORT_COMPARE_INTERFACE "compare/1"
#define ONNXPORT_COMPARE_NOWHERE UINT64_MAX
#define ONNXPORT_COMPARE_ULP_BUCKETS ((uint32_t)(65))
#define ONNXPORT_COMPARE_DECADE_BUCKETS ((uint32_t)(43))
#define ONNXPORT_COMPARE_FIRST_DECADE ((int32_t)(-20))

/* backend/1: a plugin takes parts of a model for hardware. */
#define ONNXPORT_BACKEND_INTERFACE "backend/1"
#define ONNXPORT_BACKEND_BACKEND_FLAGS_SEPARATE ((uint32_t)(1))
#define ONNXPORT_BACKEND_BACKEND_FLAGS_SINGLE ((uint32_t)(2))
#define ONNXPORT_BACKEND_BACKEND_FLAGS_PARALLEL ((uint32_t)(4))
#define ONNXPORT_BACKEND_LAYOUT_ANY ((uint32_t)(0))
#define ONNXPORT_BACKEND_LAYOUT_CHANNELS_FIRST ((uint32_t)(1))
#define ONNXPORT_BACKEND_LAYOUT_CHANNELS_LAST ((uint32_t)(2))
#define ONNXPORT_BACKEND_OP_FLAGS_DYNAMIC ((uint32_t)(1))
#define ONNXPORT_BACKEND_CLAIM_FLAGS_TOGETHER ((uint32_t)(1))
#define ONNXPORT_BACKEND_NO_BLOB UINT32_MAX

/* log/1: a plugin sends messages to the user. */
#define ONNXPORT_LOG_INTERFACE "log/1"
#define ONNXPORT_LOG_LEVEL_WARN ((uint32_t)(1))
#define ONNXPORT_LOG_LEVEL_INFO ((uint32_t)(2))
#define ONNXPORT_LOG_LEVEL_DEBUG ((uint32_t)(3))

/* weights/1: a plugin generates weights, or changes weights when they are written. */
#define ONNXPORT_WEIGHTS_INTERFACE "weights/1"
#define ONNXPORT_WEIGHTS_GRANULE_BLOCK ((uint32_t)(1))
#define ONNXPORT_WEIGHTS_GRANULE_ROW ((uint32_t)(2))
#define ONNXPORT_WEIGHTS_GRANULE_WHOLE ((uint32_t)(3))
#define ONNXPORT_WEIGHTS_QUANTISER_GRANULE_BLOCK ((uint32_t)(1))
#define ONNXPORT_WEIGHTS_QUANTISER_GRANULE_ROW ((uint32_t)(2))

/* The fingerprints of tables, one per field, and the places of the fields among them. They hold for
 * machines of 64 bits. */
#define ONNXPORT_ABOUT_TABLE_LAYOUT { \
    UINT64_C(0x8e392933b85ada35), /* 1.0 id */ \
    UINT64_C(0x5fe1a2d601b5d259), /* 1.0 version */ \
    UINT64_C(0x92ba7263562fbbb7), /* 1.0 description */ \
    UINT64_C(0x2ba08f7e445d37ba), /* 1.0 contract */ \
    UINT64_C(0xed049185ab767f45), /* 1.0 needs */ \
    UINT64_C(0xe18927f93b7d6392), /* 1.0 provides */ \
    UINT64_C(0x57835463cc2567f5), /* 1.0 options */ \
    UINT64_C(0xee469daf7ada0ccc), /* 1.0 configure */ \
}
enum {
    ONNXPORT_ABOUT_TABLE_ID,
    ONNXPORT_ABOUT_TABLE_VERSION,
    ONNXPORT_ABOUT_TABLE_DESCRIPTION,
    ONNXPORT_ABOUT_TABLE_CONTRACT,
    ONNXPORT_ABOUT_TABLE_NEEDS,
    ONNXPORT_ABOUT_TABLE_PROVIDES,
    ONNXPORT_ABOUT_TABLE_OPTIONS,
    ONNXPORT_ABOUT_TABLE_CONFIGURE,
    ONNXPORT_ABOUT_TABLE_FIELDS
};

#define ONNXPORT_LOWERING_TABLE_LAYOUT { \
    UINT64_C(0x9f0a340cb3d3f685), /* 1.0 schemas */ \
    UINT64_C(0x070483f5b1b7811b), /* 1.0 entries */ \
    UINT64_C(0x323df5da5a07322a), /* 1.0 lower */ \
}
enum {
    ONNXPORT_LOWERING_TABLE_SCHEMAS,
    ONNXPORT_LOWERING_TABLE_ENTRIES,
    ONNXPORT_LOWERING_TABLE_LOWER,
    ONNXPORT_LOWERING_TABLE_FIELDS
};

#define ONNXPORT_LOWERING_HOST_LAYOUT { \
    UINT64_C(0xd8e391be20205c17), /* 1.0 call */ \
    UINT64_C(0x53648980766754d4), /* 1.0 value_type */ \
    UINT64_C(0x275ba802ad854186), /* 1.0 constant_data */ \
    UINT64_C(0xb059a236493a5c64), /* 1.0 shape_contents */ \
    UINT64_C(0x3aab87955c63224d), /* 1.0 dim_op */ \
    UINT64_C(0xfe4d48a5a0eb175a), /* 1.0 dim_range */ \
    UINT64_C(0xe06b5e1d482b303a), /* 1.0 emit */ \
    UINT64_C(0xf0f69170f8a37f15), /* 1.0 constant */ \
    UINT64_C(0xdf113a77cf3864fa), /* 1.0 dims_value */ \
    UINT64_C(0x6f07607377f6ade9), /* 1.0 set_type */ \
    UINT64_C(0x75a671b15b6a8257), /* 1.0 graph */ \
    UINT64_C(0x6f9bd238800d3d99), /* 1.0 begin_block */ \
    UINT64_C(0x389242d967f81091), /* 1.0 block_input */ \
    UINT64_C(0xe1d06ca8cdc2b4e2), /* 1.0 inline_graph */ \
    UINT64_C(0x9f2c2344384d2a60), /* 1.0 end_block */ \
    UINT64_C(0x66f6769c5f4f9998), /* 1.0 finish */ \
    UINT64_C(0xbb89875fd5f29f15), /* 1.0 refuse */ \
    UINT64_C(0xdab252aa290d064e), /* 1.0 begin_function */ \
    UINT64_C(0xdd3e004148e445f1), /* 1.0 end_function */ \
    UINT64_C(0x2de841c0d2496a9f), /* 1.0 origin */ \
    UINT64_C(0x799052c849704a6d), /* 1.0 weight_data */ \
    UINT64_C(0x4cdcc333fb917acb), /* 1.0 definition */ \
    UINT64_C(0xd1092f6f167af462), /* 1.0 definition_int */ \
    UINT64_C(0xff337087b2d35551), /* 1.0 metadata */ \
}
enum {
    ONNXPORT_LOWERING_HOST_CALL,
    ONNXPORT_LOWERING_HOST_VALUE_TYPE,
    ONNXPORT_LOWERING_HOST_CONSTANT_DATA,
    ONNXPORT_LOWERING_HOST_SHAPE_CONTENTS,
    ONNXPORT_LOWERING_HOST_DIM_OP,
    ONNXPORT_LOWERING_HOST_DIM_RANGE,
    ONNXPORT_LOWERING_HOST_EMIT,
    ONNXPORT_LOWERING_HOST_CONSTANT,
    ONNXPORT_LOWERING_HOST_DIMS_VALUE,
    ONNXPORT_LOWERING_HOST_SET_TYPE,
    ONNXPORT_LOWERING_HOST_GRAPH,
    ONNXPORT_LOWERING_HOST_BEGIN_BLOCK,
    ONNXPORT_LOWERING_HOST_BLOCK_INPUT,
    ONNXPORT_LOWERING_HOST_INLINE_GRAPH,
    ONNXPORT_LOWERING_HOST_END_BLOCK,
    ONNXPORT_LOWERING_HOST_FINISH,
    ONNXPORT_LOWERING_HOST_REFUSE,
    ONNXPORT_LOWERING_HOST_BEGIN_FUNCTION,
    ONNXPORT_LOWERING_HOST_END_FUNCTION,
    ONNXPORT_LOWERING_HOST_ORIGIN,
    ONNXPORT_LOWERING_HOST_WEIGHT_DATA,
    ONNXPORT_LOWERING_HOST_DEFINITION,
    ONNXPORT_LOWERING_HOST_DEFINITION_INT,
    ONNXPORT_LOWERING_HOST_METADATA,
    ONNXPORT_LOWERING_HOST_FIELDS
};

#define ONNXPORT_EXECUTOR_TABLE_LAYOUT { \
    UINT64_C(0xd42c252e3b6da825), /* 1.0 name */ \
    UINT64_C(0xce9857ed64bedbd5), /* 1.0 open */ \
    UINT64_C(0xac49e300171418d2), /* 1.0 describe */ \
    UINT64_C(0x62e1e19d96331a7a), /* 1.0 load */ \
    UINT64_C(0xe00bb494896a81f7), /* 1.0 run */ \
    UINT64_C(0x47d16aea9c63b77a), /* 1.0 unload */ \
    UINT64_C(0xe50268c326e040d3), /* 1.0 close */ \
    UINT64_C(0xb9aad1e7bb1839cb), /* 1.0 load_with */ \
    UINT64_C(0x30ce5e36c2ddd7fe), /* 1.0 measure */ \
}
enum {
    ONNXPORT_EXECUTOR_TABLE_NAME,
    ONNXPORT_EXECUTOR_TABLE_OPEN,
    ONNXPORT_EXECUTOR_TABLE_DESCRIBE,
    ONNXPORT_EXECUTOR_TABLE_LOAD,
    ONNXPORT_EXECUTOR_TABLE_RUN,
    ONNXPORT_EXECUTOR_TABLE_UNLOAD,
    ONNXPORT_EXECUTOR_TABLE_CLOSE,
    ONNXPORT_EXECUTOR_TABLE_LOAD_WITH,
    ONNXPORT_EXECUTOR_TABLE_MEASURE,
    ONNXPORT_EXECUTOR_TABLE_FIELDS
};

#define ONNXPORT_GRAPH_HOST_LAYOUT { \
    UINT64_C(0xbdfd0450ee95120b), /* 1.0 opset */ \
    UINT64_C(0x2d9e62de6f135568), /* 1.0 main */ \
    UINT64_C(0xbc41c31a591f6508), /* 1.0 block */ \
    UINT64_C(0x7f208bc8e960ff48), /* 1.0 node */ \
    UINT64_C(0x68d909ab45f31d91), /* 1.0 attribute */ \
    UINT64_C(0xe9aec274532154a8), /* 1.0 value */ \
    UINT64_C(0xfbdb92b981c85619), /* 1.0 uses */ \
    UINT64_C(0x4509516b9afa56b0), /* 1.0 output_name */ \
    UINT64_C(0x49929066a451be33), /* 1.0 constant */ \
    UINT64_C(0x266d430d261545b4), /* 1.0 contents */ \
    UINT64_C(0xc7755a551227a1f9), /* 1.0 initializer */ \
    UINT64_C(0x568e230a69b53f7a), /* 1.0 read */ \
    UINT64_C(0xa5291097441d4838), /* 1.0 dim_range */ \
    UINT64_C(0xf490707152b96eae), /* 1.0 dim_text */ \
    UINT64_C(0xe429c2e1254c2ac2), /* 1.0 derive */ \
}
enum {
    ONNXPORT_GRAPH_HOST_OPSET,
    ONNXPORT_GRAPH_HOST_MAIN,
    ONNXPORT_GRAPH_HOST_BLOCK,
    ONNXPORT_GRAPH_HOST_NODE,
    ONNXPORT_GRAPH_HOST_ATTRIBUTE,
    ONNXPORT_GRAPH_HOST_VALUE,
    ONNXPORT_GRAPH_HOST_USES,
    ONNXPORT_GRAPH_HOST_OUTPUT_NAME,
    ONNXPORT_GRAPH_HOST_CONSTANT,
    ONNXPORT_GRAPH_HOST_CONTENTS,
    ONNXPORT_GRAPH_HOST_INITIALIZER,
    ONNXPORT_GRAPH_HOST_READ,
    ONNXPORT_GRAPH_HOST_DIM_RANGE,
    ONNXPORT_GRAPH_HOST_DIM_TEXT,
    ONNXPORT_GRAPH_HOST_DERIVE,
    ONNXPORT_GRAPH_HOST_FIELDS
};

#define ONNXPORT_RULES_TABLE_LAYOUT { \
    UINT64_C(0xaec8e6c17b26bc1e), /* 1.0 rules */ \
    UINT64_C(0x23cadc6c8458357e), /* 1.0 check */ \
    UINT64_C(0x85bb4997e0364412), /* 1.0 build */ \
    UINT64_C(0x49164e8f2d606217), /* 1.0 class_of */ \
}
enum {
    ONNXPORT_RULES_TABLE_RULES,
    ONNXPORT_RULES_TABLE_CHECK,
    ONNXPORT_RULES_TABLE_BUILD,
    ONNXPORT_RULES_TABLE_CLASS_OF,
    ONNXPORT_RULES_TABLE_FIELDS
};

#define ONNXPORT_RULES_HOST_LAYOUT { \
    UINT64_C(0xd440f35a43e86cba), /* 1.0 bindings */ \
    UINT64_C(0xba22641c8a82212a), /* 1.0 attribute */ \
    UINT64_C(0xf16dafb30ba1aa31), /* 1.0 emit */ \
    UINT64_C(0xbd23ceba851a165b), /* 1.0 constant */ \
    UINT64_C(0x9e95c836c8099388), /* 1.0 view */ \
    UINT64_C(0x4c1232bbddf7361c), /* 1.0 set_type */ \
    UINT64_C(0xa5fc568b59c7d21f), /* 1.0 finish */ \
    UINT64_C(0xa14d638166d0604d), /* 1.0 refuse */ \
}
enum {
    ONNXPORT_RULES_HOST_BINDINGS,
    ONNXPORT_RULES_HOST_ATTRIBUTE,
    ONNXPORT_RULES_HOST_EMIT,
    ONNXPORT_RULES_HOST_CONSTANT,
    ONNXPORT_RULES_HOST_VIEW,
    ONNXPORT_RULES_HOST_SET_TYPE,
    ONNXPORT_RULES_HOST_FINISH,
    ONNXPORT_RULES_HOST_REFUSE,
    ONNXPORT_RULES_HOST_FIELDS
};

#define ONNXPORT_PASS_TABLE_LAYOUT { \
    UINT64_C(0xb1f1056456155313), /* 1.0 passes */ \
    UINT64_C(0x8999aebb94201536), /* 1.0 run */ \
    UINT64_C(0x72874b9f11ad6bf3), /* 1.0 class_of */ \
}
enum {
    ONNXPORT_PASS_TABLE_PASSES,
    ONNXPORT_PASS_TABLE_RUN,
    ONNXPORT_PASS_TABLE_CLASS_OF,
    ONNXPORT_PASS_TABLE_FIELDS
};

#define ONNXPORT_PASS_HOST_LAYOUT { \
    UINT64_C(0x0df84e527b595f48), /* 1.0 place */ \
    UINT64_C(0xf9604c9a826efcd3), /* 1.0 emit */ \
    UINT64_C(0x2195d8f3b3eb230d), /* 1.0 constant */ \
    UINT64_C(0x594091ad80217f1e), /* 1.0 view */ \
    UINT64_C(0x8a14d205b3f48b3e), /* 1.0 set_type */ \
    UINT64_C(0x74deae3fb7f7b866), /* 1.0 replace_uses */ \
    UINT64_C(0x22390301d2136eef), /* 1.0 set_input */ \
    UINT64_C(0xd665bfc13e591bf7), /* 1.0 set_attribute */ \
    UINT64_C(0x1fcc5bcb99404298), /* 1.0 remove */ \
    UINT64_C(0xe3ac14c569048224), /* 1.0 note */ \
    UINT64_C(0x22f95f134fd4bc7e), /* 1.0 refuse */ \
}
enum {
    ONNXPORT_PASS_HOST_PLACE,
    ONNXPORT_PASS_HOST_EMIT,
    ONNXPORT_PASS_HOST_CONSTANT,
    ONNXPORT_PASS_HOST_VIEW,
    ONNXPORT_PASS_HOST_SET_TYPE,
    ONNXPORT_PASS_HOST_REPLACE_USES,
    ONNXPORT_PASS_HOST_SET_INPUT,
    ONNXPORT_PASS_HOST_SET_ATTRIBUTE,
    ONNXPORT_PASS_HOST_REMOVE,
    ONNXPORT_PASS_HOST_NOTE,
    ONNXPORT_PASS_HOST_REFUSE,
    ONNXPORT_PASS_HOST_FIELDS
};

#define ONNXPORT_COMPARE_TABLE_LAYOUT { \
    UINT64_C(0xd42c252e3b6da825), /* 1.0 name */ \
    UINT64_C(0xce9857ed64bedbd5), /* 1.0 open */ \
    UINT64_C(0xb3b23cf9683fa86b), /* 1.0 begin */ \
    UINT64_C(0x563080ff28e67be1), /* 1.0 scan */ \
    UINT64_C(0x8b13353f084435bb), /* 1.0 chunk */ \
    UINT64_C(0x3defdadcc6b670f6), /* 1.0 finish */ \
    UINT64_C(0xe64b59718950587e), /* 1.0 end */ \
    UINT64_C(0x9ec2ad32027993af), /* 1.0 close */ \
    UINT64_C(0x01973835f8c9228e), /* 1.0 spread */ \
}
enum {
    ONNXPORT_COMPARE_TABLE_NAME,
    ONNXPORT_COMPARE_TABLE_OPEN,
    ONNXPORT_COMPARE_TABLE_BEGIN,
    ONNXPORT_COMPARE_TABLE_SCAN,
    ONNXPORT_COMPARE_TABLE_CHUNK,
    ONNXPORT_COMPARE_TABLE_FINISH,
    ONNXPORT_COMPARE_TABLE_END,
    ONNXPORT_COMPARE_TABLE_CLOSE,
    ONNXPORT_COMPARE_TABLE_SPREAD,
    ONNXPORT_COMPARE_TABLE_FIELDS
};

#define ONNXPORT_BACKEND_TABLE_LAYOUT { \
    UINT64_C(0xc02c0168b62da53b), /* 1.0 entries */ \
    UINT64_C(0xf3dfd233169aedb7), /* 1.0 claim */ \
    UINT64_C(0x248db0e0a8d899c6), /* 1.0 compile */ \
    UINT64_C(0xf8a43f7f05fd6fed), /* 1.0 environment */ \
    UINT64_C(0xa587c46fe86b2157), /* 1.0 cost */ \
}
enum {
    ONNXPORT_BACKEND_TABLE_ENTRIES,
    ONNXPORT_BACKEND_TABLE_CLAIM,
    ONNXPORT_BACKEND_TABLE_COMPILE,
    ONNXPORT_BACKEND_TABLE_ENVIRONMENT,
    ONNXPORT_BACKEND_TABLE_COST,
    ONNXPORT_BACKEND_TABLE_FIELDS
};

#define ONNXPORT_BACKEND_HOST_LAYOUT { \
    UINT64_C(0x562b3d8ccc8bbe4e), /* 1.0 offered */ \
    UINT64_C(0xdaaf0d23aad0e689), /* 1.0 claim */ \
    UINT64_C(0xf9539a0f5723683b), /* 1.0 refuse_node */ \
    UINT64_C(0xed2c61a013249aee), /* 1.0 region */ \
    UINT64_C(0xa2b7a4ec285d04a2), /* 1.0 constant */ \
    UINT64_C(0x3622843c03ca36cd), /* 1.0 blob */ \
    UINT64_C(0xb5f0bb0bc32d33c6), /* 1.0 emit */ \
    UINT64_C(0x8cfb530e28f87e29), /* 1.0 finish */ \
    UINT64_C(0x5251a6001672f4bb), /* 1.0 refuse */ \
}
enum {
    ONNXPORT_BACKEND_HOST_OFFERED,
    ONNXPORT_BACKEND_HOST_CLAIM,
    ONNXPORT_BACKEND_HOST_REFUSE_NODE,
    ONNXPORT_BACKEND_HOST_REGION,
    ONNXPORT_BACKEND_HOST_CONSTANT,
    ONNXPORT_BACKEND_HOST_BLOB,
    ONNXPORT_BACKEND_HOST_EMIT,
    ONNXPORT_BACKEND_HOST_FINISH,
    ONNXPORT_BACKEND_HOST_REFUSE,
    ONNXPORT_BACKEND_HOST_FIELDS
};

#define ONNXPORT_LOG_HOST_LAYOUT { \
    UINT64_C(0xa9d1d035787f1c74), /* 1.0 level */ \
    UINT64_C(0xedbe1341f4412fa2), /* 1.0 message */ \
}
enum {
    ONNXPORT_LOG_HOST_LEVEL,
    ONNXPORT_LOG_HOST_MESSAGE,
    ONNXPORT_LOG_HOST_FIELDS
};

#define ONNXPORT_WEIGHTS_TABLE_LAYOUT { \
    UINT64_C(0x4aee2ffbf37a25dd), /* 1.0 tensors */ \
    UINT64_C(0x5f654af98ee064b7), /* 1.0 transforms */ \
    UINT64_C(0x6919ab3b590400dc), /* 1.0 fill */ \
    UINT64_C(0x4b2018c9e96864a7), /* 1.0 output */ \
    UINT64_C(0xf5b6cbfb3f7e5573), /* 1.0 apply */ \
    UINT64_C(0xd70fb12102dec0ba), /* 1.0 quantisers */ \
    UINT64_C(0x79ff1e24b71df815), /* 1.0 quantise */ \
}
enum {
    ONNXPORT_WEIGHTS_TABLE_TENSORS,
    ONNXPORT_WEIGHTS_TABLE_TRANSFORMS,
    ONNXPORT_WEIGHTS_TABLE_FILL,
    ONNXPORT_WEIGHTS_TABLE_OUTPUT,
    ONNXPORT_WEIGHTS_TABLE_APPLY,
    ONNXPORT_WEIGHTS_TABLE_QUANTISERS,
    ONNXPORT_WEIGHTS_TABLE_QUANTISE,
    ONNXPORT_WEIGHTS_TABLE_FIELDS
};

/* Handles, and all structs. */
typedef struct onnxport_about_table onnxport_about_table;
typedef struct onnxport_about_option_entry onnxport_about_option_entry;
typedef struct onnxport_lowering_table onnxport_lowering_table;
typedef struct onnxport_lowering_entry onnxport_lowering_entry;
typedef void *onnxport_lowering_context;
typedef struct onnxport_lowering_arg_record onnxport_lowering_arg_record;
typedef struct onnxport_lowering_dim_record onnxport_lowering_dim_record;
typedef struct onnxport_lowering_range_record onnxport_lowering_range_record;
typedef struct onnxport_lowering_type_record onnxport_lowering_type_record;
typedef struct onnxport_lowering_call_view onnxport_lowering_call_view;
typedef struct onnxport_lowering_attr_record onnxport_lowering_attr_record;
typedef struct onnxport_lowering_node_record onnxport_lowering_node_record;
typedef struct onnxport_lowering_data_view onnxport_lowering_data_view;
typedef struct onnxport_lowering_shape_view onnxport_lowering_shape_view;
typedef struct onnxport_lowering_graph_view onnxport_lowering_graph_view;
typedef struct onnxport_lowering_host onnxport_lowering_host;
typedef struct onnxport_lowering_definition_view onnxport_lowering_definition_view;
typedef struct onnxport_lowering_origin_view onnxport_lowering_origin_view;
typedef struct onnxport_executor_table onnxport_executor_table;
typedef void *onnxport_executor_handle;
typedef struct onnxport_executor_option_record onnxport_executor_option_record;
typedef struct onnxport_executor_tensor_view onnxport_executor_tensor_view;
typedef struct onnxport_executor_sink onnxport_executor_sink;
typedef struct onnxport_executor_meter onnxport_executor_meter;
typedef void *onnxport_graph_context;
typedef struct onnxport_graph_block_view onnxport_graph_block_view;
typedef struct onnxport_graph_node_view onnxport_graph_node_view;
typedef struct onnxport_graph_attribute_view onnxport_graph_attribute_view;
typedef struct onnxport_graph_value_view onnxport_graph_value_view;
typedef struct onnxport_graph_use_record onnxport_graph_use_record;
typedef struct onnxport_graph_uses_view onnxport_graph_uses_view;
typedef struct onnxport_graph_initializer_view onnxport_graph_initializer_view;
typedef struct onnxport_graph_derivation onnxport_graph_derivation;
typedef struct onnxport_graph_new_node onnxport_graph_new_node;
typedef struct onnxport_graph_host onnxport_graph_host;
typedef struct onnxport_rules_table onnxport_rules_table;
typedef struct onnxport_rules_class_record onnxport_rules_class_record;
typedef struct onnxport_rules_rule_text onnxport_rules_rule_text;
typedef struct onnxport_rules_bindings onnxport_rules_bindings;
typedef struct onnxport_rules_host onnxport_rules_host;
typedef struct onnxport_pass_table onnxport_pass_table;
typedef struct onnxport_pass_record onnxport_pass_record;
typedef struct onnxport_pass_domain_record onnxport_pass_domain_record;
typedef struct onnxport_pass_host onnxport_pass_host;
typedef struct onnxport_compare_table onnxport_compare_table;
typedef struct onnxport_compare_pair_record onnxport_compare_pair_record;
typedef struct onnxport_compare_metrics_record onnxport_compare_metrics_record;
typedef struct onnxport_compare_spread_record onnxport_compare_spread_record;
typedef struct onnxport_backend_table onnxport_backend_table;
typedef struct onnxport_backend_cost_record onnxport_backend_cost_record;
typedef struct onnxport_backend_entry onnxport_backend_entry;
typedef struct onnxport_backend_op_record onnxport_backend_op_record;
typedef struct onnxport_backend_region_view onnxport_backend_region_view;
typedef struct onnxport_backend_emit_record onnxport_backend_emit_record;
typedef struct onnxport_backend_host onnxport_backend_host;
typedef struct onnxport_log_host onnxport_log_host;
typedef struct onnxport_weights_table onnxport_weights_table;
typedef struct onnxport_weights_tensor_entry onnxport_weights_tensor_entry;
typedef struct onnxport_weights_transform_entry onnxport_weights_transform_entry;
typedef struct onnxport_weights_weight_record onnxport_weights_weight_record;
typedef struct onnxport_weights_quantiser_entry onnxport_weights_quantiser_entry;
typedef struct onnxport_weights_rectangle_record onnxport_weights_rectangle_record;

/* Slices: `data` may be null where `length` is 0. */
typedef struct onnxport_slice_about_option_entry { const onnxport_about_option_entry *data; size_t length; } onnxport_slice_about_option_entry;
typedef struct onnxport_slice_backend_entry { const onnxport_backend_entry *data; size_t length; } onnxport_slice_backend_entry;
typedef struct onnxport_slice_backend_op_record { const onnxport_backend_op_record *data; size_t length; } onnxport_slice_backend_op_record;
typedef struct onnxport_slice_executor_option_record { const onnxport_executor_option_record *data; size_t length; } onnxport_slice_executor_option_record;
typedef struct onnxport_slice_executor_tensor_view { const onnxport_executor_tensor_view *data; size_t length; } onnxport_slice_executor_tensor_view;
typedef struct onnxport_slice_float { const float *data; size_t length; } onnxport_slice_float;
typedef struct onnxport_slice_graph_attribute_view { const onnxport_graph_attribute_view *data; size_t length; } onnxport_slice_graph_attribute_view;
typedef struct onnxport_slice_graph_use_record { const onnxport_graph_use_record *data; size_t length; } onnxport_slice_graph_use_record;
typedef struct onnxport_slice_int32 { const int32_t *data; size_t length; } onnxport_slice_int32;
typedef struct onnxport_slice_int64 { const int64_t *data; size_t length; } onnxport_slice_int64;
typedef struct onnxport_slice_lowering_arg_record { const onnxport_lowering_arg_record *data; size_t length; } onnxport_slice_lowering_arg_record;
typedef struct onnxport_slice_lowering_attr_record { const onnxport_lowering_attr_record *data; size_t length; } onnxport_slice_lowering_attr_record;
typedef struct onnxport_slice_lowering_dim_record { const onnxport_lowering_dim_record *data; size_t length; } onnxport_slice_lowering_dim_record;
typedef struct onnxport_slice_lowering_entry { const onnxport_lowering_entry *data; size_t length; } onnxport_slice_lowering_entry;
typedef struct onnxport_slice_lowering_type_record { const onnxport_lowering_type_record *data; size_t length; } onnxport_slice_lowering_type_record;
typedef struct onnxport_slice_mut_float { float *data; size_t length; } onnxport_slice_mut_float;
typedef struct onnxport_slice_mut_int32 { int32_t *data; size_t length; } onnxport_slice_mut_int32;
typedef struct onnxport_slice_mut_uint32 { uint32_t *data; size_t length; } onnxport_slice_mut_uint32;
typedef struct onnxport_slice_mut_uint64 { uint64_t *data; size_t length; } onnxport_slice_mut_uint64;
typedef struct onnxport_slice_mut_uint8 { uint8_t *data; size_t length; } onnxport_slice_mut_uint8;
typedef struct onnxport_slice_pass_domain_record { const onnxport_pass_domain_record *data; size_t length; } onnxport_slice_pass_domain_record;
typedef struct onnxport_slice_pass_record { const onnxport_pass_record *data; size_t length; } onnxport_slice_pass_record;
typedef struct onnxport_slice_rules_rule_text { const onnxport_rules_rule_text *data; size_t length; } onnxport_slice_rules_rule_text;
typedef struct onnxport_slice_str { const onnxport_str *data; size_t length; } onnxport_slice_str;
typedef struct onnxport_slice_uint32 { const uint32_t *data; size_t length; } onnxport_slice_uint32;
typedef struct onnxport_slice_uint64 { const uint64_t *data; size_t length; } onnxport_slice_uint64;
typedef struct onnxport_slice_uint8 { const uint8_t *data; size_t length; } onnxport_slice_uint8;
typedef struct onnxport_slice_weights_quantiser_entry { const onnxport_weights_quantiser_entry *data; size_t length; } onnxport_slice_weights_quantiser_entry;
typedef struct onnxport_slice_weights_tensor_entry { const onnxport_weights_tensor_entry *data; size_t length; } onnxport_slice_weights_tensor_entry;
typedef struct onnxport_slice_weights_transform_entry { const onnxport_weights_transform_entry *data; size_t length; } onnxport_slice_weights_transform_entry;

/* The description of the plugin. */
struct onnxport_about_table {
    /* The plugin's id, `aten`, used in diagnostics and options.
     * Since contract 1.0. */
    onnxport_str id;
    /* The plugin's own version, `0.3.1`.
     * Since contract 1.0. */
    onnxport_str version;
    /* One sentence; may be empty.
     * Since contract 1.0. */
    onnxport_str description;
    /* The contract that the plugin was built with.
     * Since contract 1.0. */
    onnxport_version contract;
    /* The oldest contract of a host that the plugin works with.
     * Since contract 1.0. */
    onnxport_version needs;
    /* The interfaces that it provides besides this one, `lowering/1`.
     * Since contract 1.0. */
    onnxport_slice_str provides;
    /* The options that the plugin takes, sorted by name.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: any, also several at once.
     * Takes: nothing borrowed. Gives: the value stays valid for the rest of the process. */
    onnxport_slice_about_option_entry (*options)(void);
    /* Passes the options that the user set, with names and values that fit `AboutTable::options`; other options
     * have their defaults. Called by every host after the plugin was attached and before another table is used, even
     * if nothing was set. The options hold for the whole process; the last call counts.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED. */
    uint32_t (*configure)(onnxport_slice_executor_option_record options, const onnxport_executor_sink *sink);
};

/* An option that a plugin takes. */
struct onnxport_about_option_entry {
    /* The name, `threads`. */
    onnxport_str name;
    /* One of `option_kind`. */
    uint32_t kind;
    /* 1 when a plugin without it cannot be used. */
    uint32_t required;
    /* The default as text; empty when there is none. */
    onnxport_str default_;
    /* A description of one line. */
    onnxport_str doc;
    /* The values that it may have; empty when every value of the kind is right. */
    onnxport_slice_str allowed;
};

/* The functions and data that the plugin provides. */
struct onnxport_lowering_table {
    /* Schemas of operators, one `namespace::op.overload(...) -> ...` a line, sorted; lines that
     * start with `#` are comments.
     * Since contract 1.0. */
    onnxport_str schemas;
    /* The operators, each with the opsets for which it can be lowered.
     * Since contract 1.0. */
    onnxport_slice_lowering_entry entries;
    /* Lowers the call behind `cx` with the entry at `index`; `host` is the envelope of the
     * `LoweringHost`. Returns a `status`(crate::status).
     * Since contract 1.0.
     * Thread: the one of the conversion.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*lower)(uint32_t index, const onnxport_table *host, onnxport_lowering_context cx);
};

/* One operator that a plugin lowers. */
struct onnxport_lowering_entry {
    /* The operator and overload, `aten.add.Tensor`. */
    onnxport_str target;
    /* The lowest opset at which this lowering is right. */
    uint32_t min_opset;
    /* The highest opset at which this lowering is right. */
    uint32_t max_opset;
    /* Among several lowerings of one operator the highest priority is used. */
    int32_t priority;
    /* `entry_flags`. */
    uint32_t flags;
};

/* An argument. */
struct onnxport_lowering_arg_record {
    /* The name in the operator's schema. */
    onnxport_str name;
    /* The text of a string, device, layout, memory format or operator. */
    onnxport_str text;
    /* The integer, truth value or element type. */
    int64_t int_;
    /* The float, or the real part. */
    double float_;
    /* The imaginary part. */
    double imaginary;
    /* The value or graph. */
    uint32_t value;
    /* Where the elements of a list start. */
    uint32_t first;
    /* How many elements the list has. */
    uint32_t len;
    /* One of `arg_kind`. */
    uint32_t kind;
};

/* The extent of an axis. */
struct onnxport_lowering_dim_record {
    /* One of `dim_kind`. */
    uint32_t kind;
    /* The expression. */
    uint32_t expr;
    /* The number. */
    int64_t value;
};

/* Inclusive bounds; `i64::MIN` and `i64::MAX` are unbounded. */
struct onnxport_lowering_range_record {
    /* The smallest value. */
    int64_t min;
    /* The largest value. */
    int64_t max;
};

/* The type of a value or a result, as far as it is known. */
struct onnxport_lowering_type_record {
    /* One of `arg_kind`: `TENSOR`, `SYM_INT`, `SYM_FLOAT`, `SYM_BOOL` or `NONE`. */
    uint32_t kind;
    /* The number in `TensorProto.DataType`; 0 where unknown. */
    int32_t dtype;
    /* The number of axes; -1 where unknown. */
    int32_t rank;
    /* The extents, `rank` of them. */
    onnxport_slice_lowering_dim_record dims;
};

/* The call to lower, bound to its schema: every argument is there, defaults filled in. */
struct onnxport_lowering_call_view {
    /* The operator and overload, `aten.add.Tensor`. */
    onnxport_str target;
    /* The opset to emit. */
    int64_t opset;
    /* The arguments in schema order. */
    onnxport_slice_lowering_arg_record args;
    /* The elements of all lists. */
    onnxport_slice_lowering_arg_record elements;
    /* The results with their types as the program states them; lists are flattened. */
    onnxport_slice_lowering_type_record results;
};

/* An attribute of a node. */
struct onnxport_lowering_attr_record {
    /* The name. */
    onnxport_str name;
    /* One of `attr_kind`. */
    uint32_t kind;
    /* The block or initializer. */
    uint32_t value;
    /* Integers. */
    onnxport_slice_int64 ints;
    /* Floats. */
    onnxport_slice_float floats;
    /* The text. */
    onnxport_str text;
    /* The texts. */
    onnxport_slice_str texts;
};

/* A node to emit. */
struct onnxport_lowering_node_record {
    /* The domain; empty for ONNX's own operators. */
    onnxport_str domain;
    /* The version of the domain's operator set; ignored for ONNX's own. */
    int64_t version;
    /* The operator. */
    onnxport_str op;
    /* The inputs; `ABSENT` where an optional one is left out. */
    onnxport_slice_uint32 inputs;
    /* The attributes. */
    onnxport_slice_lowering_attr_record attributes;
};

/* The contents of a small constant. */
struct onnxport_lowering_data_view {
    /* The number in `TensorProto.DataType`; 0 when the value is not a small constant. */
    int32_t dtype;
    /* The extents. */
    onnxport_slice_uint64 dims;
    /* The elements, little-endian, row-major. */
    onnxport_slice_uint8 bytes;
};

/* The symbolic contents of a vector of integers. */
struct onnxport_lowering_shape_view {
    /* 1 when the contents are known. */
    uint32_t known;
    /* The elements. */
    onnxport_slice_lowering_dim_record dims;
};

/* The types of the inputs and outputs of a nested graph. */
struct onnxport_lowering_graph_view {
    /* The inputs. */
    onnxport_slice_lowering_type_record inputs;
    /* The outputs. */
    onnxport_slice_lowering_type_record outputs;
};

/* Functions of the host for lowering a call. Used on the thread that called
 * `LoweringTable::lower` and only until that returns. */
struct onnxport_lowering_host {
    /* The call; the view is valid until `lower` returns.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the call that passed this on returns.
     * Answers OK, INVALID. */
    uint32_t (*call)(onnxport_lowering_context cx, onnxport_lowering_call_view *out);
    /* Facts about a value.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*value_type)(onnxport_lowering_context cx, uint32_t value, onnxport_lowering_type_record *out);
    /* The contents of a small constant (at most 64 KiB); `dtype` is 0 for any other value. The bytes of parameters
     * and buffers are not read.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*constant_data)(onnxport_lowering_context cx, uint32_t value, onnxport_lowering_data_view *out);
    /* The symbolic contents of a vector of integers.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*shape_contents)(onnxport_lowering_context cx, uint32_t value, onnxport_lowering_shape_view *out);
    /* Arithmetic on extents; an unknown operand gives an unknown result.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: plain values, the caller's own. */
    onnxport_lowering_dim_record (*dim_op)(onnxport_lowering_context cx, uint32_t op, onnxport_lowering_dim_record a, onnxport_lowering_dim_record b);
    /* The bounds of an extent.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: plain values, the caller's own. */
    onnxport_lowering_range_record (*dim_range)(onnxport_lowering_context cx, onnxport_lowering_dim_record dim);
    /* Emits a node and stores the ids of its outputs; the number of outputs is the slice's length.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*emit)(onnxport_lowering_context cx, const onnxport_lowering_node_record *node, onnxport_slice_mut_uint32 outputs);
    /* Makes a constant of little-endian, row-major `bytes` and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*constant)(onnxport_lowering_context cx, int32_t dtype, onnxport_slice_uint64 dims, onnxport_slice_uint8 bytes, uint32_t *out);
    /* Emits nodes that compute `dims` at run time, as an i64 vector, and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*dims_value)(onnxport_lowering_context cx, onnxport_slice_lowering_dim_record dims, uint32_t *out);
    /* States the type of a value that the host could not infer.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*set_type)(onnxport_lowering_context cx, uint32_t value, const onnxport_lowering_type_record *ty);
    /* The types of the inputs and outputs of a nested graph.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*graph)(onnxport_lowering_context cx, uint32_t graph, onnxport_lowering_graph_view *out);
    /* Begins a block inside the current one; nodes are emitted there until it ends.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*begin_block)(onnxport_lowering_context cx);
    /* Adds an input to the current block and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*block_input)(onnxport_lowering_context cx, const onnxport_lowering_type_record *ty, uint32_t *out);
    /* Lowers a nested graph into the current block with `inputs` for its inputs, and stores the ids
     * of its outputs.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*inline_graph)(onnxport_lowering_context cx, uint32_t graph, onnxport_slice_uint32 inputs, onnxport_slice_mut_uint32 outputs);
    /* Ends the current block with these outputs and stores its id, for a `BLOCK` attribute.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*end_block)(onnxport_lowering_context cx, onnxport_slice_uint32 outputs, uint32_t *out);
    /* Sets the results of the call, one per result; `ABSENT` for one that is not computed, which
     * is an error if the program uses it.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*finish)(onnxport_lowering_context cx, onnxport_slice_uint32 results);
    /* Reports why the call cannot be lowered. `code` is empty for the host's own code; any other is shown after
     * the plugin's id, `mylib:W01`.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*refuse)(onnxport_lowering_context cx, onnxport_str code, onnxport_str message, onnxport_str help);
    /* Begins the body of a local function. `call` is a call of it: its domain, its name, the values and
     * attributes that are passed. Nodes are emitted into the body until it ends, and a value from outside is
     * not valid there. Stores the ids of the body's inputs, one of the same type for each value that is passed.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*begin_function)(onnxport_lowering_context cx, const onnxport_lowering_node_record *call, onnxport_slice_mut_uint32 inputs);
    /* Ends the body with these outputs, calls the function where it began, and stores the ids of the
     * call's outputs, one for each. `REFUSED` when the model has a function of this name with another body.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, INVALID. */
    uint32_t (*end_function)(onnxport_lowering_context cx, onnxport_slice_uint32 outputs, onnxport_slice_mut_uint32 results);
    /* Where the call comes from: its module, and the line of the user's code.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*origin)(onnxport_lowering_context cx, onnxport_lowering_origin_view *out);
    /* The contents of a parameter or buffer of at most 1 MiB, in the form of `constant_data`; `dtype` is 0 for
     * other values, larger ones, and missing bytes. Contents that were read become part of the model: they do
     * not change when the model is given other weights.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*weight_data)(onnxport_lowering_context cx, uint32_t value, onnxport_lowering_data_view *out);
    /* The node that computes a value.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*definition)(onnxport_lowering_context cx, uint32_t value, onnxport_lowering_definition_view *out);
    /* An integer attribute of the node that computes a value. `REFUSED` if the node does not state it.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, INVALID. */
    uint32_t (*definition_int)(onnxport_lowering_context cx, uint32_t value, onnxport_str name, int64_t *out);
    /* Puts an entry into the metadata of the node that computes a value; a later entry with the same key replaces
     * it. The host's own entries stay as they are. `REFUSED` where no node computes the value.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, REFUSED, INVALID. */
    uint32_t (*metadata)(onnxport_lowering_context cx, uint32_t value, onnxport_str key, onnxport_str text);
};

/* The node that computes a value. It is empty for inputs, constants, and operators that are not ONNX's own. */
struct onnxport_lowering_definition_view {
    /* The operator: `Cast`. */
    onnxport_str op;
    /* Its inputs; `ABSENT` for one that is left out. */
    onnxport_slice_uint32 inputs;
};

/* Where a call comes from. Unknown texts are empty, and an unknown line is 0. */
struct onnxport_lowering_origin_view {
    /* The exported node, `conv2d_3`. */
    onnxport_str node;
    /* The path of the module, `layer1.0.conv1`; empty for the root. */
    onnxport_str module;
    /* The class of the module, `torch.nn.modules.conv.Conv2d`. */
    onnxport_str class_;
    /* The file of the user's code. */
    onnxport_str file;
    /* The function in it. */
    onnxport_str function;
    /* The text of the line. */
    onnxport_str code;
    /* The line, from 1. */
    uint32_t line;
};

/* The functions and data that the plugin provides. */
struct onnxport_executor_table {
    /* The name to show, `ONNX Runtime`.
     * Since contract 1.0. */
    onnxport_str name;
    /* Opens the runtime. Stores a handle for `ExecutorTable::close`. Returns a
     * `status`(crate::status).
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: the value stays valid until `close` takes it back.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*open)(onnxport_slice_executor_option_record options, onnxport_executor_handle *out, const onnxport_executor_sink *sink);
    /* Describes the runtime through the sink's `text`: `ONNX Runtime 1.31.1, /path/to/library`.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*describe)(onnxport_executor_handle runtime, const onnxport_executor_sink *sink);
    /* Loads the model at `path`. Stores a handle for `ExecutorTable::unload`.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: the value stays valid until `unload` takes it back.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*load)(onnxport_executor_handle runtime, onnxport_str path, onnxport_executor_handle *out, const onnxport_executor_sink *sink);
    /* Runs the model. The outputs arrive through the sink's `tensor`, in the model's order.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*run)(onnxport_executor_handle session, onnxport_slice_executor_tensor_view inputs, const onnxport_executor_sink *sink);
    /* Releases a session.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: nothing borrowed. Gives: nothing. */
    void (*unload)(onnxport_executor_handle session);
    /* Releases the runtime.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: nothing borrowed. Gives: nothing. */
    void (*close)(onnxport_executor_handle runtime);
    /* Loads the model at `path` so that a run also hands over the intermediate values of these names: after
     * the model's outputs, in the order of `values`. Refused when the model has no such value.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: the value stays valid until `unload` takes it back.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*load_with)(onnxport_executor_handle runtime, onnxport_str path, onnxport_slice_str values, onnxport_executor_handle *out, const onnxport_executor_sink *sink);
    /* Runs the model like `ExecutorTable::run`, but compares results in place: a result with the name, the element
     * type and the extents of a tensor in `expected` is compared with it, as `compare/1` does with tolerances of 0,
     * and `meter` gets the metrics instead of the tensor. All other results arrive through the sink's `tensor`.
     * `UNSUPPORTED` if the plugin does not compare.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*measure)(onnxport_executor_handle session, onnxport_slice_executor_tensor_view inputs, onnxport_slice_executor_tensor_view expected, const onnxport_executor_meter *meter, const onnxport_executor_sink *sink);
};

/* An option, such as `library` = a path. */
struct onnxport_executor_option_record {
    /* The name. */
    onnxport_str name;
    /* The value. */
    onnxport_str value;
};

/* A tensor in memory, borrowed for the call. */
struct onnxport_executor_tensor_view {
    /* The name of the input or output. */
    onnxport_str name;
    /* The number in `TensorProto.DataType`. */
    int32_t dtype;
    /* The extents. */
    onnxport_slice_int64 dims;
    /* The elements, little-endian, row-major. */
    onnxport_slice_uint8 bytes;
};

/* The receiver of a call's results and errors; valid until the call returns. */
struct onnxport_executor_sink {
    /* The receiver, passed to the functions. */
    void *receiver;
    /* Takes a tensor.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*tensor)(void *receiver, const onnxport_executor_tensor_view *tensor);
    /* Takes a text.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*text)(void *receiver, onnxport_str text);
    /* Takes the reason why the call failed, and the next step (may be empty).
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*error)(void *receiver, onnxport_str message, onnxport_str help);
};

/* The receiver of the metrics of `ExecutorTable::measure`; valid until the call returns. */
struct onnxport_executor_meter {
    /* The receiver, passed to the function. */
    void *receiver;
    /* Takes the metrics of the result called `name`, as `finish` and `spread` of `compare/1` state them, and the bytes
     * of its first element that differs from the expected one; empty if none does.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*found)(void *receiver, onnxport_str name, const onnxport_compare_metrics_record *metrics, const onnxport_compare_spread_record *spread, onnxport_slice_uint64 ulps, onnxport_slice_uint64 decades, onnxport_slice_uint8 first);
};

/* A block: the main graph, or the body of a control-flow node. */
struct onnxport_graph_block_view {
    /* The block around this one; `NOTHING` for the main block. */
    uint64_t parent;
    /* Its inputs, values. */
    onnxport_slice_uint64 inputs;
    /* Its outputs, values; a value may occur more than once. */
    onnxport_slice_uint64 outputs;
    /* Its nodes, in order, without the nodes of nested blocks. */
    onnxport_slice_uint64 nodes;
};

/* A node. */
struct onnxport_graph_node_view {
    /* The block that holds it. */
    uint64_t block;
    /* The domain; empty for ONNX's own operators. */
    onnxport_str domain;
    /* The operator. */
    onnxport_str op;
    /* The inputs, values; `NOTHING` where an optional one is left out. */
    onnxport_slice_uint64 inputs;
    /* The outputs, values; `NOTHING` where an optional one is left out. */
    onnxport_slice_uint64 outputs;
    /* The names of the attributes that the node states, sorted. */
    onnxport_slice_str attributes;
    /* The exported node that it comes from, `conv2d_3`; empty where there is none. */
    onnxport_str exported;
    /* The exported operator that it comes from, `aten.conv2d.default`; empty where there is none. */
    onnxport_str target;
    /* The path of the module that it comes from, `layer1.0.conv1`; empty for the root. */
    onnxport_str module;
    /* Bits of `op_trait`, from the definition of the operator. */
    uint64_t traits;
};

/* The value of an attribute, to read or to set. */
struct onnxport_graph_attribute_view {
    /* The name. */
    onnxport_str name;
    /* One of `attr_kind` of `lowering/1`, or of `attribute_kind`. */
    uint32_t kind;
    /* The block of a `BLOCK`. */
    uint64_t block;
    /* Integers; one for an `INT`. */
    onnxport_slice_int64 ints;
    /* Floats; one for a `FLOAT`. */
    onnxport_slice_float floats;
    /* The text of a `STR` or `REFERENCE`. */
    onnxport_str text;
    /* The texts of `STRS`. */
    onnxport_slice_str texts;
    /* The tensor of a `TENSOR`. One of more than 64 KiB shows no bytes. */
    onnxport_lowering_data_view tensor;
};

/* A value. */
struct onnxport_graph_value_view {
    /* The name; empty for an unnamed value. It may be made unique when the model is written. */
    onnxport_str name;
    /* One of `value_kind`. */
    uint32_t kind;
    /* The element type, a number of `TensorProto.DataType`; 0 where unknown. */
    int32_t dtype;
    /* The number of axes; -1 where unknown. */
    int32_t rank;
    /* One of `definition`. */
    uint32_t definition;
    /* The extents, `rank` of them. */
    onnxport_slice_lowering_dim_record dims;
    /* The node or block that defines it; `NOTHING` for an initializer. */
    uint64_t by;
    /* The position among the outputs of the node or the inputs of the block. */
    uint32_t index;
};

/* A use of a value. */
struct onnxport_graph_use_record {
    /* The node. */
    uint64_t node;
    /* The position among its inputs. */
    uint32_t index;
};

/* The uses of a value. */
struct onnxport_graph_uses_view {
    /* The nodes, in the order of their creation. */
    onnxport_slice_graph_use_record uses;
    /* How often it is an output of a block. */
    uint32_t returned;
};

/* The description of an initializer, without its bytes. */
struct onnxport_graph_initializer_view {
    /* The element type, a number of `TensorProto.DataType`. */
    int32_t dtype;
    /* 1 when its elements lie row-major and without gaps where they are stored. */
    uint32_t dense;
    /* The extents. */
    onnxport_slice_uint64 dims;
    /* The number of bytes of its elements, row-major and without gaps. */
    uint64_t byte_length;
    /* The number of the storage that holds it; initializers with the same number share bytes. Counted from 1 in
     * the order of the graph's initializers; valid during the call. */
    uint64_t storage;
    /* The offset of its first element in the storage, in elements. */
    uint64_t offset;
};

/* The operation that computes an initializer from others. */
struct onnxport_graph_derivation {
    /* One of `derive`. */
    uint32_t operation;
    /* The inputs, initializers. */
    onnxport_slice_uint64 inputs;
    /* The parameters of the operation. */
    onnxport_slice_int64 parameters;
    /* The number of a `FILL`. */
    double number;
};

/* A node that a plugin adds to the graph. */
struct onnxport_graph_new_node {
    /* The domain; empty for ONNX's own operators. */
    onnxport_str domain;
    /* The version of the domain's operator set; ignored for ONNX's own, and refused when the model
     * imports another one. */
    int64_t version;
    /* The operator. */
    onnxport_str op;
    /* The inputs, values; `NOTHING` where an optional one is left out. */
    onnxport_slice_uint64 inputs;
    /* The attributes. */
    onnxport_slice_graph_attribute_view attributes;
};

/* Reads the graph. Used on the thread that called the plugin and only until that call returns. All
 * functions that return a number return a `status`(crate::status). */
struct onnxport_graph_host {
    /* The version of a domain's operator set, the empty domain being ONNX's own; 0 when the model does
     * not import it.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own. */
    int64_t (*opset)(onnxport_graph_context cx, onnxport_str domain);
    /* The main block.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*main)(onnxport_graph_context cx, uint64_t *out);
    /* A block.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*block)(onnxport_graph_context cx, uint64_t block, onnxport_graph_block_view *out);
    /* A node.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*node)(onnxport_graph_context cx, uint64_t node, onnxport_graph_node_view *out);
    /* An attribute of a node. One that the node does not state has the default of the operator's version in the
     * model; its kind is `NONE` if there is no default. `NodeView::attributes` lists the attributes that the node
     * states.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*attribute)(onnxport_graph_context cx, uint64_t node, onnxport_str name, onnxport_graph_attribute_view *out);
    /* A value.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*value)(onnxport_graph_context cx, uint64_t value, onnxport_graph_value_view *out);
    /* The uses of a value.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*uses)(onnxport_graph_context cx, uint64_t value, onnxport_graph_uses_view *out);
    /* The name of the model's output at `index`. Outputs have their own names, since a value may be returned
     * twice.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*output_name)(onnxport_graph_context cx, uint32_t index, onnxport_str *out);
    /* The contents of an initializer of at most 64 KiB; `dtype` is 0 for any other value. Parameters and buffers
     * are excluded, since the graph must not depend on their bytes.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*constant)(onnxport_graph_context cx, uint64_t value, onnxport_lowering_data_view *out);
    /* The symbolic contents of a vector of integers, where the host knows them.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*contents)(onnxport_graph_context cx, uint64_t value, onnxport_lowering_shape_view *out);
    /* The description of an initializer; `dtype` is 0 if the value is not an initializer.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*initializer)(onnxport_graph_context cx, uint64_t value, onnxport_graph_initializer_view *out);
    /* Copies `out.len()` of an initializer's bytes from byte `offset` of its row-major form. `REFUSED`
     * if they cannot be read, such as the bytes of a missing weight; `INVALID` if the range ends behind the last
     * byte.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: plain values, the caller's own.
     * Answers OK, INVALID, REFUSED. */
    uint32_t (*read)(onnxport_graph_context cx, uint64_t value, uint64_t offset, onnxport_slice_mut_uint8 out);
    /* The bounds of an extent.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: plain values, the caller's own. */
    onnxport_lowering_range_record (*dim_range)(onnxport_graph_context cx, onnxport_lowering_dim_record dim);
    /* An extent as text, `s0` or `2*batch + 1`; `?` for an unknown one.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*dim_text)(onnxport_graph_context cx, onnxport_lowering_dim_record dim, onnxport_str *out);
    /* Adds an initializer that is computed from others when the model is written, piece by piece, and stores its
     * id. `INVALID` unless the call builds a patch or edits the graph. `REFUSED` if the operation does not support
     * the inputs: types without arithmetic, shapes that do not fit, elements that share bytes. Each operation
     * rounds once, to the type of its inputs.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID, REFUSED. */
    uint32_t (*derive)(onnxport_graph_context cx, const onnxport_graph_derivation *derivation, uint64_t *out);
};

/* The functions and data that the plugin provides. */
struct onnxport_rules_table {
    /* The rules.
     * Since contract 1.0. */
    onnxport_slice_rules_rule_text rules;
    /* Whether the rule at `index` applies where its pattern fits. `host` and `graph` are the envelopes
     * of `RulesHost` and `GraphHost`. Called on the thread of the conversion; the graph does not
     * change meanwhile. `OK`, or `REFUSED` after `RulesHost::refuse`, or `PANICKED`.
     * Since contract 1.0.
     * Thread: the one of the conversion.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*check)(uint32_t index, const onnxport_table *host, const onnxport_table *graph, onnxport_graph_context cx);
    /* Describes the replacement of a match of the rule at `index`. `OK` after
     * `RulesHost::finish`, or as for `RulesTable::check`.
     * Since contract 1.0.
     * Thread: the one of the conversion.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*build)(uint32_t index, const onnxport_table *host, const onnxport_table *graph, onnxport_graph_context cx);
    /* States how exact the rule at `index` is. Without this function a rule is one of class `UNSTATED`. `INVALID`
     * for an unknown index.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: the one of the conversion.
     * Takes: nothing borrowed. Gives: the value stays valid for the rest of the process.
     * Answers OK, INVALID. */
    uint32_t (*class_of)(uint32_t index, onnxport_rules_class_record *out);
};

/* The exactness of a rule or a pass. A result may change by the larger of the bounds `relative` and `ulps`;
 * infinities and NaN are preserved, unless `finite` is 1. */
struct onnxport_rules_class_record {
    /* One of `class`. */
    uint32_t kind;
    /* The bound of the change, relative to the larger of 1 and the magnitude of the result; 0 if not stated. */
    double relative;
    /* The bound of the change, in units in the last place of the element type; 0 if not stated. */
    double ulps;
    /* The target whose own operators a rule of class `class::TARGET` emits: `onnxruntime`. Empty for the others. */
    onnxport_str target;
    /* 1 if this holds for finite inputs only; 0 if it always does. */
    uint32_t finite;
};

/* A rule. */
struct onnxport_rules_rule_text {
    /* The name, unique in the plugin: `transpose_transpose`. */
    onnxport_str name;
    /* Its effect, in a line. */
    onnxport_str documentation;
    /* The pattern that it replaces: `Transpose(Transpose(x, perm = p), perm = q)`. */
    onnxport_str pattern;
    /* The lowest opset at which it is right. */
    uint32_t min_opset;
    /* The highest opset at which it is right. */
    uint32_t max_opset;
    /* Among several rules for one node, the highest priority is tried first. */
    int32_t priority;
    /* `rule_flags`. */
    uint32_t flags;
    /* The names of nodes in the pattern, in the order of `Bindings::nodes`. */
    onnxport_slice_str nodes;
    /* The variables of values, in the order of `Bindings::values`. */
    onnxport_slice_str values;
    /* The variables of extents, in the order of `Bindings::dims`. */
    onnxport_slice_str dims;
    /* The variables of attributes, which `RulesHost::attribute` returns. */
    onnxport_slice_str attributes;
};

/* A match of a rule. */
struct onnxport_rules_bindings {
    /* The roots of the pattern, whose outputs the patch replaces. */
    onnxport_slice_uint64 roots;
    /* One per name in `RuleText::nodes`; `NOTHING` for a part that is left out. */
    onnxport_slice_uint64 nodes;
    /* One per name in `RuleText::values`; `NOTHING` for a part that is left out. */
    onnxport_slice_uint64 values;
    /* One per name in `RuleText::dims`; `UNKNOWN` for a part that is left out. */
    onnxport_slice_lowering_dim_record dims;
};

/* Functions of the host for checking a rule and building its patch. Used on the thread of the call and
 * only until it returns. All functions that return a number return a `status`(crate::status); functions
 * that build return `INVALID` during a check. */
struct onnxport_rules_host {
    /* The match; borrowed until the plugin's next call into the host.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*bindings)(onnxport_graph_context cx, onnxport_rules_bindings *out);
    /* The attribute of the variable at `index` in `RuleText::attributes`: the stated one, or else the default;
     * its kind is `NONE` if there is neither.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*attribute)(onnxport_graph_context cx, uint32_t index, onnxport_graph_attribute_view *out);
    /* Adds a node before the replaced nodes and stores the ids of its outputs; the number of outputs is the
     * slice's length.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*emit)(onnxport_graph_context cx, const onnxport_graph_new_node *node, onnxport_slice_mut_uint64 outputs);
    /* Adds an initializer of little-endian, row-major `bytes` and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*constant)(onnxport_graph_context cx, int32_t dtype, onnxport_slice_uint64 dims, onnxport_slice_uint8 bytes, uint64_t *out);
    /* Adds an initializer that shows the bytes of another one with its axes in the order `axes`, then
     * with the extents `dims`, and stores its id. Nothing is copied before the model is written.
     * `REFUSED` when such a view would need a copy.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID, REFUSED. */
    uint32_t (*view)(onnxport_graph_context cx, uint64_t initializer, onnxport_slice_uint32 axes, onnxport_slice_uint64 dims, uint64_t *out);
    /* States the type of a value of the patch that the host could not infer.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*set_type)(onnxport_graph_context cx, uint64_t value, const onnxport_lowering_type_record *ty);
    /* Ends the patch with the replacement of each output of each root, one root after the other; `NOTHING` for
     * an output that is not read.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*finish)(onnxport_graph_context cx, onnxport_slice_uint64 outputs);
    /* Reports why the rule does not apply here. `code` is empty for the host's own code.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*refuse)(onnxport_graph_context cx, onnxport_str code, onnxport_str message, onnxport_str help);
};

/* The functions and data that the plugin provides. */
struct onnxport_pass_table {
    /* The passes.
     * Since contract 1.0. */
    onnxport_slice_pass_record passes;
    /* Runs the pass at `index`. `host` and `graph` are the envelopes of `PassHost` and `GraphHost`.
     * Called on the thread of the conversion. Returns a `status`(crate::status).
     * Since contract 1.0.
     * Thread: the one of the conversion.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*run)(uint32_t index, const onnxport_table *host, const onnxport_table *graph, onnxport_graph_context cx);
    /* States how exact the pass at `index` is. Without this function a pass is one of class `UNSTATED`. `INVALID`
     * for an unknown index.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: the one of the conversion.
     * Takes: nothing borrowed. Gives: the value stays valid for the rest of the process.
     * Answers OK, INVALID. */
    uint32_t (*class_of)(uint32_t index, onnxport_rules_class_record *out);
};

/* A pass. */
struct onnxport_pass_record {
    /* The name, unique in the plugin: `conv_to_matmul`. */
    onnxport_str name;
    /* Its effect, in a line. */
    onnxport_str documentation;
    /* The lowest version of ONNX's own operator set that it knows. */
    uint32_t min_opset;
    /* The highest. */
    uint32_t max_opset;
    /* Among several passes the highest priority runs first. */
    int32_t priority;
    /* One of `when`. */
    uint32_t when;
    /* The further domains that it needs; it does not run on a model that imports one of them at
     * another version. The model need not import them. */
    onnxport_slice_pass_domain_record domains;
};

/* A domain and the versions of its operator set that a pass knows. */
struct onnxport_pass_domain_record {
    /* The domain. */
    onnxport_str domain;
    /* The lowest version. */
    uint32_t min;
    /* The highest version. */
    uint32_t max;
};

/* Functions of the host for a pass. Used on the thread of the call and only until it returns. All
 * functions that return a number return a `status`(crate::status). */
struct onnxport_pass_host {
    /* Sets the position of nodes that are added from now on: one of `place`, relative to `node`, whose origin
     * they get. Initially there is no position.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*place)(onnxport_graph_context cx, uint64_t node, uint32_t place);
    /* Adds a node and stores the ids of its outputs; the number of outputs is the slice's length.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*emit)(onnxport_graph_context cx, const onnxport_graph_new_node *node, onnxport_slice_mut_uint64 outputs);
    /* Adds an initializer of little-endian, row-major `bytes` and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*constant)(onnxport_graph_context cx, int32_t dtype, onnxport_slice_uint64 dims, onnxport_slice_uint8 bytes, uint64_t *out);
    /* Adds an initializer that shows the bytes of another one with its axes in the order `axes`, then
     * with the extents `dims`, and stores its id. Nothing is copied before the model is written.
     * `REFUSED` when such a view would need a copy.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID, REFUSED. */
    uint32_t (*view)(onnxport_graph_context cx, uint64_t initializer, onnxport_slice_uint32 axes, onnxport_slice_uint64 dims, uint64_t *out);
    /* States the type of a value that the pass added and the host could not infer.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*set_type)(onnxport_graph_context cx, uint64_t value, const onnxport_lowering_type_record *ty);
    /* Replaces all uses of `old`, including outputs of blocks, with `new`; only the node that computes `new` goes
     * on reading `old`. If `new` has no name, it gets the name of `old`, if a node computes that.
     * `REFUSED` if their types are incompatible.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: nothing.
     * Answers OK, INVALID, REFUSED. */
    uint32_t (*replace_uses)(onnxport_graph_context cx, uint64_t old, uint64_t new_);
    /* Makes input `index` of a node read `value`; `NOTHING` leaves an optional one out.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*set_input)(onnxport_graph_context cx, uint64_t node, uint32_t index, uint64_t value);
    /* Sets an attribute; one of kind `NONE` is removed. Blocks cannot be set.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*set_attribute)(onnxport_graph_context cx, uint64_t node, const onnxport_graph_attribute_view *attribute);
    /* Removes a node. `REFUSED` when one of its outputs is still read.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: nothing.
     * Answers OK, INVALID, REFUSED. */
    uint32_t (*remove)(onnxport_graph_context cx, uint64_t node);
    /* Adds a note for the user about an edit, or a node that the pass does not change; shown with `--explain-rule`.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*note)(onnxport_graph_context cx, uint64_t node, onnxport_str message);
    /* Reports why the pass does not apply to this graph; all its edits are rolled back. `code` is empty for the
     * host's own code.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*refuse)(onnxport_graph_context cx, onnxport_str code, onnxport_str message, onnxport_str help);
};

/* The functions and data that the plugin provides. */
struct onnxport_compare_table {
    /* The name to show, `CUDA`.
     * Since contract 1.0. */
    onnxport_str name;
    /* Opens the comparer. Stores a handle for `CompareTable::close`. Returns a
     * `status`(crate::status).
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: the value stays valid until `close` takes it back.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*open)(onnxport_slice_executor_option_record options, onnxport_executor_handle *out, const onnxport_executor_sink *sink);
    /* Begins a comparison. Stores a handle for `CompareTable::end`. `UNSUPPORTED` for an element type
     * that the plugin does not compare.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: the value stays valid until `end` takes it back.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*begin)(onnxport_executor_handle comparer, const onnxport_compare_pair_record *pair, onnxport_executor_handle *out, const onnxport_executor_sink *sink);
    /* Looks at the next elements of the expected tensor.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*scan)(onnxport_executor_handle comparison, onnxport_slice_uint8 expected, const onnxport_executor_sink *sink);
    /* Compares the next elements, whole ones and as many of both.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*chunk)(onnxport_executor_handle comparison, onnxport_slice_uint8 got, onnxport_slice_uint8 expected, const onnxport_executor_sink *sink);
    /* Returns the metrics. Afterwards only `spread` and `end` are called.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*finish)(onnxport_executor_handle comparison, onnxport_compare_metrics_record *out, const onnxport_executor_sink *sink);
    /* Releases a comparison.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: nothing borrowed. Gives: nothing. */
    void (*end)(onnxport_executor_handle comparison);
    /* Releases the comparer.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: nothing borrowed. Gives: nothing. */
    void (*close)(onnxport_executor_handle comparer);
    /* States how the differences are spread. Called after `CompareTable::finish` answered `OK`, at most
     * once. `ulps` has `ULP_BUCKETS` numbers and `decades` has `DECADE_BUCKETS`, all 0. Pairs of NaN and pairs of
     * equal infinities are counted at 0 in both; other pairs with a NaN or an infinity in neither.
     * `UNSUPPORTED` if the plugin does not count them.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: any, but one at a time for one handle.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*spread)(onnxport_executor_handle comparison, onnxport_compare_spread_record *out, onnxport_slice_mut_uint64 ulps, onnxport_slice_mut_uint64 decades, const onnxport_executor_sink *sink);
};

/* The tensors of a comparison, and the tolerance: an element is wrong if
 * `|got - expected| > atol * s + rtol * |expected|`, where `s` is the largest finite `|expected|` of
 * the tensor, clamped to `scale_min` and `scale_max`. A NaN equals a NaN, an infinity the same one. */
struct onnxport_compare_pair_record {
    /* The name of the output. */
    onnxport_str name;
    /* The number in `TensorProto.DataType`; complex numbers count as two elements. */
    int32_t dtype;
    /* The extents. */
    onnxport_slice_uint64 dims;
    /* The relative tolerance. */
    double rtol;
    /* The absolute tolerance. */
    double atol;
    /* The smallest factor of the absolute tolerance. */
    double scale_min;
    /* The largest factor of the absolute tolerance. */
    double scale_max;
};

/* The metrics of a comparison. */
struct onnxport_compare_metrics_record {
    /* The number of elements that were compared. */
    uint64_t elements;
    /* How many of them are wrong. */
    uint64_t wrong;
    /* The position of the first wrong one, row-major; `NOWHERE` if none is wrong. */
    uint64_t first;
    /* The largest `|got - expected|` over the finite elements. */
    double max_abs;
    /* The largest `|got - expected| / |expected|` where `|expected|` exceeds the absolute tolerance. */
    double max_rel;
    /* The largest finite `|expected|`. */
    double largest;
    /* The square root of the mean of `(got - expected)²` over the finite elements. */
    double rms;
    /* The cosine of the angle between the two as vectors, over the finite elements; 1 when both are
     * zero. */
    double cosine;
};

/* How the differences of a comparison are spread. `nan`, `infinite` and `zero` count no element twice. */
struct onnxport_compare_spread_record {
    /* The mean of `|got - expected|` over the elements that are finite in both; 0 where there are none. */
    double mean;
    /* How many elements are NaN in one tensor only. */
    uint64_t nan;
    /* How many of the others are infinite in one tensor only, or with another sign. */
    uint64_t infinite;
    /* How many of the others are zero, of any sign, in one tensor only. */
    uint64_t zero;
    /* The largest distance in units of the last place over the elements that are finite in both: how many
     * numbers of the element type lie between, plus one; zeros of both signs are one number. Of integers
     * and truth values it is the difference. */
    uint64_t max_ulps;
};

/* The functions and data that the plugin provides. */
struct onnxport_backend_table {
    /* The backends; users choose one by its id.
     * Since contract 1.0. */
    onnxport_slice_backend_entry entries;
    /* Takes or refuses the nodes of `BackendHost::offered` for the backend at `index`; `host` and
     * `graph` are the envelopes of the `BackendHost` and the `GraphHost`. Called once per conversion.
     * Returns a `status`(crate::status); after anything but `OK` no node is claimed. Ids are not valid in
     * `compile`: nodes may be renumbered in between.
     * Since contract 1.0.
     * Thread: the one of the conversion.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*claim)(uint32_t index, const onnxport_table *host, const onnxport_table *graph, onnxport_graph_context cx);
    /* Compiles `BackendHost::region` for the backend at `index`: emits its replacement and calls
     * `BackendHost::finish`. Called once per region, in the order of their first nodes, or for several regions at
     * once if the backend has the flag `PARALLEL`(backend_flags::PARALLEL). Returns a
     * `status`(crate::status); after `REFUSED` the region stays, and the report says so, or the host compiles what
     * remains of it without the nodes that `BackendHost::refuse_node` named.
     * Equal regions must give equal results, byte for byte.
     * Since contract 1.0.
     * Thread: the one of the conversion.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*compile)(uint32_t index, const onnxport_table *host, const onnxport_table *graph, onnxport_graph_context cx);
    /* States in one line everything that results of the backend at `index` depend on besides the region, the plugin
     * and its options: versions of the SDK and of drivers, and the hardware. While the text is the same, the host may
     * use the results of earlier runs. Without this function, or after anything but `OK`, it does not.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: the one of the conversion.
     * Takes: nothing borrowed. Gives: the value stays valid for the rest of the process.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*environment)(uint32_t index, onnxport_str *out);
    /* Estimates the cost of `BackendHost::region` for the backend at `index`. Called once for each region before any
     * is compiled; the functions of `BackendHost` that make something are of no use in it. The host leaves regions
     * that take longer than their nodes do otherwise. Without this function, or after anything but `OK`, it keeps them.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: the one of the conversion.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*cost)(uint32_t index, const onnxport_table *host, const onnxport_table *graph, onnxport_graph_context cx, onnxport_backend_cost_record *out);
};

/* An estimate of `BackendTable::cost`, in seconds: finite numbers that are not negative. */
struct onnxport_backend_cost_record {
    /* The time that the region takes on the device, without transfers. */
    double device;
    /* The time that its nodes take in the runtime, without the backend. */
    double runtime;
    /* The time to enter and leave the region, whatever crosses its border. */
    double entry;
    /* The time for each byte of an input or output to cross the border. Weights do not cross it; a dynamic dimension
     * counts as 1. */
    double byte;
};

/* A backend and its capabilities. Read once, when the plugin is attached. */
struct onnxport_backend_entry {
    /* The id that users write, `npu`: lower-case letters, digits, `-` and `_`. */
    onnxport_str id;
    /* One sentence; may be empty. */
    onnxport_str description;
    /* Where the user names the plugin rather than one of its backends, the highest claims first. */
    int32_t priority;
    /* `backend_flags`. */
    uint32_t flags;
    /* Regions of fewer nodes are not compiled; their nodes stay. */
    uint32_t min_nodes;
    /* The version of `BackendEntry::domain` that the model imports. */
    int64_t domain_version;
    /* The domain of the operators that it emits besides ONNX's own, `com.example.npu`; may be empty. */
    onnxport_str domain;
    /* The operators that it supports. A node that no record covers is not offered. */
    onnxport_slice_backend_op_record ops;
};

/* Operators that a backend supports, with types and ranks. An empty list of types allows all types. */
struct onnxport_backend_op_record {
    /* The domain; empty for ONNX's own operators. */
    onnxport_str domain;
    /* The operator; `*` for all of the domain. */
    onnxport_str op;
    /* The lowest version of the domain's operator set. */
    uint32_t min_version;
    /* The highest version of the domain's operator set. */
    uint32_t max_version;
    /* The element types that inputs may have, numbers of `TensorProto.DataType`. */
    onnxport_slice_int32 inputs;
    /* The element types that outputs may have. */
    onnxport_slice_int32 outputs;
    /* The least number of axes of the first input and of the outputs. */
    uint32_t min_rank;
    /* The largest number of axes of the first input and of the outputs; `u32::MAX` for any, an
     * unknown one included. */
    uint32_t max_rank;
    /* One of `layout`. */
    uint32_t layout;
    /* `op_flags`. */
    uint32_t flags;
};

/* A region that is to be compiled. */
struct onnxport_backend_region_view {
    /* The name, unique in the model: `npu_0`. */
    onnxport_str name;
    /* The nodes, all of one block, in topological order. */
    onnxport_slice_uint64 nodes;
    /* Values from outside that its nodes use, without initializers, in the order of their first use. */
    onnxport_slice_uint64 inputs;
    /* Values of its nodes that are used outside, in the order of the nodes. */
    onnxport_slice_uint64 outputs;
    /* Initializers that its nodes use, in the order of their first use. Others may use them too. */
    onnxport_slice_uint64 weights;
};

/* A node of the replacement of a region. */
struct onnxport_backend_emit_record {
    /* The domain: empty for ONNX's own operators, or `BackendEntry::domain`. */
    onnxport_str domain;
    /* The operator. */
    onnxport_str op;
    /* The inputs: the region's inputs and weights, and constants and outputs that were created in this call;
     * `NOTHING`(crate::graph::NOTHING) where an optional one is left out. */
    onnxport_slice_uint64 inputs;
    /* The attributes, with different names. Blocks are not allowed. */
    onnxport_slice_graph_attribute_view attributes;
    /* The types of the outputs, of kind `TENSOR`. The host infers the types of ONNX's own operators, and uses
     * these where it cannot. */
    onnxport_slice_lowering_type_record outputs;
    /* The blob that belongs to the node, or `NO_BLOB`. A blob belongs to one node. */
    uint32_t blob;
    /* The attribute that holds the blob, as a tensor of bytes. It is left out for a blob in its own file;
     * `<name>_file` then is the file, relative to the model, `<name>_size` its length in bytes
     * and `<name>_sha256` its hash in hexadecimal. */
    onnxport_str blob_attribute;
};

/* Functions of the host for `BackendTable::claim` and `BackendTable::compile`. Used on the thread
 * that made the call and only until that returns. All functions that return a number return a
 * `status`(crate::status); `INVALID` changes nothing. */
struct onnxport_backend_host {
    /* In `claim`: the nodes that the backend's capabilities cover and that no earlier backend took, by
     * block and in order. Invalid in `compile`.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*offered)(onnxport_graph_context cx, onnxport_slice_uint64 *out);
    /* In `claim`: claims nodes, in any order. Invalid if one was not offered, occurs twice or was
     * claimed before; the conversion then fails. `flags` are `claim_flags`.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*claim)(onnxport_graph_context cx, onnxport_slice_uint64 nodes, uint32_t flags);
    /* In `claim`: states in a sentence why a node is not claimed. The last reason counts; it is ignored if the
     * node is claimed. In `compile`: states why a node of the region cannot be compiled; after `REFUSED`, the host
     * compiles the rest of the region.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*refuse_node)(onnxport_graph_context cx, uint64_t node, onnxport_str reason);
    /* In `compile`: the region. Invalid in `claim`, as are all functions below but the last.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: the value is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*region)(onnxport_graph_context cx, onnxport_backend_region_view *out);
    /* In `compile`: makes a constant of little-endian, row-major `bytes` and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*constant)(onnxport_graph_context cx, int32_t dtype, onnxport_slice_uint64 dims, onnxport_slice_uint8 bytes, uint64_t *out);
    /* In `compile`: appends to a blob; the first call for a number creates it. Large blobs are stored on disk.
     * Refused if they cannot be written.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID, REFUSED. */
    uint32_t (*blob)(onnxport_graph_context cx, uint32_t blob, onnxport_slice_uint8 bytes);
    /* In `compile`: emits a node and stores the ids of its outputs. Invalid if the record does not allow an
     * input, or the number of outputs differs from that of `node.outputs`.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*emit)(onnxport_graph_context cx, const onnxport_backend_emit_record *node, onnxport_slice_mut_uint64 outputs);
    /* In `compile`: sets the replacements of the outputs of the region, in their order. The host then checks
     * that types and shapes are the same, and fails the conversion if they are not.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*finish)(onnxport_graph_context cx, onnxport_slice_uint64 outputs);
    /* Reports why the plugin returns `REFUSED`. `code` is empty for the host's own code.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*refuse)(onnxport_graph_context cx, onnxport_str code, onnxport_str message, onnxport_str help);
};

/* Takes messages. */
struct onnxport_log_host {
    /* The largest `level` that is shown; messages above it need not be created.
     * Since contract 1.0.
     * Thread: any, also several at once.
     * Takes: nothing borrowed. Gives: nothing. */
    uint32_t (*level)(void);
    /* Takes one message of the plugin with this id. `cx` is the context of the call of `lowering/1` that the message
     * is about, on its thread and before it returns; null if there is none.
     * Since contract 1.0.
     * Thread: any, also several at once.
     * Takes: arguments are borrowed until the call returns. Gives: nothing. */
    void (*message)(onnxport_str plugin, uint32_t level, onnxport_str text, onnxport_lowering_context cx);
};

/* The functions and data that the plugin provides. */
struct onnxport_weights_table {
    /* The tensors that the plugin generates.
     * Since contract 1.0. */
    onnxport_slice_weights_tensor_entry tensors;
    /* The transforms that the plugin has.
     * Since contract 1.0. */
    onnxport_slice_weights_transform_entry transforms;
    /* Fills `out` with the bytes of the tensor at `index` from byte `offset` on: dense, row-major,
     * little-endian. The range lies inside the tensor. Returns a `status`(crate::status).
     * Since contract 1.0.
     * Thread: any, also several at once.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*fill)(uint32_t index, uint64_t offset, onnxport_slice_mut_uint8 out, const onnxport_executor_sink *sink);
    /* States the type of the result of the transform at `index` for `input`: hands one tensor without a name and
     * without bytes to the sink. `REFUSED` for an unsupported input.
     * Since contract 1.0.
     * Thread: any, also several at once.
     * Takes: arguments are borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*output)(uint32_t index, const onnxport_weights_weight_record *input, const onnxport_executor_sink *sink);
    /* Transforms `bytes`, whole granules of the input from number `first` on, into `out`. All granules become
     * the same number of bytes, except that the last one may become fewer.
     * Since contract 1.0.
     * Thread: any, also several at once.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*apply)(uint32_t index, const onnxport_weights_weight_record *input, uint64_t first, onnxport_slice_uint8 bytes, onnxport_slice_mut_uint8 out, const onnxport_executor_sink *sink);
    /* The quantizers of the plugin.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: any, also several at once.
     * Takes: nothing borrowed. Gives: the value stays valid for the rest of the process. */
    onnxport_slice_weights_quantiser_entry (*quantisers)(void);
    /* Quantizes a part of a weight with the quantizer at `index`: `weight ≈ (code - zero) * scale`.
     * `codes` has an element for each value; `scales` and `zeros` have one for each block of each row. All elements
     * are 0 at first. Codes must fit the scales as rounded to the type of the weight: nothing is rounded
     * afterwards.
     * 
     * Scales are finite, not 0, and numbers of that type; they are positive, except for symmetric codes of 4 bits.
     * Symmetric: every zero is 0, and codes lie between `-2^(bits-1)` and `2^(bits-1) - 1`; otherwise zeros and codes
     * lie between 0 and `2^bits - 1`.
     * The host refuses other answers.
     * 
     * A granule gets the same answer in every call, on every thread and in every process, alone and in
     * any part: scales, zeros and codes are written at different times, and from answers to different
     * calls.
     * Since contract 1.0; optional: null, or beyond the fields of the envelope, where it is not provided.
     * Thread: any, also several at once.
     * Takes: arguments are borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, REFUSED, PANICKED, INVALID. */
    uint32_t (*quantise)(uint32_t index, const onnxport_weights_rectangle_record *part, onnxport_slice_mut_float scales, onnxport_slice_mut_int32 zeros, onnxport_slice_mut_int32 codes, const onnxport_executor_sink *sink);
};

/* A tensor that the plugin generates. */
struct onnxport_weights_tensor_entry {
    /* The name, as the program has it. */
    onnxport_str name;
    /* The number in `TensorProto.DataType`. */
    int32_t dtype;
    /* The extents. */
    onnxport_slice_uint64 dims;
};

/* A transform of the plugin. */
struct onnxport_weights_transform_entry {
    /* The name; unique in the plugin. */
    onnxport_str name;
    /* One of `granule`. */
    uint32_t granule;
    /* The elements of a granule of the kind `BLOCK`; 0 otherwise. */
    uint64_t block;
};

/* A weight that goes into a transform. */
struct onnxport_weights_weight_record {
    /* The number in `TensorProto.DataType`. */
    int32_t dtype;
    /* The extents. */
    onnxport_slice_uint64 dims;
};

/* A quantizer of the plugin: it chooses the scales, the zero points and the codes of weights that the host
 * stores as integers. */
struct onnxport_weights_quantiser_entry {
    /* The name; unique in the plugin. */
    onnxport_str name;
    /* Its effect, in one line; may be empty. */
    onnxport_str doc;
    /* One of `quantiser_granule`. */
    uint32_t granule;
};

/* A part of a weight that is quantized. The weight is a matrix with a row per output; each row, over which a sum
 * runs, is divided into blocks. */
struct onnxport_weights_rectangle_record {
    /* The name of the weight, as the program has it. Tied weights have the name of the first of them. */
    onnxport_str name;
    /* The number in `TensorProto.DataType` of the type of the weight, and so of its scales. */
    int32_t dtype;
    /* The bits of a code. */
    uint32_t bits;
    /* 1 when every zero point is 0. */
    uint32_t symmetric;
    /* The weights of a block; the last block of a row may have fewer. */
    uint64_t block;
    /* The rows of the whole matrix. */
    uint64_t rows;
    /* The columns of the whole matrix. */
    uint64_t columns;
    /* The first row of the part. */
    uint64_t first_row;
    /* The row behind the last one. */
    uint64_t end_row;
    /* The first column of the part, where a block starts. */
    uint64_t first_column;
    /* The column behind the last one, where a block starts or the matrix ends. */
    uint64_t end_column;
    /* The weights of the part, row by row, all finite. */
    onnxport_slice_float values;
};

#ifdef __cplusplus
}
#endif

#endif
