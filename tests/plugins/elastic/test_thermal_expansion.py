"""Thermal strain against closed forms: free and clamped bodies, plates, plane strain, bimetals.

Timoshenko 1925, J. Opt. Soc. Am. 11, 233; Boley & Weiner 1960, Theory of Thermal Stresses, chapter 9.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.adjoint.losses import ObservedStates
from minusgrad.errors import SceneError
from minusgrad.exam import references
from tests.support.tiers import sampled

SCENES = Path(__file__).parents[3] / "scenes"
E, NU, ALPHA = 200e9, 0.3, 12e-6
MODULI = {"youngs_modulus": E, "poissons_ratio": NU}
RUBBER = {"c10": 30e9, "c01": E / (4.0 * (1.0 + NU)) - 30e9, "bulk_modulus": E / (3.0 * (1.0 - 2.0 * NU))}
OGDEN = {"shear_modulus": E / (2.0 * (1.0 + NU)), "exponent": 2.0, "bulk_modulus": RUBBER["bulk_modulus"]}
SOLIDS = {
    **dict.fromkeys(("linear", "linear_corotated", "st_venant_kirchhoff", "hencky", "neo_hookean"), MODULI),
    **dict.fromkeys(("stable_neo_hookean", "fixed_corotated"), MODULI),
    "mooney_rivlin": RUBBER,
    "ogden": OGDEN,
}
WARM = {"thermal_expansion": ALPHA, "reference_temperature": "20 degC"}
STRAIN = ALPHA * 100.0
SMALL = 3.0 * STRAIN
"""How far solids of large strains may be from the linear theory."""
HOLDS = {
    True: [{"body": "left", "axes": "x"}, {"body": "bottom", "axes": "y"}],
    False: [{"body": "left", "axes": "x"}, {"body": "front", "axes": "y"}, {"body": "bottom", "axes": "z"}],
}


def scene(kind: str, plane: bool = False, clamped: bool = False, **energy: Any) -> dict[str, Any]:
    """A body of 20 x 10 x 10 cm between symmetry planes, 100 K warmer than without stress.

    clamped: it keeps its length.
    """
    d = 2 if plane else 3
    mesh = {"kind": "rectangle" if plane else "box", "cell": "quadrilaterals" if plane else "hexahedra"}
    mesh |= {"size": ["20 cm", "10 cm", "10 cm"][:d], "cells": [2, 1, 1][:d], "density": 7800.0}
    return {
        "plugins": ["elastic"],
        "state": {**mesh, "temperature": "120 degC"},
        "energy": [{"kind": kind, **SOLIDS[kind], **WARM, **energy}],
        "hold": [*HOLDS[plane], *([{"body": "right", "axes": "x"}] * clamped)],
        "stepper": {"kind": "newton", "fields": {"x": {"scale": "1 mm"}}, "gradient": "1e-6 J"},
        "run": {"steps": 20},
        "observe": [{"kind": "stress", "every": 20, "measures": ["cauchy"]}],
    }


def found(given: dict[str, Any], tmp_path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The far corner, and the Cauchy stress of the first cell."""
    run = minusgrad.run(given, out=tmp_path / "run")
    assert run.outcome == "converged", run.outcome
    cells = next(name for name in run.names if name.endswith("cauchy_stress"))
    return run.simulation.fields["x"].values.max(axis=0), run.series(cells).value[-1][0]


KINDS = [pytest.param(kind) for kind in SOLIDS]
LINEAR, HENCKY, OGDEN = KINDS[0], KINDS[3], KINDS[-1]
FREE = [pytest.param(kind, fbar) for kind in SOLIDS for fbar in (False, True)]


@pytest.mark.parametrize(("kind", "fbar"), sampled(FREE, [FREE[0], FREE[9], FREE[15]]))
def test_free_expansion_has_no_stress(kind: str, fbar: bool, tmp_path: Path) -> None:
    corner, stress = found(scene(kind, fbar=fbar), tmp_path)
    assert corner == pytest.approx((1.0 + STRAIN) * np.array([0.2, 0.1, 0.1]), rel=1e-12)
    assert np.abs(stress).max() < 1e-12 * E


@pytest.mark.parametrize("kind", sampled(KINDS, [LINEAR, HENCKY]))
def test_plane_strain_is_stressed_across(kind: str, tmp_path: Path) -> None:
    """sigma_33 = -E alpha dT, and the sides grow by (1 + nu) alpha dT; exactly so for small strains."""
    corner, stress = found(scene(kind, plane=True), tmp_path)
    near = 1e-12 if kind == "linear" else SMALL
    assert corner == pytest.approx((1.0 + (1.0 + NU) * STRAIN) * np.array([0.2, 0.1]), rel=near * STRAIN)
    assert stress[2, 2] == pytest.approx(-E * STRAIN, rel=near)
    assert np.abs(stress[:2]).max() < 1e-12 * E


@pytest.mark.parametrize("kind", sampled(KINDS, [LINEAR, HENCKY, OGDEN]))
def test_a_clamped_bar_and_plate_are_pressed(kind: str, tmp_path: Path) -> None:
    """sigma = -E alpha dT; a bar of large strains and a plate in plane stress agree to rounding."""
    corner, bar = found(scene(kind, clamped=True), tmp_path / "bar")
    side, plate = found(scene(kind, plane=True, clamped=True, plane_stress=True), tmp_path / "plate")
    near = 1e-12 if kind == "linear" else SMALL
    assert bar[0, 0] == pytest.approx(-E * STRAIN, rel=near)
    assert plate[0, 0] == pytest.approx(bar[0, 0], rel=1e-10)
    assert side[1] == pytest.approx(corner[1], rel=1e-13)
    assert np.abs(bar[1:]).max() < 1e-12 * E


@pytest.mark.parametrize("fbar", [False, True], ids=["plane stress", "plane strain, fbar"])
def test_a_gradient_across_bends_without_stress(
    fbar: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """u = a (x y, (y^2 - x^2) / 2), a = alpha dT/dy, in plane strain 1 + nu times this; T in degC."""
    given = scene("linear", plane=True, plane_stress=not fbar, fbar=fbar)
    given["state"] |= {"order": 2, "cells": [4, 2]}
    given["hold"] = [{"body": "left", "axes": "x"}]
    x = np.array(minusgrad.load(given).fields["x"].values)
    rows = (20.0 + 800.0 * x[:, 1]).tolist()
    (tmp_path / "T.csv").write_text("\n".join(["T", *map(repr, rows)]))
    given["initial"] = {"fields": {"T": {"file": "T.csv", "unit": "degC"}}}
    monkeypatch.chdir(tmp_path)
    run = minusgrad.run(given, out=tmp_path / "run")
    u, factor = run.simulation.fields["x"].values - x, 1.0 + NU * fbar
    bent = np.stack([x[:, 0] * x[:, 1], 0.5 * (x[:, 1] ** 2 - x[:, 0] ** 2)], axis=1)
    expected = factor * 800.0 * ALPHA * bent
    u[:, 1] += expected[0, 1] - u[0, 1]
    assert u == pytest.approx(expected, abs=(3e-3 if fbar else 1e-10) * np.abs(expected).max())
    cells = next(name for name in run.names if name.endswith("cauchy_stress"))
    stress = run.series(cells).value[-1]
    assert np.abs(stress[:, :2, :2]).max() < (3e-6 if fbar else 1e-11) * E


def test_stress_follows_a_coefficient_that_is_written_between_steps(tmp_path: Path) -> None:
    """Load steps scale it: a plate at its full load has the stress of one that was loaded at once."""
    given = scene("hencky", plane=True, clamped=True, plane_stress=True)
    _, once = found(given, tmp_path / "once")
    given["stepper"] |= {"load_steps": 2, "loads": ["hencky.thermal_expansion"]}
    given["run"], given["observe"][0]["every"] = {"steps": 2}, 1
    _, stepped = found(given, tmp_path / "stepped")
    assert stepped == pytest.approx(once, rel=1e-9, abs=1e-9 * E)


def test_every_derivative_is_exact() -> None:
    """By T, alpha and T_0, in the plane and in space, against differences of the plain evaluation."""
    rng = np.random.default_rng(0)
    for given in (
        scene("neo_hookean", plane=True),
        scene("hencky", plane=True, plane_stress=True),
        scene("linear"),
    ):
        simulation = minusgrad.load(given)
        x, T = simulation.fields["x"], simulation.fields["T"]
        x.set(x.values + 1e-4 * rng.normal(size=x.shape))
        T.set(T.values + 50.0 * rng.normal(size=T.shape))
        (term,) = simulation.potential.terms.values()
        expected = references.differences(term)
        for argument in ("x", "T", "thermal_expansion", "reference_temperature"):
            found, scale = simulation.potential.gradient, np.abs(expected[argument]).max()
            slope = found(argument) if argument in ("x", "T") else found(f"{term.name}.{argument}")
            assert np.ravel(slope) == pytest.approx(np.ravel(expected[argument]), abs=1e-7 * scale)


def test_an_equilibrium_by_expansion_and_temperatures() -> None:
    """x grows by alpha (T - T_0) along each edge: of the small strains exactly, the derivatives too."""
    simulation = minusgrad.load(scene("linear"))
    start = np.array(simulation.fields["x"].values)
    one = Equilibrium(simulation.stepper, [ObservedStates(simulation.fields, ["x"], [0])], 60)
    assert one.find()
    weights = np.random.default_rng(2).normal(size=start.shape)
    names = ["linear.thermal_expansion", "linear.reference_temperature", "T"]
    found = one.pulled_back({"x": weights}, names)
    reach = np.sum(weights * start)
    assert found[names[0]] == pytest.approx(100.0 * reach, rel=1e-9)
    assert found[names[1]] == pytest.approx(-ALPHA * reach, rel=1e-9)
    assert np.sum(found["T"]) == pytest.approx(ALPHA * reach, rel=1e-9)


def test_temperatures_of_a_heat_run(tmp_path: Path) -> None:
    """The claims of both scenes; the strip bends by the temperatures of the oven, which are lower."""
    heated = minusgrad.run(SCENES / "bimetal_heating.toml", out=tmp_path / "heated")
    exact = 393.15 - 100.0 * np.exp(-120.0 / (8300.0 * 450.0 * 1e-4 / (50.0 * 0.201)))
    T = heated.simulation.fields["T"].values
    assert (T.mean(), T) == (pytest.approx(exact, abs=0.02), pytest.approx(exact, abs=0.1))
    assert round(exact - 273.15, 2) == 116.04
    strip = SCENES / "bimetal.toml"
    for initial, rise in ({}, 100.0), ({"initial.run": str(tmp_path / "heated")}, exact - 293.15):
        run = minusgrad.run(strip, initial, tmp_path / f"bent{len(initial)}")
        assert (run.outcome, sunk(run)) == ("converged", pytest.approx(timoshenko(rise), rel=1e-3))
    early = {"initial.run": str(tmp_path / "heated"), "initial.step": 20, "initial.take": ["T"]}
    T = minusgrad.load(strip, early).fields["T"].values
    assert np.ptp(T) < 1.0
    assert 293.15 + 60.0 < T.mean() < 293.15 + 75.0


def timoshenko(rise: float) -> float:
    """How far the end of the half of a strip sinks, on an arc of the curvature of a bimetal."""
    n, mismatch, length, depth = 1.4, 17.8e-6, 0.1, 1e-3
    curvature = 24.0 * mismatch * rise / (depth * (14.0 + n + 1.0 / n))
    return (1.0 - np.cos(curvature * length)) / curvature


def sunk(run: Any) -> float:
    """How far the middle of the free end has sunk."""
    start, end = run["position"][0], run["position"][-1]
    free = np.isclose(start[:, 0], 0.1)
    return float((start - end)[free, 1].mean())


def test_temperatures_of_another_mesh_are_refused(tmp_path: Path) -> None:
    heat = (SCENES / "bimetal_heating.toml").read_text()
    for old, new in (
        ("mesh = {", "mesh = SIZE #"),
        ('{ invar = "10 W m^-1 K^-1", brass = "110 W m^-1 K^-1" }', '"10 W m^-1 K^-1"'),
        ('body = "air"', 'body = "right"'),
    ):
        heat = heat.replace(old, new)
    for name, size in ("turned", ["10 cm", "20 cm"]), ("same", ["20 cm", "10 cm"]):
        mesh = f'{{ kind = "rectangle", size = {size}, cells = [3, 3], density = 8300 }}'
        (tmp_path / f"{name}.toml").write_text(heat.replace("SIZE", mesh))
        minusgrad.run(tmp_path / f"{name}.toml", {"run.steps": 2, "observe": []}, tmp_path / name)
    given = scene("linear", plane=True)
    given["state"] |= {"cells": [3, 3], "cell": "triangles"}
    given["initial"] = {"run": str(tmp_path / "same"), "take": ["T"]}
    assert np.ptp(minusgrad.load(given).fields["T"].values) < 1.0
    given["initial"] = {"run": str(tmp_path / "turned")}
    with pytest.raises(SceneError, match="its field 'T' belongs to nodes at other places, got node 3 at"):
        minusgrad.load(given)


def test_single_precision_and_members(tmp_path: Path) -> None:
    """A bar grows by 1.2 mm per metre in f32, and by another coefficient in each member."""
    given = scene("neo_hookean") | {"runtime": {"precision": "f32"}, "observe": []}
    given["stepper"] |= {"gradient": "1 J"}
    run = minusgrad.run(given, out=tmp_path / "f32")
    assert run.simulation.fields["x"].values.max() == pytest.approx(0.2 * (1.0 + STRAIN), rel=2e-6)
    vary = {"hencky.thermal_expansion": {"list": [1e-5, 2e-5]}}
    several = scene("hencky", plane=True, plane_stress=True) | {"ensemble": {"vary": vary}}
    several["observe"] = [{"kind": "frames", "every": 1}]
    members = minusgrad.run(several, out=tmp_path / "members")
    x = members["position"][-1]
    assert np.max(x, axis=(-1, -2)) == pytest.approx([0.2 * 1.001, 0.2 * 1.002], rel=1e-12)


@pytest.mark.parametrize(
    ("own", "without", "message"),
    [
        ({}, ("energy", 0, "reference_temperature"), "needs `reference_temperature` beside it, got none"),
        (
            {},
            ("energy", 0, "thermal_expansion"),
            "reference_temperature: needs `thermal_expansion` beside it",
        ),
        (
            {},
            ("state", "temperature"),
            "thermal_expansion: needs the field 'T' of temperatures, got none; give",
        ),
        ({"thermal_expansion": "12e-6 1/degC"}, (), "a step of 1 degC is 1 K"),
        ({"thermal_expansion": "12e-6 K"}, (), "'12e-6 K' is a temperature"),
        ({"reference_temperature": "-300 degC"}, (), "below absolute zero"),
    ],
)
def test_halves_of_thermal_strain_are_refused(own: dict[str, Any], without: tuple, message: str) -> None:
    given = scene("linear", plane=True, **own)
    if without:
        *path, last = without
        table: Any = given
        for key in path:
            table = table[key]
        del table[last]
    with pytest.raises(SceneError) as error:
        minusgrad.load(given)
    assert message in str(error.value)
