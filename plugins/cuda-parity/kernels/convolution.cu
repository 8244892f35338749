/* Convolutions of TYPE over up to three spatial axes, as a product of the weight with the input's windows: no window is
 * written down.
 * n: filters per group, places of the output, channels per group, places of the kernel, groups, batch;
 * from 6: extents of the input, 9: of the output, 12: of the kernel, 15: strides, 18: dilations, 21: pads in front. */
#define TILE 64
#define DEPTH 16
#define ROW (TILE / ROWS)
#define COLUMN (TILE / COLUMNS)
#define W NAME(W, TYPE)

EXPORT void convolution(Args a) {
    __shared__ W left[DEPTH][TILE], right[DEPTH][TILE];
    long long m = a.n[0], n = a.n[1], places = a.n[3], depth = a.n[2] * places, size = a.n[6] * a.n[7] * a.n[8];
    long long row = (long long)blockIdx.y * TILE, column = (long long)blockIdx.x * TILE;
    int thread = threadIdx.y * COLUMNS + threadIdx.x;
    for (long long stack = blockIdx.z; stack < a.n[4] * a.n[5]; stack += gridDim.z) {
        long long group = stack % a.n[4];
        const unsigned char *weight = a.p[1];
        long long from_w = group * m * depth, from_x = stack * a.n[2] * size;
        W sums[ROW][COLUMN];
        for (int i = 0; i < ROW; i++)
            for (int j = 0; j < COLUMN; j++) sums[i][j] = 0;
        for (long long first = 0; first < depth; first += DEPTH) {
            for (int at = thread; at < TILE * DEPTH; at += ROWS * COLUMNS) {
                int k = at % DEPTH, i = at / DEPTH;
                left[k][i] = row + i < m && first + k < depth
                                 ? NAME(load, TYPE)(weight, from_w + (row + i) * depth + first + k)
                                 : (W)0;
            }
            for (int at = thread; at < TILE * DEPTH; at += ROWS * COLUMNS) {
                int k = at / TILE, j = at % TILE;
                long long tap = (first + k) % places, channel = (first + k) / places, out = column + j;
                W x = 0;
                if (out < n && first + k < depth) {
                    long long from = 0, inside = 1, unit = size;
                    long long over = n, kernel = places;
                    for (int axis = 0; axis < 3; axis++) {
                        over /= a.n[9 + axis];
                        kernel /= a.n[12 + axis];
                        unit /= a.n[6 + axis];
                        long long at_axis = out / over % a.n[9 + axis] * a.n[15 + axis] - a.n[21 + axis] +
                                            tap / kernel % a.n[12 + axis] * a.n[18 + axis];
                        inside &= at_axis >= 0 && at_axis < a.n[6 + axis];
                        from += at_axis * unit;
                    }
                    if (inside) x = NAME(load, TYPE)(a.p[0], from_x + channel * size + from);
                }
                right[k][j] = x;
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
                W sum = sums[i][j];
                if (a.p[3]) sum += NAME(load, TYPE)(a.p[3], group * m + y);
                NAME(store, TYPE)(a.p[2], (stack * m + y) * n + x, sum);
            }
    }
}

/* The transposed convolution: a thread gathers what reaches an element of the output.
 * n as above, but of the input and the output of the transposed one; filters and channels per group keep their names: `n[0]`
 * are those of the output, `n[2]` those of the input. */
EXPORT void transposed(Args a) {
    long long filters = a.n[0], outputs = a.n[1], channels = a.n[2], places = a.n[3], groups = a.n[4];
    long long size = a.n[6] * a.n[7] * a.n[8];
    EACH(i, filters * outputs * groups * a.n[5]) {
        long long out = i % outputs, filter = i / outputs % filters, stack = i / (outputs * filters);
        long long group = stack % groups;
        W sum = 0;
        for (long long tap = 0; tap < places; tap++) {
            long long from = 0, inside = 1, unit = size, over = outputs, kernel = places;
            for (int axis = 0; axis < 3; axis++) {
                over /= a.n[9 + axis];
                kernel /= a.n[12 + axis];
                unit /= a.n[6 + axis];
                long long at = out / over % a.n[9 + axis] + a.n[21 + axis] - tap / kernel % a.n[12 + axis] * a.n[18 + axis];
                inside &= at >= 0 && at % a.n[15 + axis] == 0 && at / a.n[15 + axis] < a.n[6 + axis];
                from += at / a.n[15 + axis] * unit;
            }
            if (!inside) continue;
            for (long long channel = 0; channel < channels; channel++)
                sum = FMA(NAME(load, TYPE)(a.p[0], (stack * channels + channel) * size + from),
                          NAME(load, TYPE)(a.p[1], ((group * channels + channel) * filters + filter) * places + tap), sum);
        }
        if (a.p[3]) sum += NAME(load, TYPE)(a.p[3], group * filters + filter);
        NAME(store, TYPE)(a.p[2], i, sum);
    }
}
