/* Runs a kernel: `together` says that the threads of a block wait for each other, and is negative where they run from the
 * last one to the first. Answers 0, or 1 without memory. */
static void (*kernel_of_block)(Args);
static Args *given;
static void fiber(void) {
    kernel_of_block(*given);
    done[current] = 1;
    swapcontext(&fibers[current], &host);
}
int launch(void (*kernel)(Args), Args *args, const unsigned *grid, const unsigned *block, int together) {
    Index dims = {grid[0], grid[1], grid[2]}, threads = {block[0], block[1], 1};
    int count = (int)(threads.x * threads.y);
    char *stacks = 0;
    gridDim = dims;
    blockDim = threads;
    kernel_of_block = kernel;
    given = args;
    if (together) {
        stacks = malloc((size_t)count * STACK);
        if (!stacks || count > MOST) return 1;
    }
    for (unsigned z = 0; z < dims.z; z++)
        for (unsigned y = 0; y < dims.y; y++)
            for (unsigned x = 0; x < dims.x; x++) {
                Index here = {x, y, z};
                blockIdx = here;
                for (int t = 0; t < count; t++) {
                    Index place = {t % threads.x, t / threads.x, 0};
                    places[t] = threadIdx = place;
                    if (!together) {
                        kernel(*args);
                        continue;
                    }
                    done[t] = 0;
                    getcontext(&fibers[t]);
                    fibers[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
                    fibers[t].uc_stack.ss_size = STACK;
                    fibers[t].uc_link = 0;
                    makecontext(&fibers[t], fiber, 0);
                }
                for (int left = together ? count : 0; left;)
                    for (int i = 0; i < count; i++) {
                        int t = together < 0 ? count - 1 - i : i;
                        if (!done[t]) {
                            current = t;
                            threadIdx = places[t];
                            swapcontext(&host, &fibers[t]);
                            left -= done[t];
                        }
                    }
            }
    free(stacks);
    return 0;
}
