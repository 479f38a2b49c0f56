"""Membranes, fabrics and bending of sheets beside paper: stretch, shear, cylinders, catenaries, arcs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import minusgrad as mg
from minusgrad_shells.fabric_curves import FabricCurve, measured_curve
from tests.support.sheets import NU, STIFFNESS, THICKNESS, YOUNG, bent, energy_at, sheet_scene
from tests.support.toml_scenes import toml_text

MU = YOUNG / (2.0 * (1.0 + NU))
LAM = 2.0 * MU * NU / (1.0 - 2.0 * NU)
FREE = {"bending": "none"}
AREA = 0.12


def membrane(material: str) -> mg.Simulation:
    return mg.load(sheet_scene(cloth=FREE | {"material": material}))


def test_neo_hookean_pulled_along_one_axis() -> None:
    """mu (b^2 - 1) + lambda ln(a b^2) = 0 gives the stretch b across; P = mu (a^2 - b^2) / a."""
    made = membrane("neo_hookean")
    x = made.fields["x"].values.copy()
    for a in (0.7, 1.0, 1.5, 3.0):
        b = brentq(lambda b, a=a: MU * (b * b - 1.0) + LAM * np.log(a * b * b), 0.1, 5.0, xtol=1e-15)
        psi = (
            0.5 * MU * (a * a + 2.0 * b * b - 3.0)
            - MU * np.log(a * b * b)
            + 0.5 * LAM * np.log(a * b * b) ** 2
        )
        assert energy_at(made, x * [a, b, 1.0]) == pytest.approx(AREA * THICKNESS * psi, rel=1e-10, abs=1e-12)
        force = made.potential.gradient("x")
        right = np.isclose(x[:, 0], 0.4)
        pull = MU * (a * a - b * b) / a * THICKNESS * 0.3
        assert force[right, 0].sum() == pytest.approx(pull, rel=1e-9, abs=1e-8)
        assert np.abs(force[:, 1]).max() < 1e-7 * YOUNG * THICKNESS


def test_membranes_in_simple_shear() -> None:
    """Neo-Hookean: mu g^2 / 2, for J = 1 leaves it as thick. St Venant: of E = [0 g/2; g/2 g^2/2]."""
    g = 0.4
    star = YOUNG * NU / (1.0 - NU**2)
    exact = {
        "neo_hookean": 0.5 * MU * g**2,
        "st_venant_kirchhoff": MU * (g**2 / 2 + g**4 / 4) + 0.5 * star * (g**2 / 2) ** 2,
    }
    for material, psi in exact.items():
        made = membrane(material)
        x = made.fields["x"].values.copy()
        value = energy_at(made, x + g * x[:, 1:2] * [1.0, 0.0, 0.0])
        assert value == pytest.approx(AREA * THICKNESS * psi, rel=1e-10)


def bending_error(parts: int, cloth: dict[str, Any], stiffness: float, axis: int = 0) -> float:
    """U of bending on a cylinder of radius 0.2 m over D/2 k^2 per area, of its inner edges, less 1."""
    state = {"size": [0.4, 0.4], "cells": [parts, parts], "diagonals": "right"}
    made = mg.load(sheet_scene(state, cloth))
    x = made.fields["x"].values.copy()
    places = bent(x[:, [axis, 1 - axis, 2]], 5.0)[:, [axis, 1 - axis, 2]]
    made.fields["x"].set(places)
    exact = 0.5 * stiffness * 5.0**2 * 0.16 * (parts - 1) / parts
    return made.potential.by_term()["cloth_bend"] / exact - 1.0


@pytest.mark.parametrize(
    ("cloth", "stiffness", "axis"),
    [
        ({}, STIFFNESS, 0),
        ({"bending": "quadratic"}, STIFFNESS, 0),
        ({"bending_stiffness": 2e-4}, 2e-4, 1),
        ({"bending": "fabric", "bending_stiffness": 1e-4, "bending_stiffness_weft": 3e-4}, 1e-4, 0),
        ({"bending": "fabric", "bending_stiffness": 1e-4, "bending_stiffness_weft": 3e-4}, 3e-4, 1),
    ],
)
def test_a_sheet_bent_to_a_cylinder(cloth: dict[str, Any], stiffness: float, axis: int) -> None:
    """D/2 k^2 per area along both directions: exactly of folds, else with order 2."""
    errors = [abs(bending_error(parts, cloth, stiffness, axis)) for parts in (8, 16)]
    if cloth.get("bending") != "quadratic":
        assert max(errors) < 1e-12
        return
    assert errors[1] < 3e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_quadratic_bending_is_quadratic() -> None:
    """U(s x) = s^2 U(x), and so it is for displacements from the flat sheet; none for any affine map."""
    made = mg.load(sheet_scene(cloth={"bending": "quadratic"}))
    x, rng = made.fields["x"].values.copy(), np.random.default_rng(2)
    moved = 0.1 * rng.normal(size=x.shape)
    values = []
    for size in (1.0, 2.0, -1.0):
        made.fields["x"].set(x @ rng.normal(size=(3, 3)) + size * moved + 1.0)
        values.append(made.potential.by_term()["cloth_bend"])
    assert values[1] == pytest.approx(4.0 * values[0], rel=1e-10)
    assert values[2] == pytest.approx(values[0], rel=1e-10)
    assert values[0] > 1e-4


def test_a_fold_at_rest_has_its_angle() -> None:
    """Folded by its angle about the line, to the normal, U is 0; flat it is D/2 a theta^2 of each edge."""
    angle, line = 0.7, {"start": [0.2, 0.0], "end": [0.2, 0.3], "angle": 0.7}
    made = mg.load(sheet_scene(cloth={"folds": [line]}))
    x = made.fields["x"].values.copy()
    flat = 3 * 0.5 * STIFFNESS * 0.1**2 / (2 * 0.005) * angle**2
    assert energy_at(made, x) == pytest.approx(flat, rel=1e-10)
    beyond = np.maximum(x[:, 0] - 0.2, 0.0)
    folded = x + np.stack([beyond * (np.cos(angle) - 1.0), 0.0 * beyond, beyond * np.sin(angle)], axis=1)
    assert energy_at(made, folded) == pytest.approx(0.0, abs=1e-15)
    made = mg.load(
        sheet_scene({"origin": [0.0, 0.0, 1.0]}, {"natural": "flat", "folds": [line | {"angle": -0.7}]})
    )
    assert energy_at(made, folded * [1.0, 1.0, -1.0]) == pytest.approx(0.0, abs=1e-15)


LINEAR = {"warp": 500.0, "weft": 300.0, "shear": 20.0}


def fabric_files(folder: Path, curves: dict[str, np.ndarray]) -> dict[str, Any]:
    """Files of curves, rows (strain, tension), and the keys of a cloth that names them."""
    for name, rows in curves.items():
        head = "angle,tension" if name == "shear" else "strain,tension"
        lines = [",".join(map(repr, row)) for row in rows.tolist()]
        (folder / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n")
    files = {name: f"{name}.csv" for name in curves}
    return {"material": "fabric", "youngs_modulus": None, "poissons_ratio": None} | files


def straight_lines() -> dict[str, np.ndarray]:
    return {name: np.array([[0.0, 0.0], [0.5, 0.5 * k]]) for name, k in LINEAR.items()}


def loaded(folder: Path, scene: dict[str, Any]) -> mg.Simulation:
    (folder / "a.toml").write_text(toml_text(scene))
    return mg.load(folder / "a.toml")


def test_a_fabric_pulls_as_it_was_measured(tmp_path: Path) -> None:
    """Forces per width are those of the rows of three curves, at every row, and go on along their slopes."""
    e = np.array([0.0, 0.01, 0.03, 0.06, 0.1])
    warp = np.stack([e, 8e3 * e**2 + 50.0 * e], axis=1)
    weft = np.stack([np.append(-0.05, e[1:]), np.array([-1.0, 2.0, 4.0, 40.0, 90.0])], axis=1)
    weft = np.insert(weft, 1, [0.0, 0.0], axis=0)
    shear = np.array([[0.0, 0.0], [0.2, 1.0], [0.6, 9.0]])
    keys = fabric_files(tmp_path, {"warp": warp, "weft": weft, "shear": shear})
    made = loaded(tmp_path, sheet_scene(cloth=keys | FREE))
    x = made.fields["x"].values.copy()
    for axis, rows, side in ((0, warp, 0.3), (1, weft, 0.4)):
        end = np.isclose(x[:, axis], x[:, axis].max())
        for strain, tension in rows:
            energy_at(made, x * (1.0 + strain * np.eye(3)[axis]))
            force = made.potential.gradient("x")
            assert force[end, axis].sum() == pytest.approx(tension * side, abs=2e-3 * rows[-1, 1] * side)
            assert np.abs(force[:, 1 - axis]).max() < 1e-10
    further = warp[-1, 1] + 0.05 * (2.0 * 8e3 * 0.1 + 50.0)
    energy_at(made, x * [1.15, 1.0, 1.0])
    found = made.potential.gradient("x")[np.isclose(x[:, 0], 0.4), 0].sum() / 0.3
    assert found == pytest.approx(further, rel=1e-9)
    for angle in (-0.6, 0.2):
        frame = np.array([[1.0, 0.0, 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
        before, after = (energy_at(made, x @ (frame + h * turned_frame(angle))) for h in (-1e-5, 1e-5))
        slope = (after - before) / 2e-5 / AREA
        assert slope == pytest.approx(np.sign(angle) * np.interp(abs(angle), *shear.T), rel=1e-3)


def turned_frame(angle: float) -> np.ndarray:
    """The derivative of the frame of two bars by their angle."""
    return np.array([[0.0, 0.0, 0.0], [np.cos(angle), -np.sin(angle), 0.0], [0.0, 0.0, 0.0]])


def test_the_fibre_angle_exchanges_warp_and_weft(tmp_path: Path) -> None:
    """At 90 degrees; at 45 a pull along x is the same strain of both, and shear: k e^2 / 2 of each."""
    keys = fabric_files(tmp_path, straight_lines()) | FREE
    values = {}
    for angle in (0.0, 45.0, 90.0):
        made = loaded(tmp_path, sheet_scene(cloth=keys | {"fibre_angle": f"{angle} deg"}))
        values[angle] = energy_at(made, made.fields["x"].values * [1.1, 1.0, 1.0]) / AREA
    assert values[0.0] == pytest.approx(0.5 * 500.0 * 0.1**2, rel=1e-9)
    assert values[90.0] == pytest.approx(0.5 * 300.0 * 0.1**2, rel=1e-9)
    strain, sheared = np.sqrt((1.1**2 + 1.0) / 2.0) - 1.0, np.arcsin((1.0 - 1.1**2) / (1.0 + 1.1**2))
    assert values[45.0] == pytest.approx(0.5 * 800.0 * strain**2 + 0.5 * 20.0 * sheared**2, rel=1e-9)


def test_curves_are_monotone_and_meet_their_rows() -> None:
    """Tension falls nowhere, W' = T, and rows at even strains are met exactly."""
    strain = np.array([-0.1, 0.0, 0.1, 0.2, 0.3])
    tension = np.array([-1.0, 0.0, 0.0, 30.0, 31.0])
    even = FabricCurve.through(strain, tension)
    at = np.rint((strain + 0.1) / even.spacing).astype(int)
    np.testing.assert_allclose(even.rows[at, 1], tension, atol=1e-12)
    assert even.rows[at[1], 0] == 0.0
    uneven = FabricCurve.through(strain + np.array([0.0, 0.0, 0.037, 0.0, 0.0]), tension)
    for curve in (even, uneven):
        s = np.linspace(0.0, 1.0, 11)
        low, high = curve.rows[:-1, None], curve.rows[1:, None]
        cubic = low[..., 1] + (high - low)[..., 1] * s**2 * (3 - 2 * s)
        cubic = cubic + low[..., 2] * s * (1 - s) ** 2 - high[..., 2] * s**2 * (1 - s)
        assert (np.diff(cubic, axis=1) >= -1e-12).all()
        work = curve.spacing * np.trapezoid(cubic, s, axis=1)
        np.testing.assert_allclose(np.diff(curve.rows[:, 0]), work, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "strain,tension\n0,0\n0.1,5\n0.2,4\n",
            "a.csv:4: column 'tension': must not fall with the strain, got 4",
        ),
        ("strain,tension\n0,0\n0.1,5\n0.1,6\n", "a.csv:4: column 'strain': must grow, got 0.1 after 0.1"),
        ("strain,tension\n0,1\n0.1,5\n", "a.csv: column 'tension': must be 0 at rest, got 1 for warp"),
        ("strain,tension\n0.1,0\n0.2,5\n", "a.csv: column 'strain': must begin at 0 or below, got 0.1"),
        ("strain,tension\n0,0\n", "a.csv: needs two rows or more, got 1"),
        ("strain,tension\n0,0\n0.1,0\n", "a.csv: column 'tension': must grow, got 0 in all rows"),
        ("strain,force\n0,0\n0.1,1\n", "a.csv: no column named 'tension'"),
    ],
)
def test_bad_curves_are_refused(text: str, said: str) -> None:
    with pytest.raises(mg.UserError) as refused:
        measured_curve("warp", "a.csv", text.encode(), "strain")
    assert said in str(refused.value)


STRIP = {"size": [1.0, 0.05], "diagonals": "right", "area_density": 0.5}
ENDS = [{"body": "left", "field": "x"}]


def hung_strip(folder: Path, parts: int, **more: Any) -> mg.Simulation:
    """A strip of straight curves between two lines, pulled by 5 % at first."""
    keys = fabric_files(folder, straight_lines()) | FREE
    held = [*ENDS, {"body": "right", "field": "x", "displacement": [0.05, 0.0, 0.0]}]
    scene = sheet_scene(STRIP | {"cells": [parts, 1]}, keys, hold=held, **more)
    made = loaded(folder, scene)
    made.step(50)
    assert not made.stepper.failed, made.stepper.verdict
    return made


def test_a_strip_hangs_as_an_elastic_catenary(tmp_path: Path) -> None:
    """Span = H L / k + 2 H / w asinh(w L / 2 H), sag = w L^2 / 8 k + H / w (sqrt(1 + (w L / 2 H)^2) - 1)."""
    weight, k = 0.5 * 40.0, 500.0

    def span(pull: float) -> float:
        return pull / k + 2.0 * pull / weight * np.arcsinh(weight / (2.0 * pull))

    pull = brentq(lambda h: span(h) - 1.05, 1.0, 500.0, xtol=1e-13)
    sag = weight / (8.0 * k) + pull / weight * (np.sqrt(1.0 + (weight / (2.0 * pull)) ** 2) - 1.0)
    errors = []
    for parts in (10, 20):
        load = [{"kind": "body_force", "acceleration": [0.0, 0.0, -40.0]}]
        made = hung_strip(tmp_path, parts, energy=load)
        errors.append(abs(-made.fields["x"].values[:, 2].min() / sag - 1.0))
    assert errors[1] < 2e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_a_strip_under_pressure_is_an_arc_of_radius_tension_over_pressure(tmp_path: Path) -> None:
    """Held at its ends, free to move in planes y = const.: R = T / p, the same tension everywhere."""
    pressure, errors = 60.0, []
    for parts in (10, 20):
        sides = [{"body": ["bottom", "top"], "field": "x", "axes": "y"}]
        held = [*ENDS, {"body": "right", "field": "x"}, *sides]
        keys = fabric_files(tmp_path, straight_lines()) | FREE
        load = [{"kind": "pressure", "pressure": -pressure}]
        made = loaded(tmp_path, sheet_scene(STRIP | {"cells": [parts, 1]}, keys, hold=held, energy=load))
        x = made.fields["x"].values
        made.fields["x"].set(x + 0.1 * np.sin(np.pi * x[:, :1]) * [0.0, 0.0, 1.0])
        made.step(50)
        assert not made.stepper.failed, made.stepper.verdict
        line = made.fields["x"].values[::2][:, [0, 2]]
        tension = 500.0 * (np.linalg.norm(np.diff(line, axis=0), axis=1) * parts - 1.0)
        assert np.ptp(tension) < 1e-2 * tension.mean()
        centre = np.linalg.lstsq(np.c_[2.0 * line, np.ones(len(line))], (line**2).sum(axis=1), rcond=None)[0]
        radius = np.sqrt(centre[2] + centre[:2] @ centre[:2])
        assert np.abs(np.linalg.norm(line - centre[:2], axis=1) / radius - 1.0).max() < 1e-3
        errors.append(abs(radius * pressure / tension.mean() - 1.0))
    assert errors[1] < 3e-3
    assert errors[1] < 0.5 * errors[0]
