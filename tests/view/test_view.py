"""Views: what a page shows of a run, how it follows one, and a saved page in a browser without a network."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from PIL import Image

import minusgrad.view
from minusgrad.app.cli import main
from minusgrad.errors import MissingPackageError, RunFolderError, UserError, pip_line
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.h5md import Raster
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from minusgrad.plot.shapes.surfaces import fans, sides
from minusgrad.view import overlay
from minusgrad.view.drawings import line_bytes
from minusgrad.view.frames import RunFrames
from minusgrad.view.observables import charts
from minusgrad.view.scenery import OWN, Scenery
from minusgrad.view.space import SIDE, Space
from tests.support.recorded_runs import T, recorded_run
from tests.view import browser

FEW_TIMES = T[:6]
TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
pytestmark = pytest.mark.unit


def _moving(nodes: int, dimension: int = 3, times: np.ndarray = FEW_TIMES) -> np.ndarray:
    start = np.random.default_rng(nodes).normal(size=(nodes, dimension))
    return start + times[:, None, None] * np.linspace(0.5, 2.0, dimension)


def _run(path: Path, frames: dict[str, np.ndarray], times: np.ndarray = FEW_TIMES, **more: Any) -> Path:
    return recorded_run(path, frames, times=times, **more)


def _solid(path: Path) -> Path:
    """A tetrahedron that grows, whose energy density rises; with energies."""
    x = TETRAHEDRON * (1.0 + FEW_TIMES[:, None, None])
    return _run(
        path,
        {"position": x},
        lists={"body": np.array([[0, 1, 2, 3]])},
        cells={"body/energy_density": FEW_TIMES[:, None].copy()},
        observables={"kinetic": FEW_TIMES, "total": FEW_TIMES + 1.0, "height": FEW_TIMES**2},
        meta={"title": "A <solid>"},
    )


class _Recorder:
    """Stands for a page: keeps what is put there by name."""

    def __init__(self) -> None:
        self.nodes: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        def add(title: str = "", *given: Any, **keywords: Any) -> Any:
            self.nodes[title] = node = type("Node", (), {"visible": True, "color": None, **keywords})()
            return node

        return add


# What is shown ---------------------------------------------------------------------------------------


def test_the_page_is_ten_wide_and_centred() -> None:
    space = Space(np.array([1e11, -3e11]), np.array([5e11, -1e11]))
    corners = space(np.array([[1e11, -3e11], [5e11, -1e11]]))
    assert np.allclose(corners, [[-SIDE / 2, -SIDE / 4, 0.0], [SIDE / 2, SIDE / 4, 0.0]])
    assert corners.dtype == np.float32
    assert Space(np.zeros(3), np.zeros(3)).scale == 1.0


def test_polygons_become_triangles_of_their_owner() -> None:
    faces, owner = fans(np.array([[0, 1, 2, 3], [4, 5, 6, 6]]))
    assert faces.tolist() == [[0, 1, 2], [0, 2, 3], [4, 5, 6]]
    assert owner.tolist() == [0, 0, 1]
    assert sides(np.array([[0, 1, 2], [2, 1, 3]])).tolist() == [
        [0, 1],
        [0, 2],
        [1, 2],
        [1, 3],
        [2, 3],
    ]


def test_lines_have_linear_colours() -> None:
    assert line_bytes(np.array([[0.0, 0.5, 1.0]])).tolist() == [[0, 55, 255]]


def test_a_solid_is_coloured_by_its_cells_with_one_scale_for_all_frames(tmp_path: Path) -> None:
    scenery, page = Scenery(_solid(tmp_path / "run")), _Recorder()
    assert scenery.field == "energy_density"
    scenery.put(page)  # type: ignore[arg-type]
    levels = [page.nodes[f"/bodies/body/level {k}"] for k in range(32)]
    filled = []
    for number in (0, 2, 5):
        scenery.show(number)
        counts = [
            len(level.faces) if np.ptp(level.vertices, axis=0).any() else 0
            for level in levels
            if hasattr(level, "faces")
        ]
        filled.append([k for k, count in enumerate(counts) if count == 4])
    assert filled[0] == [0]
    assert filled[0] < filled[1] < filled[2]
    assert "energy density" in scenery.legend()
    scenery.field = OWN
    assert scenery.legend() == ""


def test_fields_are_those_of_movies_and_unknown_ones_are_named(tmp_path: Path) -> None:
    run = _solid(tmp_path / "run")
    with pytest.raises(UserError, match=r"no field to show named 'stress' \(there are: none, energy_density"):
        Scenery(run, "stress")
    with pytest.raises(UserError, match=r"no bodies of this name, got 'moon'"):
        Scenery(run, bodies=["moon"])


def test_bodies_have_dots_of_their_own(tmp_path: Path) -> None:
    bodies = {"a": [[0, 50]], "b": [[50, 90]]}
    run = _run(tmp_path / "run", {"position": _moving(100)}, meta={"bodies": bodies})
    scenery, page = Scenery(run), _Recorder()
    scenery.put(page)  # type: ignore[arg-type]
    assert list(scenery.drawings) == ["others", "a", "b"]
    scenery.show(1)
    assert page.nodes["/points/b"].points.shape == (40, 3)
    alone, page = Scenery(run, bodies=["b"]), _Recorder()
    alone.every_point = 4
    alone.put(page)  # type: ignore[arg-type]
    alone.show(0)
    assert page.nodes["/points/nodes"].points.shape == (10, 3)


def test_a_few_nodes_have_paths_and_names(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", {"position": _moving(3)}, meta={"names": ["sun", "earth", "moon"]})
    scenery = Scenery(run)
    scenery.put(_Recorder())  # type: ignore[arg-type]
    assert list(scenery.drawings) == ["paths", "names", "nodes"]


def test_grids_are_images_or_heights(tmp_path: Path) -> None:
    dose = np.arange(6.0)[:, None, None] * np.ones((1, 3, 5))
    more: dict[str, Any] = {"rasters": {"pond": Raster((3, 5), 0.5, None)}, "grids": {"pond/dose": dose}}
    scenery, page = Scenery(_run(tmp_path / "run", {"phi": np.zeros((6, 2))}, **more)), _Recorder()
    scenery.put(page)  # type: ignore[arg-type]
    scenery.show(5)
    assert page.nodes["/grids/pond/xy"].image.shape == (3, 5, 3)
    assert (page.nodes["/grids/pond"].visible, page.nodes["/surfaces/pond"].visible) == (True, False)
    scenery.high = True
    scenery.show(5)
    assert (page.nodes["/grids/pond"].visible, page.nodes["/surfaces/pond"].visible) == (False, True)
    assert page.nodes["/surfaces/pond/level 31"].vertices[:, 2].max() == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("recorded", "message"),
    [
        ({"observables": {"total": np.zeros(6)}}, "nothing to show, because no frames were recorded; record"),
        ({}, "no frame is recorded yet"),
    ],
)
def test_a_run_without_frames_says_so(tmp_path: Path, recorded: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Scenery(_run(tmp_path / "run", {}, **recorded))


@pytest.mark.parametrize("cell", [[0, 1, 2], [0, 1, 2, 3]])
def test_cells_of_the_plane_are_coloured_by_their_nodes(tmp_path: Path, cell: list[int]) -> None:
    """A triangle and a square, which are no faces of cells in space."""
    x = np.tile(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), (6, 1, 1))
    heat = np.arange(6.0)[:, None] * np.ones(4)
    scenery, page = (
        Scenery(_run(tmp_path / "run", {"position": x, "heat": heat}, lists={"body": np.array([cell])})),
        _Recorder(),
    )
    scenery.field = "heat"
    scenery.put(page)  # type: ignore[arg-type]
    scenery.show(5)
    shown = page.nodes["/bodies/body/level 31"]
    assert len(shown.vertices) == len(cell)
    assert np.ptp(shown.vertices[:, 2]) == 0.0


@pytest.mark.parametrize("kind", ["phi", "position", "grid"])
def test_numbers_along_a_line_are_a_curve(tmp_path: Path, kind: str) -> None:
    """Over the nodes, or over the cells of a grid; zero is in the middle, and the largest size at the top."""
    rows = np.arange(6.0)[:, None] * np.array([-0.5, 0.0, 1.0, 0.25])
    frames = {"phi": {"phi": rows}, "position": {"position": rows[..., None]}, "grid": {}}[kind]
    more: dict[str, Any] = {"rasters": {"line": Raster((4,), 0.5, None)}, "grids": {"line/phi": rows}}
    scenery, page = Scenery(_run(tmp_path / "run", frames, **(more if kind == "grid" else {}))), _Recorder()
    scenery.put(page)  # type: ignore[arg-type]
    scenery.show(5)
    path = "/grids/line" if kind == "grid" else "/grids/nodes"
    points = page.nodes[f"{path}/curve"].points
    assert points.shape == (3, 2, 3)
    assert np.allclose(points[1:, 0], points[:-1, 1])
    heights = np.append(points[:, 0, 1], points[-1, 1, 1])
    assert np.allclose(heights / heights[2], rows[5] / rows[5, 2], atol=1e-6)
    assert np.allclose(np.diff(points[:, 0, 0]), 2.5)
    assert "colors" in vars(page.nodes[f"{path}/curve"])


def test_one_number_is_a_bar_and_what_moves_is_shown_first(tmp_path: Path) -> None:
    rows = np.arange(1.0, 7.0)[:, None]
    scenery = Scenery(_run(tmp_path / "run", {"a": rows, "q": 2 * rows}, meta={"moving": ["q"]}))
    page = _Recorder()
    assert scenery.map == "q"
    scenery.put(page)  # type: ignore[arg-type]
    heights = []
    for frame in (2, 5):
        scenery.show(frame)
        ((left, right),) = page.nodes["/grids/nodes/curve"].points
        assert right[0] > left[0]
        assert right[1] == left[1]
        heights.append(float(left[1]))
    assert np.isclose(heights[1] / heights[0], 2.0)


def test_surroundings_are_on_the_page(tmp_path: Path) -> None:
    around = {
        "shapes": [
            {"term": "floor", "kind": "plane", "point": [0, 0, -1], "normal": [0, 0, 2]},
            {"term": "ball", "kind": "sphere", "centre": [2.0, 0, 0], "radius": 0.5},
            {"term": "wall", "kind": "cuboid", "low": [-1.0, 0, 0], "high": [0.0, 1, 1]},
        ],
        "loads": [
            {"term": "pull", "kind": "force", "vector": [0, 0, 3.0], "unit": "N", "elements": [[0], [2]]},
        ],
        "supports": [{"name": "pin", "field": "x", "nodes": [1, 3], "axes": None, "moves": False}],
    }
    x = np.tile(TETRAHEDRON, (6, 1, 1))
    scenery, page = (
        Scenery(_run(tmp_path / "run", {"position": x}, meta={"surroundings": around})),
        _Recorder(),
    )
    scenery.put(page)  # type: ignore[arg-type]
    scenery.show(0)
    assert {"obstacles", "supports", "loads"} <= {*scenery.switches}
    assert np.allclose(page.nodes["/supports"].points, scenery.space(x[0])[[1, 3]])
    (low, high) = page.nodes["/loads/0"].points[0]
    assert np.allclose(high, scenery.space(x[0])[0])
    assert np.allclose(high - low, [0.0, 0.0, 1.0])
    assert page.nodes["/obstacles/ball 0"].scale[0] == pytest.approx(0.5 * scenery.space.scale)
    assert scenery.space.size.max() == pytest.approx(SIDE)  # from the wall to the ball
    assert scenery.space.scale == pytest.approx(SIDE / 3.5)


def test_charts_have_all_energies_together_and_other_scalars_alone(tmp_path: Path) -> None:
    energies, height = charts(_solid(tmp_path / "run"))
    assert list(energies.curves) == ["kinetic", "total"]
    assert height.title == "height"
    assert np.allclose(height.curves["height"], FEW_TIMES**2)
    assert not height.counts_steps


def test_ticks_are_round_and_of_one_number_of_digits() -> None:
    assert [text for _, text in overlay.ticks(0.0, 0.5, 5)] == ["0.0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert [text for _, text in overlay.ticks(0.0, 40.0, 2)] == ["0", "20", "40"]
    assert [text for _, text in overlay.ticks(-6e-8, 3e-8, 4)] == ["-5e-08", "-2.5e-08", "0", "2.5e-08"]


# A run that is going on ------------------------------------------------------------------------------


@pytest.fixture
def going_on(tmp_path: Path) -> Iterator[Any]:
    """A run whose next frames `record` saves; the second series has a row at every other frame."""
    recorder = Recorder({}, ("s", 1.0))
    with RunDir.create(tmp_path / "run", b"", []) as run:

        def record(steps: range) -> Path:
            for step in steps:
                frame = {"position": np.full((3, 2), float(step))}
                recorder.record_frame(
                    step, 0.1 * step, frame | ({"heat": np.full(3, float(step))} if step % 2 == 0 else {})
                )
            run.save(Snapshot(steps[-1], 0.1 * steps[-1], 0.1, {}), recorder, keep=2)
            return tmp_path / "run"

        yield record


def test_frames_grow_with_the_run(going_on: Any) -> None:
    run = going_on(range(5))
    frames = RunFrames(run, "particles/all/position")
    heat = frames.values("particles/all/heat")
    assert [row[0] for row in heat] == [0, 0, 2, 2, 4]
    assert frames.refresh() == 0
    going_on(range(5, 9))
    assert frames.refresh() == 4
    assert frames.steps == list(range(9))
    assert [row[0] for row in heat] == [0, 0, 2, 2, 4, 4, 6, 6, 8]


def test_frames_that_grow_beyond_memory_are_halved(going_on: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minusgrad.view.frames.MOST", 6 * 48)
    frames = RunFrames(going_on(range(5)), "particles/all/position")
    going_on(range(5, 9))
    frames.refresh()
    assert frames.steps == [0, 2, 4, 6, 8]
    going_on(range(9, 12))
    frames.refresh()
    assert frames.steps[-1] == 11
    assert frames.every == 4


# Pages -----------------------------------------------------------------------------------------------


def test_a_page_follows_a_run_and_closes(going_on: Any) -> None:
    run = going_on(range(5))
    before = sorted(path.name for path in run.rglob("*"))
    with minusgrad.view.show(run) as page:
        assert page.address.startswith("http://127.0.0.1:")
        assert b"<html" in urlopen(page.address).read()[:500].lower()
        assert "srcdoc=" in page._repr_html_()
        assert sorted(path.name for path in run.rglob("*")) == before
        going_on(range(5, 9))
        slider, end = page._controls._frame, time.monotonic() + 20.0
        while slider.max < 8 and time.monotonic() < end:
            time.sleep(0.05)
        assert slider.max == 8
    assert "closed" in page._repr_html_()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(page.address.split(":")[2].split("/")[0])), timeout=2.0)


def test_a_port_in_use_is_left_to_its_owner(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", {"position": _moving(3)})
    with socket.create_server(("127.0.0.1", 0)) as owner:
        port = owner.getsockname()[1]
        with pytest.raises(UserError, match=rf"cannot listen at 127\.0\.0\.1, port {port}: .* in use; give"):
            minusgrad.view.show(run, port=port)
    with minusgrad.view.show(run) as one, minusgrad.view.show(run) as other:
        assert one.address != other.address


def test_mistakes_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _run(tmp_path / "run", {"position": _moving(3)})
    with pytest.raises(UserError, match="a port is a number from 1 to 65535, got 0"):
        minusgrad.view.show(run, port=0)
    with pytest.raises(UserError, match="at least 1, got 0"):
        minusgrad.view.show(run, every=0)
    with pytest.raises(UserError, match=r"got the ending '\.png'; give a file x\.html"):
        minusgrad.view.save(run, tmp_path / "view.png")
    with pytest.raises(RunFolderError):
        minusgrad.view.show(tmp_path)
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingPackageError, match=re.escape(pip_line("view"))):
        minusgrad.view.show(run)


# Saved pages -----------------------------------------------------------------------------------------


def test_a_saved_page_is_whole(tmp_path: Path) -> None:
    written = minusgrad.view.save(_solid(tmp_path / "run"), tmp_path / "new" / "view.html")
    assert written.remarks == []
    text = written.path.read_text()
    assert "<h1>A &lt;solid&gt;</h1>" in text
    assert "Content-Security-Policy" in text
    assert not re.search(r"<(?:link|script|img)[^>]+(?:href|src)=[\"']?http", text)
    assert '"t = 0 yr", ' in text


@pytest.mark.parametrize(("megabytes", "said"), [(1.6, "frame"), (1.0, "point")])
def test_large_pages_are_thinned_and_say_so(tmp_path: Path, megabytes: float, said: str) -> None:
    x = _moving(2_000, times=T)
    written = minusgrad.view.save(
        _run(tmp_path / "run", {"position": x}, times=T), tmp_path / "v.html", max_mb=megabytes
    )
    assert written.path.stat().st_size <= megabytes * 1e6
    (remark,) = written.remarks
    assert said in remark
    assert "--max-mb allows more" in remark
    assert ("point" in remark) == (said == "point")


def test_a_mesh_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"larger than --max-mb, got 0\.1"):
        minusgrad.view.save(_solid(tmp_path / "run"), tmp_path / "view.html", max_mb=0.1)
    assert not (tmp_path / "view.html").exists()


def test_the_command_saves_and_says_what_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, page = _run(tmp_path / "run", {"position": _moving(2_000, times=T)}, times=T), tmp_path / "v.html"
    assert main(["view", str(run), "--save", str(page), "--max-mb", "1.6"]) == 0
    said = capsys.readouterr()
    assert said.out == f"{page}\n"
    assert "frame" in said.err
    assert main(["view", str(run), "--save", str(page), "--port", "8080"]) == 2
    assert main(["view", str(run), "--max-mb", "3"]) == 2
    assert "give --out" in capsys.readouterr().err


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", {"position": _moving(3)})
    command = [sys.executable, "-m", "minusgrad", "view", str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert re.fullmatch(
            rf"http://127\.0\.0\.1:\d+/[-\w]{{22}}/ shows {re.escape(str(run))}; Ctrl-C ends it\n", said
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(20.0) == 0


@pytest.mark.exam
@pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is not installed")
def test_a_saved_page_opens_in_a_browser_and_asks_for_nothing(tmp_path: Path) -> None:
    page = minusgrad.view.save(_solid(tmp_path / "run"), tmp_path / "view.html").path
    with browser.opened(page.as_uri(), tmp_path / "profile") as tab:
        tab.wait("(document.getElementById('when') || {}).textContent == 't = 0.7692 yr'")
        tab.run("document.querySelector('button').click()")  # pause
        for _ in range(50):
            with Image.open(BytesIO(tab.picture())) as picture:
                rgb = np.asarray(picture.convert("RGB")).astype(int)
            scene = rgb[150:540, 100:620]
            warm = (scene[..., 0] > scene[..., 2] + 60).mean()
            if warm > 0.02:
                break
            time.sleep(0.2)
        assert warm > 0.02  # the solid in the colours of its scale
        assert (scene.min(axis=2) > 250).mean() > 0.2  # on white
    assert tab.asked
    assert [a[:80] for a in tab.asked if not a.startswith(("data:", "blob:", page.as_uri()))] == []
    assert tab.complaints == []
