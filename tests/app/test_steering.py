"""Numbers of a page: a run that gets them is journalled, goes on, and is repeated bit for bit."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad.app.info import info
from minusgrad.app.jobs import job_runs, steering
from minusgrad.app.verify import verify
from minusgrad.errors import InterruptedRunError, RunFolderError, SceneError, UserError
from minusgrad.files import checkpoint, wall_clock
from minusgrad.files.held import inbox
from minusgrad.files.run_folder import RunDir
from minusgrad.files.writer import Writer
from minusgrad.steppers import scheduler
from tests.support.command import SCENES, files

TWO_BODY = {
    "run.steps": 400,
    "checkpoint.every": 100,
    "observe.0.every": 1,
    "observe.2.every": 1,
    "view.inputs.G": {"parameter": "gravity.G", "range": [0.5, 4.0]},
}
ROBOT = {
    "run.steps": 120,
    "checkpoint.every": 40,
    "view.inputs.goal": {"parameter": "goal_offset.goal.0", "range": [0.1, 0.9]},
    "view.inputs.wind": {"parameter": "damped_kick.gravity.0", "range": [-3.0, 3.0]},
}
CRYSTAL = {
    "run.steps": 60,
    "checkpoint.every": 20,
    "observe.2.every": 5,
    "runtime.precision": "f32",
    "view.inputs.stiffness": {"parameter": "spring.stiffness", "range": ["1 N/m", "30 N/m"]},
}
LIQUID = {
    "run.steps": 60,
    "checkpoint.every": 20,
    "observe.0.begin": 0,
    "observe.0.every": 20,
    "observe.1.every": 5,
    "observe.2.every": 5,
    "view.inputs.depth": {"parameter": "lennard_jones.epsilon", "range": ["0.1 kJ/mol", "3 kJ/mol"]},
}
JOBS: dict[str, tuple[dict[str, Any], list[dict[str, float]]]] = {
    "two_body": (TWO_BODY, [{"G": 1.5}, {}, {"G": 0.9}, {"G": 0.9}, {}, {"G": 1.0}]),
    "mass_spring": (ROBOT, [{}, {"goal": 0.1}, {"wind": 2.5}, {}, {"goal": 0.31, "wind": -1.0}]),
    "warm_crystal": (CRYSTAL, [{}, {"stiffness": 9000.0}, {}, {"stiffness": 12000.1}]),
    "argon_liquid": (LIQUID, [{}, {"depth": 70.0}, {}, {"depth": 121.3}]),
}
"""Scenes with their overrides, and the numbers that a page leaves, in order: an integrator, a program, a bath
in single precision, a bath with lists of neighbours."""


class Page:
    """Stands for a page: each time that the run looks, it has left the next numbers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, numbers: Sequence[Mapping[str, Any]]):
        self.left = list(numbers)
        monkeypatch.setattr(inbox, "take", lambda run: self.left.pop(0) if self.left else {})


def steered(job: str, out: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> Path:
    """A run of one of the jobs, which gets its numbers."""
    overrides, numbers = JOBS[job]
    with monkeypatch.context() as patch:
        page = Page(patch, numbers)
        minusgrad.run(SCENES / f"{job}.toml", overrides | more, out)
    assert not page.left
    return out


def changes(run: Path) -> list[steering.Change]:
    return steering.recorded_changes(RunDir.open(run, read_only=True))


def without_overrides(run: Path) -> dict[str, bytes]:
    """All files of a run; a repeated one names its architecture, too."""
    found = files(run)
    del found["overrides.json"]
    return found


def last_fields(run: Path) -> dict[str, np.ndarray]:
    newest, _ = checkpoint.newest(run / "ckpt")
    assert newest is not None
    return checkpoint.load(newest).arrays_under("fields")


# Repeating -------------------------------------------------------------------------------------------


@pytest.mark.exam
@pytest.mark.parametrize(
    "job", [pytest.param(n, marks=[pytest.mark.long] * (n != "mass_spring")) for n in JOBS]
)
def test_a_repeated_run_has_every_byte_of_the_steered_one(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = steered(job, tmp_path / "run", monkeypatch)
    given = changes(run)
    assert len({change.step for change in given}) > 1
    assert given[-1].step < JOBS[job][0]["run.steps"]
    monkeypatch.setattr(scheduler.Pace, "take", lambda self, stepper, most: stepper.advance(most))
    again = job_runs.repeat(run, tmp_path / "again").folder  # in batches as long as they can be
    assert without_overrides(again) == without_overrides(run)
    assert changes(again) == given
    name = f"{given[0].name} = {given[0].value}"
    assert info(run)["altered"][0] == f"altered at step {given[0].step} by its page: {name}"
    assert info(again)["altered"] == [f"altered {len(given)} times as {run} was by its page"]
    assert all(answer.passed for answer in verify(again))


@pytest.mark.exam
@pytest.mark.parametrize("job", ["two_body", "mass_spring"])
def test_a_steered_run_is_that_of_a_script_that_writes_the_same_numbers(
    job: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = steered(job, tmp_path / "run", monkeypatch)
    simulation = minusgrad.load(SCENES / f"{job}.toml", JOBS[job][0])
    for change in changes(run):
        simulation.step(change.step - simulation.stepper.step)
        parameter, *index = change.parameter.split(".", 2)[1:]
        name = f"{change.parameter.split('.')[0]}.{parameter}"
        values = simulation.potential.parameter(name)
        values[tuple(map(int, index))] = change.value
        simulation.potential.set_parameter(name, values)
    simulation.step(JOBS[job][0]["run.steps"] - simulation.stepper.step)
    for name, values in last_fields(run).items():
        assert np.array_equal(values, simulation.fields[name].values), name


@pytest.mark.exam
def test_saves_by_the_clock_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 10**9, 200))
    with monkeypatch.context() as patch:
        patch.setattr(wall_clock, "now", lambda: float(next(times)))
        patch.setattr(Writer, "busy", property(lambda self: False))
        run = steered("mass_spring", tmp_path / "run", patch)
    events = RunDir.open(run, read_only=True).events()
    assert sum(event.get("by") == "clock" for event in events) > 2
    again = job_runs.repeat(run, tmp_path / "again").folder
    assert without_overrides(again) == without_overrides(run)


KILLED = """
import os, signal, sys
from minusgrad.assembly.building.view_inputs import ViewInputs
from minusgrad.files.held import inbox
import minusgrad
scene, overrides, numbers, out, writes = eval(sys.stdin.read())
inbox.take = lambda run: numbers.pop(0) if numbers else {}
write = ViewInputs.write_value
def write_value(self, name, value):
    global writes
    writes -= 1
    if not writes:
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, name, value)
ViewInputs.write_value = write_value
minusgrad.run(scene, overrides, out)
"""


@pytest.mark.long
@pytest.mark.parametrize("writes", [1, 3])
def test_a_killed_run_goes_on_with_the_numbers_that_it_had(writes: int, tmp_path: Path) -> None:
    """The process is killed when a number is in the journal, and before it is written."""
    overrides, numbers = JOBS["mass_spring"]
    run = tmp_path / "run"
    given = repr(
        (str(SCENES / "mass_spring.toml"), overrides | {"checkpoint.every": 13}, numbers, str(run), writes)
    )
    done = subprocess.run([sys.executable, "-c", KILLED], input=given, text=True, timeout=100)
    assert done.returncode == -signal.SIGKILL
    before = changes(run)
    assert len(before) == writes
    minusgrad.resume(run)
    assert changes(run) == before
    again = job_runs.repeat(run, tmp_path / "again").folder
    assert without_overrides(again) == without_overrides(run)
    assert np.array_equal(last_fields(again)["x"], last_fields(run)["x"])


@pytest.mark.exam
def test_a_run_that_was_interrupted_gets_more_numbers_and_is_repeated_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a repeated run may be interrupted: its own journal has what is ahead."""
    overrides, numbers = JOBS["mass_spring"]
    _interrupted(lambda: minusgrad.run(SCENES / "mass_spring.toml", overrides, tmp_path / "run"), numbers, 60)
    first = len(changes(tmp_path / "run"))
    with monkeypatch.context() as patch:
        Page(patch, [{}, {"goal": 0.77}, {"wind": 0.5}])
        minusgrad.resume(tmp_path / "run")
    given = changes(tmp_path / "run")
    assert len(given) == first + 2
    assert given[first].step >= 60
    _interrupted(lambda: job_runs.repeat(tmp_path / "run", tmp_path / "again"), [], 30)
    assert changes(tmp_path / "again") == given
    minusgrad.resume(tmp_path / "again")
    assert without_overrides(tmp_path / "again") == without_overrides(tmp_path / "run")


def _interrupted(begin: Callable[[], Any], numbers: Sequence[Mapping[str, Any]], step: int) -> None:
    """Begin a run that gets numbers, and interrupt it once it has taken so many steps."""
    from minusgrad.app.jobs import saver

    with pytest.MonkeyPatch.context() as patch:
        Page(patch, numbers)
        look = saver.Saver.look

        def look_and_stop(self: Any) -> None:
            look(self)
            if self.job.stepper.step >= step:
                os.kill(os.getpid(), signal.SIGTERM)

        patch.setattr(saver.Saver, "look", look_and_stop)
        with pytest.raises(InterruptedRunError):
            begin()


@pytest.mark.exam
def test_numbers_wait_until_what_is_recorded_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = steered("mass_spring", tmp_path / "run", monkeypatch)
    old = changes(run)
    with monkeypatch.context() as patch:
        Page(patch, [{"goal": 0.5}])
        again = job_runs.repeat(run, tmp_path / "again").folder
    *same, new = changes(again)
    assert same == old
    assert new.step >= old[-1].step
    assert new.value == 0.5


# What may be repeated --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        return steered("mass_spring", tmp_path_factory.mktemp("robot") / "run", patch)


LINE = {"event": "input", "step": 3, "name": "goal", "parameter": "goal_offset.goal.0", "value": 0.5}
DAMAGED: dict[str, tuple[dict[str, Any], str]] = {
    "infinite": ({"value": float("inf")}, "no finite value"),
    "text": ({"value": "0.5"}, "no step, name and value"),
    "before": ({"step": 3}, "its steps go back"),
    "nameless": ({"name": 3}, "no step, name and value"),
    "outside": ({"step": 118, "value": 1.5}, "'goal': needs a number between 0.1 and 0.9, got 1.5"),
    "unknown": ({"step": 118, "name": "gaol"}, "no input named 'gaol'; did you mean 'goal'?"),
    "another": (
        {"step": 118, "parameter": "goal_offset.goal.1"},
        "was goal_offset.goal.1, got goal_offset.goal.0",
    ),
}


@pytest.mark.exam
@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_journal_is_refused(kind: str, robot: Path, tmp_path: Path) -> None:
    run, (facts, said) = tmp_path / "run", DAMAGED[kind]
    shutil.copytree(robot, run)
    with (run / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps(LINE | facts) + "\n")
    with pytest.raises((RunFolderError, UserError), match=re.escape(said)):
        job_runs.repeat(run, tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.exam
def test_a_run_that_goes_on_is_not_repeated(robot: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(robot, run)
    with RunDir.open(run), pytest.raises(UserError, match="repeat it when it is over"):
        job_runs.repeat(run, tmp_path / "again")


# Numbers that are none -------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Any, str]] = {
    "NaN": ({"goal": float("nan")}, "needs a number between 0.1 and 0.9, got nan"),
    "infinity": ({"goal": float("inf")}, "needs a number between 0.1 and 0.9, got inf"),
    "above": ({"goal": 0.9000001}, "'goal': needs a number between 0.1 and 0.9, got 0.9"),
    "below": ({"wind": -4}, "'wind': needs a number between -3 and 3, got -4"),
    "text": ({"goal": "0.5"}, "got a str"),
    "true": ({"goal": True}, "got a bool"),
    "list": ({"goal": [0.5]}, "got a list"),
    "null": ({"goal": None}, "got a NoneType"),
    "huge": ({"goal": 10**400}, "needs a number between 0.1 and 0.9"),
    "name": ({"gaol": 0.5}, "no input named 'gaol'; did you mean 'goal'?"),
    "no table": ([0.5], "needs a short table of numbers by name"),
    "deep": ({"goal": json.loads("[" * 90 + "]" * 90)}, "got a list"),
    "long": ({"x" * 5000: 1.0}, "needs a short table of numbers by name, got 4097 bytes"),
}


@pytest.mark.exam
@pytest.mark.parametrize("kind", REFUSED)
def test_a_number_that_is_none_is_refused_and_the_run_goes_on(
    kind: str, robot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (left, said), run, take = REFUSED[kind], tmp_path / "run", inbox.take
    times = iter(range(10**6))

    def leave(folder: Path) -> Any:
        if next(times) == 1:
            _leave(folder, json.dumps(left).encode())
        return take(folder)

    monkeypatch.setattr(inbox, "take", leave)
    done = minusgrad.run(SCENES / "mass_spring.toml", ROBOT | {"run.steps": 20}, run, say=lambda text: None)
    assert any(said in remark for remark in done.remarks), done.remarks
    assert changes(run) == []
    assert not (run / inbox.NAME).exists()
    assert [e["event"] for e in RunDir.open(run, read_only=True).events()].count(steering.REFUSED) == 1


def _leave(folder: Path, text: bytes, mode: int = 0o600) -> None:
    path = folder / inbox.NAME
    path.write_bytes(text)
    path.chmod(mode)


@pytest.mark.unit
def test_an_inbox_is_read_once_and_is_for_its_owner_alone(robot: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(robot, run)
    inbox.put(run, {"goal": 0.1})
    inbox.put(run, {"wind": 0.30000000000000004})
    assert (run / inbox.NAME).stat().st_mode & 0o777 == 0o600
    assert inbox.take(run) == {"goal": 0.1, "wind": 0.30000000000000004}
    assert inbox.take(run) == {}
    assert files(run) == files(robot)


@pytest.mark.unit
@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_an_inbox_that_others_may_write_is_refused(mode: int, robot: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(robot, run)
    _leave(run, b'{"goal": 0.5}', mode)
    with pytest.raises(UserError, match="is not of this user alone"):
        inbox.take(run)
    assert inbox.take(run) == {}


@pytest.mark.unit
def test_a_link_is_no_inbox(robot: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(robot, run)
    (tmp_path / "other.json").write_text('{"goal": 0.5}')
    (run / inbox.NAME).symlink_to(tmp_path / "other.json")
    with pytest.raises(UserError, match=r"inbox\.json: is no file"):
        inbox.take(run)
    assert inbox.take(run) == {}
    assert (tmp_path / "other.json").exists()


# The energy ------------------------------------------------------------------------------------------


@pytest.mark.exam
def test_what_a_number_changes_is_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """U = -G m1 m2 / r, so the work of a change is -dG m1 m2 / r; the energy that is left is kept."""
    with monkeypatch.context() as patch:
        Page(patch, [{}, {"G": 1.5}, {}, {}, {"G": 0.6}, {"G": 4.0}])
        done = minusgrad.run(SCENES / "two_body.toml", TWO_BODY | {"stepper.dt": 1e-3}, tmp_path / "run")
    rows, given, before, expected = done.series("particles/all/position"), changes(tmp_path / "run"), 1.0, 0.0
    for change in given:
        x = rows.value[list(rows.step).index(change.step)]
        expected -= (change.value - before) * 0.75 * 0.25 / float(np.linalg.norm(x[0] - x[1]))
        before = change.value
    work = done.series("observables/work")
    assert abs(expected) > 0.1
    assert work.value[-1] == pytest.approx(expected, rel=1e-12)
    assert [k for k, (a, b) in enumerate(pairwise(work.value)) if a != b] == [change.step for change in given]
    assert np.abs(done.series("observables/drift").value).max() < 2e-4
    assert not done.remarks


# Scenes ----------------------------------------------------------------------------------------------

GOAL = {"parameter": "goal_offset.goal.0", "range": [0.1, 0.9]}
WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "term": (
        "mass_spring",
        {"parameter": "goal_ofset.goal.0"},
        "no term named 'goal_ofset'; did you mean 'goal_offset'?",
    ),
    "parameter": (
        "mass_spring",
        {"parameter": "goal_offset.gaol.0"},
        "no parameter named 'gaol'; did you mean 'goal'?",
    ),
    "step": (
        "mass_spring",
        {"parameter": "damped_kick.dt"},
        "no parameter named 'dt' (there are: mass, gravity, damping)",
    ),
    "whole": (
        "mass_spring",
        {"parameter": "goal_offset.goal"},
        "write goal_offset.goal.0 to goal_offset.goal.1",
    ),
    "beyond": (
        "mass_spring",
        {"parameter": "goal_offset.goal.2"},
        "write goal_offset.goal.0 to goal_offset.goal.1",
    ),
    "minus": (
        "mass_spring",
        {"parameter": "goal_offset.goal.-1"},
        "write goal_offset.goal.0 to goal_offset.goal.1",
    ),
    "number": (
        "mass_spring",
        {"parameter": "goal_offset.length.0"},
        "is one number; write goal_offset.length",
    ),
    "bare": (
        "mass_spring",
        {"parameter": "goal"},
        "needs a term and its parameter, got 'goal'; write goal_offset.goal",
    ),
    "path": (
        "mass_spring",
        {"parameter": "stepper.dt"},
        "needs a term and its argument, got a path in the scene",
    ),
    "swapped": (
        "mass_spring",
        {"range": [0.9, 0.1]},
        "needs its lower end first and a width, got 0.9 and 0.1",
    ),
    "no width": (
        "mass_spring",
        {"range": [0.9, 0.9]},
        "needs its lower end first and a width, got 0.9 and 0.9",
    ),
    "start": (
        "mass_spring",
        {"range": [0.1, 0.3]},
        "does not have the value at the start, 0.9, got 0.1 and 0.3",
    ),
    "one end": ("mass_spring", {"range": [0.1]}, "needs at least 2 elements"),
    "unit": ("warm_crystal", {"parameter": "spring.stiffness", "range": ["1 N", "30 N"]}, "'1 N' is a force"),
    "bounds": (
        "mass_spring",
        {"parameter": "goal_offset.length", "range": [-1.0, 30.0]},
        "has ends that 'goal_offset.length' cannot have, got -1.0 and 30.0; it is within (0, inf",
    ),
    "minimiser": ("stretch", {"parameter": "neo_hookean.mu", "range": [0.0, 1e9]}, "which seeks a minimum"),
    "constraint": ("chain_of_rods", {"parameter": "rod.length"}, "is of a constraint, whose bodies"),
    "ensemble": (
        "double_pendulums",
        {"parameter": "double_pendulum.g", "range": [0.0, 20.0]},
        "got an [ensemble]",
    ),
}


@pytest.mark.exam
@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.long] * (k == "constraint")) for k in WRONG]
)
def test_a_wrong_input_is_one_message_at_its_key(kind: str) -> None:
    scene, table, said = WRONG[kind]
    with pytest.raises(SceneError, match=re.escape(said)) as error:
        minusgrad.load(SCENES / f"{scene}.toml", {"view.inputs.goal": GOAL | table})
    (problem,) = error.value.problems
    assert problem.key.startswith("view.inputs")


@pytest.mark.exam
def test_two_inputs_at_most_and_of_two_numbers() -> None:
    with pytest.raises(SceneError, match="takes 2 numbers at most, got 3: a, b, c; leave one out"):
        minusgrad.load(SCENES / "mass_spring.toml", {"view.inputs": dict.fromkeys("abc", GOAL)})
    with pytest.raises(
        SceneError, match=r"inputs\.b\.parameter: 'goal_offset\.goal\.0': is the number of 'a', too"
    ):
        minusgrad.load(SCENES / "mass_spring.toml", {"view.inputs": dict.fromkeys("ab", GOAL)})


@pytest.mark.exam
def test_numbers_of_holds_are_no_inputs() -> None:
    moved = {
        "hold.0.velocity": ["1 nm/ps", 0.0],
        "view.inputs.v": {"parameter": "left.velocity.0", "range": [0, 2]},
    }
    with pytest.raises(SceneError, match=r"'left\.velocity\.0': is a number of a hold"):
        minusgrad.load(SCENES / "warm_crystal.toml", moved)
