/* Elements by index; INDEX is the type of the indices, UNIT has as many bytes as an element. */

/* An index that may count from the end; one out of range is told. */
DEVICE long long place(long long index, long long extent, int *fault) {
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) {
        *fault = 1;
        return 0;
    }
    return index;
}

/* n: count, extent of the axis, inner, number of indices. */
EXPORT void gather(Args a) {
    const UNIT *from = (const UNIT *)a.p[0];
    UNIT *to = (UNIT *)a.p[2];
    long long extent = a.n[1], inner = a.n[2], picks = a.n[3];
    EACH(i, a.n[0]) {
        long long outer = i / (inner * picks), pick = i / inner % picks;
        long long at = place((long long)NAME(load, INDEX)(a.p[1], pick), extent, (int *)a.p[15]);
        to[i] = from[(outer * extent + at) * inner + i % inner];
    }
}

/* n: count, rank, axis, its extent and its step in the data, then per axis: extents of the indices, steps in the data. */
EXPORT void gather_elements(Args a) {
    const UNIT *from = (const UNIT *)a.p[0];
    UNIT *to = (UNIT *)a.p[2];
    int rank = (int)a.n[1];
    EACH(i, a.n[0]) {
        long long rest = i, source = 0;
        for (int axis = rank - 1; axis >= 0; axis--) {
            long long extent = a.n[5 + axis];
            if (axis != a.n[2]) source += rest % extent * a.n[5 + rank + axis];
            rest /= extent;
        }
        long long at = place((long long)NAME(load, INDEX)(a.p[1], i), a.n[3], (int *)a.p[15]);
        to[i] = from[source + at * a.n[4]];
    }
}

/* The first element of the slice that row `row` of the indices names.
 * n from `n` on: depth, inner, rows per batch, then the extents that are named. */
DEVICE long long slice(const void *indices, long long row, const long long *n, int batched, int *fault) {
    long long at = batched ? row / n[2] : 0;
    for (int k = 0; k < n[0]; k++)
        at = at * n[3 + k] + place((long long)NAME(load, INDEX)(indices, row * n[0] + k), n[3 + k], fault);
    return at * n[1];
}

/* n: count, whether there is a batch, then those of `slice`. */
EXPORT void gather_nd(Args a) {
    const UNIT *from = (const UNIT *)a.p[0];
    UNIT *to = (UNIT *)a.p[2];
    long long inner = a.n[3];
    EACH(i, a.n[0]) to[i] = from[slice(a.p[1], i / inner, a.n + 2, (int)a.n[1], (int *)a.p[15]) + i % inner];
}
