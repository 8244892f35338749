#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* UTF-8 text of `length` bytes, not terminated; `data` is never null. */
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

/* The root of a plugin. It never changes. `attach` returns a status. A library exports it through the header of
 * the Rust crate abi_stable 0.11, so that a library in C needs a Rust crate of a few lines for this one. */
typedef struct onnxport_plugin_root {
    onnxport_table (*query)(onnxport_str interface);
    uint32_t (*attach)(const onnxport_host_root *host);
} onnxport_plugin_root;
