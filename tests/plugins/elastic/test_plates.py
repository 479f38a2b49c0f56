"""Plates in plane stress of nonlinear solids against the same solid in space, whose free face has no stress.

The reference is a tetrahedron of the material in space: t makes P_33 zero (SciPy's root of the engine's P),
and stresses, tangents and mixed derivatives of the plate follow by elimination of F_33,

    P* = P,     K* = K - K_t K_t^T / K_tt,     d2u/dF dp = P_p - K_t (dP_33/dp) / K_tt.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from minusgrad.errors import EnergyError, MinusgradError
from minusgrad.plugin import Node, least_value, local_energy, ti
from minusgrad_elastic.materials.registered import MATERIALS as REGISTERED
from minusgrad_elastic.materials.registered import PLATES as FORMS
from tests.support import stretch_energies
from tests.support.command import minusgrad
from tests.support.single_cell import Cell
from tests.support.tiers import sampled

ENERGIES = {energy.name: energy for energy in [*REGISTERED, *FORMS.values()]}
PLATES = {
    "neo_hookean_plane_stress": "neo_hookean",
    "stable_neo_hookean_plane_stress": "stable_neo_hookean",
    "st_venant_kirchhoff_plane_stress": "st_venant_kirchhoff",
    "compressible_mooney_rivlin_plane_stress": "mooney_rivlin",
    "compressible_ogden_plane_stress": "ogden",
}
KEPT = ("neo_hookean_plane_stress", "compressible_ogden_plane_stress")
DEFORMED = {
    "rest": np.eye(2),
    "pulled": np.array([[1.5, 0.2], [-0.1, 0.9]]),
    "pressed": np.array([[0.6, -0.3], [0.2, 0.7]]),
    "sheared": np.array([[1.0, 1.2], [0.0, 1.0]]),
}


@cache
def plate(name: str, precision: str = "f64") -> Cell:
    return Cell(ENERGIES[name], 2, precision, **stretch_energies.MATERIALS[name].parameters)


@cache
def solid(name: str) -> Cell:
    return Cell(ENERGIES[PLATES[name]], 3, **stretch_energies.MATERIALS[name].parameters)


def in_space(F: np.ndarray, t: float) -> np.ndarray:
    whole = np.diag([1.0, 1.0, t])
    whole[:2, :2] = F
    return whole


def free(name: str, F: np.ndarray) -> tuple[Cell, float]:
    """The solid with a free face, and its stretch across."""
    body = solid(name)

    def across(t: float) -> float:
        return float(body.deform(in_space(F, t)).stress()[2, 2])

    t = brentq(across, 0.3, 3.0, xtol=1e-15, rtol=1e-15)
    return body.deform(in_space(F, t)), t


def off(found: np.ndarray, expected: np.ndarray) -> float:
    assert np.isfinite(found).all()
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1.0))


@pytest.mark.parametrize("how", DEFORMED)
@pytest.mark.parametrize("name", sampled(list(PLATES), KEPT))
def test_a_plate_is_the_solid_in_space_with_a_free_face(name: str, how: str) -> None:
    F, along = DEFORMED[how], np.random.default_rng(5).normal(size=(2, 2))
    body, _ = free(name, F)
    found = plate(name).deform(F)
    P = body.stress()
    assert abs(found.energy() - body.energy()) < 1e-13
    assert off(found.stress(), P[:2, :2]) < 1e-12
    across = body.tangent(np.diag([0.0, 0.0, 1.0]))
    moved = body.tangent(in_space(along, 0.0) - np.zeros((3, 3)))
    expected = (moved - across * moved[2, 2] / across[2, 2])[:2, :2]
    assert off(found.tangent(along), expected) < 1e-12


@pytest.mark.parametrize("name", sampled(list(PLATES), KEPT[:1]))
def test_derivatives_by_moduli_are_those_of_the_solid(name: str) -> None:
    """du/dp at the same t; d2u/dF dp along dF, by elimination of F_33."""
    F, along = DEFORMED["pulled"], np.random.default_rng(6).normal(size=(2, 2))
    body, _ = free(name, F)
    found = plate(name).deform(F)
    across = body.tangent(np.diag([0.0, 0.0, 1.0]))
    moved = body.tangent(in_space(along, 0.0))
    for parameter in stretch_energies.MATERIALS[name].parameters:
        own, of_solid = f"{name}.{parameter}", f"{PLATES[name]}.{parameter}"
        assert found.potential.gradient(own) / found.volume == pytest.approx(
            body.potential.gradient(of_solid) / body.volume, rel=1e-12, abs=1e-13
        )
        along_t = _mixed(body, np.diag([0.0, 0.0, 1.0]), of_solid)
        expected = _mixed(body, in_space(along, 0.0), of_solid) - moved[2, 2] / across[2, 2] * along_t
        assert _mixed(found, along, own) == pytest.approx(expected, rel=1e-11, abs=1e-12)


def _mixed(body: Cell, along: np.ndarray, parameter: str) -> float:
    move = np.vstack([np.zeros(body.d), along.T])
    return float(np.asarray(body.potential.product({"x": move}, parameter)).sum()) / body.volume


@pytest.mark.parametrize("name", sampled(list(PLATES), KEPT[:1]))
def test_single_precision_has_its_digits(name: str) -> None:
    along = np.random.default_rng(5).normal(size=(2, 2)).astype(np.float32).astype(float)
    for F in DEFORMED.values():
        rounded = F.astype(np.float32).astype(float)
        single, double = plate(name, "f32").deform(rounded), plate(name).deform(rounded)
        assert off(single.stress(), double.stress()) < 1e-5
        assert off(single.tangent(along), double.tangent(along)) < 3e-5


@pytest.mark.parametrize("s", [0.7, 1.2, 2.0])
def test_a_neo_hookean_strip_pulled_by_its_ends(s: float) -> None:
    """Uniaxial: both sides t, mu (t^2 - 1) + lambda ln(s t^2) = 0, P = (mu (s^2 - 1) + lambda ln J) / s."""
    p = stretch_energies.ELASTIC
    mu = p["youngs_modulus"] / (2.0 + 2.0 * p["poissons_ratio"])
    lam = (
        p["youngs_modulus"]
        * p["poissons_ratio"]
        / (1.0 + p["poissons_ratio"])
        / (1 - 2 * p["poissons_ratio"])
    )
    t = brentq(lambda t: mu * (t * t - 1.0) + lam * np.log(s * t * t), 0.1, 3.0, xtol=1e-15)
    expected = np.diag([(mu * (s * s - 1.0) + lam * np.log(s * t * t)) / s, 0.0])
    assert off(plate("neo_hookean_plane_stress").deform(np.diag([s, t])).stress(), expected) < 1e-13


CHANGED = {"neo_hookean": "poissons_ratio", "stable_neo_hookean": "poissons_ratio"}
CHANGED |= {"mooney_rivlin": "bulk_modulus", "ogden": "bulk_modulus"}


@pytest.mark.parametrize("name", sampled(list(CHANGED), ["neo_hookean"]))
def test_a_stretch_across_is_found_for_all_moderate_stretches(name: str) -> None:
    """Principal stretches of 1/4 to 4, volumes soft to nearly incompressible, by values alone (Brent)."""
    own, rng = next(plate for plate, solid in PLATES.items() if solid == name), np.random.default_rng(1)
    body = Cell(ENERGIES[own], 2, **stretch_energies.MATERIALS[own].parameters)
    evaluate = ENERGIES[own].evaluator()
    for _ in range(60):
        soft = (
            rng.uniform(0.0, 0.499)
            if name in ("neo_hookean", "stable_neo_hookean")
            else 10 ** rng.uniform(0, 3)
        )
        F = np.diag(4.0 ** rng.uniform(-1.0, 1.0, 2))
        given = dict(stretch_energies.MATERIALS[own].parameters) | {CHANGED[name]: soft}
        places = {"x": [np.zeros(2), *F.T], "gradients": np.vstack([-np.ones(2), np.eye(2)]), "volume": 1.0}
        body.potential.set_parameter(f"{own}.{CHANGED[name]}", soft)
        found = body.deform(F).energy()
        assert found == pytest.approx(evaluate(places | given), rel=1e-10, abs=1e-12)


# No minimum -------------------------------------------------------------------------------------------


SCENE = """
title = "Pulled two ways"
plugins = ["elastic"]
[state]
kind = "rectangle"
size = ["1 m", "1 m"]
cells = [2, 2]
density = "1000 kg/m^3"
[[energy]]
kind = "{kind}"
youngs_modulus = "1 MPa"
poissons_ratio = 0.4
[[hold]]
body = "left"
[[hold]]
body = "right"
axes = "x"
displacement = ["1.5 m"]
[stepper]
kind = "{stepper}"
fields = {{ x = {{ scale = "1 cm" }} }}
[run]
steps = 40
[runtime]
precision = "{precision}"
"""


WAYS = [pytest.param(*way) for way in (("newton", "f64"), ("newton", "f32"), ("lbfgs", "f32"))]


@pytest.mark.long
@pytest.mark.parametrize(("stepper", "precision"), WAYS)
def test_a_plate_that_collapses_across_is_named_with_the_cure(
    tmp_path: Path, stepper: str, precision: str
) -> None:
    kind = "st_venant_kirchhoff_plane_stress"
    text = SCENE.format(kind=kind, stepper=stepper, precision=precision)
    (tmp_path / "scene.toml").write_text(text)
    ended = minusgrad("run", tmp_path / "scene.toml", "--out", tmp_path / "run")
    assert ended.returncode == 3, ended.stderr
    words = r"term 'st_venant_kirchhoff_plane_stress', node \d+: .*; its element \d+ has no least energy over"
    assert re.search(words, ended.stderr), ended.stderr
    assert "another material" in ended.stderr


def test_a_force_that_is_not_finite_names_the_cell_and_the_cure() -> None:
    body = plate("st_venant_kirchhoff_plane_stress").deform(np.diag([1.8, 1.8]))
    found = body.potential.first_nonfinite(0.0, ["x"])
    assert found is not None
    assert re.search(r"its element 0 has no least energy over its unknown .* another material", found)


def test_where_there_is_no_minimum_the_energy_is_nan() -> None:
    body = plate("st_venant_kirchhoff_plane_stress")
    assert np.isnan(body.deform(np.diag([1.8, 1.8])).energy())
    assert np.isnan(plate("neo_hookean_plane_stress").deform(np.diag([-1.0, 1.0])).energy())


# The function itself ----------------------------------------------------------------------------------


@ti.func
def forked(t, x):
    value = t * t - x * t
    if t > 1.0:
        value = t - x * t
    return value


@ti.func
def flat(t, x):
    return x


@local_energy("forks", over="nodes", x=Node())
def forks(x):
    return least_value(forked, 1.0, x[0])


@local_energy("flats", over="nodes", x=Node())
def flats(x):
    return least_value(flat, 1.0, 2.0)


def test_plain_python_finds_the_minimum_on_values_alone() -> None:
    def valley(t: float, x: float, a: float) -> float:
        return 0.25 * t**4 - t * x + a / t

    t = brentq(lambda t: t**3 - 2.0 - 0.5 / t**2, 0.5, 3.0, xtol=1e-15)
    assert least_value(valley, 1.0, 2.0, 0.5) == pytest.approx(0.25 * t**4 - 2.0 * t + 0.5 / t, rel=1e-14)
    assert np.isnan(least_value(lambda t: t, 1.0))
    assert np.isnan(least_value(lambda t: t, -1.0))


@pytest.mark.parametrize(
    ("energy", "words"), [(forks, "least_value.*takes one path.*ti.select"), (flats, "depends on t")]
)
def test_a_density_with_branches_or_without_the_unknown_is_refused(energy, words: str) -> None:
    from minusgrad import Fields, Potential, bind

    fields = Fields({"x": np.ones(2)})
    with pytest.raises((EnergyError, MinusgradError), match=words):
        Potential(fields, [bind(energy, fields)]).value()
