"""Maps that read what maps give: derivatives through chains, their order, steps of embedded atoms."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from minusgrad import (
    Fields,
    Motion,
    Node,
    Parameter,
    Potential,
    Time,
    bind,
    local_energy,
    local_map,
    ti,
)
from minusgrad.check import term_check
from minusgrad.energies.fields import Grid
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad.exam import references
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support import energies
from tests.support.laws import assert_order, energy_error
from tests.support.local_maps import T, embedding, error, given_by, hat, readout_of

runtime.start()


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
