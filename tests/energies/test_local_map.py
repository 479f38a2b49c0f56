"""Local maps: the exam of each, bits, closed forms."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Cell,
    Datum,
    Node,
    Parameter,
    Potential,
    Table,
    Time,
    local_map,
    ti,
)
from minusgrad.assembly.registry import Registry
from minusgrad.energies.fields import Grid
from minusgrad.engine import runtime, storage
from minusgrad.exam import references
from minusgrad.exam.energy_exam import names_of
from tests.support import energies, instances
from tests.support.instances import MAPS, MapInstance
from tests.support.local_maps import T, error, given_by, window_of
from tests.support.tiers import sampled

runtime.start()
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
        "constant_power_dose": [None, None],
        "drawn_line": [None, None],
        "splines": [3, 3, 3],
        "clouds": [None, None],
        "stamps": [5, None],
    }


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
    if instance.energy.name in ("gaussian_dose", "gaussian_beam_dose", "constant_power_dose"):
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
