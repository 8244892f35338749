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

/* about/1: what a plugin is. The only table that may be read before the plugin is attached. */
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

/* The fingerprints of tables, one per field, and the places of the fields among them. They hold for
 * machines of 64 bits. */
#define ONNXPORT_ABOUT_TABLE_LAYOUT { \
    UINT64_C(0x8e392933b85ada35), /* 1.0 id */ \
    UINT64_C(0x5fe1a2d601b5d259), /* 1.0 version */ \
    UINT64_C(0x92ba7263562fbbb7), /* 1.0 description */ \
    UINT64_C(0x2ba08f7e445d37ba), /* 1.0 contract */ \
    UINT64_C(0xed049185ab767f45), /* 1.0 needs */ \
    UINT64_C(0xe18927f93b7d6392), /* 1.0 provides */ \
}
enum {
    ONNXPORT_ABOUT_TABLE_ID,
    ONNXPORT_ABOUT_TABLE_VERSION,
    ONNXPORT_ABOUT_TABLE_DESCRIPTION,
    ONNXPORT_ABOUT_TABLE_CONTRACT,
    ONNXPORT_ABOUT_TABLE_NEEDS,
    ONNXPORT_ABOUT_TABLE_PROVIDES,
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
}
enum {
    ONNXPORT_EXECUTOR_TABLE_NAME,
    ONNXPORT_EXECUTOR_TABLE_OPEN,
    ONNXPORT_EXECUTOR_TABLE_DESCRIBE,
    ONNXPORT_EXECUTOR_TABLE_LOAD,
    ONNXPORT_EXECUTOR_TABLE_RUN,
    ONNXPORT_EXECUTOR_TABLE_UNLOAD,
    ONNXPORT_EXECUTOR_TABLE_CLOSE,
    ONNXPORT_EXECUTOR_TABLE_FIELDS
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
typedef struct onnxport_lowering_origin_view onnxport_lowering_origin_view;
typedef struct onnxport_executor_table onnxport_executor_table;
typedef void *onnxport_executor_handle;
typedef struct onnxport_executor_option_record onnxport_executor_option_record;
typedef struct onnxport_executor_tensor_view onnxport_executor_tensor_view;
typedef struct onnxport_executor_sink onnxport_executor_sink;

/* Slices: `data` may be null where `length` is 0. */
typedef struct onnxport_slice_executor_option_record { const onnxport_executor_option_record *data; size_t length; } onnxport_slice_executor_option_record;
typedef struct onnxport_slice_executor_tensor_view { const onnxport_executor_tensor_view *data; size_t length; } onnxport_slice_executor_tensor_view;
typedef struct onnxport_slice_float { const float *data; size_t length; } onnxport_slice_float;
typedef struct onnxport_slice_int64 { const int64_t *data; size_t length; } onnxport_slice_int64;
typedef struct onnxport_slice_lowering_arg_record { const onnxport_lowering_arg_record *data; size_t length; } onnxport_slice_lowering_arg_record;
typedef struct onnxport_slice_lowering_attr_record { const onnxport_lowering_attr_record *data; size_t length; } onnxport_slice_lowering_attr_record;
typedef struct onnxport_slice_lowering_dim_record { const onnxport_lowering_dim_record *data; size_t length; } onnxport_slice_lowering_dim_record;
typedef struct onnxport_slice_lowering_entry { const onnxport_lowering_entry *data; size_t length; } onnxport_slice_lowering_entry;
typedef struct onnxport_slice_lowering_type_record { const onnxport_lowering_type_record *data; size_t length; } onnxport_slice_lowering_type_record;
typedef struct onnxport_slice_mut_uint32 { uint32_t *data; size_t length; } onnxport_slice_mut_uint32;
typedef struct onnxport_slice_str { const onnxport_str *data; size_t length; } onnxport_slice_str;
typedef struct onnxport_slice_uint32 { const uint32_t *data; size_t length; } onnxport_slice_uint32;
typedef struct onnxport_slice_uint64 { const uint64_t *data; size_t length; } onnxport_slice_uint64;
typedef struct onnxport_slice_uint8 { const uint8_t *data; size_t length; } onnxport_slice_uint8;

/* What the plugin is. */
struct onnxport_about_table {
    /* The plugin's id, `aten`: what diagnostics and options call it.
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
    /* What it does, one line. */
    onnxport_str doc;
    /* The values that it may have; empty when every value of the kind is right. */
    onnxport_slice_str allowed;
};

/* What the plugin provides. */
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
     * Takes: what is passed is borrowed until the call returns. Gives: nothing.
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

/* What is known about a value or a result. */
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
    /* The results with what the program states about them; lists are flattened. */
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

/* What a nested graph takes and gives. */
struct onnxport_lowering_graph_view {
    /* The inputs. */
    onnxport_slice_lowering_type_record inputs;
    /* The outputs. */
    onnxport_slice_lowering_type_record outputs;
};

/* What the host offers while it lowers a call. Used on the thread that called
 * `LoweringTable::lower` and only until that returns. */
struct onnxport_lowering_host {
    /* The call; the view is valid until `lower` returns.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: what is given is borrowed until the call that passed this on returns.
     * Answers OK, INVALID. */
    uint32_t (*call)(onnxport_lowering_context cx, onnxport_lowering_call_view *out);
    /* What is known about a value.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: what is given is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*value_type)(onnxport_lowering_context cx, uint32_t value, onnxport_lowering_type_record *out);
    /* The contents of a small constant (at most 64 KiB); `dtype` is 0 when it is none. Parameters and
     * buffers are none: their bytes are not read.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: what is given is borrowed until the next call into the same table.
     * Answers OK, INVALID. */
    uint32_t (*constant_data)(onnxport_lowering_context cx, uint32_t value, onnxport_lowering_data_view *out);
    /* The symbolic contents of a vector of integers.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: what is given is borrowed until the next call into the same table.
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
     * Takes: what is passed is borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*emit)(onnxport_lowering_context cx, const onnxport_lowering_node_record *node, onnxport_slice_mut_uint32 outputs);
    /* Makes a constant of little-endian, row-major `bytes` and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*constant)(onnxport_lowering_context cx, int32_t dtype, onnxport_slice_uint64 dims, onnxport_slice_uint8 bytes, uint32_t *out);
    /* Emits what computes `dims` at run time, as an i64 vector, and stores its id.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*dims_value)(onnxport_lowering_context cx, onnxport_slice_lowering_dim_record dims, uint32_t *out);
    /* States the type of a value that the host could not infer.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*set_type)(onnxport_lowering_context cx, uint32_t value, const onnxport_lowering_type_record *ty);
    /* What a nested graph takes and gives.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: nothing borrowed. Gives: what is given is borrowed until the next call into the same table.
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
     * Takes: what is passed is borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*block_input)(onnxport_lowering_context cx, const onnxport_lowering_type_record *ty, uint32_t *out);
    /* Lowers a nested graph into the current block with `inputs` for its inputs, and stores the ids
     * of its outputs.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*inline_graph)(onnxport_lowering_context cx, uint32_t graph, onnxport_slice_uint32 inputs, onnxport_slice_mut_uint32 outputs);
    /* Ends the current block with these outputs and stores its id, for a `BLOCK` attribute.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: plain values, the caller's own.
     * Answers OK, INVALID. */
    uint32_t (*end_block)(onnxport_lowering_context cx, onnxport_slice_uint32 outputs, uint32_t *out);
    /* Sets the results of the call, one per result; `ABSENT` for one that is not computed, which
     * is an error if the program uses it.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: nothing.
     * Answers OK, INVALID. */
    uint32_t (*finish)(onnxport_lowering_context cx, onnxport_slice_uint32 results);
    /* Says why the call cannot be lowered. `code` is empty for the host's own code; any other is shown after
     * the plugin's id, `mylib:W01`.
     * Since contract 1.0.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: nothing. */
    void (*refuse)(onnxport_lowering_context cx, onnxport_str code, onnxport_str message, onnxport_str help);
};

/* Where a call comes from. Texts are empty, and the line is 0, where the program does not say. */
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

/* What the plugin provides. */
struct onnxport_executor_table {
    /* The name to show, `ONNX Runtime`.
     * Since contract 1.0. */
    onnxport_str name;
    /* Opens the runtime. Stores a handle for `ExecutorTable::close`. Returns a
     * `status`(crate::status).
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: what is passed is borrowed until the call returns. Gives: what is given stays valid until `close` takes it back.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*open)(onnxport_slice_executor_option_record options, onnxport_executor_handle *out, const onnxport_executor_sink *sink);
    /* Says what the runtime is, through the sink's `text`: `ONNX Runtime 1.31.1, /path/to/library`.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: what is passed is borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*describe)(onnxport_executor_handle runtime, const onnxport_executor_sink *sink);
    /* Loads the model at `path`. Stores a handle for `ExecutorTable::unload`.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: what is passed is borrowed until the call returns. Gives: what is given stays valid until `unload` takes it back.
     * Answers OK, REFUSED, PANICKED, UNSUPPORTED. */
    uint32_t (*load)(onnxport_executor_handle runtime, onnxport_str path, onnxport_executor_handle *out, const onnxport_executor_sink *sink);
    /* Runs the model. The outputs arrive through the sink's `tensor`, in the model's order.
     * Since contract 1.0.
     * Thread: any, but one at a time for one handle.
     * Takes: what is passed is borrowed until the call returns. Gives: through the sink; borrowed until the sink's function returns.
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

/* Where a call's results and errors go; valid until the call returns. */
struct onnxport_executor_sink {
    /* The receiver, passed to the functions. */
    void *receiver;
    /* Takes a tensor.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: nothing. */
    void (*tensor)(void *receiver, const onnxport_executor_tensor_view *tensor);
    /* Takes a text.
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: nothing. */
    void (*text)(void *receiver, onnxport_str text);
    /* Takes the reason why the call failed, and the next step (may be empty).
     * Thread: the one of the call that passed this on, and only until that returns.
     * Takes: what is passed is borrowed until the call returns. Gives: nothing. */
    void (*error)(void *receiver, onnxport_str message, onnxport_str help);
};

#ifdef __cplusplus
}
#endif

#endif
