/* Softmax of TYPE along lines, or its logarithm; a block computes a line. n: outer, extent, inner, whether the logarithm. */
#define W NAME(W, TYPE)
#ifndef THREADS
#define THREADS 256
#endif

EXPORT void softmax(Args a) {
    __shared__ W shared[THREADS];
    int thread = (int)threadIdx.x;
    long long step = a.n[2];
    GROUPS(g, a.n[0] * a.n[2]) {
        long long first = g / step * a.n[1] * step + g % step;
        W most = -INFINITE, sum = 0;
        for (long long i = thread; i < a.n[1]; i += blockDim.x)
            most = LARGER(most, NAME(load, TYPE)(a.p[0], first + i * step));
        shared[thread] = most;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half; half /= 2) {
            if (thread < half) shared[thread] = LARGER(shared[thread], shared[thread + half]);
            __syncthreads();
        }
        most = shared[0];
        __syncthreads();
        for (long long i = thread; i < a.n[1]; i += blockDim.x)
            sum += EXP(NAME(load, TYPE)(a.p[0], first + i * step) - most);
        shared[thread] = sum;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half; half /= 2) {
            if (thread < half) shared[thread] += shared[thread + half];
            __syncthreads();
        }
        sum = a.n[3] ? LOG(shared[0]) : shared[0];
        __syncthreads();
        for (long long i = thread; i < a.n[1]; i += blockDim.x) {
            W x = NAME(load, TYPE)(a.p[0], first + i * step) - most;
            NAME(store, TYPE)(a.p[1], first + i * step, a.n[3] ? x - sum : EXP(x) / sum);
        }
        __syncthreads();
    }
}
