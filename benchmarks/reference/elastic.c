/* The compressible neo-Hookean solid on tetrahedra: gradient, Hessian product, element Hessians.

       U = sum_e V (mu/2 (|F|^2 - 3) - mu ln J + lambda/2 (ln J)^2),   F = sum_a (x_a - x_0) (x) w_a,  J = det F
       dU/dx_a = V P w_a,      P = mu F + k C,      k = (lambda ln J - mu) / J,     C = cof F = dJ/dF
       dP = mu dF + k dC + k' (C : dF) C,           k' = (lambda / J - k) / J
       d2U/(dx_a dx_b) = V (mu (w_a . w_b) 1 + k' q_a (x) q_b + k [s]),   q_a = C w_a,  s = F (w_a x w_b),
       [s]_ij = eps_ijk s_k

   A register holds W tetrahedra. Their data are blocked: node[block][4][W], weight[block][9][W] (w_1, w_2, w_3),
   volume[block][W]; the last block is filled up with tetrahedra of no volume. Positions are padded to four numbers,
   x[n][4]. Each derivative is written twice:

   by slots    forces of each tetrahedron into a buffer, then summed for each node over its list in order
   by parts    each thread has a part of the tetrahedra, and adds their forces to sums of its own as it goes: no
               buffer, the fewest bytes; the scheme of the code that is measured */
#include <omp.h>

#include "lanes.h"

typedef struct {
  lanes w[3][3], F[3][3], C[3][3], volume;
} Solid;

/* Positions (or what they change along) of W tetrahedra, as differences from their first node. */
static inline void edges(const REAL *restrict x, const int *restrict node, lanes d[3][3]) {
  lanes c[4][4];
  for (int a = 0; a < 4; a++) columns(x, node + a * W, c[a]);
  for (int a = 0; a < 3; a++)
    for (int i = 0; i < 3; i++) d[a][i] = c[a + 1][i] - c[0][i];
}

/* sum_a d_a (x) w_a */
static inline void spread(lanes d[3][3], lanes w[3][3], lanes F[3][3]) {
  for (int i = 0; i < 3; i++)
    for (int A = 0; A < 3; A++) F[i][A] = d[0][i] * w[0][A] + d[1][i] * w[1][A] + d[2][i] * w[2][A];
}

static inline void cofactor(lanes F[3][3], lanes C[3][3]) {
  for (int i = 0; i < 3; i++)
    for (int A = 0; A < 3; A++) {
      const int j = (i + 1) % 3, k = (i + 2) % 3, B = (A + 1) % 3, D = (A + 2) % 3;
      C[i][A] = F[j][B] * F[k][D] - F[j][D] * F[k][B];
    }
}

static inline Solid deformed(const REAL *restrict x, const int *restrict node, const REAL *restrict weight,
                             const REAL *restrict volume) {
  Solid s;
  lanes d[3][3];
  edges(x, node, d);
  for (int a = 0; a < 3; a++)
    for (int A = 0; A < 3; A++) s.w[a][A] = load(weight + (3 * a + A) * W);
  spread(d, s.w, s.F);
  cofactor(s.F, s.C);
  s.volume = load(volume);
  return s;
}

static inline lanes determinant(const Solid *s) {
  return s->F[0][0] * s->C[0][0] + s->F[0][1] * s->C[0][1] + s->F[0][2] * s->C[0][2];
}

/* Forces V P w_a of the nodes 1, 2, 3; that of node 0 is minus their sum. */
static inline void forces(lanes P[3][3], Solid *s, lanes f[4][3]) {
  for (int i = 0; i < 3; i++) {
    for (int a = 0; a < 3; a++) f[a + 1][i] = P[i][0] * s->w[a][0] + P[i][1] * s->w[a][1] + P[i][2] * s->w[a][2];
    f[0][i] = -(f[1][i] + f[2][i] + f[3][i]);
  }
}

/* Ask for the data of a block that comes soon. */
#define AHEAD 12
static inline void expect(size_t b, const int *node, const REAL *weight, const REAL *volume) {
  for (int l = 0; l < 4 * W * (int)sizeof(int); l += 64) __builtin_prefetch((const char *)(node + b * 4 * W) + l);
  for (int k = 0; k < 9; k++) __builtin_prefetch(weight + (b * 9 + k) * W);
  __builtin_prefetch(volume + b * W);
}

static inline void gradient_of(const REAL *x, const REAL *unused, const int *node, const REAL *weight,
                               const REAL *volume, REAL mu, REAL lambda, lanes f[4][3]) {
  Solid s = deformed(x, node, weight, volume);
  lanes inverse, log_J = logarithm(determinant(&s), &inverse), P[3][3];
  lanes k = s.volume * (lambda * log_J - mu) * inverse, m = s.volume * mu;
  for (int i = 0; i < 3; i++)
    for (int A = 0; A < 3; A++) P[i][A] = m * s.F[i][A] + k * s.C[i][A];
  forces(P, &s, f);
}

static inline void product_of(const REAL *x, const REAL *along, const int *node, const REAL *weight,
                              const REAL *volume, REAL mu, REAL lambda, lanes f[4][3]) {
  Solid s = deformed(x, node, weight, volume);
  lanes inverse, log_J = logarithm(determinant(&s), &inverse), d[3][3], D[3][3], P[3][3];
  edges(along, node, d);
  spread(d, s.w, D);
  lanes k = (lambda * log_J - mu) * inverse, change = {0};
  for (int i = 0; i < 3; i++)
    for (int A = 0; A < 3; A++) change += s.C[i][A] * D[i][A];
  change *= (lambda * inverse - k) * inverse * s.volume;
  k *= s.volume;
  lanes m = s.volume * mu;
  for (int i = 0; i < 3; i++)
    for (int A = 0; A < 3; A++) {
      const int j = (i + 1) % 3, h = (i + 2) % 3, B = (A + 1) % 3, E = (A + 2) % 3;
      lanes dC = D[j][B] * s.F[h][E] + s.F[j][B] * D[h][E] - D[j][E] * s.F[h][B] - s.F[j][E] * D[h][B];
      P[i][A] = m * D[i][A] + k * dC + change * s.C[i][A];
    }
  forces(P, &s, f);
}

/* By slots: slot[block][12][W]; places[start[n]] ... of node n point at the x of its slots. */
static inline void gathered(int n, int threads, const int *restrict start, const int *restrict places,
                            const REAL *restrict slot, REAL *restrict g) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < n; i++) {
    REAL gx = 0, gy = 0, gz = 0;
    for (int q = start[i]; q < start[i + 1]; q++) {
      const REAL *restrict f = slot + places[q];
      gx += f[0], gy += f[W], gz += f[2 * W];
    }
    g[3 * i] = gx, g[3 * i + 1] = gy, g[3 * i + 2] = gz;
  }
}

#define BY_SLOTS(name, of)                                                                                          \
  void name##_by_slots(int n, int blocks, int threads, const REAL *restrict x, const REAL *restrict along,          \
                       const int *restrict node, const REAL *restrict weight, const REAL *restrict volume, REAL mu, \
                       REAL lambda, const int *restrict start, const int *restrict places, REAL *restrict slot,     \
                       REAL *restrict g) {                                                                          \
    _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int b = 0; b < blocks; b++) {            \
      lanes f[4][3];                                                                                                \
      expect(b + AHEAD, node, weight, volume);                                                                      \
      of(x, along, node + (size_t)b * 4 * W, weight + (size_t)b * 9 * W, volume + (size_t)b * W, mu, lambda, f);    \
      for (int a = 0; a < 4; a++)                                                                                   \
        for (int i = 0; i < 3; i++) *(lanes *)(slot + ((size_t)b * 12 + 3 * a + i) * W) = f[a][i];                  \
    }                                                                                                               \
    gathered(n, threads, start, places, slot, g);                                                                   \
  }
BY_SLOTS(gradient, gradient_of)
BY_SLOTS(product, product_of)

/* By parts: thread t computes the blocks from first[t] on into sums of its own, own[threads][n][4], of which it reaches
   the nodes from low[t] to high[t]; then g[n][4] is the sum of those that reach a node, in the order of threads. */
#define BY_PARTS(name, of)                                                                                          \
  void name##_by_parts(int n, int threads, const REAL *restrict x, const REAL *restrict along,                      \
                       const int *restrict node, const REAL *restrict weight, const REAL *restrict volume, REAL mu, \
                       REAL lambda, const int *restrict first, const int *restrict low, const int *restrict high,   \
                       REAL *restrict own, REAL *restrict g) {                                                      \
    _Pragma("omp parallel num_threads(threads)") {                                                                  \
      const int me = omp_get_thread_num();                                                                          \
      REAL *restrict mine = own + (size_t)me * n * 4;                                                               \
      memset(mine + 4 * (size_t)low[me], 0, sizeof(REAL) * 4 * (high[me] - low[me]));                               \
      for (int b = first[me]; b < first[me + 1]; b++) {                                                             \
        const int *restrict at = node + (size_t)b * 4 * W;                                                          \
        lanes f[4][3];                                                                                              \
        expect(b + AHEAD, node, weight, volume);                                                                    \
        of(x, along, at, weight + (size_t)b * 9 * W, volume + (size_t)b * W, mu, lambda, f);                        \
        for (int a = 0; a < 4; a++) {                                                                               \
          const lanes c[4] = {f[a][0], f[a][1], f[a][2], {0}};                                                      \
          add_rows(c, mine, at + a * W);                                                                            \
        }                                                                                                           \
      }                                                                                                             \
      _Pragma("omp barrier") _Pragma("omp for schedule(static)") for (int i = 0; i < n; i++) {                      \
        quad sum = {0};                                                                                             \
        for (int t = 0; t < threads; t++)                                                                           \
          if (i >= low[t] && i < high[t]) sum += *(const quad *)(own + 4 * ((size_t)t * n + i));                    \
        *(quad *)(g + 4 * (size_t)i) = sum;                                                                         \
      }                                                                                                             \
    }                                                                                                               \
  }
BY_PARTS(gradient, gradient_of)
BY_PARTS(product, product_of)

/* The lower half of each Hessian, rows by (node, component): entry[block][78][W]. */
void element_hessians(int blocks, int threads, const REAL *restrict x, const int *restrict node,
                      const REAL *restrict weight, const REAL *restrict volume, REAL mu, REAL lambda,
                      REAL *restrict entry) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int b = 0; b < blocks; b++) {
    Solid s = deformed(x, node + (size_t)b * 4 * W, weight + (size_t)b * 9 * W, volume + (size_t)b * W);
    lanes inverse, log_J = logarithm(determinant(&s), &inverse), q[3][3], H[4][4][3][3];
    lanes k = (lambda * log_J - mu) * inverse, over = (lambda * inverse - k) * inverse * s.volume, m = mu * s.volume;
    k *= s.volume;
    for (int a = 0; a < 3; a++)
      for (int i = 0; i < 3; i++) q[a][i] = s.C[i][0] * s.w[a][0] + s.C[i][1] * s.w[a][1] + s.C[i][2] * s.w[a][2];
    for (int a = 0; a < 3; a++)
      for (int c = 0; c <= a; c++) {
        lanes same = m * (s.w[a][0] * s.w[c][0] + s.w[a][1] * s.w[c][1] + s.w[a][2] * s.w[c][2]), turn[3], v[3];
        for (int A = 0; A < 3; A++)
          v[A] = s.w[a][(A + 1) % 3] * s.w[c][(A + 2) % 3] - s.w[a][(A + 2) % 3] * s.w[c][(A + 1) % 3];
        for (int i = 0; i < 3; i++) turn[i] = k * (s.F[i][0] * v[0] + s.F[i][1] * v[1] + s.F[i][2] * v[2]);
        for (int i = 0; i < 3; i++)
          for (int j = 0; j < 3; j++) {
            lanes h = over * q[a][i] * q[c][j];
            if (i == j) h += same;
            if (a != c && j == (i + 1) % 3) h += turn[(i + 2) % 3];
            if (a != c && i == (j + 1) % 3) h -= turn[(j + 2) % 3];
            H[a + 1][c + 1][i][j] = H[c + 1][a + 1][j][i] = h;
          }
      }
    for (int a = 1; a < 4; a++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) H[a][0][i][j] = -(H[a][1][i][j] + H[a][2][i][j] + H[a][3][i][j]);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) H[0][0][i][j] = -(H[1][0][i][j] + H[2][0][i][j] + H[3][0][i][j]);
    REAL *restrict to = entry + (size_t)b * 78 * W;
    for (int r = 0; r < 12; r++)
      for (int c = 0; c <= r; c++, to += W) stream(to, H[r / 3][c / 3][r % 3][c % 3]);
  }
}
