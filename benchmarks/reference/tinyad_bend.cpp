// The equilibrium of a clamped neo-Hookean solid under dead forces, by TinyAD and Eigen's SimplicialLDLT; f64, one thread.
//
// Newton's method from rest, with the Hessian as it is while its factors succeed and the direction descends, else projected;
// the pattern is analysed once in a call. Steps are halved until U falls.
#include <TinyAD/ScalarFunction.hh>

#include <Eigen/SparseCholesky>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::SparseMatrix<double>;
using Factors = Eigen::SimplicialLDLT<Matrix>;

struct Beam {
  TinyAD::ScalarFunction<3, double, Eigen::Index> strain;
  std::vector<double> rest;
  std::vector<int> variable;  // -1: clamped
  Vector start, forces;
};

// The direction by the Hessian `H` at a point; whether it descends.
bool solved(Factors &factors, const Matrix &H, const Vector &slope, Vector &direction) {
  factors.factorize(H);
  if (factors.info() != Eigen::Success) return false;
  direction = factors.solve(-slope);
  return slope.dot(direction) < 0.0;
}

}  // namespace

extern "C" {

// rest, forces: n x 3; cells: E x 4; weights: E x 9 (w_1, w_2, w_3); volumes: E; moves: n.
void *beam(int n, int elements, const double *rest, const int *cells, const double *weights, const double *volumes,
           const int *moves, const double *forces, double mu, double lambda) {
  auto *made = new Beam;
  made->rest.assign(rest, rest + 3 * n);
  int count = 0;
  for (int i = 0; i < n; i++) made->variable.push_back(moves[i] ? count++ : -1);
  made->start.resize(3 * count);
  made->forces.resize(3 * count);
  for (int i = 0; i < n; i++)
    for (int c = 0; c < 3 && moves[i]; c++) {
      made->start[3 * made->variable[i] + c] = rest[3 * i + c];
      made->forces[3 * made->variable[i] + c] = forces[3 * i + c];
    }
  made->strain = TinyAD::scalar_function<3>(TinyAD::range(count));
  made->strain.settings.n_threads = 1;
  made->strain.add_elements<4>(TinyAD::range(elements), [=](auto &element) -> TINYAD_SCALAR_TYPE(element) {
    using T = TINYAD_SCALAR_TYPE(element);
    const Eigen::Index e = element.handle;
    Eigen::Vector3<T> p[4];
    for (int a = 0; a < 4; a++) {
      const int i = cells[4 * e + a], v = made->variable[i];
      if (v >= 0)
        p[a] = element.variables(v);
      else
        p[a] = Eigen::Map<const Eigen::Vector3d>(rest + 3 * i).template cast<T>();
    }
    Eigen::Matrix3<T> D;
    for (int a = 0; a < 3; a++) D.col(a) = p[a + 1] - p[0];
    const Eigen::Matrix3d w = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(weights + 9 * e);
    Eigen::Matrix3<T> F = D * w;
    T J = F.determinant();
    if (J <= 0.0) return (T)std::numeric_limits<double>::infinity();
    T log_J = log(J);
    return volumes[e] * (0.5 * mu * (F.squaredNorm() - 3.0) - mu * log_J + 0.5 * lambda * log_J * log_J);
  });
  return made;
}

// Positions (n x 3) of the equilibrium, where the largest force is `fell` of the first one; the number of steps, or -1.
int bend(void *of, double fell, int most, double *out) {
  auto &beam = *static_cast<Beam *>(of);
  Vector x = beam.start, slope, direction;
  Matrix H;
  Factors factors;
  double U, first = 0.0;
  for (int step = 0; step < most; step++) {
    beam.strain.eval_with_derivatives(x, U, slope, H);
    U -= beam.forces.dot(x);
    slope -= beam.forces;
    const double residual = slope.cwiseAbs().maxCoeff();
    if (step == 0) first = residual, factors.analyzePattern(H);
    if (residual <= fell * first) {
      for (size_t i = 0; i < beam.variable.size(); i++)
        for (int c = 0; c < 3; c++)
          out[3 * i + c] = beam.variable[i] < 0 ? beam.rest[3 * i + c] : x[3 * beam.variable[i] + c];
      return step;
    }
    if (!solved(factors, H, slope, direction)) {
      double strain;
      Vector unused;
      beam.strain.eval_with_hessian_proj(x, strain, unused, H);
      if (!solved(factors, H, slope, direction)) return -1;
    }
    double s = 1.0;
    for (;; s *= 0.5) {
      if (s < 1e-10) return -1;
      const Vector there = x + s * direction;
      const double tried = beam.strain.eval(there) - beam.forces.dot(there);
      if (std::isfinite(tried) && tried <= U + 1e-4 * s * slope.dot(direction) + 1e-12 * std::abs(U)) break;
    }
    x += s * direction;
  }
  return -1;
}
}
