"""How long it takes to begin: whole processes; caches are warm.

help         `minusgrad --help`, to the interpreter with argparse and a help of its own
first_step   `minusgrad run` of two bodies with one step, to a program that runs one kernel on the engine
outer_solar_system, cantilever   a shipped scene to its end, to REBOUND and scikit-fem, from the same files

`python -m benchmarks.start [--rounds N]` prints wall and CPU time in seconds: of a wrong key, of lists and
scenes beside their goals, of the peers, and of the first run with an empty cache of kernels.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from minusgrad.engine import runtime

from .harness.cases import OURS, Call, Case, Clocked, Column, Goal, MissingColumnError
from .harness.peers import require
from .harness.process import ROOT, environment

PROGRAMS = Path(__file__).parent / "programs"
OUR_COMMAND = "import sys; from minusgrad.app.cli import main; sys.exit(main())"
HELP, KERNEL = "interpreter and argparse", "engine and one kernel"
SCENES = ROOT / "scenes"
PEERS = {
    "outer_solar_system": ("REBOUND", "rebound", "outer_in_rebound.py", "data/outer_solar_system.csv"),
    "cantilever": ("scikit-fem", "skfem", "cantilever_in_skfem.py", "data/cantilever.msh"),
}
"""Of a scene the peer, its module, its program, and the file that both read. The goals are in seconds."""
COLD = 2.5
"""Goal of a first run with an empty cache of kernels, in parts of the goal of a warm one."""


def cases() -> Iterator[Case]:
    """All."""
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
    for scene, (peer, module, program, file) in PEERS.items():
        columns = {
            OURS: Column(lambda scene=scene: ours(*whole(scene)), engine=True),
            peer: Column(lambda *of, m=module, p=program, f=file: theirs(m, p, f), peer=True),
        }
        yield Case("start", scene, "", columns, None, base=peer)


def whole(scene: str) -> list[str]:
    """The arguments of a run of a shipped scene to its end."""
    folder = tempfile.mkdtemp(prefix="minusgrad-bench-")
    return ["run", str(SCENES / f"{scene}.toml"), "--out", folder, "--force"]


def theirs(module: str, program: str, file: str) -> Call:
    """A program on a peer, which is not imported here."""
    require(module)
    return process([str(PROGRAMS / program), str(SCENES / file)])


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


# The table ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """A row: its name, the arguments of the interpreter, and the goal in seconds, if it has one."""

    name: str
    arguments: Sequence[str]
    goal: float | None = None
    is_run: bool = False


def commands() -> Iterator[Command]:
    """What the goals are about, and the programs on peers that are installed."""
    two_body = whole("two_body")
    yield Command("a wrong key", ["-c", OUR_COMMAND, *two_body, "stepper.dtt=1"], 0.5)
    yield Command("`kinds`", ["-c", OUR_COMMAND, "kinds"], 0.6)
    yield Command("`energies`", ["-c", OUR_COMMAND, "energies"], 0.6)
    for scene, goal in (("two_body", 1.3), ("outer_solar_system", 1.7), ("cantilever", 2.0)):
        yield Command(f"`{scene}`", ["-c", OUR_COMMAND, *whole(scene)], goal, True)
        if scene in PEERS:
            peer, module, program, file = PEERS[scene]
            try:
                require(module)
            except MissingColumnError as missing:
                print(missing, file=sys.stderr)
            else:
                yield Command(f"{peer}", [str(PROGRAMS / program), str(SCENES / file)])


def seconds(command: Command, caches: Mapping[str, str] | None = None) -> tuple[float, float]:
    """Wall and CPU time of the process, its own threads and children included."""
    began, before = time.perf_counter(), os.times()
    subprocess.run(
        [sys.executable, *command.arguments], cwd=ROOT, env=environment(**(caches or {})), capture_output=True
    )
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, used


def cold(command: Command) -> tuple[float, float]:
    """With an empty cache of kernels."""
    with tempfile.TemporaryDirectory(prefix="minusgrad-bench-") as empty:
        return seconds(command, {"TI_OFFLINE_CACHE_FILE_PATH": empty, "QD_OFFLINE_CACHE_FILE_PATH": empty})


def table(rounds: int) -> Iterator[str]:
    """Lines of Markdown: least and median of the rounds, in which the commands take turns."""
    rows = [*commands()]
    for row in rows:
        seconds(row)  # fills the caches
    warm = {row.name: [] for row in rows}
    first = {row.name: [] for row in rows if row.is_run}
    for number in range(rounds):
        for row in rows:
            warm[row.name].append(seconds(row))
            if row.is_run and number < max(1, rounds // 2):
                first[row.name].append(cold(row))
    yield "| whole process, s | goal | wall | CPU | cold goal | cold wall | cold CPU |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        goal = "" if row.goal is None else f"{row.goal:g}"
        limit = f"{COLD * row.goal:g}" if row.is_run and row.goal else ""
        cells = [row.name, goal, *_figures(warm[row.name]), limit, *_figures(first.get(row.name, []))]
        yield f"| {' | '.join(cells)} |"


def _figures(found: Sequence[tuple[float, float]]) -> tuple[str, str]:
    if not found:
        return "", ""
    wall, cpu = zip(*found, strict=True)
    return tuple(f"{min(one):.2f} ({median(one):.2f})" for one in (wall, cpu))  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description="Wall and CPU time of whole commands, beside their goals.")
    parser.add_argument("--rounds", type=int, default=7)
    for line in table(parser.parse_args().rounds):
        print(line)


if __name__ == "__main__":
    main()
