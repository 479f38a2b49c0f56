"""Solids whose nodes at rest are a field: energies of other meshes, derivatives by the shape, refusals."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad import build
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.adjoint.losses import ObservedStates
from minusgrad.errors import SceneError
from minusgrad_elastic.mesh import Mesh
from tests.support.command import SCENES
from tests.support.tiers import sampled

SHAPE = SCENES / "stiffness_from_shape.toml"
PULL = {"kind": "load", "body": "bottom", "force": [0.3, -2.0]}
REST = {"state.rest_shape": True, "energy.0.rest_shape": True, "energy.1": PULL, "state.cells": [3, 3]}
CELLS = {
    "triangles": {},
    "quadrilaterals": {"state.cell": "quadrilaterals"},
    "order 2": {"state.order": 2},
    "tetrahedra": {"state.size": [0.1, 0.1, 0.1], "state.cells": [2, 2, 1]}
    | {"energy.1": PULL | {"force": [0.3, -2.0, 0.4]}},
}


def body(cells: str, tmp_path: Path):
    """A body that is deformed, with another shape at rest."""
    scene = SHAPE
    if cells == "tetrahedra":
        scene = tmp_path / "scene.toml"
        plain = SHAPE.read_text().partition("[fit]")[0]
        scene.write_text(plain.replace('thickness = "10 cm"\n', "").replace('"rectangle"', '"box"'))
    simulation, rng = build(scene, REST | CELLS[cells]), np.random.default_rng(4)
    for name in ("x", "rest"):
        field = simulation.fields[name]
        field.set(field.values + 2e-3 * rng.normal(size=field.shape))
    return simulation


@pytest.mark.parametrize("cells", sampled(CELLS, ["triangles", "quadrilaterals"]))
def test_the_gradient_by_the_shape_at_rest_is_that_of_values(cells: str, tmp_path: Path) -> None:
    simulation = body(cells, tmp_path)
    potential, field = simulation.potential, simulation.fields["rest"]
    way, here = np.random.default_rng(1).normal(size=field.shape), field.values.copy()
    values = {}
    for k in (-2, -1, 1, 2):
        field.set(here + 1e-5 * k * way)
        values[k] = potential.value()
    field.set(here)
    expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 12e-5
    assert np.sum(potential.gradient("rest") * way) == pytest.approx(expected, rel=1e-8)


def test_the_energy_is_that_of_a_mesh_made_at_rest_there(tmp_path: Path) -> None:
    """Gradients and volumes, computed again from the moved points."""
    simulation = body("triangles", tmp_path)
    mesh = Mesh(simulation.fields["rest"].values, simulation.state.tuples["cells"])
    F = np.einsum("eai,eaj->eij", simulation.fields["x"].values[mesh.cells], mesh.gradients())
    mu, lam = 2e4 / 2.4, 2e4 * 0.2 / (1.2 * 0.6)
    log_J = np.log(np.linalg.det(F))
    psi = 0.5 * mu * ((F * F).sum(axis=(1, 2)) - 2.0) - mu * log_J + 0.5 * lam * log_J**2
    expected = 0.1 * np.sum(mesh.volumes() * psi)
    assert simulation.potential.by_term()["neo_hookean"] == pytest.approx(expected, rel=1e-12)


def test_at_the_start_it_is_the_plain_energy() -> None:
    plain, with_field = build(SHAPE, {"state.cells": [3, 3], "energy.1": PULL}), build(SHAPE, REST)
    bent = plain.fields["x"].values + 1e-3 * np.random.default_rng(0).normal(size=(16, 2))
    for one in (plain, with_field):
        one.fields["x"].set(bent)
    assert with_field.potential.value() == pytest.approx(plain.potential.value(), rel=1e-13)
    found, expected = (one.potential.gradient("x") for one in (with_field, plain))
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_an_equilibrium_by_its_shape_at_rest() -> None:
    simulation = build(SHAPE, REST | {"stepper.tolerance": {"force": 1e-12}})
    one = Equilibrium(simulation.stepper, [ObservedStates(simulation.fields, ["x"], [0])], 60)
    weights, rest = np.random.default_rng(2).normal(size=(16, 2)), simulation.fields["rest"]
    assert one.find()
    found = one.pulled_back({"x": weights}, ["rest"])["rest"]
    way, here, values = np.random.default_rng(3).normal(size=(16, 2)), rest.values.copy(), {}
    for k in (-2, -1, 1, 2):
        rest.set(here + 2e-5 * k * way)
        assert one.find()
        values[k] = np.sum(weights * simulation.fields["x"].values)
    expected = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / 24e-5
    assert np.sum(found * way) == pytest.approx(expected, rel=1e-7)


def test_a_fit_finds_the_shape_that_is_straight_under_its_load(tmp_path: Path) -> None:
    """Inverse design: the sides are to hang where they are drawn; 32 numbers of the shape at rest."""
    straight = build(SHAPE, REST).fields["x"].values
    rows = [f"0, {k}, {x!r}, {y!r}" for k, (x, y) in enumerate(straight.tolist())]
    (tmp_path / "straight.csv").write_text("\n".join(["time, node, x, y", *rows, ""]))
    scene = tmp_path / "scene.toml"
    scene.write_text(SHAPE.read_text().replace("data/hanging_gel.csv", "straight.csv"))
    parameters = {"rest": {"scale": "1 mm"}}
    fit = minusgrad.fit(scene, REST | {"fit.parameters": parameters}, tmp_path / "fit")
    assert fit.outcome in ("converged", "settled")
    assert np.abs(fit.simulation.fields["x"].values - straight).max() < 1e-8
    assert np.abs(fit.simulation.fields["rest"].values - straight).max() > 1e-4


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"energy.0.rest_shape": False}, "neo_hookean: keeps 'gradients' of the rest shape of the start"),
        ({"energy.1": {"kind": "body_force", "acceleration": [0.0, -9.81]}}, "body_force: keeps 'm' of the"),
        ({"energy.1": {"kind": "traction", "body": "bottom", "traction": [0.0, 1.0]}}, "keeps 'area' of the"),
        ({"state.rest_shape": False}, "needs the field 'rest', got none; give [state] rest_shape = true"),
        (
            {"state.cell": "quadrilaterals", "energy.0.fbar": True},
            "rest_shape: the means of fbar are over cells of the mesh as it was made, got both",
        ),
        ({"stepper": {"kind": "leapfrog", "dt": 1e-4}}, "masses keep the shape at rest of the start"),
    ],
)
def test_what_would_not_follow_the_shape_is_refused(own: dict, text: str) -> None:
    with pytest.raises(SceneError) as message:
        build(SHAPE, REST | own)
    assert text in str(message.value)
