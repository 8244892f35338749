/* Casts of TYPE to elements of BITS bits, less than eight, which are packed from the lowest bits of each byte on. CODE(x) is
 * the code of an element, of which the lowest BITS bits count. */

/* The code of the nearest float, ties to even; beyond the largest one that. NaN is minus zero, since all codes are numbers. */
DEVICE unsigned long long small_code(double x, int mantissas, int bias) {
    unsigned long long sign = (f64_bits(x) >> 63) << (BITS - 1), most = (1ull << (BITS - 1)) - 1;
    int exponent = (int)(f64_bits(x) >> 52 & 2047) - 1023;
    double code;
    if (x != x) return 1ull << (BITS - 1);
    if (exponent == 1024) return sign | most;
    if (exponent < 1 - bias) exponent = 1 - bias;
    code = rint(fabs(x) * power_of_two(mantissas - exponent)) + (double)(exponent + bias - 1) * (double)(1 << mantissas);
    return sign | (code > (double)most ? most : (unsigned long long)code);
}

/* A thread packs eight elements, which fill BITS bytes. n: elements. */
EXPORT void narrow(Args a) {
    unsigned char *to = a.p[1];
    EACH(i, (a.n[0] + 7) / 8) {
        long long left = a.n[0] - 8 * i, count = left < 8 ? left : 8;
        unsigned long long word = 0;
        for (long long k = 0; k < count; k++) {
            NAME(W, TYPE) x = NAME(load, TYPE)(a.p[0], 8 * i + k);
            word |= ((unsigned long long)CODE(x) & ((1ull << BITS) - 1)) << (k * BITS);
        }
        for (long long byte = 0; byte < (count * BITS + 7) / 8; byte++) to[i * BITS + byte] = (unsigned char)(word >> (8 * byte));
    }
}
