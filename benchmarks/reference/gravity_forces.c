/* dU/dx of Plummer-softened gravity, G = 1: structure of arrays, target i reads all sources j.
   g[k][i] = m_i sum_j m_j (x_i - x_j)[k] / (|x_i - x_j|^2 + eps^2)^(3/2) */
#include <math.h>
#include <omp.h>

void forces(int n, int threads, const REAL *restrict x, const REAL *restrict m, REAL *restrict g, REAL eps) {
  const REAL *restrict y = x + n, *restrict z = x + 2 * n;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < n; i++) {
    REAL gx = 0, gy = 0, gz = 0;
#pragma omp simd reduction(+ : gx, gy, gz)
    for (int j = 0; j < n; j++) {
      REAL dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      REAL inv = 1 / SQRT(dx * dx + dy * dy + dz * dz + eps * eps);
      REAL w = m[j] * inv * inv * inv;
      gx += w * dx;
      gy += w * dy;
      gz += w * dz;
    }
    g[i] = m[i] * gx;
    g[n + i] = m[i] * gy;
    g[2 * n + i] = m[i] * gz;
  }
}
