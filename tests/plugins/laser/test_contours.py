"""Contour-parallel strokes: radii of rings in a disc, coverage of every cell, thin parts."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from minusgrad_laser.paths.offsets import rings
from minusgrad_laser.paths.stroke import resample_line

from .starts import made, path, target

pytestmark = pytest.mark.unit
SCENES = Path(__file__).parents[3] / "scenes"


def strokes(state) -> list[np.ndarray]:
    """The points of each stroke."""
    return np.split(path(state), np.flatnonzero(state.fields["lit"] == 0.0)[1:])


def farthest(state) -> float:
    """The largest distance of a cell of the target from the strokes, in cells."""
    drawn = np.concatenate([resample_line(stroke, 0.1) for stroke in strokes(state)])
    return float(cKDTree(drawn).query(np.argwhere(target(state) > 0.5)[:, ::-1])[0].max())


def test_rings_of_a_disc() -> None:
    """Radius 20 with a soft rim, first at 2, then every 4: circles of radius 18, 14, 10, 6, 2."""
    y, x = np.mgrid[:64, :64] - 31.3
    found = rings(np.clip(20.5 - np.hypot(x, y), 0.0, 1.0), 2.0, 4.0, 1.0)
    assert len(found) == 5
    for ring, radius in zip(found, (18.0, 14.0, 10.0, 6.0, 2.0), strict=True):
        slack = 0.1 if radius > 2.0 else 0.3  # around the cone's tip interpolation is coarse
        np.testing.assert_allclose(np.hypot(*(ring - 31.3).T), radius, atol=slack)
        assert (ring[0] == ring[-1]).all()


def test_rings_are_closed_strokes_in_cells_of_the_canvas(tmp_path: Path) -> None:
    """A disc of cells, whose jagged outline moves rings by less than half a cell."""
    state = made(
        tmp_path, canvas={"size": [64, 64], "pixel": 0.5}, target={"kind": "disc", "radius": 10.0},
        path={"kind": "contours", "pitch": 2.0, "spacing": 0.5, "order": "given"},
    )  # fmt: skip
    found = strokes(state)
    assert len(found) == 5
    assert np.hypot(*(found.pop() - 15.75).T).max() < 0.6, "the last one is a dot in the middle"
    for ring, radius in zip(found, (9.0, 7.0, 5.0, 3.0), strict=True):
        np.testing.assert_allclose(np.hypot(*(ring - 15.75).T), radius, atol=0.3)
        assert (ring[0] == ring[-1]).all()
        assert np.hypot(*np.diff(ring, axis=0).T).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("pitch", [3.0, 5.0, 8.0])
@pytest.mark.parametrize("kind", ["butterfly", "heron"])
def test_no_cell_is_far_from_a_stroke(kind: str, pitch: float) -> None:
    canvas = {"size": [256, 256]} if kind == "butterfly" else {}
    picture = {"kind": "butterfly"} if kind == "butterfly" else {"kind": "image", "file": "silhouette.png"}
    state = made(SCENES / "data", canvas=canvas, target=picture, path={"kind": "contours", "pitch": pitch})
    assert farthest(state) < 0.75 * pitch + 1.5
    assert len(path(state)) * pitch < 3.0 * (target(state) > 0.5).sum() / pitch
