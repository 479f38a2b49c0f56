"""N steps = N/2 steps, a new process, N/2 steps: every file of the run folder is the same, bit for bit."""

import os
import random
import shlex
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.results.run import Run
from minusgrad.app.runs import build, run
from minusgrad.errors import CheckpointError, InterruptedRunError, RunFolderError
from minusgrad.files import checkpoint
from tests.support.command import (
    MINUSGRAD,
    SCENES,
    complaints,
    files,
    last_saved,
    minusgrad,
    start,
    wait_until_saved,
)
from tests.support.short_scenes import ctrl_c, cut, path_of
from tests.support.tiers import counts, sampled

SOLAR = {"run.steps": 600, "checkpoint.every": 150}
LONG = {"state.n": 700, "run.steps": 2500, "checkpoint.every": 100, "runtime.threads": 1}
"""One that takes a few seconds, so that it can be stopped on its way."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of an uninterrupted run; each is made once."""
    made: dict[str, Path] = {}

    def folder(scene: str, overrides: dict) -> Path:
        key = f"{scene} {overrides}"
        if key not in made:
            made[key] = run(path_of(scene), overrides, tmp_path_factory.mktemp("whole") / "run").folder
        return made[key]

    return folder


# Where it stops (every scene and stepper: test_resume_matrix) ----------------------------------------


@pytest.mark.parametrize("step", [0, 1, 249, 250, 251, 999])
def test_any_step_is_a_good_place_to_stop(step: int, tmp_path: Path, whole) -> None:
    overrides = {"observe.0.every": 1}  # batches of one step, so that it stops right there
    half = cut(tmp_path / "run", SCENES / "two_body.toml", overrides, step)
    assert last_saved(half) == max(step, 1)
    resume(half)
    assert files(half) == files(whole("two_body", overrides))


def test_stopped_again_and_again(tmp_path: Path, whole) -> None:
    half = cut(tmp_path / "run", SCENES / "two_body.toml", {}, 100)
    for step in (101, 252, 600, 990):
        with ctrl_c(step) as progress, pytest.raises(InterruptedRunError):
            resume(half, progress=progress)
    resume(half)
    assert files(half) == files(whole("two_body", {}))


# Real processes, real signals -----------------------------------------------------------------------


def as_overrides(overrides: dict) -> list[str]:
    return [f"{key}={value}" for key, value in overrides.items()]


@pytest.mark.parametrize(
    "number", sampled([signal.SIGINT, signal.SIGTERM, signal.SIGHUP], [signal.SIGTERM, signal.SIGHUP])
)
def test_a_signal_saves_and_says_the_line_to_type(number: signal.Signals, tmp_path: Path, whole) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # one that is ignored, as below `nohup`, is inherited so
    child = start("run", SCENES / "plummer.toml", *as_overrides(LONG), "--out", "my runs/one", cwd=tmp_path)
    signal.signal(number, before)
    half = tmp_path / "my runs/one"
    wait_until_saved(half, 100, child)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (4, "")
    assert complaints(err) == (
        f"minusgrad: interrupted and saved at step {last_saved(half)} of 2500; "
        "continue with: minusgrad resume 'my runs/one'\n"
    )
    assert 100 <= last_saved(half) < 2500
    line = shlex.split(err.partition("continue with: ")[2])
    assert line[0] == MINUSGRAD.name
    done = minusgrad(*line[1:], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert files(half) == files(whole("plummer", LONG))


def test_a_second_ctrl_c_stops_at_once_and_what_was_saved_stands(tmp_path: Path, whole) -> None:
    @contextmanager
    def impatient(first: int, last: int) -> Iterator[Callable[[int], None]]:
        def tell(step: int) -> None:
            if step > 500:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)

        yield tell

    with pytest.raises(
        InterruptedRunError, match="stopped at once, saved at step 500 of 1000; continue with"
    ):
        run(SCENES / "two_body.toml", out=tmp_path / "run", progress=impatient)
    assert last_saved(tmp_path / "run") == 500
    resume(tmp_path / "run")
    assert files(tmp_path / "run") == files(whole("two_body", {}))


@pytest.mark.exam
@pytest.mark.parametrize("number", counts(3, 6))
def test_kills_at_random_moments_lose_nothing(number: int, tmp_path: Path, whole) -> None:
    half, chance, kills = tmp_path / "run", random.Random(1), 0
    arguments: list[object] = ["run", SCENES / "plummer.toml", *as_overrides(LONG), "--out", half]
    for _ in range(number):
        child = start(*arguments)
        wait_until_saved(half, last_saved(half) + 1, child)
        time.sleep(0.2 * chance.random())
        child.kill()
        child.communicate()
        kills += child.returncode == -signal.SIGKILL
        arguments = ["resume", half]
    assert kills >= number // 2 + 1, "the run is too short to be killed"
    done = minusgrad("resume", half)
    assert (done.returncode, done.stderr) == (0, "")
    assert files(half) == files(whole("plummer", LONG))


# The folder is all that a run needs -----------------------------------------------------------------


@pytest.fixture
def solar(tmp_path: Path) -> Path:
    """An interrupted run of a scene with a data file, both away from where they were."""
    (tmp_path / "old/data").mkdir(parents=True)
    for name in ("outer_solar_system.toml", "data/outer_solar_system.csv"):
        shutil.copy(SCENES / name, tmp_path / "old" / name)
    half = cut(tmp_path / "old/run", tmp_path / "old/outer_solar_system.toml", SOLAR, 301)
    (tmp_path / "new").mkdir()
    half.rename(tmp_path / "new/moved")
    shutil.rmtree(tmp_path / "old")
    return tmp_path / "new/moved"


def test_moved_from_another_folder_and_without_its_data(solar: Path, whole) -> None:
    done = minusgrad("resume", "moved", cwd=solar.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert files(solar) == files(whole("outer_solar_system", SOLAR))


def test_a_finished_run_stays_as_it_is(tmp_path: Path) -> None:
    folder = run(SCENES / "two_body.toml", {"run.steps": 300}, tmp_path / "run").folder
    before = files(folder)
    with pytest.warns(UserWarning, match="is finished already, at step 300 of 300, and nothing is left to"):
        again = resume(folder)
    (remark,) = again.remarks
    assert (again.simulation.stepper.step, remark.startswith(f"{folder}: is finished")) == (300, True)
    assert files(folder) == before


# What has changed since -----------------------------------------------------------------------------


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def refused(folder: Path, **more) -> list[str]:
    """The lines between the first and the last of the refusal."""
    with pytest.raises(CheckpointError) as refusal:
        resume(folder, **more)
    first, *lines, last = str(refusal.value).splitlines()
    assert first == f"{folder}: not the run that was saved:"
    assert last == "to continue all the same: --allow-changed"
    return lines


def test_a_changed_scene_is_told_key_by_key_and_may_be_allowed(tmp_path: Path) -> None:
    half = cut(tmp_path / "run", SCENES / "two_body.toml", {}, 600)
    replaced(half / "scene.toml", "dt = 0.005", "dt = 0.01")
    replaced(half / "scene.toml", "every = 10\n", "every = 20\n")
    before = files(half)
    assert refused(half) == [
        "scene.observe.0.every: 10 then, 20 now",
        "scene.observe.2.every: 10 then, 20 now",
        "scene.stepper.dt: 0.005 then, 0.01 now",
    ]
    assert files(half) == before
    done = minusgrad("resume", half, "--allow-changed")
    assert done.returncode == 0
    assert "perhaps not bit for bit" in done.stderr
    assert "scene.stepper.dt: 0.005 then, 0.01 now" in done.stderr


def test_an_allowed_change_moves_with_forces_of_its_own(tmp_path: Path) -> None:
    """The first half kick already feels the gravity of the changed scene."""
    half = cut(tmp_path / "run", SCENES / "two_body.toml", {"run.steps": 700}, 600)
    saved = checkpoint.load(checkpoint.newest(half / "ckpt")[0])
    replaced(half / "scene.toml", "G = 1.0\n\n[stepper]", "G = 5.0\n\n[stepper]")
    end = resume(half, allow_changed=True).simulation
    again = build(half / "scene.toml", {"run.steps": 700})
    for name, field in again.fields.items():
        field.set(saved.arrays_under("fields")[name])
    again.stepper.evaluate()
    again.stepper.advance(700 - saved.step)
    assert np.array_equal(end.fields["x"].values, again.fields["x"].values)


def test_changed_overrides_are_a_changed_scene(tmp_path: Path) -> None:
    half = cut(tmp_path / "run", SCENES / "two_body.toml", {"stepper.dt": 0.001}, 600)
    replaced(half / "overrides.json", "0.001", "0.002")
    assert refused(half) == ["scene.stepper.dt: 0.001 then, 0.002 now"]


def test_changed_comments_are_remarked_only(tmp_path: Path, whole) -> None:
    half = cut(tmp_path / "run", SCENES / "two_body.toml", {}, 600)
    replaced(half / "scene.toml", "# A Kepler orbit", "# An orbit")
    assert resume(half).remarks[-1] == "the scene's text has changed"


def test_changed_data_are_refused(solar: Path) -> None:
    replaced(solar / "inputs/data/outer_solar_system.csv", "1", "2")
    assert refused(solar) == ["files.data/outer_solar_system.csv has changed"]


SPRING = '''
from minusgrad import Node, Parameter, local_energy

@local_energy("anchor", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def anchor(x, k):
    """A spring to the origin."""
    return 0.5 * k * x[0].norm_sqr()
'''


@pytest.fixture
def anchored(tmp_path: Path) -> tuple[Path, Path]:
    """An interrupted run with an energy of a plugin file, and the file."""
    plugin = tmp_path / "anchor.py"
    plugin.write_text(SPRING)
    overrides = {"energy.0": {"kind": "anchor", "k": 2.0}}
    return cut(tmp_path / "run", SCENES / "two_body.toml", overrides, 600, plugins=[plugin]), plugin


def test_a_plugin_file_must_be_given_again(anchored: tuple[Path, Path]) -> None:
    half, plugin = anchored
    done = minusgrad("resume", half)
    assert done.returncode == 2
    assert done.stderr == (
        f"minusgrad: {half}: was run with --plugin anchor.py, and a run folder holds no code; give it again: "
        f"minusgrad resume {half} --plugin anchor.py\n"
    )
    done = minusgrad("resume", half, "--plugin", plugin)
    assert (done.returncode, done.stderr) == (0, "")
    run(
        SCENES / "two_body.toml",
        {"energy.0": {"kind": "anchor", "k": 2.0}},
        half / "../whole",
        plugins=[plugin],
    )
    assert files(half) == files(half / "../whole")


GRAPH = "energy.0: the graph of term 'anchor' has changed (plugin 'anchor': anchor.py)"


def test_a_changed_energy_is_refused_by_its_graph(anchored: tuple[Path, Path]) -> None:
    half, plugin = anchored
    replaced(plugin, "0.5", "0.6")
    assert refused(half, plugins=[plugin]) == [GRAPH]
    assert resume(half, [plugin], allow_changed=True).remarks[1] == GRAPH


def test_a_changed_file_with_equal_energies_is_remarked_only(anchored: tuple[Path, Path]) -> None:
    """A comment, a docstring, other names, and another energy: the numbers of the run are the same."""
    half, plugin = anchored
    replaced(plugin, '"""A spring to the origin."""', "# a spring\n    half = 0.5 * k")
    replaced(plugin, "0.5 * k * x[0].norm_sqr()", "half * x[0].norm_sqr()")
    plugin.write_text(plugin.read_text() + OTHER)
    assert resume(half, [plugin]).remarks == (
        "since the run was saved, and perhaps not bit for bit the same:",
        "plugin 'anchor': changed: anchor.py; its energies in this run are the same",
    )


def test_another_order_of_evaluation_is_remarked(anchored: tuple[Path, Path]) -> None:
    """Sums of gradients follow the order in which a function makes its numbers: they may round otherwise."""
    half, plugin = anchored
    replaced(plugin, '"""A spring to the origin."""', "square = x[0].norm_sqr()")
    replaced(plugin, "0.5 * k * x[0].norm_sqr()", "0.5 * k * square")
    assert resume(half, [plugin]).remarks[1:] == (
        "energy.0: the graph of term 'anchor' is evaluated in another order (plugin 'anchor': anchor.py)",
    )


OTHER = """

@local_energy("other", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def other(x, k):
    return k * x[0].norm_sqr()
"""


def test_plugins_that_the_scene_does_not_use_do_not_matter(
    anchored: tuple[Path, Path], tmp_path: Path
) -> None:
    half = cut(tmp_path / "other", SCENES / "two_body.toml", {}, 600, plugins=[anchored[1]])
    replaced(anchored[1], "0.5", "0.6")
    result: Run = resume(half)
    assert result.remarks == ()
    assert result.simulation.stepper.step == 1000


# Damage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damaged", [1, 2])
def test_damaged_checkpoints_are_passed_over_and_the_end_is_the_same(
    damaged: int, tmp_path: Path, whole
) -> None:
    half = cut(tmp_path / "run", SCENES / "two_body.toml", {}, 600)
    newest = checkpoint.list_checkpoints(half / "ckpt")[-damaged:]
    for path in newest:
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 16
        path.write_bytes(data)
    done = minusgrad("resume", half)
    assert done.returncode == 0
    remarks = done.stderr.splitlines()
    assert len(remarks) == damaged
    assert all("skipped" in r and path.name in r for r, path in zip(remarks, reversed(newest), strict=True))
    assert files(half) == files(whole("two_body", {}))


@pytest.mark.parametrize("text", [None, "[", "{}", "[1]"])
def test_damaged_overrides_are_told(text: str | None, tmp_path: Path) -> None:
    folder = run(SCENES / "two_body.toml", {"run.steps": 10}, tmp_path / "run").folder
    (folder / "overrides.json").unlink()
    if text is not None:
        (folder / "overrides.json").write_text(text)
    with pytest.raises(RunFolderError, match=r"overrides.json: damaged \(.*\); restore the original file"):
        resume(folder)


def test_a_run_without_any_whole_checkpoint_says_so(tmp_path: Path) -> None:
    half = cut(tmp_path / "run", SCENES / "two_body.toml", {}, 600)
    for path in checkpoint.list_checkpoints(half / "ckpt"):
        path.write_bytes(b"")
    done = minusgrad("resume", half)
    assert done.returncode == 2
    assert "has no usable checkpoint; start the run again: `minusgrad run` with --force" in done.stderr
