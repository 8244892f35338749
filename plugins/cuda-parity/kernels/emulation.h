/* The grid of a kernel on the processor: each block is run after the other, each thread of a block is a fiber that gives way
 * to the next one at `__syncthreads`. */
#define EMULATED 1
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <ucontext.h>

typedef struct {
    unsigned x, y, z;
} Index;
static Index threadIdx, blockIdx, blockDim, gridDim;
#define __shared__ static
#define __syncthreads() give_way()

enum { STACK = 1 << 16, MOST = 64 };
static ucontext_t host, fibers[MOST];
static Index places[MOST];
static int done[MOST], current;
static void give_way(void) {
    int here = current;
    swapcontext(&fibers[here], &host);
    threadIdx = places[here];
}
