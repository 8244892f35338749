/* An executor that does what its option `does` says. `right` gives its one input back as `y`. */

#include "onnxport.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define TEXT(literal) ((onnxport_str)ONNXPORT_TEXT(literal))
#define IS(text, literal) onnxport_is(text, literal, sizeof(literal) - 1)

#define I32 6

static char does[32] = "right";

/* What is wrong with the process, if it is the turn of `when`. */
static void act(const char *when) {
    const size_t length = strlen(when);
    if (strncmp(does, when, length) != 0 || does[length] != '-') return;
    const char *what = does + length + 1;
    if (strcmp(what, "segv") == 0) {
        /* Whoever catches it would say more than a crash of the runtime itself. */
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(what, "abort") == 0) abort();
    if (strcmp(what, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(what, "exit") == 0) _exit(3);
    if (strcmp(what, "hang") == 0) for (;;) pause();
    if (strcmp(what, "print") == 0) {
        static const char text[] = "a runtime prints what it likes\n";
        if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) abort();
    }
}

static int opened;

static uint32_t open_runtime(onnxport_slice_executor_option_record options, onnxport_executor_handle *out,
                             const onnxport_executor_sink *sink) {
    (void)sink;
    for (size_t i = 0; i < options.length; i++) {
        const onnxport_executor_option_record *option = &options.data[i];
        if (!IS(option->name, "does") || option->value.length >= sizeof does) continue;
        memcpy(does, option->value.data, option->value.length);
        does[option->value.length] = 0;
    }
    act("open");
    *out = &opened;
    return ONNXPORT_STATUS_OK;
}

static uint32_t describe(onnxport_executor_handle runtime, const onnxport_executor_sink *sink) {
    (void)runtime;
    sink->text(sink->receiver, TEXT("Faulty 1"));
    return ONNXPORT_STATUS_OK;
}

static uint32_t load(onnxport_executor_handle runtime, onnxport_str path, onnxport_executor_handle *out,
                     const onnxport_executor_sink *sink) {
    (void)path, (void)sink;
    act("load");
    *out = runtime;
    return ONNXPORT_STATUS_OK;
}

static uint32_t run(onnxport_executor_handle session, onnxport_slice_executor_tensor_view inputs,
                    const onnxport_executor_sink *sink) {
    (void)session;
    act("run");
    if (inputs.length != 1) return ONNXPORT_STATUS_INVALID;
    onnxport_executor_tensor_view y = inputs.data[0];
    const int64_t flat[] = {6};
    const int64_t other[] = {3, 2};
    y.name = TEXT("y");
    if (strcmp(does, "refuse") == 0) {
        sink->error(sink->receiver, TEXT("it does not want to"), TEXT("ask nicely"));
        return ONNXPORT_STATUS_REFUSED;
    }
    if (strcmp(does, "few") == 0) return ONNXPORT_STATUS_OK;
    if (strcmp(does, "name") == 0) y.name = TEXT("z");
    if (strcmp(does, "rank") == 0) y.dims = (onnxport_slice_int64){flat, 1};
    if (strcmp(does, "shape") == 0) y.dims = (onnxport_slice_int64){other, 2};
    if (strcmp(does, "dtype") == 0) y.dtype = I32;
    if (strcmp(does, "bytes") == 0) y.bytes.length -= 4;
    sink->tensor(sink->receiver, &y);
    act("between");
    if (strcmp(does, "many") == 0) sink->tensor(sink->receiver, &y);
    return ONNXPORT_STATUS_OK;
}

static void forget(onnxport_executor_handle handle) { (void)handle; }

static const onnxport_executor_table executor = {
    .name = ONNXPORT_TEXT("Faulty"),
    .open = open_runtime,
    .describe = describe,
    .load = load,
    .run = run,
    .unload = forget,
    .close = forget,
};

static const onnxport_str provided[] = {ONNXPORT_TEXT(ONNXPORT_EXECUTOR_INTERFACE)};

static const onnxport_about_table about = {
    .id = ONNXPORT_TEXT("faulty"),
    .version = ONNXPORT_TEXT("0.1.0"),
    .contract = {ONNXPORT_CONTRACT_MAJOR, ONNXPORT_CONTRACT_MINOR},
    .needs = {1, 0},
    .provides = {provided, COUNT(provided)},
};

static const uint64_t about_prints[] = ONNXPORT_ABOUT_TABLE_LAYOUT;
static const uint64_t executor_prints[] = ONNXPORT_EXECUTOR_TABLE_LAYOUT;

static onnxport_table query(onnxport_str name) {
    if (IS(name, ONNXPORT_ABOUT_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(about, about_prints);
    if (IS(name, ONNXPORT_EXECUTOR_INTERFACE)) return (onnxport_table)ONNXPORT_ENVELOPE(executor, executor_prints);
    return (onnxport_table){0};
}

static uint32_t attach(const onnxport_host_root *host) {
    return host->version.major == ONNXPORT_CONTRACT_MAJOR ? ONNXPORT_STATUS_OK : ONNXPORT_STATUS_REFUSED;
}

ONNXPORT_ROOT(query, attach);
