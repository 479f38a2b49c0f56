"""A scene of a wave on a grid of cells: run, interrupted, resumed bit for bit, checked, and its mistakes."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.plugin_kit.check_process import findings
from minusgrad.app.runs import build, run
from minusgrad.assembly.building.recording import grids_of_fields
from minusgrad.errors import InterruptedRunError, SceneError
from minusgrad.files import trajectory
from minusgrad.steppers import scheduler
from tests.support.command import files
from tests.support.short_scenes import ctrl_c

PLUGIN = '''
import numpy as np
from minusgrad.plugin import Grid, Node, Parameter, Record, State, hookimpl, local_energy, local_map


class Pond(Record):
    """Water with a bump."""

    def make(self, context):
        y, x = np.indices((12, 10))
        q = np.exp(-0.3 * ((y - 4.0) ** 2 + (x - 3.0) ** 2)).ravel()
        fields = {"p": q, "q": q, "far": np.zeros(7)}
        units = {"p": "m", "q": "m", "far": "m"}
        return State(fields=fields, units=units, grids={"pond": Grid((12, 10), 0.5)})


@local_map("fdtd", gives="p_next", over="cells", unit="m", p=Node("m"), q=Node("m"), k=Parameter())
def fdtd(p, q, k):
    """A wave."""
    return 2.0 * q[0, 0] - p[0, 0] + k * (q[1, 0] + q[-1, 0] + q[0, 1] + q[0, -1] - 4.0 * q[0, 0])


@local_map("smooth", gives="s", over="cells", unit="m", s=Node("m"), q=Node("m"), k=Parameter(default=0.2))
def smooth(s, q, k):
    """A sweep towards q and the mean of the neighbours."""
    return 0.2 * q[0, 0] + k * (s[1, 0] + s[-1, 0] + s[0, 1] + s[0, -1])


@local_map("damped", gives="q_next", over="nodes", unit="m", p_next=Node("m"), s=Node("m"), a=Parameter())
def damped(p_next, s, a):
    """What is left by a filter."""
    return p_next[0] - a * s[0]


@hookimpl
def register_states():
    return {"pond": Pond}


@hookimpl
def register_maps():
    return [fdtd, smooth, damped]
'''
SCENE = """
title = "a wave on a grid of cells"
[state]
kind = "pond"
[[map]]
kind = "fdtd"
k = 0.3
edges = "periodic"
[[map]]
kind = "smooth"
repeat = 3
fields = { q = "p_next" }
edges = ["zero", "clamped"]
[[map]]
kind = "damped"
a = 0.01
[stepper]
kind = "evolution"
next = { p = "q", q = "q_next" }
[run]
steps = 30
[[observe]]
kind = "frames"
every = 5
[checkpoint]
every = 10
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "scene.toml").write_text(SCENE)
    (tmp_path / "pond.py").write_text(PLUGIN)
    return tmp_path


def plugged(here: Path) -> dict[str, Any]:
    return {"plugins": [here / "pond.py"]}


def steps_in_numpy(steps: int) -> np.ndarray:
    y, x = np.indices((12, 10))
    p = q = np.exp(-0.3 * ((y - 4.0) ** 2 + (x - 3.0) ** 2))
    for _ in range(steps):
        around = sum(np.roll(q, shift, axis) for shift in (-1, 1) for axis in (0, 1))
        p_next, s = 2.0 * q - p + 0.3 * (around - 4.0 * q), np.zeros((12, 10))
        for _ in range(3):
            rows, columns = np.pad(s, ((1, 1), (0, 0))), np.pad(s, ((0, 0), (1, 1)), mode="edge")
            s = 0.2 * p_next + 0.2 * (rows[2:] + rows[:-2] + columns[:, 2:] + columns[:, :-2])
        p, q = q, p_next - 0.01 * s
    return q


def test_a_run_that_was_interrupted_ends_with_the_same_files(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "Pace", partial(scheduler.Pace, 0.0))
    whole = run(here / "scene.toml", {}, here / "whole", **plugged(here)).folder
    frames = trajectory.series(whole, "grids/pond/q")
    assert frames.step.tolist() == [0, 5, 10, 15, 20, 25, 30]
    for step, values in zip(frames.step, frames.value, strict=True):
        np.testing.assert_allclose(np.ravel(values), steps_in_numpy(step).ravel(), rtol=0.0, atol=1e-13)
    with ctrl_c(13) as progress, pytest.raises(InterruptedRunError):
        run(here / "scene.toml", {}, here / "cut", progress=progress, **plugged(here))
    resume(here / "cut", **plugged(here))
    assert files(here / "cut") == files(whole)


def test_the_fields_are_pictures_of_the_grid(here: Path) -> None:
    """What maps give, and what stencils read, lies over the grid; fields between sweeps are not saved."""
    made = build(here / "scene.toml", {}, **plugged(here))
    places = grids_of_fields(made.state, made.potential)
    assert {name: places.get(name) for name in ("p", "q", "p_next", "s", "far")} == {
        "p": "pond",
        "q": "pond",
        "p_next": "pond",
        "s": "pond",
        "far": None,
    }
    assert sorted(made.saved_fields) == ["far", "p", "q"]


@pytest.mark.long
def test_check_finds_nothing(here: Path) -> None:
    found = list(findings([str(here / "scene.toml")], plugins=[str(here / "pond.py")]))
    assert {f.term for f in found} >= {"fdtd", "smooth", "damped"}
    assert [f.text for f in found if not f.passed] == []


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (
            {"map.0.edges": "wrapped"},
            "fdtd.edges: no kind of edge named 'wrapped' (there are: clamped, zero,",
        ),
        ({"map.0.grid": "lake"}, "no grid named 'lake' (there are: pond)"),
        (
            {"map.0.repeat": 2},
            "fdtd.repeat: needs a map that reads its own output 'p_next', got one that reads",
        ),
        ({"map.1.repeat": 0}, "map.1.repeat"),
        ({"map.0.begin": "q"}, "'fdtd' is not repeated, got `begin`; give `repeat`, too"),
        ({"map.0.fields": {"p": "far", "q": "far"}}, "cells of the grid (12 x 10), got 7"),
        ({"map.2.edges": "zero"}, "map.2.edges"),
        ({"map.2.grid": "pond"}, "'damped' gives to nodes, and not to a grid's cells; leave `grid` out"),
    ],
)
def test_mistakes_are_told_with_their_place(here: Path, override: dict, said: str) -> None:
    with pytest.raises(SceneError) as caught:
        build(here / "scene.toml", override, **plugged(here))
    assert said in str(caught.value)
