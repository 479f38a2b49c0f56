/* One iteration of laser deposition: dose, mean squared error, gradient with respect to x, y, power, speed.

   Point i >= 1 adds w_i = power_i |p_i - p_(i-1)| / speed_i times the stencil at its sub-pixel offset (a, b),
   p_i = (fx + a, fy + b). Row k of the 16 x 16 cells that it touches is

       (1-b) H_k + b H_(k-1),   H_k[l] = (1-a) S[k][l] + a S[k][l-1],   S = 0 outside of its 15 x 15 samples

   16 numbers side by side: one register in single precision. The canvas has a margin of 16 cells, so that
   nothing is clipped inside a loop; the margin is not in the loss. Every thread owns a band of rows with equally
   much to deposit: it clears, deposits and compares with no other thread near, so there are no atomics and no
   private canvases, and each cell sums its points in their order. The gradient reads the residual of the cells
   that a point touched. */
#include <math.h>
#include <omp.h>
#include <string.h>

#define MARGIN 16
#define SPAN 16
#define SAMPLES 15
#define MAX_THREADS 256

static inline int clamped(REAL floor_, int cells) { /* a spot that touches no cell lands in the margin */
  return floor_ < -9 ? -9 : floor_ > cells + 7 ? cells + 7 : (int)floor_;
}

/* dose, residual = dloss/ddose: (rows + 32) x (cols + 32), zero at first. work: 6 n numbers. gradient: of x, y,
   power, speed, n each. At most 4064 rows and 256 threads. Returns the loss. */
double iterate(int n, int threads, int rows, int cols, const REAL *restrict x, const REAL *restrict y,
               const REAL *restrict power, const REAL *restrict speed, const REAL *restrict stencil,
               const REAL *restrict target, REAL *restrict dose, REAL *restrict residual,
               REAL *restrict gradient, REAL *restrict work) {
  const int width = cols + 2 * MARGIN, height = rows + 2 * MARGIN;
  REAL *restrict offset_x = work, *restrict offset_y = work + n, *restrict amount = work + 2 * n;
  REAL *restrict length = work + 3 * n;
  int *restrict at_row = (int *)(work + 4 * n), *restrict at_col = (int *)(work + 5 * n);
  REAL *restrict gx = gradient, *restrict gy = gradient + n, *restrict gp = gradient + 2 * n;
  REAL *restrict gs = gradient + 3 * n;
  const REAL scale = (REAL)2 / ((REAL)rows * cols);
  int bands[MAX_THREADS + 1], starting[4096] = {0};
  double loss = 0;
  REAL upright[SPAN + 1][SPAN] __attribute__((aligned(64))) = {{0}}; /* S[k - 1][l] */
  REAL shifted[SPAN + 1][SPAN] __attribute__((aligned(64))) = {{0}}; /* S[k - 1][l - 1] */
  for (int k = 0; k < SAMPLES; k++)
    for (int l = 0; l < SAMPLES; l++) upright[k + 1][l] = shifted[k + 1][l + 1] = stencil[k * SAMPLES + l];

  /* Where each point lies, and how much it deposits. */
  length[0] = amount[0] = 0;
  for (int i = 0; i < n; i++) {
    REAL fx = FLOOR(x[i]), fy = FLOOR(y[i]);
    offset_x[i] = x[i] - fx;
    offset_y[i] = y[i] - fy;
    at_col[i] = clamped(fx, cols) - 7 + MARGIN; /* the first of the 16 cells, on the canvas with its margin */
    at_row[i] = clamped(fy, rows) - 7 + MARGIN;
    starting[at_row[i]]++;
  }
  for (int i = 1; i < n; i++) {
    REAL dx = x[i] - x[i - 1], dy = y[i] - y[i - 1];
    length[i] = SQRT(dx * dx + dy * dy);
    amount[i] = power[i] * length[i] / speed[i];
  }
  /* Bands: what a row costs is the points that touch it, and a part for the cells themselves. */
  double total = 0, sum = 0, costs[4096];
  int touching = 0;
  for (int r = 0; r < height; r++) {
    touching += starting[r] - (r >= SPAN ? starting[r - SPAN] : 0);
    total += costs[r] = touching + 0.2 * width;
  }
  bands[0] = 0;
  for (int r = 0, band = 1; r < height && band < threads; r++)
    if ((sum += costs[r]) >= total * band / threads) bands[band++] = r + 1;
  bands[threads] = height;

#pragma omp parallel num_threads(threads) reduction(+ : loss)
  {
    const int me = omp_get_thread_num(), first = bands[me], last = bands[me + 1];
    memset(dose + (size_t)first * width, 0, sizeof(REAL) * width * (last - first));
    for (int i = 1; i < n; i++) {
      int r = at_row[i], low = r > first ? r : first, high = r + SPAN < last ? r + SPAN : last;
      if (low >= high) continue;
      const REAL b = offset_y[i], a = offset_x[i];
      const REAL s00 = amount[i] * (1 - a) * (1 - b), s01 = amount[i] * a * (1 - b);
      const REAL s10 = amount[i] * (1 - a) * b, s11 = amount[i] * a * b;
      REAL *restrict cell = dose + (size_t)low * width + at_col[i];
      for (int k = low - r; k < high - r; k++, cell += width) {
#pragma omp simd simdlen(16)
        for (int l = 0; l < SPAN; l++)
          cell[l] += s00 * upright[k + 1][l] + s01 * shifted[k + 1][l] + s10 * upright[k][l] + s11 * shifted[k][l];
      }
    }
    REAL squares = 0;
    for (int r = first > MARGIN ? first : MARGIN; r < last && r < rows + MARGIN; r++) {
      const REAL *restrict d = dose + (size_t)r * width + MARGIN, *restrict t = target + (size_t)(r - MARGIN) * cols;
      REAL *restrict e = residual + (size_t)r * width + MARGIN;
      squares = 0;
#pragma omp simd reduction(+ : squares)
      for (int c = 0; c < cols; c++) {
        REAL difference = d[c] - t[c];
        squares += difference * difference;
        e[c] = scale * difference;
      }
      loss += squares;
    }
#pragma omp barrier
#pragma omp for schedule(static)
    for (int i = 1; i < n; i++) {
      const REAL *restrict e = residual + (size_t)at_row[i] * width + at_col[i];
      REAL c00[SPAN] = {0}, c01[SPAN] = {0}, c10[SPAN] = {0}, c11[SPAN] = {0};
      for (int k = 0; k < SPAN; k++, e += width) {
#pragma omp simd simdlen(16)
        for (int l = 0; l < SPAN; l++) {
          c00[l] += e[l] * upright[k + 1][l];
          c01[l] += e[l] * shifted[k + 1][l];
          c10[l] += e[l] * upright[k][l];
          c11[l] += e[l] * shifted[k][l];
        }
      }
      REAL t00 = 0, t01 = 0, t10 = 0, t11 = 0;
#pragma omp simd reduction(+ : t00, t01, t10, t11)
      for (int l = 0; l < SPAN; l++) t00 += c00[l], t01 += c01[l], t10 += c10[l], t11 += c11[l];
      const REAL a = offset_x[i], b = offset_y[i];
      const REAL felt = (1 - b) * ((1 - a) * t00 + a * t01) + b * ((1 - a) * t10 + a * t11);
      gx[i] = amount[i] * ((1 - b) * (t01 - t00) + b * (t11 - t10));
      gy[i] = amount[i] * ((1 - a) * (t10 - t00) + a * (t11 - t01));
      gp[i] = felt * length[i] / speed[i];
      gs[i] = -felt * amount[i] / speed[i];
    }
  }
  /* What the lengths of the segments say. */
  gx[0] = gy[0] = gp[0] = gs[0] = 0;
  for (int i = 1; i < n; i++) {
    if (length[i] == 0) continue;
    REAL pull = gp[i] * power[i] / (length[i] * length[i]);
    REAL px = pull * (x[i] - x[i - 1]), py = pull * (y[i] - y[i - 1]);
    gx[i] += px;
    gy[i] += py;
    gx[i - 1] -= px;
    gy[i - 1] -= py;
  }
  return loss / ((double)rows * cols);
}
