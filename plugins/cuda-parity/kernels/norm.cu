/* Runs of TYPE with mean 0 and variance 1, or of mean square 1, then scaled and shifted; a block computes a run.
 * n: runs, elements of a run, whether the mean is taken away; the entry of scale and bias that element e of all takes is
 * e / n[3] % n[4], of the former where p[1] is there, of the latter where p[2] is. STATS is the type of the means and of the
 * inverse deviations, where p[4] and p[5] are there. x: epsilon. */
#define W NAME(W, TYPE)
#ifndef THREADS
#define THREADS 256
#endif

EXPORT void normalise(Args a) {
    __shared__ W shared[THREADS];
    int thread = (int)threadIdx.x;
    GROUPS(g, a.n[0]) {
        long long first = g * a.n[1];
        W mean = 0, sum = 0;
        if (a.n[2]) {
            for (long long i = thread; i < a.n[1]; i += blockDim.x) sum += NAME(load, TYPE)(a.p[0], first + i);
            shared[thread] = sum;
            __syncthreads();
            for (unsigned half = blockDim.x / 2; half; half /= 2) {
                if (thread < half) shared[thread] += shared[thread + half];
                __syncthreads();
            }
            mean = shared[0] / (W)a.n[1];
            __syncthreads();
        }
        sum = 0;
        for (long long i = thread; i < a.n[1]; i += blockDim.x) {
            W x = NAME(load, TYPE)(a.p[0], first + i) - mean;
            sum += x * x;
        }
        shared[thread] = sum;
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half; half /= 2) {
            if (thread < half) shared[thread] += shared[thread + half];
            __syncthreads();
        }
        W deviation = SQRT(shared[0] / (W)a.n[1] + (W)a.x[0]);
        __syncthreads();
        for (long long i = thread; i < a.n[1]; i += blockDim.x) {
            W x = (NAME(load, TYPE)(a.p[0], first + i) - mean) / deviation;
            long long entry = (first + i) / a.n[3] % a.n[4];
            if (a.p[1]) x *= NAME(load, TYPE)(a.p[1], entry);
            if (a.p[2]) x += NAME(load, TYPE)(a.p[2], entry);
            NAME(store, TYPE)(a.p[3], first + i, x);
        }
        if (thread == 0) {
            if (a.p[4]) NAME(store, STATS)(a.p[4], g, mean);
            if (a.p[5]) NAME(store, STATS)(a.p[5], g, (W)1 / deviation);
        }
        __syncthreads();
    }
}
