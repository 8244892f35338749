/* Samples of an image of TYPE over up to three spatial axes, at the coordinates of a grid of WHERE.
 * n: count, channels, places of the grid, spatial axes, reach (0 nearest, 1 linear, 2 cubic),
 * padding (0 zeros, 1 border, 2 reflection), whether corners are aligned; from 7: extents of the image. */
#define AXES 3

DEVICE double reflected(double at, double low, double high) {
    double range = high - low, far;
    if (range <= 0 || !(fabs(at) < INF_d)) return 0;
    far = fmod(at - low, 2 * range);
    if (far < 0) far += 2 * range;
    return low + (far > range ? 2 * range - far : far);
}
DEVICE double held(double at, double low, double high) { return at < low ? low : at > high ? high : at; }

/* The place that `at` stands for; -1 for a zero. */
DEVICE long long place(double at, double last, double low, double high, long long padding) {
    if (at >= 0 && at <= last) return (long long)at;
    if (padding == 0) return -1;
    at = held(padding == 1 ? at : reflected(at, low, high), 0, last);
    return at == at ? (long long)at : 0;
}
DEVICE double cubic(double d) {
    const double a = -0.75;
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

EXPORT void sample(Args a) {
    const long long *extents = a.n + 7;
    long long axes = a.n[3], reach = a.n[4], padding = a.n[5], taps = reach ? 2 * reach : 1, size = 1, all = 1;
    for (long long axis = 0; axis < axes; axis++) {
        size *= extents[axis];
        all *= taps;
    }
    EACH(i, a.n[0]) {
        long long at = i % a.n[2], plane = i / a.n[2], point = (plane / a.n[1] * a.n[2] + at) * axes;
        long long places[AXES][4], step = size;
        double weights[AXES][4], sum = 0;
        for (long long axis = 0; axis < axes; axis++) {
            double last = (double)extents[axis] - 1, low = a.n[6] ? 0 : -0.5, high = a.n[6] ? last : last + 0.5;
            /* The last axis comes first in coordinates. */
            double where = (double)NAME(load, WHERE)(a.p[1], point + axes - 1 - axis), base;
            where = low + (where + 1) / 2 * (high - low);
            if (reach == 0) where = rint(where);
            /* Of a cubic sample only the places are led back into the image. */
            if (reach != 2 && !(where >= low && where <= high)) {
                if (padding == 1) where = held(where, 0, last);
                if (padding == 2) where = reflected(where, low, high);
            }
            base = reach ? floor(where) - (double)(reach - 1) : where;
            step /= extents[axis];
            for (long long tap = 0; tap < taps; tap++) {
                double from = base + (double)tap, far = where - from;
                long long found = place(from, last, low, high, padding);
                places[axis][tap] = found < 0 ? -1 : found * step;
                weights[axis][tap] = reach == 0 ? 1 : reach == 1 ? 1 - fabs(far) : cubic(far);
            }
        }
        for (long long k = 0; k < all; k++) {
            long long rest = k, source = plane * size, part = all;
            double weight = 1;
            for (long long axis = 0; axis < axes; axis++) {
                part /= taps;
                long long tap = rest / part;
                rest %= part;
                if (places[axis][tap] < 0) {
                    source = -1;
                    break;
                }
                source += places[axis][tap];
                weight *= weights[axis][tap];
            }
            if (source >= 0) sum += (double)NAME(load, TYPE)(a.p[0], source) * weight;
        }
        NAME(store, TYPE)(a.p[2], i, (NAME(W, TYPE))sum);
    }
}
