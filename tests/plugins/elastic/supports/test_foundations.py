"""Springs and dashpots on sides: closed forms of bars and beams, waves, energy, members, refusals."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import UserError
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.app.cli import main

E, RHO, LONG, HIGH = 2e6, 1000.0, 2.0, 0.1
BAR = {"kind": "linear", "youngs_modulus": E, "poissons_ratio": 0.0}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bar(energies: list, d: int = 2, cells: int = 4, **more: object) -> dict:
    kind = {"kind": "rectangle"} if d == 2 else {"kind": "box"}
    size = [LONG, HIGH] if d == 2 else [LONG, HIGH, HIGH]
    return {
        "state": {
            **kind,
            "size": size,
            "cells": [cells, *[1] * (d - 1)],
            "density": RHO,
            "origin": [3.0] * d,
        },
        "energy": [BAR, *energies],
        "stepper": {"kind": "newton", "tolerance": {"force": 1e-12}},
        "run": {"steps": 20},
        **more,
    }


def moved(scene: dict, steps: int = 20) -> tuple[np.ndarray, np.ndarray]:
    one = mg.load(scene)
    start = one.fields["x"].values.astype(float)
    one.step(steps)
    return start, one.fields["x"].values - start


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize(("d", "shape"), [(2, {"order": 2}), (2, {}), (3, {}), (3, {"cell": "hexahedra"})])
@pytest.mark.parametrize("kind", ["foundation", "side_spring"])
def test_a_bar_that_ends_in_a_spring(kind: str, d: int, shape: dict, precision: str) -> None:
    """Pulled at its other end by F: F / K at the spring, F / K + F L / (E A) at the pull."""
    area, pull = HIGH if d == 2 else HIGH**2, 1e3
    stiffness = 5e4 * (area if kind == "side_spring" else 1.0)
    spring = {"kind": kind, "body": "left", "stiffness": stiffness, "tangential": 0.3 * stiffness}
    pulled = {"kind": "traction", "body": "right", "traction": [pull, *[0.0] * (d - 1)]}
    scene = bar([spring, pulled], d, runtime={"precision": precision})
    scene["state"].update(shape)
    if precision == "f32":
        held = zip(("bottom", "front"), ("y",) if d == 2 else ("z", "y"), strict=False)
        scene["hold"] = [{"body": body, "axes": axis} for body, axis in held]
        scene["stepper"] = {"kind": "newton"}
    start, u = moved(scene)
    expected = pull / 5e4 + pull * (start[:, 0] - 3.0) / E
    accurate = 1e-10 if precision == "f64" else 2e-4
    assert np.abs(u[:, 0] - expected).max() < accurate * expected.max()
    assert np.abs(u[:, 1:]).max() < accurate * expected.max()


def test_tangential_springs_bear_a_shear() -> None:
    """A short stub on tangential springs shifts by F / K_t as a whole, and turns by nothing else."""
    springs = {"kind": "side_spring", "body": "left", "stiffness": 1e9, "tangential": 2e3}
    sheared = {"kind": "traction", "body": "left", "traction": [0.0, -40.0]}
    _, u = moved(bar([springs, sheared]))
    assert u[:, 1] == pytest.approx(-40.0 * HIGH / 2e3, rel=1e-9)
    assert np.abs(u[:, 0]).max() < 1e-12


def test_springs_of_nodes_share_a_weight_by_axis() -> None:
    """Each of n nodes bears k: a rigid body sinks by m g / (n k); an axis without stiffness is free."""
    spring = {"kind": "ground_spring", "stiffness": [1e3, 500.0]}
    _, u = moved(bar([spring, {"kind": "load", "force": [0.0, -2.0]}]))
    assert u[:, 1] == pytest.approx(-2.0 / 500.0, rel=1e-9)
    assert np.abs(u[:, 0]).max() < 1e-12
    other = {**spring, "anchor": [3.0, 3.0], "body": "left", "stiffness": [1e3, 0.0]}
    hold = [{"body": "left", "axes": "y"}]
    _, u = moved(bar([other], hold=hold))
    assert np.abs(u).max() < 1e-12  # the left side is at x = 3


@pytest.mark.parametrize("body", ["bottom", "top"])
def test_a_long_beam_on_an_elastic_foundation_sinks_as_hetenyi_says(body: str) -> None:
    """An end load P: w = 2 P s / k e^(-s x) cos(s x), s = (k / 4 E I)^(1/4) (Hetenyi 1946, article 7)."""
    length, high, k, load = 3.0, 0.02, 2e4, 1.0
    stiff = E * 12.5
    s = (k / (4.0 * stiff * high**3 / 12.0)) ** 0.25
    scene = {
        "state": {
            "kind": "rectangle",
            "size": [length, high],
            "cells": [120, 1],
            "density": 1.0,
            "cell": "quadrilaterals",
            "order": 2,
        },
        "energy": [
            {"kind": "linear", "youngs_modulus": stiff, "poissons_ratio": 0.0},
            {"kind": "foundation", "body": body, "stiffness": k},
            {"kind": "traction", "body": "left", "traction": [0.0, -load / high]},
        ],
        "hold": [{"body": "right", "axes": "x"}],
        "stepper": {"kind": "newton"},
        "run": {"steps": 20},
    }
    start, u = moved(scene)
    middle = np.abs(start[:, 1] - 0.5 * high) < 1e-9
    x, w = start[middle, 0], -u[middle, 1]
    expected = 2.0 * load * s / k * np.exp(-s * x) * np.cos(s * x)
    assert s * length > 6.0
    assert np.abs(w - expected).max() < 5e-3 * expected.max()


# Waves -----------------------------------------------------------------------------------------------------

SPEED = np.sqrt(E / RHO)


def pulse(damping: float, way: int = 0, d: int = 2, **more: object) -> dict:
    """A pulse in a bar that travels to its right end, by pressure (way 0) or by shear (way 1)."""
    speed = SPEED / np.sqrt(2.0) if way else SPEED
    dt = 0.2 * LONG / 200 / SPEED
    dashpot = {"kind": "side_dashpot", "body": "right", "damping": 0.0, "tangential": 0.0}
    dashpot["tangential" if way else "damping"] = damping
    scene = bar([], d, 200, dissipation=[dashpot], stepper={"kind": "leapfrog", "dt": dt})
    scene["hold"] = [{"body": side, "axes": "x" if way else "y"} for side in ("top", "bottom")]
    scene["run"] = {"steps": round(1.2 * LONG / speed / dt)}
    scene["observe"] = [{"kind": "energies", "every": 100}]
    return {**scene, **more}


def left_energy(damping: float, way: int = 0, **more: object) -> float:
    """The part of the energy of a pulse that is left after it met the right end."""
    scene = pulse(damping, way, **more)
    speed = SPEED / np.sqrt(2.0) if way else SPEED
    one = mg.load(scene)
    x = one.fields["x"].values.astype(float)
    shape = 1e-3 * np.exp(-(((x[:, 0] - 4.0) / 0.15) ** 2))
    slope = -2.0 * (x[:, 0] - 4.0) / 0.15**2 * shape
    for name, values, size in (("x", shape, 1.0), ("v", slope, -speed)):
        field = one.fields[name].values.astype(float)
        field[:, way] += size * values
        one.fields[name].set(field)
    before = _energy(one)
    one.step(scene["run"]["steps"])
    return _energy(one) / before


def _energy(one: object) -> float:
    v, m = one.fields["v"].values.astype(float), one.fields["m"].values.astype(float)  # type: ignore[attr-defined]
    return 0.5 * float((m[:, None] * v**2).sum()) + one.potential.value()  # type: ignore[attr-defined]


def test_a_viscous_boundary_takes_in_a_pressure_wave_whole() -> None:
    """c = rho c_p reflects nothing, a third of it half of the amplitude: (1 - 1/3) / (1 + 1/3)."""
    impedance = RHO * SPEED
    assert left_energy(impedance) < 1e-3
    assert left_energy(impedance / 3.0) == pytest.approx(0.25, rel=5e-3)
    assert left_energy(0.0) == pytest.approx(1.0, rel=1e-3)


def test_a_viscous_boundary_takes_in_a_shear_wave_whole() -> None:
    impedance = RHO * SPEED / np.sqrt(2.0)
    assert left_energy(impedance, 1) < 1e-3
    assert left_energy(impedance / 3.0, 1) == pytest.approx(0.25, rel=5e-3)


def test_the_power_of_dashpots_is_in_the_balance() -> None:
    """Energy and dissipated work add up to what there was, and a steady pull comes out as damping v."""
    sheet = bar([{"kind": "traction", "body": "left", "traction": [-50.0, 0.0]}], cells=8)
    sheet |= {"dissipation": [{"kind": "side_dashpot", "body": "right", "damping": 4e3}]}
    sheet |= {"stepper": {"kind": "leapfrog", "dt": 2e-4}, "run": {"steps": 4000}}
    run = mg.run({**sheet, "observe": [{"kind": "energies", "every": 100}]}, out="run")
    balance = np.asarray(run["total"]) + np.asarray(run["dissipated"])
    assert np.abs(balance - balance[0]).max() < 2e-3 * run["dissipated"][-1]


@pytest.mark.parametrize("stepper", ["implicit_midpoint", "leapfrog"])
def test_a_mass_on_a_spring_and_a_dashpot_swings_as_on_paper(stepper: str) -> None:
    """m x'' + c x' + k x = 0 of a stiff block: x = e^(-a t) cos(w t) + ..., a = c / 2 m."""
    m, k, c = RHO * LONG * HIGH, 4e4 * HIGH, 300.0 * HIGH
    solid = {**BAR, "youngs_modulus": 2e8}
    scene = bar([{"kind": "foundation", "body": "left", "stiffness": k / HIGH}], cells=1)
    scene["energy"][0] = solid
    scene |= {"dissipation": [{"kind": "side_dashpot", "body": "left", "damping": c / HIGH}]}
    scene |= {"hold": [{"body": "bottom", "axes": "y"}]}
    dt, steps = (5e-3, 200) if stepper == "implicit_midpoint" else (1e-4, 5000)
    scene |= {"stepper": {"kind": stepper, "dt": dt}, "run": {"steps": steps}}
    one = mg.load(scene)
    x = one.fields["x"].values.astype(float)
    one.fields["x"].set(x + np.array([1e-3, 0.0]))
    one.step(steps)
    a = c / (2.0 * m)
    w, t = np.sqrt(k / m - a * a), dt * steps
    expected = 1e-3 * np.exp(-a * t) * (np.cos(w * t) + a / w * np.sin(w * t))
    found = (one.fields["x"].values - x)[:, 0]
    assert np.abs(found - expected).max() < 1e-2 * 1e-3


def test_sensitivities_by_the_stiffness_of_a_foundation_are_exact() -> None:
    pulled = {"kind": "traction", "body": "right", "traction": [1e3, 0.0]}
    spring = {"kind": "foundation", "body": "left", "stiffness": 5e4}
    search = {"kind": "newton", "tolerance": {"force": 1e-10}}
    one = mg.load(bar([spring, pulled], stepper=search, hold=[{"body": "bottom", "axes": "y"}]))
    equilibrium = Equilibrium(one.stepper, [], 60)
    assert equilibrium.find()
    slopes = np.zeros(one.fields["x"].shape)
    slopes[-1, 0] = 1.0
    found = equilibrium.pulled_back({"x": slopes}, ["foundation.stiffness", "foundation.tangential"])
    assert np.ravel(found["foundation.stiffness"])[0] == pytest.approx(-1e3 / 5e4**2, rel=1e-8)
    assert np.ravel(found["foundation.tangential"])[0] == pytest.approx(0.0, abs=1e-12)


def test_members_at_other_places_are_at_rest_there() -> None:
    """Springs follow a state that is made elsewhere, and not one that begins displaced."""
    springs = [
        {"kind": "foundation", "body": "left", "stiffness": 5e4},
        {"kind": "ground_spring", "body": "bottom", "stiffness": [10.0, 1e3]},
        {"kind": "side_spring", "body": "top", "stiffness": 5e4},
    ]
    scene = bar(springs, observe=[{"kind": "frames", "every": 20}, {"kind": "energies", "every": 20}])
    scene["ensemble"] = {"vary": {"state.origin": {"list": [[3.0, 3.0], [-1.0, 8.0]]}}}
    run = mg.run(scene, out="run")
    x = np.asarray(run["position"])
    assert np.abs(x[-1] - x[0]).max() < 1e-12
    assert np.abs(np.asarray(run["total"])).max() < 1e-18


def test_a_start_that_is_displaced_is_not_at_rest() -> None:
    scene = bar([{"kind": "foundation", "body": "left", "stiffness": 5e4}])
    one = mg.load(scene)
    one.fields["x"].set(one.fields["x"].values + np.array([0.02, 0.0]))
    assert one.potential.value() == pytest.approx(0.5 * 5e4 * HIGH * 0.02**2, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stiffness": -1.0}, "stiffness"),
        ({"stiffness": "5 N/m"}, "Pa/m|N m"),
        ({"body": "lefts"}, "did you mean 'left'"),
        ({"stiffness": float("nan")}, "stiffness"),
    ],
)
def test_bad_foundations_are_refused(change: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        mg.load(
            bar([{"kind": "foundation", "body": "left", "stiffness": 5e4, **change}], units={"system": "si"})
        )


def test_a_scene_with_springs_and_dashpots_is_checked() -> None:
    springs = [
        {"kind": "foundation", "body": "left", "stiffness": 5e4, "tangential": 1e3},
        {"kind": "side_spring", "body": "top", "stiffness": 5e4, "tangential": 1e3},
        {"kind": "ground_spring", "body": "bottom", "stiffness": [10.0, 1e3]},
    ]
    dashpot = {"kind": "side_dashpot", "body": "right", "damping": 4e3, "tangential": 1e3}
    scene = bar(springs, dissipation=[dashpot], stepper={"kind": "leapfrog", "dt": 1e-4}, run={"steps": 2})
    mg.run(scene, out="run")
    assert main(["check", "run/scene.toml"]) == 0
