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
