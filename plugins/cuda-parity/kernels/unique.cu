/* The different slices of TYPE along an axis; UNIT has as many bytes as an element. NaN is the largest, and equals NaN.
 * n: outer, slices, inner, whether they are sorted. */
#define W NAME(W, TYPE)

/* Below, at or above 0, as slice i stands in front of slice j, equals it or stands behind it. */
DEVICE int order(const void *p, const long long *n, long long i, long long j) {
    for (long long k = 0; k < n[0] * n[2]; k++) {
        long long first = k / n[2] * n[1] * n[2] + k % n[2];
        W x = NAME(load, TYPE)(p, first + i * n[2]), y = NAME(load, TYPE)(p, first + j * n[2]);
        if (x < y || (y != y && x == x)) return -1;
        if (x > y || (x != x && y == y)) return 1;
    }
    return 0;
}

/* The first slice that equals each. p: elements, the firsts (64-bit integers). */
EXPORT void first(Args a) {
    EACH(i, a.n[1]) {
        long long j = 0;
        while (j < i && order(a.p[0], a.n, i, j)) j++;
        ((long long *)a.p[1])[i] = j;
    }
}

/* Where each first slice comes in the result, and how often it is there.
 * p: elements, the firsts, the places, how many different ones there are; indices and counts, which are results. */
EXPORT void rank(Args a) {
    const long long *firsts = (const long long *)a.p[1];
    EACH(i, a.n[1]) {
        long long place = 0, different = 0, times = 0;
        for (long long j = 0; j < a.n[1]; j++) {
            times += firsts[j] == i;
            if (firsts[j] != j) continue;
            different++;
            place += a.n[3] ? order(a.p[0], a.n, j, i) < 0 : j < i;
        }
        if (i == 0) *(long long *)a.p[3] = different;
        ((long long *)a.p[2])[i] = place;
        if (firsts[i] != i) continue;
        ((long long *)a.p[4])[place] = i;
        ((long long *)a.p[5])[place] = times;
    }
}

/* The different slices, and which of them each one is. p: elements, the firsts, the places, how many; both results. */
EXPORT void pick(Args a) {
    const long long *firsts = (const long long *)a.p[1], *places = (const long long *)a.p[2];
    long long different = *(const long long *)a.p[3];
    EACH(i, a.n[1]) {
        long long place = places[firsts[i]];
        ((long long *)a.p[5])[i] = place;
        if (firsts[i] != i) continue;
        for (long long k = 0; k < a.n[0] * a.n[2]; k++) {
            long long outer = k / a.n[2], inner = k % a.n[2];
            ((UNIT *)a.p[4])[(outer * different + place) * a.n[2] + inner] =
                ((const UNIT *)a.p[0])[(outer * a.n[1] + i) * a.n[2] + inner];
        }
    }
}
