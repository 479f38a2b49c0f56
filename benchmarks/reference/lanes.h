/* A register of numbers, `lanes`, and what the references do with it. REAL is float or double; a register has 64 bytes
   with AVX-512, and 32 elsewhere: gcc splits wider vectors badly. */
#ifndef LANES_H
#define LANES_H
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifdef __AVX512F__
#define BYTES 64
#else
#define BYTES 32
#endif
#define W (BYTES / (int)sizeof(REAL))
#define EACH(l) for (int l = 0; l < W; l++)

typedef REAL lanes __attribute__((vector_size(BYTES)));
typedef REAL quad __attribute__((vector_size(4 * sizeof(REAL)), aligned(sizeof(REAL))));
#ifdef SINGLE
typedef int32_t whole __attribute__((vector_size(BYTES)));
#else
typedef int64_t whole __attribute__((vector_size(BYTES)));
#endif

/* For the caller, who lays out arrays. */
int numbers_in_a_register(void) { return W; }

static inline lanes all(REAL one) { return one - (lanes){0}; }

static inline lanes load(const REAL *from) { return *(const lanes *)from; }

/* Write past the caches: what is stored here is not read again soon. */
static inline void stream(REAL *to, lanes v) {
#ifdef __AVX512F__
  _mm512_stream_si512((void *)to, (__m512i)v);
#elif defined(__AVX2__)
  _mm256_stream_si256((void *)to, (__m256i)v);
#else
  *(lanes *)to = v;
#endif
}

/* An estimate of 1 / sqrt(s): relative error below 2^-14 with AVX-512, 2^-11 (single) and 2^-20 (double) with AVX2,
   else exact. */
static inline lanes inverse_root(lanes s) {
#if defined(__AVX512F__) && defined(SINGLE)
  return (lanes)_mm512_rsqrt14_ps((__m512)s);
#elif defined(__AVX512F__)
  return (lanes)_mm512_rsqrt14_pd((__m512d)s);
#elif defined(__AVX2__) && defined(SINGLE)
  return (lanes)_mm256_rsqrt_ps((__m256)s);
#elif defined(__AVX2__)
  lanes estimate = (lanes)_mm256_cvtps_pd(_mm_rsqrt_ps(_mm256_cvtpd_ps((__m256d)s)));
  return estimate * (1.5 - 0.5 * s * estimate * estimate);
#else
  lanes y;
  EACH(l) y[l] = 1 / SQRT(s[l]);
  return y;
#endif
}

/* Four columns from W rows of four numbers that lie anywhere, c[k][l] = from[4 at[l] + k]: rows of a register each
   hold every fourth of them, and are turned 4 x 4. */
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#if BYTES == 64 && defined(SINGLE)
#define LOW(a, b) PICK(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define HIGH(a, b) PICK(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define FIRST(a, b) PICK(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define SECOND(a, b) PICK(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#elif BYTES == 64
#define LOW(a, b) PICK(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define HIGH(a, b) PICK(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define FIRST(a, b) PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define SECOND(a, b) PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#elif defined(SINGLE)
#define LOW(a, b) PICK(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b) PICK(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define FIRST(a, b) PICK(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define SECOND(a, b) PICK(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#else
#define LOW(a, b) PICK(a, b, 0, 4, 2, 6)
#define HIGH(a, b) PICK(a, b, 1, 5, 3, 7)
#define FIRST(a, b) PICK(a, b, 0, 1, 4, 5)
#define SECOND(a, b) PICK(a, b, 2, 3, 6, 7)
#endif
/* The halves of pairs, in the order of rows: single precision turns pairs of numbers, double single ones. */
#ifdef SINGLE
#define TURNED(r, c)                                                                              \
  lanes a_ = LOW(r[0], r[1]), b_ = LOW(r[2], r[3]), d_ = HIGH(r[0], r[1]), e_ = HIGH(r[2], r[3]); \
  c[0] = FIRST(a_, b_), c[1] = SECOND(a_, b_), c[2] = FIRST(d_, e_), c[3] = SECOND(d_, e_);
#else
#define TURNED(r, c)                                                                              \
  lanes a_ = LOW(r[0], r[1]), b_ = LOW(r[2], r[3]), d_ = HIGH(r[0], r[1]), e_ = HIGH(r[2], r[3]); \
  c[0] = FIRST(a_, b_), c[1] = FIRST(d_, e_), c[2] = SECOND(a_, b_), c[3] = SECOND(d_, e_);
#endif

static inline void columns(const REAL *restrict from, const int *restrict at, lanes c[4]) {
  lanes r[4];
  for (int k = 0; k < 4; k++) {
#define ROW(l) (from + 4 * (size_t)at[l])
#if defined(__AVX512F__) && defined(SINGLE)
    __m512 v = _mm512_castps128_ps512(_mm_load_ps(ROW(k)));
    v = _mm512_insertf32x4(v, _mm_load_ps(ROW(k + 4)), 1);
    v = _mm512_insertf32x4(v, _mm_load_ps(ROW(k + 8)), 2);
    r[k] = (lanes)_mm512_insertf32x4(v, _mm_load_ps(ROW(k + 12)), 3);
#elif defined(__AVX512F__)
    r[k] = (lanes)_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_load_pd(ROW(k))), _mm256_load_pd(ROW(k + 4)), 1);
#elif defined(__AVX2__) && defined(SINGLE)
    r[k] = (lanes)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_load_ps(ROW(k))), _mm_load_ps(ROW(k + 4)), 1);
#elif defined(__AVX2__)
    r[k] = (lanes)_mm256_load_pd(ROW(k));
#else
    for (int l = 0; l < W; l++) r[k][l] = ROW(k + l / 4 * 4)[l % 4];
#endif
  }
  TURNED(r, c)
}

/* And back, added in the order of rows k, k + 4, ...: to[4 at[l] + k] += c[k][l]. */
static inline void add_rows(const lanes c[4], REAL *restrict to, const int *restrict at) {
  lanes r[4];
  TURNED(c, r)
  for (int k = 0; k < 4; k++)
    for (int q = 0; q < W / 4; q++) {
      quad *restrict row = (quad *)(to + 4 * (size_t)at[k + 4 * q]);
#if defined(__AVX512F__) && defined(SINGLE)
      *row += (quad)(q == 0   ? _mm512_extractf32x4_ps((__m512)r[k], 0)
                     : q == 1 ? _mm512_extractf32x4_ps((__m512)r[k], 1)
                     : q == 2 ? _mm512_extractf32x4_ps((__m512)r[k], 2)
                              : _mm512_extractf32x4_ps((__m512)r[k], 3));
#elif defined(__AVX512F__)
      *row += (quad)(q == 0 ? _mm512_extractf64x4_pd((__m512d)r[k], 0) : _mm512_extractf64x4_pd((__m512d)r[k], 1));
#elif defined(__AVX2__) && defined(SINGLE)
      *row += (quad)(q == 0 ? _mm256_castps256_ps128((__m256)r[k]) : _mm256_extractf128_ps((__m256)r[k], 1));
#elif defined(__AVX2__)
      *row += (quad)r[k];
#else
      for (int j = 0; j < 4; j++) (*row)[j] += r[k][4 * q + j];
#endif
    }
}

/* ln J and 1 / J with one division: J = 2^n m, sqrt(1/2) <= m < sqrt(2), ln m = 2 artanh s, s = (m - 1) / (m + 1);
   the series to s^9 (single) and s^19 (double) is below rounding for |s| < 0.172. */
static inline lanes logarithm(lanes J, lanes *inverse) {
#ifdef SINGLE
  whole bits = (whole)J - 0x3f3504f3, n = bits >> 23;
  lanes m = (lanes)((whole)J - (n << 23));
#else
  whole bits = (whole)J - 0x3fe6a09e667f3bcdL, n = bits >> 52;
  lanes m = (lanes)((whole)J - (n << 52));
#endif
  lanes over = 1 / (J * (m + 1)), s = (m - 1) * (over * J), z = s * s;
  *inverse = over * (m + 1);
#ifdef SINGLE
  lanes p = z * ((REAL)2 / 3 + z * ((REAL)2 / 5 + z * ((REAL)2 / 7 + z * ((REAL)2 / 9))));
  const REAL ln2 = 0.693147180559945f;
#else
  lanes p = (REAL)2 / 15 + z * ((REAL)2 / 17 + z * ((REAL)2 / 19));
  p = z * ((REAL)2 / 3 + z * ((REAL)2 / 5 + z * ((REAL)2 / 7 + z * ((REAL)2 / 9 + z * ((REAL)2 / 11 + z * ((REAL)2 / 13 + z * p))))));
  const REAL ln2 = 0.693147180559945309417;
#endif
  return __builtin_convertvector(n, lanes) * ln2 + (2 * s + s * p);
}

#endif
