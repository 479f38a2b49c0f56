"""Buckling loads of rods and how they change: Euler, Michell and Prandtl, round rods, by EI and GJ."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.errors import EnergyError
from minusgrad.potential.argument_values import argument_values, set_argument_values
from minusgrad.steppers.stability.buckling import critical_point, guessed_factor, linearised
from minusgrad.steppers.stability.critical_slopes import CriticalSlopes, critical_slopes
from minusgrad.steppers.stability.loaded_body import LoadedBody
from tests.plugins.rods.test_stability import greenhill_moment
from tests.support.laws import fitted_order
from tests.support.rods import YOUNG, rod_scene

WEAK, STRONG, TORSION = 1e-12, 1e-8, 3e-12
NARROW = {"kind": "given", "area": 1e-3, "second_moments": [STRONG, WEAK], "torsion": TORSION}
MODULI = {"youngs_modulus": 1e9, "shear_modulus": 1e9 / 3.0}
UNIT = np.sqrt(1e9 * WEAK * 1e9 / 3.0 * TORSION)
"""sqrt(EI GJ), of the weak direction."""
E, G = "rod.youngs_modulus", "rod.shear_modulus"


def critical_load(made: mg.Simulation, *names: str) -> CriticalSlopes:
    """The factor at which a rod under its energy `load` buckles, and its slopes."""
    return critical_search(made)(*names)


def critical_search(made: mg.Simulation, loads: Sequence[str] = ("load",)) -> Callable[..., CriticalSlopes]:
    """The slopes by names at the rod's critical point, with parameters near those of now."""
    body = LoadedBody(made.potential, ["x", "q"], made.holds, loads)
    rest = body.equilibrium(0.0, body.free.vector({n: made.state.fields[n] for n in "xq"}))
    assert rest is not None
    loaded = body.follow(rest, 0.1)
    assert loaded is not None
    factors, _ = linearised(rest, loaded, 1)
    point = critical_point(body, rest, guessed_factor(body, rest, float(factors[0])))
    assert point is not None
    assert point.kind == "bifurcation"
    return lambda *names: critical_slopes(body, rest, point, names)


def share(made: mg.Simulation, found: CriticalSlopes, name: str) -> float:
    """By how many parts the load grows with a modulus, or with the data of all elements."""
    return float(np.sum(found.slopes[name] * argument_values(made.potential, name))) / found.factor


def narrow_beam(n: int, force: Any = None, **blocks: Any) -> mg.Simulation:
    """A narrow cantilever of 1 m and 1 kg/m along x, high along z."""
    state: Mapping[str, Any] = {"elements": n, "section": NARROW, "normal": [0, 1, 0]}
    return mg.load(rod_scene(state, MODULI, tip=force, **blocks))


def test_lateral_buckling_under_an_end_load():
    """Michell and Prandtl 1899: 4.0126 sqrt(EI GJ) / L^2; EI and GJ have a half of it each."""
    loads = []
    for n in (10, 20, 40):
        made = narrow_beam(n, [0.0, 0.0, -UNIT])
        found = critical_load(made, E, G)
        loads.append(found.factor)
    assert abs(loads[-1] / 4.0126 - 1.0) < 5e-4
    assert (loads[0] - loads[1]) / (loads[1] - loads[2]) > 3.4
    assert abs(share(made, found, E) - 0.5) < 1e-4
    assert abs(share(made, found, G) - 0.5) < 1e-4


def test_lateral_buckling_under_an_even_load():
    """Prandtl: 12.85 sqrt(EI GJ) / L^3 along the length."""
    weight = {"kind": "body_force", "name": "load", "acceleration": [0.0, 0.0, -UNIT]}
    loads = [critical_load(narrow_beam(n, energy=[weight])).factor for n in (20, 40, 80)]
    assert abs(loads[-1] / 12.85 - 1.0) < 7e-4
    assert (loads[0] - loads[1]) / (loads[1] - loads[2]) > 3.4


def held_frames(state: Mapping[str, Any], **numbers: Any) -> dict[str, Any]:
    """An energy that holds bends or twist of some frames of a straight rod, all but rigidly."""
    walls = mg.load(rod_scene(state)).fields["q"].values.tolist()
    held = {"kind": "rod_clamp", "name": "held_frames", "tuples": "rod_frames", "wall": walls}
    return held | MODULI | {"length": 1e-4 / len(walls), "axis": [1, 0, 0]} | numbers


def bent_beam(n: int) -> mg.Simulation:
    """A narrow beam between forks, under equal moments about y on both ends.

    Forks hold the twist of the frames of the first and the last edge, between whose middles is 1 m; couples
    act there, too. The ends turn freely about y and z.
    """
    state = {"elements": n, "length": n / (n - 1.0), "section": NARROW, "normal": [0, 1, 0]}
    twisting = [TORSION] + [0.0] * (n - 2) + [TORSION]
    forks = held_frames(state, second_moments=[0.0, 0.0], torsion=twisting)
    couples = [{"end": e, "moment": m, "axis": [0, 1, 0]} for e, m in (("first", UNIT), ("last", -UNIT))]
    held = [{"body": "first", "field": "x"}, {"body": "last", "field": "x", "axes": "yz"}]
    rod = MODULI | {"clamps": [], "couples": couples}
    return mg.load(rod_scene(state, rod, energy=[forks], hold=held))


@pytest.mark.long
def test_lateral_buckling_under_a_pure_moment():
    """pi sqrt(EI GJ) / L between forks, of second order; EI and GJ have a half of it each."""
    errors = []
    for n in (10, 20, 40):
        made = bent_beam(n)
        found = critical_search(made, ["rod_first_couple", "rod_last_couple"])(E, G)
        errors.append(found.factor / np.pi - 1.0)
    assert abs(errors[-1]) < 6e-4
    assert abs(fitted_order(np.abs(errors), (10, 20, 40)) - 2.0) < 0.15
    assert abs(share(made, found, E) - 0.5) < 1e-5
    assert abs(share(made, found, G) - 0.5) < 1e-5


ROUND = {"kind": "given", "area": 1e-2, "second_moments": [1e-9, 1e-9], "torsion": 6e-8}
TENSION = 10.0
"""N, of a rod with EI = 1 N m^2."""


def twisted_rod(n: int) -> mg.Simulation:
    """A rod of GJ = 20 EI under tension and a moment about itself, 1 m between a clamp and a sleeve.

    The sleeve holds the direction of the frame of the last edge, which twists freely.
    """
    state = {"elements": n, "length": n / (n - 0.5), "section": ROUND}
    bending = np.outer(np.arange(n) == n - 1, ROUND["second_moments"]).tolist()
    sleeve = held_frames(state, second_moments=bending, torsion=0.0)
    pull = {"kind": "load", "name": "tension", "body": "last", "force": [TENSION, 0.0, 0.0]}
    held = [{"body": "first", "field": "x"}, {"body": "last", "field": "x", "axes": "yz"}]
    couple = {"end": "last", "moment": 1.0}
    return mg.load(rod_scene(state, MODULI | {"couples": [couple]}, energy=[sleeve, pull], hold=held))


LENGTHS = ("rod_edges.length", "rod_bends.length", "rod_first.length")


@pytest.mark.long
def test_slopes_of_greenhills_moment():
    """m(T L^2 / EI) EI / L by EI, GJ and L: 1 - c, 0 and 2 c - 1 parts, c = d ln m / d ln T; of order 2."""
    moment, h = greenhill_moment(TENSION), 1e-3
    c = (greenhill_moment(TENSION * (1 + h)) - greenhill_moment(TENSION * (1 - h))) / (2.0 * h) / moment
    exact = {"moment": moment, E: 1.0 - c, G: 0.0, "length": 2.0 * c - 1.0}
    errors: dict[str, list[float]] = {name: [] for name in exact}
    for n in (20, 40):
        made = twisted_rod(n)
        found = critical_search(made, ["rod_last_couple"])(E, G, *LENGTHS)
        shares = {name: share(made, found, name) for name in (E, G, *LENGTHS)}
        shares |= {"moment": found.factor, "length": sum(shares[name] for name in LENGTHS)}
        for name, value in exact.items():
            errors[name].append(abs(shares[name] - value) / max(abs(value), 0.1))
    for name, (coarse, fine) in errors.items():
        assert fine < 0.015, (name, errors)
        assert abs(np.log2(coarse / fine) - 2.0) < 0.3, (name, errors)


def pressed_column(section: Mapping[str, Any], n: int = 12, shear: bool = False) -> mg.Simulation:
    """A column of 1 m, clamped at one end, pressed along its axis."""
    return mg.load(rod_scene({"elements": n, "section": section}, {"shear": shear}, tip=[-1e-3, 0.0, 0.0]))


FLAT = {"kind": "rectangle", "width": 0.02, "height": 0.03}


@pytest.mark.parametrize("shear", [pytest.param(False, marks=pytest.mark.long), True])
def test_slopes_are_those_of_differences(shear):
    """By moduli and by sections, joint by joint; the stretch before buckling counts."""
    made = pressed_column(FLAT, shear=shear)
    slopes_by = critical_search(made)
    for name in (E, "rod_edges.area", "rod_bends.second_moments"):
        exact = slopes_by(name).slopes[name]
        values = argument_values(made.potential, name)
        way = values * np.random.default_rng(1).uniform(0.5, 1.5, values.shape)

        def factor(h, name=name, values=values, way=way):
            set_argument_values(made.potential, name, values + h * way)
            found = slopes_by().factor
            set_argument_values(made.potential, name, values)
            return found

        slopes = [(factor(k * 1e-3) - factor(-k * 1e-3)) / (2e-3 * k) for k in (1, 2, 3)]
        by_differences = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0
        assert abs(np.sum(exact * way) / by_differences - 1.0) < 1e-8, name


def test_eulers_column():
    """pi^2 EI / 4 L^2 of the weak direction, in proportion to E and to the weak second moment alone."""
    made = pressed_column(FLAT, 24)
    found = critical_load(made, E, "rod_bends.second_moments")
    euler = np.pi**2 * YOUNG * 0.03 * 0.02**3 / 12.0 / 4.0
    assert abs(found.factor * 1e-3 / euler - 1.0) < 5e-4
    assert abs(share(made, found, E) - 1.0) < 1e-9
    by_moments = np.sum(
        found.slopes["rod_bends.second_moments"] * made.state.data["rod_joints"]["second_moments"], 0
    )
    assert abs(by_moments[0]) < 1e-6 * by_moments[1]


def test_round_columns_buckle_in_two_directions():
    """E has a slope; a second moment, which parts both directions, has none."""
    made = pressed_column({"kind": "circle", "radius": 0.01})
    found = critical_load(made, E)
    assert abs(share(made, found, E) - 1.0) < 1e-9
    with pytest.raises(EnergyError, match="parts modes that buckle together"):
        critical_load(made, "rod_bends.second_moments")
