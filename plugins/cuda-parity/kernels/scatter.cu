/* Updates by index, onto a copy of the data. What meets at one place is joined by one thread in the order of the updates, so
 * that the result is always the same. TYPE is that of the elements, INDEX that of the indices; JOIN(x, y) joins. */

DEVICE long long place(long long index, long long extent, int *fault) {
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) {
        *fault = 1;
        return -1;
    }
    return index;
}

/* A thread for each line of the indices. n: lines, rank, axis, its extent and its step in the data, then per axis: extents of
 * the indices, steps in the data, steps in the indices. */
EXPORT void scatter_elements(Args a) {
    int rank = (int)a.n[1], along = (int)a.n[2];
    EACH(i, a.n[0]) {
        long long rest = i, target = 0, first = 0;
        for (int axis = rank - 1; axis >= 0; axis--) {
            if (axis == along) continue;
            long long extent = a.n[5 + axis], at = rest % extent;
            rest /= extent;
            target += at * a.n[5 + rank + axis];
            first += at * a.n[5 + 2 * rank + axis];
        }
        for (long long k = 0; k < a.n[5 + along]; k++) {
            long long from = first + k * a.n[5 + 2 * rank + along];
            long long at = place((long long)NAME(load, INDEX)(a.p[1], from), a.n[3], (int *)a.p[15]);
            if (at < 0) continue;
            long long to = target + at * a.n[4];
            NAME(store, TYPE)(a.p[2], to, JOIN(NAME(load, TYPE)(a.p[2], to), NAME(load, TYPE)(a.p[0], from)));
        }
    }
}

/* A thread for each place in a slice. n: inner, rows, depth, then the extents that are named. */
EXPORT void scatter_nd(Args a) {
    EACH(i, a.n[0]) {
        for (long long row = 0; row < a.n[1]; row++) {
            long long target = 0;
            for (int k = 0; k < a.n[2]; k++) {
                long long at = place((long long)NAME(load, INDEX)(a.p[1], row * a.n[2] + k), a.n[3 + k], (int *)a.p[15]);
                target = at < 0 || target < 0 ? -1 : target * a.n[3 + k] + at;
            }
            if (target < 0) continue;
            long long to = target * a.n[0] + i, from = row * a.n[0] + i;
            NAME(store, TYPE)(a.p[2], to, JOIN(NAME(load, TYPE)(a.p[2], to), NAME(load, TYPE)(a.p[0], from)));
        }
    }
}
