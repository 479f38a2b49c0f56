"""Tubes and sheets on a page: the meshes that are sent, their places and colours, frame by frame."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.frames.looks import ListLook
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder

pytest.importorskip("viser")
from minusgrad.view import server
from minusgrad.view.scenery import Scenery
from minusgrad.view.solids import Solids

METRE = ("m", 1.0)
X = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0.5], [1, 1, 0.5], [0, 2, 0.5]])


def both(path: Path) -> Path:
    """A tube along x of radius 0.1 and a facet, in two frames."""
    lists = {"edges": np.array([[0, 1]]), "faces": np.array([[2, 3, 4]])}
    looks = {
        "edges": ListLook("tube", np.array([[0.2, 0.2]]), "q", METRE),
        "faces": ListLook("sheet", np.array([[0.1]])),
    }
    rows = Recorder({"position": METRE}, ("s", 1.0), lists, ("edges", "faces"), looks=looks)
    half = np.sqrt(0.5)
    with RunDir.create(path, b"", []) as run:
        for step in (0, 1):
            q = np.array([[half, 0.0, half, 0.0]])
            rows.record_frame(step, float(step), {"position": X + step * np.array([0.0, 0, 1]), "q": q})
        run.save(Snapshot(1, 1.0, 1.0, {}, meta={}), rows, keep=1)
    return path


def test_a_page_has_tubes_of_their_width_and_both_sides_of_sheets(tmp_path: Path) -> None:
    scenery = Scenery(both(tmp_path / "run"))
    with server.running() as page:
        server.prepare(page, scenery)
        for number in (0, 1):
            scenery.show(number)
            tube, sheet = (scenery.drawings[name] for name in ("edges", "faces"))
            assert isinstance(tube, Solids)
            assert isinstance(sheet, Solids)
            points = np.concatenate([mesh.vertices for mesh in tube._meshes.values()])
            wide = np.ptp(points, axis=0) / scenery.space.scale
            assert wide == pytest.approx([1.0, 0.2, 0.2], abs=5e-3)
            middle = points.mean(axis=0) / scenery.space.scale + scenery.space.centre
            assert middle == pytest.approx([0.5, 0.0, float(number)], abs=0.02)
            assert len(tube._meshes) == 2, "the tube and its stripes"
            assert len(sheet._meshes) == 3, "two sides and a rim"
