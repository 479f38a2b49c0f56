"""Surroundings: what energies, holds and a box say of themselves is saved, read and drawn."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.surroundings import surroundings as facts_of
from minusgrad.energies.fields import Fields, Hold
from minusgrad.energies.term import Term
from minusgrad.energies.term_spec import TermSpec
from minusgrad.errors import EnergyError
from minusgrad.files import h5md
from minusgrad.plot.surroundings.saved import surroundings
from minusgrad.plugin import Node, Parameter, Sphere, local_energy
from minusgrad.scene.shapes import Force, Plane, shape, table
from minusgrad.scene.units import UnitSystem
from tests.support.recorded_runs import T, recorded_run

STILL = np.tile([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], (len(T), 1, 1))


def _ball(looks, radius=0.5):
    """A term of a stranger's energy over four nodes."""

    @local_energy("ball", over="nodes", looks=looks, x=Node("m", ("d",)), radius=Parameter("m"))
    def ball(x, radius):
        return x[0].norm() - radius

    return ball, radius


def _term(looks, radius=0.5) -> Term:
    energy, given = _ball(looks, radius)
    return Term.of(TermSpec(energy, parameters={"radius": given}), Fields({"x": STILL[0]}, {"x": "m"}))


def test_a_strangers_energy_says_what_it_looks_like() -> None:
    term = _term(lambda radius, d: [Sphere([0.0] * d, radius)])
    found = facts_of([term], [], UnitSystem.si())
    assert found["shapes"] == [{"term": "ball", "kind": "sphere", "centre": [0.0, 0.0], "radius": 0.5}]
    assert found["loads"] == found["supports"] == []


def test_looks_that_fail_name_their_energy() -> None:
    with pytest.raises(EnergyError, match="ball: looks fails: ZeroDivisionError"):
        facts_of([_term(lambda radius: [Sphere(0.0, 1 / 0)])], [], UnitSystem.si())
    with pytest.raises(EnergyError, match="ball: looks: gives a str, not one of plane, sphere"):
        facts_of([_term(lambda radius: ["a ball"])], [], UnitSystem.si())
    with pytest.raises(EnergyError, match="energy 'ball': looks takes parameters and d"):
        _ball(lambda stiffness: [])


def test_a_hold_is_a_support_with_its_axes() -> None:
    held = Hold("pin", "x", np.arange(2000), axes=(1,), displacement=(0.1,))
    (found,) = facts_of([], [held], UnitSystem.si())["supports"]
    assert (found["name"], found["axes"], found["moves"]) == ("pin", [1], True)
    assert found["nodes"][0] == 0
    assert found["nodes"][-1] == 1999
    assert len(found["nodes"]) == 400


@pytest.mark.unit
def test_a_run_folder_gives_its_surroundings_back(tmp_path: Path) -> None:
    saved = {
        "shapes": [{"term": "floor", **table(Plane([0.0, 0.0], [0.0, 1.0]))}],
        "loads": [{"term": "pull", "unit": "N", "elements": [[1, 2]], **table(Force([2.0, 0.0]))}],
        "supports": [{"name": "wall", "field": "x", "nodes": [0, 3], "axes": None, "moves": False}],
    }
    run = recorded_run(tmp_path / "run", {"position": STILL}, meta={"surroundings": saved})
    found = surroundings(run)
    ((term, plane),) = found.planes
    assert term == "floor"
    assert np.array_equal(plane.normal, [0.0, 1.0])
    (load,), (support,) = found.loads, found.supports
    assert np.array_equal(load.elements, [[1, 2]])
    assert load.unit == "N"
    assert support.axes == (0, 1)
    assert np.array_equal(support.nodes, [0, 3])
    assert found
    assert found.box is None


@pytest.mark.unit
def test_the_box_of_each_step(tmp_path: Path) -> None:
    edges = np.eye(2) * (1.0 + T)[:, None, None]
    run = recorded_run(tmp_path / "run", {"position": STILL, "box/edges": edges})
    assert surroundings(run).box is None  # it is recorded, but repeats along no axis
    assert h5md.EDGES == "particles/all/box/edges"


@pytest.mark.unit
def test_shapes_are_data() -> None:
    plane = shape(table(Plane([0, 1], [0, -2])))
    assert isinstance(plane, Plane)
    assert plane.point.tolist() == [0.0, 1.0]
    with pytest.raises(EnergyError, match="radius of a sphere must be finite"):
        table(Sphere([0.0, 0.0], np.inf))
