/* Which boxes stay: those of falling score that overlap none before them too much. BOX and SCORE are the types of both. */

/* The order of scores: that of all bit patterns, so that NaN has a place. */
DEVICE long long key(double score) {
    long long bits = (long long)f64_bits(score);
    return bits ^ (long long)((unsigned long long)(bits >> 63) >> 1);
}

typedef struct {
    double top, left, bottom, right;
} Corners;
DEVICE Corners corners(const void *boxes, long long at, int centred) {
    double a = (double)NAME(load, BOX)(boxes, 4 * at), b = (double)NAME(load, BOX)(boxes, 4 * at + 1);
    double c = (double)NAME(load, BOX)(boxes, 4 * at + 2), d = (double)NAME(load, BOX)(boxes, 4 * at + 3);
    Corners out;
    out.top = centred ? b - d / 2 : fmin(a, c);
    out.left = centred ? a - c / 2 : fmin(b, d);
    out.bottom = centred ? b + d / 2 : fmax(a, c);
    out.right = centred ? a + c / 2 : fmax(b, d);
    return out;
}
DEVICE double area(Corners r) { return (r.bottom - r.top) * (r.right - r.left); }
/* The intersection over the union. */
DEVICE double overlap(Corners a, Corners b) {
    double height = fmax(fmin(a.bottom, b.bottom) - fmax(a.top, b.top), 0.0);
    double width = fmax(fmin(a.right, b.right) - fmax(a.left, b.left), 0.0);
    double both = height * width;
    return area(a) <= 0 || area(b) <= 0 ? 0.0 : both / (area(a) + area(b) - both);
}

#ifndef THREADS
#define THREADS 256
#endif

/* What stays of each class of each image; a block computes one. A box goes when a better one that it overlaps stays.
 * p: boxes, scores, which are left (bytes), those that stay in order, how many (64-bit integers).
 * n: groups, boxes, classes, the most that stay, whether boxes are centres and extents, whether there is a threshold.
 * x: the largest overlap, the threshold. */
EXPORT void suppress(Args a) {
    __shared__ long long keys[THREADS], places[THREADS];
    long long count = a.n[1], thread = threadIdx.x;
    int centred = (int)a.n[4];
    GROUPS(g, a.n[0]) {
        long long scores = g * count, boxes = g / a.n[2] * count, stay = 0;
        unsigned char *left = a.p[2] + g * count;
        for (long long i = thread; i < count; i += blockDim.x)
            left[i] = !a.n[5] || (double)NAME(load, SCORE)(a.p[1], scores + i) > a.x[1];
        for (; stay < a.n[3]; stay++) {
            long long best = -1, most = 0;
            for (long long i = thread; i < count; i += blockDim.x) {
                if (!left[i]) continue;
                long long own = key((double)NAME(load, SCORE)(a.p[1], scores + i));
                if (best < 0 || own > most) {
                    best = i;
                    most = own;
                }
            }
            keys[thread] = most;
            places[thread] = best;
            __syncthreads();
            for (unsigned half = blockDim.x / 2; half; half /= 2) {
                if (thread < half) {
                    long long other = places[thread + half], here = places[thread];
                    int better = keys[thread + half] > keys[thread] || (keys[thread + half] == keys[thread] && other < here);
                    if (other >= 0 && (here < 0 || better)) {
                        keys[thread] = keys[thread + half];
                        places[thread] = other;
                    }
                }
                __syncthreads();
            }
            best = places[0];
            __syncthreads();
            if (best < 0) break;
            if (thread == 0) ((long long *)a.p[3])[g * a.n[3] + stay] = best;
            Corners chosen = corners(a.p[0], boxes + best, centred);
            for (long long i = thread; i < count; i += blockDim.x)
                if (left[i] && (i == best || !(overlap(corners(a.p[0], boxes + i, centred), chosen) <= a.x[0]))) left[i] = 0;
        }
        if (thread == 0) ((long long *)a.p[4])[g] = stay;
    }
}

/* Image, class and box of all that stay, group by group.
 * p: those that stay, how many of each group, the result, how many rows it has. n: groups, the most that stay, classes. */
EXPORT void list(Args a) {
    const long long *kept = (const long long *)a.p[0], *counts = (const long long *)a.p[1];
    long long *to = (long long *)a.p[2];
    EACH(i, a.n[0] * a.n[1]) {
        long long group = i / a.n[1], before = 0;
        for (long long g = 0; g < (i ? group : a.n[0]); g++) before += counts[g];
        if (i == 0) {
            *(long long *)a.p[3] = before;
            before = 0;
        }
        if (i % a.n[1] >= counts[group]) continue;
        long long row = before + i % a.n[1];
        to[3 * row] = group / a.n[2];
        to[3 * row + 1] = group % a.n[2];
        to[3 * row + 2] = kept[i];
    }
}
