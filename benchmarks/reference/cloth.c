/* Cloth: St Venant-Kirchhoff membranes and hinges between triangles; the gradient of both.

       membrane   U = sum of V (mu E:E + lambda/2 (tr E)^2),   E = (F^T F - 1) / 2,   F = d_1 (x) g_1 + d_2 (x) g_2
                  dU/dx_a = V F (2 mu E + lambda tr E 1) g_a,  g_0 = -(g_1 + g_2)
       hinge      U = sum of k/2 (theta - theta_0)^2,   theta = atan2(|q| p . n, -m . n),   m = p x q,  n = q x r
                  dtheta/dx_0 = |q| m / m^2,  dtheta/dx_3 = -|q| n / n^2,
                  dtheta/dx_1 = -(1 + p . q / q^2) dtheta/dx_0 + (q . r / q^2) dtheta/dx_3

   p, q, r from node to node of a hinge; x_2 has what the others leave (Blondel and Karplus 1996, J. Comput. Chem. 17,
   1132). A register holds W elements; data are blocked: node[block][3 or 4][W], membrane data[block][5][W] (g_1, g_2, V),
   hinge data[block][2][W] (theta_0, k); the last block is filled up with elements of no stiffness. Positions and
   forces have four numbers, x[n][4]; each thread adds forces to sums of its own, own[threads][n][4], which are added. */
#include <omp.h>

#include "lanes.h"

typedef lanes vector[3];

static inline lanes dot(const vector a, const vector b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void cross(const vector a, const vector b, vector c) {
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    c[i] = a[j] * b[k] - a[k] * b[j];
  }
}

static inline lanes root(lanes s) {
  lanes y;
  EACH(l) y[l] = SQRT(s[l]);
  return y;
}

/* atan2(y, x): t = min / max of the sizes, atan t = atan c + atan((t - c) / (1 + c t)), c the nearest multiple of 1/4,
   the series of the rest, below 1/8, to t^17 (single: t^7). */
static const REAL ARCS[5] = {0, 0.24497866312686415417, 0.46364760900080611621, 0.64350110879328438680,
                             0.78539816339744830962};
static inline lanes pick(whole where, lanes a, lanes b) { return (lanes)((where & (whole)a) | (~where & (whole)b)); }

static inline lanes angle(lanes y, lanes x) {
  const lanes ay = pick(y < 0, -y, y), ax = pick(x < 0, -x, x);
  const lanes big = pick(ay > ax, ay, ax), small = pick(ay > ax, ax, ay), t = small / big;
  lanes c = all(0), arc = all(0);
  for (int k = 1; k < 5; k++) {
    const whole beyond = t > all((REAL)(0.25 * k - 0.125));
    c = pick(beyond, all((REAL)(0.25 * k)), c), arc = pick(beyond, all(ARCS[k]), arc);
  }
  const lanes s = (t - c) / (1 + c * t), z = s * s;
#ifdef SINGLE
  lanes p = z * ((REAL)-1 / 3 + z * ((REAL)1 / 5 + z * ((REAL)-1 / 7)));
#else
  lanes p = (REAL)1 / 13 + z * ((REAL)-1 / 15 + z * ((REAL)1 / 17));
  p = z * ((REAL)-1 / 3 + z * ((REAL)1 / 5 + z * ((REAL)-1 / 7 + z * ((REAL)1 / 9 + z * ((REAL)-1 / 11 + z * p)))));
#endif
  lanes a = arc + (s + s * p);
  a = pick(ay > ax, (REAL)1.57079632679489661923 - a, a);
  a = pick(x < 0, (REAL)3.14159265358979323846 - a, a);
  return pick(y < 0, -a, a);
}

static inline void membrane(const REAL *restrict x, const int *restrict node, const REAL *restrict data, REAL mu,
                            REAL lambda, REAL *restrict to) {
  lanes at[3][4], g[2][2];
  vector d[2], f[3];
  for (int a = 0; a < 3; a++) columns(x, node + a * W, at[a]);
  for (int a = 0; a < 2; a++)
    for (int A = 0; A < 2; A++) g[a][A] = load(data + (2 * a + A) * W);
  const lanes volume = load(data + 4 * W);
  for (int i = 0; i < 3; i++) {
    d[0][i] = at[1][i] - at[0][i], d[1][i] = at[2][i] - at[0][i];
  }
  vector F[2]; /* its columns */
  for (int A = 0; A < 2; A++)
    for (int i = 0; i < 3; i++) F[A][i] = d[0][i] * g[0][A] + d[1][i] * g[1][A];
  const lanes e0 = (REAL)0.5 * (dot(F[0], F[0]) - 1), e1 = (REAL)0.5 * (dot(F[1], F[1]) - 1);
  const lanes twice = dot(F[0], F[1]), trace = lambda * (e0 + e1); /* 2 E_01 */
  const lanes s0 = volume * (2 * mu * e0 + trace), s1 = volume * (2 * mu * e1 + trace), s01 = volume * mu * twice;
  for (int i = 0; i < 3; i++) {
    const lanes p0 = F[0][i] * s0 + F[1][i] * s01, p1 = F[0][i] * s01 + F[1][i] * s1;
    f[1][i] = p0 * g[0][0] + p1 * g[0][1], f[2][i] = p0 * g[1][0] + p1 * g[1][1];
    f[0][i] = -(f[1][i] + f[2][i]);
  }
  for (int a = 0; a < 3; a++) {
    const lanes c[4] = {f[a][0], f[a][1], f[a][2], {0}};
    add_rows(c, to, node + a * W);
  }
}

static inline void hinge(const REAL *restrict x, const int *restrict node, const REAL *restrict data,
                         REAL *restrict to) {
  lanes at[4][4];
  vector p, q, r, m, n, f[4];
  for (int a = 0; a < 4; a++) columns(x, node + a * W, at[a]);
  for (int i = 0; i < 3; i++) p[i] = at[1][i] - at[0][i], q[i] = at[2][i] - at[1][i], r[i] = at[3][i] - at[2][i];
  cross(p, q, m), cross(q, r, n);
  const lanes square = dot(q, q), length = root(square), over = 1 / square;
  const lanes theta = angle(length * dot(p, n), -dot(m, n));
  const lanes moment = load(data + W) * (theta - load(data)) * length;
  const lanes first = moment / dot(m, m), last = -moment / dot(n, n);
  const lanes along = dot(p, q) * over, beyond = dot(q, r) * over;
  for (int i = 0; i < 3; i++) {
    f[0][i] = first * m[i], f[3][i] = last * n[i];
    f[1][i] = beyond * f[3][i] - (1 + along) * f[0][i];
    f[2][i] = -(f[0][i] + f[1][i] + f[3][i]);
  }
  for (int a = 0; a < 4; a++) {
    const lanes c[4] = {f[a][0], f[a][1], f[a][2], {0}};
    add_rows(c, to, node + a * W);
  }
}

/* Thread t has the blocks from triangle[t] and from fold[t] on; g[n][4] is the sum of what the threads have. */
void gradient(int n, int threads, const REAL *restrict x, const int *restrict corner, const REAL *restrict membranes,
              const int *restrict triangle, const int *restrict ends, const REAL *restrict hinges,
              const int *restrict fold, REAL mu, REAL lambda, REAL *restrict own, REAL *restrict g) {
#pragma omp parallel num_threads(threads)
  {
    const int me = omp_get_thread_num();
    REAL *restrict mine = own + (size_t)me * n * 4;
    memset(mine, 0, sizeof(REAL) * 4 * n);
    for (int b = triangle[me]; b < triangle[me + 1]; b++)
      membrane(x, corner + (size_t)b * 3 * W, membranes + (size_t)b * 5 * W, mu, lambda, mine);
    for (int b = fold[me]; b < fold[me + 1]; b++)
      hinge(x, ends + (size_t)b * 4 * W, hinges + (size_t)b * 2 * W, mine);
#pragma omp barrier
#pragma omp for schedule(static)
    for (int i = 0; i < n; i++) {
      quad sum = {0};
      for (int t = 0; t < threads; t++) sum += *(const quad *)(own + 4 * ((size_t)t * n + i));
      *(quad *)(g + 4 * (size_t)i) = sum;
    }
  }
}
