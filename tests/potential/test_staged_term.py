"""Staged energies: values and gradients against NumPy and traced twins, recomputation, bits, refusals."""

import inspect
import re
from collections.abc import Callable, Iterator

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
    Time,
    bind,
    bind_staged,
    local_energy,
    staged_energy,
    ti,
)
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad.potential.staged.staged_term import Staged, StagedTerm
from minusgrad.scene.units import UnitSystem
from tests.support.clumping import CELLS, CLUMPING, clumping, cubes, deposit

A = ti.types.ndarray
V2 = ti.types.vector(2, ti.f64)


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Then the test may start the engine with others."""
    runtime.start(runtime.Options(threads=2))
    yield
    runtime.start(runtime.Options())


# Kernels --------------------------------------------------------------------------------------------


@ti.kernel
def squares(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i] ** 2


@ti.kernel
def total(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i]


@ti.kernel
def sines(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = ti.sin(x[i])


def of_x(stages: list[Stage], between: dict[str, Between] | None = None, **options) -> StagedTerm:
    """A term of one field x of five numbers."""
    fields = Fields({"x": np.array([0.3, -0.7, 1.9, 2.2, -1.1])})
    return bind_staged(staged_energy("e", stages=stages, between=between, x=Node(), **options), fields)


N = Between(("n",))


# Values and gradients -------------------------------------------------------------------------------


def plain_clumping(x: np.ndarray, k: float, w: np.ndarray, t: float) -> float:
    grid = np.zeros(CELLS)
    for one in x:
        cell = int(np.floor(one))
        grid[cell] += k * (1 - one + cell) ** 2
        grid[cell + 1] += k * (one - cell)
    return float(np.sum(w * np.cos(t) * grid**3))


def order(value: Callable[[np.ndarray], float], start: np.ndarray, gradient: np.ndarray) -> float:
    """The order of U(a + h d) - U(a) - h grad U . d: 2 where the gradient is true."""
    step = 0.01 * np.random.default_rng(1).normal(size=start.shape)
    h = 0.5 ** np.arange(1, 7)
    rest = [abs(value(start + s * step) - value(start) - s * np.sum(gradient * step)) for s in h]
    return float(np.polyfit(np.log2(h), np.log2(rest), 1)[0])  # 1 if it is wrong


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


# A gradient of one's own ----------------------------------------------------------------------------


@ti.kernel
def twice_the_slope(x: A(ndim=1), d_U: A(ndim=0), d_x: A(ndim=1)):
    for i in range(x.shape[0]):
        d_x[i] += 2.0 * 2.0 * x[i] * d_U[None]


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


# Recomputation --------------------------------------------------------------------------------------


@ti.kernel
def to_grid(x: A(ndim=1), v: A(ndim=1), grid: A(ndim=2)):
    """Particles give mass and momentum to the two cells beside them."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        cell = ti.floor(x[i], ti.i32)
        f = x[i] - cell
        grid[cell, 0] += 1 - f
        grid[cell + 1, 0] += f
        grid[cell, 1] += (1 - f) * v[i]
        grid[cell + 1, 1] += f * v[i]


@ti.kernel
def to_particles(
    x: A(ndim=1), v: A(ndim=1), grid: A(ndim=2), k: A(ndim=0), x_new: A(ndim=1), v_new: A(ndim=1)
):
    """They take half the velocity of the grid, and a push of a spring to the middle."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        cell = ti.floor(x[i], ti.i32)
        f = x[i] - cell
        around = (1 - f) * grid[cell, 1] / grid[cell, 0] + f * grid[cell + 1, 1] / (grid[cell + 1, 0] + 0.01)
        v_next = 0.5 * v[i] + 0.5 * around - 0.05 * k[None] * (x[i] - 4.0)
        v_new[i] = v_next
        x_new[i] = x[i] + 0.05 * v_next


@ti.kernel
def at_rest(v: A(ndim=1)):
    for i in v:
        v[i] = 0.0


STEPS = 6


def loop(grids: list[str], particles: list[int], recompute: tuple[bool, bool]) -> Staged:
    """Particles and a grid for some steps; step s goes by grids[s] from particles[s] to the next."""
    stages = [Stage(at_rest, ("v",), rename={"v": f"v{particles[0]}"}, recompute=recompute[1])]
    between = dict.fromkeys(grids, Between((10, 2)))
    state = [("x" if s == 0 else f"x{p}", f"v{p}") for s, p in enumerate(particles)]
    for s, grid in enumerate(grids):
        here, there = dict(zip("xv", state[s], strict=True)), state[s + 1]
        both = {**here, "grid": grid, "x_new": there[0], "v_new": there[1]}
        stages.append(Stage(to_grid, ("grid",), rename={**here, "grid": grid}, recompute=recompute[0]))
        stages.append(Stage(to_particles, ("x_new", "v_new"), rename=both, recompute=recompute[1]))
    stages.append(Stage(squares, ("U",), rename={"x": state[-1][0]}))
    between |= {name: N for pair in state for name in pair if name != "x"}
    return staged_energy("loop", stages=stages, between=between, x=Node("m"), k=Parameter(default=1.3))


FULL = loop([f"grid{s}" for s in range(STEPS)], list(range(STEPS + 1)), (False, False))
ONE_GRID = loop(["grid"] * STEPS, list(range(STEPS + 1)), (True, False))
THREE_STATES = loop(["grid"] * STEPS, [0, 1, 2] * 2 + [0], (True, True))


def particles() -> Fields:
    return Fields({"x": np.random.default_rng(3).uniform(1.0, 7.0, 30)})


@pytest.mark.parametrize(("energy", "held"), [(ONE_GRID, (1, 14)), (THREE_STATES, (1, 7))])
def test_recomputation_gives_the_bits_of_full_storage(energy: Staged, held: tuple[int, int]) -> None:
    full, saving = bind_staged(FULL, particles()), bind_staged(energy, particles())
    assert full.value() == saving.value()
    for argument in ("x", "k"):
        assert np.array_equal(full.gradient(argument), saving.gradient(argument))

    def count(term: StagedTerm) -> tuple[int, int]:
        grids = sum(name.startswith("grid") for name in term.arrays)
        return grids, sum(name[0] in "xv" for name in term.arrays)

    assert count(full) == (STEPS, 14)
    assert count(saving) == held


def test_the_loop_has_a_true_gradient() -> None:
    term = bind_staged(ONE_GRID, particles())
    start = term.fields["x"].values.copy()

    def value(x: np.ndarray) -> float:
        term.fields["x"].set(x)
        return term.value()

    gradient = term.gradient("x")
    assert np.abs(gradient).min() > 0.0
    assert order(value, start, gradient) > 1.9


def test_a_stage_runs_again_only_where_its_array_holds_something_else() -> None:
    def runs(energy: Staged) -> int:
        return sum(act == "run" for act, _ in energy.schedule.backward)

    assert (runs(FULL), runs(ONE_GRID)) == (0, STEPS - 1)
    assert runs(THREE_STATES) > STEPS


# Bits -----------------------------------------------------------------------------------------------


@ti.kernel
def any_order(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        U[None] += ti.sin(x[i])


@ti.kernel
def fixed_order(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += ti.sin(x[i])


@ti.kernel
def shared(s: A(ndim=0), x: A(ndim=1), U: A(ndim=0)):
    """The value is added in order, but the reverse adds to the adjoint of s from all iterations."""
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += ti.sin(s[None] * x[i])


def with_many(kernel: Callable, n: int = 200_000) -> StagedTerm:
    fields = Fields({"x": np.random.default_rng(0).normal(size=n)})
    roles = {"s": Parameter(default=1.0)} if kernel is shared else {}
    return bind_staged(staged_energy("e", stages=[Stage(kernel, ("U",))], x=Node(), **roles), fields)


def test_a_kernel_that_adds_in_any_order_is_found(two_threads) -> None:
    """Sooner or later: where another program keeps one core busy, one thread may do it all."""
    term = with_many(any_order, 2_000_000)
    assert any(term.unsteady() == ["U"] for _ in range(100))


@pytest.mark.parametrize("kernel", [fixed_order, shared])
def test_serialised_kernels_have_the_same_bits_at_any_number_of_threads(
    two_threads, kernel: Callable
) -> None:
    term = with_many(kernel)
    assert term.unsteady() == []
    two = term.value(), *term.gradients(term.energy.differentiable).values()
    runtime.start(runtime.Options(threads=1))
    one = term.value(), *term.gradients(term.energy.differentiable).values()
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


# Refused when declared ------------------------------------------------------------------------------


def plain(x, y):
    """No kernel."""


X1 = {"x": "y"}
THERE, BACK = {"x": "y", "y": "z"}, {"x": "z", "y": "y"}
DECLARED = {
    "overwritten": (
        [Stage(sines, ("y",)), Stage(sines, ("y",), rename={"x": "y", "y": "z"}), Stage(sines, ("y",))],
        "stage 3 'sines' overwrites 'y', which the reverse of stage 2 'sines' needs as stage 1 'sines' left"
        " it; give one of them an array of its own (`rename`), or let the latter be recomputed"
        " (`recompute=True`)",
    ),
    "only one of two makers may run again": (
        [
            Stage(total, ("U",), rename={"U": "s"}, recompute=True),
            Stage(squares, ("U",), rename={"U": "s"}),
            Stage(sines, ("y",), rename={"x": "s", "y": "z"}),
            Stage(total, ("U",), rename={"U": "s"}),
        ],
        "stage 4 'total' overwrites 's', which the reverse of stage 3 'sines' needs as stage 2 'squares' left"
        " it",
    ),
    "two things at once": (
        [
            Stage(sines, ("y",), recompute=True),
            *[Stage(sines, ("y",), rename=w, recompute=True) for w in (THERE, BACK, THERE)],
            Stage(total, ("U",), rename={"x": "z"}),
        ],
        "energy 'e': to reverse stage 3 'sines', array 'y' would need two versions at the same time; give one"
        " of them an array of its own (`rename`)",
    ),
    "read before it is written": (
        [Stage(squares, ("U",), rename={"x": "y"}), Stage(sines, ("y",))],
        "energy 'e': stage 1 'squares' reads 'y', which no stage before it writes",
    ),
    "in place": (
        [Stage(sines, ("y",), rename={"y": "x"})],
        "energy 'e', stage 'sines': takes 'x' twice and writes it, and its reverse would need the"
        " overwritten values; write into another array",
    ),
    "an input": (
        [Stage(at_rest, ("v",), rename={"v": "x"})],
        "energy 'e': stage 1 'at_rest' writes 'x', which is an input",
    ),
    "an output after it was read": (
        [Stage(squares, ("U",)), Stage(sines, ("y",), rename={"x": "U"}), Stage(total, ("U",))],
        "stage 3 'total' writes the output 'U' after stage 2 'sines' has read it",
    ),
    "no such argument": (
        [Stage(sines, ("w",))],
        "energy 'e', stage 'sines': has no argument 'w' (it takes x, y)",
    ),
    "writes nothing": (
        [Stage(sines, ())],
        "stage 'sines': writes no array; name its output arguments in `writes`",
    ),
    "unknown array": (
        [Stage(sines, ("y",), rename={"y": "zz"})],
        "stage 'sines': its argument 'y' is no known array; did you mean 'z'?; give it a role, or name the"
        " array in `between`, `rename` or `numbers`",
    ),
    "no reverse": (
        [Stage(plain, ("y",))],
        "stage 'plain': is no Taichi kernel, so it has no reverse; give it a `backward`",
    ),
    "backward of unknown arguments": (
        [Stage(sines, ("y",), backward=lambda x, d_z: None)],
        "stage 'sines': its backward takes unknown arguments, got d_z; use x, y, d_x, d_y",
    ),
    "idle": ([Stage(squares, ("U",))], "energy 'e': no stage takes w, t, y, z, s"),
}


@pytest.mark.parametrize("case", DECLARED)
def test_refused_when_declared(case: str) -> None:
    stages, text = DECLARED[case]
    between = {"y": N, "z": N, "s": Between(())}
    with pytest.raises(EnergyError, match=re.escape(text)):
        staged_energy("e", stages=stages, between=between, x=Node(), w=Datum(), t=Time())


def test_roles_that_contradict_are_refused() -> None:
    stages = [Stage(squares, ("U",))]
    two = [Stage(cubes, ("U",), rename={"t": "s"}), Stage(cubes, ("U",))]
    with pytest.raises(EnergyError, match="energy 'e': no stage writes V"):
        staged_energy("e", stages=stages, outputs=("U", "V"), x=Node())
    with pytest.raises(EnergyError, match="energy 'e': U cannot be both an input and an output of stages"):
        staged_energy("e", stages=stages, x=Node(), U=Node())
    with pytest.raises(EnergyError, match="x holds integers, which have no derivative"):
        staged_energy("e", stages=stages, x=Datum(integer=True, differentiable=True))
    with pytest.raises(EnergyError, match="an energy cannot be called 'a b'"):
        staged_energy("a b", stages=stages, x=Node())
    with pytest.raises(EnergyError, match="has two Time arguments; use one for both"):
        staged_energy("e", stages=two, grid=Node(), w=Datum(), s=Time(), t=Time())


@ti.kernel
def serialised_nest(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(3):
        for j in range(3):
            U[None] += x[i] * x[j]


@ti.kernel
def carries(x: A(ndim=1), U: A(ndim=0)):
    for i in range(3):
        s = ti.sin(x[i])
        for j in range(3):
            U[None] += s * x[j]


@ti.kernel
def unrolls(x: A(ndim=1), U: A(ndim=0)):
    """Constants, sums in an inner loop, and loops that are unrolled, are safe."""
    for i in range(4):
        s = 0.0
        c = 1.0
        for j in range(4):
            s += c * x[i] * x[j]
        q = s * x[i]
        for j in ti.static(range(3)):
            U[None] += q * x[j]


@pytest.mark.parametrize(
    ("kernel", "line", "text"),
    [
        (
            serialised_nest,
            3,
            "energy 'e', stage 'serialised_nest', line LINE: is serialised and has a loop in it; write one"
            " flat loop over ti.ndrange, or unroll the inner one by ti.static",
        ),
        (
            carries,
            4,
            "energy 'e', stage 'carries', line LINE: uses 's', computed before this inner loop, whose reverse"
            " takes its value after the last iteration; compute it in the loop, or keep it in an array",
        ),
    ],
    ids=["serialised nest", "carried value"],
)
def test_loops_that_taichi_reverses_wrongly_are_refused(kernel: Callable, line: int, text: str) -> None:
    text = text.replace("LINE", str(inspect.getsourcelines(kernel.__wrapped__)[1] + line))
    with pytest.raises(EnergyError, match=re.escape(text)):
        of_x([Stage(kernel, ("U",))])
    of_x([Stage(kernel, ("U",), backward=twice_the_slope)])


def test_other_loops_are_let_pass_and_right() -> None:
    term = of_x([Stage(unrolls, ("U",))])
    start = term.fields["x"].values.copy()

    def value(x: np.ndarray) -> float:
        term.fields["x"].set(x)
        return term.value()

    assert order(value, start, term.gradient("x")) > 1.9


@ti.kernel
def within_a_number(x: A(ndim=1), U: A(ndim=0), n: ti.i32):
    for i in range(3):
        s = 0.0
        for j in range(n):
            s += ti.sin(x[i] * (j + 1.0))
        U[None] += s


@ti.kernel
def within_a_shape(x: A(ndim=1), U: A(ndim=0)):
    for i in range(3):
        s = 0.0
        for j in range(x.shape[0]):
            s += ti.sin(x[i] * (j + 1.0))
        U[None] += s


def test_a_loop_within_a_loop_ends_where_an_array_says() -> None:
    """Quadrants keeps what such a loop makes on a stack, whose size it must know; Taichi's holds 31."""
    x = np.array([0.3, 0.7, 1.1])
    of_sines = sum(k * np.cos(k * x) for k in (1, 2, 3))

    def slope(kernel: Callable, **numbers: float) -> np.ndarray:
        energy = staged_energy("e", stages=[Stage(kernel, ("U",), numbers=numbers)], x=Node())
        return bind_staged(energy, Fields({"x": x})).gradient("x")

    np.testing.assert_allclose(slope(within_a_shape), of_sines, rtol=1e-14)
    if runtime.engine_name() == "taichi":
        np.testing.assert_allclose(slope(within_a_number, n=3), of_sines, rtol=1e-14)
    else:
        text = "e, stage 'within_a_number': Taichi cannot reverse this kernel (is unresolved"
        with pytest.raises(EnergyError, match=re.escape(text)):
            slope(within_a_number, n=3)


# Refused when bound ---------------------------------------------------------------------------------


def test_refused_when_bound() -> None:
    fields = Fields({"x": [1.0, 2.0], "q": [1.0], "v": [[1.0]]}, {"q": "s"})
    w = {"w": np.ones(CELLS)}
    for options, text in [
        ({}, "clumping.w: has no default; give it a value [1]"),
        ({"data": {"w": [1.0, np.nan]}}, "clumping.w: needs finite numbers"),
        ({"data": {"w": 1.0}}, "clumping.w: has shape [], needs [cells]"),
        ({"data": w, "sizes": {"cells": 3}}, "clumping.w: has shape [8], needs [3]"),
        ({"data": {**w, "t": 1.0}}, "clumping: no datum or parameter named t"),
        ({"data": w, "renamed": {"x": "q"}}, "clumping.x: field 'q' is in s, not m"),
        ({"data": w, "renamed": {"x": "v"}}, "clumping.x: has shape [1, 1], needs [1]"),
        ({"data": w, "renamed": {"x": "nothing"}}, "no field named 'nothing'"),
        ({"data": w, "name": "a b"}, "a term cannot be called 'a b'"),
    ]:
        with pytest.raises(EnergyError, match=re.escape(text)):
            bind_staged(CLUMPING, fields, **options)  # type: ignore[arg-type]


def test_sizes_bounds_and_whole_numbers_are_checked() -> None:
    fields = Fields({"x": [1.0, 2.0]})
    stages = [Stage(sines, ("y",)), Stage(squares, ("U",), rename=X1)]
    energy = staged_energy("e", stages=stages, between={"y": Between(("rows",))}, x=Node())
    text = "e.y: the size of axis 'rows' is unknown; give it in `sizes` (known: n_x = 2, n = 2)"
    with pytest.raises(EnergyError, match=re.escape(text)):
        bind_staged(energy, fields)
    low = Parameter(bounds=(0.0, 1.0), reason="it is a share")
    energy = staged_energy("e", stages=[Stage(shared, ("U",))], x=Node(), s=low)
    with pytest.raises(EnergyError, match=re.escape("e.s: 2.0 is not within [0, 1]; it is a share")):
        bind_staged(energy, fields, parameters={"s": 2.0})
    energy = staged_energy("e", stages=[Stage(shared, ("U",))], x=Node(), s=Datum(integer=True))
    with pytest.raises(EnergyError, match=re.escape("e.s: needs integers below 2^31 in size")):
        bind_staged(energy, fields, data={"s": 0.5})
    with pytest.raises(EnergyError, match=re.escape("e.s: needs integers below 2^31 in size")):
        bind_staged(energy, fields, data={"s": 2**31})


# Refused at first use -------------------------------------------------------------------------------


@ti.kernel
def spends(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i] * y[i]
        y[i] += 1.0


@ti.kernel
def spends_atomically(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i] * y[i]
        ti.atomic_add(y[i], 1.0)


@ti.kernel
def drains(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i] * x[i]
        if x[i] > 1e9:
            x[i] = 0.0


@ti.kernel
def clamps(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
        if y[i] > 5.0:
            y[i] = 5.0


@ti.kernel
def scatters(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        k = ti.cast(ti.abs(x[i]), ti.i32)
        y[k] = x[i] * x[i]


@ti.kernel
def keeps_the_last(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] = x[i] * x[i]


@ti.kernel
def meets(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i // 2] = x[i] * x[i]


@ti.kernel
def multiplies(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] = U[None] * x[i]


@ti.kernel
def triples(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i]
        U[None] *= 1.0


@ti.kernel
def feeds_back(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i] * U[None]


@ti.kernel
def largest(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        ti.atomic_max(U[None], x[i])


@ti.kernel
def smallest(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        ti.atomic_min(U[None], x[i])


@ti.kernel
def adds_and_uses(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        y[i] += x[i]
    for i in range(x.shape[0]):
        U[None] += y[i] ** 2


@ti.kernel
def fills_and_uses(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        y[i] = x[i] ** 2
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += y[i] ** 2


@ti.kernel
def beside(x: A(ndim=1), U: A(ndim=0)):
    U[None] += x[0]
    for i in range(x.shape[0]):
        U[None] += x[i]


@ti.kernel
def until(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        n = 0
        while n < 3:
            U[None] += x[i]
            n += 1


def templated(x: ti.template(), U: A(ndim=0)):  # type: ignore[valid-type]
    for i in range(1):
        U[None] += i * x


def whole_between(x: A(ndim=1), y: A(dtype=ti.i32, ndim=1)):  # type: ignore[valid-type]
    for i in range(1):
        y[i] = ti.cast(x[i], ti.i32)


def on_two_axes(x: A(ndim=2), U: A(ndim=0)):  # type: ignore[valid-type]
    for i in range(1):
        U[None] += x[i, 0]


NEITHER = (
    "neither overwrites nor adds to 'U', so its reverse would be wrong; use only `+=` from the second write"
    " on, and do not write an array that it reads"
)
FILL = Stage(sines, ("y",))
ADD_Y = Stage(total, ("U",), rename=X1)
USED = {
    "mutated after it was read": (
        [FILL, Stage(spends, ("U",))],
        "energy 'e', stage 'spends': changes 'y', which it is not declared to write, and its reverse would"
        " use the changed values; write into another array, and declare it",
    ),
    "the same, declared": (
        [Stage(spends, ("U", "y"))],
        "energy 'e', stage 'spends': reads 'y' and writes it afterwards, and its reverse would use the"
        " final values; write into another array",
    ),
    "the same, where no text shows it": (
        [FILL, Stage(spends_atomically, ("U",))],
        "e, stage 'spends_atomically': changes 'y', which it is not declared to write, and its reverse",
    ),
    "the same, where no text shows it, declared": (
        [Stage(spends_atomically, ("U", "y"))],
        "e, stage 'spends_atomically': its result in 'U' depends on the previous values of 'y', which it",
    ),
    "an input, where its number says so": (
        [Stage(drains, ("U",))],
        "energy 'e', stage 'drains': changes 'x', which it is not declared to write",
    ),
    "clamped": (
        [Stage(clamps, ("y",)), ADD_Y],
        "energy 'e', stage 'clamps': reads 'y' and writes it afterwards",
    ),
    "scattered": (
        [Stage(scatters, ("y",)), ADD_Y],
        "energy 'e', stage 'scatters': overwrites 'y' at indices from an array, which may repeat, and its"
        " reverse would give the derivative to any one of them; add with `+=`, or give each iteration an"
        " index of its own",
    ),
    "one index in several iterations": (
        [Stage(keeps_the_last, ("U",))],
        "energy 'e', stage 'keeps_the_last': overwrites 'U' at one index in several iterations, and its",
    ),
    "one place of two turns": (
        [Stage(meets, ("y",)), ADD_Y],
        "energy 'e', stage 'meets': overwrites 'y' at one index in several iterations, and its reverse",
    ),
    "product": (
        [Stage(multiplies, ("U",))],
        "energy 'e', stage 'multiplies': computes 'U' from itself, and its reverse",
    ),
    "product by a name": ([Stage(triples, ("U",))], f"energy 'e', stage 'triples': {NEITHER}"),
    "feeds back": (
        [Stage(feeds_back, ("U",))],
        "energy 'e', stage 'feeds_back': computes 'U' from itself, and its reverse",
    ),
    "largest": (
        [Stage(largest, ("U",))],
        "atomic_max: Taichi reverses every atomic operation as an addition",
    ),
    "smallest": ([Stage(smallest, ("U",))], "atomic_min: Taichi reverses every atomic operation as an"),
    "added to and used": (
        [Stage(adds_and_uses, ("y", "U"))],
        "e, stage 'adds_and_uses': its result in 'U' depends on the previous values of 'y', which it writes",
    ),
    "second write": (
        [FILL, Stage(sines, ("y",)), ADD_Y],
        "e, stage 'sines': overwrites 'y', which a stage before it has written; use `+=` from"
        " the second write on",
    ),
    "beside a loop": (
        [Stage(beside, ("U",))],
        "e, stage 'beside': Taichi cannot reverse this kernel (Invalid program input for autodiff: Mixed"
        " usage of for-loops and statements without looping); split it into several stages, or give it a"
        " `backward`",
    ),
    "while": ([Stage(until, ("U",))], "e, stage 'until': Taichi cannot reverse this kernel (Not supported)"),
    "template": (
        [Stage(ti.kernel(templated), ("U",))],
        "e, stage 'templated': 'x' must be a ti.types.ndarray, even if it is one number; plain numbers"
        " and templates have no derivative",
    ),
    "integers between": (
        [Stage(ti.kernel(whole_between), ("y",)), ADD_Y],
        "e: a kernel takes 'y' as i32; it holds real numbers, as everything that has a derivative",
    ),
    "axes": (
        [Stage(ti.kernel(on_two_axes), ("U",))],
        "e: 'x' has shape [5]; kernels take it as f64 on 2 axes",
    ),
}


@pytest.mark.parametrize("case", USED)
def test_refused_at_first_use(case: str) -> None:
    stages, text = USED[case]
    between = {"y": N} if any("y" in stage.arrays.values() for stage in stages) else {}
    with pytest.raises(EnergyError, match=re.escape(text)):
        of_x(stages, between).gradient("x")


def test_a_kernel_may_use_what_it_filled() -> None:
    term = of_x([Stage(fills_and_uses, ("y", "U"))], {"y": N})
    np.testing.assert_allclose(term.gradient("x"), 4.0 * term.fields["x"].values ** 3, rtol=1e-14)


def test_two_stages_may_add_to_one_array_and_write_parts() -> None:
    @ti.kernel
    def evens(x: A(ndim=1), y: A(ndim=1)):
        for i in range(3):
            y[2 * i] = x[2 * i]

    term = of_x([Stage(evens, ("y",)), ADD_Y, Stage(squares, ("U",))], {"y": N})
    x = term.fields["x"].values
    np.testing.assert_allclose(term.gradient("x"), 2 * x + [1, 0, 1, 0, 1], rtol=1e-14)


def test_kernels_that_differ_in_what_an_array_is_are_refused() -> None:
    @ti.kernel
    def single(x: A(dtype=ti.f32, ndim=1), U: A(ndim=0)):
        for i in range(1):
            U[None] += x[i]

    @ti.kernel
    def double(x: A(dtype=ti.f64, ndim=1), U: A(ndim=0)):
        for i in range(1):
            U[None] += x[i]

    with pytest.raises(EnergyError, match="e: kernels differ in the type of 'x', got f32, f64"):
        of_x([Stage(single, ("U",)), Stage(double, ("U",))]).value()


def test_names_that_do_not_exist_are_refused() -> None:
    term = clumping()
    for ask, text in [
        (
            lambda: term.gradient("y"),
            "clumping has no derivative with respect to 'y' (there are: x, k, w, t)",
        ),
        (lambda: term.gradients(("x",), seeds={"V": 1.0}), "clumping has no output 'V' (there are: U)"),
        (lambda: term.set_input("x", 1.0), "clumping has no datum or parameter 'x' (there are: k, w)"),
    ]:
        with pytest.raises(EnergyError, match=re.escape(text)):
            ask()


# What a review has found --------------------------------------------------------------------------------


@ti.kernel
def halves_of_squares(a: ti.types.ndarray(ndim=1), o: ti.types.ndarray(ndim=1)):
    for i in a:
        o[i] += a[i] * a[i] * 0.5


@ti.kernel
def cosine_and_share(a: ti.types.ndarray(ndim=1), o: ti.types.ndarray(ndim=1), q: ti.types.ndarray(ndim=1)):
    for i in a:
        o[i] = ti.cos(a[i])
        q[i] += a[i] * 0.7


@ti.kernel
def sum_of_squares(a: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)):
    ti.loop_config(serialize=True)
    for i in a:
        U[None] += a[i] * a[i]


def again(kernel, recompute: bool = True, **rename: str) -> Stage:
    writes = {sum_of_squares: ("U",), cosine_and_share: ("o", "q")}.get(kernel, ("o",))
    return Stage(kernel, writes, rename, recompute=recompute and kernel is not sum_of_squares)


@pytest.mark.parametrize(
    "stages",
    [
        [
            again(cosine_and_share, a="x", o="w", q="q"),
            again(sum_of_squares, a="w"),
            again(halves_of_squares, a="w", o="p"),
            again(cosine_and_share, a="p", o="w", q="q"),
            again(sum_of_squares, a="q"),
        ],
        [
            again(cosine_and_share, a="x", o="q", q="p"),
            again(sum_of_squares, a="q"),
            again(halves_of_squares, a="q", o="w"),
            again(halves_of_squares, a="w", o="p"),
            again(cosine_and_share, a="x", o="q", q="w"),
            again(sum_of_squares, a="w"),
        ],
    ],
    ids=["two versions in one group", "each waits for the other"],
)
def test_an_array_that_would_hold_two_things_at_once_is_refused(stages) -> None:
    with pytest.raises(
        EnergyError, match="would need two versions at the same time; give one of them an array"
    ):
        staged_energy("e", x=Node(), between={b: Between(("n",)) for b in "wpq"}, stages=stages)


@ti.kernel
def in_place(g: ti.types.ndarray(ndim=1), k: ti.types.ndarray(ndim=0)):
    for i in g:
        g[i] = g[i] * k[None]


@ti.func
def summed(x: ti.template(), i: int):
    a = ti.sin(x[i])
    s = 0.0
    for j in range(x.shape[0]):
        s += a * x[j] * x[j]
    return s


@ti.kernel
def loop_in_a_function(x: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)):
    for i in x:
        U[None] += summed(x, i)


@ti.kernel
def added_by_name(x: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)):
    ti.loop_config(serialize=True)
    for i in x:
        ti.atomic_add(U[None], x[i] * x[i])


def test_nothing_is_made_from_itself() -> None:
    stages = [Stage(halves_of_squares, ("o",), {"a": "x", "o": "g"}), Stage(in_place, ("g",))]
    with pytest.raises(
        EnergyError, match="stage 'in_place': computes 'g' from itself, and its reverse would use"
    ):
        staged_energy("e", x=Node(), k=Parameter(), between={"g": Between(("n",))}, stages=stages)
    energy = staged_energy("e", x=Node(), stages=[Stage(added_by_name, ("U",))])
    term = bind_staged(energy, Fields({"x": [1.0, 3.0]}))
    assert (term.value(), term.gradient("x").tolist()) == (10.0, [2.0, 6.0])


def test_a_loop_in_a_function_that_a_kernel_calls_is_seen() -> None:
    text = r"stage 'loop_in_a_function', line \d+: is a loop in 'summed', which a kernel calls, so its"
    with pytest.raises(EnergyError, match=text):
        staged_energy("e", x=Node(), stages=[Stage(loop_in_a_function, ("U",))])
