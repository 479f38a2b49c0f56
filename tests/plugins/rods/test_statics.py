"""Rods at rest against closed forms: beams, Euler's elastica, circles, helical springs, tapers."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import minusgrad as mg
from tests.support.laws import fitted_order
from tests.support.rods import (
    AREA,
    DENSITY,
    EA,
    EI,
    GJ,
    MOMENT,
    RADIUS,
    SHEAR,
    YOUNG,
    places,
    rod_scene,
    solved,
)

MODELS = [False, True]
THIN = {"kind": "circle", "radius": 2e-3}
THIN_EI = YOUNG * np.pi * 2e-3**4 / 4.0


def elastica(load: float) -> tuple[float, float]:
    """Tip (down, along) of a cantilever of length 1 under a dead load across it, P L^2 / EI = `load`."""
    a = np.sqrt(load)

    def miss(k: float) -> float:
        return float(ellipk(k * k) - ellipkinc(np.arcsin(1.0 / (np.sqrt(2.0) * k)), k * k) - a)

    k = brentq(miss, 1.0 / np.sqrt(2.0) + 1e-12, 1.0 - 1e-12)
    start = np.arcsin(1.0 / (np.sqrt(2.0) * k))
    down = 1.0 - 2.0 / a * (ellipe(k * k) - ellipeinc(start, k * k))
    return float(down), float(np.sqrt(2.0 * (2.0 * k * k - 1.0)) / a)


def test_cantilever_of_the_public_bench():
    """CosseratBench's cantilever, 20 elements: below 1e-3 of Euler and Bernoulli's deflection."""
    tip = places(solved(rod_scene(tip=[0.0, 0.0, -7.5e-3])))[-1]
    assert abs(-tip[2] / (7.5e-3 / (3.0 * EI)) - 1.0) < 9e-4


@pytest.mark.parametrize("shear", MODELS)
def test_small_deflections_of_second_order(shear):
    """F L^3 / 3 EI, and with shear F L / (6/7 G A) more."""
    exact = 1.0 / (3.0 * EI) + shear * 1.0 / (6.0 / 7.0 * SHEAR * AREA)
    errors = []
    for n in (10, 20, 40):
        tip = places(solved(rod_scene({"elements": n}, {"shear": shear}, tip=[0.0, 0.0, -1e-6])))[-1]
        errors.append(abs(-tip[2] / 1e-6 / exact - 1.0))
    assert errors[-1] < 5e-4
    assert abs(fitted_order(errors, (10, 20, 40)) - 2.0) < 0.1


@pytest.mark.parametrize("shear", MODELS)
def test_stretch_is_exact(shear):
    """F L / EA."""
    tip = places(solved(rod_scene({"elements": 3}, {"shear": shear}, tip=[1e-2, 0.0, 0.0])))[-1]
    assert abs((tip[0] - 1.0) / 1e-2 * EA - 1.0) < 1e-9


def elastica_error(n: int, shear: bool) -> float:
    stepper = {"load_steps": 8, "loads": ["load.force"]}
    scene = rod_scene(
        {"elements": n, "section": THIN}, {"shear": shear}, stepper, tip=[0.0, 0.0, -10.0 * THIN_EI]
    )
    tip = places(solved(scene | {"run": {"steps": 8}}, 8))[-1]
    down, along = elastica(10.0)
    return float(np.hypot(-tip[2] - down, tip[0] - along))


def test_elastica_of_second_order():
    """Euler 1744: a load of 10 EI / L^2 bends the tip to 81 % of the length."""
    errors = [elastica_error(n, False) for n in (10, 20, 40)]
    assert errors[1] < 1.3e-3
    assert abs(fitted_order(errors, (10, 20, 40)) - 2.0) < 0.1


@pytest.mark.long
def test_elastica_of_a_thin_rod_with_shear():
    errors = [elastica_error(n, True) for n in (10, 20, 40)]
    assert abs(fitted_order(errors, (10, 20, 40)) - 2.0) < 0.1


@pytest.mark.parametrize("shear", MODELS)
def test_couple_bends_to_a_circle(shear):
    """A guide that turns the end by 2 pi closes the rod to a regular polygon, U = EI (2 pi)^2 / 2 L."""
    n = 12
    rod = {
        "shear": shear,
        "shear_modulus": 2.0 * YOUNG,
        "clamps": ["first", {"end": "last", "angle": 2.0 * np.pi, "axis": [0, 1, 0]}],
    }
    stepper = {"load_steps": 8, "loads": ["rod_last.angle"]}
    made = solved(rod_scene({"elements": n}, rod, stepper, run={"steps": 8}), 8)
    x = places(made)
    assert np.abs(x[-1] - x[0]).max() < 1e-9
    radii = np.linalg.norm(x[:-1] - x[:-1].mean(axis=0), axis=1)
    assert np.abs(radii * 2.0 * n * np.sin(np.pi / n) - 1.0).max() < 1e-9
    assert abs(made.potential.value() / (0.5 * EI * (2.0 * np.pi) ** 2) - 1.0) < 1e-12


def test_twist_is_even_over_many_turns():
    """Five turns on a rod under tension: the energy GJ angle^2 / 2 L, half a turn at most on a joint."""
    angle = 10.0 * np.pi
    rod = {"clamps": ["first", {"end": "last", "angle": angle}], "shear": True}
    stepper = {"load_steps": 12, "loads": ["rod_last.angle"]}
    held = [{"body": "first", "field": "x"}, {"body": "last", "field": "x"}]
    scene = rod_scene({"elements": 12}, rod, stepper, hold=held, run={"steps": 12})
    scene["compound"][0]["youngs_modulus"] = 1e9  # does not buckle
    made = solved(scene, 12)
    assert abs(made.potential.value() / (0.5 * GJ * angle**2) - 1.0) < 1e-12
    assert np.abs(places(made)[:, 1:]).max() < 1e-12


@pytest.mark.parametrize(
    ("state", "natural"),
    [
        ({"kind": "rod_circle", "elements": 9, "radius": 0.3, "angle": 2.0}, "shape"),
        ({"kind": "rod_circle", "elements": 9, "radius": 0.3}, "shape"),
        ({"kind": "rod_helix", "elements": 30, "radius": 0.3, "pitch": 0.1, "turns": 2.0}, "shape"),
        ({"kind": "rod", "normal": [0, 1, 1]}, "straight"),
    ],
)
def test_natural_shapes_bear_nothing(state, natural):
    """Rods as they begin have no energy and no force, with clamps at all their ends."""
    closed = state["kind"] == "rod_circle" and "angle" not in state
    clamps = [] if closed else ["first", "last"]
    made = mg.load(rod_scene(state | {"natural": natural}, {"clamps": clamps, "shear": True}, hold=[]))
    assert abs(made.potential.value()) < 1e-20
    for field in "xq":
        assert np.abs(made.potential.gradient(field)).max() < 1e-11


def test_natural_curvature_and_twist_make_a_helix():
    """A free straight rod with kappa and tau winds itself up: radius kappa / (kappa^2 + tau^2), order 2."""
    kappa, tau = 3.0, 2.0
    errors = []
    for n in (12, 24):
        natural = {"curvature": [0.0, kappa], "twist": tau}
        stepper = {"gradient": 1e-10}  # of no force at all none is a part of the largest
        made = solved(rod_scene({"elements": n, "natural": natural}, {"shear": True}, stepper=stepper))
        x = places(made)
        assert made.potential.value() < 1e-12 * EI
        axis = np.linalg.norm(x[-1] - x[0])
        angle = np.hypot(kappa, tau)
        radius, rise = kappa / angle**2, tau / angle
        errors.append(abs(axis - np.hypot(2.0 * radius * np.sin(angle / 2.0), rise)))
    assert errors[1] < 2e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1


def spring_stiffness(radius: float, pitch: float, turns: float, ei: float, gj: float) -> float:
    """Force per rise of a helix between clamps that slide along its axis: its compliance, integrated."""
    a = np.linspace(0.0, 2.0 * np.pi * turns, 20001)
    slope = pitch / (2.0 * np.pi)
    x = np.stack([radius * np.cos(a), radius * np.sin(a), slope * a], axis=1)
    per = np.hypot(radius, slope)
    t = np.stack([-radius * np.sin(a), radius * np.cos(a), slope + 0.0 * a], axis=1) / per
    d = x[-1] - x
    moment = np.zeros((len(a), 3, 6))
    moment[:, :, 3:] = np.eye(3)
    for j in range(3):
        moment[:, :, j] = np.cross(d, np.eye(3)[j])
    bends = np.eye(3) / ei + (1.0 / gj - 1.0 / ei) * np.einsum("ai,aj->aij", t, t)
    compliance = simpson(np.einsum("aki,akl,alj->aij", moment, bends, moment), x=a * per, axis=0)
    return float(np.linalg.inv(compliance)[2, 2])


def test_helical_spring():
    """A spring of four turns, of second order; within 1 % of G d^4 / (8 D^3 N) at this pitch."""
    radius, wire, pitch, turns = 0.05, 0.003, 0.02, 4.0
    ei = YOUNG * np.pi * wire**4 / 4.0
    gj = 2.0 * ei * SHEAR / YOUNG
    exact = spring_stiffness(radius, pitch, turns, ei, gj)
    assert abs(exact / (gj / (2.0 * np.pi * radius**3 * turns)) - 1.0) < 0.01
    force, errors = 1e-3 * exact * radius, []
    held = [{"body": "first", "field": "x"}, {"body": "last", "field": "x", "axes": "xy"}]
    for n in (80, 160):
        state: dict[str, Any] = {"kind": "rod_helix", "elements": n, "radius": radius, "pitch": pitch}
        state |= {"turns": turns, "section": {"kind": "circle", "radius": wire}}
        made = solved(rod_scene(state, {"clamps": ["first", "last"]}, tip=[0, 0, force], hold=held))
        errors.append(abs(force / (places(made)[-1, 2] - turns * pitch) / exact - 1.0))
    assert errors[1] < 1.1e-3
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1


def test_rectangle_bends_in_two_directions():
    """A force along d1 bends about d2, by E width^3 height / 12; one along d2 about d1."""
    section = {"kind": "rectangle", "width": 0.02, "height": 0.04}
    state = {"section": section, "normal": [0.0, 1.0, 0.0], "elements": 40}
    tip = places(solved(rod_scene(state, tip=[0.0, 1e-6, 1e-6])))[-1]
    moments = [0.04 * 0.02**3 / 12.0, 0.02 * 0.04**3 / 12.0]
    for found, moment in zip(tip[1:], moments, strict=True):
        assert abs(found / (1e-6 / (3.0 * YOUNG * moment)) - 1.0) < 1e-3


def test_taper_of_second_order():
    """Cone from r to r/2: F L^3 / (3 EI(0)) r0 / r1, of a cantilever loaded at its thin end."""
    exact = 1.0 / (3.0 * EI) * 2.0
    errors = []
    for n in (10, 20, 40):
        state = {"elements": n, "section": {"kind": "circle", "radius": [RADIUS, RADIUS / 2.0]}}
        tip = places(solved(rod_scene(state, tip=[0.0, 0.0, -1e-7])))[-1]
        errors.append(abs(-tip[2] / 1e-7 / exact - 1.0))
    assert abs(fitted_order(errors, (10, 20, 40)) - 2.0) < 0.2
    assert errors[-1] < 2e-3


def test_mass_and_inertia():
    """The mass of the rod, and 4 rho I l for each frame, half of it for bending."""
    fields = mg.load(rod_scene()).fields
    assert abs(fields["m"].values.sum() / (DENSITY * AREA) - 1.0) < 1e-14
    assert abs(fields["q_inertia"].values.sum() / (4.0 * DENSITY * 2.0 * MOMENT) - 1.0) < 1e-14
    bent = mg.load(rod_scene({"inertia": "bending"})).fields
    assert abs(bent["q_inertia"].values.sum() / (4.0 * DENSITY * MOMENT) - 1.0) < 1e-14
