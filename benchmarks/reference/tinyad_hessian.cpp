// The projected sparse Hessian of a neo-Hookean solid by TinyAD, which the benchmark finds by itself; f64.
//
// The same energy as `elastic.c`, as TinyAD's user writes it: a lambda for one tetrahedron.
#include <TinyAD/ScalarFunction.hh>
#include <vector>

namespace {

using Function = TinyAD::ScalarFunction<3, double, Eigen::Index>;

struct Solid {
  Function function;
  Eigen::VectorXd x, along;
  double value = 0;
  Eigen::VectorXd gradient;
  Eigen::SparseMatrix<double> hessian;
};

}  // namespace

extern "C" {

// x, along: n x 3; cells: E x 4; weights: E x 9 (w_1, w_2, w_3); volumes: E.
void *solid(int n, int elements, int threads, const double *x, const double *along, const int *cells, const double *weights,
            const double *volumes, double mu, double lambda) {
  auto *made = new Solid{TinyAD::scalar_function<3>(TinyAD::range(n)), {}, {}, 0, {}, {}};
  made->function.settings.n_threads = threads;
  made->x = Eigen::Map<const Eigen::VectorXd>(x, 3 * n);
  made->along = Eigen::Map<const Eigen::VectorXd>(along, 3 * n);
  made->function.add_elements<4>(TinyAD::range(elements), [=](auto &element) -> TINYAD_SCALAR_TYPE(element) {
    using T = TINYAD_SCALAR_TYPE(element);
    const Eigen::Index e = element.handle;
    Eigen::Vector3<T> first = element.variables(cells[4 * e]);
    Eigen::Matrix3<T> D;
    for (int a = 0; a < 3; a++) D.col(a) = element.variables(cells[4 * e + a + 1]) - first;
    const Eigen::Matrix3d w = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(weights + 9 * e);
    Eigen::Matrix3<T> F = D * w;
    T log_J = log(F.determinant());
    return volumes[e] * (0.5 * mu * (F.squaredNorm() - 3.0) - mu * log_J + 0.5 * lambda * log_J * log_J);
  });
  return made;
}

// H along, for comparison; the matrix itself stays where it is.
void product(void *of, double *out) {
  auto *solid = static_cast<Solid *>(of);
  Eigen::Map<Eigen::VectorXd>(out, solid->x.size()) = solid->hessian * solid->along;
}

void evaluate(void *of) {
  auto *solid = static_cast<Solid *>(of);
  solid->function.eval_with_hessian_proj(solid->x, solid->value, solid->gradient, solid->hessian);
}
}
