/* Kick - drift - kick for gravity, G = 1: the forces of `gravity_lanes.c`, and a kick and a drift for each. */
#include "gravity_lanes.c"

static void kicked(int n, const REAL *restrict g, const REAL *restrict m, REAL *restrict v, REAL h) {
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < n; i++) v[k * n + i] -= m[i] > 0 ? h * g[k * n + i] / m[i] : 0;
}

static void drifted(int n, const REAL *restrict v, REAL *restrict x, REAL h) {
  for (int i = 0; i < 3 * n; i++) x[i] += h * v[i];
}

/* x, v, g: 3 x n, filled up as `forces` wants it. */
void leapfrog(int n, int threads, int steps, REAL *restrict x, REAL *restrict v, const REAL *restrict m,
              REAL *restrict g, REAL eps, REAL dt) {
  forces(n, threads, x, m, g, eps);
  for (int s = 0; s < steps; s++) {
    kicked(n, g, m, v, dt / 2);
    drifted(n, v, x, dt);
    forces(n, threads, x, m, g, eps);
    kicked(n, g, m, v, dt / 2);
  }
}

/* The same for a few bodies, one after another in one register's worth of code: x, v: n x 3. */
void few(int n, int steps, double *restrict x, double *restrict v, const double *restrict m, double *restrict g,
         double eps, double dt) {
  for (int s = -1; s < steps; s++) {
    if (s >= 0)
      for (int i = 0; i < 3 * n; i++) {
        v[i] -= dt / 2 * g[i];
        x[i] += dt * v[i];
      }
    for (int i = 0; i < 3 * n; i++) g[i] = 0;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) {
        double d[3], r = eps * eps;
        for (int k = 0; k < 3; k++) d[k] = x[3 * i + k] - x[3 * j + k], r += d[k] * d[k];
        r = 1 / (r * sqrt(r));
        for (int k = 0; k < 3; k++) g[3 * i + k] += m[j] * r * d[k], g[3 * j + k] -= m[i] * r * d[k];
      }
    if (s >= 0)
      for (int i = 0; i < 3 * n; i++) v[i] -= dt / 2 * g[i];
  }
}
