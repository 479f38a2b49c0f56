"""Materials against their densities on paper, at equal stretches, too; Hooke's law; rotations."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic.materials.registered import MATERIALS as REGISTERED
from minusgrad_elastic.materials.registered import PLATES
from tests.support import stretch_energies
from tests.support.command import minusgrad
from tests.support.single_cell import Cell
from tests.support.stretch_energies import MATERIALS, Material
from tests.support.tiers import sampled

ENERGIES = {energy.name: energy for energy in (*REGISTERED, *PLATES.values())}
CASES = [pytest.param(name, d, id=f"{name}-{d}d") for name, m in MATERIALS.items() for d in m.dimensions]
INVERTIBLE = ("stable_neo_hookean", "linear_corotated", "fixed_corotated")
STRETCHES = {
    2: {
        "rest": (1.0, 1.0),
        "equal": (1.3, 1.3),
        "1e-4 apart": (0.8, 0.8 + 1e-4),
        "1e-8 apart": (1.2, 1.2 + 1e-8),
        "1e-12 apart": (1.2, 1.2 + 1e-12),
        "apart": (1.5, 0.6),
    },
    3: {
        "rest": (1.0, 1.0, 1.0),
        "all equal": (1.3, 1.3, 1.3),
        "two equal": (1.4, 0.7, 0.7),
        "other two equal": (1.2, 1.2, 0.6),
        "1e-4 apart": (0.9, 0.9 + 1e-4, 0.9 - 2e-4),
        "1e-8 apart": (1.2, 1.2 + 1e-8, 0.8),
        "1e-12 apart": (1.1, 1.1 + 1e-12, 1.1 - 1e-12),
        "apart": (1.6, 1.1, 0.6),
    },
}


@cache
def cell(name: str, d: int, precision: str = "f64") -> Cell:
    parameters = MATERIALS[name].parameters if name in MATERIALS else stretch_energies.ELASTIC
    return Cell(ENERGIES[name], d, precision, **parameters)


def rotation(d: int, rng: np.random.Generator) -> np.ndarray:
    turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return turn * np.append(np.ones(d - 1), np.sign(np.linalg.det(turn)))


def deformation(stretch: tuple[float, ...], seed: int) -> np.ndarray:
    rng, d = np.random.default_rng(seed), len(stretch)
    return rotation(d, rng) @ np.diag(stretch) @ rotation(d, rng)


def error(found: np.ndarray, expected: np.ndarray, scale: float = 1.0) -> float:
    assert np.isfinite(found).all()
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), scale))


def test_every_material_is_on_paper() -> None:
    solids = {"linear", "linear_plane_stress", "fibres", "neo_hookean", "st_venant_kirchhoff"}
    assert {*ENERGIES} == {*MATERIALS} | solids


# Against paper ---------------------------------------------------------------------------------------------


ROWS = [
    pytest.param(name, d, stretch, id=f"{name}-{d}d-{words}")
    for name, m in MATERIALS.items()
    for d in m.dimensions
    for words, stretch in STRETCHES[d].items()
]


KEPT = ("hencky-3d", "hencky_plane_stress-2d", "linear_corotated-3d", "ogden-2d", "mooney_rivlin-2d")
"""Materials whose rows `make test` runs; of the first table every second."""


def kept(rows: list) -> list:
    return [row for row in rows if row.id.startswith(KEPT)]


@pytest.mark.parametrize(("name", "d", "stretch"), sampled(ROWS, kept(ROWS)[1::2]))
def test_energy_stress_and_tangent_are_those_of_the_density(name: str, d: int, stretch: tuple) -> None:
    paper, F = MATERIALS[name], deformation(stretch, 3)
    along = np.random.default_rng(5).normal(size=(d, d))
    body = cell(name, d).deform(F)
    assert abs(body.energy() - stretch_energies.energy(paper, F)) < 1e-14 * max(1.0, body.energy()) * 10.0
    assert error(body.stress(), stretch_energies.stress(paper, F)) < 2e-14
    assert error(body.tangent(along), stretch_energies.tangent(paper, F, along)) < 1e-13


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", INVERTIBLE)
def test_an_inverted_cell_has_the_energy_and_stress_of_a_negative_stretch(name: str, d: int) -> None:
    F = deformation((*((1.4, 1.1)[: d - 1]), -0.5), 7)
    along = np.random.default_rng(5).normal(size=(d, d))
    body, paper = cell(name, d).deform(F), MATERIALS[name]
    assert np.linalg.det(F) < 0.0
    assert body.energy() == pytest.approx(stretch_energies.energy(paper, F), rel=1e-13)
    assert error(body.stress(), stretch_energies.stress(paper, F)) < 1e-13
    assert error(body.tangent(along), stretch_energies.tangent(paper, F, along)) < 1e-12


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("name", ["hencky", "mooney_rivlin", "ogden"])
def test_others_are_no_number_for_an_inverted_cell(name: str, d: int) -> None:
    body = cell(name, d).deform(np.diag([-0.5] + [1.0] * (d - 1)))
    assert np.isnan(body.energy())


@pytest.mark.parametrize(("name", "d"), sampled(CASES, kept(CASES)[1:3]))
def test_single_precision_has_its_digits(name: str, d: int) -> None:
    """At rest, at equal stretches, apart: of the same rounded places, stress and tangent within 40 eps."""
    for stretch in STRETCHES[d].values():
        F = deformation(stretch, 3).astype(np.float32).astype(float)
        along = np.random.default_rng(5).normal(size=(d, d)).astype(np.float32).astype(float)
        single, double = cell(name, d, "f32").deform(F), cell(name, d).deform(F)
        assert error(single.stress(), double.stress()) < 5e-6, stretch
        assert error(single.tangent(along), double.tangent(along)) < 2e-5, stretch


# Closed forms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [0.6, 1.3, 2.5])
def test_a_hencky_bar_pulled_by_its_ends(s: float) -> None:
    """Free sides s^-nu, P = E ln s / s (Hencky 1928); in plane strain E*, nu*."""
    E, nu = stretch_energies.ELASTIC["youngs_modulus"], stretch_energies.ELASTIC["poissons_ratio"]
    pulled = np.zeros((3, 3))
    pulled[0, 0] = E * np.log(s) / s
    assert error(cell("hencky", 3).deform(np.diag([s, s**-nu, s**-nu])).stress(), pulled) < 1e-14
    plate = cell("hencky_plane_stress", 2).deform(np.diag([s, s**-nu]))
    assert error(plate.stress(), pulled[:2, :2]) < 1e-14
    strip = cell("hencky", 2).deform(np.diag([s, s ** (-nu / (1.0 - nu))]))
    assert error(strip.stress(), pulled[:2, :2] / (1.0 - nu**2)) < 1e-14


@pytest.mark.parametrize("s", [0.6, 1.3, 2.5])
def test_a_corotated_bar_pulled_by_its_ends(s: float) -> None:
    """Hooke's law in stretches: side 1 - nu (s - 1), P = E (s - 1); turned, the same forces turned."""
    E, nu = stretch_energies.ELASTIC["youngs_modulus"], stretch_energies.ELASTIC["poissons_ratio"]
    side, Q = 1.0 - nu * (s - 1.0), rotation(3, np.random.default_rng(1))
    pulled = np.diag([E * (s - 1.0), 0.0, 0.0])
    assert (
        error(cell("linear_corotated", 3).deform(Q @ np.diag([s, side, side])).stress(), Q @ pulled) < 1e-14
    )
    plate = cell("linear_corotated_plane_stress", 2).deform(np.diag([s, side]))
    assert error(plate.stress(), pulled[:2, :2]) < 1e-14


@pytest.mark.parametrize("s", [0.6, 1.3, 3.0])
def test_a_rubber_sheet_pulled_one_way_and_two_ways(s: float) -> None:
    """Incompressible: Rivlin's and Ogden's formulas (Holzapfel 2000, section 6.5)."""
    c10, c01 = stretch_energies.MOONEY.values()
    mu, a = stretch_energies.OGDEN.values()
    one, two = np.diag([s, s**-0.5]), np.diag([s, s])
    pulled = np.diag([1.0, 0.0])
    mooney, ogden = cell("mooney_rivlin_plane_stress", 2), cell("ogden_plane_stress", 2)
    expected = 2.0 * (s - s**-2) * (c10 + c01 / s)
    assert error(mooney.deform(one).stress(), expected * pulled) < 1e-14
    assert error(mooney.deform(two).stress(), 2.0 * (s - s**-5) * (c10 + c01 * s**2) * np.eye(2)) < 1e-14
    assert error(ogden.deform(one).stress(), mu * (s ** (a - 1.0) - s ** (-a / 2.0 - 1.0)) * pulled) < 1e-14
    assert (
        error(ogden.deform(two).stress(), mu * (s ** (a - 1.0) - s ** (-2.0 * a - 1.0)) * np.eye(2)) < 1e-14
    )


@pytest.mark.parametrize("g", [0.05, 0.7, 2.0])
def test_simple_shear(g: float) -> None:
    """P_12 where the volume stays: 2 (c10 + c01) g; mu' g (1 - 1 / (4 + g^2)), mu' = 4/3 mu."""
    E, nu = stretch_energies.ELASTIC["youngs_modulus"], stretch_energies.ELASTIC["poissons_ratio"]
    mu, (c10, c01) = E / (2.0 + 2.0 * nu), stretch_energies.MOONEY.values()
    F = np.eye(3)
    F[0, 1] = g
    assert cell("mooney_rivlin", 3).deform(F).stress()[0, 1] == pytest.approx(
        2.0 * (c10 + c01) * g, rel=1e-13
    )
    expected = 4.0 / 3.0 * mu * g * (1.0 - 1.0 / (4.0 + g**2))
    assert cell("stable_neo_hookean", 3).deform(F).stress()[0, 1] == pytest.approx(expected, rel=1e-13)
    # psi = 2 mu arsinh(g / 2)^2, whose slope is the work of the shear stress
    expected = 4.0 * mu * np.arcsinh(g / 2.0) / np.sqrt(4.0 + g**2)
    assert cell("hencky", 3).deform(F).stress()[0, 1] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("s", [0.7, 1.2])
def test_equal_stretches_in_all_directions(s: float) -> None:
    """P = p I: 3 K ln s / s; 3 K (s - 1); 2 mu (s - 1) + lambda (s^3 - 1) s^2; K (s^3 - s^-3) s^2 / 2."""
    p = stretch_energies.ELASTIC
    mu, lam = MATERIALS["hencky"].hooke
    K = p["youngs_modulus"] / (3.0 - 6.0 * p["poissons_ratio"])
    expected = {
        "hencky": 3.0 * K * np.log(s) / s,
        "linear_corotated": 3.0 * K * (s - 1.0),
        "fixed_corotated": 2.0 * mu * (s - 1.0) + lam * (s**3 - 1.0) * s**2,
        "mooney_rivlin": MATERIALS["mooney_rivlin"].parameters["bulk_modulus"] * (s**3 - s**-3) * s**2 / 2.0,
        "ogden": MATERIALS["ogden"].parameters["bulk_modulus"] * (s**3 - s**-3) * s**2 / 2.0,
    }
    for name, pressure in expected.items():
        assert error(cell(name, 3).deform(s * np.eye(3)).stress(), pressure * np.eye(3)) < 2e-14, name


# Small strains and rotations -------------------------------------------------------------------------------


def hooke(name: str, d: int, e: np.ndarray) -> np.ndarray:
    paper = MATERIALS.get(name) or Material(
        lambda *_: 0.0, stretch_energies.ELASTIC, "stress" if name.endswith("stress") else "strain"
    )
    mu, lam = paper.hooke
    return 2.0 * mu * e + lam * np.trace(e) * np.eye(d)


LINEAR = [pytest.param("linear", 2), pytest.param("linear", 3), pytest.param("linear_plane_stress", 2)]


@pytest.mark.parametrize(("name", "d"), sampled([*CASES, *LINEAR], [*kept(CASES), *LINEAR[1:]]))
def test_at_rest_it_is_hookes_law(name: str, d: int) -> None:
    body = cell(name, d).deform(np.eye(d))
    assert abs(body.energy()) < 1e-15
    assert np.abs(body.stress()).max() < 2e-15 * 20.0
    for seed in range(3):
        along = np.random.default_rng(seed).normal(size=(d, d))
        expected = hooke(name, d, 0.5 * (along + along.T))
        assert error(body.tangent(along), expected) < 1e-14


@pytest.mark.parametrize(("name", "d"), [("linear", 2), ("linear", 3), ("linear_plane_stress", 2)])
def test_linear_solids_are_hookes_law_at_any_strain_and_resist_rotation(name: str, d: int) -> None:
    F = deformation((1.3, 0.8, 1.1)[:d], 2)
    body = cell(name, d).deform(F)
    assert error(body.stress(), hooke(name, d, 0.5 * (F + F.T) - np.eye(d))) < 1e-14
    turn = rotation(d, np.random.default_rng(4))
    assert np.abs(body.deform(turn).stress()).max() > 0.3
    assert ENERGIES[name].symmetries == ("translation",)


@pytest.mark.parametrize(("name", "d"), sampled(CASES, kept(CASES)))
def test_a_rotation_gives_no_force(name: str, d: int) -> None:
    for seed in range(4):
        body = cell(name, d).deform(rotation(d, np.random.default_rng(seed)))
        assert abs(body.energy()) < 1e-14
        assert np.abs(body.stress()).max() < 1e-13


@pytest.mark.parametrize(("name", "d"), sampled(CASES, kept(CASES)))
def test_turning_the_body_turns_the_stress_and_turning_the_material_does_not(name: str, d: int) -> None:
    rng = np.random.default_rng(9)
    F, Q = deformation((1.3, 0.8, 1.1)[:d], 2), rotation(d, rng)
    body = cell(name, d)
    energy, stress = body.deform(F).energy(), body.stress()
    turned = body.deform(Q @ F)
    assert turned.energy() == pytest.approx(energy, rel=1e-13)
    assert error(turned.stress(), Q @ stress) < 1e-13
    other = body.deform(F @ Q)
    assert other.energy() == pytest.approx(energy, rel=1e-13)
    assert error(other.stress(), stress @ Q) < 1e-13


# Bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("hencky", {"youngs_modulus": -1.0, "poissons_ratio": 0.3}, "youngs_modulus.*a solid resists"),
        ("linear", {"youngs_modulus": 1.0, "poissons_ratio": 0.5}, "poissons_ratio.*incompressible"),
        ("mooney_rivlin", {"c10": 1.0, "c01": -0.1, "bulk_modulus": 1.0}, "c01.*biaxial"),
        ("ogden", {"shear_modulus": 1.0, "exponent": 2.0, "bulk_modulus": -1.0}, "bulk_modulus"),
    ],
)
def test_moduli_out_of_range_are_refused_with_the_reason(name: str, parameters: dict, words: str) -> None:
    with pytest.raises(UserError, match=words):
        Cell(ENERGIES[name], 3, **parameters)


@pytest.mark.parametrize(
    "name", ["linear_plane_stress", "linear_corotated_plane_stress", "hencky_plane_stress"]
)
def test_plates_that_are_linear_in_strains_may_be_incompressible(name: str) -> None:
    """nu = 0.5: pulled along one axis, free along the other, the stress is E times the strain."""
    body, s = Cell(ENERGIES[name], 2, youngs_modulus=3.0, poissons_ratio=0.5), 1.2
    if name == "hencky_plane_stress":
        along, across = 3.0 * np.log(s) / s, s**-0.5
    else:
        along, across = 3.0 * (s - 1.0), 1.0 - 0.5 * (s - 1.0)
    P = body.deform(np.diag([s, across])).stress()
    np.testing.assert_allclose(P, np.diag([along, 0.0]), atol=1e-13)
    with pytest.raises(UserError, match=r"poissons_ratio.*\(-1, 0\.5\]"):
        Cell(ENERGIES[name], 2, youngs_modulus=3.0, poissons_ratio=0.51)


def test_plane_stress_is_refused_in_space() -> None:
    with pytest.raises(UserError, match="shape"):
        Cell(ENERGIES["linear_plane_stress"], 3, **stretch_energies.ELASTIC)


INVERTED = """
title = "Pushed through itself"
plugins = ["elastic"]
[state]
kind = "rectangle"
size = ["1 m", "1 m"]
cells = [2, 2]
density = "1000 kg/m^3"
[[energy]]
kind = "{material}"
youngs_modulus = "1 MPa"
poissons_ratio = 0.3
[[hold]]
body = "left"
[[hold]]
body = "right"
axes = "x"
displacement = ["-2 m"]
[stepper]
kind = "{stepper}"
fields = {{ x = {{ scale = "1 cm" }} }}
[run]
steps = 40
"""


@pytest.mark.parametrize("stepper", sampled(["lbfgs", "newton"], ["lbfgs"]))
def test_a_run_that_begins_with_inverted_cells_names_one_and_the_cure(tmp_path: Path, stepper: str) -> None:
    scene = tmp_path / "scene.toml"
    scene.write_text(INVERTED.format(material="hencky", stepper=stepper))
    ended = minusgrad("run", scene, "--out", tmp_path / "run")
    assert ended.returncode == 3
    words = r"term 'hencky', node \d+: its force on 'x' is not finite; its element \d+ is inverted, det F = -"
    assert re.search(words, ended.stderr), ended.stderr
    assert "take smaller steps of load or time, or an energy that is finite there" in ended.stderr


@pytest.mark.long
def test_a_material_that_is_finite_there_goes_on(tmp_path: Path) -> None:
    scene = tmp_path / "scene.toml"
    scene.write_text(INVERTED.format(material="stable_neo_hookean", stepper="lbfgs"))
    assert minusgrad("run", scene, "--out", tmp_path / "run").returncode == 0
