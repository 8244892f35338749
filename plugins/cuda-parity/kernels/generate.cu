/* Tensors that are made of numbers. */

/* Start plus multiples of a step, of TYPE; these are elements. n: count. */
EXPORT void range(Args a) {
    NAME(W, TYPE) start = NAME(load, TYPE)(a.p[0], 0), step = NAME(load, TYPE)(a.p[1], 0);
    EACH(i, a.n[0]) NAME(store, TYPE)(a.p[2], i, start + (NAME(W, TYPE))i * step);
}

/* The second of two values where the index is, else the first; INDEX is the type of the indices, whose fractions are cut off.
 * n: count, depth, inner. */
EXPORT void one_hot(Args a) {
    const UNIT *values = (const UNIT *)a.p[1];
    EACH(i, a.n[0]) {
        long long hot = i / a.n[2] % a.n[1];
        double index = trunc((double)NAME(load, INDEX)(a.p[0], i / (a.n[1] * a.n[2]) * a.n[2] + i % a.n[2]));
        if (index < 0) index += (double)a.n[1];
        ((UNIT *)a.p[2])[i] = values[index == (double)hot];
    }
}
