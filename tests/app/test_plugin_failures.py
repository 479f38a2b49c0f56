"""Errors of a plugin's code: the plugin is named with its place, the run is kept, and the exit code is 3."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from minusgrad.app import cli
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import run
from minusgrad.errors import InterruptedRunError, PluginError, PluginFailedError
from minusgrad.files import checkpoint
from minusgrad.files.run_folder import RunDir
from tests.support.command import complaints, files

SCENE = """
[run]
steps = 20
[checkpoint]
every = {every}
[state]
kind = "random_points"
n = 4
side = 1.0
mass = 1.0
dimension = 2
[[energy]]
kind = "gravity"
G = 1.0
softening = 0.1
[stepper]
kind = "{stepper}"
dt = 0.01
[[observe]]
kind = "energies"
every = 2
[[observe]]
kind = "look"
every = 3
[[observe]]
kind = "frames"
every = 1
"""

PLUGIN = '''
import os
from minusgrad.plugin import *

class Looking(Record):
    every: int = 1

    def make(self, context):
        return Look(context.stepper, context.recorder, self.every)

class Look(Observer):
    """Counts its looks; the count is its memory."""

    count = 0.0

    def observe(self):
        self.count += 1.0
        self.recorder.record_observables(self.stepper.step, self.stepper.time, {"looks": self.count})
        if self.stepper.step == int(os.environ.get("FAIL_AT", -1)):
            FAILURE

    def state(self):
        import numpy as np
        return {"count": np.array(self.count)}

    def restore(self, state):
        self.count = float(state["count"])

class Stepping(Record):
    dt: float

    def make(self, context):
        scheme = SCHEMES["leapfrog"]
        return Slow(context.system, scheme, self.dt)

class Slow(Integrator):
    def advance(self, n):
        if self.step + n >= int(os.environ.get("STOP_AT", 10**9)):
            {}["step"]
        super().advance(n)

@hookimpl
def register_observers():
    return {"look": Looking}

@hookimpl
def register_steppers():
    return {"slow": Stepping}
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path


def scene(
    folder: Path, every: int = 0, stepper: str = "leapfrog", failure: str = "raise SystemExit(0)"
) -> Path:
    (folder / "scene.toml").write_text(SCENE.format(every=every, stepper=stepper))
    (folder / "looking.py").write_text(PLUGIN.replace("FAILURE", failure))
    return folder / "scene.toml"


def line_of(folder: Path, text: str) -> int:
    lines = (folder / "looking.py").read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.strip() == text)


def last_events(run_folder: Path) -> list[str]:
    return [event["event"] for event in RunDir.open(run_folder, read_only=True).events()]


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("os.stat('none')", "FileNotFoundError: [Errno 2] No such file or directory: 'none'"),
        ("raise BaseException('b')", "BaseException: b"),
        ("raise StopIteration", "StopIteration"),
        ("raise type('Ctrl', (KeyboardInterrupt,), {})('c')", "Ctrl: c"),
        ("self.fields['x'].set(None)", "field 'x': "),
    ],
)
def test_an_observer_that_fails_is_named_and_the_state_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failure: str, text: str
) -> None:
    monkeypatch.setenv("FAIL_AT", "9")
    at = line_of(folder, failure) if scene(folder, failure=failure) else 0
    code = cli.main(["run", "scene.toml", "--out", "run", "--plugin", "looking.py"])
    said = complaints(capsys.readouterr().err)
    assert code == 3
    assert said.startswith(f"minusgrad: plugin 'looking' (file looking.py) failed at looking.py:{at}: {text}")
    assert "minusgrad: run: the data saved up to step 9 is intact\n" in said
    assert "after the plugin is corrected, continue with: minusgrad resume run --plugin looking.py" in said
    assert last_events(folder / "run")[-2:] == ["saved", "failed"]


@pytest.mark.parametrize(("every", "step"), [(0, 9), (3, 18), (4, 20)])
def test_a_corrected_run_ends_as_one_that_never_failed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, every: int, step: int
) -> None:
    """Not a row is lost or doubled: all files of the folder are the same, the journal aside."""
    path = scene(folder, every)
    whole = run(path, out=folder / "whole", plugins=[folder / "looking.py"]).folder
    monkeypatch.setenv("FAIL_AT", str(step))
    with pytest.raises(PluginFailedError):
        run(path, out=folder / "half", plugins=[folder / "looking.py"])
    saved = checkpoint.load(checkpoint.newest(folder / "half/ckpt")[0])
    assert (saved.step, saved.meta["unobserved"]) == (step, True)
    with pytest.raises(PluginFailedError):
        resume(folder / "half", [folder / "looking.py"])
    monkeypatch.delenv("FAIL_AT")
    done = resume(folder / "half", [folder / "looking.py"])
    assert done.series("observables/looks").value[-1] == 8.0
    assert files(folder / "half") == files(whole)


def test_a_stepper_that_fails_keeps_the_last_checkpoint(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scene(folder, 5, "slow")
    whole = run(path, out=folder / "whole", plugins=[folder / "looking.py"]).folder
    monkeypatch.setenv("STOP_AT", "13")
    with pytest.raises(
        PluginFailedError,
        match=r"plugin 'looking' \(file looking.py\) failed at looking.py:\d+: KeyError: 'step'",
    ):
        run(path, out=folder / "half", plugins=[folder / "looking.py"])
    assert checkpoint.newest(folder / "half/ckpt")[0].name.startswith("000000000010.")
    assert last_events(folder / "half")[-1] == "failed"
    monkeypatch.delenv("STOP_AT")
    resume(folder / "half", [folder / "looking.py"])
    assert files(folder / "half") == files(whole)


def test_ctrl_c_is_no_mistake_of_a_plugin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = scene(folder, failure=f"os.kill({os.getpid()}, {int(signal.SIGINT)})")
    monkeypatch.setenv("FAIL_AT", "9")
    with pytest.raises(InterruptedRunError, match="interrupted and saved at step"):
        run(path, out=folder / "run", plugins=[folder / "looking.py"])


def test_a_look_at_the_start_fails_before_anything_is_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = scene(folder)
    monkeypatch.setenv("FAIL_AT", "0")
    with pytest.raises(
        PluginError, match=r"plugin 'looking' \(file looking.py\) failed at looking.py:\d+: SystemExit: 0"
    ):
        run(path, out=folder / "run", plugins=[folder / "looking.py"])
    assert not (folder / "run").exists()


# Energies -------------------------------------------------------------------------------------------------

ENERGIES = """
import os, sys
from minusgrad.plugin import *
from minusgrad.plugin import ti

def law(x):
    {traced}
    return x[0].norm_sqr()

@local_energy("leaving", over="nodes", x=Node("m", ("d",)))
def leaving(x):
    return law(x)

def forward(m, U):
    {forward}
    U[None] += 0.5 * (m.to_numpy() ** 2).sum()

def back(m, d_m, d_U):
    {backward}
    d_m.from_numpy(d_m.to_numpy() + m.to_numpy() * d_U.to_numpy())

staged = staged_energy("staged", stages=[Stage(forward, ("U",), backward=back)], m=Node("kg"))
"""


def energies(folder: Path, **bodies: str) -> Path:
    text = ENERGIES.format(**dict.fromkeys(("traced", "forward", "backward"), "pass") | bodies)
    (folder / "leaving.py").write_text(text)
    blocks = SCENE[: SCENE.index("[[energy]]")].format(every=0) + '[stepper]\nkind = "leapfrog"\ndt = 0.01\n'
    kind = "leaving" if "traced" in bodies else "staged"
    (folder / "scene.toml").write_text(f'{blocks}[[energy]]\nkind = "{kind}"\n')
    return folder / "scene.toml"


@pytest.mark.parametrize("verb", ["run", "check"])
def test_an_energy_that_leaves_while_it_is_traced(
    folder: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    energies(folder, traced="sys.exit(0)")
    assert cli.main([verb, "scene.toml", "--plugin", "leaving.py"]) == 2
    said = capsys.readouterr().err
    assert "plugin 'leaving' (file leaving.py) failed at leaving.py:7: SystemExit: 0" in said
    assert not (folder / "runs").exists()


@pytest.mark.parametrize(("part", "verb", "code"), [("forward", "check", 3), ("backward", "run", 2)])
def test_python_code_of_a_stage(
    folder: Path, capsys: pytest.CaptureFixture[str], part: str, verb: str, code: int
) -> None:
    """`check` had begun; a run is refused before it begins."""
    energies(folder, **{part: "raise SystemExit(0)"})
    assert cli.main([verb, "scene.toml", "--plugin", "leaving.py"]) == code
    said = capsys.readouterr().err
    assert "plugin 'leaving' (file leaving.py) failed at leaving.py:" in said
    assert "SystemExit: 0" in said


def test_python_code_of_a_stage_in_pytorch(folder: Path) -> None:
    """PyTorch calls it back: a script would end with exit code 0."""
    torch = pytest.importorskip("torch")
    import minusgrad.torch

    path = energies(folder, backward="1 / int(os.environ.get('ONE', 1))")
    u = minusgrad.torch.energy(path, plugins=[folder / "leaving.py"])
    m = u.start("m").requires_grad_()
    u(m=m).backward()
    assert torch.equal(m.grad, torch.ones(4, dtype=torch.float64))
    os.environ["ONE"] = "0"
    try:
        with pytest.raises(
            PluginFailedError, match=r"plugin 'leaving' .* failed at leaving.py:\d+: ZeroDivisionError"
        ):
            u(m=m).backward()
    finally:
        del os.environ["ONE"]


@pytest.mark.parametrize("lanes", [True, False])
def test_a_failed_observer_of_an_ensemble_is_undone_for_all_members(
    lanes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The round of its step is taken again when the run is resumed."""
    (tmp_path / "looking.py").write_text(PLUGIN.replace("FAILURE", "1 / 0"))
    table = f"[ensemble]\nmembers = 3\nlanes = {str(lanes).lower()}\n[ensemble.vary]\n"
    scene = tmp_path / "scene.toml"
    scene.write_text(
        SCENE.format(every=6, stepper="leapfrog") + table + '"gravity.G" = {uniform = [0.9, 1.1]}\n'
    )
    whole = run(scene, [], tmp_path / "whole", [tmp_path / "looking.py"])
    monkeypatch.setenv("FAIL_AT", "9")
    with pytest.raises(PluginFailedError, match="looking"):
        run(scene, [], tmp_path / "run", [tmp_path / "looking.py"])
    monkeypatch.delenv("FAIL_AT")
    done = resume(tmp_path / "run", [tmp_path / "looking.py"])
    assert done.series("observables/looks").value.tolist() == [[k + 1.0] * 3 for k in range(8)]
    assert files(tmp_path / "run") == files(whole.folder)
