"""The template of the torch bridge, without torch: a point cloud, a map of its components, an L1 loss.

    p = (x^2, exp y, sin z) at each vertex        loss = sum |p - (x, y, z)|
    d loss = sign(p - (x, y, z)) ((2 x, exp y, cos z) - 1)

The vertices come from an OBJ file through trimesh. The map's reverse, seeded with the derivative of a loss
that another program has computed, is called by the bridge to torch.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from minusgrad import (
    Between,
    Fields,
    Node,
    Potential,
    Stage,
    bind,
    bind_staged,
    local_energy,
    staged_energy,
    ti,
)
from minusgrad.errors import EnergyError

trimesh = pytest.importorskip("trimesh")

CLOUD = Path(__file__).parents[3] / "scenes" / "torch" / "pyramid.obj"
ROWS = ti.types.ndarray(ndim=2)
LIKE_X = {"after": Between(("n", "d"))}


@pytest.fixture
def vertices() -> np.ndarray:
    found = np.asarray(trimesh.load(CLOUD, process=False).vertices, float)
    assert found.shape == (5, 3)
    return found


def mapped(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x[:, 0] ** 2, np.exp(x[:, 1]), np.sin(x[:, 2])])


def slopes(x: np.ndarray) -> np.ndarray:
    return np.column_stack([2 * x[:, 0], np.exp(x[:, 1]), np.cos(x[:, 2])])


@ti.kernel
def components(x: ROWS, after: ROWS):
    for i in range(x.shape[0]):
        after[i, 0] = x[i, 0] * x[i, 0]
        after[i, 1] = ti.exp(x[i, 1])
        after[i, 2] = ti.sin(x[i, 2])


@ti.kernel
def distance(x: ROWS, after: ROWS, U: ti.types.ndarray(ndim=0)):
    ti.loop_config(serialize=True)
    for i, j in ti.ndrange(x.shape[0], 3):
        U[None] += abs(after[i, j] - x[i, j])


@local_energy("cloud", over="nodes", x=Node("m", (3,)))
def cloud(x):
    """|x^2 - x| + |exp y - y| + |sin z - z|."""
    p = x[0]
    return abs(p[0] * p[0] - p[0]) + abs(ti.exp(p[1]) - p[1]) + abs(ti.sin(p[2]) - p[2])


def test_the_loss_over_the_cloud_as_a_local_energy_and_in_stages(vertices: np.ndarray) -> None:
    fields = Fields({"x": vertices})
    stages = [Stage(components, ("after",)), Stage(distance, ("U",))]
    energy = staged_energy("cloud", stages=stages, between=LIKE_X, x=Node("m", ("d",)))
    gap = mapped(vertices) - vertices
    assert np.abs(gap).min() > 1e-3  # no kink here
    expected = np.sign(gap) * (slopes(vertices) - 1)
    for engine in (Potential(fields, [bind(cloud, fields)]), bind_staged(energy, fields)):
        assert engine.value() == pytest.approx(np.abs(gap).sum(), rel=1e-14)
        np.testing.assert_allclose(engine.gradient("x"), expected, rtol=1e-13, atol=1e-15)


def test_the_map_alone_takes_the_derivative_of_somebody_elses_loss(vertices: np.ndarray) -> None:
    stages = [Stage(components, ("after",))]
    energy = staged_energy("map", stages=stages, between=LIKE_X, outputs=("after",), x=Node("m", ("d",)))
    term = bind_staged(energy, Fields({"x": vertices}))
    np.testing.assert_allclose(term.output_values()["after"], mapped(vertices), rtol=1e-15)
    loss = np.sign(mapped(vertices) - vertices)
    found = term.gradients(("x",), seeds={"after": loss})["x"]
    np.testing.assert_allclose(found, loss * slopes(vertices), rtol=1e-14)


@ti.kernel
def templated(n: ti.i32, x: ti.template(), after: ti.template()):
    for i in range(n):
        after[i, 0] = x[i, 0] * x[i, 0]


def test_templates_are_told_what_to_be_instead(vertices: np.ndarray) -> None:
    stage = Stage(templated, ("after",), numbers={"n": 5})
    energy = staged_energy("map", stages=[stage], between=LIKE_X, outputs=("after",), x=Node("m", ("d",)))
    text = "map, stage 'templated': 'x' must be a ti.types.ndarray"
    with pytest.raises(EnergyError, match=re.escape(text)):
        bind_staged(energy, Fields({"x": vertices})).value()
