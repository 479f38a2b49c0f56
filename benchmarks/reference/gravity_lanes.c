/* dU/dx of Plummer-softened gravity, G = 1: structure of arrays, target i reads all sources j.
   g[k][i] = m_i sum_j m_j (x_i - x_j)[k] / (|x_i - x_j|^2 + eps^2)^(3/2)

   A register holds W targets, sources are broadcast, and BLOCK registers of targets share each source. For
   s = |r|^2 + eps^2, y an estimate of s^(-1/2) and e = 1 - s y^2 (2^-13 at most with AVX-512), the power wanted is

       y^3 (1 - e)^(-3/2) = y^3 (1 + 3/2 e + 15/8 e^2 + 35/16 e^3 + ...)

   of which single precision needs two terms, 3/2 y^3 (5/3 - s y^2), and double precision four; with the estimate of
   AVX2 (e is 2^-10 at most) single precision needs three. Sources are summed by the SPAN, so that rounding does not
   grow with n. */
#include <omp.h>

#include "lanes.h"

#define BLOCK 2
#define SPAN 512

#if defined(SINGLE) && BYTES < 64
#define SCALE 1
static inline lanes cubed(lanes s, REAL m) {
  lanes y = inverse_root(s), square = y * y, e = 1 - s * square, c = m * y * square;
  return c + (c * e) * ((REAL)1.5 + e * (REAL)1.875);
}
#elif defined(SINGLE)
#define SCALE (REAL)1.5
static inline lanes cubed(lanes s, REAL m) {
  lanes y = inverse_root(s), square = y * y;
  return (m * y * square) * ((REAL)(5.0 / 3) - s * square);
}
#else
#define SCALE 1
static inline lanes cubed(lanes s, REAL m) {
  lanes y = inverse_root(s), square = y * y, e = 1 - s * square, c = m * y * square;
  return c + (c * e) * (1.5 + e * (1.875 + e * 2.1875));
}
#endif

/* x, g: 3 x n; n a multiple of BLOCK * W, filled up with masses of zero. */
void forces(int n, int threads, const REAL *restrict x, const REAL *restrict m, REAL *restrict g, REAL eps) {
  const REAL *restrict y = x + n, *restrict z = x + 2 * n;
  const lanes square = all(eps * eps);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < n; i += BLOCK * W) {
    lanes a[BLOCK], b[BLOCK], c[BLOCK], total[BLOCK][3] = {{{0}}};
    for (int k = 0; k < BLOCK; k++) a[k] = load(x + i + k * W), b[k] = load(y + i + k * W), c[k] = load(z + i + k * W);
    for (int first = 0; first < n; first += SPAN) {
      const int last = first + SPAN < n ? first + SPAN : n;
      lanes gx[BLOCK] = {{0}}, gy[BLOCK] = {{0}}, gz[BLOCK] = {{0}};
      for (int j = first; j < last; j++)
        for (int k = 0; k < BLOCK; k++) {
          lanes dx = a[k] - x[j], dy = b[k] - y[j], dz = c[k] - z[j];
          lanes w = cubed(square + dx * dx + dy * dy + dz * dz, m[j]);
          gx[k] += w * dx;
          gy[k] += w * dy;
          gz[k] += w * dz;
        }
      for (int k = 0; k < BLOCK; k++) total[k][0] += gx[k], total[k][1] += gy[k], total[k][2] += gz[k];
    }
    for (int k = 0; k < BLOCK; k++)
      for (int q = 0; q < 3; q++) *(lanes *)(g + q * n + i + k * W) = total[k][q] * (SCALE * load(m + i + k * W));
  }
}
