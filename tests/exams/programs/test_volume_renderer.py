"""A volume from its views: depths by a ray marcher in NumPy, exact phantoms, the gradient, the claim."""

import re
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from benchmarks.tape import volume_renderer

import minusgrad
from minusgrad.app.results.run import Run
from minusgrad.app.runs import build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.engine import runtime
from minusgrad.errors import SceneError
from tests.support.command import SCENES

SCENE = SCENES / "volume_renderer.toml"
CELLS, PIXELS, VIEWS, STEPS, SIDE = 8, 6, 3, 24, 20.0
"""With these no step ends on the face of a cell."""
SMALL = {
    "runtime.precision": "f64",
    "state.cells": CELLS,
    "state.cameras.pixels": PIXELS,
    "state.cameras.views": VIEWS,
    "state.cameras.steps": STEPS,
}
Rays = list[tuple[np.ndarray, np.ndarray, float, float] | None]
SAMPLE = {"state.cells": 20, "state.cameras.pixels": 32, "state.cameras.steps": 60}
WHOLE = {"state.cells": 128, "state.cameras.pixels": 512, "state.cameras.steps": 1000, "run.steps": 2}
"""The size of the original, for two descents."""


def small(**more: object) -> BuiltScene:
    simulation = build(SCENE, SMALL | more)
    rng = np.random.default_rng(4)
    simulation.fields["density"].set(rng.uniform(0.0, 0.3, CELLS**3))
    return simulation


def way_of(row: int, view: int, column: int) -> tuple[np.ndarray, np.ndarray]:
    """Eye and direction of a ray, from the centre: a camera on the first axis, turned about the third."""
    angle = np.pi * view / VIEWS
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1.0]])
    right, up = ((2 * k + 1) / PIXELS - 1.0 for k in (column, row))
    way = turn @ [-1.0, 0.33 * right, 0.33 * up]
    return turn @ [40.0, 0.0, 0.0], way / np.linalg.norm(way)


def inside(eye: np.ndarray, way: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Whether eye + t way lies in the cube, for each t."""
    return np.abs(eye + np.atleast_1d(t)[:, None] * way).max(axis=1) < 0.5 * SIDE


def crossing(eye: np.ndarray, way: np.ndarray) -> tuple[float, float] | None:
    """The first and the last t at which eye + t way lies in the cube, by bisection; None if it passes by."""
    t = np.linspace(20.0, 60.0, 2001)
    if not (hit := t[inside(eye, way, t)]).size:
        return None
    ends = []
    for outer, inner in ((0.0, hit[0]), (100.0, hit[-1])):
        for _ in range(55):
            middle = 0.5 * (outer + inner)
            if inside(eye, way, middle)[0]:
                inner = middle
            else:
                outer = middle
        ends.append(inner)
    return ends[0], ends[1]


@pytest.fixture(scope="module")
def rays() -> Rays:
    """Eye, direction, and both ends of each ray, by row, view and column; None where it passes by."""
    found = []
    for row, view, column in product(range(PIXELS), range(VIEWS), range(PIXELS)):
        eye, way = way_of(row, view, column)
        ends = crossing(eye, way)
        found.append(ends and (eye, way, *ends))
    return found


def test_depths_are_those_of_a_ray_marcher(rays: Rays) -> None:
    simulation = small()
    simulation.potential.refresh()
    density = simulation.fields["density"].values.reshape(CELLS, CELLS, CELLS)
    expected = np.zeros(len(rays))
    for number, (eye, way, begin, end) in ((n, ray) for n, ray in enumerate(rays) if ray):
        step = (end - begin) / STEPS
        for k in range(STEPS):
            at = eye + (begin + (k + 0.5) * step) * way
            expected[number] += density[tuple(int((c / SIDE + 0.5) * CELLS) for c in at[::-1])] * step
    assert 0.9 < np.mean(expected > 0.0) < 1.0
    np.testing.assert_allclose(simulation.fields["depth"].values, expected, rtol=1e-12, atol=1e-12)


def test_targets_are_the_exact_depths_of_the_phantom(rays: Rays) -> None:
    """By sums of many samples of the ellipsoids' densities."""
    rows = [r for r in (SCENES / "data/shepp_logan.csv").read_text().splitlines() if r[0] not in "#x"]
    target, samples, worst = small().fields["target"].values, 4000, 0.0
    for number in range(0, len(rays), 5):
        if (ray := rays[number]) is None:
            assert target[number] == 0.0
            continue
        eye, way, begin, end = ray
        s = begin + (np.arange(samples) + 0.5) / samples * (end - begin)
        x, y, z = (eye[:, None] + s * way[:, None]) / (0.5 * SIDE)
        total = np.zeros(samples)
        for row in rows:
            cx, cy, cz, a, b, c, degrees, density = map(float, row.split(","))
            angle = np.radians(degrees)
            u = np.cos(angle) * (x - cx) + np.sin(angle) * (y - cy)
            v = np.cos(angle) * (y - cy) - np.sin(angle) * (x - cx)
            total += 0.5 * density * ((u / a) ** 2 + (v / b) ** 2 + ((z - cz) / c) ** 2 < 1.0)
        worst = max(worst, abs(float(total.mean()) * (end - begin) - target[number]))
    assert target.max() > 1.0
    assert worst < 5e-3


def on_tape(density: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """Loss and gradient by Taichi's tape, in a process of its own: Taichi 1.7.4 fails in later engines."""
    runtime.start(runtime.Options())
    return volume_renderer.program(CELLS, PIXELS, VIEWS, STEPS)(density, target)


def test_the_gradient_is_that_of_differences_and_of_a_tape() -> None:
    """U is a square of the density, so that its central differences are exact but for rounding."""
    simulation = small()
    potential, density = simulation.potential, simulation.fields["density"]
    found, start = potential.gradient("density"), density.values.copy()
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        loss, expected = alone.submit(on_tape, start, simulation.fields["target"].values).result()
    assert potential.value() == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max(), rtol=1e-9)
    rng = np.random.default_rng(8)
    for _ in range(3):
        way = rng.normal(size=start.shape)
        density.set(start + way)
        up = potential.value()
        density.set(start - way)
        assert found @ way == pytest.approx((up - potential.value()) / 2.0, rel=1e-11)


def bits(threads: int) -> list[bytes]:
    """Gradient and depths in both precisions."""
    found = []
    for precision in ("f64", "f32"):
        simulation = small(**{"runtime.precision": precision, "runtime.threads": threads})
        found.append(simulation.potential.gradient("density").tobytes())
        found.append(simulation.fields["depth"].values.tobytes())
    return found


def test_bits_do_not_depend_on_threads() -> None:
    """In processes of their own, as engines are."""
    found = []
    for threads in (1, 3):
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            found.append(alone.submit(bits, threads).result())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (
            {"state.cameras.distance": "17 cm"},
            "cameras.distance: must be outside of the cube at all angles, got 0.85 of its side; give more"
            " than 0.866",
        ),
        (
            {"state.cameras.opening": 30.0, "state.cameras.pixels": 2},
            "cameras: no ray meets the phantom; give a larger opening, or more pixels",
        ),
        ({"state.phantom.file": "data/flat.csv"}, "data/flat.csv:2: needs semi-axes above 0"),
    ],
)
def test_volumes_that_do_not_fit(overrides: dict, text: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "flat.csv").write_text("x,y,z,a,b,c,angle,density\n0,0,0,1,0,1,0,1\n")
    csv = (SCENES / "data" / "shepp_logan.csv").read_text()
    (tmp_path / "data" / "shepp_logan.csv").write_text(csv)
    (tmp_path / SCENE.name).write_text(SCENE.read_text())
    with pytest.raises(SceneError, match=re.escape(text)):
        build(tmp_path / SCENE.name, SMALL | overrides)


def errors(run: Run) -> np.ndarray:
    """The root of the mean squared error of the views, at the recorded iterations."""
    depth, target = (run.series(f"grids/views/{name}").value.astype(float) for name in ("depth", "target"))
    return np.sqrt(((depth - target) ** 2).mean(axis=(1, 2)))


@pytest.mark.parametrize(
    ("overrides", "falls"),
    [pytest.param(SAMPLE, 7.0, id="sample"), pytest.param({}, 10.0, id="whole", marks=pytest.mark.long)],
)
def test_volume_renderer(overrides: dict, falls: float, tmp_path: Path) -> None:
    run = minusgrad.run(SCENE, overrides, out=tmp_path / "run")
    assert run.simulation.stepper.step == 100
    first, *_, last = errors(run)
    assert last < first / falls
    density = run.simulation.fields["density"].values
    assert density.min() == 0.0
    np.testing.assert_allclose(run.series("observables/total").value[-1], last**2, rtol=1e-4)


def marched(density: np.ndarray, chosen: np.ndarray, cells: int, pixels: int, steps: int) -> np.ndarray:
    """Optical depths of chosen rays (row, view, column), numbered as the scene has them, in NumPy."""
    row, view, column = np.unravel_index(chosen, (pixels, 7, pixels))
    angle, one = np.pi * view / 7, np.ones(len(chosen))
    cos, sin = np.cos(angle), np.sin(angle)
    right, up = 0.33 * ((2 * column + 1) / pixels - 1.0), 0.33 * ((2 * row + 1) / pixels - 1.0)
    way = np.column_stack([-cos - sin * right, -sin + cos * right, up])
    way /= np.linalg.norm(way, axis=1)[:, None]
    eye = 40.0 * np.column_stack([cos, sin, 0.0 * one])
    with np.errstate(divide="ignore"):
        ends = np.sort(((np.array([-0.5, 0.5]) * SIDE)[:, None, None] - eye) / way, axis=0)
    begin, end = ends[0].max(axis=1), ends[1].min(axis=1)
    step, depth = np.maximum(end - begin, 0.0) / steps, np.zeros(len(chosen))
    grid = density.reshape(cells, cells, cells)
    for k in range(steps):
        at = eye + (begin + (k + 0.5) * step)[:, None] * way
        x, y, z = np.clip(((at / SIDE + 0.5) * cells).astype(int), 0, cells - 1).T
        depth += grid[z, y, x] * step
    return depth


@pytest.mark.parametrize(
    "changes", [pytest.param(WHOLE, id="whole", marks=pytest.mark.long), pytest.param(SAMPLE, id="sample")]
)
def test_two_descents_and_a_hundredth_of_the_rays(changes: dict) -> None:
    """The losses fall, and are those of the depths; every hundredth of these is that of NumPy.

    In single precision some samples near a face lie in the next cell.
    """
    simulation = build(SCENE, changes)
    sizes = [changes[f"state.{name}"] for name in ("cells", "cameras.pixels", "cameras.steps")]
    stepper, fields, losses = simulation.stepper, simulation.fields, []
    for _ in range(3):
        losses.append(stepper.energy)
        stepper.advance(1)
    simulation.potential.refresh()
    depth, target = (fields[name].values.astype(np.float64) for name in ("depth", "target"))
    assert losses[2] < losses[1] < losses[0] == pytest.approx(float((target**2).mean()), rel=1e-5)
    assert stepper.energy == pytest.approx(float(((depth - target) ** 2).mean()), rel=1e-5)
    chosen = np.random.default_rng(0).choice(len(depth), len(depth) // 100, replace=False)
    expected = marched(fields["density"].values.astype(np.float64), chosen, *sizes)
    off = np.abs(depth[chosen] - expected) / expected.max()
    assert expected.max() > 0.1
    assert np.quantile(off, 0.99) < 1e-3
    assert off.max() < 2e-2
