/* Compares two tensors of one element type: every measure in one pass.
 *
 * In front of this text stand the macros of the element type (`format.rs`): CODE is the unsigned type of its bits, BITS their
 * number, and one of REAL_32, REAL_64, REAL_SMALL (with EXPONENT, MANTISSA, BIAS and SPECIAL), REAL_SCALE, SIGNED, UNSIGNED
 * and TRUTH says what they are. A block has THREADS threads, a power of two.
 *
 * It is CUDA and C alike: `emulation.h` stands in for the grid. Counts are added by integer atomics, sums in trees and in the
 * order of blocks: a result never depends on the order in which threads run. Products are not fused into sums. */

#ifndef EMULATED
#define DEVICE static __device__ __forceinline__
#define GLOBAL extern "C" __global__
#define TABLE static __constant__
#endif

typedef unsigned long long u64;

/* The words of a result, and at its end the sums. The places of `totals.rs` are these. */
enum {
    WRONG, NAN_ONCE, INFINITE_ONCE, ZERO_ONCE, ALIKE, ULPS, DECADES = ULPS + 65, COUNTS = DECADES + 43,
    FIRST = COUNTS, MAX_ULPS, MAX_ABS, MAX_REL, LARGEST, SUMS,
    ERRORS = 0, SQUARES = 3, PRODUCT = 6, GOT = 9, EXPECTED = 12, ALL_SUMS = 15,
    WORDS = SUMS + ALL_SUMS
};

TABLE double EDGES[41] = {
    1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7,
    1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
    1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20
};

#define HUGEST 1.7976931348623157e308

DEVICE double of_bits(u64 bits) {
    union { u64 bits; double number; } both;
    both.bits = bits;
    return both.number;
}

DEVICE u64 bits_of(double number) {
    union { u64 bits; double number; } both;
    both.number = number;
    return both.bits;
}

DEVICE double magnitude(double x) { return of_bits(bits_of(x) & 0x7fffffffffffffffull); }
DEVICE int is_nan(double x) { return x != x; }
DEVICE int is_finite(double x) { return (bits_of(x) >> 52 & 2047) != 2047; }

#if defined(REAL_32) || defined(REAL_64) || defined(REAL_SMALL) || defined(REAL_SCALE)
#define REAL
#endif

#ifdef REAL
DEVICE double value(CODE code) {
#if defined(REAL_64)
    return of_bits(code);
#elif defined(REAL_32)
    union { CODE bits; float number; } both;
    both.bits = code;
    return both.number;
#elif defined(REAL_SCALE)
    return code == 255 ? of_bits(0x7ff8000000000000ull) : of_bits((u64)(code + 1023 - 127) << 52);
#else
    int low = code & ((1 << (BITS - 1)) - 1), exponent = low >> MANTISSA, mantissa = low & ((1 << MANTISSA) - 1);
    u64 sign = (u64)(code >> (BITS - 1)) << 63;
    double number;
    if (SPECIAL == 0 && exponent == (1 << EXPONENT) - 1)
        return of_bits(sign | (mantissa ? 0x7ff8000000000000ull : 0x7ff0000000000000ull));
    if (SPECIAL == 1 && low == (1 << (BITS - 1)) - 1) return of_bits(0x7ff8000000000000ull);
    if (SPECIAL == 2 && sign && low == 0) return of_bits(0x7ff8000000000000ull);
    if (exponent)
        mantissa += 1 << MANTISSA;
    else
        exponent = 1;
    number = (double)mantissa * of_bits((u64)(exponent - BIAS - MANTISSA + 1023) << 52);
    return of_bits(bits_of(number) | sign);
#endif
}

/* The place among the numbers of the type: neighbours are one apart. */
DEVICE long long order(CODE code) {
#ifdef REAL_SCALE
    return code;
#else
    u64 sign = 1ull << (BITS - 1), low = code & (sign - 1);
    return code & sign ? -(long long)low : (long long)low;
#endif
}
#elif defined(SIGNED)
DEVICE long long number(CODE code) { return (long long)((u64)code << (64 - BITS)) >> (64 - BITS); }
DEVICE double value(CODE code) { return (double)number(code); }
#elif defined(TRUTH)
DEVICE u64 number(CODE code) { return code != 0; }
DEVICE double value(CODE code) { return (double)number(code); }
#else
DEVICE u64 number(CODE code) { return code; }
DEVICE double value(CODE code) { return (double)number(code); }
#endif

DEVICE int decade(double difference) {
    int low = 0, high = 41;
    if (difference == 0.0) return 0;
    while (low < high) {
        int middle = (low + high) / 2;
        if (EDGES[middle] <= difference)
            low = middle + 1;
        else
            high = middle;
    }
    return 1 + low;
}

DEVICE int bit_length(u64 x) {
    int bits = 0;
    for (int step = 32; step; step /= 2)
        if (x >> step) {
            x >>= step;
            bits += step;
        }
    return bits + (x != 0);
}

/* Adds a product to a sum of three parts: the squares of large and small `double`s leave its range. */
DEVICE void add(double *sum, double a, double b) {
#ifdef REAL_64
    double product = a * b, size = magnitude(product), up = of_bits((u64)(1023 + 600) << 52);
    if (size >= 1e-270 && size < 1e270)
        sum[0] += product;
    else if (a != 0.0 && b != 0.0) {
        double factor = size < 1.0 ? up : 1.0 / up;
        sum[size < 1.0 ? 2 : 1] += (a * factor) * (b * factor);
    }
#else
    sum[0] += a * b;
#endif
}

/* The largest finite magnitude of a tensor, as bits: those of numbers without a sign have their order. */
GLOBAL void largest(const CODE *expected, u64 count, u64 *most) {
    u64 stride = (u64)gridDim.x * THREADS, found = 0;
    for (u64 at = (u64)blockIdx.x * THREADS + threadIdx.x; at < count; at += stride) {
        double size = magnitude(value(expected[at]));
        if (is_finite(size) && bits_of(size) > found) found = bits_of(size);
    }
    if (found) atomicMax(most, found);
}

/* Compares `count` elements, of which the first stands at `base`: what a block finds becomes the words of its part.
 * An element may be `atol + rtol * |expected|` from the expected one. */
GLOBAL void compare(const CODE *got, const CODE *expected, u64 count, u64 base, double rtol, double atol, u64 *parts) {
    __shared__ unsigned counts[COUNTS];
    __shared__ u64 extremes[SUMS - COUNTS];
    __shared__ double tree[THREADS];
    u64 stride = (u64)gridDim.x * THREADS, *part = parts + (u64)blockIdx.x * WORDS;
    double sums[ALL_SUMS], max_abs = 0.0, max_rel = 0.0, most = 0.0;
    unsigned equal = 0;
    u64 first = ~0ull, max_ulps = 0;
    unsigned here = threadIdx.x;
    for (int k = 0; k < ALL_SUMS; k++) sums[k] = 0.0;
    for (unsigned at = here; at < COUNTS; at += THREADS) counts[at] = 0;
    for (unsigned at = here; at < SUMS - COUNTS; at += THREADS) extremes[at] = at == 0 ? ~0ull : 0;
    __syncthreads();
    for (u64 at = (u64)blockIdx.x * THREADS + here; at < count; at += stride) {
        double g = value(got[at]), e = value(expected[at]), difference, limit;
        u64 ulps;
        int wrong;
#ifdef REAL
        if (!is_finite(g) || !is_finite(e)) {
            if (is_finite(e) && magnitude(e) > most) most = magnitude(e);
            if (g == e || (is_nan(g) && is_nan(e))) {
                atomicAdd(&counts[ALIKE], 1);
                equal++;
                continue;
            }
            atomicAdd(&counts[is_nan(g) || is_nan(e) ? NAN_ONCE : INFINITE_ONCE], 1);
            atomicAdd(&counts[WRONG], 1);
            if (base + at < first) first = base + at;
            continue;
        }
        {
            long long here_is = order(got[at]), should_be = order(expected[at]);
            ulps = here_is > should_be ? (u64)here_is - (u64)should_be : (u64)should_be - (u64)here_is;
        }
        difference = magnitude(g - e);
        if (difference > HUGEST) difference = HUGEST;
        limit = atol + rtol * magnitude(e);
        wrong = difference > limit;
#else
        ulps = number(got[at]) > number(expected[at]) ? (u64)number(got[at]) - (u64)number(expected[at])
                                                      : (u64)number(expected[at]) - (u64)number(got[at]);
        difference = (double)ulps;
        limit = atol + rtol * magnitude(e);
        wrong = ulps > (limit >= 18446744073709551616.0 ? ~0ull : limit > 0.0 ? (u64)limit : 0);
#endif
        if (magnitude(e) > most) most = magnitude(e);
        if ((g == 0.0) != (e == 0.0)) atomicAdd(&counts[ZERO_ONCE], 1);
        add(sums + PRODUCT, g, e);
        add(sums + GOT, g, g);
        add(sums + EXPECTED, e, e);
        if (difference == 0.0 && ulps == 0) {
            equal++;
            continue;
        }
        add(sums + ERRORS, difference, 1.0);
        add(sums + SQUARES, difference, difference);
        atomicAdd(&counts[ULPS + bit_length(ulps)], 1);
        atomicAdd(&counts[DECADES + decade(difference)], 1);
        if (ulps > max_ulps) max_ulps = ulps;
        if (difference > max_abs) max_abs = difference;
        if (magnitude(e) > atol) {
            double relative = difference / magnitude(e);
            if (relative > HUGEST) relative = HUGEST;
            if (relative > max_rel) max_rel = relative;
        }
        if (wrong) {
            atomicAdd(&counts[WRONG], 1);
            if (base + at < first) first = base + at;
        }
    }
    if (equal) {
        atomicAdd(&counts[ULPS], equal);
        atomicAdd(&counts[DECADES], equal);
    }
    atomicMin(&extremes[FIRST - COUNTS], first);
    atomicMax(&extremes[MAX_ULPS - COUNTS], max_ulps);
    atomicMax(&extremes[MAX_ABS - COUNTS], bits_of(max_abs));
    atomicMax(&extremes[MAX_REL - COUNTS], bits_of(max_rel));
    atomicMax(&extremes[LARGEST - COUNTS], bits_of(most));
    __syncthreads();
    for (unsigned at = here; at < SUMS; at += THREADS) part[at] = at < COUNTS ? counts[at] : extremes[at - COUNTS];
    for (int k = 0; k < ALL_SUMS; k++) {
#ifndef REAL_64
        if (k % 3) {
            if (here == 0) part[SUMS + k] = 0;
            continue;
        }
#endif
        tree[here] = sums[k];
        __syncthreads();
        for (unsigned half = THREADS / 2; half; half /= 2) {
            if (here < half) tree[here] += tree[here + half];
            __syncthreads();
        }
        if (here == 0) part[SUMS + k] = bits_of(tree[0]);
        __syncthreads();
    }
}

/* Adds what the blocks found to what was found before, in their order. One block. */
GLOBAL void merge(const u64 *parts, u64 blocks, u64 *total) {
    for (unsigned word = threadIdx.x; word < WORDS; word += THREADS) {
        u64 found = total[word];
        for (u64 block = 0; block < blocks; block++) {
            u64 next = parts[block * WORDS + word];
            if (word < COUNTS)
                found += next;
            else if (word == FIRST)
                found = next < found ? next : found;
            else if (word < SUMS)
                found = next > found ? next : found;
            else
                found = bits_of(of_bits(found) + of_bits(next));
        }
        total[word] = found;
    }
}
