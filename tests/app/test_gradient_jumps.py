"""Fits of chaotic programs say where the gradient's norm jumps: in the terminal, the journal, the JSON."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

import minusgrad
from minusgrad.app.jobs.job_runs import resume
from minusgrad.steppers.minimisers.gradient_watch import GradientWatch
from tests.support.command import minusgrad as command
from tests.support.short_scenes import cut

PLUGIN = """
    import numpy as np
    from minusgrad.plugin import Node, Parameter, Record, State, hookimpl, local_energy, local_map

    @local_map("logistic", gives="x_next", over="nodes", x=Node(), r=Parameter())
    def logistic(x, r):
        '''Chaotic from r = 3.57 on (May 1976, Nature 261, 459).'''
        return r * x[0] * (1.0 - x[0])

    @local_energy("goal", over="nodes", x=Node())
    def goal(x):
        return (x[0] - 0.95) ** 2

    class Population(Record):
        '''One number.'''
        def make(self, context):
            return State(fields={"x": np.array([0.2])}, units={"x": "1"})

    @hookimpl
    def register_maps():
        return [logistic]

    @hookimpl
    def register_energies():
        return [goal]

    @hookimpl
    def register_states():
        return {"population": Population}
    """
SCENE = """
    plugins = []
    [units]
    system = "dimensionless"
    [state]
    kind = "population"
    [[map]]
    kind = "logistic"
    r = 3.4
    [stepper]
    kind = "evolution"
    next = { x = "x_next" }
    [run]
    steps = 60
    [fit]
    method = "adam"
    rate = 0.4
    iterations = 8
    [fit.parameters."logistic.r"]
    scale = 1.0
    [[fit.loss]]
    kind = "goal"
    """
"""Up to r = 3.57 the gradient is of order 1; the first iteration goes to r = 3.8, where it is exponential."""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "logistic.py").write_text(dedent(PLUGIN))
    path = tmp_path / "chaos.toml"
    path.write_text(dedent(SCENE))
    return path


def warned(folder: Path) -> list[str]:
    """The warnings in the journal."""
    events = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
    return [event["text"] for event in events if event["event"] == "warned"]


JUMPED = (
    "iteration 1: the norm of the gradient jumped from 0.0357 to 4.32e+08, as it does where a run is chaotic,"
    " such as by contacts; a shorter run, a smaller step, or a normalised descent (adam) may cure it"
)


def test_a_jump_is_said_once_and_kept(scene: Path, tmp_path: Path) -> None:
    said: list[str] = []
    plugins = [scene.parent / "logistic.py"]
    done = minusgrad.fit(scene, out=tmp_path / "fit", plugins=plugins, say=said.append)
    assert said == [JUMPED]
    assert done.remarks == (JUMPED,)
    assert warned(done.folder) == [JUMPED]


def test_the_terminal_and_json_have_it(scene: Path, tmp_path: Path) -> None:
    """On the command line, in a process of its own."""
    plugin = scene.parent / "logistic.py"
    done = command("fit", scene, "--plugin", plugin, "--out", tmp_path / "fit", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["remarks"] == [JUMPED]
    assert done.stderr.count("jumped") == 1
    assert f"minusgrad: {JUMPED}" in done.stderr


def test_a_resumed_fit_does_not_repeat_it(scene: Path, tmp_path: Path) -> None:
    plugins = [scene.parent / "logistic.py"]
    folder = cut(tmp_path / "cut", scene, [], 3, minusgrad.fit, plugins=plugins)
    assert warned(folder) == [JUMPED]
    assert resume(folder, plugins=plugins).remarks == ()
    assert warned(folder) == [JUMPED]


def test_a_smooth_fit_says_nothing(scene: Path, tmp_path: Path) -> None:
    """Below r = 3.57, as far as it goes."""
    changes = {"fit.rate": 0.02, "fit.iterations": 5, "map.0.r": 3.2}
    done = minusgrad.fit(scene, changes, out=tmp_path / "fit", plugins=[scene.parent / "logistic.py"])
    assert done.remarks == ()


class Search:
    """A search of which only the norms are known."""

    step = 0
    gradient_norm = 1.0


@pytest.mark.parametrize(
    ("norms", "largest", "jumps"),
    [
        ((1.0, 99.0, 9e3, 8e5), 0.0, []),
        ((1.0, 100.0), 0.0, [1]),
        ((0.4, 146.0, 0.5, 0.4, 150.0), 0.0, [1, 4]),
        ((1.0, 1e-4, 0.05), 0.0, []),  # it vanishes near a minimum, and returns
        ((1.0, 1e-4, 0.1), 0.0, [2]),
        ((1e-4, 0.5), 10.0, []),  # so it does in a fit that was resumed
        ((0.0, 1.0), 0.0, []),  # nothing is a multiple of zero
        ((1.0, 1e3, 1.0, 1e3, 1.0, 1e3, 1.0, 1e3), 0.0, [1, 3, 5]),
    ],
)
@pytest.mark.unit
def test_which_norms_are_jumps(norms: tuple[float, ...], largest: float, jumps: list[int]) -> None:
    search, said = Search(), []
    search.gradient_norm = norms[0]
    watch = GradientWatch(search, said.append, largest)
    for search.step, search.gradient_norm in enumerate(norms[1:], 1):
        watch.observe()
    assert [int(text.split(":")[0].removeprefix("iteration ")) for text in said] == jumps
    assert all(("further jumps are not reported" in text) == (k == 2) for k, text in enumerate(said))
