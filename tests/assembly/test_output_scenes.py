"""Scenes with maps of several outputs: names, transposes, frames over a grid, pictures, refusals."""

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from minusgrad import build, resume, run
from minusgrad.app.compare import compare
from minusgrad.errors import SceneError
from minusgrad.files import trajectory
from minusgrad.plot import pictures
from tests.support.short_scenes import cut

PLUGIN = """
    import numpy as np
    from minusgrad.plugin import Cell, Grid, Node, Output, Parameter, Record, State, hookimpl, local_map, ti

    def reached(x, h):
        low = [ti.floor(x[0][a] / h - 0.5) for a in ti.static(range(x[0].n))]
        return low, [a + 2.0 for a in low]

    X, V = Node("m", ("d",)), Node("m/s", ("d",))

    @local_map("scatter", over="nodes", gives={"p": Output("kg m/s", ("d",)), "mass": Output("kg")}, x=X, v=V,
               m=Node("kg"), at=Cell(window=reached, spacing="h"), h=Parameter("m"))
    def scatter(x, v, m, at, h):
        '''Momentum and mass of the cells.'''
        w = m[0]
        for a in ti.static(range(x[0].n)):
            u = ti.abs(x[0][a] / h - at[a])
            w *= ti.select(u < 0.5, 0.75 - u * u, 0.5 * ti.max(1.5 - u, 0.0) ** 2)
        return w * v[0], w

    @local_map("velocity", over="nodes", gives="V", unit="m/s", shape=("d",), p=Node("kg m/s", ("d",)),
               mass=Node("kg"))
    def velocity(p, mass):
        '''The velocity of every cell.'''
        return p[0] / (mass[0] + 1e-3)

    NEXT = {"v_next": Output("m/s", ("d",)), "x_next": Output("m", ("d",))}

    @local_map("carried", over="nodes", gives=NEXT, x=X, q=Node("kg m/s", ("d",)), m=Node("kg"),
               h=Parameter("s", default=0.05))
    def carried(x, q, m, h):
        '''Velocity and place of the particles after a step.'''
        v = q[0] / m[0]
        return v, x[0] + h * v

    class Cloud(Record):
        '''Particles over a grid.'''
        def make(self, context):
            rng = np.random.default_rng(3)
            x, v = rng.uniform(1.0, 4.0, (8, 2)), rng.normal(size=(8, 2))
            fields = {"x": x, "v": v, "m": rng.uniform(1, 2, 8)}
            return State(fields=fields, units={"x": "m", "v": "m/s", "m": "kg"},
                         grids={"cells": Grid((12, 10), 0.5)})

    @hookimpl
    def register_states():
        return {"cloud": Cloud}

    @hookimpl
    def register_maps():
        return [scatter, velocity, carried]
    """
SCENE = """
    plugins = []
    [state]
    kind = "cloud"
    [[map]]
    kind = "scatter"
    gives = { p = "momentum" }
    [[map]]
    kind = "velocity"
    fields = { p = "momentum" }
    [[slope]]
    through = { scatter = { p = "V" } }
    by = { v = "q" }
    [[map]]
    kind = "carried"
    gives = { x_next = "x1", v_next = "v1" }
    [stepper]
    kind = "evolution"
    next = { x = "x1", v = "v1" }
    dt = "0.05 s"
    [run]
    steps = 8
    [[observe]]
    kind = "frames"
    every = 4
    fields = ["x", "momentum", "mass"]
    [checkpoint]
    every = 4
    """


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "clouds.py"
    path.write_text(dedent(PLUGIN))
    return path


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    return written(tmp_path / "cloud.toml", SCENE)


def written(path: Path, text: str) -> Path:
    path.write_text(dedent(text))
    return path


def cells(x: np.ndarray) -> list[tuple[int, float]]:
    """The cells that a particle reaches, and their weights."""
    base, found = np.floor(x / 0.5 - 0.5).astype(int), []
    for offset in np.ndindex(3, 3):
        u = np.abs(x / 0.5 - (base + offset))
        weight = np.where(u < 0.5, 0.75 - u**2, 0.5 * np.maximum(1.5 - u, 0.0) ** 2).prod()
        found.append((int((base + offset)[0] * 10 + (base + offset)[1]), float(weight)))
    return found


def on_cells(x: np.ndarray, v: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p, mass = np.zeros((120, 2)), np.zeros(120)
    for k, place in enumerate(x):
        for cell, weight in cells(place):
            p[cell] += weight * m[k] * v[k]
            mass[cell] += weight * m[k]
    return p, mass


def after(x: np.ndarray, v: np.ndarray, m: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    for _ in range(steps):
        p, mass = on_cells(x, v, m)
        V = p / (mass[:, None] + 1e-3)
        v = np.array([sum(weight * V[cell] for cell, weight in cells(place)) for place in x])
        x = x + 0.05 * v
    return x, v


def test_a_run_takes_the_steps_of_numpy(scene: Path, plugin: Path, tmp_path: Path) -> None:
    simulation = build(scene, plugins=[plugin])
    x, v, m = (simulation.fields[n].values.copy() for n in "xvm")
    run(scene, out=tmp_path / "out", plugins=[plugin])
    out = tmp_path / "out"
    there, then = after(x, v, m, 8)
    last = {name: trajectory.last_row(out, name).value[0] for name in trajectory.names(out)}
    np.testing.assert_allclose(last["particles/all/x"], there, rtol=1e-12)
    p, mass = on_cells(there, then, m)
    np.testing.assert_allclose(last["grids/cells/momentum"], p.reshape(12, 10, 2), atol=1e-12)
    np.testing.assert_allclose(last["grids/cells/mass"], mass.reshape(12, 10), atol=1e-12)
    drawn = pictures.plot(tmp_path / "out")
    assert {path.name for path in drawn} >= {"momentum.png", "mass.png"}


def test_a_cut_run_goes_on_with_the_same_bits(scene: Path, plugin: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    run(scene, out=whole, plugins=[plugin])
    half = cut(tmp_path / "half", scene, {}, 4, plugins=[plugin])
    resume(half, plugins=[plugin])
    assert compare(whole, half).differences == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('{ p = "momentum" }', '{ q = "momentum" }'),
            "scatter: no output named 'q' (there are: p, mass)",
        ),
        (
            ('gives = { p = "momentum" }', 'gives = "momentum"'),
            "scatter: gives 2 fields (p, mass), got one name 'momentum'; write gives = { p = \"...\", mass ="
            ' "..." }',
        ),
        (
            ('{ scatter = { p = "V" } }', '{ scatter = "V" }'),
            "through.scatter: this map gives 2 fields (p, mass), got one name 'V'; write { p = \"...\","
            ' mass = "..." }, or some of these',
        ),
        (
            ('{ scatter = { p = "V" } }', '{ scatter = { momentum = "V" } }'),
            "through.scatter: no output named 'momentum' (there are: p, mass)",
        ),
    ],
)
def test_names_that_a_map_does_not_give(
    change: tuple[str, str], message: str, plugin: Path, tmp_path: Path
) -> None:
    path = written(tmp_path / "cloud.toml", SCENE.replace(*change))
    with pytest.raises(SceneError) as caught:
        build(path, plugins=[plugin])
    assert message in str(caught.value)
