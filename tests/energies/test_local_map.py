"""Local maps: the exam of each, chains, bits, what reaches where, and everything that is refused."""

import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Cell,
    Datum,
    Fields,
    Motion,
    Node,
    Output,
    Parameter,
    Potential,
    Table,
    Time,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.assembly.blocks.energy_block import energy_model
from minusgrad.assembly.registry import Registry
from minusgrad.check import term_check
from minusgrad.codegen.map_loops import MapLoops
from minusgrad.codegen.windows.scatter_loops import WindowLoops, size_of
from minusgrad.energies.fields import Grid
from minusgrad.energies.roles import Linear
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError, PluginError, TraceError
from minusgrad.exam import references
from minusgrad.exam.energy_exam import names_of
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support import energies, instances
from tests.support.instances import MAPS, MapInstance
from tests.support.laws import assert_order, energy_error
from tests.support.tiers import sampled

runtime.start()
EPS = float(np.finfo(np.float64).eps)
T = 0.37
SEEDS = (1, 2)
CASES = [
    pytest.param(instance, d, id=f"{name}-{d}d")
    for name, instance in MAPS.items()
    for d in instance.dimensions
]


# The exam ----------------------------------------------------------------------------------------------


def names(potential: Potential) -> dict[str, str]:
    """The name of each derivative, by the argument of the only map."""
    (given,) = potential.maps.values()
    return names_of(given)


def gradients(potential: Potential) -> dict[str, np.ndarray]:
    return {argument: potential.gradient(name, T) for argument, name in names(potential).items()}


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """Relative to the largest component."""
    assert found.shape == expected.shape
    assert np.isfinite(expected).all()
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


def lean_energy(potential: Potential, y: np.ndarray) -> float:
    return float(((potential.fields["lean"].values + 0.5 * y) * y).sum())


def test_every_registered_map_sits_the_exam() -> None:
    registered = {name: entry.energy for name, entry in Registry.load().tables["map"].items()}
    assert {"stencil_dose", "gaussian_dose"} <= registered.keys()
    assert instances.missing(registered) == []


def test_a_newcomer_without_an_instance_is_seen() -> None:
    stranger = ModuleType("stranger")
    stranger.newcomer = local_map("newcomer", gives="y", over="nodes", x=Node())(lambda x: x[0])
    stranger.__file__ = __file__
    registry = Registry.load(files=[stranger])
    assert list(registry.tables["map"])[-1] == "newcomer"
    assert instances.missing(registry.energies()) == ["newcomer"]


def test_the_table_uses_every_kind_of_map() -> None:
    maps = [instance.energy for instance in MAPS.values()]
    assert {made.over for made in maps} == {"nodes", "pairs", 2, 4}
    roles = {type(role) for made in maps for role in made.roles.values()}
    assert roles == {Node, Datum, Parameter, Time, Table, Cell}
    rng = np.random.default_rng(0)
    sizes = {
        name: size
        for name, instance in MAPS.items()
        if (size := window_of(instance.potential(rng, instance.dimensions[-1])))
    }
    assert sizes == {
        "stencil_dose": [8, 7],
        "gaussian_dose": [None, None],
        "gaussian_beam_dose": [None, None],
        "drawn_line": [None, None],
        "splines": [3, 3, 3],
        "clouds": [None, None],
        "stamps": [5, None],
    }


def window_of(potential: Potential) -> list[int | None]:
    """The size of the only map's windows along each axis, None if it depends on the state."""
    loops = loops_of(potential)
    return [size_of(ends) for ends in loops._trace_energy().window] if isinstance(loops, WindowLoops) else []


def loops_of(potential: Potential) -> MapLoops:
    (name,) = potential.maps
    return potential.kernels[name].emitter


@pytest.mark.parametrize("seed", sampled(SEEDS, SEEDS[:1]))
@pytest.mark.parametrize(("instance", "d"), CASES)
def test_value_and_gradients_against_the_references(instance: MapInstance, d: int, seed: int) -> None:
    potential = instance.potential(np.random.default_rng(seed), d, e=3)
    (given,) = potential.maps.values()
    y = references.given_values(given, T)
    assert np.abs(y).max() > 0.0
    value = potential.value(T)
    assert error(given.gives.values, y) < 1e-13
    assert value == pytest.approx(lean_energy(potential, y), rel=1e-12, abs=1e-12 * np.abs(y).max())
    adjoint = potential.fields["lean"].values + y
    assert error(potential.gradient(given.gives.name, T), adjoint) < 1e-13
    differences, found = references.weighted_differences(given, adjoint, T), gradients(potential)
    assert found.keys() == differences.keys()
    for argument, gradient in found.items():
        assert error(gradient, differences[argument]) < 1e-8, argument


@pytest.mark.parametrize(("instance", "d"), CASES)
def test_every_gradient_is_somewhere_not_zero(instance: MapInstance, d: int) -> None:
    for argument, gradient in gradients(instance.potential(np.random.default_rng(1), d)).items():
        assert (np.abs(gradient).max() > 0.0) == (argument != instance.steady), argument


@pytest.mark.parametrize(("instance", "d"), CASES)
def test_the_gradient_is_the_slope_of_the_value(instance: MapInstance, d: int) -> None:
    """U along a random direction in all fields, parameters and the time at once, by the engine alone."""
    if instance.energy.name in ("gaussian_dose", "gaussian_beam_dose"):
        pytest.skip("a spot is cut off at 1.5e-8 of its peak, and the windows' edges move")
    rng = np.random.default_rng(1)
    potential = instance.potential(rng, d)
    (given,) = potential.maps.values()
    begun, moved, slope, time = {}, {}, 0.0, 0.0
    for argument, name in names(potential).items():
        role, gradient = given.energy.roles[argument], potential.gradient(name, T)
        if isinstance(role, Datum):
            continue
        w = rng.normal(size=gradient.shape) * 1e-2
        slope += float((gradient * w).sum())
        if isinstance(role, Time):
            time = float(w)
            continue
        begun[name] = (
            potential.fields[name].values if isinstance(role, Node) else potential.parameter(name)
        ).copy()
        moved[name] = w

    def u(h: float) -> float:
        for name, start in begun.items():
            put = potential.set_parameter if "." in name else lambda n, v: potential.fields[n].set(v)
            put(name, start + h * moved[name])
        return potential.value(T + h * time)

    tolerance = 2e-4 if instance.energy.name == "clouds" else 1e-8  # the clouds are cut off, too
    assert references.extrapolated_slope(u, 1e-3) == pytest.approx(slope, rel=tolerance)


@pytest.mark.parametrize(("instance", "d"), CASES)
def test_single_precision_follows_double(instance: MapInstance, d: int) -> None:
    double, single = (instance.potential(np.random.default_rng(1), d, precision=p) for p in ("f64", "f32"))
    (wide,), (narrow,) = double.maps.values(), single.maps.values()
    assert single.value(T) == pytest.approx(double.value(T), rel=1e-5, abs=1e-5)
    assert error(narrow.gives.values.astype(float), wide.gives.values) < 2e-6
    expected = gradients(double)
    for argument, gradient in gradients(single).items():
        cancelling = isinstance(instance.energy.roles[argument], Parameter | Time)
        assert error(gradient.astype(float), expected[argument]) < (1e-3 if cancelling else 5e-5), argument
    assert narrow.gives.values.dtype == np.float32
    assert all(single.gradient(name, T).dtype == np.float32 for name in single.fields)


def bits(instance: MapInstance, n: int, e: int) -> list[bytes]:
    potential = instance.potential(np.random.default_rng(5), instance.dimensions[-1], n=n, e=e)
    (given,) = potential.maps.values()
    asked = [f.name for f in given.fields.values()]
    asked += [
        f"{given.name}.{a}" for a in [*given.parameters, *given.data] if a in given.energy.differentiable
    ][-1:]
    moving = [name != instance.steady for name in asked]
    found = [np.array(potential.value(T)), given.gives.values, *(potential.gradient(n, T) for n in asked)]
    assert all(np.abs(g).max() > 0.0 for g in found[:2])
    assert all((np.abs(g).max() > 0.0) == moves for g, moves in zip(found[2:], moving, strict=True))
    return [np.asarray(g).tobytes() for g in found]


@pytest.mark.long
def test_the_bits_do_not_depend_on_threads_or_on_repeating(any_threads) -> None:
    """Many elements in each band."""
    found = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        found[threads] = {name: bits(instance, 300, 900) for name, instance in MAPS.items()}
    assert found[1] == found[2] == {name: bits(instance, 300, 900) for name, instance in MAPS.items()}


def test_arrays_of_the_engine_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields and all else in `ti.ndarray`s, as on a device."""
    numpy = {name: bits(instance, 6, 5) for name, instance in MAPS.items()}

    def on_device(values: np.ndarray) -> Any:
        array = ti.ndarray(getattr(ti, storage.ENGINE_DTYPES[values.dtype.name]), values.shape)
        array.from_numpy(np.ascontiguousarray(values))
        return array

    monkeypatch.setattr(storage, "allocate", on_device)
    assert {name: bits(instance, 6, 5) for name, instance in MAPS.items()} == numpy


# Against closed forms ----------------------------------------------------------------------------------


def given_by(
    made: Any, values: Mapping[str, Any], read: Any = energies.readout, precision: str = "f64", **options: Any
) -> Potential:
    """One map over some fields, and an energy that reads what it gives (and `lean`)."""
    fields = Fields(values, precision=precision)
    term = bind(made, fields, **options)
    assert term.gives is not None
    if "lean" not in values and "lean" in read.roles:
        lean = np.random.default_rng(9).normal(size=len(term.gives))
        fields = Fields({**values, "lean": lean}, precision=precision)
        term = bind(made, fields, **options)
    return Potential(fields, [bind(read, fields, renamed={"y": term.gives.name})], [term])


def test_a_density_against_numpy() -> None:
    rng = np.random.default_rng(4)
    n, a, (b, c) = 9, 0.8, (0.3, -0.2)
    x, s = rng.normal(size=(n, 3)), rng.normal(size=n)
    potential = given_by(energies.electron_density, {"x": x, "s": s}, parameters={"reach": a, "tilt": [b, c]})
    r = x[:, None] - x
    bulk = np.exp(-(r**2).sum(axis=2) / a**2) * (1.0 - np.eye(n))
    rho = bulk @ s + (n - 1) * b * x[:, 0] * s + c * ((s**2).sum() - s**2)
    potential.refresh()
    np.testing.assert_allclose(potential.fields["rho"].values, rho, rtol=1e-13)
    adjoint = potential.fields["lean"].values + rho
    both = bulk * (np.outer(adjoint, s) + np.outer(s, adjoint))
    by_x = -2.0 / a**2 * (both[:, :, None] * r).sum(axis=1)
    by_x[:, 0] += (n - 1) * b * s * adjoint
    by_s = bulk @ adjoint + (n - 1) * b * x[:, 0] * adjoint + 2.0 * c * s * (adjoint.sum() - adjoint)
    assert error(potential.gradient("x"), by_x) < 1e-13
    assert error(potential.gradient("s"), by_s) < 1e-13
    by_tilt = [(n - 1) * (adjoint * x[:, 0] * s).sum(), (adjoint * ((s**2).sum() - s**2)).sum()]
    assert error(potential.gradient("electron_density.tilt"), np.array(by_tilt)) < 1e-13


@pytest.mark.parametrize("d", [1, 2, 3])
def test_splines_give_all_their_mass_to_the_grid(d: int) -> None:
    """And their centre of mass: sum w_p = 1, sum w_p p = x / h."""
    rng = np.random.default_rng(d)
    m, h = rng.uniform(0.5, 1.5, 5), 0.7
    x = rng.uniform(2.0 * h, 5.0 * h, (5, d))
    potential = given_by(energies.splines, {"x": x, "m": m}, grid=Grid((8,) * d, h))
    potential.refresh()
    mass = potential.fields["mass"].values.reshape((8,) * d)
    assert mass.sum() == pytest.approx(m.sum(), rel=1e-14)
    for axis in range(d):
        places = h * np.arange(8.0).reshape([-1 if a == axis else 1 for a in range(d)])
        assert (places * mass).sum() == pytest.approx((m * x[:, axis]).sum(), rel=1e-13)


def test_splines_on_a_line_against_numpy() -> None:
    rng = np.random.default_rng(7)
    n, h = 11, 0.5
    x, m = rng.uniform(-1.0, 6.0, 40), rng.uniform(0.5, 1.5, 40)
    potential = given_by(energies.splines, {"x": x[:, None], "m": m}, grid=Grid((n,), h))
    u = x[:, None] / h - np.arange(n)
    inner, outer = np.abs(u) < 0.5, (np.abs(u) >= 0.5) & (np.abs(u) < 1.5)
    w = np.where(inner, 0.75 - u**2, np.where(outer, 0.5 * (1.5 - np.abs(u)) ** 2, 0.0))
    slope = np.where(inner, -2.0 * u, np.where(outer, -(1.5 - np.abs(u)) * np.sign(u), 0.0)) / h
    potential.refresh()
    np.testing.assert_allclose(potential.fields["mass"].values, m @ w, rtol=1e-13)
    adjoint = potential.fields["lean"].values + m @ w
    assert error(potential.gradient("x")[:, 0], m * (slope @ adjoint)) < 1e-13
    assert error(potential.gradient("m"), w @ adjoint) < 1e-13


# Chains ------------------------------------------------------------------------------------------------


@local_energy("both", over="nodes", rho=Node(), depth=Node(), s=Node("A s"))
def both(rho, depth, s):
    return rho[0] * depth[0] * s[0] + depth[0] ** 2 - 0.1 * rho[0] ** 3


@local_map("shift", gives="rho", over="nodes", s=Node("A s"), f=Parameter(default=0.4), t=Time())
def shift(s, f, t):
    """A second map into the density."""
    return f * s[0] * ti.sin(s[0] + t)


N = 6


def chain(precision: str = "f64") -> Potential:
    """x, s -> rho (two maps) -> depth -> U(rho, depth, s): rho is read by a map and by a term."""
    rng = np.random.default_rng(11)
    fields = Fields({"x": rng.normal(size=(N, 2)), "s": rng.uniform(0.5, 1.5, N)}, precision=precision)
    maps = [bind(energies.electron_density, fields, parameters={"tilt": [0.2, 0.2]}), bind(shift, fields)]
    maps.append(bind(energies.threshold, fields, parameters={"level": 1.1}))
    return Potential(fields, [bind(both, fields)], maps)


def by_hand(
    x: np.ndarray, s: np.ndarray, reach: float, f: float, level: float, t: float
) -> tuple[float, np.ndarray]:
    """U of the chain and dU/drho, in NumPy."""
    r2 = ((x[:, None] - x) ** 2).sum(axis=2)
    rho = (np.exp(-r2 / reach**2) * (1.0 - np.eye(N))) @ s + (N - 1) * 0.2 * x[:, 0] * s
    rho = rho + 0.2 * ((s**2).sum() - s**2) + f * s * np.sin(s + t)
    depth = 1.0 / (1.0 + np.exp(-4.0 * (rho - level)))
    adjoint = depth * s - 0.3 * rho**2 + (rho * s + 2.0 * depth) * 4.0 * depth * (1.0 - depth)
    return float((rho * depth * s + depth**2 - 0.1 * rho**3).sum()), adjoint


def moved_by_hand(start: Mapping[str, Any], name: str, component: tuple) -> Callable[[float], float]:
    """U of the chain as a function of the change of one component of one argument."""

    def u(h: float) -> float:
        moved = np.array(start[name], float)
        moved[component] += h
        return by_hand(**{**start, name: moved if moved.shape else float(moved)})[0]

    return u


def test_a_map_of_a_map() -> None:
    potential = chain()
    x, s = (potential.fields[n].values.copy() for n in ("x", "s"))
    start = {"x": x, "s": s, "reach": 0.7, "f": 0.4, "level": 1.1, "t": T}
    value, adjoint = by_hand(**start)
    assert potential.value(T) == pytest.approx(value, rel=1e-13)
    assert error(potential.gradient("rho", T), adjoint) < 1e-13
    found = {
        "x": "x",
        "s": "s",
        "reach": "electron_density.reach",
        "f": "shift.f",
        "level": "threshold.level",
    }
    for name, asked in (found | {"t": "t"}).items():
        gradient = potential.gradient(asked, T)
        at = np.asarray(start[name], float)
        expected = np.zeros(at.shape)
        for c in np.ndindex(at.shape):
            expected[c] = references.extrapolated_slope(moved_by_hand(start, name, c), 1e-3)
        assert error(gradient, expected) < 1e-9, name
    assert potential.rate(T) == float(potential.gradient("t", T))
    assert potential.uses_time
    assert potential.reads == {"x", "s"}


def test_each_question_in_any_order_has_the_same_answer() -> None:
    """Outputs of maps, and lambda, are recomputed for each question."""
    asked = ["x", "s", "rho", "depth", "electron_density.reach", "shift.f", "threshold.level", "t"]
    potential = chain()
    first = {name: chain().gradient(name, T) for name in asked}
    for name in (*asked, *reversed(asked)):
        assert np.array_equal(potential.gradient(name, T), first[name]), name
        potential.fields["s"].set(potential.fields["s"].values * 1.5)
        potential.value(2.0 * T)
        potential.fields["s"].set(chain().fields["s"].values)
    several = {n: np.zeros_like(potential.fields[n].values) for n in ("x", "depth", "rho")}
    rounding = (
        4.0 * np.finfo(np.float64).eps * potential.magnitude(T)
    )  # another kernel than that of the value
    assert abs(potential.evaluate_into(several, T) - potential.value(T)) <= rounding
    assert all(np.array_equal(several[n], first[n]) for n in several)


def test_a_parameter_of_a_map_is_set() -> None:
    potential = chain()
    before = potential.value(T)
    potential.set_parameter("electron_density.reach", 0.9)
    x, s = (potential.fields[n].values for n in ("x", "s"))
    assert potential.value(T) == pytest.approx(by_hand(x, s, 0.9, 0.4, 1.1, T)[0], rel=1e-13) != before
    assert potential.parameter("electron_density.reach") == 0.9


def test_a_chain_in_single_precision() -> None:
    double, single = chain(), chain("f32")
    assert single.value(T) == pytest.approx(double.value(T), rel=1e-5)
    for name in ("x", "s", "rho", "shift.f"):
        assert error(single.gradient(name, T).astype(float), double.gradient(name, T)) < 1e-5


def test_maps_stand_in_the_order_in_which_they_are_read() -> None:
    potential = chain()
    density, shifted, threshold = potential.maps.values()
    text = "map 'shift' writes 'rho' after map 'threshold' has read it; list it before"
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        Potential(potential.fields, [], [density, threshold, shifted])
    itself = bind(energies.threshold, potential.fields, gives="rho", parameters={"level": 1.0})
    text = "map 'threshold' writes 'rho' after map 'threshold' has read it; list it before"
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        Potential(potential.fields, [], [density, itself])
    turned = Potential(potential.fields, list(potential.terms.values()), [shifted, density, threshold])
    assert turned.value(T) == pytest.approx(potential.value(T), rel=1e-13)
    with pytest.raises(EnergyError, match="two terms have one name: both, both; give them a `name` each"):
        Potential(
            potential.fields, [bind(both, potential.fields)], [bind(shift, potential.fields, name="both")]
        )
    with pytest.raises(EnergyError, match=r"^'shift': is "):
        potential.by_element("shift")


def test_two_maps_to_the_cells_of_one_grid() -> None:
    """Each adds; each has a window of its own."""
    rng = np.random.default_rng(3)
    values = {
        "x": rng.uniform(0.0, 6.0, (5, 2)),
        "m": rng.uniform(0.5, 1.5, 5),
        "n": rng.uniform(0.5, 1.5, 5),
    }
    apart = []
    for name in ("m", "n"):
        one = given_by(energies.splines, values, renamed={"m": name}, grid=Grid((7, 6)))
        one.refresh()
        apart.append(one.fields["mass"].values.copy())
    fields = Fields(values)
    maps = [bind(energies.splines, fields, name=n, renamed={"m": n}, grid=Grid((7, 6))) for n in ("m", "n")]
    Potential(fields, [], maps).refresh()
    np.testing.assert_allclose(fields["mass"].values, sum(apart), rtol=1e-14)


@local_energy("embedding", over="nodes", rho=Node())
def embedding(rho):
    return -ti.sqrt(rho[0] + 0.1)


@local_energy("repulsion", over="pairs", x=Node("m", ("d",)))
def repulsion(x):
    return 0.3 * ti.exp(-2.0 * (x[0] - x[1]).norm_sqr())


def atoms(dt: float, kind: str = "leapfrog") -> Integrator:
    """A few atoms by the embedded-atom energy -sqrt(rho) + pairs, about to move."""
    rng = np.random.default_rng(5)
    x = np.array([[a, b, c] for a in (0.0, 1.0) for b in (0.0, 1.0) for c in (0.0, 1.0)])
    x = x + rng.uniform(-0.15, 0.15, x.shape)
    fields = Fields({"x": x, "v": 0.3 * rng.normal(size=x.shape), "s": rng.uniform(0.5, 1.5, 8)})
    density = bind(energies.electron_density, fields, parameters={"tilt": [0.0, 0.1]})
    terms = [bind(embedding, fields), bind(repulsion, fields)]
    return Integrator(System(Potential(fields, terms, [density]), [Motion("x", "v")]), SCHEMES[kind], dt)


def test_embedded_atoms_conserve_their_energy() -> None:
    assert_order(lambda n: energy_error(atoms(1.3 / n), n), 2, (40, 80, 160))
    assert energy_error(atoms(1.3 / 160), 160) < 1e-4


def test_forces_between_embedded_atoms_sum_to_zero() -> None:
    gradient = atoms(0.1).potential.gradient("x")
    assert np.abs(gradient).max() > 0.1
    assert np.abs(gradient.sum(axis=0)).max() < 1e-14 * np.abs(gradient).sum()


def test_many_steps_at_once_are_the_same_bits() -> None:
    def after(cuts: list[int]) -> bytes:
        stepper = atoms(0.02)
        for n in cuts:
            stepper.advance(n)
        return b"".join(stepper.potential.fields[n].values.tobytes() for n in ("x", "v"))

    assert after([30]) == after([1] * 30) == after([7, 23])


# What reaches where ------------------------------------------------------------------------------------


def _box(x, size):
    return [x[0][a] - size for a in ti.static(range(x[0].n))], [
        x[0][a] + size for a in ti.static(range(x[0].n))
    ]


def _square(x, k):
    low = [ti.floor(x[0][a]) - k[a] for a in ti.static(range(x[0].n))]
    return low, [low[a] + 2 * k[a] for a in ti.static(range(x[0].n))]


@local_map("boxes", gives="y", over="nodes", x=Node(shape=("d",)), size=Parameter(), at=Cell(window=_box))
def boxes(x, size, at):
    """Another number in each cell; the window depends on the state."""
    u = 1.0 + size
    for a in ti.static(range(x[0].n)):
        u = 1.3 * u + at[a] * x[0][a] + at[a]
    return u


def windowed(size: int) -> Any:
    """A map whose window has a size that is known: 2 size + 1 cells along each axis."""

    def window(x):
        low = [ti.floor(x[0][a]) - size for a in ti.static(range(x[0].n))]
        return low, [a + 2 * size for a in low]

    @local_map("squares", gives="y", over="nodes", x=Node(shape=("d",)), at=Cell(window=window))
    def squares(x, at):
        u = 1.0
        for a in ti.static(range(x[0].n)):
            u = 1.3 * u + at[a] * x[0][a] + at[a]
        return u

    return squares


SHAPES = [
    (1,),
    (3,),
    (256,),
    (257,),
    (600,),
    (1, 1),
    (5, 1),
    (16, 32),
    (33, 40),
    (2, 70),
    (3, 2, 4),
    (9, 9, 5),
]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_element_reaches_the_cells_of_its_window_and_no_other(shape: tuple, fixed: bool) -> None:
    """Elements inside, across every edge, and wholly outside; grids below, at and above a band's size."""
    d, rng = len(shape), np.random.default_rng(sum(shape))
    ends = np.array(shape)
    corners = np.array(list(np.ndindex((3,) * d))) / 2.0
    x = np.vstack(
        [corners * (ends - 1) + rng.uniform(-0.9, 0.9, corners.shape), corners * 9.0 * ends - 4.0 * ends]
    )
    made = windowed(1) if fixed else boxes
    options = {} if fixed else {"parameters": {"size": 1.4}}
    potential = given_by(made, {"x": x}, grid=Grid(shape), **options)
    assert window_of(potential) == [3 if fixed else None] * d
    (given,) = potential.maps.values()
    potential.refresh()
    y = np.zeros(shape)
    dx = np.zeros_like(x)
    reach = 1.0 if fixed else 1.4
    indices = np.indices(shape).reshape(d, -1).T
    lean = potential.fields["lean"].values
    reached = []
    for centre in x:
        low = np.floor(np.floor(centre) - 1 if fixed else centre - reach)
        high = low + 2 if fixed else np.ceil(centre + reach)
        within = ((indices >= low) & (indices <= high)).all(axis=1)
        u = np.full(len(indices), 1.0 if fixed else 1.0 + reach)
        for a in range(d):
            u = 1.3 * u + indices[:, a] * centre[a] + indices[:, a]
        y += np.where(within, u, 0.0).reshape(shape)
        reached.append(within)
    np.testing.assert_allclose(given.gives.values, y.ravel(), rtol=1e-13, atol=1e-13)
    adjoint = lean + y.ravel()
    for e, within in enumerate(reached):
        for a in range(d):
            dx[e, a] = (adjoint * within * indices[:, a]).sum() * 1.3 ** (d - 1 - a)
    assert any(w.sum() for w in reached)
    assert not all(w.sum() for w in reached)
    np.testing.assert_allclose(potential.gradient("x"), dx, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("size", [0, 5, 20, 90])
def test_windows_of_any_size_that_is_known(size: int) -> None:
    """Written out, too wide to be written out, and wider than the grid."""
    x = np.array([[3.2, 11.7], [0.1, 0.2], [-2.0, 19.0], [-70.0, 95.0], [9.9, 60.5]])
    potential = given_by(windowed(size), {"x": x}, grid=Grid((11, 70)))
    potential.refresh()
    (given,) = potential.maps.values()
    assert error(given.gives.values, references.given_values(given)) < 1e-13
    adjoint = potential.fields["lean"].values + given.gives.values
    assert error(potential.gradient("x"), references.weighted_differences(given, adjoint)["x"]) < 1e-9


def _nowhere(x):
    low = ti.floor(x[0])
    return [low, low], [low - 1.0, low - 3.0]


@local_map("nothing", gives="y", over="nodes", x=Node(), at=Cell(window=_nowhere))
def nothing(x, at):
    return x[0]


def test_a_window_may_be_empty_at_every_state() -> None:
    potential = given_by(nothing, {"x": [1.5, 2.5]}, grid=Grid((3, 4)))
    potential.refresh()
    assert not potential.fields["y"].values.any()
    assert not potential.gradient("x").any()


@pytest.mark.parametrize("shape", [(4000,), (100, 50), (30, 9, 8)])
def test_windows_over_everything(shape: tuple) -> None:
    """Over all bands, and then over few cells."""
    d = len(shape)
    x = np.random.default_rng(1).uniform(0.0, 50.0, (5, d))
    potential = given_by(boxes, {"x": x}, grid=Grid(shape), parameters={"size": 1e4})
    expected = np.zeros(shape).ravel()
    indices = np.indices(shape).reshape(d, -1)
    for centre in x:
        u = np.full(len(expected), 1.0 + 1e4)
        for a in range(d):
            u = 1.3 * u + indices[a] * centre[a] + indices[a]
        expected += u
    for _ in range(2):
        potential.refresh()
        np.testing.assert_allclose(potential.fields["y"].values, expected, rtol=1e-13)
    potential.set_parameter("boxes.size", 0.5)
    potential.refresh()
    fresh = given_by(boxes, {"x": x}, grid=Grid(shape), parameters={"size": 0.5})
    fresh.refresh()
    assert potential.fields["y"].values.tobytes() == fresh.fields["y"].values.tobytes()


WILD = [np.nan, np.inf, -np.inf, 1e300, -1e300, 3e9, -3e9, 2.0**31, -(2.0**31), 2.0**30, -(2.0**30)]


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("made", [boxes, windowed(1), windowed(40)], ids=["state", "small", "large"])
def test_wild_positions_reach_nothing_out_of_bounds(made: Any, precision: str) -> None:
    """What lies about a field's memory stays as it was."""
    x = np.array([[a, b] for w in WILD for a, b in ((w, 3.0), (3.0, w), (w, w))])
    x = np.clip(x, -1e38, 1e38) if precision == "f32" else x
    options = {"parameters": {"size": 1.0}} if made is boxes else {}
    potential = given_by(made, {"x": x}, grid=Grid((37, 41)), precision=precision, **options)
    (given,) = potential.maps.values()
    n = len(given.gives)
    guard = np.full(3 * n, 7.0, given.gives.dtype)
    given.gives.array = guard[n : 2 * n]
    potential = Potential(potential.fields, list(potential.terms.values()), [given])
    potential.value()
    gradient = potential.gradient("x")
    assert np.array_equal(guard[:n], guard[2 * n :])
    assert set(guard[:n].tolist()) == {7.0}
    assert gradient.shape == x.shape
    far = np.isfinite(x).all(axis=1)
    assert not gradient[far].any()


def test_a_position_beside_wild_ones_is_as_if_alone() -> None:
    """Those that are far away reach nothing; those that are nowhere make cell 0, and it alone, no number."""
    wild = np.array([[w, 3.0] for w in WILD])
    for made, options in ((boxes, {"parameters": {"size": 1.0}}), (windowed(1), {})):
        alone = given_by(made, {"x": [[3.3, 4.2]]}, grid=Grid((37, 41)), **options)
        beside = given_by(made, {"x": [*wild, [3.3, 4.2]]}, grid=Grid((37, 41)), **options)
        alone.refresh()
        beside.refresh()
        assert np.isnan(beside.fields["y"].values[0])
        assert np.array_equal(alone.fields["y"].values[1:], beside.fields["y"].values[1:])
        beside.fields["x"].set(
            [*([w, 3.0] for w in (1e9, -1e18, 1e300) + (2e5,) * (len(wild) - 3)), [3.3, 4.2]]
        )
        beside.refresh()
        assert np.array_equal(alone.fields["y"].values, beside.fields["y"].values)


def test_what_is_not_finite_is_named() -> None:
    potential = MAPS["splines"].potential(np.random.default_rng(1), 2)
    potential.fields["x"].set(np.full((6, 2), 2.3))
    assert potential.first_nonfinite(0.0, ["x", "m"]) is None
    potential.fields["m"].set([1.0, 1.0, np.nan, 1.0, 1.0, 1.0])
    assert potential.first_nonfinite(0.0, ["x", "m"]) == "field 'm', node 2 is not finite"


def test_a_position_that_is_not_a_number_is_named() -> None:
    potential = MAPS["splines"].potential(np.random.default_rng(1), 2)
    x = np.full((6, 2), 2.3)
    x[2] = np.nan
    potential.fields["x"].set(x)
    assert np.isnan(potential.value())
    assert potential.first_nonfinite(0.0, ["x"]) == "field 'x', node 2 is not finite"


def _about(x):
    return [x[0] - 1.0], [x[0] + 1.5]


@local_map("roots", gives="y", over="nodes", x=Node(), at=Cell(window=_about))
def roots(x, at):
    """sqrt(x - 2) at every other cell, where there is one."""
    return ti.select(x[0] > 2.0, ti.sqrt(x[0] - 2.0) * (at[0] + 1.0), 0.5)


def test_a_side_that_no_cell_took_has_no_derivative() -> None:
    """The root of a negative number, and its infinite slope at zero, are on the side not taken."""
    potential = given_by(roots, {"x": [3.25, 2.0, 0.5]}, grid=Grid((8,)))
    gradient = potential.gradient("x")
    adjoint = potential.fields["lean"].values + potential.fields["y"].values
    cells = np.arange(2, 6)
    expected = (adjoint[cells] * (cells + 1.0)).sum() / 2.0 / np.sqrt(1.25)
    np.testing.assert_allclose(gradient, [expected, 0.0, 0.0], rtol=1e-13)


def _here(x):
    return [x[0]], [x[0]]


@local_map("far", gives="y", over="nodes", x=Node(), at=Cell(window=_here))
def far(x, at):
    return x[0] * (at[0] * at[0]) + at[0] // 3 + at[0] % 7


def test_products_of_places_are_whole_beyond_31_bits() -> None:
    potential = given_by(far, {"x": [60000.0, 5.0]}, grid=Grid((70000,)))
    potential.refresh()
    y = potential.fields["y"].values
    assert y[60000] == 60000.0**3 + 20000 + 60000 % 7
    assert y[5] == 5.0**3 + 1 + 5


@local_map("names", gives="y", over="nodes", x=Node(), adjoint=Node(), cell=Parameter(), window=Node())
def named(x, adjoint, cell, window):
    return x[0] * adjoint[0] ** 2 * cell + window[0]


def test_arguments_may_be_called_anything() -> None:
    values = {"x": [1.0, 2.0], "adjoint": [3.0, 5.0], "window": [0.5, 0.25]}
    potential = given_by(named, values, parameters={"cell": 2.0})
    potential.refresh()
    y, lean = potential.fields["y"].values, potential.fields["lean"].values
    assert y.tolist() == [18.5, 100.25]
    np.testing.assert_allclose(potential.gradient("adjoint"), (lean + y) * [12.0, 40.0])
    np.testing.assert_allclose(potential.gradient("window"), lean + y)


def _turned(x):
    reach = 1.0
    if x[0] > 5.0:
        reach = 3.0
    return [x[0] - reach], [x[0] + reach]


@local_map("turned", gives="y", over="nodes", x=Node(), at=Cell(window=_turned))
def turned(x, at):
    return x[0]


def test_a_window_may_branch() -> None:
    potential = given_by(turned, {"x": [3.25, 7.5]}, grid=Grid((12,)))
    (given,) = potential.maps.values()
    potential.refresh()
    assert np.array_equal(given.gives.values, references.given_values(given))


@local_map("plane", gives="y", over="nodes", x=Node(), adjoint_y=Node())
def plane(x, adjoint_y):
    return x[0] * adjoint_y[0]


def test_a_field_may_be_called_like_one_of_the_engines() -> None:
    potential = given_by(plane, {"x": [1.0, 2.0], "adjoint_y": [3.0, 5.0]})
    potential.refresh()
    assert potential.fields["y"].values.tolist() == [3.0, 10.0]


def _about_first(x):
    return [x[0][0] - 1.5], [x[0][0] + 1.5]


@local_map(
    "stretches",
    gives="y",
    over="tuples",
    x=Node("m", ("d",)),
    gradients=Datum("m^-1", ("k", "d")),
    F=Linear("x", "gradients"),
    at=Cell(window=_about_first),
)
def stretches(x, F, at):
    return F.determinant() * (1.0 + at[0]) + (F[0, 1] * at[0]) ** 2


def test_what_is_linear_in_a_field_within_a_map() -> None:
    rng = np.random.default_rng(2)
    x, rows = rng.uniform(1.0, 4.0, (5, 2)), np.array([[0, 1, 2], [2, 3, 4]])
    w = rng.normal(size=(2, 3, 2))
    w[:, 0] = -w[:, 1:].sum(axis=1)
    potential = given_by(stretches, {"x": x}, tuples=rows, data={"gradients": w}, grid=Grid((6,)))
    slope = potential.gradient("stretches.F")
    adjoint = potential.fields["lean"].values + potential.fields["y"].values
    cells = np.arange(6)
    expected = np.zeros((2, 2, 2))
    for e, nodes in enumerate(rows):
        F = np.einsum("ki,kj->ij", x[nodes], w[e])
        low, high = np.floor(x[nodes[0], 0] - 1.5), np.ceil(x[nodes[0], 0] + 1.5)
        weights = adjoint * ((cells >= low) & (cells <= high))
        cofactor = np.array([[F[1, 1], -F[1, 0]], [-F[0, 1], F[0, 0]]])
        expected[e] = cofactor * (weights * (1.0 + cells)).sum()
        expected[e, 0, 1] += 2.0 * F[0, 1] * (weights * cells**2).sum()
    assert error(slope, expected) < 1e-12
    by_x = np.zeros_like(x)
    np.add.at(by_x, rows, np.einsum("eij,ekj->eki", expected, w))
    assert error(potential.gradient("x"), by_x) < 1e-12


# Tables ------------------------------------------------------------------------------------------------


HEIGHTS = np.array([1.5, -0.5, 2.0])


@local_energy("looked_up", over="nodes", x=Node(), rows=Table(axes=2), heights=Table(axes=1))
def looked_up(x, rows, heights):
    """Places that may lie outside, and the table's own size."""
    k = ti.cast(ti.floor(x[0]), ti.i32)
    return x[0] * rows[k, 2 * k] + heights[k] + 10.0 * rows.shape[0] + 100.0 * heights.shape[0]


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_table_in_an_energy_is_zero_outside(precision: str) -> None:
    rows = np.arange(1.0, 11.0).reshape(2, 5)
    x = np.array([-7.5, -1.0, -0.5, 0.5, 1.5, 2.5, 3.5, 1e6, -1e6])
    fields = Fields({"x": x}, precision=precision)
    term = bind(looked_up, fields, tables={"rows": rows, "heights": HEIGHTS})
    potential = Potential(fields, [term])
    numbers = {0: (1.0, 1.5), 1: (8.0, -0.5), 2: (0.0, 2.0)}
    each = [numbers.get(int(np.floor(v)), (0.0, 0.0)) for v in x]
    expected = [v * a + b + 320.0 for v, (a, b) in zip(x, each, strict=True)]
    assert potential.by_element("looked_up").tolist() == expected
    assert potential.gradient("x").tolist() == [a for a, _ in each]
    assert references.energies(term) == expected


def _three(x):
    row = ti.floor(x[0])
    return [row - 1], [row + 2]


def _wider(x, half):
    return [x[0] - half], [x[0] + half]


@local_map("known", gives="y", over="nodes", x=Node(), heights=Table(), at=Cell(window=_three))
def known(x, heights, at):
    k = at[0] - ti.cast(ti.floor(x[0]), ti.i32)
    return x[0] * heights[k] + heights[k + 2] + 0.5 * heights[k - 40] + 0.25 * heights[k + 55]


@local_map(
    "masked", gives="y", over="nodes", x=Node(), heights=Table(), half=Parameter(), at=Cell(window=_wider)
)
def masked(x, heights, half, at):
    k = at[0] - ti.cast(ti.floor(x[0]), ti.i32)
    moved = ti.cast(ti.floor(2.0 * (at[0] - x[0] * x[0] / 4.0)), ti.i32)
    return x[0] * heights[k] + heights[k + 2] * half + x[0] * heights[moved] + heights[at[0]]


@pytest.mark.parametrize("made", [known, masked], ids=["known", "masked"])
@pytest.mark.parametrize("length", [1, 3, 50])
def test_a_table_in_a_map_is_zero_outside(made: Any, length: int) -> None:
    """Where the window tells the places, and where it does not (then also beyond a cut of the graph)."""
    heights = np.random.default_rng(length).normal(size=length)
    options = {"parameters": {"half": 4.5}} if made is masked else {}
    values = {"x": [-2.5, 0.25, 1.75, 3.5, 8.75, 11.5]}
    potential = given_by(made, values, grid=Grid((10,)), tables={"heights": heights}, **options)
    assert window_of(potential) == [4 if made is known else None]
    (given,) = potential.maps.values()
    potential.refresh()
    y = references.given_values(given)
    np.testing.assert_allclose(given.gives.values, y, rtol=1e-13, atol=1e-14)
    expected = references.weighted_differences(given, potential.fields["lean"].values + y)
    assert error(potential.gradient("x"), expected["x"]) < 1e-9
    loops = loops_of(potential)
    _, _, bands = loops.forward_loops().text.partition("for turn in")
    assert ("ti.min(ti.max(" in bands) is (made is masked)
    if made is known:
        begin, padded = loops._begin["heights"][0], len(loops._arrays["table_heights"])
        places = [read[0][1] + begin for read in loops._reads.values()]
        assert min(places) == 0
        assert max(places) + 4 == max(padded, 4)
        assert loops._arrays["table_heights"][begin : begin + length].tolist() == heights.tolist()


def _as_tall(x, heights):
    return [x[0] - heights[0]], [x[0] + heights[ti.cast(x[0], ti.i32)]]


@local_map("tall", gives="y", over="nodes", x=Node(), heights=Table(), at=Cell(window=_as_tall))
def tall(x, heights, at):
    return x[0] * heights[at[0]]


def test_a_window_may_read_a_table() -> None:
    potential = given_by(
        tall, {"x": [1.25, 2.5, 5.5]}, grid=Grid((9,)), tables={"heights": [1.5, 0.5, 2.5, 1.0]}
    )
    (given,) = potential.maps.values()
    potential.refresh()
    assert np.array_equal(given.gives.values, references.given_values(given))


def test_a_table_is_read_at_whole_numbers() -> None:
    @local_energy("between", over="nodes", x=Node(), heights=Table())
    def between(x, heights):
        return heights[x[0]]

    @local_energy("flat", over="nodes", x=Node(), heights=Table(axes=2))
    def flat(x, heights):
        return heights[0] * x[0]

    fields = Fields({"x": [1.0]})
    cure = ": table: is read at integers, got a real number; write ti.cast(ti.floor(...), ti.i32)"
    with pytest.raises(TraceError, match=re.escape(cure)):
        Potential(fields, [bind(between, fields, tables={"heights": HEIGHTS})]).value()
    with pytest.raises(TraceError, match=re.escape(cure)):
        between.evaluator()({"x": [1.0], "heights": HEIGHTS})
    with pytest.raises(TraceError, match=r"heights: is a table with 2 axes, got 1 numbers; give"):
        Potential(fields, [bind(flat, fields, tables={"heights": [HEIGHTS]})]).value()


# Refused ------------------------------------------------------------------------------------------------


def declared(
    over: Any = "nodes", function: Callable | None = None, name: str = "m", gives: str = "y", **roles: Any
):
    def plain(x, at):
        return x[0]

    return local_map(name, gives=gives, over=over, **({"x": Node()} | roles))(function or plain)


def unwindowed(x, at):
    return x[0]


def sized(x, at, h):
    return x[0] * h


def two_places(x, at, to):
    return x[0]


def strange_window(x, z, at):
    return [x[0]], [z]


def lone(x):
    return x[0]


def cells(**options: Any) -> Any:
    return bind(far, Fields({"x": [1.0]}), **({"grid": Grid((4,))} | options))


def over_fields(values: Mapping[str, Any], *maps: Any) -> Fields:
    fields = Fields(values)
    for made, options in maps:
        bind(made, fields, **options)
    return fields


def tabled(numbers: Any) -> Any:
    return bind(tall, Fields({"x": [1.0]}), grid=Grid((4,)), tables={"heights": numbers})


def spaced(**parameters: float) -> Any:
    fields = Fields({"x": np.ones((2, 1)), "m": np.ones(2)})
    return bind(energies.splines, fields, grid=Grid((4,), 0.5), parameters=parameters)


REFUSED: dict[str, Callable[[], Any]] = {
    "map 'm': has the Cells at, to; use one": lambda: declared(
        at=Cell(window=_here), to=Cell(window=_here), function=two_places
    ),
    "map 'm': pairs cannot add to cells; sum over nodes or tuples": lambda: declared(
        "pairs", at=Cell(window=_here)
    ),
    "map 'm': at has no window; give it a function that returns the cells reached": lambda: declared(
        at=Cell()
    ),
    "map 'm': its window must take arguments of the map, got z, at": lambda: declared(
        at=Cell(window=strange_window)
    ),
    "map 'm': its spacing must be a Parameter, got 'h'": lambda: declared(at=Cell(window=_here, spacing="h")),
    "map 'm': its spacing must be a Parameter, got 'x'": lambda: declared(at=Cell(window=_here, spacing="x")),
    "map 'm': argument at has no role": lambda: declared(),
    "map 'm': z has a role, but is no argument of the function": lambda: declared(
        z=Node(), at=Cell(window=_here)
    ),
    "a map cannot be called 'a.b'; use letters, digits and _": lambda: declared(
        at=Cell(window=_here), name="a.b"
    ),
    "a field cannot be called 'a/b'; use letters, digits and _": lambda: declared(
        at=Cell(window=_here), gives="a/b"
    ),
    "map 'm': over must be 'nodes', 'pairs', 'triples', 'directed_pairs', 'directed_triples',": lambda: (
        declared("cell", at=Cell(window=_here))
    ),
    "map 'm': has no Node field": lambda: local_map("m", gives="y", over="nodes", x=Parameter())(lone),
    "energy 'm': at is a Cell, but only maps add to cells": lambda: local_energy(
        "m", over="nodes", x=Node(), at=Cell(window=_here)
    )(unwindowed),
    "far: adds to the cells of a grid, got none": lambda: cells(grid=None),
    "splines.h: is the grid's spacing; leave it out": lambda: spaced(h=0.5),
    "tall.heights: needs a table of numbers, got none": lambda: tabled(None),
    "tall.heights: needs finite numbers": lambda: tabled([1.0, np.nan]),
    "tall.heights: needs 1 axes, none of them empty, got shape [2, 1]": lambda: tabled([[1.0], [2.0]]),
    "tall.heights: needs 1 axes, none of them empty, got shape [0]": lambda: tabled(np.zeros(0)),
    "tall.heights: needs 1 axes, none of them empty, got shape []": lambda: tabled(1.0),
    "field 'y': is given by the state, so no map can write it": lambda: over_fields(
        {"x": [1.0], "y": [2.0]}, (far, {"grid": Grid((4,))})
    ),
    "field 'y': has 4 nodes in 1, got a map to 5 in 1": lambda: over_fields(
        {"x": [1.0]}, (far, {"grid": Grid((4,))}), (far, {"grid": Grid((5,))})
    ),
    "field 'y': has 4 nodes in 1, got a map to 4 in kg": lambda: over_fields(
        {"x": [1.0]}, (far, {"grid": Grid((4,))}), (heavy, {"grid": Grid((4,))})
    ),
    "no field named 'z' (there are: x)": lambda: bind(
        far, Fields({"x": [1.0]}), renamed={"x": "z"}, grid=Grid((4,))
    ),
}


@local_map("heavy", gives="y", unit="kg", over="nodes", x=Node(), at=Cell(window=_here))
def heavy(x, at):
    return x[0]


@pytest.mark.parametrize(("text", "call"), REFUSED.items())
def test_refused_in_so_many_words(text: str, call: Callable) -> None:
    with pytest.raises(EnergyError) as caught:
        call()
    assert str(caught.value).startswith(text)


def test_the_name_that_a_term_gives_is_checked() -> None:
    with pytest.raises(EnergyError, match=r"a field cannot be called 'a\.b'; use letters, digits and _"):
        cells(gives="a.b")


def test_a_grid_of_more_axes_than_there_are_bands_for_is_refused() -> None:
    def everywhere(x):
        return [x[0]] * 4, [x[0]] * 4

    fields = Fields({"x": [1.0]})
    made = declared(at=Cell(window=everywhere), function=unwindowed)
    with pytest.raises((EnergyError, TraceError)):
        Potential(fields, [], [bind(made, fields, grid=Grid((2, 2, 2, 2)))])


def test_a_table_that_nobody_reads_is_refused() -> None:
    with pytest.raises(EnergyError, match="other"):
        cells(tables={"other": [1.0]})


def test_an_unknown_unit_of_what_is_given_is_refused() -> None:
    with pytest.raises(Exception, match="furlong"):
        local_map("m", gives="y", unit="furlong", over="nodes", x=Node())(lone)


def one_corner(x):
    return [x[0]]


def flat_corners(x):
    return x[0], x[0]


def three_axes(x):
    return [x[0]] * 3, [x[0]] * 3


def no_numbers(x):
    return [x[0] > 1.0] * 2, [x[0]] * 2


@pytest.mark.parametrize("window", [one_corner, flat_corners, three_axes, no_numbers])
def test_a_window_gives_two_corners(window: Callable) -> None:
    made = declared(at=Cell(window=window), function=unwindowed)
    fields = Fields({"x": [1.0]})
    text = "map 'm': its window must return the lowest and the highest cell; return two lists of 2 numbers"
    with pytest.raises(TraceError, match=f"^{text}$"):
        Potential(fields, [], [bind(made, fields, grid=Grid((3, 3)))])


def test_a_given_field_is_called_as_the_term_says() -> None:
    fields = Fields({"x": [1.0, 2.0]})
    first = bind(far, fields, gives="mine", grid=Grid((4,)))
    assert (first.gives.name, first.gives.unit, fields.derived) == ("mine", "1", {"mine"})
    bind(heavy, fields, gives="weight", grid=Grid((4,)))
    assert fields["weight"].unit == "kg"
    Potential(fields, [], [first]).refresh()
    assert fields["mine"].values.tolist() == [0.0, 2.0, 10.0, 0.0]


def test_the_parts_of_a_declaration() -> None:
    made = energies.splines
    assert (made.cell, made.spacing, made.outputs) == ("at", "h", {"mass": Output("1")})
    assert made.window is not None
    bare = energies.bonds
    assert (bare.cell, bare.spacing, bare.window) == (None, "", None)
    assert made.reach()({"x": [np.array([1.2, -0.4])], "m": [1.0], "h": 0.5}) == [range(1, 4), range(-2, 1)]
    assert boxes.reach()({"x": [np.array([1.2, -0.4])], "size": 1.0}) == [range(0, 4), range(-2, 2)]


def plugin(**hooks: Callable) -> ModuleType:
    from minusgrad import hookimpl

    module = ModuleType("stranger")
    module.__file__ = __file__
    for name, function in hooks.items():
        function.__name__ = name
        setattr(module, name, hookimpl(function))
    return module


def test_a_map_is_no_energy_and_an_energy_no_map() -> None:
    file = "plugin 'stranger' (at hand)"
    for hook, given, said in (
        ("register_energies", far, "an energy made by @local_energy"),
        ("register_dissipations", far, "an energy made by @local_energy"),
        ("register_maps", embedding, "a map made by @local_map or staged_map"),
    ):
        with pytest.raises(PluginError) as caught:
            Registry.load([], files=[plugin(**{hook: lambda given=given: [given]})])
        assert hook in str(caught.value), file
        assert str(caught.value).endswith(f"not {said}")


def test_a_plugin_file_without_hooks_gives_its_maps_and_its_energies() -> None:
    module = plugin()
    module.first, module.second = far, embedding
    registry = Registry.load([], files=[module])
    assert registry.entry("map", "far").energy is far
    assert registry.entry("energy", "embedding").energy is embedding
    assert registry.entry("map", "embedding") is registry.entry("energy", "far") is None
    assert list(registry.energies()) == ["far", "embedding", "uniform_field"]


@pytest.mark.parametrize("key", ["grid", "tuples", "fields", "body", "kind", "_x"])
def test_keys_of_a_block_are_no_arguments(key: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def f(x, {key}):\n    return x[0]\n", scope)
    said = (
        f"an argument cannot be called '{key}': a block in a scene has the keys kind, name, tuples, body,"
        " fields, gives, grid, sizes, and none that begin with _; use another name"
    )
    for role in (Parameter(), Datum()):
        with pytest.raises(EnergyError) as caught:
            local_map("m", gives="y", over="nodes", x=Node(), **{key: role})(scope["f"])
        assert str(caught.value) == f"map 'm': {said}"
        with pytest.raises(EnergyError) as caught:
            local_energy("u", over="nodes", x=Node(), **{key: role})(scope["f"])
        assert str(caught.value) == f"energy 'u': {said}"


def test_the_keys_of_a_maps_block() -> None:
    """The spacing is the grid's, and tables the state's."""
    assert set(energy_model(energies.splines).model_fields) >= {"gives", "grid", "body", "fields", "name"}
    assert "h" not in energy_model(energies.splines).model_fields
    assert "tuples" in energy_model(energies.bonds).model_fields
    assert not {"gives", "grid"} & energy_model(embedding).model_fields.keys()
    assert not {"profile", "face", "at"} & energy_model(energies.stamps).model_fields.keys()


# What a review has found --------------------------------------------------------------------------------


def _six_around(x):
    k = ti.floor(x[0])
    return [k - 2.0], [k + 3.0]


@local_map("hat", gives="y", over="nodes", x=Node(), at=Cell(window=_six_around))
def hat(x, at):
    d = x[0] - at[0]
    return ti.exp(-d * d)


def test_a_window_across_two_bands_of_a_line_counts_once() -> None:
    """Cells 256 and 512 begin another band; a grid of one axis has no other loop than that over the band."""
    potential = given_by(hat, {"x": [255.3, 100.2, 512.1]}, grid=Grid((600,)))
    potential.refresh()
    (term,) = potential.maps.values()
    np.testing.assert_allclose(term.gives.values, references.given_values(term), atol=1e-15)


def _eight_around(x, pixel):
    k = ti.floor(x[0] / pixel)
    return [k - 3], [k + 4]


@local_map(
    "line",
    gives="dose",
    over="nodes",
    x=Node(),
    m=Node(),
    at=Cell(window=_eight_around, spacing="pixel"),
    pixel=Parameter(),
    samples=Table(axes=1),
)
def line(x, m, at, pixel, samples):
    k = ti.floor(x[0] / pixel)
    a = x[0] / pixel - k
    l = at[0] - ti.cast(k, ti.i32) + 3  # noqa: E741
    return m[0] * m[0] * ((1.0 - a) * samples[l] + a * samples[l - 1])


@local_energy("readout_of", over="nodes", dose=Node(), share=Node())
def readout_of(dose, share):
    return dose[0] * share[0]


@pytest.mark.parametrize("pixel", [0.1, 0.3, 0.7, 1e-6 / 3.0])
@pytest.mark.parametrize(("precision", "tolerance"), [("f64", 1e-11), ("f32", 2e-5)])
def test_coordinates_on_the_edge_of_a_pixel(pixel: float, precision: str, tolerance: float) -> None:
    """x / pixel is whole but for rounding, which differs from kernel to kernel; the gradient must not."""
    rng = np.random.default_rng(0)
    values = {"x": (np.arange(200) + 10) * pixel, "m": np.ones(200), "share": rng.normal(size=240)}
    fields = Fields(values, precision=precision)
    samples = [0.0, 0.1, 0.5, 1.0, 0.5, 0.1, 0.0]
    dose = bind(line, fields, grid=Grid((240,), pixel), tables={"samples": samples})
    potential = Potential(fields, [bind(readout_of, fields)], [dose])
    value, alone = potential.value(), potential.gradient("m")
    both = {name: np.zeros(200, fields.dtype) for name in ("x", "m")}
    potential.gradient_into(both)
    scale = np.abs(alone).sum()
    for found in (alone, both["m"]):  # U is quadratic in m
        assert abs(0.5 * float(found.sum(dtype=float)) - value) < tolerance * scale


def test_an_argument_may_be_called_sum_or_cut() -> None:
    @local_map(
        "m",
        gives="y",
        over="nodes",
        x=Node(),
        at=Cell(window=_about),
        sum=Parameter("1", (2,)),
        cut=Parameter(),
    )
    def named(x, at, sum, cut):
        return ti.exp(-((x[0] - at[0]) ** 2) * sum[0]) * sum[1] * cut

    parameters = {"sum": [0.5, 2.0], "cut": 3.0}
    potential = given_by(named, {"x": [2.2, 5.1]}, grid=Grid((9,)), parameters=parameters)
    potential.refresh()
    (term,) = potential.maps.values()
    np.testing.assert_allclose(term.gives.values, references.given_values(term), rtol=1e-13)
    assert potential.gradient("m.sum").shape == (2,)


def test_a_misspelt_argument_of_fields_is_refused() -> None:
    fields = Fields({"x": [1.0], "z": [2.0]})
    with pytest.raises(
        EnergyError, match=r"^hat: no node field named 'X'; did you mean 'x'\? \(there are: x\)$"
    ):
        bind(hat, fields, grid=Grid((9,)), renamed={"X": "z"})


def test_what_a_map_gives_is_not_read_without_the_map() -> None:
    fields = Fields({"x": [1.0, 4.2], "share": np.ones(9)})
    dose = bind(hat, fields, grid=Grid((9,)), gives="dose")
    term = bind(readout_of, fields)
    with pytest.raises(
        EnergyError, match=r"^readout_of: reads 'dose', the output of a map that is missing here; add the map"
    ):
        Potential(fields, [term])
    Potential(fields, [term], frozen=True)
    Potential(fields, [term], [dose])


def test_check_judges_a_map_of_a_map_where_it_stands() -> None:
    @local_map("roots_of", gives="z", over="nodes", y=Node(bounds=(0.0, np.inf), open=True))
    def roots_of(y):
        return ti.sqrt(y[0]) + 1.0 / y[0]

    fields = Fields({"x": [1.2, 1.9, 2.4]})
    first = bind(hat, fields, grid=Grid((4,)))
    second = bind(roots_of, fields)
    potential = Potential(fields, [], [first, second])
    found = [f for f in term_check.of_potential(potential) if f.term == "roots_of"]
    assert len(found) > 8
    assert [f.text for f in found if not f.passed] == []
