/* Starts the kernels of `compare.cu` on the emulated grid; each call answers 0, or 1 where the system starts no thread. */
typedef struct {
    int kernel;
    const CODE *got, *expected;
    u64 count, base;
    double rtol, atol;
    u64 *out, *parts;
    unsigned thread, blocks;
} Job;

static void *work(void *given) {
    Job *job = given;
    threadIdx.x = job->thread;
    for (unsigned block = 0; block < job->blocks; block++) {
        blockIdx.x = block;
        if (job->kernel == 0) largest(job->expected, job->count, job->out);
        if (job->kernel == 1)
            compare(job->got, job->expected, job->count, job->base, job->rtol, job->atol, job->parts);
        if (job->kernel == 2 && block == 0) merge(job->parts, job->count, job->out);
        /* What a block shares is used by the next one. */
        __syncthreads();
    }
    return 0;
}

static int grid(Job job) {
    pthread_t threads[THREADS];
    Job jobs[THREADS];
    unsigned started = 0;
    gridDim.x = job.blocks;
    if (pthread_barrier_init(&together, 0, THREADS)) return 1;
    for (; started < THREADS; started++) {
        jobs[started] = job;
        jobs[started].thread = started;
        if (pthread_create(&threads[started], 0, work, &jobs[started])) return 1;
    }
    for (unsigned thread = 0; thread < THREADS; thread++) pthread_join(threads[thread], 0);
    return pthread_barrier_destroy(&together);
}

int run_largest(const void *expected, u64 count, u64 *most, unsigned blocks) {
    Job job = {.kernel = 0, .expected = expected, .count = count, .out = most, .blocks = blocks};
    return grid(job);
}

int run_compare(
    const void *got, const void *expected, u64 count, u64 base, double rtol, double atol, u64 *parts, unsigned blocks
) {
    Job job = {
        .kernel = 1, .got = got, .expected = expected, .count = count, .base = base, .rtol = rtol, .atol = atol,
        .parts = parts, .blocks = blocks
    };
    return grid(job);
}

int run_merge(u64 *parts, u64 blocks, u64 *total) {
    Job job = {.kernel = 2, .parts = parts, .count = blocks, .out = total, .blocks = 1};
    return grid(job);
}
