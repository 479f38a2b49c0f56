"""How long it takes to begin: whole processes, in ms; caches are warm.

help         `minusgrad --help`, to the interpreter with argparse and a help of its own first_step
`minusgrad run` of two bodies with one step, to a program that starts the engine and runs one kernel
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from minusgrad.engine import runtime

from .harness.cases import OURS, Call, Case, Clocked, Column, Goal
from .harness.process import ROOT, environment

PROGRAMS = Path(__file__).parent / "programs"
OUR_COMMAND = "import sys; from minusgrad.app.cli import main; sys.exit(main())"
HELP, KERNEL = "interpreter and argparse", "engine and one kernel"


def cases() -> Iterator[Case]:
    """Both."""
    columns = {
        HELP: Column(lambda: process([str(PROGRAMS / "argparse_help.py")])),
        OURS: Column(lambda: ours("--help")),
        "interpreter": Column(lambda: process(["-c", "pass"])),
    }
    yield Case("start", "help", "", columns, None, base=HELP, goals=(Goal(HELP, 1.3),))
    columns = {
        KERNEL: Column(
            lambda: process([str(PROGRAMS / "one_kernel.py"), runtime.engine_name()]), engine=True
        ),
        OURS: Column(first_step, engine=True),
    }
    yield Case("start", "first_step", "", columns, None, base=KERNEL, goals=(Goal(KERNEL, 1.3),))


def process(arguments: Sequence[str]) -> Call:
    """The interpreter with these arguments, from start to end."""

    def call() -> Clocked:
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, env=environment(), check=True, capture_output=True
        )
        return Clocked(time.perf_counter() - began, None)

    return call


def ours(*arguments: str) -> Call:
    """`minusgrad ARGUMENTS`"""
    return process(["-c", OUR_COMMAND, *arguments])


def first_step() -> Call:
    """`minusgrad run scenes/two_body.toml run.steps=1`, without what the scene observes."""
    folder = Path(tempfile.mkdtemp(prefix="minusgrad-bench-"))
    scene = folder / "scene.toml"
    text = (ROOT / "scenes" / "two_body.toml").read_text()
    scene.write_text(text.partition("[[observe]]")[0].replace("steps = 1000", "steps = 1"))
    return ours("run", str(scene), "--out", str(folder / f"run-{os.getpid()}"), "--force")
