"""Staged energies: values and gradients against NumPy and traced twins, several outputs, seeds."""

import re

import numpy as np
import pytest

from minusgrad import (
    Between,
    Datum,
    Fields,
    Node,
    Parameter,
    Potential,
    Stage,
    bind,
    bind_staged,
    local_energy,
    staged_energy,
    ti,
)
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad.scene.units import UnitSystem
from tests.support.clumping import CELLS, clumping, deposit
from tests.support.staged_kernels import A, N, of_x, order, shared, sines, squares, total, twice_the_slope

V2 = ti.types.vector(2, ti.f64)


# Values and gradients -------------------------------------------------------------------------------


def plain_clumping(x: np.ndarray, k: float, w: np.ndarray, t: float) -> float:
    grid = np.zeros(CELLS)
    for one in x:
        cell = int(np.floor(one))
        grid[cell] += k * (1 - one + cell) ** 2
        grid[cell + 1] += k * (one - cell)
    return float(np.sum(w * np.cos(t) * grid**3))


def test_value_is_that_of_numpy() -> None:
    term = clumping()
    expected = plain_clumping(term.fields["x"].values, 2.0, term.inputs["w"], 0.4)
    assert term.value(0.4) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("argument", ["x", "k", "w", "t"])
def test_every_gradient_is_true(argument: str) -> None:
    term = clumping()
    at = {"x": term.fields["x"].values, **term.inputs, "t": np.array(0.4)}
    gradient = term.gradient(argument, 0.4)
    assert gradient.shape == at[argument].shape

    def value(here: np.ndarray) -> float:
        return plain_clumping(**{**at, argument: here})  # type: ignore[arg-type]

    if argument == "w":  # linear
        step = np.arange(CELLS)
        change = value(at["w"] + step) - value(at["w"])
        assert gradient @ step == pytest.approx(change, rel=1e-12)
    else:
        assert order(value, at[argument].copy(), gradient) > 1.9


def test_rate_is_the_derivative_by_time() -> None:
    term = clumping()
    assert term.uses_time
    assert term.rate(0.4) == pytest.approx(-np.tan(0.4) * term.value(0.4), rel=1e-13)
    assert of_x([Stage(squares, ("U",))]).rate() == 0.0


def test_nothing_is_left_from_call_to_call() -> None:
    term = clumping()
    first = term.value(0.1), *term.gradients(("x", "k", "w", "t"), 0.1).values()
    term.gradient("k", 0.9)
    again = term.value(0.1), *term.gradients(("x", "k", "w", "t"), 0.1).values()
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_gradient_into_adds() -> None:
    term = clumping()
    target = np.full(20, 3.0)
    term.gradient_into({"x": target}, 0.4)
    assert np.array_equal(target, 3.0 + term.gradient("x", 0.4))


def test_it_follows_fields_and_inputs() -> None:
    term = clumping()
    x = np.linspace(0.2, 6.8, 20)
    term.fields["x"].set(x)
    term.set_input("k", 5.0)
    assert term.value() == pytest.approx(plain_clumping(x, 5.0, term.inputs["w"], 0.0), rel=1e-14)


@ti.kernel
def bonds(x: A(dtype=V2, ndim=1), ends: A(dtype=ti.i32, ndim=2), k: A(ndim=1), rest: A(ndim=1), U: A(ndim=1)):
    ti.loop_config(serialize=True)
    for e in range(ends.shape[0]):
        stretch = (x[ends[e, 0]] - x[ends[e, 1]]).norm() - rest[e]
        U[0] += 0.5 * k[0] * stretch * stretch


@local_energy("spring", over=2, x=Node("m", ("d",)), k=Parameter("N/m"), rest=Datum("m", differentiable=True))
def spring(x, k, rest):
    """The same, one bond."""
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * k * stretch * stretch


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_vectors_and_integers_as_the_traced_energy_has_them(precision: str) -> None:
    """x has vectors for elements, ends are integers, one number is an array of one element."""
    staged = staged_energy(
        "bonds",
        stages=[Stage(bonds, ("U",))],
        x=Node("m", ("d",)),
        ends=Datum(shape=("bonds", 2), integer=True),
        k=Parameter("N/m"),
        rest=Datum("m", ("bonds",), differentiable=True),
    )
    ends, rest = np.array([[0, 1], [1, 2], [3, 2], [4, 0]]), np.array([0.5, 0.7, 1.1, 0.2])
    fields = Fields({"x": np.random.default_rng(2).normal(size=(5, 2))}, precision=precision)
    ours = bind_staged(staged, fields, data={"ends": ends, "rest": rest}, parameters={"k": 3.0})
    traced = Potential(
        fields, [bind(spring, fields, tuples=ends, data={"rest": rest}, parameters={"k": 3.0})]
    )
    close = {"f64": 1e-13, "f32": 1e-5}[precision]
    assert ours.value() == pytest.approx(traced.value(), rel=close)
    for argument, name in {"x": "x", "k": "spring.k", "rest": "spring.rest"}.items():
        np.testing.assert_allclose(ours.gradient(argument), traced.gradient(name), rtol=close, atol=close)


def test_precision_is_the_runs_unless_a_kernel_states_it() -> None:
    @ti.kernel
    def stated(x: A(dtype=ti.f64, ndim=1), U: A(ndim=0)):
        for i in range(1):
            U[None] += x[i]

    fields = Fields({"x": np.array([0.1, 0.2])}, precision="f32")
    term = bind_staged(staged_energy("e", stages=[Stage(stated, ("U",))], x=Node()), fields)
    term.value()
    assert {n: a.dtype.to_string() for n, a in term.arrays.items()} == {"x": "f64", "U": "f32"}


def test_fields_of_different_lengths() -> None:
    @ti.kernel
    def outer(x: A(ndim=1), y: A(ndim=1), z: A(ndim=2)):
        for i, j in z:
            z[i, j] = x[i] * y[j]

    @ti.kernel
    def sum_of(z: A(ndim=2), U: A(ndim=0)):
        for i, j in z:
            U[None] += z[i, j]

    fields = Fields({"x": [1.0, 2.0], "y": [3.0, 4.0, 5.0]})
    stages = [Stage(outer, ("z",)), Stage(sum_of, ("U",))]
    energy = staged_energy("e", stages=stages, between={"z": Between(("n_x", "n_y"))}, x=Node(), y=Node())
    term = bind_staged(energy, fields)
    assert term.value() == 36.0
    assert term.gradient("y").tolist() == [3.0, 3.0, 3.0]


def test_a_kernel_is_compiled_once_for_all_sizes() -> None:
    kept = "compiled_kernels" if hasattr(deposit._primal, "compiled_kernels") else "materialized_kernels"
    for n in (5, 20, 40):
        clumping(n).gradient("x")
        assert len(getattr(deposit._primal, kept)) == 1
        assert len(getattr(deposit._adjoint, kept)) == 1


def test_it_survives_a_new_start_of_the_engine(two_threads) -> None:
    term = clumping()
    before = term.value(), term.gradient("x")
    runtime.start(runtime.Options(threads=1))
    assert term.value() == before[0]
    assert np.array_equal(term.gradient("x"), before[1])


def test_arrays_of_an_engine_that_is_gone_are_not_freed_in_the_next(two_threads) -> None:
    """Taichi would free whatever lives at their address by then."""
    term, other = clumping(), clumping()
    term.value(), other.value()
    kept = [*term.arrays.values(), *other.arrays.values()]
    assert all(array.arr is not None for array in kept)
    runtime.start(runtime.Options(threads=1))
    assert all(array.arr is None for array in kept)
    assert all(array.grad is None or array.grad.arr is None for array in kept)  # Quadrants drops them
    kept = list(term.arrays.values())
    del term
    assert all(array.arr is not None for array in kept)


def test_defaults_come_in_the_runs_units() -> None:
    energy = staged_energy("e", stages=[Stage(shared, ("U",))], x=Node(), s=Parameter("m", default="3 m"))
    units = UnitSystem.of(length="km")
    fields = Fields({"x": [1.0]})
    assert bind_staged(energy, fields, units=units).inputs["s"] == 0.003
    assert bind_staged(energy, fields, units=units, parameters={"s": 7.0}).inputs["s"] == 7.0
    with pytest.raises(EnergyError, match=re.escape("e.s: its default cannot be used: ")):
        bind_staged(energy, fields, units=UnitSystem.dimensionless())


# Several outputs, seeds -----------------------------------------------------------------------------


def test_several_outputs_are_summed_and_seeded_apart() -> None:
    stages = [Stage(squares, ("U",), rename={"U": "one"}), Stage(total, ("U",), rename={"U": "two"})]
    term = of_x(stages, outputs=("one", "two"))
    x = term.fields["x"].values
    assert term.value() == pytest.approx(np.sum(x**2 + x))
    assert {n: float(v) for n, v in term.output_values().items()} == pytest.approx({"one": 10.24, "two": 2.6})
    np.testing.assert_allclose(term.gradient("x"), 2 * x + 1, rtol=1e-15)
    np.testing.assert_array_equal(term.gradients(("x",), seeds={"two": 4.0})["x"], np.full(5, 4.0))


def test_an_output_may_be_an_array_and_its_seed_too() -> None:
    term = of_x([Stage(sines, ("y",))], {"y": N}, outputs=("y",))
    x, seed = term.fields["x"].values, np.arange(5.0)
    np.testing.assert_allclose(term.output_values()["y"], np.sin(x), rtol=1e-15)
    np.testing.assert_allclose(term.gradients(("x",), seeds={"y": seed})["x"], seed * np.cos(x), rtol=1e-14)


def test_a_backward_kernel_replaces_the_reverse() -> None:
    term = of_x([Stage(squares, ("U",), backward=twice_the_slope)])
    np.testing.assert_array_equal(term.gradient("x"), 4.0 * term.fields["x"].values)


def test_a_stage_may_be_python_and_then_brings_its_backward() -> None:
    """Here the sine is NumPy's, between two kernels; a number goes with it."""

    def sine(x, w, y):
        y.from_numpy(np.sin(w * x.to_numpy()))

    def back(x, w, d_x, d_y):
        d_x.from_numpy(d_x.to_numpy() + w * np.cos(w * x.to_numpy()) * d_y.to_numpy())

    sine_stage = Stage(sine, ("y",), numbers={"w": 3.0}, backward=back)
    term = of_x([sine_stage, Stage(squares, ("U",), rename={"x": "y"})], {"y": N})
    x = term.fields["x"].values
    assert term.value() == pytest.approx(np.sum(np.sin(3 * x) ** 2), rel=1e-14)
    np.testing.assert_allclose(term.gradient("x"), 3 * np.sin(6 * x), rtol=1e-13)
