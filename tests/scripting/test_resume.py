"""Runs in Python with energies and callbacks of their own go on in Python alone, bit for bit."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.app.verify import verify
from minusgrad.errors import CheckpointError, InterruptedRunError
from tests.support.command import minusgrad

SCRIPT = """
import os, sys
import numpy as np
import minusgrad as mg
from minusgrad import Datum, Node, Parameter, local_energy, ti


@local_energy("spring", over=2, x=Node("m", ("d",)), stiffness=Parameter("N/m"), rest=Datum("m"))
def spring(x, stiffness, rest):
    stretch = (x[0] - x[1]).norm() - rest
    return 0.5 * stiffness * stretch * stretch


@local_energy("rub", over="nodes", v=Node("m s^-1", ("d",)), c=Parameter("kg s^-1"))
def rub(v, c):
    return 0.5 * c * v[0].dot(v[0])


@mg.every(15)
def push(sim):
    if sim.stepper.step == 30:
        sim.potential.set_parameter("spring.stiffness", 4.0)
    if sim.stepper.step == 45:
        sim.fields["v"].set(0.5 * sim.fields["v"].values)
        sim.dt = 0.02
    if sim.stepper.step == 75 and len(sys.argv) > 1 and sys.argv[1] == "die":
        os._exit(9)


def chain():
    x = np.stack([1.1 * np.arange(4), np.zeros(4)], axis=1)
    return mg.Simulation(
        fields={"x": x, "m": np.ones(4)},
        energies=[spring(tuples=np.array([[0, 1], [1, 2], [2, 3]]), rest=np.ones(3), stiffness=3.0)],
        dissipations=[rub(c=0.1)],
        stepper=mg.Leapfrog(dt=0.01),
        bodies={"left": [0]},
        holds=[{"body": "left"}],
        checkpoint={"every": 20},
        callbacks=[push],
    )


if __name__ == "__main__":
    chain().run(steps=90, out=sys.argv[2], record=10)
"""


def imported(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ModuleType]:
    """A run that was killed at step 75 of 90, after its checkpoint of step 60; and its script."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "chain_script.py").write_text(SCRIPT)
    command = [sys.executable, str(folder / "chain_script.py"), "die", str(folder / "run")]
    assert subprocess.run(command, check=False).returncode == 9
    return folder / "run", imported(folder / "chain_script.py")


def test_without_its_energies_and_callbacks_it_is_refused_by_name(killed: tuple[Path, ModuleType]) -> None:
    run, script = killed
    cure = f"minusgrad.resume('{run}', energies=[rub, spring], callbacks=[push])"
    done = minusgrad("resume", run)
    assert done.returncode == 2
    text = f"calls push between its steps, which no run folder contains; go on in Python: {cure}"
    assert text in done.stderr
    with pytest.raises(CheckpointError, match="was run in Python with rub, spring, and nothing is executed"):
        mg.resume(run, callbacks=[script.push])
    assert (run / "source" / "spring.py").read_text().startswith('@local_energy("spring"')


def test_a_changed_energy_or_callback_is_refused(killed: tuple[Path, ModuleType]) -> None:
    run, script = killed
    own = run.parent / "edited_script.py"
    own.write_text(SCRIPT.replace("0.5 * stiffness", "0.6 * stiffness").replace("0.5 * sim.", "0.6 * sim."))
    edited = imported(own)
    with pytest.raises(CheckpointError, match="the graph of term 'spring' has changed"):
        mg.resume(run, energies=[edited.spring, script.rub], callbacks=[script.push])
    with pytest.raises(CheckpointError, match=r"callbacks\.push\.source has changed"):
        mg.resume(run, energies=[script.spring, script.rub], callbacks=[edited.push])


def test_the_command_line_takes_the_file_of_the_energies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Callable[..., tuple[int, str, str]]
) -> None:
    """With the bits of the whole run; a file with other energies is refused."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "chain_script.py"
    file.write_text(SCRIPT.replace("callbacks=[push],", ""))
    Path("other.py").write_text(SCRIPT.replace("0.5 * stiffness", "0.6 * stiffness"))
    script = imported(file)
    whole = script.chain().run(steps=90, out="whole", record=10)
    with pytest.raises(InterruptedRunError):
        script.chain().run(steps=90, out="cut", record=10, max_hours=1e-12)
    code, _, said = invoke("resume", "cut")
    assert code == 2
    assert "or the file that defines it: minusgrad resume cut --plugin chain_script.py" in said
    code, _, said = invoke("resume", "cut", "--plugin", "other.py")
    assert code == 2
    assert "the graph of term 'spring' has changed" in said
    code, _, said = invoke("resume", "cut", "--plugin", "chain_script.py")
    assert code == 0, said
    assert "perhaps not bit for bit" not in said
    assert np.array_equal(mg.open("cut")["position"], whole["position"])


def test_it_goes_on_bit_for_bit(killed: tuple[Path, ModuleType], tmp_path: Path) -> None:
    run, script = killed
    whole = script.chain().run(steps=90, out=tmp_path / "whole", record=10)
    again = mg.resume(run, energies=[script.spring, script.rub], callbacks=[script.push])
    assert np.array_equal(again["position"], whole["position"])
    assert np.array_equal(again["total"], whole["total"])
    assert again.simulation.parameters["spring.stiffness"] == 4.0
    assert again.simulation.stepper.dt == 0.02
    events = [json.loads(line) for line in (tmp_path / "whole" / "journal.jsonl").read_text().splitlines()]
    altered = [(e["step"], e["by"], e["changed"]) for e in events if e["event"] == "altered"]
    assert altered == [(30, "push", ["spring.stiffness"]), (45, "push", ["v", "dt"])]
    assert [e["functions"]["push"]["every"] for e in events if e["event"] == "callbacks"] == [15]
    assert all(answer.passed for answer in verify(run))


def test_a_callback_that_fails_names_itself_and_the_step(killed: tuple[Path, ModuleType]) -> None:
    simulation = killed[1].chain()

    @simulation.every(7)
    def look(sim: mg.Simulation) -> None:
        raise ZeroDivisionError("no way")

    with pytest.raises(mg.CallbackError) as failure:
        simulation.step(10)
    assert str(failure.value) == "callback 'look' failed at step 7: ZeroDivisionError: no way"
