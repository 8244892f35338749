/* Products of stacks of matrices of TYPE, in tiles that a block keeps in shared memory. ROWS and COLUMNS are the threads of a
 * block.
 * n: rows m, columns n, depth k; steps of a by row and column, of b by row and column; whether what is there is added to;
 * the rank of the stack; then per axis of it: extents, steps in a, steps in b. x: a factor. */
#define TILE 64
#define DEPTH 16
#define ROW (TILE / ROWS)
#define COLUMN (TILE / COLUMNS)
#define W NAME(W, TYPE)

EXPORT void matmul(Args a) {
    __shared__ W left[DEPTH][TILE], right[DEPTH][TILE];
    long long m = a.n[0], n = a.n[1], depth = a.n[2];
    long long row = (long long)blockIdx.y * TILE, column = (long long)blockIdx.x * TILE;
    int rank = (int)a.n[8], thread = threadIdx.y * COLUMNS + threadIdx.x;
    long long stacks = 1;
    for (int axis = 0; axis < rank; axis++) stacks *= a.n[9 + axis];
    for (long long stack = blockIdx.z; stack < stacks; stack += gridDim.z) {
        long long rest = stack, from_a = 0, from_b = 0;
        for (int axis = rank - 1; axis >= 0; axis--) {
            long long extent = a.n[9 + axis], at = rest % extent;
            rest /= extent;
            from_a += at * a.n[9 + rank + axis];
            from_b += at * a.n[9 + 2 * rank + axis];
        }
        W sums[ROW][COLUMN];
        for (int i = 0; i < ROW; i++)
            for (int j = 0; j < COLUMN; j++) sums[i][j] = 0;
        for (long long first = 0; first < depth; first += DEPTH) {
            for (int at = thread; at < TILE * DEPTH; at += ROWS * COLUMNS) {
                /* Neighbouring threads read neighbouring elements where steps are 1. */
                int k = a.n[4] == 1 ? at % DEPTH : at / TILE, i = a.n[4] == 1 ? at / DEPTH : at % TILE;
                left[k][i] = row + i < m && first + k < depth
                                 ? NAME(load, TYPE)(a.p[0], from_a + (row + i) * a.n[3] + (first + k) * a.n[4])
                                 : (W)0;
            }
            for (int at = thread; at < TILE * DEPTH; at += ROWS * COLUMNS) {
                int k = a.n[6] == 1 ? at / TILE : at % DEPTH, j = a.n[6] == 1 ? at % TILE : at / DEPTH;
                right[k][j] = column + j < n && first + k < depth
                                  ? NAME(load, TYPE)(a.p[1], from_b + (first + k) * a.n[5] + (column + j) * a.n[6])
                                  : (W)0;
            }
            __syncthreads();
            for (int k = 0; k < DEPTH; k++)
                for (int i = 0; i < ROW; i++)
                    for (int j = 0; j < COLUMN; j++)
                        sums[i][j] = FMA(left[k][threadIdx.y * ROW + i], right[k][threadIdx.x * COLUMN + j], sums[i][j]);
            __syncthreads();
        }
        for (int i = 0; i < ROW; i++)
            for (int j = 0; j < COLUMN; j++) {
                long long y = row + threadIdx.y * ROW + i, x = column + threadIdx.x * COLUMN + j;
                if (y >= m || x >= n) continue;
                long long to = (stack * m + y) * n + x;
                W sum = a.x[0] == 1.0 ? sums[i][j] : sums[i][j] * (W)a.x[0];
                if (a.n[7]) sum += NAME(load, TYPE)(a.p[2], to);
                NAME(store, TYPE)(a.p[2], to, sum);
            }
    }
}
