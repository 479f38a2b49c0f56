"""The command line as a user has it, in a process of its own, and what a run leaves behind."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

MINUSGRAD = Path(sys.executable).parent / "minusgrad"
SCENES = Path(__file__).parents[2] / "scenes"


def own_files(scene: Path | str) -> list[Path]:
    """The plugin file that lies beside a shipped scene and has its name, if there is one."""
    file = (SCENES / Path(scene).stem).with_suffix(".py")
    return [file] if file.is_file() else []


def one_member(scene: Path | str) -> list[str]:
    """The override that builds the first member of a shipped scene, if it has members."""
    text = (SCENES / Path(scene).stem).with_suffix(".toml").read_text()
    return ["ensemble.member=0"] if "\n[ensemble" in text else []


def minusgrad(*arguments: object, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """`minusgrad ARGUMENTS`, ended, with its output as text."""
    child = start(*arguments, cwd=cwd, **env)
    try:
        out, err = child.communicate(timeout=120)
    finally:
        child.kill()
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(child.args, child.returncode, out, complaints(err))


def complaints(err: str) -> str:
    """What was written to stderr, without progress, compilation, and the size of a stable step."""
    progress = r"(step|frame|point|iteration) \d+ of \d+, .* s left(, saved at step \d+)?"
    silent = rf"{progress}|minusgrad: [a-z]+( \S+)*? \.\.\.|minusgrad: dt = (?!.*smaller).*"
    return re.sub(rf"^({silent})\n", "", err, flags=re.MULTILINE)


def start(*arguments: object, cwd: Path | None = None, **env: str) -> subprocess.Popen[str]:
    """`minusgrad ARGUMENTS`, running."""
    return subprocess.Popen(
        [MINUSGRAD, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "160", **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def last_saved(run: Path) -> int:
    """The last step that the run's journal calls saved; -1 if none."""
    journal = run / "journal.jsonl"
    text = journal.read_text() if journal.is_file() else ""
    return max((int(step) for step in re.findall(r'"event": "saved", "step": (\d+)', text)), default=-1)


def wait_until_saved(run: Path, step: int, child: subprocess.Popen[str]) -> None:
    """Until a checkpoint of at least this step is on disk, or the process ends."""
    until = time.monotonic() + 60
    while last_saved(run) < step and child.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def files(run: Path) -> dict[str, bytes]:
    """Every file of a run folder by its name, except for the journal, which holds the times of day."""
    found = (p for p in sorted(run.rglob("*")) if p.is_file() and p.name != "journal.jsonl")
    return {p.relative_to(run).as_posix(): p.read_bytes() for p in found}
