"""Simulations in Python give the bits of scenes, and are stepped, run, saved and read again."""

import json
from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.app.info import info
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.tables import print_info
from minusgrad.errors import InterruptedRunError
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
    given = {"fields": {"x": X, "v": V, "m": M}, "stepper": mg.Leapfrog(dt=0.01), **more}
    energies = [gravity(G=1.0, softening=0.1)]
    return mg.Simulation(energies=energies, plugins=["gravity"], **given)  # type: ignore[arg-type]


def position(simulation: mg.Simulation) -> np.ndarray:
    return simulation.fields["x"].values.copy()


@mg.local_energy("torsion", over="nodes", theta=mg.Node("rad"), k=mg.Parameter("J"))
def torsion(theta, k):
    """A spring that turns back."""
    return 0.5 * k * theta[0] * theta[0]


def test_a_velocity_that_is_not_given_is_at_rest() -> None:
    """Of every motion, as of x and v."""

    def swinging(**more: list[float]) -> mg.Simulation:
        fields = {"theta": [0.1, 0.2], "I": [1.0, 2.0], **more}
        motion, energy = mg.Motion("theta", "w", "I"), torsion(k=2.0)
        return mg.Simulation(fields=fields, motions=[motion], energies=[energy], stepper=mg.Leapfrog(dt=0.1))

    one, other = swinging(), swinging(w=[0.0, 0.0])
    assert one.fields["w"].unit == other.fields["w"].unit == "s^-1"
    for simulation in (one, other):
        simulation.step(7)
    assert one.fields["theta"].values.tolist() == other.fields["theta"].values.tolist() != [0.1, 0.2]


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
    values = {"gravity.G": [1.0, 2.0], "dt": [0.01, 0.02]}
    facts = {"step": 7, "by": "the user", "changed": ["gravity.G", "dt"], "values": values}
    assert simulation.edits == [facts]


def test_a_run_records_and_is_read_again(tmp_path: Path) -> None:
    simulation, seen = gravitating(), list[int]()

    @simulation.every(15)
    def look(sim: mg.Simulation) -> None:
        seen.append(sim.stepper.step)

    simulation.step(10)
    start = simulation.snapshot()
    run = simulation.run(steps=30, out=tmp_path / "run", record=5)
    assert seen == [15, 30]
    assert simulation.stepper.step == 40
    assert np.array_equal(run["position"][-1], position(simulation))
    simulation.restore(start)  # as before the run, whose observers are no part of it
    assert (simulation.stepper.step, seen) == (10, [15, 30])
    assert np.array_equal(run["position"][0], position(simulation))
    for initial in (run, {"run": run}, {"run": run.folder}):
        assert np.array_equal(position(gravitating(initial=initial)), run["position"][-1])
    assert run.series("observables/total").step.tolist() == list(range(10, 45, 5))


def test_a_run_from_a_changed_state_is_resumed_bit_for_bit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line needs nothing but the folder: its checkpoints have what was changed before."""

    def changed() -> mg.Simulation:
        simulation = gravitating()
        simulation.step(10)
        simulation.potential.set_parameter("gravity.G", 1.1)
        simulation.fields["v"].set(0.9 * simulation.fields["v"].values)
        simulation.dt = 0.005
        return simulation

    whole = changed().run(steps=60, out=tmp_path / "whole")
    with pytest.raises(InterruptedRunError):
        changed().run(steps=60, out=tmp_path / "stopped", max_hours=1e-9)
    again = resume(tmp_path / "stopped")
    assert np.array_equal(again["position"], whole["position"])
    assert again.simulation.stepper.time == whole.simulation.stepper.time == pytest.approx(0.4)
    (altered,) = (e for e in events(tmp_path / "stopped") if e["event"] == "altered")
    assert (altered["step"], altered["changed"]) == (10, ["v", "gravity.G", "dt"])
    assert altered["values"] == {"gravity.G": [1.0, 1.1], "dt": [0.01, 0.005]}
    (line,) = info(tmp_path / "stopped")["altered"]
    assert line == "altered at step 10 by the user: v, gravity.G 1 -> 1.1, dt 0.01 -> 0.005"
    print_info(info(tmp_path / "stopped"))
    assert f"  {line}\n" in capsys.readouterr().out


def events(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
