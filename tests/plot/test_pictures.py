"""Pictures of bodies and clouds: the right files; nothing global of Matplotlib changes."""

import os
import re
import subprocess
import sys
from functools import partial
from itertools import pairwise

import matplotlib
import matplotlib.image
import numpy as np
import pytest

from minusgrad.errors import RunFailedError, RunFolderError, UserError, pip_line
from minusgrad.files import node_ranges
from minusgrad.plot import clouds, pictures
from minusgrad.plot.bodies import orbits
from minusgrad.plot.curves import line as line_pictures
from minusgrad.plot.moments import moments
from tests.support.recorded_runs import T
from tests.support.recorded_runs import recorded_run as _run
from tests.support.seen_pictures import ENERGIES, captured_figure, circular_orbits, picture_size


def test_a_few_bodies(tmp_path):
    run = _run(
        tmp_path / "run",
        {"position": circular_orbits([1, 2, 3])},
        ENERGIES,
        {"names": ["a", "b"], "title": "Three"},
    )
    out = pictures.plot(run)
    assert out == [run / "pictures" / "orbits.png", run / "pictures" / "energy.png"]
    for path in out:
        picture_size(path)
    again = {path: path.read_bytes() for path in out}
    assert {path: path.read_bytes() for path in pictures.plot(run)} == again, "the same run, the same bytes"


def test_a_crowd_inside_a_wide_system_gets_its_own_panel(tmp_path):
    wide = circular_orbits([0.4, 0.7, 1, 1.5, 5, 10, 30])
    assert orbits._crowd(wide).tolist() == [True] * 4 + [False] * 3
    assert not orbits._crowd(circular_orbits([1, 2, 3, 4])).any()
    (path,) = pictures.plot(_run(tmp_path / "run", {"position": wide}))
    height, width = picture_size(path)
    assert width > 1.7 * height


def test_many_bodies(tmp_path):
    run = _run(tmp_path / "run", {"position": circular_orbits(np.linspace(1, 9, 500), 3)})
    (path,) = pictures.plot(run, tmp_path / "elsewhere")
    assert path == tmp_path / "elsewhere" / "orbits.png"
    height, width = picture_size(path)
    assert width > 1.7 * height
    assert not (run / "pictures").exists()


def test_first_and_last_frame_are_the_very_first_and_last(tmp_path):
    x = circular_orbits(np.linspace(1, 9, 100), 3)
    first, last = moments(_run(tmp_path / "run", {"position": x}), "particles/all/position", between=0)
    assert (first[:2], last[:2]) == ((0, T[0]), (len(T) - 1, T[-1]))
    np.testing.assert_array_equal(first.value, x[0])
    np.testing.assert_array_equal(last.value, x[-1])


def test_bodies_of_a_cloud_have_colours_and_four_panels(tmp_path):
    x = np.zeros((len(T), 90, 2))
    x[:, :, 0] = np.linspace(0, 1, 90) + 0.1 * T[:, None]  # everything stays in view
    x[:, 40:, 1] = 0.5
    bodies = {"left": node_ranges.ranges(np.arange(40)), "right": node_ranges.ranges(np.arange(40, 80))}
    run = _run(tmp_path / "run", {"position": x}, meta={"bodies": bodies})
    assert [path.name for path in pictures.plot(run)] == ["orbits.png"]
    figure = captured_figure(partial(orbits.draw, run=run, names=[], bodies=bodies))
    assert [axes.get_title() for axes in figure.axes] == ["t = 0 yr", "t = 2 yr", "t = 4 yr", "t = 6 yr"]
    for axes, k in zip(figure.axes, (0, 13, 26, 39), strict=True):
        (low, high), drawn = axes.get_xlim(), [points.get_offsets() for points in axes.collections]
        assert low < x[..., 0].min() < x[..., 0].max() < high, "nothing is cut off"
        for points, nodes in zip(drawn, (slice(80, 90), slice(40), slice(40, 80)), strict=True):
            np.testing.assert_allclose(points, x[k, nodes])
        assert len({tuple(points.get_facecolor()[0]) for points in axes.collections}) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["left", "right"]


def test_a_crowd_is_light_on_black_and_bodies_can_be_drawn_alone(tmp_path):
    crowd = np.random.default_rng(0).normal(size=(40, clouds.CROWD + 90, 2))
    crowd[:, -60:] += 3.0
    bodies = {"halo": [[0, 30]], "disc": [[clouds.CROWD + 30, clouds.CROWD + 90]]}
    run = _run(tmp_path / "run", {"position": crowd}, meta={"bodies": bodies})
    figure = captured_figure(partial(orbits.draw, run=run, names=[], bodies=bodies))
    assert figure.get_facecolor()[:3] == (0.0, 0.0, 0.0)
    shown = [np.asarray(axes.images[0].get_array()) for axes in figure.axes]
    assert len(shown) == 4
    assert all(np.median(picture) == 0.0 and picture.max() > 0.8 for picture in shown)
    (path,) = pictures.plot(run, tmp_path / "alone", bodies=["disc"])
    assert matplotlib.image.imread(path)[0, 0, :3].tolist() == [1.0, 1.0, 1.0], "few dots, on paper"
    alone = captured_figure(
        partial(orbits.draw, run=run, names=[], bodies={"disc": bodies["disc"]}, every=False)
    )
    assert [len(dots.get_offsets()) for dots in alone.axes[0].collections] == [0, 60]
    with pytest.raises(UserError, match=r"run: no bodies of this name, got 'sun'; there are: disc, halo$"):
        pictures.plot(run, bodies=["sun"])


def test_strays_of_a_cluster_are_left_out(tmp_path):
    x = circular_orbits(np.r_[np.linspace(1, 2, 99), 500.0])
    run = _run(tmp_path / "run", {"position": x})
    for axes in captured_figure(partial(orbits.draw, run=run, names=[], bodies={})).axes:
        assert max(map(abs, axes.get_xlim())) < 5


@pytest.mark.parametrize("nodes", [[], [3], [0, 1, 2, 5, 7, 8], [8, 0, 7, 2]])
def test_ranges_of_nodes(nodes):
    ranges = node_ranges.ranges(np.array(nodes, int))
    assert all(end <= first for (_, end), (first, _) in pairwise(ranges))
    assert node_ranges.nodes(ranges).tolist() == sorted(nodes)


@pytest.mark.parametrize("lowest", [-1.0, 0.0])
def test_scalar_fields(tmp_path, lowest):
    phi = np.maximum(np.sin(T[:, None] - np.linspace(0, 9, 80)), lowest)
    out = pictures.plot(_run(tmp_path / "run", {"phi": phi, "energy": phi}, {"total": 0 * T}))
    assert sorted(path.name for path in out) == ["energy.png", "energy_field.png", "phi.png"]
    for path in out:
        picture_size(path)


def test_nothing_to_draw_says_so(tmp_path):
    run = _run(tmp_path / "run", {}, {"height": np.zeros((len(T), 10))})
    with pytest.raises(UserError, match=r"nothing to draw \(there are: observables/height\)"):
        pictures.plot(run)
    with pytest.raises(RunFolderError, match="not a run"):
        pictures.plot(tmp_path)


@pytest.mark.parametrize("place", [None, "elsewhere"])
def test_a_folder_that_cannot_be_written_names_out_as_the_cure(tmp_path, monkeypatch, place):
    """Also a run folder on a read-only disk, which `resume` would not cure."""
    run = _run(tmp_path / "run", {}, ENERGIES)
    out = place and tmp_path / place

    def refused(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "mkdir", refused)
    cure = "cannot be written: Read-only file system; give another folder with --out"
    with pytest.raises(RunFailedError) as error:
        pictures.plot(run, out)
    assert str(error.value) == f"{out or run / 'pictures'}: {cure}"


@pytest.mark.parametrize("scalar", [False, True])
def test_positions_on_a_line_are_drawn_over_nodes_and_over_time(tmp_path, scalar):
    """Numbers (T, N) are positions as well; no more than ten nodes have curves."""
    x = circular_orbits(np.linspace(1, 2, 12), 1)
    run = _run(
        tmp_path / "run",
        {"position": x[..., 0] if scalar else x},
        ENERGIES,
        lists={"bonds": np.array([[0, 1]])},
    )
    named = [path.name for path in pictures.plot(run)]
    assert named == ["line.png", "energy.png"] + ["position.png"] * scalar
    figure = captured_figure(lambda figure: line_pictures.draw(figure, run))
    nodes, times = figure.axes
    first, last = (drawn.get_ydata() for drawn in nodes.lines)
    assert np.allclose(first, x[0, :, 0])
    assert np.allclose(last, x[-1, :, 0])
    assert len(times.lines) == line_pictures.FEW
    assert np.allclose(times.lines[-1].get_data(), (T, x[:, -1, 0]))
    with pytest.raises(UserError, match="they are on a line; leave --view out"):
        pictures.plot(run, view="x")


def test_nothing_global_changes(tmp_path):
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        before = dict(matplotlib.rcParams)
        pictures.plot(_run(tmp_path / "run", {"position": circular_orbits([1, 2])}))
        assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_cure_is_named(tmp_path, monkeypatch):
    run = _run(tmp_path / "run", {"position": circular_orbits([1, 2])})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=re.escape(f"pictures need matplotlib: {pip_line('plot')}")):
        pictures.plot(run)


def test_looking_at_files_loads_neither_taichi_nor_matplotlib():
    code = "import sys, minusgrad.plot.pictures; print({'taichi', 'matplotlib', 'pluggy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
