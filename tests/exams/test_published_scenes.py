"""The claims of the scenes that others publish tables of: NAFEMS, MacNeal and Harder, FEniCS, Gridap."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.results.run import Run
from minusgrad_elastic.published import macneal_harder
from minusgrad_elastic.published.linear_statics import continued_to_node, stress_at_points
from tests.meshes import mapped
from tests.plugins.elastic.test_scikit_fem import forms

SCENES = Path(__file__).parents[2] / "scenes"
LE1, LE10, LE11 = 92.7e6, -5.38e6, -105e6


def run_scene(name: str, folder: Path, **overrides: object) -> Run:
    run = minusgrad.run(SCENES / f"{name}.toml", overrides, out=folder / name)
    assert run.outcome == "converged"
    return run


def nodes_of(run: Run, body: str) -> np.ndarray:
    return next(one.nodes for one in run.simulation.state.bodies if one.name == body)


def moved(run: Run, body: str) -> np.ndarray:
    """The mean displacement (d,) of a body's nodes at the end."""
    x = run.series("particles/all/position").value
    return (x[-1] - x[0])[nodes_of(run, body)].mean(axis=0)


@pytest.mark.parametrize("name", sorted(mapped.FILES))
def test_the_meshes_are_those_of_the_maps(name: str) -> None:
    assert (mapped.DATA / f"{name}.msh").read_text() == mapped.as_msh(mapped.FILES[name]())


# NAFEMS


def stress_at(run: Run, body: str) -> np.ndarray:
    """P (d, d) [Pa] of the only material at the only node of a body."""
    (node,), one = nodes_of(run, body), run.simulation
    P = stress_at_points(one.potential, "linear", one.state.data["cells"]["volume"])
    cells = one.state.tuples["cells"]
    return continued_to_node(P, one.state.quadratures["cells"].cell, cells, int(node))


def assert_recorded(run: Run, body: str, axis: int, target: float, said: float) -> None:
    """The stress that the run recorded at a node is what the scene says, and off by less than its error."""
    (node,) = nodes_of(run, body)
    found, error = (
        run.series(f"particles/all/{name}_at_nodes").value[-1][node]
        for name in ("cauchy_stress", "von_mises_stress_error")
    )
    assert found[axis, axis] == pytest.approx(said, rel=5e-4)
    assert abs(found[axis, axis] - target) < error


def test_nafems_le1(tmp_path: Path) -> None:
    """Continued in the cells, 92.50 is seen, 0.2 % below."""
    run = run_scene("nafems_le1", tmp_path)
    assert stress_at(run, "D")[1, 1] == pytest.approx(LE1, rel=4e-3)
    assert_recorded(run, "D", 1, LE1, 93.92e6)


def test_nafems_le10(tmp_path: Path) -> None:
    """-5.398 is seen in the cells."""
    run = run_scene("nafems_le10", tmp_path)
    assert stress_at(run, "D")[1, 1] == pytest.approx(LE10, rel=6e-3)
    assert_recorded(run, "D", 1, LE10, -5.243e6)


def test_nafems_le11(tmp_path: Path) -> None:
    """-104.7 is seen."""
    assert (mapped.DATA / "nafems_le11.csv").read_text() == mapped.temperatures()
    run = run_scene("nafems_le11", tmp_path)
    assert stress_at(run, "A")[2, 2] == pytest.approx(LE11, rel=1e-2)
    assert_recorded(run, "A", 2, LE11, -105.98e6)


# Howland


def test_plate_with_hole(tmp_path: Path) -> None:
    """K = 3.74: 3.744 is seen, within its error; the cut has half of the pull, the means 6 % too little."""
    run = run_scene("plate_with_hole", tmp_path)
    peak, error = (
        float(run.series(f"observables/{n}/principal_stress").value[-1]) for n in ("peak", "peak_error")
    )
    assert peak == pytest.approx(3.74e8, rel=0.01)
    assert abs(peak - 3.74e8) < error < 0.02 * peak
    assert run.series("observables/peak_place/principal_stress").value[-1] == pytest.approx([0.0, 0.02])
    ligament = run.series("grids/ligament/cauchy_stress").value[-1][:, 0, 0]
    assert ligament[0] == pytest.approx(peak, rel=1e-5)
    assert np.trapezoid(ligament, dx=1e-3) * 1e-3 == pytest.approx(5000.0, rel=0.01)
    assert run.series("observables/resultant/cut").value[-1][0] == pytest.approx(5000.0, rel=1e-9)
    cells = run.series("cells/cells/von_mises_stress").value[-1]
    assert cells.max() < 0.94 * peak


# MacNeal and Harder


@pytest.mark.parametrize(
    ("slant", "in_plane", "across"),
    [("rectangles", 0.970, 0.961), ("trapezoids", 0.886, 0.920), ("parallelograms", 0.967, 0.941)],
)
def test_straight_beam(slant: str, in_plane: float, across: float, tmp_path: Path) -> None:
    for axis, traction, part in (("z", [0.0, 0.0, 50.0], in_plane), ("y", [0.0, 50.0, 0.0], across)):
        chosen = {"state.file": f"data/straight_{slant}.msh", "energy.1.traction": traction}
        run = minusgrad.run(SCENES / "straight_beam.toml", chosen, out=tmp_path / f"{slant}_{axis}")
        found = moved(run, "tip")["xyz".index(axis)] / macneal_harder.THEORY[axis]
        assert found == pytest.approx(part, abs=5e-4)


def test_curved_beam(tmp_path: Path) -> None:
    assert moved(run_scene("curved_beam", tmp_path), "tip")[0] == pytest.approx(0.0873, abs=5e-5)
    across = run_scene("curved_beam", tmp_path / "across", **{"energy.1.traction": [0.0, 0.0, 50.0]})
    assert moved(across, "tip")[2] == pytest.approx(0.4855, abs=5e-4)


def test_twisted_beam(tmp_path: Path) -> None:
    load = 1.0 / (1.1 * 0.32)
    assert moved(run_scene("twisted_beam", tmp_path), "tip")[2] / 0.005424 == pytest.approx(0.990, abs=6e-4)
    along = run_scene("twisted_beam", tmp_path / "y", **{"energy.1.traction": [0.0, load, 0.0]})
    assert moved(along, "tip")[1] / 0.001754 == pytest.approx(0.996, abs=5e-4)


def test_patch_test(tmp_path: Path) -> None:
    stress = run_scene("patch_test", tmp_path).series("cells/cells/cauchy_stress").value[-1]
    assert stress.shape == (7, 3, 3)
    np.testing.assert_allclose(stress, np.tile(1600.0 * np.eye(3) + 400.0, (7, 1, 1)), rtol=1e-12)


# Large deformations that others ask about


def force_on(run: Run, body: str) -> np.ndarray:
    """dU/dx (n, d) of the held nodes of a body: what the support exerts on each."""
    return run.simulation.potential.gradient("x")[nodes_of(run, body)]


def test_twisted_cube(tmp_path: Path) -> None:
    run = run_scene("twisted_cube", tmp_path)
    assert run.simulation.stepper.step == 7
    arm, force = run.simulation.fields["x"].values[nodes_of(run, "right"), 1:] - 0.5, force_on(run, "right")
    torque = (arm[:, 0] * force[:, 2] - arm[:, 1] * force[:, 1]).sum()
    assert torque == pytest.approx(0.59597, abs=5e-6)


def test_the_twisted_cube_is_in_equilibrium_for_scikit_fem(tmp_path: Path) -> None:
    """Energy and forces of its own forms at our nodes, body force and traction included."""
    skfem = pytest.importorskip("skfem", reason="needs scikit-fem: pip install scikit-fem")
    run = run_scene("twisted_cube", tmp_path, **{"state.cells": [6, 4, 4]})
    one = run.simulation
    X, x = one.state.fields["x"], one.fields["x"].values
    mesh = skfem.MeshTet(X.T.copy(), one.state.tuples["cells"].T.astype(np.int64))
    vector = skfem.ElementVector(skfem.ElementTetP1())
    basis, around = skfem.Basis(mesh, vector, intorder=1), skfem.FacetBasis(mesh, vector, intorder=1)
    energy, residual, _ = forms(skfem, 3, mu=10.0 / 2.6, lam=3.0 / (1.3 * 0.4))
    u = (x - X).ravel()
    strain = energy.assemble(basis, u=basis.interpolate(u))
    assert one.potential.by_element("neo_hookean").sum() == pytest.approx(strain, rel=1e-12)
    weight = skfem.LinearForm(lambda v, w: -0.5 * v[1]).assemble(basis)
    pull = skfem.LinearForm(lambda v, w: 0.1 * v[0]).assemble(around)
    inner = residual.assemble(basis, u=basis.interpolate(u))
    held = np.concatenate([nodes_of(run, "left"), nodes_of(run, "right")])
    left_over = np.delete((inner - weight - pull).reshape(-1, 3), held, axis=0)
    assert np.abs(left_over).max() < 1e-10 * np.abs(inner).max()


def test_sheared_square(tmp_path: Path) -> None:
    force = force_on(run_scene("sheared_square", tmp_path), "right").sum(axis=0)
    np.testing.assert_allclose(force, [16.94, 22.36], atol=5e-3)


def test_the_sheared_square_needs_no_load_steps(tmp_path: Path) -> None:
    """Coarser, in one step and in five: one equilibrium."""
    few, one = (
        run_scene("sheared_square", tmp_path / str(n), **{"state.cells": [30, 30]} | changed)
        for n, changed in enumerate(({}, {"stepper.load_steps": 1, "run.steps": 1}))
    )
    np.testing.assert_allclose(
        few.simulation.fields["x"].values, one.simulation.fields["x"].values, atol=1e-9
    )
