"""Movies: every frame once, at its place, with one layout and one scale; films that other programs read."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from minusgrad.errors import RunFolderError, UserError, pip_line
from minusgrad.files import h5md, trajectory
from minusgrad.files.h5md import Raster
from minusgrad.plot import grids
from minusgrad.plot.bodies.light import Light
from minusgrad.plot.clouds import CROWD
from minusgrad.plot.movies import film_files, subjects
from minusgrad.plot.movies.maps import Map
from minusgrad.plot.movies.movie import movie
from minusgrad.plot.movies.networks import Network
from minusgrad.plot.movies.paths import MoviePaths
from minusgrad.plot.movies.points import MoviePoints
from minusgrad.plot.movies.reel import LONGEST, Reel
from minusgrad.plot.movies.subject import ColourSample
from tests.support.recorded_runs import T, recorded_run

FEW_TIMES = T[:6]
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]])


def _moving(nodes: int = 3, dimension: int = 2, times: np.ndarray = FEW_TIMES) -> np.ndarray:
    """Positions (T, N, d) that drift to the right, some of them upwards."""
    start = np.random.default_rng(nodes).normal(size=(nodes, dimension))
    return start + times[:, None, None] * np.linspace(0.5, 2.0, dimension)


def _run(path: Path, frames: dict[str, np.ndarray], times: np.ndarray = FEW_TIMES, **more: Any) -> Path:
    return recorded_run(path, frames, times=times, **more)


def _length(film: Path) -> tuple[int, float]:
    """The number of frames and the milliseconds of one."""
    with Image.open(film) as seen:
        seen.seek(1)
        seen.load()
        return seen.n_frames, seen.info["duration"]


# Films ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["webp", "gif"])
def test_a_film_has_every_frame(tmp_path: Path, kind: str) -> None:
    run = _run(tmp_path / "run", {"position": _moving()})
    film = movie(run, tmp_path / f"film.{kind}", fps=10)
    assert _length(film) == (len(FEW_TIMES), 100)
    with Image.open(film) as seen:
        assert seen.info["loop"] == 0


def test_a_dark_film_is_dark_in_every_frame(tmp_path: Path) -> None:
    """What each frame draws anew has its colours exchanged, too."""
    run = _run(tmp_path / "run", {"position": _moving()})
    for dark in (False, True):
        with Image.open(movie(run, tmp_path / f"{dark}.webp", dark=dark)) as seen:
            for number in range(seen.n_frames):
                seen.seek(number)
                grey = np.asarray(seen.convert("L"))
                assert (np.median(grey) < 60) == dark
                assert np.ptp(grey) > 100


def test_mp4_is_read_by_its_library(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    run = _run(tmp_path / "run", {"position": _moving()})
    with av.open(movie(run, tmp_path / "film.mp4", fps=5)) as film:
        (stream,) = film.streams.video
        assert stream.average_rate == 5
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
    assert len(pictures) == len(FEW_TIMES)
    assert np.abs(pictures[-1].astype(int) - pictures[0]).max() > 100, "something moves"
    assert pictures[0].mean() > 200, "on white"


def test_frames_of_a_film_are_those_that_were_given(tmp_path: Path) -> None:
    """Colours of frames that the first one lacks are kept, and white is white."""
    frames = [np.full((20, 30, 3), 255, np.uint8) for _ in range(3)]
    frames[1][:, :15], frames[2][:, 15:] = (200, 30, 30), (20, 60, 180)
    for suffix in (".gif", ".webp"):
        with Image.open(film_files.written(tmp_path / f"f{suffix}", frames, 10)) as film:
            for number, frame in enumerate(frames):
                film.seek(number)
                found = np.asarray(film.convert("RGB")).astype(int)
                assert np.abs(found - frame)[:, [3, 26]].max() < 12
    assert (np.asarray(Image.open(tmp_path / "f.gif").convert("RGB")) == 255).all()


def test_it_lasts_about_eight_seconds_unless_asked(tmp_path: Path) -> None:
    times = np.linspace(0.0, 1.0, 44)
    run = _run(tmp_path / "run", {"position": _moving(times=times)}, times)
    assert _length(movie(run)) == (44, round(8000 / 44))
    assert _length(movie(run, tmp_path / "few.webp", every=20)) == (4, 200), "rows 0, 20, 40 and the last"


# Which frames ---------------------------------------------------------------------------------------


def test_frames_are_few_enough_and_end_with_the_last(tmp_path: Path) -> None:
    times = np.arange(2 * LONGEST + 5.0)
    run = _run(tmp_path / "run", {"position": _moving(2, times=times)}, times)
    assert (reel := Reel(run, [h5md.POSITION])).steps[[0, 1, -1]].tolist() == [0, 3, len(times) - 1]
    assert len(reel) <= LONGEST
    found = list(Reel(run, [h5md.POSITION], every=200))
    assert [frame.step for frame in found] == [0, 200, 400, len(times) - 1]
    for frame in found:
        np.testing.assert_array_equal(frame.values[0], _moving(2, times=times)[frame.step])
        assert frame.time == times[frame.step]


# Subjects -------------------------------------------------------------------------------------------


def _shown(subject: Any, run: Path) -> "tuple[list[np.ndarray], Any]":
    """The pixels of each frame, and the axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure, reel = Figure(dpi=60), Reel(run, subject.series)
    FigureCanvasAgg(figure)
    for frame in reel:
        subject.survey(frame)
    subject.prepare(figure)
    seen = []
    for frame in reel:
        subject.show(frame, f"t = {frame.time:g}")
        seen.append(film_files.pixels(figure))
    return seen, figure.axes[0]


def test_a_path_ends_at_its_point(tmp_path: Path) -> None:
    x = _moving()
    run = _run(tmp_path / "run", {"position": x})
    subject = subjects.chosen(run, {"names": ["a", "b"]}, "", (), "")
    assert isinstance(subject, MoviePaths)
    _, axes = _shown(subject, run)
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    np.testing.assert_allclose([np.ravel(dot.get_data()) for dot in dots], x[-1])
    assert [text.get_text() for text in axes.texts] == ["a", "b", ""]
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    assert (x >= low).all()
    assert (x <= high).all(), "all frames lie within"


def test_dots_are_at_their_places_with_their_speeds(tmp_path: Path) -> None:
    x, v = _moving(100, 3), np.random.default_rng(0).normal(size=(6, 100, 3))
    run = _run(tmp_path / "run", {"position": x, "velocity": v})
    subject = subjects.chosen(run, {}, "", (), "")
    assert isinstance(subject, MoviePoints)
    _, axes = _shown(subject, run)
    np.testing.assert_allclose(axes.collections[0].get_offsets(), x[-1, :, :2])
    speed = np.linalg.norm(v[-1], axis=1)
    red = axes.collections[0].get_facecolors()[:, 0] - axes.collections[0].get_facecolors()[:, 2]
    assert red[speed.argmax()] > red[speed.argmin()] + 0.2


def test_bodies_alone_each_with_a_colour(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", {"position": _moving(90)})
    bodies = {"disc": [[0, 30]], "halo": [[30, 80]], "bulge": [[80, 90]]}
    _, axes = _shown(subjects.chosen(run, {"bodies": bodies}, "", ["disc", "bulge"], ""), run)
    dots = axes.collections[0]
    assert len(dots.get_offsets()) == 40
    assert len(np.unique(dots.get_facecolors()[:, :3], axis=0)) == 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["disc", "bulge"]


def test_a_crowd_is_light_on_black(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(2, CROWD + 1, 2))
    x[1, : CROWD // 2] *= 0.05
    run = _run(tmp_path / "run", {"position": x}, FEW_TIMES[:2])
    subject = subjects.chosen(run, {}, "", (), "")
    assert isinstance(subject, MoviePoints)
    (first, last), _ = _shown(subject, run)
    assert np.median(first) == 0
    rows, columns = first.shape[:2]
    right, up = -subject.low / (subject.high - subject.low)
    row, column = round((1.0 - up) * rows), round(right * columns)
    origin = np.s_[row - 7 : row + 8, column - 7 : column + 8]
    assert last[origin].mean() > 1.5 * first[origin].mean(), "half of the points are there"


def test_a_point_lights_its_pixel() -> None:
    light = Light(np.array([0.0, 0.0]), np.array([4.0, 2.0]), width=40)
    points = np.array([[3.05, 0.55], [3.05, 0.55], [9.0, 9.0]])
    picture = light.picture(points, np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    assert picture.shape == (20, 40, 3)
    assert np.unravel_index(picture[..., 0].argmax(), picture.shape[:2]) == (5, 30)
    assert picture[..., 1].max() <= picture[..., 0].max()
    fainter = light.picture(points[:1], np.array([[1.0, 0.0, 0.0]]))
    assert 0.0 < fainter[..., 0].max() < picture[..., 0].max(), "the exposure is that of the first picture"


def test_a_mesh_keeps_its_scale(tmp_path: Path) -> None:
    x = SQUARE + FEW_TIMES[:, None, None] * np.array([1.0, 0.0])
    load = FEW_TIMES[:, None] * np.array([1.0, 2.0])
    lists = {"sheet": TRIANGLES}
    run = _run(tmp_path / "run", {"position": x}, lists=lists, cells={"sheet/energy_density": load})
    subject = subjects.chosen(run, {}, "", (), "")
    assert isinstance(subject, Network)
    seen, axes = _shown(subject, run)
    polygons = [path.vertices[:3] for path in axes.collections[0].get_paths()]
    np.testing.assert_allclose(polygons, x[-1][TRIANGLES])
    assert subject.scale.norm.vmax == load.max()
    assert len(axes.collections) == 3, "earlier frames are gone: cells, their edges, the rim"
    assert not (seen[0] == seen[-1]).all()


@pytest.mark.parametrize("view", ["", "z", "30,20"])
def test_a_body_in_space_is_seen_from_where_one_asks(tmp_path: Path, view: str) -> None:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]])
    run = _run(
        tmp_path / "run",
        {"position": corners + 0.1 * FEW_TIMES[:, None, None], "velocity": np.ones((6, 4, 3))},
        lists={"block": np.array([[0, 1, 2, 3]])},
    )
    subject = subjects.chosen(run, {}, "speed", (), view)
    assert isinstance(subject, Network)
    _shown(subject, run)
    across, up = subject.view[:2]
    if view == "z":
        np.testing.assert_allclose([across, up], np.eye(3)[:2], atol=1e-15)
    assert subject.series == (h5md.POSITION, h5md.VELOCITY)


def test_a_map_shows_the_numbers_of_each_frame(tmp_path: Path) -> None:
    raster = Raster((3, 4), 0.5, ("m", 1.0))
    dose = FEW_TIMES[:, None, None] * np.arange(12.0).reshape(3, 4)
    run = _run(tmp_path / "run", {}, rasters={"canvas": raster}, grids={"canvas/dose": dose})
    subject = subjects.chosen(run, {}, "", (), "")
    assert isinstance(subject, Map)
    _, axes = _shown(subject, run)
    np.testing.assert_array_equal(axes.images[0].get_array(), dose[-1])
    assert axes.images[0].norm.vmax == dose.max()
    assert axes.get_title(loc="left") == f"t = {FEW_TIMES[-1]:g}"


def test_layers_of_a_grid_in_space(tmp_path: Path) -> None:
    raster = Raster((2, 3, 4), 1.0, None)
    dose = np.random.default_rng(0).normal(size=(6, 2, 3, 4))
    run = _run(tmp_path / "run", {}, rasters={"room": raster}, grids={"room/dose": dose})
    subject = subjects.chosen(run, {}, "", (), "")
    _, axes = _shown(subject, run)
    np.testing.assert_array_equal(axes.images[0].get_array(), dose[-1, 1])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")
    assert axes.get_title(loc="left") == f"t = {FEW_TIMES[-1]:g}, z = 1"


@pytest.mark.unit
def test_of_vectors_on_a_grid_the_norm_is_shown() -> None:
    raster = Raster((3, 4), 0.5, None)
    flow = np.random.default_rng(0).normal(size=(3, 4, 2))
    np.testing.assert_allclose(grids.scalar(flow, raster), np.hypot(flow[..., 0], flow[..., 1]))
    assert grids.scalar(flow[..., 0], raster).shape == (3, 4)


@pytest.mark.unit
def test_a_few_extremes_leave_colours_for_the_others() -> None:
    sample = ColourSample()
    sample.add(np.append(np.linspace(0.5, 1.0, 999), 8.0))
    scale = sample.scale("lines")
    assert scale.beyond == "max"
    assert 0.9 < scale.norm.vmax < 2.0
    alone = ColourSample()
    alone.add(np.append(np.zeros(999), 8.0))
    assert alone.scale("maps").norm.vmax == 8.0, "a single spot is all there is to see"


# Bad input ------------------------------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "suffix": (
        {"to": Path("film.avi")},
        "film.avi: no format of movies, got '.avi'; give a file that ends in .webp, .gif or .mp4",
    ),
    "fps": ({"fps": 0}, "movie: frames a second must be above 0 and at most 60, got 0; see --fps"),
    "every": ({"every": 0}, "movie: every so many frames must be at least 1, got 0; see --every"),
    "field": ({"field": "heat"}, "{run}: no field to show named 'heat' (there are: speed)"),
    "body": ({"bodies": ["sun"]}, "{run}: no bodies of this name, got 'sun'; there are: none"),
    "plane": ({"view": "x"}, "{run}: a view needs positions in space, got 2 coordinates; leave --view out"),
    "text": ({"fps": "10"}, "movie: fps: needs a number, got '10'; write fps=25"),
}


@pytest.mark.parametrize(("asked", "text"), BAD.values(), ids=BAD)
def test_mistakes_are_named(tmp_path: Path, asked: dict[str, Any], text: str) -> None:
    run = _run(tmp_path / "run", {"position": _moving(), "velocity": _moving()})
    with pytest.raises(UserError) as caught:
        movie(run, **asked)
    assert str(caught.value) == text.replace("{run}", str(run))
    assert not (run / "pictures").exists()


def test_a_view_is_three_letters_or_two_angles(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", {"position": _moving(3, 3)})
    with pytest.raises(UserError, match="not a view, got '30'; give x, y, z, xy, xz, yz, or two angles"):
        movie(run, view="30")


@pytest.mark.parametrize("nodes", [2, 5])
def test_positions_on_a_line_are_filmed_over_the_nodes(tmp_path: Path, nodes: int) -> None:
    x = _moving(nodes, 1)[..., 0]
    run = _run(tmp_path / "run", {"position": x}, lists={"bonds": np.array([[0, 1]])})
    subject = subjects.chosen(run, {}, "", (), "")
    seen, axes = _shown(subject, run)
    assert np.allclose(axes.lines[0].get_data(), (np.arange(nodes), x[-1]))
    assert axes.get_ylim()[0] < x.min()
    assert axes.get_ylim()[1] > x.max()
    assert np.any(seen[0] != seen[-1])
    assert movie(run).name == "line.webp"
    with pytest.raises(UserError, match="a view needs positions in space, got 1 coordinates"):
        movie(run, view="x")


@pytest.mark.parametrize("kind", ["phi", "spin", "line/phi"])
def test_numbers_without_places_are_filmed_along_their_line(tmp_path: Path, kind: str) -> None:
    """Of nodes over their numbers, of vectors the norm, over a grid of one axis over its places."""
    rows = _moving(5, 3 if kind == "spin" else 1)
    values = rows if kind == "spin" else rows[..., 0]
    raster = {"rasters": {"line": Raster((5,), 0.5, ("m", 1.0))}, "grids": {"line/phi": values}}
    other = {"momentum": np.zeros((len(FEW_TIMES), 5))}
    frames = other if "/" in kind else {kind: values} | other
    run = _run(tmp_path / "run", frames, **(raster if "/" in kind else {}))
    subject = subjects.chosen(run, {}, kind.rpartition("/")[2], (), "")
    seen, axes = _shown(subject, run)
    places = 0.5 * np.arange(5) if "/" in kind else np.arange(5)
    last = np.linalg.norm(rows[-1], axis=1) if kind == "spin" else values[-1]
    assert np.allclose(axes.lines[0].get_data(), (places, last))
    assert axes.get_xlabel() == ("x [m]" if "/" in kind else "node")
    assert axes.get_ylabel().partition(" ")[0] == ("|spin|" if kind == "spin" else "phi")
    assert np.any(seen[0] != seen[-1])
    assert movie(run, field="momentum").name == "momentum.webp"
    assert movie(run).name == ("phi.webp" if "/" in kind else "momentum.webp")
    with pytest.raises(UserError, match="a view needs positions in space, got 0 coordinates"):
        movie(run, view="x")


@pytest.mark.parametrize("kind", ["q", "position"])
def test_numbers_of_one_node_are_filmed_over_time(tmp_path: Path, kind: str) -> None:
    """A curve over one node is a dot: two angles, or one body on a line, are curves up to the present."""
    rows = np.sin(FEW_TIMES)[:, None, None] * (np.array([1.0, 2.0]) if kind == "q" else np.ones(1))
    run = _run(tmp_path / "run", {kind: rows})
    subject = subjects.chosen(run, {}, "", (), "")
    seen, axes = _shown(subject, run)
    curves = [
        line.get_data() for line in axes.lines if line.get_alpha() is None and len(line.get_xdata()) > 1
    ]
    assert np.allclose([y for _, y in curves], rows[:, 0].T)
    assert np.allclose([t for t, _ in curves], FEW_TIMES)
    assert axes.get_xlabel() == "time [yr]"
    assert axes.get_ylabel() == ("q" if kind == "q" else "x [AU]")
    assert all(np.any(one != seen[-1]) for one in seen[:-1])
    assert movie(run).name == ("q.webp" if kind == "q" else "line.webp")


def test_what_moves_is_filmed_before_its_velocity(tmp_path: Path) -> None:
    frames = {"a": _moving(5)[..., 0], "q": _moving(5)[..., 1]}
    assert movie(_run(tmp_path / "plain", frames)).name == "a.webp"
    run = _run(tmp_path / "run", frames, meta={"moving": ["q"]})
    assert movie(run).name == "q.webp"
    assert movie(run, field="a").name == "a.webp"


def test_a_body_that_rests_is_filmed_in_the_colours_of_its_nodes(tmp_path: Path) -> None:
    """Of its cells, if they have numbers; never of vectors unasked."""
    still, heat = np.tile(SQUARE, (len(FEW_TIMES), 1, 1)), FEW_TIMES[:, None] * np.ones(4)
    frames = {"position": still, "heat": heat, "flux": still}
    for cells, label in (({}, "heat"), ({"body/stress": heat[:, :2]}, "stress")):
        run = _run(tmp_path / label, frames, lists={"body": TRIANGLES}, cells=cells)
        assert subjects.chosen(run, {}, "", (), "").stem == f"mesh_{label}"
        assert movie(run).name == f"mesh_{label}.webp"
    run = _run(tmp_path / "plain", {"position": still, "flux": still}, lists={"body": TRIANGLES})
    assert subjects.chosen(run, {}, "", (), "").stem == "mesh"


def test_every_field_of_moving_nodes_colours_a_film(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", {"position": _moving(5), "spin": _moving(5, 3), "heat": _moving(5)[..., 0]})
    assert movie(run, field="spin").name == movie(run, field="heat").name == "points.webp"
    found = subjects.colourings(run, trajectory.names(run), {})
    assert found == {"heat": {"": "particles/all/heat"}, "spin": {"": "particles/all/spin"}}


def test_nothing_to_film(tmp_path: Path) -> None:
    still = _run(tmp_path / "still", {"position": _moving(times=T[:1])}, T[:1])
    with pytest.raises(UserError, match="got 1; record more, or ask for more by --every"):
        movie(still)
    silent = recorded_run(tmp_path / "silent", observables={"total": T})
    with pytest.raises(UserError, match="nothing moves, because no frames were recorded; record them with"):
        movie(silent)
    with pytest.raises(RunFolderError):
        movie(tmp_path / "nowhere")


def test_mp4_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    run = _run(tmp_path / "run", {"position": _moving()})
    with pytest.raises(UserError, match=re.escape(f"need PyAV: {pip_line('movie')}, or give")):
        movie(run, tmp_path / "film.mp4")


def test_the_command(
    tmp_path: Path, invoke: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _run(tmp_path / "run", {"position": _moving()})
    assert invoke("movie", "run", "--fps", "4") == (0, "run/pictures/orbits.webp\n", "")
    assert _length(tmp_path / "run/pictures/orbits.webp") == (6, 250)
    code, out, err = invoke("movie", "run", "--to", "run.txt")
    assert (code, out) == (2, "")
    assert "run.txt: no format of movies" in err
