/* Reductions of TYPE. A block computes a group. START is what nothing makes; MAP(x) is an element, JOIN(x, y) joins two,
 * END(x, count) makes the result of all.
 * n: groups, elements of a group; rank of the groups, rank within; then per axis of the groups: extents, steps; per axis
 * within: extents, steps. */
#define W NAME(W, TYPE)
#ifndef THREADS
#define THREADS 256
#endif

DEVICE long long walk(long long at, int rank, const long long *n) {
    long long to = 0;
    for (int axis = rank - 1; axis >= 0; axis--) {
        to += at % n[axis] * n[rank + axis];
        at /= n[axis];
    }
    return to;
}

EXPORT void reduce(Args a) {
    __shared__ W shared[THREADS];
    int outer = (int)a.n[2], inner = (int)a.n[3], thread = (int)threadIdx.x;
    const long long *within = a.n + 4 + 2 * outer;
    GROUPS(g, a.n[0]) {
        long long start = walk(g, outer, a.n + 4);
        W base = 0;
#ifdef BASE
        /* The largest element first, from which exponentials are taken. */
        base = LEAST;
        for (long long i = thread; i < a.n[1]; i += blockDim.x)
            base = BASE(base, NAME(load, TYPE)(a.p[0], start + walk(i, inner, within)));
        shared[thread] = base;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half; half /= 2) {
            if (thread < half) shared[thread] = BASE(shared[thread], shared[thread + half]);
            __syncthreads();
        }
        base = shared[0];
        if (base - base != 0) base = 0;
        __syncthreads();
#endif
        W sum = START;
        for (long long i = thread; i < a.n[1]; i += blockDim.x) {
            W x = NAME(load, TYPE)(a.p[0], start + walk(i, inner, within));
            sum = JOIN(sum, MAP(x));
        }
        shared[thread] = sum;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half; half /= 2) {
            if (thread < half) shared[thread] = JOIN(shared[thread], shared[thread + half]);
            __syncthreads();
        }
        if (thread == 0) NAME(store, TYPE)(a.p[1], g, END(shared[0], (W)a.n[1]));
        __syncthreads();
        (void)base;
    }
}
