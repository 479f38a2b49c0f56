"""A scene is a path, a text or tables at every door that takes one; an object that is built is no scene."""

import numpy as np
import pytest

import minusgrad as mg
import minusgrad.torch

pytest.importorskip("torch")

TABLES = {
    "state": {"kind": "rectangle", "size": [1.0, 1.0], "cells": [1, 1], "density": 1.0},
    "energy": [
        {"kind": "neo_hookean", "youngs_modulus": 10.0, "poissons_ratio": 0.3},
        {"kind": "body_force", "acceleration": [0.0, -1.0]},
    ],
    "hold": [{"body": "bottom"}],
    "run": {"steps": 20},
}
REST = TABLES | {"stepper": {"kind": "newton"}}
MOVING = TABLES | {"stepper": {"kind": "leapfrog", "dt": 0.01}}


def text_of(tables: dict) -> str:
    return mg.load(tables).to_toml()


@pytest.mark.parametrize(
    "form", [dict, pytest.param(text_of, marks=pytest.mark.long)], ids=["tables", "text"]
)
def test_functions_of_tensors_take_tables_and_texts_as_runs_do(form) -> None:
    """Against the simulation itself: the same bits."""
    at_rest, moving = mg.load(REST), mg.load(MOVING)
    at_rest.step(20)
    moving.step(3)
    found = minusgrad.torch.equilibrium(form(REST))()["x"]
    assert np.array_equal(found.numpy(), at_rest.fields["x"].values)
    run = minusgrad.torch.rollout(form(MOVING), 3)()["x"]
    assert np.array_equal(run.numpy(), moving.fields["x"].values)
    energy = minusgrad.torch.energy(form(REST))
    assert energy().item() == mg.load(REST).potential.value()


@pytest.mark.long
def test_adapters_take_tables() -> None:
    openmm = pytest.importorskip("openmm")
    from openmm import unit

    from minusgrad.openmm import force

    scene = TABLES | {
        "units": {"system": "dimensionless"},
        "state": {"kind": "box", "size": [1.0, 1.0, 1.0], "cells": [1, 1, 1], "density": 1.0},
        "energy": [{"kind": "neo_hookean", "youngs_modulus": 10.0, "poissons_ratio": 0.3}],
        "stepper": {"kind": "leapfrog", "dt": 0.01},
    }
    whole = mg.load(scene)
    places = 1.1 * whole.fields["x"].values
    whole.fields["x"].set(places)
    system = openmm.System()
    for _ in places:
        system.addParticle(1.0)
    system.addForce(force(scene))
    context = openmm.Context(system, openmm.VerletIntegrator(0.001))
    context.setPositions(places)
    energy = context.getState(energy=True).getPotentialEnergy()
    assert energy.value_in_unit(unit.kilojoule_per_mole) == pytest.approx(whole.potential.value())


@pytest.mark.parametrize("door", ["rollout", "equilibrium", "energy", "outputs"])
def test_what_is_no_scene_is_refused_and_so_are_overrides_of_a_simulation(door: str) -> None:
    function = getattr(minusgrad.torch, door)
    with pytest.raises(
        mg.UserError, match=r"scene: needs the path of a file, a text or a dictionary, got a int"
    ):
        function(3)
    with pytest.raises(mg.UserError, match=r"overrides: are for a scene, got a Simulation"):
        function(mg.load(REST), overrides={"run.steps": 3})
