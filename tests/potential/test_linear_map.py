"""Linear staged maps: tangents and Hessian products through them, against NumPy; refusals."""

import re

import numpy as np
import pytest
from scipy import linalg

from minusgrad import (
    Datum,
    Fields,
    Loss,
    Node,
    Parameter,
    Potential,
    Rollout,
    Stage,
    bind,
    bind_staged,
    local_energy,
    local_map,
    staged_map,
    ti,
)
from minusgrad.check import term_check
from minusgrad.energies.staged_map import StagedMap
from minusgrad.errors import EnergyError
from minusgrad.plugin import Evolution, Slope
from minusgrad.steppers.systems.system import System

A, N = ti.types.ndarray, 6
KERNEL = np.array([2.0, -1.0, 0.5, 0.0, 0.25, 0.0])
CIRCULANT = linalg.circulant(KERNEL)


@ti.kernel
def convolved(x: A(ndim=1), row: A(ndim=1), k: A(ndim=0), y: A(ndim=1)):
    """y_i = k sum over j of row_(i - j) x_j, on a ring."""
    ti.loop_config(serialize=True)
    for i, j in ti.ndrange(x.shape[0], x.shape[0]):
        y[i] += k[None] * row[(i - j + x.shape[0]) % x.shape[0]] * x[j]


def in_python(x, row, k, y):
    """The same by a product with a matrix."""
    y.from_numpy(k.to_numpy() * linalg.circulant(row.to_numpy()) @ x.to_numpy())


def in_python_back(x, row, k, d_y, d_x, d_k):
    matrix, of_y = linalg.circulant(row.to_numpy()), d_y.to_numpy()
    d_x.from_numpy(d_x.to_numpy() + k.to_numpy() * matrix.T @ of_y)
    d_k.from_numpy(np.asarray(d_k.to_numpy() + of_y @ matrix @ x.to_numpy()))


def wrong_back(x, row, k, d_y, d_x):
    """Without the transpose."""
    d_x.from_numpy(d_x.to_numpy() + k.to_numpy() * linalg.circulant(row.to_numpy()) @ d_y.to_numpy())


def of_stage(stage: Stage, linear: bool = True) -> StagedMap:
    return staged_map(
        "blur",
        gives="y",
        stages=[stage],
        linear=linear,
        example=lambda rng: {"x": rng.normal(size=N), "row": KERNEL, "k": 1.3},
        x=Node(),
        row=Datum(shape=("n_x",)),
        k=Parameter(default=1.0),
    )


KERNELS = of_stage(Stage(convolved, writes=("y",)))
PYTHON = of_stage(Stage(in_python, writes=("y",), backward=in_python_back))


@local_energy("quartic", over="nodes", y=Node(), w=Node(), c=Parameter(default=0.7))
def quartic(y, w, c):
    return 0.5 * w[0] * y[0] ** 2 + c * y[0] ** 4


def numbers(precision: str = "f64") -> Fields:
    rng = np.random.default_rng(5)
    return Fields({"x": rng.normal(size=N), "w": rng.normal(size=N)}, precision=precision)


def blurred(of: Fields, blur: StagedMap = PYTHON, k: float = 1.3) -> Potential:
    """The quartic energy of the map's output."""
    made = bind_staged(blur, of, data={"row": KERNEL}, parameters={"k": k})
    return Potential(of, [bind(quartic, of)], [made])


def expected(of: Fields) -> tuple[float, np.ndarray, np.ndarray]:
    """U, its gradient and its Hessian in x, in NumPy."""
    x, w = (of[n].values.astype(float) for n in "xw")
    matrix = 1.3 * CIRCULANT
    y = matrix @ x
    u = float((0.5 * w * y**2 + 0.7 * y**4).sum())
    slope, curvature = w * y + 2.8 * y**3, w + 8.4 * y**2
    return u, matrix.T @ slope, matrix.T @ np.diag(curvature) @ matrix


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("blur", [KERNELS, PYTHON], ids=["kernels", "python"])
def test_hessian_products_pass_through_a_linear_map(blur: StagedMap, precision: str) -> None:
    of = numbers(precision)
    energy, tol = blurred(of, blur), 1e-13 if precision == "f64" else 1e-5
    u, gradient, hessian = expected(of)
    along = np.random.default_rng(7).normal(size=N)
    assert energy.value() == pytest.approx(u, rel=tol)
    for _ in range(2):
        size = np.abs(hessian @ along).max()
        assert np.abs(energy.product({"x": along}, "x") - hessian @ along).max() <= tol * size
        assert np.abs(energy.gradient("x") - gradient).max() <= tol * np.abs(gradient).max()


def test_mixed_products_and_tangents_of_outputs() -> None:
    of = numbers()
    energy = blurred(of)
    x = of["x"].values.copy()
    along = np.random.default_rng(8).normal(size=N)
    matrix = 1.3 * CIRCULANT
    y, dy = matrix @ x, matrix @ along
    np.testing.assert_allclose(energy.map_output_tangents({"x": along})["y"], dy, rtol=1e-13)
    np.testing.assert_allclose(energy.product({"w": along}, "x"), matrix.T @ (along * y), rtol=1e-12)
    np.testing.assert_allclose(energy.product({"x": along}, "w"), y * dy, rtol=1e-12)
    assert energy.product({"x": along}, "quartic.c") == pytest.approx(4.0 * (y**3) @ dy, rel=1e-12)
    dk = energy.product({"x": along}, "blur.k")
    step = 1e-6
    of["x"].set(x + step * along)
    up = energy.gradient("blur.k")
    of["x"].set(x - step * along)
    assert dk == pytest.approx((up - energy.gradient("blur.k")) / (2.0 * step), rel=1e-7)


def test_a_twin_has_arrays_of_its_own() -> None:
    of = numbers()
    energy = blurred(of)
    twin = energy.twin()
    along = np.random.default_rng(9).normal(size=N)
    before = twin.product({"x": along}, "x")
    of["x"].set(np.zeros(N))
    energy.product({"x": along}, "x")
    assert np.array_equal(twin.product({"x": along}, "x"), before)


def test_slopes_through_a_linear_map_and_its_transpose() -> None:
    of = numbers()
    program = Potential(of, [], [Slope("force", blurred(of), {"x": "f"}, -1.0)], frozen=True)
    program.refresh()
    _, gradient, hessian = expected(of)
    np.testing.assert_allclose(of["f"].values, -gradient, rtol=1e-12)
    along = np.random.default_rng(10).normal(size=N)
    np.testing.assert_allclose(program.map_output_tangents({"x": along})["f"], -hessian @ along, rtol=1e-11)
    blur = Potential(
        of, [], [bind_staged(PYTHON, of, name="again", data={"row": KERNEL}, gives="y2")], frozen=True
    )
    back = Potential(of, [], [Slope("back", blur, {"x": "z"}, paired={"y2": "w"})])
    back.refresh()
    np.testing.assert_allclose(of["z"].values, CIRCULANT.T @ of["w"].values, rtol=1e-12)


@local_map("step", gives="x_next", over="nodes", x=Node(), y=Node())
def step(x, y):
    return x[0] - 0.05 * y[0] ** 3


@local_energy("goal", over="nodes", x=Node())
def goal(x):
    return (x[0] - 0.2) ** 2


def test_programs_with_a_linear_map_have_gradients() -> None:
    of = numbers()
    blur = bind_staged(PYTHON, of, data={"row": KERNEL}, parameters={"k": 0.4})
    program = Evolution(System(Potential(of, [], [blur, bind(step, of)])), {"x": "x_next"})
    run = Rollout(program, [Loss(Potential(of, [bind(goal, of)]), steps=(3,))], steps=3)
    start = of["x"].values.copy()
    _, gradient = run.evaluate(["x"])

    def loss(x: np.ndarray) -> float:
        for _ in range(3):
            x = x - 0.05 * (0.4 * CIRCULANT @ x) ** 3
        return float(((x - 0.2) ** 2).sum())

    moved = [start + 1e-6 * unit for unit in (*np.eye(N), *-np.eye(N))]
    slopes = np.array([loss(x) for x in moved])
    np.testing.assert_allclose(gradient["x"], (slopes[:N] - slopes[N:]) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("blur", [KERNELS, PYTHON], ids=["kernels", "python"])
def test_check_passes(blur: StagedMap) -> None:
    findings = list(term_check.of_energy(blur))
    assert findings
    assert not [f for f in findings if not f.passed]


# Refusals -------------------------------------------------------------------------------------------


def test_tangents_along_parameters_are_refused() -> None:
    text = (
        "map 'blur': staged kernels have no tangents along 'k', because the map is linear in its fields"
        " alone; ask for gradients"
    )
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        blurred(numbers()).product({"blur.k": 1.0}, "x")


@ti.kernel
def squared(x: A(ndim=1), row: A(ndim=1), k: A(ndim=0), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = k[None] * row[i] * x[i] + 0.125


def test_a_map_that_is_not_linear_is_found() -> None:
    affine = of_stage(Stage(squared, writes=("y",)))
    text = "map 'blur': is declared linear, but 'y' of a sum of fields is not the sum of those of each, got a"
    energy = blurred(numbers(), affine)
    energy.gradient("x")
    with pytest.raises(
        EnergyError, match=f"^{re.escape(text)} difference of .* % of the largest; leave `linear`"
    ):
        energy.product({"x": np.ones(N)}, "x")


def test_a_reverse_that_is_not_the_transpose_is_found() -> None:
    wrong = of_stage(Stage(in_python, writes=("y",), backward=wrong_back))
    text = (
        r"^map 'blur': its reverse is not its transpose, got c \. L a = .* and a \. L\^T c = .*; correct the"
    )
    with pytest.raises(EnergyError, match=text):
        blurred(numbers(), wrong).product({"x": np.ones(N)}, "x")


def test_a_linear_map_reads_a_field() -> None:
    @ti.kernel
    def scaled(row: A(ndim=1), y: A(ndim=1)):
        for i in range(row.shape[0]):
            y[i] = row[i]

    text = "map 'blur': is linear in its fields, got none; give it a Node, or leave `linear` out"
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        staged_map("blur", gives="y", stages=[Stage(scaled, ("y",))], linear=True, row=Datum(shape=("n_y",)))


def test_others_have_no_tangents_as_before() -> None:
    energy = blurred(numbers(), of_stage(Stage(convolved, writes=("y",)), linear=False))
    text = (
        "map 'blur': staged kernels have no tangents along 'x', because Taichi reverses them once; ask for"
        " gradients, or write it as a local map"
    )
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        energy.product({"x": np.ones(N)}, "x")
