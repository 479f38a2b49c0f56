"""Periodic cells of solids: laminates and fibre composites on paper, finite strains, stresses, refusals."""

from pathlib import Path

import meshio
import numpy as np
import pytest
from scipy.optimize import fsolve

import minusgrad as mg
from minusgrad import UserError
from minusgrad.app.cli import main
from minusgrad.app.jobs.job_runs import resume
from minusgrad.plugin import elastic_constants
from minusgrad.scene import toml_text
from tests.support.command import files
from tests.support.short_scenes import cut


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lame(young: float, poisson: float) -> tuple[float, float]:
    return young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), young / (2.0 * (1.0 + poisson))


def scene_of(state: dict, energy: dict | list, **more: object) -> dict:
    return {
        "units": {"system": "dimensionless"},
        "state": {"density": 1.0, "periodic": "xyz"[: 2 if state["kind"] == "rectangle" else 3], **state},
        "energy": energy if isinstance(energy, list) else [energy],
        "stepper": {"kind": "newton"},
        "run": {"steps": 20},
        **more,
    }


def at_rest(scene: dict) -> mg.Simulation:
    one = mg.load(scene)
    one.step(20)
    return one


SHAPES = [
    {"kind": "rectangle", "size": [1.0, 0.7], "cells": [2, 3]},
    {"kind": "rectangle", "size": [1.0, 0.7], "cells": [1, 2], "order": 2},
    {"kind": "rectangle", "size": [1.0, 0.7], "cells": [3, 1], "cell": "quadrilaterals"},
    {"kind": "box", "size": [1.0, 0.7, 0.5], "cells": [2, 1, 2]},
    {"kind": "box", "size": [1.0, 0.7, 0.5], "cells": [1, 1, 1], "cell": "hexahedra", "order": 2},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_of_one_material_has_the_constants_of_its_material(shape: dict) -> None:
    """Cells of one part, whose opposite corners are one node, among them."""
    young, poisson = 2.0, 0.3
    one = at_rest(scene_of(shape, {"kind": "linear", "youngs_modulus": young, "poissons_ratio": poisson}))
    found, (lam, mu) = elastic_constants(one.potential).relaxed, lame(young, poisson)
    d = 2 if shape["kind"] == "rectangle" else 3
    expected = np.zeros(found.shape)
    expected[:d, :d] = lam
    expected += np.diag([2.0 * mu] * d + [mu] * (len(found) - d))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert one.fields["m"].values.sum() == pytest.approx(np.prod(shape["size"]), rel=1e-12)


def test_a_laminate_is_as_stiff_as_on_paper() -> None:
    """Layers across x of two materials, 1 to 3 in thickness (Backus 1962): each constant in closed form."""
    young, poisson = [1.0] * 4 + [7.0] * 12, [0.3] * 4 + [0.1] * 12
    shape = {"kind": "box", "size": [1.0, 0.5, 0.5], "cells": [4, 2, 2], "cell": "hexahedra"}
    one = at_rest(scene_of(shape, {"kind": "linear", "youngs_modulus": young, "poissons_ratio": poisson}))
    found = elastic_constants(one.potential).relaxed
    share = np.array([0.25, 0.75])
    lam, mu = np.array([lame(1.0, 0.3), lame(7.0, 0.1)]).T
    across = lam + 2.0 * mu
    c11 = 1.0 / (share @ (1.0 / across))
    c12 = c11 * (share @ (lam / across))
    c22 = share @ (across - lam**2 / across) + c12**2 / c11
    c23 = share @ (lam - lam**2 / across) + c12**2 / c11
    expected = np.array([[c11, c12, c12], [c12, c22, c23], [c12, c23, c22]])
    np.testing.assert_allclose(found[:3, :3], expected, rtol=1e-10)
    along, beside = share @ mu, 1.0 / (share @ (1.0 / mu))
    np.testing.assert_allclose(np.diag(found)[3:], [along, beside, beside], rtol=1e-10)


def nominal(F: np.ndarray, lam: float, mu: float) -> np.ndarray:
    """The first Piola-Kirchhoff stress of a neo-Hookean solid in plane strain."""
    inverse = np.linalg.inv(F).T
    return mu * (F - inverse) + lam * np.log(np.linalg.det(F)) * inverse


def test_a_laminate_that_is_deformed_far_has_equal_tractions_in_its_layers() -> None:
    """Layers across x at F: F + a x e_x and F - a x e_x / 3, with one P e_x (the root is of SciPy)."""
    F = np.array([[1.2, 0.3], [-0.1, 0.9]])
    materials = [lame(1.0, 0.3), lame(7.0, 0.1)]
    young, poisson = [1.0] * 4 + [7.0] * 12, [0.3] * 4 + [0.1] * 12
    shape = {"kind": "rectangle", "size": [1.0, 0.6], "cells": [4, 2], "deformation": F.tolist()}
    energy = {"kind": "neo_hookean", "youngs_modulus": young, "poissons_ratio": poisson}
    one = at_rest(scene_of(shape, energy))
    along = np.array([1.0, 0.0])

    def both(a: np.ndarray) -> list[np.ndarray]:
        parts = (F + np.outer(a, along), F - np.outer(a, along) / 3.0)
        return [nominal(part, *m) for part, m in zip(parts, materials, strict=True)]

    a = fsolve(lambda a: (both(a)[0] - both(a)[1]) @ along, np.zeros(2), xtol=1e-14)
    first, second = both(a)
    mean = 0.25 * first + 0.75 * second
    found = elastic_constants(one.potential, relax=False).stress
    np.testing.assert_allclose(found, mean @ F.T / np.linalg.det(F), rtol=1e-9)


# A square array of round fibres ----------------------------------------------------------------------------

FIBRE, MATRIX, PART = (379.3, 0.1), (68.3, 0.3), 0.47
"""Boron in aluminium [GPa]."""


def composite(depth: bool, **more: object) -> dict:
    shape = {"kind": "fibre_cell", "size": 1.0, "fibre_fraction": PART, "periodic": "xyz" if depth else "xy"}
    shape |= {"depth": 0.3} if depth else {}
    shape |= {"rings": [1, 2], **dict(more.pop("state", {}))}
    energy = {
        "kind": "linear",
        "tuples": "cells",
        "youngs_modulus": {"fibre": FIBRE[0], "matrix": MATRIX[0]},
        "poissons_ratio": {"fibre": FIBRE[1], "matrix": MATRIX[1]},
    }
    return scene_of(shape, energy, **more)


def test_a_fibre_composite_lies_between_bounds_and_shears_along_fibres_as_published() -> None:
    """Longitudinal shear is conduction through a square array (Perrins, McKenzie & McPhedran 1979)."""
    found = elastic_constants(at_rest(composite(True)).potential).relaxed
    (lam_f, mu_f), (lam_m, mu_m) = lame(*FIBRE), lame(*MATRIX)
    t = (1.0 + mu_f / mu_m) / (1.0 - mu_f / mu_m)
    f = PART
    more = 0.305827 * f**4 * t / (t**2 - 1.402958 * f**8) + 0.013362 * f**8 / t
    conduction = 1.0 - 2.0 * f / (t + f - more)
    assert found[3, 3] == pytest.approx(mu_m * conduction, rel=2e-4)
    assert found[4, 4] == pytest.approx(found[3, 3], rel=1e-9)
    soft = np.linalg.inv(found)
    assert 1.0 / soft[2, 2] == pytest.approx(f * FIBRE[0] + (1.0 - f) * MATRIX[0], rel=1e-2)

    def whole(lam: float, mu: float) -> np.ndarray:
        made = np.diag([2.0 * mu] * 3 + [mu] * 3)
        made[:3, :3] += lam
        return made

    voigt = f * whole(lam_f, mu_f) + (1.0 - f) * whole(lam_m, mu_m)
    reuss = np.linalg.inv(
        f * np.linalg.inv(whole(lam_f, mu_f)) + (1.0 - f) * np.linalg.inv(whole(lam_m, mu_m))
    )
    assert np.linalg.eigvalsh(voigt - found).min() > 0.0
    assert np.linalg.eigvalsh(found - reuss).min() > 0.0
    k_f, k_m = lam_f + mu_f, lam_m + mu_m
    lower = k_m + f / (1.0 / (k_f - k_m) + (1.0 - f) / (k_m + mu_m))
    upper = k_f + (1.0 - f) / (1.0 / (k_m - k_f) + f / (k_f + mu_f))
    assert lower < 0.5 * (found[0, 0] + found[0, 1]) < upper  # Hashin 1965: parallel fibres


def test_the_plane_cell_is_the_one_in_space() -> None:
    flat = elastic_constants(at_rest(composite(False)).potential).relaxed
    whole = elastic_constants(at_rest(composite(True)).potential).relaxed
    np.testing.assert_allclose(flat, whole[np.ix_([0, 1, 5], [0, 1, 5])], rtol=2e-5, atol=1e-9)


def test_the_stiffness_has_the_exact_derivative_by_the_modulus_of_the_fibre() -> None:
    """V e C e / 2 is the least energy at the strain e, so that dC/dE is that of U at fixed places."""
    strain = 1e-3
    stretched = {"deformation": [[1.0 + strain, 0.0], [0.0, 1.0]]}
    one = at_rest(composite(False, state=stretched))
    slopes = one.potential.gradient("linear.youngs_modulus")

    def c11(young: float) -> float:
        scene = composite(False, state=stretched)
        scene["energy"][0]["youngs_modulus"] = {"fibre": young, "matrix": MATRIX[0]}
        return 2.0 * at_rest(scene).potential.value() / strain**2

    h = 1e-3 * FIBRE[0]
    expected = (c11(FIBRE[0] + h) - c11(FIBRE[0] - h)) / (2.0 * h)
    found = 2.0 * np.ravel(slopes) / strain**2
    assert found.max() != found.min()
    assert np.abs(found - expected).min() < 1e-6 * expected


def test_a_macroscopic_stress_strains_the_composite_by_its_compliance() -> None:
    stress = [[0.02, 0.0], [0.0, 0.0]]
    scene = composite(False)
    scene["compound"] = [{"kind": "mean_stress", "stress": stress}]
    scene["stepper"] = {
        "kind": "lbfgs",
        "gradient": 1e-9,
        "fields": {n: {"scale": 0.01} for n in ("x", "box")},
    }
    one = mg.load(scene | {"run": {"steps": 2000}})
    one.step(2000)
    soft = np.linalg.inv(elastic_constants(at_rest(composite(False)).potential).relaxed)
    strain = one.fields["box"].values[0] - np.eye(2)
    assert strain[0, 0] == pytest.approx(0.02 * soft[0, 0], rel=1e-3)
    assert strain[1, 1] == pytest.approx(0.02 * soft[0, 1], rel=1e-3)


def test_a_run_records_stress_in_cells_and_of_the_body(tmp_path: Path) -> None:
    """The mean of the cells' stress is the macroscopic one: Hill's lemma."""
    observed = [{"kind": n, "every": 20} for n in ("stress", "elastic_constants", "frames")]
    sheared = {"deformation": [[1.0, 1e-4], [1e-4, 1.0]]}
    run = mg.run(composite(False, state=sheared, observe=observed), out="run")
    cells = np.asarray(run["cauchy_stress"])[-1]
    one = at_rest(composite(False, state=sheared))
    points = one.state.quadratures["cells"]
    volume = np.bincount(points.cell, weights=one.state.data["cells"]["volume"])
    mean = np.einsum("e,eij->ij", volume, cells) / volume.sum()
    whole = np.asarray(run["elastic_constants/stress"])[-1]
    np.testing.assert_allclose(
        mean[:2, :2], whole, atol=1e-6 * np.abs(whole).max() + 2e-4 * np.abs(whole).max()
    )
    assert main(["plot", "run"]) == 0
    assert (tmp_path / "run" / "pictures" / "mesh.png").exists()


# In time, members, precision -------------------------------------------------------------------------------


def bouncing(**more: object) -> dict:
    shape = {"kind": "rectangle", "size": [1.0, 0.6], "cells": [3, 2], "velocity": [0.3, 0.1]}
    energy = {"kind": "neo_hookean", "youngs_modulus": 1.0, "poissons_ratio": 0.3}
    stepper = {"kind": "leapfrog", "dt": 0.01}
    observed = [{"kind": name, "every": 1} for name in ("energies", "momenta")]
    return scene_of(shape, energy, stepper=stepper, run={"steps": 60}, observe=observed, **more)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_body_that_repeats_moves_and_keeps_energy_and_momentum(precision: str) -> None:
    scene = bouncing(runtime={"precision": precision})
    one = mg.load(scene)
    rng, before = np.random.default_rng(0), one.fields["v"].values.copy()
    one.fields["v"].set(before + 0.05 * rng.normal(size=before.shape))
    m = one.fields["m"].values[:, None].astype(float)
    energies, momenta = [], []
    for _ in range(6):
        v = one.fields["v"].values.astype(float)
        energies.append(0.5 * float((m * v**2).sum()) + one.potential.value())
        momenta.append((m * v).sum(axis=0))
        one.step(10)
    rough = 1e-12 if precision == "f64" else 1e-6
    assert np.abs(np.array(momenta) - momenta[0]).max() < rough
    assert np.ptp(energies) < 2e-3 * energies[0]


def test_a_run_that_was_interrupted_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    scene = tmp_path / "cell.toml"
    scene.write_text(toml_text.text(bouncing()))
    mg.run(scene, out="whole")
    half = cut(tmp_path / "part", scene, {}, 25)
    resume(half)
    assert files(half) == files(tmp_path / "whole")


def test_members_of_other_deformations_are_those_alone() -> None:
    gradients = [[[1.0, 0.0], [0.0, 1.0]], [[1.1, 0.0], [0.2, 0.9]]]
    shape = {"kind": "rectangle", "size": [1.0, 0.6], "cells": [2, 2], "deformation": gradients[0]}
    energy = {"kind": "neo_hookean", "youngs_modulus": [1.0] * 4 + [5.0] * 4, "poissons_ratio": 0.3}
    observed = [{"kind": "energies", "every": 20}]
    scene = scene_of(shape, energy, observe=observed)
    scene["ensemble"] = {"vary": {"state.deformation": {"list": gradients}}}
    found = np.asarray(mg.run(scene, out="run")["total"])[-1]
    for k, gradient in enumerate(gradients):
        alone = at_rest(scene_of({**shape, "deformation": gradient}, energy))
        assert found[k] == pytest.approx(alone.potential.value(), rel=1e-10, abs=1e-14)


def test_a_strip_that_repeats_along_x_alone_has_a_top_that_is_pressed() -> None:
    """Its sides along x are no boundary; its top and bottom are."""
    shape = {"kind": "rectangle", "size": [1.0, 0.5], "cells": [3, 2], "periodic": "x"}
    young, poisson, pull = 2.0, 0.3, 0.01
    energies = [
        {"kind": "linear", "youngs_modulus": young, "poissons_ratio": poisson},
        {"kind": "traction", "body": "top", "traction": [0.0, pull]},
    ]
    scene = scene_of(shape, energies, hold=[{"body": "bottom", "axes": "y"}])
    one = mg.load(scene)
    assert len(one.state.tuples["boundary"]) == 6
    start = one.fields["x"].values.copy()
    one.step(20)
    lam, mu = lame(young, poisson)
    moved = one.fields["x"].values - start
    np.testing.assert_allclose(moved[:, 1], pull * start[:, 1] / (lam + 2.0 * mu), atol=1e-12)
    energies[1]["body"] = "left"
    with pytest.raises(UserError, match="none of its"):
        mg.load(scene)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"periodic": "xz"}, "periodic: needs different letters of 'xy', got 'xz'"),
        ({"periodic": "xx"}, "periodic: needs different letters of 'xy', got 'xx'"),
        ({"periodic": "", "deformation": [[1.0, 0.0], [0.0, 1.0]]}, "deformation: is of a body that repeats"),
        ({"deformation": [[1.0, 0.0]]}, "deformation: needs 2 rows of 2 numbers"),
        ({"deformation": [[1.0, 0.0], [0.0, -1.0]]}, "deformation: must have a positive determinant"),
        ({"rest_shape": True}, "periodic: the nodes at rest have no images"),
    ],
)
def test_bad_cells_are_refused(change: dict, message: str) -> None:
    shape = {"kind": "rectangle", "size": [1.0, 0.6], "cells": [2, 2], **change}
    with pytest.raises(UserError, match=message):
        mg.load(scene_of(shape, {"kind": "linear", "youngs_modulus": 1.0, "poissons_ratio": 0.3}))


SOLID = {"kind": "linear", "youngs_modulus": 1.0, "poissons_ratio": 0.3}
CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
ALTERNATING = [[0, 4, 2, 1], [6, 4, 2, 7], [5, 4, 1, 7], [3, 2, 1, 7], [4, 2, 1, 7]]
"""A cube in five tetrahedra, whose opposite faces are cut along other diagonals."""
ODD = ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0.5, 0]], [[0, 1, 4], [0, 4, 3], [4, 2, 3]])
"""A square with a node on its right side that the left one has not."""


@pytest.mark.parametrize(
    ("points", "kind", "cells", "message"),
    [
        (
            ODD[0],
            "triangle",
            ODD[1],
            r"along x do not match: node 4 \(1, 0.5\) has none opposite .* lower side",
        ),
        (CORNERS, "tetra", ALTERNATING, "along x do not match: their nodes do, but not their facets"),
    ],
)
def test_sides_that_do_not_match_are_refused(points: list, kind: str, cells: list, message: str) -> None:
    meshio.write("cell.inp", meshio.Mesh(np.array(points, float), [(kind, np.array(cells))]))
    axes = "xyz" if kind == "tetra" else "xy"
    with pytest.raises(UserError, match=message):
        mg.load(scene_of({"kind": "mesh", "file": "cell.inp", "periodic": axes}, SOLID))


def test_bodies_that_meet_in_points_and_too_thick_fibres_are_refused() -> None:
    with pytest.raises(UserError, match="along x do not match: they have no facets, but points"):
        mg.load(scene_of({"kind": "disc", "radius": 1.0, "rings": 2, "periodic": "xy"}, SOLID))
    scene = scene_of({"kind": "disc", "radius": 1.0, "rings": 2, "periodic": ""}, SOLID)
    with pytest.raises(UserError, match="mean_stress: is of a body that repeats"):
        mg.load(scene | {"compound": [{"kind": "mean_stress", "stress": [[1.0, 0.0], [0.0, 0.0]]}]})
    with pytest.raises(UserError, match=r"fibre_fraction: must be within 0 and 0\.754"):
        mg.load(composite(False, state={"fibre_fraction": 0.77}))


@pytest.mark.long
def test_a_cell_passes_its_check() -> None:
    mg.run(bouncing(), out="run")
    assert main(["check", "run/scene.toml"]) == 0
