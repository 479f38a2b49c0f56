"""Taichi and Quadrants: which one a process takes, and that a run keeps to the one that it began with."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from minusgrad.engine.runtime import PREFIXES, VARIABLE
from minusgrad.errors import pip_line
from minusgrad.files import trajectory
from tests.support.command import SCENES, files, minusgrad
from tests.support.tiers import sampled

TWO_BODY = SCENES / "two_body.toml"
pytestmark = pytest.mark.skipif(not find_spec("quadrants"), reason="needs pip install 'minusgrad[quadrants]'")


def printed(code: str, *arguments: object, variable: str | None = None) -> list[str]:
    """What a program prints in a process of its own, line by line."""
    env = {k: v for k, v in os.environ.items() if k != VARIABLE}
    env |= {} if variable is None else {VARIABLE: variable}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


REFUSED = """
import sys
from minusgrad.errors import MinusgradError
try:
    exec(sys.argv[1])
except MinusgradError as error:
    print(type(error).__name__, error)
"""
ABSENT = "import sys; sys.modules['quadrants'] = None\n"
"""For Python that is not installed."""


def engine_of(run: Path) -> str:
    """The engine that a run says it was computed by."""
    built = (line for line in (run / "journal.jsonl").read_text().splitlines() if '"built"' in line)
    return json.loads(next(built))["engine"]


# Which one ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice",
    sampled(
        [
            (None, None, "taichi"),
            ("", None, "taichi"),
            ("quadrants", None, "quadrants"),
            ("auto", None, "quadrants"),
            (None, "auto", "quadrants"),
            ("taichi", "auto", "taichi"),
            (None, "quadrants", "quadrants"),
            ("quadrants", "taichi", "taichi"),
        ],
        [(None, None, "taichi"), (None, "auto", "quadrants"), ("quadrants", "taichi", "taichi")],
    ),
)
def test_by_name_then_by_the_variable_then_taichi(choice: tuple[str | None, str | None, str]) -> None:
    """By what the variable names and what is asked for, the engine that is bound."""
    variable, asked, bound = choice
    code = f"import sys; from minusgrad.engine import runtime; runtime.engine({asked!r}); runtime.start(); "
    code += "from minusgrad import ti; print(runtime.engine_name(), ti.__name__); "
    code += "print(*sorted({'taichi', 'quadrants'} & {*sys.modules}))"
    assert printed(code, variable=variable) == [f"{bound} {bound}", bound]


def test_one_that_there_is_not() -> None:
    code = "from minusgrad import ti"
    assert printed(REFUSED, code, variable="torch") == [
        "RuntimeUnavailableError MINUSGRAD_ENGINE: no engine named 'torch'"
        " (there are: taichi, quadrants, auto)"
    ]
    for bound in ("", "runtime.engine(); "):
        code = f"from minusgrad.engine import runtime; {bound}runtime.engine('torch')"
        assert printed(REFUSED, code) == [
            "RuntimeUnavailableError no engine named 'torch' (there are: taichi, quadrants)"
        ]


def test_one_that_is_not_installed() -> None:
    code = ABSENT + "from minusgrad.engine import runtime; runtime.engine('quadrants')"
    refusal = f"engine 'quadrants' is not installed; {pip_line('quadrants')}"
    assert printed(REFUSED, code) == [f"RuntimeUnavailableError {refusal}"]
    code = ABSENT + f"from minusgrad import build; build({str(TWO_BODY)!r}, ['runtime.engine=quadrants'])"
    assert printed(REFUSED, code) == [
        f"SceneError override 'runtime.engine=quadrants': runtime.engine: {refusal}"
    ]
    code = (
        f"{ABSENT}from minusgrad import build; from minusgrad.engine import runtime;"
        f" build({str(TWO_BODY)!r}, ['runtime.engine=auto'])"
    )
    assert printed(code + "; print(runtime.engine_name())") == ["taichi"]


def test_another_than_that_of_the_process() -> None:
    """Each message says what to do; the process goes on with the engine that it has."""
    code = (
        f"from minusgrad import build; scene = {str(TWO_BODY)!r}; build(scene, ['runtime.engine=quadrants'])"
    )
    named = "from minusgrad import ti; print(ti.__name__)"
    more = f"{named}; build(scene); {named}; build(scene, ['runtime.engine=auto']); {named}"
    assert printed(f"{code}; {more}") == 3 * ["quadrants"]
    code += "; build(scene, ['runtime.engine=taichi'])"
    assert printed(REFUSED, code) == [
        "SceneError override 'runtime.engine=taichi': runtime.engine: this process computes with engine"
        " 'quadrants'; 'taichi' needs a process of its own"
    ]
    code = (
        "from minusgrad.engine import runtime; runtime.start(); runtime.start(runtime.Options('quadrants'))"
    )
    assert printed(REFUSED, code)[0].startswith(
        "RuntimeUnavailableError this process computes with engine 'tai"
    )


NAMED = [pytest.param("quadrants", "taichi"), pytest.param("auto", "")]


@pytest.mark.parametrize(("named", "variable"), sampled(NAMED, NAMED[:1]))
def test_a_scene_is_not_overruled_by_the_variable(named: str, variable: str, tmp_path: Path) -> None:
    engine = f"runtime.engine={named}"
    done = minusgrad(
        "run", TWO_BODY, engine, "run.steps=5", "--out", tmp_path / "run", **{VARIABLE: variable}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert engine_of(tmp_path / "run") == "quadrants"


# What they compute ----------------------------------------------------------------------------------


COMPUTED = {"two_body": ["run.steps=200"], "plummer": ["state.n=700", "run.steps=40"], "stretch": []}


@pytest.mark.parametrize("scene", sampled(COMPUTED, ["plummer"]))
def test_both_compute_the_same_but_for_rounding(scene: str, tmp_path: Path) -> None:
    changes, ends = COMPUTED[scene], {}
    for engine in PREFIXES:
        more = [f"runtime.engine={engine}", "runtime.precision=f64", *changes]
        done = minusgrad("run", SCENES / f"{scene}.toml", *more, "--out", tmp_path / engine)
        assert (done.returncode, done.stderr) == (0, "")
        assert engine_of(tmp_path / engine) == engine
        name = next(n for n in trajectory.names(tmp_path / engine) if n.endswith("/position"))
        ends[engine] = trajectory.series(tmp_path / engine, name).value[-1]
    far = np.abs(ends["taichi"]).max()
    np.testing.assert_allclose(ends["quadrants"], ends["taichi"], rtol=0.0, atol=1e-10 * far)


# Resuming -------------------------------------------------------------------------------------------

SHORT = ["run.steps=300", "checkpoint.every=100", "observe.0.every=1"]
CUT = """
import os, signal, sys
from contextlib import contextmanager
from minusgrad.app.runs import run
from minusgrad.errors import InterruptedRunError

@contextmanager
def progress(first, last):
    yield lambda step: os.kill(os.getpid(), signal.SIGINT) if step >= 150 else None

try:
    run(sys.argv[1], sys.argv[3:], sys.argv[2], progress=progress)
except InterruptedRunError:
    print("cut")
"""
RESUME = "import sys; from minusgrad import resume; from minusgrad.engine import runtime; "


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """A copy of half a run, by an engine that the variable named; and the whole, beside the first half."""
    made = {}

    def half(engine: str, copy: Path) -> Path:
        if engine not in made:
            made[engine] = folder = tmp_path_factory.mktemp(engine)
            assert printed(CUT, TWO_BODY, folder / "half", *SHORT, variable=engine) == ["cut"]
        shutil.copytree(made[engine] / "half", copy)
        return copy

    return half


@pytest.mark.parametrize("computed", sampled(["quadrants", "taichi"], ["quadrants"]))
def test_a_run_goes_on_with_its_engine(computed: str, tmp_path: Path, halves) -> None:
    variable = {"quadrants": "taichi", "taichi": "quadrants"}[computed]
    half = halves(computed, tmp_path / "half")
    done = minusgrad("run", TWO_BODY, *SHORT, "--out", tmp_path / "whole", **{VARIABLE: computed})
    assert (done.returncode, done.stderr) == (0, "")
    done = minusgrad("resume", half, **{VARIABLE: variable})
    assert (done.returncode, done.stderr) == (0, "")
    assert files(half) == files(tmp_path / "whole")


def test_a_run_of_another_engine_is_refused_unless_asked_for(tmp_path: Path, halves) -> None:
    half = halves("quadrants", tmp_path / "half")
    before = files(half)
    code = f"{RESUME}runtime.start(); resume({str(half)!r})"
    refusal = f"CheckpointError {half}: was computed by engine 'quadrants', whose bits no other gives: "
    assert printed(REFUSED, code) == [
        f"{refusal}this process computes with engine 'taichi'; 'quadrants' needs a process of its own"
    ]
    assert printed(REFUSED, f"{ABSENT}{RESUME}resume({str(half)!r})") == [
        f"{refusal}engine 'quadrants' is not installed; {pip_line('quadrants')}"
    ]
    assert files(half) == before
    code = f"{RESUME}runtime.start(); print(*resume({str(half)!r}, allow_changed=True).remarks, sep='\\n')"
    remarks = printed(code)
    assert remarks[0] == "since the run was saved, and perhaps not bit for bit the same:"
    assert 'scene.runtime.engine: "quadrants" then, "taichi" now' in remarks


def test_a_scene_that_names_another_engine_since_is_another_scene(tmp_path: Path, halves) -> None:
    half = halves("quadrants", tmp_path / "half")
    scene = half / "scene.toml"
    scene.write_text(scene.read_text() + '\n[runtime]\nengine = "taichi"\n')
    done = minusgrad("resume", half)
    assert done.returncode == 2
    assert 'scene.runtime.engine: "quadrants" then, "taichi" now' in done.stderr


NESTED = """
from minusgrad import Node, Stage, staged_map, ti

@ti.kernel
def sum_below(x: ti.types.ndarray(ndim=1), y: ti.types.ndarray(ndim=1)):
    for i in range(x.shape[0]):
        for j in range(i):
            y[i] += x[j]

print(staged_map("below", gives="y", stages=[Stage(sum_below, writes=("y",))], x=Node()).name)
"""


@pytest.mark.parametrize("name", sampled(["taichi", "quadrants"], ["quadrants"]))
def test_a_stage_is_declared_before_the_engine_is_started(name: str, tmp_path: Path) -> None:
    """With nested loops, whose remarks ask what the engine does to elements of vectors."""
    (tmp_path / "nested.py").write_text(NESTED)
    assert printed(f"import sys; sys.path[:0] = [{str(tmp_path)!r}]; import nested", variable=name) == [
        "below"
    ]
