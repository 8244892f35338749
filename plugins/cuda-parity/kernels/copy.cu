/* Elements to other places, of 1, 2, 4, 8 or 16 bytes: UNIT has as many.
 * n: count, rank, offset in the source, offset in the target, then per axis: extents, steps in the source, steps in the
 * target. */
EXPORT void copy(Args a) {
    const UNIT *from = (const UNIT *)a.p[0] + a.n[2];
    UNIT *to = (UNIT *)a.p[1] + a.n[3];
    int rank = (int)a.n[1];
    EACH(i, a.n[0]) {
        long long rest = i, source = 0, target = 0;
        for (int axis = rank - 1; axis >= 0; axis--) {
            long long extent = a.n[4 + axis], at = rest % extent;
            rest /= extent;
            source += at * a.n[4 + rank + axis];
            target += at * a.n[4 + 2 * rank + axis];
        }
        to[target] = from[source];
    }
}

/* One element everywhere. n: count. */
EXPORT void fill(Args a) {
    const UNIT *from = (const UNIT *)a.p[0];
    UNIT *to = (UNIT *)a.p[1];
    EACH(i, a.n[0]) to[i] = from[0];
}

/* Padding by what the source holds. n: count, rank, mode (1 edge, 2 reflect, 3 wrap), then per axis: extents of the target,
 * those of the source, elements in front. */
EXPORT void pad(Args a) {
    const UNIT *from = (const UNIT *)a.p[0];
    UNIT *to = (UNIT *)a.p[1];
    int rank = (int)a.n[1], mode = (int)a.n[2];
    EACH(i, a.n[0]) {
        long long rest = i, source = 0, step = 1;
        for (int axis = rank - 1; axis >= 0; axis--) {
            long long extent = a.n[3 + axis], own = a.n[3 + rank + axis];
            long long at = rest % extent - a.n[3 + 2 * rank + axis];
            rest /= extent;
            if (mode == 1) at = at < 0 ? 0 : at >= own ? own - 1 : at;
            if (mode == 2) {
                long long period = own > 1 ? 2 * (own - 1) : 1;
                at = ((at % period) + period) % period;
                if (at >= own) at = period - at;
            }
            if (mode == 3) at = ((at % own) + own) % own;
            source += at * step;
            step *= own;
        }
        to[i] = from[source];
    }
}

/* A triangle of matrices. n: count, rows, columns, the diagonal, whether it is the upper one. */
EXPORT void triangle(Args a) {
    const UNIT *from = (const UNIT *)a.p[0];
    UNIT *to = (UNIT *)a.p[1];
    UNIT zero = {0};
    EACH(i, a.n[0]) {
        long long above = i % a.n[2] - i / a.n[2] % a.n[1];
        to[i] = (a.n[4] ? above >= a.n[3] : above <= a.n[3]) ? from[i] : zero;
    }
}
