"""Stress as an observer: against stresses on paper, of materials of any origin, of cells of several kinds."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.optimize import brentq

from minusgrad import Datum, Fields, Linear, Node, Potential, bind, build, local_energy, resume, ti
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.errors import MinusgradError
from minusgrad.files import trajectory
from minusgrad.plugin import LinearDerivatives
from minusgrad_elastic.observers import EnergyDensity, EnergyDensityBlock
from minusgrad_elastic.stress.observer import Stress
from minusgrad_elastic.stress.term_stress import TermStress
from tests.support import stretch_energies
from tests.support.command import files, minusgrad
from tests.support.short_scenes import cut
from tests.support.stretch_energies import MATERIALS
from tests.support.tiers import sampled

SPACE = {
    "tetrahedra": {"kind": "box", "size": ["1 m", "0.8 m", "0.6 m"], "cells": [2, 1, 1]},
    "hexahedra": {"kind": "box", "size": ["1 m", "0.8 m", "0.6 m"], "cells": [2, 1, 1], "cell": "hexahedra"},
}
PLANE = {
    "triangles": {"kind": "rectangle", "size": ["1 m", "0.8 m"], "cells": [2, 2], "thickness": "0.01 m"},
    "quadrilaterals": {
        "kind": "rectangle",
        "size": ["1 m", "0.8 m"],
        "cells": [2, 2],
        "thickness": "0.01 m",
        "cell": "quadrilaterals",
    },
}
BODIES = SPACE | PLANE
MESHES = Path(__file__).parents[2] / "meshes"
CELL = {"gradients": Datum("m^-1", ("k", "d")), "volume": Datum("m^3")}
WEIGHTS = ("gradients", "mean_gradients")
ALL = ["von_mises", "cauchy", "first_piola_kirchhoff"]


def built(folder: Path, body: dict, *energies: dict, **stress: Any) -> BuiltScene:
    """The scene of a body with these energies and a `stress` observer."""
    observed = {"kind": "stress", "every": 1, "measures": ALL} | stress
    tables = [
        ("[state]", body | {"density": "1000 kg/m^3"}),
        ("[stepper]", {"kind": "leapfrog", "dt": "1 us"}),
    ]
    tables += [("[run]", {"steps": 1}), ("[[observe]]", observed)]
    tables += [("[[energy]]", energy) for energy in energies]
    lines = ['title = "A body"', 'plugins = ["elastic"]']
    for head, table in tables:
        lines += [head, *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    (folder / "scene.toml").write_text("\n".join([*lines, ""]))
    return build(folder / "scene.toml")


def stressed(made, F: np.ndarray) -> dict[str, np.ndarray]:
    """The stresses of a built scene whose body is deformed by F."""
    x = made.fields["x"]
    x.set(x.values @ F.T)
    (observer,) = [o for o in made.observers if isinstance(o, Stress)]
    return observer.stresses(0.0)


def deformation(d: int) -> np.ndarray:
    F = np.array([[1.1, 0.25, 0.1], [-0.2, 0.9, 0.05], [0.07, -0.15, 1.2]])
    return F[:d, :d]


def whole(F: np.ndarray) -> np.ndarray:
    """Continued by the unit matrix."""
    made = np.eye(3)
    made[: len(F), : len(F)] = F
    return made


def von_mises(s: np.ndarray) -> float:
    """By its components (Timoshenko & Goodier 1951)."""
    normal = (s[0, 0] - s[1, 1]) ** 2 + (s[1, 1] - s[2, 2]) ** 2 + (s[2, 2] - s[0, 0]) ** 2
    return float(np.sqrt(0.5 * normal + 3.0 * (s[0, 1] ** 2 + s[1, 2] ** 2 + s[2, 0] ** 2)))


PLATE = {"plane_stress": True}


def block(name: str) -> dict:
    return {"kind": name} | dict(MATERIALS[name].parameters)


def assert_stresses(found: dict[str, np.ndarray], F: np.ndarray, P: np.ndarray) -> None:
    """Of every cell, those that follow from F and P in space."""
    sigma = P @ F.T / np.linalg.det(F)
    size = np.abs(P).max()
    assert np.abs(found["first_piola_kirchhoff"] - P).max() < 1e-12 * size
    assert np.abs(found["cauchy"] - sigma).max() < 1e-12 * size
    assert np.abs(found["von_mises"] - von_mises(sigma)).max() < 1e-12 * size


ROWS = [
    pytest.param(body, name, id=f"{body}-{name}") for name in ("hencky", "mooney_rivlin") for body in BODIES
]
KEPT = ("hexahedra-mooney_rivlin", "triangles-mooney_rivlin", "quadrilaterals-hencky")


@pytest.mark.parametrize(("body", "name"), sampled(ROWS, [row for row in ROWS if row.id in KEPT]))
def test_stress_is_that_of_the_density_in_space_and_in_plane_strain(
    tmp_path: Path, body: str, name: str
) -> None:
    """In plane strain sigma_33, too: the density on paper is asked at three stretches."""
    made = built(tmp_path, BODIES[body], block(name))
    F = deformation(3 if body in SPACE else 2)
    assert_stresses(stressed(made, F), whole(F), stretch_energies.stress(MATERIALS[name], whole(F)))


@pytest.mark.parametrize("name", ["hencky", "mooney_rivlin"])
def test_stress_across_a_body_of_fbar_in_plane_strain_is_that_at_fbar(tmp_path: Path, name: str) -> None:
    """Fbar has the mean volume ratio in the plane, and F_33 = 1; F differs from point to point."""
    made = built(tmp_path, PLANE["quadrilaterals"], block(name) | {"fbar": True})
    x, rng = made.fields["x"], np.random.default_rng(3)
    x.set(x.values + 0.04 * rng.normal(size=x.shape))
    points, data = made.state.quadratures["cells"], made.state.data["cells"]
    F, mean = (np.einsum("eai,eaj->eij", x.values[points.nodes], data[w]) for w in WEIGHTS)
    scale = np.sqrt(np.linalg.det(mean) / np.linalg.det(F))
    across = [
        stretch_energies.stress(MATERIALS[name], whole(s * f))[2, 2] for s, f in zip(scale, F, strict=True)
    ]
    volume, cells = data["volume"], np.arange(4)
    shares = np.array(across) / np.linalg.det(F) * volume
    expected = [shares[points.cell == c].sum() / volume[points.cell == c].sum() for c in cells]
    (observer,) = [o for o in made.observers if isinstance(o, Stress)]
    found = observer.stresses(0.0)["cauchy"]
    assert np.abs(found[:, 2, 2] - expected).max() < 1e-12 * np.abs(found).max()


@pytest.mark.parametrize("body", ["quadrilaterals", "tetrahedra"])
def test_stress_and_energy_density_of_a_body_whose_rest_shape_moved(tmp_path: Path, body: str) -> None:
    """Both are those of F from the present rest shape, per volume there."""
    d = 3 if body in SPACE else 2
    built(tmp_path, BODIES[body], block("hencky"))
    rests = {"state.rest_shape": True, "energy.0.rest_shape": True, "stepper": {"kind": "newton"}}
    stress = {"kind": "stress", "every": 1, "measures": ALL}
    observed = [stress, {"kind": "energy_density", "every": 1}]
    made = build(tmp_path / "scene.toml", rests | {"observe": observed})
    G = (np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3).T / 8.0)[:d, :d]
    rest = made.fields["rest"]
    rest.set(rest.values @ G.T)
    F = deformation(d)
    found = stressed(made, F)
    A = whole(F @ np.linalg.inv(G))
    assert_stresses(found, A, stretch_energies.stress(MATERIALS["hencky"], A))
    (observer,) = [o for o in made.observers if isinstance(o, EnergyDensity)]
    expected = stretch_energies.energy(MATERIALS["hencky"], A)
    assert np.abs(observer.density(0.0) - expected).max() < 1e-12 * expected


@pytest.mark.parametrize("body", PLANE)
def test_in_plane_stress_there_is_none_across(tmp_path: Path, body: str) -> None:
    """Areas have the present thickness, t = (det F)^(-nu / (1 - nu)) of Hencky's solid."""
    made = built(tmp_path, PLANE[body], block("hencky") | PLATE)
    F, P = deformation(2), np.zeros((3, 3))
    P[:2, :2] = stretch_energies.stress(MATERIALS["hencky_plane_stress"], F)
    there, nu = whole(F), stretch_energies.ELASTIC["poissons_ratio"]
    there[2, 2] = np.linalg.det(F) ** (-nu / (1.0 - nu))
    assert_stresses(stressed(made, F), there, P)


PLATES = {
    "neo_hookean": PLATE | {"youngs_modulus": 1.0, "poissons_ratio": 0.3},
    "fixed_corotated": PLATE | {"youngs_modulus": 1.0, "poissons_ratio": 0.3},
    "ogden_plane_stress": {"shear_modulus": 1.0, "exponent": 2.0},
}


@pytest.mark.parametrize("name", PLATES)
def test_plates_have_the_stress_on_their_present_thickness(tmp_path: Path, name: str) -> None:
    """Pulled in two directions alike: sigma = d psi/ds s / (s^2 t) / 2 with t on paper."""
    made = built(tmp_path, PLANE["quadrilaterals"], {"kind": name} | PLATES[name])
    s = 1.3
    found = stressed(made, np.diag([s, s]))
    P, mu, lam = found["first_piola_kirchhoff"][:, 0, 0], 1.0 / 2.6, 0.3 / (1.3 * 0.4)
    if name == "ogden_plane_stress":
        t = s**-2
    elif name == "fixed_corotated":
        t = (2.0 * mu + lam * s**2) / (2.0 * mu + lam * s**4)
    else:
        t = brentq(lambda t: mu * (t - 1.0 / t) + lam * np.log(s * s * t) / t, 0.3, 1.0, xtol=1e-15)
    assert found["cauchy"][:, 0, 0] == pytest.approx(P / (s * t), rel=1e-11)
    assert np.abs(found["cauchy"][:, 2, 2]).max() == 0.0


def test_stress_of_the_linear_theory(tmp_path: Path) -> None:
    """Hooke's law, at any strain: the stress of a turned body is not turned."""
    made = built(tmp_path, SPACE["hexahedra"], {"kind": "linear"} | stretch_energies.ELASTIC)
    F = deformation(3)
    e, nu = 0.5 * (F + F.T) - np.eye(3), stretch_energies.ELASTIC["poissons_ratio"]
    mu = stretch_energies.ELASTIC["youngs_modulus"] / (2.0 + 2.0 * nu)
    sigma = 2.0 * mu * (e + nu / (1.0 - 2.0 * nu) * np.trace(e) * np.eye(3))
    found = stressed(made, F)
    for measure in ("cauchy", "first_piola_kirchhoff"):
        assert np.abs(found[measure] - sigma).max() < 1e-13 * np.abs(sigma).max()
    assert np.abs(found["von_mises"] - von_mises(sigma)).max() < 1e-13 * np.abs(sigma).max()


def test_energy_density_is_of_all_energies_of_a_cell(tmp_path: Path) -> None:
    """Two materials over the same cells together, and one of them alone."""
    both = [block("hencky"), block("mooney_rivlin")]
    made = built(tmp_path, SPACE["tetrahedra"], *both)
    F = deformation(3)
    stressed(made, F)
    context = SimpleNamespace(
        stepper=made.stepper, recorder=made.recorder, state=made.state, units=made.units
    )
    each = [stretch_energies.energy(MATERIALS[name], F) for name in ("hencky", "mooney_rivlin")]
    for term, expected in ((None, sum(each)), ("hencky", each[0])):
        observer = EnergyDensityBlock(every=1, term=term).make(context)
        assert observer.density(0.0) == pytest.approx(expected, rel=1e-12)


def test_terms_over_the_same_cells_add_up(tmp_path: Path) -> None:
    """Two terms of an Ogden material, of which one has K."""
    first, second = block("ogden") | {"name": "first"}, block("ogden") | {"name": "second"}
    second |= {"exponent": -2.0, "shear_modulus": -0.3, "bulk_modulus": 0.0}
    made = built(tmp_path, SPACE["tetrahedra"], first, second)
    paper = stretch_energies.Material(
        MATERIALS["ogden"].density,
        {"exponent": -2.0, "shear_modulus": -0.3, "bulk_modulus": 0.0},
    )
    F = deformation(3)
    P = stretch_energies.stress(MATERIALS["ogden"], F) + stretch_energies.stress(paper, F)
    assert_stresses(stressed(made, F), F, P)


def test_values_of_each_cell_and_their_changes_are_seen(tmp_path: Path) -> None:
    """E of each cell; the stress follows when it is set."""
    count = 12
    moduli = np.linspace(1.0, 2.0, count)
    material = {"kind": "linear", "poissons_ratio": 0.0}
    made = built(tmp_path, SPACE["tetrahedra"], material | {"youngs_modulus": moduli.tolist()})
    F = np.diag([1.1, 1.0, 1.0])
    found = stressed(made, F)
    assert np.abs(found["first_piola_kirchhoff"][:, 0, 0] - 0.1 * moduli).max() < 1e-14
    made.potential.set_parameter("linear.youngs_modulus", moduli[::-1])
    found = stressed(made, np.eye(3))
    assert np.abs(found["first_piola_kirchhoff"][:, 0, 0] - 0.1 * moduli[::-1]).max() < 1e-14


def test_means_at_nodes_are_weighted_by_volume(tmp_path: Path) -> None:
    """Of a bar of two hexahedra with different E: in the middle that of both, at the ends their own."""
    moduli = [1.0, 4.0]
    energy = {"kind": "linear", "poissons_ratio": 0.0, "youngs_modulus": moduli}
    made = built(tmp_path, SPACE["hexahedra"], energy, nodes=True)
    x = made.fields["x"].values.copy()
    stressed(made, np.eye(3))
    (observer,) = [o for o in made.observers if isinstance(o, Stress)]
    volumes = np.array([1.0, 3.0])
    observer.points.volume = np.repeat(volumes, 8)
    means = observer.mean_values({"s": np.array([0.2, 0.8])})["s_at_nodes"]
    middle = (volumes * [0.2, 0.8]).sum() / volumes.sum()
    expected = np.where(x[:, 0] < 0.25, 0.2, np.where(x[:, 0] > 0.75, 0.8, middle))
    assert means == pytest.approx(expected, rel=1e-13)


def test_a_body_of_two_materials_has_the_stress_of_each(tmp_path: Path) -> None:
    """A core and a shell from Gmsh; without the shell's energy the shell has no stress."""
    (tmp_path / "block.msh").write_bytes((MESHES / "block.msh").read_bytes())
    body, bar = (
        {"kind": "gmsh", "file": "block.msh", "length": "m"},
        {"kind": "linear", "poissons_ratio": 0.0},
    )
    core, shell = ({"name": f"in_{k}", "body": k, "tuples": "cells"} for k in ("core", "shell"))
    for energies, moduli in (
        ((bar | core | {"youngs_modulus": 1.0},), (1.0, 0.0)),
        ((bar | core | {"youngs_modulus": 1.0}, bar | shell | {"youngs_modulus": 3.0}), (1.0, 3.0)),
    ):
        made = built(tmp_path, body, *energies)
        found = stressed(made, np.diag([1.1, 1.0, 1.0]))["von_mises"]
        core_nodes = next(b.nodes for b in made.state.bodies if b.name == "core")
        in_core = np.isin(made.state.tuples["cells"], core_nodes).all(axis=1)
        assert 0 < in_core.sum() < len(in_core)
        assert found == pytest.approx(0.1 * np.where(in_core, *moduli), abs=1e-12)


# Files, pictures, resuming -----------------------------------------------------------------------------


SCENE = """
title = "A sheet"
plugins = ["elastic"]
[state]
kind = "rectangle"
size = ["2 m", "1 m"]
cells = [6, 3]
density = "1000 kg/m^3"
[[energy]]
kind = "hencky"
youngs_modulus = "1 MPa"
poissons_ratio = 0.3
[[hold]]
body = "left"
[[hold]]
body = "right"
axes = "x"
displacement = ["0.2 m"]
[stepper]
kind = "lbfgs"
fields = { x = { scale = "1 cm" } }
[run]
steps = 30
[[observe]]
kind = "stress"
every = 10
nodes = true
[[observe]]
kind = "frames"
every = 10
[checkpoint]
every = 10
"""


@pytest.mark.long
@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_scene_records_stress_draws_it_and_goes_on_bit_for_bit(tmp_path: Path, precision: str) -> None:
    (tmp_path / "sheet.toml").write_text(SCENE)
    overrides = {"runtime.precision": precision}
    sheet, whole = tmp_path / "sheet.toml", tmp_path / "whole"
    ended = minusgrad("run", sheet, f'runtime.precision="{precision}"', "--out", whole)
    assert ended.returncode == 0, ended.stderr
    resume(cut(tmp_path / "parts", sheet, overrides, 11))
    assert files(whole) == files(tmp_path / "parts")
    stress, symbol = trajectory.series(whole, "cells/cells/cauchy_stress"), "cells/cells/von_mises_stress"
    assert trajectory.symbols(whole, symbol)[0] == "Pa"
    last = stress.value[-1]
    assert last.shape == (36, 3, 3)
    assert np.median(last[:, 0, 0]) == pytest.approx(1e6 * np.log(1.1) / (1 - 0.09) / 1.06, rel=0.15)
    with h5py.File(whole / "trajectory.h5") as file:
        assert "von_mises_stress" in file["VTKHDF/CellData"]
    assert minusgrad("plot", whole).returncode == 0
    pictures = {path.name for path in (whole / "pictures").iterdir()}
    assert "mesh.png" in pictures
    assert "von_mises_stress_at_nodes.png" not in pictures  # nodes against time


# Bad input ---------------------------------------------------------------------------------------------


@local_energy("sheet", over=3, x=Node("m", ("d",)), F=Linear("x", "gradients"), **CELL)
def sheet(F, volume):
    """Another material in the plane than in space."""
    E = F - ti.Matrix.identity(ti.f64, F.n)
    return volume * (E.norm_sqr() + (3.0 if F.n == 2 else 1.0) * E.trace() ** 2)


def test_an_energy_that_is_another_one_in_space_is_refused() -> None:
    fields = Fields({"x": np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])})
    corner = np.array([[[-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]]])
    term = bind(sheet, fields, tuples=[[0, 1, 2]], data={"gradients": corner, "volume": [0.5]})
    stepper = SimpleNamespace(potential=Potential(fields, [term]), time=0.0)
    made = TermStress(SimpleNamespace(stepper=stepper), "sheet", np.array([0]))
    with pytest.raises(MinusgradError) as refused:
        made.require_plane_strain(0.0)
    assert str(refused.value) == (
        "stress: the energy 'sheet' has in space at F_33 = 1 another stress than in the plane, got no stress"
        " across; declare its arguments of shape (2,) if it is in plane stress"
    )


def test_a_state_without_solid_cells_is_refused_with_what_there_is(tmp_path: Path) -> None:
    spring = {"kind": "spring", "stiffness": "1 N/m", "tuples": "edges"}
    with pytest.raises(
        MinusgradError, match="stress: no cells with volumes and an energy of F, got lists: none"
    ):
        built(tmp_path, SPACE["tetrahedra"], spring)


def test_a_list_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(MinusgradError, match=r"stress: 'rim' is no list of cells .* got lists: cells"):
        built(tmp_path, SPACE["tetrahedra"], block("hencky"), cells="rim")


def test_a_term_that_is_not_linear_in_the_field_is_refused(tmp_path: Path) -> None:
    made = built(tmp_path, SPACE["tetrahedra"], block("hencky"))
    with pytest.raises(MinusgradError, match="has no argument that is Linear in 'v'"):
        LinearDerivatives(made.potential.terms["hencky"], "v")


def test_a_body_at_rest_has_no_stress_whatever_its_moduli(tmp_path: Path) -> None:
    """In the plane: the comparison with space is not one of rounding."""
    soft = {"kind": "mooney_rivlin", "c10": 1.0, "c01": 0.1, "bulk_modulus": 1e9}
    made = built(tmp_path, PLANE["quadrilaterals"], soft)
    assert np.abs(stressed(made, np.eye(2))["cauchy"]).max() < 1e-5
