/* The grid on the processor: a block after the other, each of its threads a thread of the system. */
#define EMULATED
#include <pthread.h>

#define DEVICE static inline
#define GLOBAL static
#define TABLE static const
#define __shared__ static
#define __syncthreads() pthread_barrier_wait(&together)
#define atomicAdd(place, count) __atomic_fetch_add(place, count, __ATOMIC_RELAXED)

typedef struct { unsigned x; } Place;
static _Thread_local Place threadIdx, blockIdx;
static Place gridDim;
static pthread_barrier_t together;

static void atomicMax(unsigned long long *place, unsigned long long number) {
    unsigned long long old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (number > old && !__atomic_compare_exchange_n(place, &old, number, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static void atomicMin(unsigned long long *place, unsigned long long number) {
    unsigned long long old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (number < old && !__atomic_compare_exchange_n(place, &old, number, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
