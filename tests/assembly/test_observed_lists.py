"""Runs whose lists and trees are kept for several steps have the same bits, whatever observers evaluate."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.assembly.observation_round import ObservationRound
from minusgrad.assembly.observers import Observer
from minusgrad.steppers import scheduler

SCENE = """
plugins = ["gravity"]
[units]
system = "dimensionless"
[state]
kind = "plummer_sphere"
n = 200
mass = 1.0
radius = 1.0
G = 1.0
[[energy]]
kind = "gravity"
G = 1.0
softening = 0.2
{lists}
[stepper]
kind = "{stepper}"
dt = 0.05
[run]
steps = 16
"""
LISTS = {"far": "far = { opening_angle = 0.8, order = 2, skin = 0.3 }", "cutoff": "cutoff = 1.0\nskin = 0.3"}


class Afresh(Observer):
    """Records the energy by lists and trees of the present positions."""

    def observe(self):
        self.fields.list_afresh()
        energy = self.potential.value(self.stepper.time)
        self.recorder.record_observables(self.stepper.step, self.stepper.time, {"afresh": energy})


def run(made: BuiltScene, last: int, *observers: Observer) -> dict[str, bytes]:
    """The bits of a run up to a step: fields, and the reference of lists."""
    made.observers[:] = observers
    save = Afresh(made.stepper, made.recorder, 0)
    save.observe = lambda: None
    scheduler.run(made.stepper, last, ObservationRound(made).observers, save)
    made.observers.clear()
    made.stepper.state()
    return {n: f.values.tobytes() for n, f in made.saved_fields.items()}


@pytest.mark.parametrize(
    ("lists", "stepper"),
    [("far", "leapfrog"), ("cutoff", "leapfrog"), pytest.param("far", "gauss_radau", marks=pytest.mark.long)],
)
def test_observers_change_no_bits(lists, stepper, tmp_path: Path):
    path = tmp_path / "scene.toml"
    path.write_text(SCENE.format(lists=LISTS[lists], stepper=stepper))
    bare, seen, half = (minusgrad.build(path) for _ in range(3))
    first = seen.fields.of_lists["listed_x"].values.copy()
    expected = run(bare, 16)
    assert not np.array_equal(first, bare.fields.of_lists["listed_x"].values)  # lists were built again
    assert run(seen, 16, Afresh(seen.stepper, seen.recorder, 1)) == expected
    run(half, 7, Afresh(half.stepper, half.recorder, 1))
    again = minusgrad.build(path)
    again.restore(half.snapshot())
    assert run(again, 16, Afresh(again.stepper, again.recorder, 3)) == expected
