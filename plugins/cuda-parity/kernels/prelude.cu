/* What every kernel shares, in the part of CUDA C that a C compiler takes too: `EMULATED` says which of both reads it.
 *
 * A kernel takes one structure by value. `p` are its tensors; the last one points to an `int` that a kernel sets where it
 * finds what the definition of the operator does not allow, such as an index out of range. `n` and `x` are its numbers.
 *
 * A type of elements has a tag (`f16`), a type in memory (`T_f16`), a type to compute with (`W_f16`), and `load_f16`,
 * `store_f16` and `round_f16`, the latter the value as it is read after it was stored. */

typedef struct {
    unsigned char *p[16];
    long long n[112];
    double x[8];
} Args;

#define FAULT (*(int *)a.p[15] = 1)

#ifdef EMULATED
#define EXPORT
#define DEVICE static inline
#define FMA(x, y, z) ((x) * (y) + (z))
#else
#define EXPORT extern "C" __global__
#define DEVICE static __device__ __forceinline__
#define FMA(x, y, z) multiply_add(x, y, z)
DEVICE float multiply_add(float x, float y, float z) { return fmaf(x, y, z); }
DEVICE double multiply_add(double x, double y, double z) { return fma(x, y, z); }
DEVICE long long multiply_add(long long x, long long y, long long z) { return x * y + z; }
DEVICE unsigned long long multiply_add(unsigned long long x, unsigned long long y, unsigned long long z) {
    return x * y + z;
}
#endif

/* The elements that a thread computes by itself. */
#define EACH(i, count)                                                                     \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
         i += (long long)gridDim.x * blockDim.x)
/* The groups that a block computes together. */
#define GROUPS(g, count) for (long long g = blockIdx.x; g < (count); g += gridDim.x)

DEVICE float bits_f32(unsigned bits) {
    union {
        unsigned u;
        float f;
    } both;
    both.u = bits;
    return both.f;
}
DEVICE unsigned f32_bits(float x) {
    union {
        unsigned u;
        float f;
    } both;
    both.f = x;
    return both.u;
}
DEVICE double bits_f64(unsigned long long bits) {
    union {
        unsigned long long u;
        double f;
    } both;
    both.u = bits;
    return both.f;
}
#define INF_f bits_f32(0x7f800000u)
#define NAN_f bits_f32(0x7fc00000u)
#define INF_d bits_f64(0x7ff0000000000000ull)
#define NAN_d bits_f64(0x7ff8000000000000ull)

typedef double T_f64;
typedef float T_f32;
typedef unsigned short T_f16;
typedef unsigned short T_bf16;
typedef signed char T_i8;
typedef short T_i16;
typedef int T_i32;
typedef long long T_i64;
typedef unsigned char T_u8;
typedef unsigned short T_u16;
typedef unsigned int T_u32;
typedef unsigned long long T_u64;
typedef unsigned char T_bool;

typedef double W_f64;
typedef float W_f32;
typedef float W_f16;
typedef float W_bf16;
typedef long long W_i8;
typedef long long W_i16;
typedef long long W_i32;
typedef long long W_i64;
typedef unsigned long long W_u8;
typedef unsigned long long W_u16;
typedef unsigned long long W_u32;
typedef unsigned long long W_u64;
typedef unsigned long long W_bool;

DEVICE float decode_f16(unsigned short code) {
    unsigned sign = (unsigned)(code & 0x8000u) << 16, exponent = (code >> 10) & 0x1fu, fraction = code & 0x3ffu;
    if (exponent == 0x1fu) return bits_f32(sign | 0x7f800000u | (fraction << 13));
    if (exponent == 0) {
        /* The fraction counts units of 2 to the -24. */
        float x = (float)fraction * bits_f32(0x33800000u);
        return sign ? -x : x;
    }
    return bits_f32(sign | ((exponent + 112u) << 23) | (fraction << 13));
}
/* To the nearest, ties to even. */
DEVICE unsigned short encode_f16(float x) {
    unsigned bits = f32_bits(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (rest < 0x38800000u) {
        /* Adding 1/2 leaves the units of 2 to the -24 in the last bits, rounded. */
        float shifted = bits_f32(rest) + 0.5f;
        return (unsigned short)(sign | (f32_bits(shifted) - 0x3f000000u));
    }
    rest += 0xfffu + ((rest >> 13) & 1u);
    return (unsigned short)(sign | ((rest - 0x38000000u) >> 13));
}
DEVICE float decode_bf16(unsigned short code) { return bits_f32((unsigned)code << 16); }
DEVICE unsigned short encode_bf16(float x) {
    unsigned bits = f32_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)((bits >> 16) | 0x40u);
    return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#define PLAIN(tag)                                                                                       \
    DEVICE W_##tag load_##tag(const void *p, long long i) { return (W_##tag)((const T_##tag *)p)[i]; }   \
    DEVICE void store_##tag(void *p, long long i, W_##tag v) { ((T_##tag *)p)[i] = (T_##tag)v; }         \
    DEVICE W_##tag round_##tag(W_##tag v) { return (W_##tag)(T_##tag)v; }
PLAIN(f64)
PLAIN(f32)
PLAIN(i8)
PLAIN(i16)
PLAIN(i32)
PLAIN(i64)
PLAIN(u8)
PLAIN(u16)
PLAIN(u32)
PLAIN(u64)
#define CODED(tag)                                                                                            \
    DEVICE W_##tag load_##tag(const void *p, long long i) { return decode_##tag(((const T_##tag *)p)[i]); }   \
    DEVICE void store_##tag(void *p, long long i, W_##tag v) { ((T_##tag *)p)[i] = encode_##tag(v); }         \
    DEVICE W_##tag round_##tag(W_##tag v) { return decode_##tag(encode_##tag(v)); }
CODED(f16)
CODED(bf16)

/* Floats of 8 bits, which are only cast: a double holds each of them. `special` says which codes are no numbers: those of
 * IEEE 754 (0), the last one (1), that of minus zero (2). */
DEVICE unsigned long long f64_bits(double x) {
    union {
        unsigned long long u;
        double f;
    } both;
    both.f = x;
    return both.u;
}
DEVICE double power_of_two(int exponent) { return bits_f64((unsigned long long)(exponent + 1023) << 52); }
DEVICE double decode_small(int code, int exponents, int mantissas, int bias, int special) {
    int low = code & 0x7f, exponent = low >> mantissas, mantissa = low & ((1 << mantissas) - 1);
    double sign = code & 0x80 ? -1.0 : 1.0;
    if (special == 0 && exponent == (1 << exponents) - 1) return mantissa ? NAN_d : sign * INF_d;
    if ((special == 1 && low == 0x7f) || (special == 2 && code == 0x80)) return NAN_d;
    if (exponent)
        mantissa += 1 << mantissas;
    else
        exponent = 1;
    return sign * (double)mantissa * power_of_two(exponent - bias - mantissas);
}
/* To the nearest, ties to even; beyond the largest number infinity or, without one, NaN. */
DEVICE unsigned char encode_small(double x, int exponents, int mantissas, int bias, int special) {
    int most = special == 0 ? (((1 << exponents) - 1) << mantissas) - 1 : special == 1 ? 0x7e : 0x7f;
    int none = special == 2 ? 0x80 : 0x7f, sign = (int)(f64_bits(x) >> 63) << 7;
    int exponent = (int)(f64_bits(x) >> 52 & 2047) - 1023;
    double code;
    if (x != x) return (unsigned char)none;
    if (exponent < 1 - bias) exponent = 1 - bias;
    code = exponent == 1024 ? INF_d
                            : rint(fabs(x) * power_of_two(mantissas - exponent)) +
                                  (double)(exponent + bias - 1) * (double)(1 << mantissas);
    if (code > (double)most) return (unsigned char)(special == 0 ? sign | (most + 1) : none);
    return (unsigned char)(special == 2 && code == 0 ? 0 : sign | (int)code);
}
#define SMALL(tag, exponents, mantissas, bias, special, most)                                                          \
    typedef unsigned char T_##tag;                                                                                     \
    typedef double W_##tag;                                                                                            \
    DEVICE double decode_##tag(T_##tag code) { return decode_small(code, exponents, mantissas, bias, special); }       \
    DEVICE T_##tag encode_##tag(double x) { return encode_small(x, exponents, mantissas, bias, special); }             \
    DEVICE double saturate_##tag(double x) { return x > most ? (double)most : x < -most ? -(double)most : x; }         \
    CODED(tag)
SMALL(f8e4m3fn, 4, 3, 7, 1, 448.0)
SMALL(f8e4m3fnuz, 4, 3, 8, 2, 240.0)
SMALL(f8e5m2, 5, 2, 15, 0, 57344.0)
SMALL(f8e5m2fnuz, 5, 2, 16, 2, 57344.0)
/* Powers of two without a sign: the next larger one, or NaN. */
typedef unsigned char T_f8e8m0;
typedef double W_f8e8m0;
DEVICE double decode_f8e8m0(T_f8e8m0 code) { return code == 255 ? NAN_d : power_of_two((int)code - 127); }
DEVICE T_f8e8m0 encode_f8e8m0(double x) {
    unsigned long long bits = f64_bits(x) & 0x7fffffffffffffffull;
    int code = (int)(bits >> 52) - 1023 + 127 + ((bits & 0xfffffffffffffull) != 0);
    if (fabs(x) < power_of_two(-127)) return 0;
    return (T_f8e8m0)(x != x || code > 255 ? 255 : code);
}
DEVICE double saturate_f8e8m0(double x) { return fabs(x) > power_of_two(127) ? power_of_two(127) : x; }
CODED(f8e8m0)
DEVICE W_bool load_bool(const void *p, long long i) { return ((const T_bool *)p)[i] != 0; }
DEVICE void store_bool(void *p, long long i, W_bool v) { ((T_bool *)p)[i] = v != 0; }
DEVICE W_bool round_bool(W_bool v) { return v != 0; }

/* `NAME(load, f16)` is `load_f16`, also where `f16` is a macro. */
#define PASTE(a, b) a##_##b
#define NAME(a, b) PASTE(a, b)

/* Functions of floats, whose suffix is `f` or `d`. */
#define FLOATS(F, S, M)                                                                                            \
    DEVICE F larger_##S(F x, F y) { return x != x || x > y ? x : y; }                                              \
    DEVICE F smaller_##S(F x, F y) { return x != x || x < y ? x : y; }                                             \
    DEVICE F relu_##S(F x) { return x < 0 ? (F)0 : x; }                                                            \
    DEVICE F clamp_##S(F x, F low, F high) {                                                                       \
        x = x < low ? low : x;                                                                                     \
        return x > high ? high : x;                                                                                \
    }                                                                                                              \
    DEVICE F abs_##S(F x) { return fabs##M(x); }                                                                   \
    DEVICE F exp_##S(F x) { return exp##M(x); }                                                                    \
    DEVICE F expm1_##S(F x) { return expm1##M(x); }                                                                \
    DEVICE F log_##S(F x) { return log##M(x); }                                                                    \
    DEVICE F sqrt_##S(F x) { return sqrt##M(x); }                                                                  \
    DEVICE F pow_##S(F x, F y) { return pow##M(x, y); }                                                            \
    DEVICE F tanh_##S(F x) { return tanh##M(x); }                                                                  \
    DEVICE F erf_##S(F x) { return erf##M(x); }                                                                    \
    DEVICE F sin_##S(F x) { return sin##M(x); }                                                                    \
    DEVICE F cos_##S(F x) { return cos##M(x); }                                                                    \
    DEVICE F tan_##S(F x) { return tan##M(x); }                                                                    \
    DEVICE F asin_##S(F x) { return asin##M(x); }                                                                  \
    DEVICE F acos_##S(F x) { return acos##M(x); }                                                                  \
    DEVICE F atan_##S(F x) { return atan##M(x); }                                                                  \
    DEVICE F sinh_##S(F x) { return sinh##M(x); }                                                                  \
    DEVICE F cosh_##S(F x) { return cosh##M(x); }                                                                  \
    DEVICE F asinh_##S(F x) { return asinh##M(x); }                                                                \
    DEVICE F acosh_##S(F x) { return acosh##M(x); }                                                                \
    DEVICE F atanh_##S(F x) { return atanh##M(x); }                                                                \
    DEVICE F floor_##S(F x) { return floor##M(x); }                                                                \
    DEVICE F ceil_##S(F x) { return ceil##M(x); }                                                                  \
    DEVICE F nearest_##S(F x) { return rint##M(x); }                                                               \
    DEVICE F sign_##S(F x) { return x > 0 ? (F)1 : x < 0 ? (F)-1 : x; }                                            \
    DEVICE F sigmoid_##S(F x) {                                                                                    \
        F e = exp##M(-fabs##M(x));                                                                                 \
        return (x < 0 ? e : (F)1) / ((F)1 + e);                                                                    \
    }                                                                                                              \
    DEVICE F softplus_##S(F x) { return relu_##S(x) + log1p##M(exp##M(-fabs##M(x))); }                             \
    DEVICE F modulo_##S(F x, F y) {                                                                                \
        F rest = fmod##M(x, y);                                                                                    \
        return rest == 0 || (rest < 0) == (y < 0) ? rest : rest + y;                                               \
    }                                                                                                              \
    DEVICE F remainder_##S(F x, F y) { return fmod##M(x, y); }                                                     \
    DEVICE F cut_##S(F x, F lambd, F bias) { return x < -lambd ? x + bias : x > lambd ? x - bias : (F)0; }
FLOATS(float, f, f)
FLOATS(double, d, )

/* Functions of integers, whose suffix is `i` or `u`. */
#define INTEGERS(N, S)                                                       \
    DEVICE N larger_##S(N x, N y) { return x > y ? x : y; }                  \
    DEVICE N smaller_##S(N x, N y) { return x < y ? x : y; }                 \
    DEVICE N clamp_##S(N x, N low, N high) {                                 \
        x = x < low ? low : x;                                               \
        return x > high ? high : x;                                          \
    }                                                                        \
    DEVICE N integer_power_##S(N base, N left) {                             \
        N out = 1;                                                           \
        if (left < 0) {                                                      \
            if (base == 1) return 1;                                         \
            return base == (N)-1 ? (left & 1 ? base : (N)1) : (N)0;          \
        }                                                                    \
        for (; left > 0; left >>= 1) {                                       \
            if (left & 1) out *= base;                                       \
            base *= base;                                                    \
        }                                                                    \
        return out;                                                          \
    }
INTEGERS(long long, i)
INTEGERS(unsigned long long, u)
/* Division by zero is told; the least integer by -1 wraps. */
DEVICE long long divide_i(long long x, long long y, int *fault) {
    if (y == 0) *fault = 2;
    return y == 0 ? 0 : y == -1 ? (long long)(0ull - (unsigned long long)x) : x / y;
}
DEVICE unsigned long long divide_u(unsigned long long x, unsigned long long y, int *fault) {
    if (y == 0) *fault = 2;
    return y == 0 ? 0 : x / y;
}
DEVICE long long remainder_i(long long x, long long y, int *fault) {
    if (y == 0) *fault = 2;
    return y == 0 || y == -1 ? 0 : x % y;
}
DEVICE unsigned long long remainder_u(unsigned long long x, unsigned long long y, int *fault) {
    if (y == 0) *fault = 2;
    return y == 0 ? 0 : x % y;
}
DEVICE long long modulo_i(long long x, long long y, int *fault) {
    long long rest = remainder_i(x, y, fault);
    return rest == 0 || (rest < 0) == (y < 0) ? rest : rest + y;
}
DEVICE unsigned long long modulo_u(unsigned long long x, unsigned long long y, int *fault) {
    return remainder_u(x, y, fault);
}
DEVICE unsigned long long left_u(unsigned long long x, unsigned long long n) { return n < 64 ? x << n : 0; }
DEVICE unsigned long long right_u(unsigned long long x, unsigned long long n) { return n < 64 ? x >> n : 0; }

/* Floats as integers: cut off towards zero, then the lowest 64 bits. What is no number is 0. */
DEVICE long long whole(double x) {
    if (!(x > -1.7e38 && x < 1.7e38)) return x > 0 ? -1 : 0;
    if (x > -9.2e18 && x < 9.2e18) return (long long)x;
    double rest = fmod(trunc(x), 18446744073709551616.0);
    if (rest < 0) rest += 18446744073709551616.0;
    return (long long)(unsigned long long)rest;
}
