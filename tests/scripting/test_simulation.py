"""Simulations in Python give the bits of scenes, and are stepped, run, saved and read again."""

from pathlib import Path

import numpy as np

import minusgrad as mg
from minusgrad_gravity.gravity import gravity

RNG = np.random.default_rng(3)
X, V, M = RNG.normal(size=(6, 3)), 0.3 * RNG.normal(size=(6, 3)), np.full(6, 1.0 / 6.0)

SCENE = """
plugins = ["gravity"]
[state]
kind = "from_csv"
file = "bodies.csv"
[[energy]]
kind = "gravity"
G = 1.0
softening = 0.1
[stepper]
kind = "leapfrog"
dt = 0.01
[run]
steps = 40
"""


def gravitating(**more: object) -> mg.Simulation:
    given = {"fields": {"x": X, "v": V, "m": M}, "stepper": mg.Leapfrog(dt=0.01), "plugins": ["gravity"]}
    return mg.Simulation(energies=[gravity(G=1.0, softening=0.1)], **{**given, **more})  # type: ignore[arg-type]


def position(simulation: mg.Simulation) -> np.ndarray:
    return simulation.fields["x"].values.copy()


def test_arrays_give_the_bits_of_a_scene_that_reads_them(tmp_path: Path) -> None:
    rows = ["m,x,y,z,vx,vy,vz"]
    rows += [",".join(map(repr, map(float, [m, *x, *v]))) for m, x, v in zip(M, X, V, strict=True)]
    (tmp_path / "bodies.csv").write_text("\n".join(rows))
    (tmp_path / "scene.toml").write_text(SCENE)
    scene = mg.build(tmp_path / "scene.toml")
    scene.step(40)
    simulation = gravitating()
    simulation.step(40)
    assert np.array_equal(position(simulation), scene.fields["x"].values)

    simulation.to_toml(tmp_path / "mine.toml")
    again = mg.load(tmp_path / "mine.toml")
    again.step(40)
    assert np.array_equal(position(again), position(simulation))


def test_a_snapshot_is_the_state_bit_for_bit() -> None:
    simulation = gravitating()
    simulation.step(7)
    start = simulation.snapshot()
    simulation.potential.set_parameter("gravity.G", 2.0)
    simulation.dt = 0.02
    simulation.step(5)
    end, changed = position(simulation), simulation.snapshot()
    simulation.restore(start)
    assert (simulation.stepper.step, simulation.time, simulation.dt) == (7, 0.07, 0.01)
    assert simulation.parameters["gravity.G"] == 1.0
    simulation.restore(changed)
    assert np.array_equal(position(simulation), end)
    assert simulation.parameters["gravity.G"] == 2.0
    assert simulation.edits == [{"step": 7, "by": "the user", "changed": ["gravity.G", "dt"]}]


def test_a_run_records_and_is_read_again(tmp_path: Path) -> None:
    simulation, seen = gravitating(), list[int]()

    @simulation.every(15)
    def look(sim: mg.Simulation) -> None:
        seen.append(sim.stepper.step)

    simulation.step(10)
    run = simulation.run(steps=30, out=tmp_path / "run", record=5)
    assert seen == [15, 30]
    assert simulation.stepper.step == 40
    assert np.array_equal(run["position"][-1], position(simulation))
    assert run.series("observables/total").step.tolist() == list(range(10, 45, 5))
