"""Array jobs: the script, its lines run as SLURM would run them, and how it is submitted."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minusgrad.errors import UserError
from minusgrad.sweeps.slurm import ArrayJob, ArrayTask, numbers
from minusgrad.sweeps.verb import points_of
from tests.support.command import MINUSGRAD
from tests.support.sweeps import SOFTENINGS, TWO_BODY, table, written

LINE = ["minusgrad", "sweep", "a scene.toml", "--out", "o"]


@pytest.mark.unit
def test_the_script_is_the_same_line_for_each_point(tmp_path: Path) -> None:
    script = ArrayJob(LINE, [0, 1, 2, 7], 3.9, tmp_path / "o").script().splitlines()
    assert script[0] == "#!/bin/bash"
    assert "#SBATCH --array=0-2,7" in script
    assert "#SBATCH --time=240" in script
    assert "#SBATCH --requeue" in script
    task = """exec minusgrad sweep 'a scene.toml' --out o --point "$SLURM_ARRAY_TASK_ID" --max-hours 3.9"""
    assert script[-1] == task


@pytest.mark.unit
def test_more_points_than_an_array_may_have_are_grouped(tmp_path: Path) -> None:
    job = ArrayJob(LINE, [*range(2499), 3000], 1.0, tmp_path / "o")
    assert "#SBATCH --array=0-833" in job.script()
    assert job.groups[0] == "0-2"
    assert job.groups[-1] == "3000"
    assert [point for group in job.groups for point in numbers(group)] == job.points


def test_the_tasks_of_the_script_make_the_sweep(invoke, tmp_path: Path) -> None:
    """A shell runs the script once for each task, as SLURM does; one point twice, at the same time."""
    file, out = written(tmp_path, vary=SOFTENINGS), tmp_path / "out"
    line = ["sweep", TWO_BODY, file, "run.steps=40", "--out", out]
    code, script, _ = invoke(*line, "--slurm", "--max-hours", 0.5)
    assert code == 0
    path = f"{MINUSGRAD.parent}{os.pathsep}{os.environ['PATH']}"
    tasks = [
        subprocess.Popen(["bash", "-c", script], env={**os.environ, "PATH": path, "SLURM_ARRAY_TASK_ID": k})
        for k in ("0", "1", "2")
    ]
    assert [task.wait(timeout=100) for task in tasks] == [0, 0, 0]
    assert [row["state"] for row in table(out)] == ["finished"] * 3
    code, said, _ = invoke(*line, "--slurm")
    assert (code, said.split(": ")[1][:21]) == (0, "all 3 points are over")


@pytest.fixture
def sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for sbatch, which keeps what it gets."""
    program, got = tmp_path / "bin" / "sbatch", tmp_path / "got.sh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/bash\ncat "${{1:-/dev/stdin}}" > {got}\necho "Submitted batch job 17"\n')
    program.chmod(0o755)
    (program.parent / "srun").write_text("#!/bin/bash\n")
    (program.parent / "srun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return got


@pytest.mark.unit
def test_without_submitit_it_is_submitted_by_sbatch(
    sbatch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    job = ArrayJob(LINE, [0, 1], 1.0, tmp_path / "o")
    assert job.submit() == "Submitted batch job 17"
    assert sbatch.read_text() == job.script()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"--submit: sbatch cannot be called: .*; leave --submit out"):
        job.submit()


@pytest.mark.unit
def test_where_submitit_is_installed_it_submits(
    sbatch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitit = pytest.importorskip("submitit")
    job = ArrayJob(LINE, [0, 1, 5], 1.0, tmp_path / "o")
    assert job.submit() == "submitted 3 tasks by submitit, job 17"
    assert "#SBATCH --array=0-2%3" in sbatch.read_text()
    executor = submitit.AutoExecutor(folder=tmp_path / "local", cluster="local")
    task = ArrayTask()
    done = executor.submit(task, [sys.executable, "-c", "raise SystemExit(4)"])
    assert done.result() == 4
    again = task.checkpoint(["minusgrad"])
    assert again.function is task  # type: ignore[attr-defined]


@pytest.mark.unit
@pytest.mark.parametrize("text", ["", "a", "3-1", "-2", "1,,2"])
def test_points_that_are_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="needs points like 17 or 0-9,17"):
        points_of(text)
