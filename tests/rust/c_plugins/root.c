/* Libraries whose root is not quite one; `DEFECT` says which. */

#include "onnxport.h"

static onnxport_table query(onnxport_str interface) {
    (void)interface;
    return (onnxport_table){0};
}

static uint32_t attach(const onnxport_host_root *host) {
    (void)host;
    return ONNXPORT_STATUS_OK;
}

#define MAGIC 1
#define VERSION 2
#define SIZE 3
#define QUERY 4
#define ATTACH 5
#define GROWN 6
#define NONE 7

#if DEFECT == GROWN
/* A root of a later version: the host reads what it knows. */
typedef struct { onnxport_c_root known; uint64_t more; } grown;
ONNXPORT_EXPORT extern const grown later;
const grown later __asm__("onnxport_root") = {
    {ONNXPORT_ROOT_MAGIC, sizeof(grown), {ONNXPORT_ROOT_MAJOR, ONNXPORT_ROOT_MINOR + 3}, query, attach}, 7,
};
#elif DEFECT != NONE
const onnxport_c_root onnxport_root = {
    ONNXPORT_ROOT_MAGIC + (DEFECT == MAGIC),
    sizeof(onnxport_c_root) - (DEFECT == SIZE),
    {ONNXPORT_ROOT_MAJOR + (DEFECT == VERSION), ONNXPORT_ROOT_MINOR},
    DEFECT == QUERY ? NULL : query,
    DEFECT == ATTACH ? NULL : attach,
};
#else
ONNXPORT_EXPORT onnxport_table (*const nothing)(onnxport_str) = query;
ONNXPORT_EXPORT uint32_t (*const nobody)(const onnxport_host_root *) = attach;
#endif
