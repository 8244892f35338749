/* What goes along lines of TYPE, a thread for each line. n: outer, extent, inner. */
#define W NAME(W, TYPE)

/* The place of the best element; n[3] whether the largest, n[4] whether the last of equals. */
EXPORT void extreme(Args a) {
    EACH(i, a.n[0] * a.n[2]) {
        long long first = i / a.n[2] * a.n[1] * a.n[2] + i % a.n[2], best = 0;
        W most = NAME(load, TYPE)(a.p[0], first);
        for (long long k = 1; k < a.n[1]; k++) {
            W x = NAME(load, TYPE)(a.p[0], first + k * a.n[2]);
            int over = (a.n[3] ? x > most : x < most) || (x != x && most == most);
            int under = (a.n[3] ? most > x : most < x) || (most != most && x == x);
            if (over || (a.n[4] && !under)) {
                most = x;
                best = k;
            }
        }
        ((long long *)a.p[1])[i] = best;
    }
}

/* Sums or products of all before; n[3] whether without the element itself, n[4] whether from the end. */
EXPORT void running(Args a) {
    EACH(i, a.n[0] * a.n[2]) {
        long long first = i / a.n[2] * a.n[1] * a.n[2] + i % a.n[2];
        W total = START;
        for (long long k = 0; k < a.n[1]; k++) {
            long long at = first + (a.n[4] ? a.n[1] - 1 - k : k) * a.n[2];
            W next = JOIN(total, NAME(load, TYPE)(a.p[0], at));
            NAME(store, TYPE)(a.p[1], at, a.n[3] ? total : next);
            total = next;
        }
    }
}

/* Whether x stands in front of y; NaN is the largest. */
DEVICE int ahead(W x, W y, int largest) {
    if (x != x || y != y) return largest ? x != x && y == y : x == x && y != y;
    return largest ? x > y : x < y;
}

/* The first k of each line in order, by k searches; of equals the one with the lower index first. n[3]: k, n[4] whether the
 * largest come first. */
EXPORT void top(Args a) {
    EACH(i, a.n[0] * a.n[2]) {
        long long first = i / a.n[2] * a.n[1] * a.n[2] + i % a.n[2], last = -1;
        long long to = i / a.n[2] * a.n[3] * a.n[2] + i % a.n[2];
        W before = 0;
        for (long long rank = 0; rank < a.n[3]; rank++) {
            long long best = -1;
            W most = 0;
            for (long long k = 0; k < a.n[1]; k++) {
                W x = NAME(load, TYPE)(a.p[0], first + k * a.n[2]);
                /* What was taken stands in front of the last one, or is equal and not behind it. */
                if (rank && (ahead(x, before, (int)a.n[4]) || (!ahead(before, x, (int)a.n[4]) && k <= last))) continue;
                if (best < 0 || ahead(x, most, (int)a.n[4])) {
                    best = k;
                    most = x;
                }
            }
            NAME(store, TYPE)(a.p[1], to + rank * a.n[2], most);
            ((long long *)a.p[2])[to + rank * a.n[2]] = best;
            last = best;
            before = most;
        }
    }
}
