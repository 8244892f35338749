/* Pools of TYPE over up to three spatial axes.
 * n: count, what padding counts (0 nothing, 1 zeros);
 * from 2: extents of the input, 5: of the output, 8: of the kernel, 11: strides, 14: dilations, 17: pads in front, 20: behind;
 * 23: whether places are counted column by column. */
#define W NAME(W, TYPE)

/* Where the window of element `i` starts along each axis; the plane that it is of. */
DEVICE long long window(const long long *n, long long i, long long *start) {
    for (int axis = 2; axis >= 0; axis--) {
        start[axis] = i % n[5 + axis] * n[11 + axis] - n[17 + axis];
        i /= n[5 + axis];
    }
    return i;
}

EXPORT void average(Args a) {
    EACH(i, a.n[0]) {
        long long start[3], plane = window(a.n, i, start), places = 0, all = 0;
        W sum = 0;
        for (long long z = 0; z < a.n[8]; z++)
            for (long long y = 0; y < a.n[9]; y++)
                for (long long x = 0; x < a.n[10]; x++) {
                    long long d = start[0] + z * a.n[14], h = start[1] + y * a.n[15], w = start[2] + x * a.n[16];
                    all += d < a.n[2] + a.n[20] && h < a.n[3] + a.n[21] && w < a.n[4] + a.n[22];
                    if (d < 0 || h < 0 || w < 0 || d >= a.n[2] || h >= a.n[3] || w >= a.n[4]) continue;
                    sum += NAME(load, TYPE)(a.p[0], ((plane * a.n[2] + d) * a.n[3] + h) * a.n[4] + w);
                    places++;
                }
        NAME(store, TYPE)(a.p[1], i, sum / (W)(a.n[1] ? all : places));
    }
}

/* The largest element, and its place in the whole input where `p[2]` is there. */
EXPORT void largest(Args a) {
    EACH(i, a.n[0]) {
        long long start[3], plane = window(a.n, i, start), best = -1, place = -1;
        W most = (W)LEAST;
        for (long long z = 0; z < a.n[8]; z++)
            for (long long y = 0; y < a.n[9]; y++)
                for (long long x = 0; x < a.n[10]; x++) {
                    long long d = start[0] + z * a.n[14], h = start[1] + y * a.n[15], w = start[2] + x * a.n[16];
                    if (d < 0 || h < 0 || w < 0 || d >= a.n[2] || h >= a.n[3] || w >= a.n[4]) continue;
                    long long at = ((plane * a.n[2] + d) * a.n[3] + h) * a.n[4] + w;
                    W value = NAME(load, TYPE)(a.p[0], at);
                    if (best >= 0 && !(value > most || (value != value && most == most))) continue;
                    most = value;
                    best = at;
                    place = a.n[23] ? ((plane * a.n[4] + w) * a.n[3] + h) * a.n[2] + d : at;
                }
        NAME(store, TYPE)(a.p[1], i, most);
        if (a.p[2]) ((long long *)a.p[2])[i] = place;
    }
}
