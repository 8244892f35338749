/* Fourier transforms of TYPE along an axis: sums against the roots of unity (p[1], pairs of f64), rounded once.
 * n: outer, elements of a line, bins, inner, the length, whether elements have imaginary parts, whether the other half of a
 * line is conjugate, how many parts the result has. x: what sums are divided by. */
EXPORT void transform(Args a) {
    const double *roots = (const double *)a.p[1];
    long long extent = a.n[1], bins = a.n[2], inner = a.n[3], length = a.n[4], parts = a.n[7];
    long long half = length / 2 + 1 < length ? length / 2 + 1 : length;
    EACH(i, a.n[0] * bins * inner) {
        long long bin = i / inner % bins, first = i / (inner * bins) * extent * inner + i % inner, turn = 0;
        double re = 0, im = 0;
        for (long long k = 0; k < length; k++) {
            int mirrored = a.n[6] && k >= half;
            long long from = mirrored ? length - k : k, at = first + from * inner;
            double x = 0, y = 0;
            if (from < extent) {
                x = (double)NAME(load, TYPE)(a.p[0], a.n[5] ? 2 * at : at);
                if (a.n[5]) y = (double)NAME(load, TYPE)(a.p[0], 2 * at + 1);
            }
            if (mirrored) y = -y;
            re += x * roots[2 * turn] - y * roots[2 * turn + 1];
            im += x * roots[2 * turn + 1] + y * roots[2 * turn];
            turn = (turn + bin) % length;
        }
        NAME(store, TYPE)(a.p[2], i * parts, (NAME(W, TYPE))(re / a.x[0]));
        if (parts == 2) NAME(store, TYPE)(a.p[2], 2 * i + 1, (NAME(W, TYPE))(im / a.x[0]));
    }
}
