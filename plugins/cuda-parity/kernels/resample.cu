/* Weighted sums along one axis of TYPE: element k of a line is made of the taps from p[1][k] to p[1][k + 1] (64-bit integers),
 * of which each has a place (p[2], 64-bit integers) and a weight (p[3], f64). Written as MADE. n: count, extent of the result,
 * extent of the source, inner. */
EXPORT void resample(Args a) {
    const long long *starts = (const long long *)a.p[1], *places = (const long long *)a.p[2];
    const double *weights = (const double *)a.p[3];
    EACH(i, a.n[0]) {
        long long inner = i % a.n[3], k = i / a.n[3] % a.n[1], first = i / (a.n[3] * a.n[1]) * a.n[2] * a.n[3] + inner;
        double sum = 0;
        for (long long tap = starts[k]; tap < starts[k + 1]; tap++)
            sum += (double)NAME(load, TYPE)(a.p[0], first + places[tap] * a.n[3]) * weights[tap];
        NAME(store, MADE)(a.p[4], i, (NAME(W, MADE))sum);
    }
}
