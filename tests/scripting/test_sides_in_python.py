"""Sides of simulations in Python: functions, tables and numbers, which scenes keep as numbers of nodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import UserError

PLATE = {"kind": "rectangle", "size": [2.0, 1.0], "cells": [4, 2], "density": 1.0}


def pulled(**more: Any) -> mg.Simulation:
    return mg.Simulation(
        state=PLATE,
        energies=[
            mg.energy("linear", youngs_modulus=100.0, poissons_ratio=0.3),
            mg.energy("traction", body="east", traction=[0.0, 1.0]),
        ],
        stepper=mg.Newton(),
        **more,
    )


def test_a_function_chooses_facets_and_the_scene_keeps_them(tmp_path: Path) -> None:
    """Called once with the places of the state; the run is that of a side by place, and so is its scene."""
    calls = []

    def east(x: np.ndarray) -> np.ndarray:
        calls.append(x.shape)
        return x[:, 0] > 1.99

    by_function = pulled(sides={"east": east}, holds=[{"body": "left"}])
    by_place = pulled(sides={"east": {"x": 2.0}}, holds=[{"body": "left"}])
    assert calls == [(15, 2)]
    assert (
        by_function.starting.remarks == by_place.starting.remarks == ["side east: 2 facets, 1 m^2, 3 nodes"]
    )
    first, second = (one.run(20, tmp_path / name) for name, one in (("a", by_function), ("b", by_place)))
    np.testing.assert_array_equal(first["x"], second["x"])
    assert "nodes = [[12, 14]]" in by_function.to_toml()
    again = mg.load(by_function.to_toml())
    np.testing.assert_array_equal(again.potential.gradient("x"), pulled_gradient(by_place))


def pulled_gradient(simulation: mg.Simulation) -> np.ndarray:
    """The gradient at the start of the same simulation."""
    return mg.load(simulation.to_toml()).potential.gradient("x")


def test_bodies_and_sides_beside_those_of_the_state() -> None:
    made = mg.Simulation(
        state=PLATE | {"sides": {"low": {"y": 0.0}}},
        bodies={"some": np.array([4, 1, 2])},
        sides={
            "east": {"x": 2.0},
            "few": [0, 1, 2, 7],
            "upper": {"where": lambda x: x[:, 1] > 0.4, "of": "nodes", "minus": ["east"]},
        },
        energies=[mg.energy("load", force=[1.0, 0.0])],
        stepper=mg.Newton(),
    )
    sizes = {body.name: len(body.nodes) for body in made.state.bodies}
    assert sizes == {
        "left": 3, "right": 3, "bottom": 5, "top": 5, "low": 5, "east": 3, "few": 4, "upper": 8, "some": 3,
    }  # fmt: skip


def test_a_state_of_arrays_has_sides_too() -> None:
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 0.9]])
    made = mg.Simulation(
        fields={"x": x, "m": np.ones(3)},
        sides={
            "right": lambda x: x[:, 0] > 0.5,
            "near": {"near": [0.0, 0.0], "radius": 0.9, "tolerance": 0.1},
        },
        bodies={"own": [1]},
        energies=[mg.energy("load", body="right", force=[1.0, 2.0])],
        stepper=mg.Leapfrog(dt=0.1),
    )
    np.testing.assert_array_equal(-made.potential.gradient("x"), [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    assert {body.name: body.nodes.tolist() for body in made.state.bodies} == {
        "own": [1], "right": [1], "near": [1, 2],
    }  # fmt: skip


def test_temperatures_of_sides_that_functions_choose() -> None:
    """A state with values by body is made with the sides that its own mesh has."""
    made = mg.Simulation(
        state={
            "kind": "heat",
            "mesh": PLATE,
            "temperature": 300.0,
            "specific_heat": 1.0,
            "bodies": {"hot": 400.0},
        },
        sides={"hot": lambda x: x[:, 0] > 1.9},
        energies=[mg.energy("heat_flux", body="hot", flux=2.0)],
        stepper={"kind": "gradient_flow", "capacities": {"T": "C"}, "dt": 1.0},
    )
    np.testing.assert_array_equal(
        made.fields["T"].values, np.where(made.fields["x"].values[:, 0] > 1.9, 400.0, 300.0)
    )
    assert -made.potential.gradient("T").sum() == pytest.approx(2.0)


WRONG: dict[str, tuple[Any, str]] = {
    "numbers": (lambda x: x[:, 0], r"needs True or False for each of 15 nodes, got float64 of shape \[15\]"),
    "nothing": (lambda x: x[:, 0] > 5.0, r"chooses no node, got places from \[0.0, 0.0\] to \[2.0, 1.0\]"),
    "failing": (lambda x: x.absent, r"its function fails: AttributeError: "),
    "empty": ([], r"needs whole numbers of nodes from 0, shape \(k,\)"),
    "no function": ({"where": 3}, r"`where` needs a function, got int; write lambda x: x"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str) -> None:
    given, message = WRONG[name]
    with pytest.raises(UserError, match=f"sides: 'east': {message}"):
        pulled(sides={"east": given})


def test_names_that_are_taken() -> None:
    with pytest.raises(UserError, match="bodies: 'east' is a side already; give it another name"):
        pulled(sides={"east": {"x": 2.0}}, bodies={"east": [0]})
    with pytest.raises(UserError, match="'left' is a body of the state already"):
        pulled(sides={"east": {"x": 2.0}, "left": {"x": 0.0}})
