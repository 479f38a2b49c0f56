"""Pictures: the right files with the right things on them; nothing global of Matplotlib changes."""

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
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm, to_rgb
from matplotlib.figure import Figure

from minusgrad.errors import RunFailedError, RunFolderError, UserError, pip_line
from minusgrad.files import node_ranges, trajectory
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.h5md import Raster
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from minusgrad.plot import clouds, layers, mesh_artists, meshes, orbits, pictures, style
from minusgrad.plot import grids as grid_pictures
from minusgrad.plot.curves import energies, space_time
from minusgrad.plot.curves import line as line_pictures
from minusgrad.plot.moments import moments
from minusgrad.plot.shapes import surfaces
from minusgrad_elastic import generators
from tests.support.recorded_runs import UNITS, T
from tests.support.recorded_runs import recorded_run as _run


def _circles(radii, dimension=2):
    radii = np.asarray(radii, float)
    angle = T[:, None] * 9 / radii**0.5 + radii
    x = np.stack([radii * np.cos(angle), radii * np.sin(angle), 0 * angle], axis=-1)
    return x[..., :dimension]


def _size(path):
    picture = matplotlib.image.imread(path)
    assert picture.shape[0] > 300
    assert np.ptp(picture[..., :3]) > 0.5, "not blank"
    return picture.shape[:2]


ENERGIES = {"kinetic": 1 + 0.1 * np.sin(T), "potential/gravity": -2 - 0.1 * np.sin(T), "total": -1 + 1e-9 * T}


def test_a_few_bodies(tmp_path):
    run = _run(
        tmp_path / "run", {"position": _circles([1, 2, 3])}, ENERGIES, {"names": ["a", "b"], "title": "Three"}
    )
    out = pictures.plot(run)
    assert out == [run / "pictures" / "orbits.png", run / "pictures" / "energy.png"]
    for path in out:
        _size(path)
    again = {path: path.read_bytes() for path in out}
    assert {path: path.read_bytes() for path in pictures.plot(run)} == again, "the same run, the same bytes"


def test_a_crowd_inside_a_wide_system_gets_its_own_panel(tmp_path):
    wide = _circles([0.4, 0.7, 1, 1.5, 5, 10, 30])
    assert orbits._crowd(wide).tolist() == [True] * 4 + [False] * 3
    assert not orbits._crowd(_circles([1, 2, 3, 4])).any()
    (path,) = pictures.plot(_run(tmp_path / "run", {"position": wide}))
    height, width = _size(path)
    assert width > 1.7 * height


def test_many_bodies(tmp_path):
    run = _run(tmp_path / "run", {"position": _circles(np.linspace(1, 9, 500), 3)})
    (path,) = pictures.plot(run, tmp_path / "elsewhere")
    assert path == tmp_path / "elsewhere" / "orbits.png"
    height, width = _size(path)
    assert width > 1.7 * height
    assert not (run / "pictures").exists()


def test_first_and_last_frame_are_the_very_first_and_last(tmp_path):
    x = _circles(np.linspace(1, 9, 100), 3)
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
    figure = _figure(partial(orbits.draw, run=run, names=[], bodies=bodies))
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
    figure = _figure(partial(orbits.draw, run=run, names=[], bodies=bodies))
    assert figure.get_facecolor()[:3] == (0.0, 0.0, 0.0)
    shown = [np.asarray(axes.images[0].get_array()) for axes in figure.axes]
    assert len(shown) == 4
    assert all(np.median(picture) == 0.0 and picture.max() > 0.8 for picture in shown)
    (path,) = pictures.plot(run, tmp_path / "alone", bodies=["disc"])
    assert matplotlib.image.imread(path)[0, 0, :3].tolist() == [1.0, 1.0, 1.0], "few dots, on paper"
    alone = _figure(partial(orbits.draw, run=run, names=[], bodies={"disc": bodies["disc"]}, every=False))
    assert [len(dots.get_offsets()) for dots in alone.axes[0].collections] == [0, 60]
    with pytest.raises(UserError, match=r"run: no bodies of this name, got 'sun'; there are: disc, halo$"):
        pictures.plot(run, bodies=["sun"])


def test_strays_of_a_cluster_are_left_out(tmp_path):
    x = _circles(np.r_[np.linspace(1, 2, 99), 500.0])
    run = _run(tmp_path / "run", {"position": x})
    for axes in _figure(partial(orbits.draw, run=run, names=[], bodies={})).axes:
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
        _size(path)


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
    x = _circles(np.linspace(1, 2, 12), 1)
    run = _run(
        tmp_path / "run",
        {"position": x[..., 0] if scalar else x},
        ENERGIES,
        lists={"bonds": np.array([[0, 1]])},
    )
    named = [path.name for path in pictures.plot(run)]
    assert named == ["line.png", "energy.png"] + ["position.png"] * scalar
    figure = _figure(lambda figure: line_pictures.draw(figure, run))
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
        pictures.plot(_run(tmp_path / "run", {"position": _circles([1, 2])}))
        assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_cure_is_named(tmp_path, monkeypatch):
    run = _run(tmp_path / "run", {"position": _circles([1, 2])})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=re.escape(f"pictures need matplotlib: {pip_line('plot')}")):
        pictures.plot(run)


def test_looking_at_files_loads_neither_taichi_nor_matplotlib():
    code = "import sys, minusgrad.plot.pictures; print({'taichi', 'matplotlib', 'pluggy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


# Energies of a search, which takes steps but no time ---------------------------------------------------

STILL = np.zeros(9)
FALLING = 2.0 ** -np.arange(9.0)


def _figure(draw) -> Figure:
    """What `draw` draws, in the style of all pictures, laid out and painted."""
    figure = Figure()
    canvas = FigureCanvasAgg(figure)
    with matplotlib.rc_context(style.RC):
        draw(figure)
        canvas.draw()
    return figure


def _energy_axes(run):
    names = trajectory.names(run)
    return _figure(partial(energies.draw, run=run, energies=energies.energies_of(names), names=names)).axes


def test_a_minimiser_counts_iterations_and_shows_its_residual(tmp_path):
    found = {"total": 1 + FALLING, "potential/spring": 1 + FALLING, "residual": FALLING**4}
    run = _run(tmp_path / "run", observables=found, times=STILL)
    assert [path.name for path in pictures.plot(run)] == ["energy.png"]
    _size(run / "pictures" / "energy.png")
    above, below = _energy_axes(run)
    assert [line.get_label() for line in above.lines] == ["spring", "total"]
    for line in (*above.lines, *below.lines):
        assert line.get_xdata().tolist() == list(range(9))
    np.testing.assert_array_equal(below.lines[0].get_ydata(), FALLING**4)
    assert (below.get_yscale(), below.get_ylabel()) == ("log", "residual [N]")
    assert (above.get_xlabel(), below.get_xlabel()) == ("", "iteration")
    assert above.get_xlim() == below.get_xlim() == (0, 8)


def test_a_residual_that_reaches_zero_is_drawn_up_to_there(tmp_path):
    run = _run(
        tmp_path / "run",
        observables={"potential/a": FALLING, "residual": np.where(FALLING > 0.01, FALLING, 0)},
        times=STILL,
    )
    _, below = _energy_axes(run)
    assert below.get_yscale() == "log"
    assert below.get_ylim()[0] > 1e-3
    assert not np.isfinite(below.transScale.transform((7.0, 0.0))[1]), "no line down to it"
    run = _run(tmp_path / "rest", observables={"potential/a": FALLING, "residual": STILL}, times=STILL)
    assert _energy_axes(run)[1].get_yscale() == "linear"


def test_a_minimiser_without_residual_has_one_panel(tmp_path):
    run = _run(tmp_path / "run", observables={"potential/a": FALLING, "total": FALLING}, times=STILL)
    (axes,) = _energy_axes(run)
    assert axes.get_xlabel() == "iteration"


def test_one_moment_is_a_time_and_no_iteration(tmp_path):
    _, below = _energy_axes(_run(tmp_path / "run", observables=ENERGIES, times=T[:1]))
    assert below.get_xlabel() == "time [yr]"


def test_energies_without_a_total_are_drawn(tmp_path):
    run = _run(tmp_path / "run", observables={"potential/a": T, "potential/b": -T, "residual": T})
    assert [path.name for path in pictures.plot(run)] == ["energy.png"]
    (axes,) = _energy_axes(run)
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    assert axes.get_xlabel() == "time [yr]"


def test_a_moving_system_shows_time_and_drift(tmp_path):
    above, below = _energy_axes(_run(tmp_path / "run", observables=ENERGIES | {"residual": 1 + T}))
    assert [line.get_label() for line in above.lines] == ["gravity", "kinetic", "total"]
    assert (below.get_xlabel(), below.get_ylabel()) == ("time [yr]", "energy error\n(relative)")
    np.testing.assert_allclose(below.lines[-1].get_ydata(), 1e-9 * T, rtol=1e-6, atol=1e-15)


def test_a_loss_that_falls_far_has_a_logarithmic_axis(tmp_path):
    loss = 0.26 / (1 + 8 * np.arange(9.0))
    found = {"total": loss, "potential/a": loss * (1 - 1e-9), "potential/b": loss * 1e-9, "residual": loss}
    above, below = _energy_axes(_run(tmp_path / "run", observables=found, times=STILL))
    assert (above.get_yscale(), below.get_yscale()) == ("log", "log")
    low, high = above.get_ylim()
    assert 0.05 * loss[-1] < low < loss[-1] < loss[0] < high, "a small term does not flatten the loss"
    for axes in (_energy_axes(_run(tmp_path / "one", observables={"total": loss}, times=STILL))[0], below):
        ticks = axes.get_yticks()
        assert all(np.isclose(ticks, tick).any() for tick in (0.01, 0.02, 0.05, 0.1, 0.2))
        assert all(label.get_text() for label in axes.get_yticklabels()), "and each has its number"


@pytest.mark.parametrize(
    ("total", "term", "times"),
    [
        (1 + 8 * FALLING, 1 + 8 * FALLING, STILL),  # less than a decade
        (FALLING, FALLING - 0.5, STILL),  # a term below zero
        (FALLING - 0.5, FALLING - 0.5, STILL),
        (-FALLING, -FALLING, STILL),
        (STILL, STILL, STILL),
        (FALLING, FALLING, np.arange(9.0)),  # no minimiser
    ],
)
def test_other_energies_have_a_linear_axis(tmp_path, total, term, times):
    run = _run(tmp_path / "run", observables={"total": total, "potential/a": term}, times=times)
    assert _energy_axes(run)[0].get_yscale() == "linear"


def test_a_loss_that_reaches_zero_is_drawn_up_to_there(tmp_path):
    total = np.where(FALLING > 0.01, FALLING, 0)
    (axes,) = _energy_axes(_run(tmp_path / "run", observables={"total": total}, times=STILL))
    assert axes.get_yscale() == "log"
    assert 1e-3 < axes.get_ylim()[0] < 0.0157


def test_a_field_of_a_minimiser_has_iterations_upwards(tmp_path):
    run = _run(tmp_path / "run", {"phi": np.outer(FALLING, np.arange(5.0))}, times=STILL)
    (axes, _) = _figure(partial(space_time.draw, run=run, name="particles/all/phi")).axes
    assert axes.get_ylabel() == "iteration"
    assert axes.get_ylim() == (-0.5, 8.5)


# What is seen of lists of tuples ------------------------------------------------------------------------


def test_the_boundary_of_a_tetrahedron_is_its_faces():
    facets, cells, inner = surfaces.boundary(np.array([[4, 7, 2, 9]]))
    assert [set(facet) | {node} for facet, node in zip(facets.tolist(), inner.tolist(), strict=True)] == [
        {2, 4, 7, 9}
    ] * 4
    assert {frozenset(facet) for facet in facets.tolist()} == {
        frozenset(f) for f in ((4, 7, 2), (4, 7, 9), (4, 2, 9), (7, 2, 9))
    }
    assert cells.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("mesh", [generators.box((3, 2, 1), (4, 3, 2)), generators.rectangle((2, 1), (5, 3))])
def test_the_boundary_is_what_the_mesh_says(mesh):
    facets, cells, inner = surfaces.boundary(mesh.cells)
    assert {frozenset(f) for f in facets.tolist()} == {frozenset(f) for f in mesh.boundary().tolist()}
    assert len(facets) == len(mesh.boundary())
    assert (np.diff(cells) >= 0).all()
    together = np.sort(np.column_stack([facets, inner]), axis=1)
    np.testing.assert_array_equal(together, np.sort(mesh.cells[cells], axis=1))


def test_edges_are_those_of_the_mesh():
    mesh = generators.box((1, 1, 1), (2, 2, 2))
    np.testing.assert_array_equal(surfaces.edges(mesh.cells), mesh.edges())


def test_normals_point_outward_whatever_the_order_of_nodes():
    mesh = generators.box((2, 2, 2), (3, 3, 3))
    facets, _, inner = surfaces.boundary(mesh.cells)
    normal = surfaces.outward(mesh.points, facets, inner)
    np.testing.assert_allclose(np.abs(normal).max(axis=1), 1.0)
    outside = mesh.points[facets].mean(axis=1) - 1.0
    assert (np.einsum("ij,ij->i", normal, outside) > 0.9).all()
    np.testing.assert_array_equal(
        surfaces.outward(np.zeros((4, 3)), facets[:1] % 4, inner[:1] % 4), [[0, 0, 0]]
    )


def test_the_contour_of_a_box_is_its_twelve_sides():
    mesh = generators.box((3.0, 2.0, 1.0), (3, 2, 1))
    facets, _, inner = surfaces.boundary(mesh.cells)
    lines = surfaces.contour(mesh.points, facets, inner, np.array([0.3, -0.8, 0.5]))
    start, end = mesh.points[lines[:, 0]], mesh.points[lines[:, 1]]
    assert len(lines) == 4 * (3 + 2 + 1)
    faces = (np.isclose(start, 0) & np.isclose(end, 0)) | (
        np.isclose(start, [3, 2, 1]) & np.isclose(end, [3, 2, 1])
    )
    assert (faces.sum(axis=1) == 2).all(), "each lies on two faces"


def test_the_contour_of_a_round_body_turns_from_the_eye():
    mesh = generators.box((2.0, 2.0, 2.0), (12, 12, 12))
    centred = mesh.points - 1.0
    ball = (
        centred * (np.abs(centred).max(axis=1) / np.maximum(np.linalg.norm(centred, axis=1), 1e-9))[:, None]
    )
    facets, _, inner = surfaces.boundary(mesh.cells)
    eye = np.array([0.0, -0.6, 0.8])
    lines = surfaces.contour(ball, facets, inner, eye)
    assert 60 < len(lines) < 200
    assert (np.abs(ball[np.unique(lines)] @ eye) < 0.2).all()


@pytest.mark.parametrize(
    ("size", "across", "steep"), [((4, 1, 1), 0, 24), ((1, 4, 1), 1, 24), ((4, 3, 0.1), 0, 38)]
)
def test_a_view_shows_the_long_side_and_keeps_z_upright(size, across, steep):
    view = surfaces.sensible_view(generators.box(size, (1, 1, 1)).points)
    np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(view) > 0
    assert view[0, 2] == 0
    assert view[0, across] > 0.85
    np.testing.assert_allclose(view[2, 2], np.sin(np.radians(steep)))


def test_fifty_thousand_tetrahedra_are_seen_by_their_boundary():
    mesh = generators.box((1, 1, 1), (20, 20, 21))
    assert len(mesh.cells) == 50400
    assert len(surfaces.boundary(mesh.cells)[0]) == 2 * 2 * (20 * 20 + 2 * 20 * 21)


# Colours ------------------------------------------------------------------------------------------------


def test_colours_begin_at_zero_and_end_at_the_largest():
    scale = mesh_artists.colours(np.array([0.2, 0.5, 2.0]), "cells")
    assert (scale.norm.vmin, scale.norm.vmax, scale.beyond) == (0.0, 2.0, "neither")
    np.testing.assert_allclose(scale(np.array([2.0])), [to_rgb("#8e2434")], atol=1e-3)
    np.testing.assert_allclose(scale(np.array([0.0])), [to_rgb("#e3e7eb")], atol=1e-3)


def test_colours_of_both_signs_lie_around_zero():
    scale = mesh_artists.colours(np.array([-1.0, 0.5, 3.0]), "lines")
    assert (scale.norm.vmin, scale.norm.vmax) == (-3.0, 3.0)
    red, _, blue = scale(np.array([3.0]))[0]
    assert red > blue + 0.3
    red, _, blue = scale(np.array([-3.0]))[0]
    assert blue > red + 0.3
    assert np.ptp(scale(np.array([0.0]))[0]) < 0.06
    assert scale(np.array([0.0]))[0].max() < 0.8, "a line is seen on white"


def test_colours_of_a_few_large_values_are_logarithmic():
    values = np.append(np.full(99, 1e-5), 10.0)
    scale = mesh_artists.colours(values, "cells")
    assert isinstance(scale.norm, LogNorm)
    assert (scale.norm.vmin, scale.norm.vmax, scale.beyond) == (1e-3, 10.0, "min")
    assert mesh_artists.colours(np.append(np.full(99, 0.01), 10.0), "cells").beyond == "neither"
    with_zero = mesh_artists.colours(np.append(np.zeros(99), 10.0), "cells")
    np.testing.assert_allclose(with_zero(np.zeros(1)), with_zero(np.array([1e-3])))


@pytest.mark.parametrize(
    ("values", "limits"), [([0.0, 0.0], (0, 1)), ([2.0, 2.0], (0, 2)), ([-3.0, -1.0], (-3, 0))]
)
def test_colours_of_constant_and_negative_values(values, limits):
    scale = mesh_artists.colours(np.array(values), "cells")
    assert (scale.norm.vmin, scale.norm.vmax) == limits
    np.testing.assert_allclose(scale(np.zeros(1)), [to_rgb("#e3e7eb")], atol=1e-3)


# Bodies and networks ------------------------------------------------------------------------------------

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])
SHIFTED = np.stack([SQUARE, SQUARE + np.array([2.5, 0.0])])
DENSITY = np.array([[1.0, 1.0], [0.0, 4.0]])
WHITE, INK, PALE, PLAIN = (to_rgb(colour) for colour in ("white", style.INK, "#bfc6ce", "#a9c4de"))


def _mesh_figure(run) -> Figure:
    lists = meshes.drawable(run)
    found = meshes.colourings(run, trajectory.names(run), lists) or {"": {}}
    return _figure(partial(meshes.draw, run=run, lists=lists, series=next(iter(found.values()))))


def _pixel(figure: Figure, point, around: int = 0, panel: int = 0) -> np.ndarray:
    """The colour (3,) at a point of the data; `around`: the darkest within so many pixels."""
    image = np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255
    x, y = figure.axes[panel].transData.transform(point).astype(int)
    row = image.shape[0] - 1 - y
    seen = image[row - around : row + around + 1, x - around : x + around + 1].reshape(-1, 3)
    return seen[seen.sum(axis=1).argmin()]


def _sheet(tmp_path, **more):
    return _run(tmp_path / "run", {"position": SHIFTED}, times=[0.0, 2.0], lists={"cells": HALVES}, **more)


def test_a_body_has_a_mesh_instead_of_orbits(tmp_path):
    run = _sheet(tmp_path, cells={"cells/energy_density": DENSITY}, meta={"title": "A square"})
    out = pictures.plot(run)
    assert out == [run / "pictures" / "mesh.png"]
    _size(out[0])
    before = out[0].read_bytes()
    pictures.plot(run)
    assert out[0].read_bytes() == before, "the same run, the same bytes"


def test_cells_are_coloured_where_they_ended_and_pale_where_they_began(tmp_path):
    figure = _mesh_figure(_sheet(tmp_path, cells={"cells/energy_density": DENSITY}))
    scale = mesh_artists.colours(DENSITY[-1], "cells")
    for half, value in zip(HALVES, DENSITY[-1], strict=True):
        np.testing.assert_allclose(
            _pixel(figure, SHIFTED[1][half].mean(axis=0)), scale(value[None])[0], atol=0.01
        )
        np.testing.assert_array_equal(_pixel(figure, SHIFTED[0][half].mean(axis=0)), WHITE)
    np.testing.assert_allclose(_pixel(figure, (0.5, 0.0), around=2), PALE, atol=0.05)
    np.testing.assert_allclose(_pixel(figure, (0.3, 0.3), around=2), PALE, atol=0.1)  # few cells: all edges
    assert _pixel(figure, (3.0, 1.0), around=2).max() < 0.4, "a dark rim"
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [AU]", "y [AU]")
    assert axes.get_title(loc="left") == "t = 2 yr, pale: t = 0 yr"
    assert bar.get_ylabel() == "energy density [J m⁻³]"
    assert axes.get_aspect() == 1


def test_without_values_a_body_is_plain_and_has_no_colour_bar(tmp_path):
    figure = _mesh_figure(_sheet(tmp_path))
    assert len(figure.axes) == 1
    np.testing.assert_allclose(_pixel(figure, (3.2, 0.3)), PLAIN, atol=0.01)


def test_many_cells_began_as_an_outline(tmp_path):
    mesh = generators.rectangle((1.0, 1.0), (16, 16))
    x = mesh.points + np.array([[[0.0, 0.0]], [[2.5, 0.0]]])
    figure = _mesh_figure(
        _run(tmp_path / "run", {"position": x}, times=[0.0, 2.0], lists={"cells": mesh.cells})
    )
    np.testing.assert_allclose(_pixel(figure, (0.5, 0.0), around=2), PALE, atol=0.05)
    np.testing.assert_array_equal(_pixel(figure, (0.5, 0.5), around=4), WHITE)


def test_there_are_no_seams_between_cells(tmp_path):
    mesh = generators.rectangle((2.0, 1.0), (60, 30))
    x, values = mesh.points[None], np.ones((1, len(mesh.cells)))
    run = _run(
        tmp_path / "run", {"position": x}, times=[0.0], lists={"cells": mesh.cells}, cells={"cells/u": values}
    )
    figure = _mesh_figure(run)
    image = np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255
    (left, low), (right, high) = figure.axes[0].transData.transform([(0.05, 0.05), (1.95, 0.95)]).astype(int)
    inside = image[image.shape[0] - high : image.shape[0] - low, left:right]
    assert inside.size > 1e5
    assert (inside < np.array(to_rgb("#8e2434")) + 0.02).all()


def test_a_moving_body_leaves_outlines_of_some_states_between(tmp_path):
    times = np.linspace(0, 8, 9)
    x = SQUARE + np.outer(0.6 * times, [1.0, 0.0])[:, None, :]
    figure = _mesh_figure(_run(tmp_path / "run", {"position": x}, times=times, lists={"cells": HALVES}))
    for between in (1.2, 2.4, 3.6):
        np.testing.assert_allclose(_pixel(figure, (between, 0.6), around=2), PALE, atol=0.1)
        np.testing.assert_array_equal(_pixel(figure, (between + 0.5, 0.5), around=2), WHITE)
    assert figure.axes[0].get_title(loc="left") == "t = 8 yr, pale: from t = 0 yr on"


def test_a_minimiser_leaves_no_states_between(tmp_path):
    x = SQUARE + np.outer(np.linspace(0, 4.8, 9), [1.0, 0.0])[:, None, :]
    figure = _mesh_figure(_run(tmp_path / "run", {"position": x}, times=STILL, lists={"cells": HALVES}))
    np.testing.assert_array_equal(_pixel(figure, (2.4, 0.6), around=4), WHITE)
    assert figure.axes[0].get_title(loc="left") == "iteration 8, pale: iteration 0"


def test_one_frame_has_nothing_pale(tmp_path):
    run = _run(tmp_path / "run", {"position": SHIFTED[:1]}, times=[3.0], lists={"cells": HALVES})
    figure = _mesh_figure(run)
    assert figure.axes[0].get_title(loc="left") == "t = 3 yr"
    np.testing.assert_allclose(_pixel(figure, (0.7, 0.2)), PLAIN, atol=0.01)


def test_a_body_that_went_far_has_a_panel_for_itself(tmp_path):
    for along, rows in (([40.0, 1.0], True), ([1.0, 40.0], False)):
        x = np.array([SQUARE, SQUARE + along])
        run = _run(tmp_path / f"run{rows}", {"position": x}, times=[0.0, 2.0], lists={"cells": HALVES})
        figure = _mesh_figure(run)
        whole, close = figure.axes
        np.testing.assert_allclose(
            _pixel(figure, along + SQUARE.mean(axis=0) + [0.2, 0], panel=1), PLAIN, atol=0.01
        )
        assert np.ptp(close.get_xlim()) < 1.2 < 40 < max(np.ptp(whole.get_xlim()), np.ptp(whole.get_ylim()))
        above = whole.get_position().y0 > close.get_position().y1
        beside = whole.get_position().x1 < close.get_position().x0
        assert (above, beside) == (rows, not rows)


def test_lines_are_coloured_and_pale_where_they_began(tmp_path):
    ropes = np.array([[0, 1], [1, 2], [2, 3]])
    tension = np.array([[0.0, 0, 0], [-2.0, 0.0, 2.0]])
    run = _run(
        tmp_path / "run",
        {"position": SHIFTED},
        times=[0.0, 1.0],
        lists={"ropes": ropes},
        cells={"ropes/tension": tension},
    )
    figure = _mesh_figure(run)
    scale = mesh_artists.colours(tension[-1], "lines")
    for rope, value in zip(ropes, tension[-1], strict=True):
        seen = _pixel(figure, SHIFTED[1][rope].mean(axis=0), around=1)
        np.testing.assert_allclose(seen, scale(value[None])[0], atol=0.03)
        np.testing.assert_allclose(_pixel(figure, SHIFTED[0][rope].mean(axis=0), around=2), PALE, atol=0.05)
    np.testing.assert_array_equal(_pixel(figure, (0.0, 0.5), around=3), WHITE)
    assert [path.name for path in pictures.plot(run)] == ["mesh.png"]


def test_a_network_that_travels_has_the_path_of_its_centre(tmp_path):
    times, ropes = np.linspace(0, 8, 9), np.array([[0, 1], [2, 3]])
    for far, seen in ((2.4, True), (0.1, False)):
        x = SQUARE + np.outer(far * times / 8, [1.0, 0.0])[:, None, :]
        x[4] += [0.0, 0.05]  # a hop
        x = np.concatenate([x, np.full((9, 1, 2), 7.0)], axis=1)  # a node of no list counts for nothing
        run = _run(tmp_path / f"run{far}", {"position": x}, times=times, lists={"ropes": ropes})
        lines = [line.get_xydata() for line in _mesh_figure(run).axes[0].lines if len(line.get_xydata()) == 9]
        assert len(lines) == seen
        if seen:
            np.testing.assert_allclose(lines[0], x[:, :4].mean(axis=1), atol=1e-12)


def test_lists_of_one_label_share_a_scale_and_others_are_plain(tmp_path):
    x = np.concatenate([*(SQUARE + np.array([left, 0]) for left in (0, 2, 4)), [[3.0, 2.0]]])
    density = {"a/energy_density": np.array([[1.0, 1.0]]), "b/energy_density": np.array([[4.0, 4.0]])}
    lists = {"a": HALVES, "b": HALVES + 4, "c": HALVES + 8, "rope": np.array([[3, 6]])}
    run = _run(tmp_path / "run", {"position": x[None]}, times=[0.0], lists=lists, cells=density)
    figure = _mesh_figure(run)
    scale = mesh_artists.colours(np.array([1.0, 4.0]), "cells")
    for left, colour in ((0, scale(np.ones(1))[0]), (2, scale(np.full(1, 4.0))[0]), (4, PLAIN)):
        np.testing.assert_allclose(_pixel(figure, (left + 0.7, 0.3)), colour, atol=0.01)
    np.testing.assert_allclose(_pixel(figure, (1.5, 1.0), around=1), INK, atol=0.1)
    np.testing.assert_allclose(_pixel(figure, (3.0, 2.0)), INK, atol=0.05)  # a node of no list


def test_every_label_has_its_picture_and_tensors_have_none(tmp_path):
    cells = {"cells/b": DENSITY, "cells/energy/c": DENSITY, "cells/a": np.zeros((2, 2, 2, 2))}
    out = pictures.plot(_sheet(tmp_path, cells=cells))
    assert [path.name for path in out] == ["mesh.png", "mesh_energy_c.png"]


def test_the_last_value_may_be_older_than_the_last_frame(tmp_path):
    recorder = Recorder(UNITS, ("yr", 3e7), {"cells": HALVES})
    with RunDir.create(tmp_path / "run", b"", []) as run:
        recorder.record_cells(0, 0.0, "cells", {"energy_density": DENSITY[1]})
        for step in (0, 1):
            recorder.record_frame(step, float(step), {"position": SHIFTED[step]})
        run.save(Snapshot(1, 1.0, 0.1, {}), recorder, keep=2)
    assert _mesh_figure(tmp_path / "run").axes[1].get_ylabel() == "energy density [J m⁻³], step 0"


@pytest.mark.parametrize(
    ("dimension", "tuples"),
    [
        (2, [[0, 1, 2, 3, 0]]),
        (3, [[0, 1, 2]]),
        (2, [[0, 1, 4]]),
        (2, np.empty((0, 3), np.int32)),
    ],
)
def test_lists_that_no_picture_can_show_leave_orbits(tmp_path, dimension, tuples):
    x = _circles([1, 2, 3, 4], dimension)
    out = pictures.plot(_run(tmp_path / "run", {"position": x}, lists={"odd": np.asarray(tuples)}))
    assert [path.name for path in out] == ["orbits.png"]


# In space -----------------------------------------------------------------------------------------------

CUBE = generators.box((1.0, 1.0, 1.0), (1, 1, 1))


def _solid(path, x, tuples, times=(0.0, 1.0), **more):
    return _run(path, {"position": np.asarray(x)}, times=times, lists={"cells": tuples}, **more)


def _seen(x, point):
    """Where a point (3,) of a picture of positions x (N, 3) is."""
    return (np.asarray(point) @ surfaces.sensible_view(x).T)[:2]


def test_a_solid_is_lit_from_above(tmp_path):
    run = _solid(tmp_path / "run", [CUBE.points], CUBE.cells, times=[0.0])
    figure = _mesh_figure(run)
    top, front, right = (
        _pixel(figure, _seen(CUBE.points, point)) for point in ((0.4, 0.6, 1), (0.4, 0, 0.55), (1, 0.6, 0.55))
    )
    assert top.sum() > front.sum() + 0.1 > right.sum() + 0.2
    for face in (top, front, right):
        np.testing.assert_allclose(face / face.sum(), np.array(PLAIN) / sum(PLAIN), atol=0.02)
    assert not figure.axes[0].axison
    assert [text.get_text() for text in figure.axes[0].texts] == ["x", "y", "z", "0.2 AU"]


def test_what_is_near_hides_what_is_far_and_facets_have_their_cells_colour(tmp_path):
    """Two cubes one behind the other, in both orders of their nodes; two far nodes make x the long side."""
    wide = np.array([[9.0, 0.0, 0.0], [-9.0, 0.0, 0.0]])
    eye = surfaces.sensible_view(wide)[2]
    cells = np.concatenate([CUBE.cells, CUBE.cells + 8])
    values = np.repeat([[1.0, -1.0]], 6, axis=1)
    for near in (1.0, -1.0):
        x = np.concatenate([CUBE.points + 3 * near * eye, CUBE.points - 3 * near * eye, wide])
        run = _solid(tmp_path / f"run{near}", [x], cells, times=[0.0], cells={"cells/sign": values})
        red, _, blue = _pixel(_mesh_figure(run), _seen(x, x[:8].mean(axis=0) + 0.02))
        assert (red - blue) * near > 0.2


def test_every_facet_that_faces_the_eye_has_the_colour_of_its_cell(tmp_path):
    """Those of a convex body hide nothing of each other; a thin plate's back is as near as its rim."""
    plate = generators.box((3.0, 2.0, 0.08), (10, 7, 1))
    values = np.random.default_rng(0).uniform(size=len(plate.cells))
    run = _solid(tmp_path / "run", [plate.points], plate.cells, times=[0.0], cells={"cells/u": values[None]})
    figure, scale = _mesh_figure(run), mesh_artists.colours(values, "cells")
    facets, owner, inner = surfaces.boundary(plate.cells)
    normal = surfaces.outward(plate.points @ surfaces.sensible_view(plate.points).T, facets, inner)
    expected = mesh_artists._lit(scale(values[owner]), normal)
    front = np.flatnonzero(normal[:, 2] > 0)
    assert len(front) == 2 * (10 * 7 + 10 + 7)
    for facet in front:
        seen = _pixel(figure, _seen(plate.points, plate.points[facets[facet]].mean(axis=0)))
        np.testing.assert_allclose(seen, expected[facet], atol=0.02)


def test_a_solid_began_as_a_contour(tmp_path):
    mesh = generators.beam(4.0, 1.0, 1.0, (16, 4, 4))
    x = mesh.points + np.array([[[0.0, 0.0, 0.0]], [[0.0, 0.0, 3.0]]])
    run = _solid(
        tmp_path / "run", x, mesh.cells, cells={"cells/energy_density": np.ones((2, len(mesh.cells)))}
    )
    assert [path.name for path in pictures.plot(run)] == ["mesh.png"]
    _size(run / "pictures" / "mesh.png")
    figure, both = _mesh_figure(run), np.concatenate(list(x))
    np.testing.assert_allclose(_pixel(figure, _seen(both, (2.0, -0.5, -0.5)), around=2), PALE, atol=0.06)
    np.testing.assert_array_equal(_pixel(figure, _seen(both, (2.1, -0.5, 0.1)), around=1), WHITE)
    red, _, blue = _pixel(figure, _seen(both, (2.1, -0.5, 3.1)))
    assert red - blue > 0.2


def test_lines_in_space_are_drawn_nearest_last(tmp_path):
    eye = surfaces.sensible_view(CUBE.points)[2]
    view = surfaces.sensible_view(CUBE.points)
    for flip in (1.0, -1.0):
        x = np.array([view[0], -view[0], view[1] + flip * eye, -view[1] + flip * eye])
        tension = np.array([[-1.0, 1.0]])
        lists = {"ropes": np.array([[0, 1], [2, 3]])}
        run = _run(
            tmp_path / f"run{flip}",
            {"position": x[None]},
            times=[0.0],
            lists=lists,
            cells={"ropes/tension": tension},
        )
        view_of = surfaces.sensible_view(x)
        assert np.allclose(view_of, view)
        red, _, blue = _pixel(_mesh_figure(run), (0.0, 0.0))
        assert (red - blue) * flip > 0.2


@pytest.mark.parametrize(
    ("length", "rounded"), [(0.3, 0.2), (1.0, 1.0), (7.0, 5.0), (19.0, 10.0), (2.1e-6, 2e-6)]
)
def test_a_scale_is_a_round_length(length, rounded):
    np.testing.assert_allclose(mesh_artists._round(length), rounded, rtol=1e-12)


# Fields over grids --------------------------------------------------------------------------------------

PLATE = Raster((3, 5), 2.0, ("AU", 1.5e11))
DOSE = np.stack([np.full((3, 5), 9.0), np.arange(15.0).reshape(3, 5)])


def _plate(path, fields, raster=PLATE, times=(0.0, 2.0), **more):
    grids = {f"plate/{label}": values for label, values in fields.items()}
    return _run(path, times=times, rasters={"plate": raster}, grids=grids, **more)


def _map(run, label="dose") -> Figure:
    return _figure(partial(grid_pictures.draw, run=run, name=f"grids/plate/{label}"))


def _at(row, column):
    """The centre of a cell of the plate."""
    return column * PLATE.spacing, row * PLATE.spacing


def test_a_map_shows_every_cell_of_the_last_frame_where_it_lies(tmp_path):
    run = _plate(tmp_path / "run", {"dose": DOSE})
    assert [path.name for path in pictures.plot(run)] == ["dose.png"]
    _size(run / "pictures" / "dose.png")
    figure = _map(run)
    scale = mesh_artists.colours(DOSE[-1], "maps")
    for row in range(3):
        for column in range(5):
            seen = _pixel(figure, _at(row, column))
            np.testing.assert_allclose(seen, scale(DOSE[-1])[row, column], atol=0.01)
    axes, bar = figure.axes
    low, high = axes.transData.transform([(-1.0, -1.0), (9.0, 5.0)])
    np.testing.assert_allclose(low, axes.get_window_extent().p0, atol=1.0)
    np.testing.assert_allclose(high, axes.get_window_extent().p1, atol=1.0)
    assert axes.get_aspect() == 1
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [AU]", "y [AU]")
    assert (axes.get_title(loc="left"), bar.get_ylabel()) == ("t = 2 yr", "dose [J m⁻²]")


def test_a_field_that_changes_in_time_has_four_panels_of_one_scale(tmp_path):
    values = np.cos(T)[:, None, None] * np.arange(15.0).reshape(3, 5)
    figure = _map(_plate(tmp_path / "run", {"dose": values}, times=T))
    *panels, bar = figure.axes
    for axes, k in zip(panels, (0, 13, 26, 39), strict=True):
        (image,) = axes.images
        np.testing.assert_allclose(image.get_array(), values[k], rtol=1e-6)
        assert image.get_clim() == (-14, 14)
    assert panels[0].get_title(loc="left") == "t = 0 yr"
    assert (panels[0].get_ylabel(), panels[3].get_xlabel()) == ("y [AU]", "x [AU]")
    assert bar.get_ylabel() == "dose [J m⁻²]"
    still = _map(_plate(tmp_path / "still", {"dose": values}, times=0 * T))
    assert len(still.axes) == 2, "a search shows its result"


def test_fields_of_very_different_size_have_colour_scales_of_their_own(tmp_path):
    values = np.stack([size * np.arange(15.0).reshape(3, 5) for size in (0.0, 1.0, 10.0, 2.0)])
    figure = _map(_plate(tmp_path / "run", {"dose": values}, times=(0.0, 1.0, 2.0, 3.0)))
    panels, bars = figure.axes[:4], figure.axes[4:]
    assert [axes.images[0].get_clim()[1] for axes in panels] == [1, 14, 140, 28]
    assert [bar.get_ylabel() for bar in bars] == 4 * ["dose [J m⁻²]"]


def test_a_map_of_one_sign_begins_at_zero(tmp_path):
    for sign in (1, -1):
        figure = _map(_plate(tmp_path / f"run{sign}", {"dose": sign * (DOSE + 3)}))
        image, bar = figure.axes[0].images[0], figure.axes[1]
        assert sorted(np.abs(image.get_clim())) == [0, 17]
        assert sorted(np.abs(bar.get_ylim())) == [0, 17]
        dark, bright = _pixel(figure, _at(0, 0)), _pixel(figure, _at(2, 4))
        assert dark.sum() < 1 < 2 < bright.sum(), "what is near zero is dark"
        np.testing.assert_allclose(image.cmap(image.norm(0.0))[:3], to_rgb("#000004"), atol=0.01)


def test_a_map_of_both_signs_is_white_at_zero(tmp_path):
    error = DOSE - 10.0
    figure = _map(_plate(tmp_path / "run", {"error": error}), "error")
    assert figure.axes[0].images[0].get_clim() == (-10, 10)
    red, _, blue = _pixel(figure, _at(2, 4))
    assert red > blue + 0.1
    red, _, blue = _pixel(figure, _at(0, 1))
    assert blue > red + 0.3
    assert _pixel(figure, _at(2, 0)).min() > 0.95


def test_a_map_without_units_of_a_minimiser(tmp_path):
    raster = Raster((3, 5), 1.0, None)
    figure = _map(_plate(tmp_path / "run", {"shade": DOSE}, raster, times=(0.0, 0.0)), "shade")
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("x", "y", "shade")
    assert axes.get_title(loc="left") == "iteration 1"
    one = _map(_plate(tmp_path / "one", {"dose": DOSE[:1]}, times=(3.0,)))
    assert one.axes[0].get_title(loc="left") == "t = 3 yr"


def test_grids_of_one_axis_are_drawn_beside_those_of_two(tmp_path):
    shapes = {"line": (4,), "plate": (2, 2)}
    run = _run(
        tmp_path / "run",
        times=[0.0],
        rasters={name: Raster(shape, 1.0, None) for name, shape in shapes.items()},
        grids={f"{name}/dose": np.ones((1, *shape)) for name, shape in shapes.items()},
    )
    assert [path.name for path in pictures.plot(run)] == ["dose.png", "dose_line.png"]


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("kind", ["phi", "spin", "line/phi"])
def test_numbers_along_a_line_are_drawn_over_it_and_time(tmp_path, kind, many):
    """Of nodes over their numbers, of vectors the norm, along a grid over places; one frame as a curve."""
    rows = np.arange(1.0, 1.0 + len(T))[:, None, None] * np.arange(15.0).reshape(5, 3)
    rows, times = (rows, T) if many else (rows[:1], T[:1])
    values = rows if kind == "spin" else rows[..., 1]
    raster = {"rasters": {"line": Raster((5,), 0.5, ("m", 1.0))}, "grids": {"line/phi": values}}
    frames = {} if "/" in kind else {kind: values}
    run = _run(tmp_path / "run", frames, times=times, **(raster if "/" in kind else {}))
    [path] = pictures.plot(run)
    assert path.name == ("spin.png" if kind == "spin" else "phi.png")
    shown = Figure()
    space_time.draw(shown, run, f"grids/{kind}" if "/" in kind else f"particles/all/{kind}")
    expected = np.linalg.norm(rows, axis=2) if kind == "spin" else values
    places = np.arange(5) * (0.5 if "/" in kind else 1.0)
    if many:
        assert np.allclose(shown.axes[0].collections[0].get_array(), expected)
    else:
        assert np.allclose(shown.axes[0].lines[0].get_data(), (places, expected[0]))
    assert shown.axes[0].get_xlabel() == ("x [m]" if "/" in kind else "node")


def test_a_grid_of_three_axes_has_its_middle_layers(tmp_path):
    """Axes z, y, x: layer 1 of 2, layer 2 of 4 and layer 1 of 3."""
    block = np.arange(24.0).reshape(2, 4, 3)
    run = _run(
        tmp_path / "run",
        times=[0.0, 2.0],
        rasters={"block": Raster((2, 4, 3), 0.5, ("AU", 1.5e11))},
        grids={"block/dose": np.stack([0.0 * block, block])},
    )
    assert [path.name for path in pictures.plot(run)] == ["dose.png"]
    figure = _figure(partial(layers.draw, run=run, name="grids/block/dose"))
    *panels, bar = figure.axes
    assert bar.get_ylabel() == "dose [J m⁻²]"
    shown = [np.asarray(axes.images[0].get_array()) for axes in panels]
    for found, expected in zip(shown, (block[1], block[:, 2], block[:, :, 1]), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert {axes.images[0].get_clim() for axes in panels} == {(0, 23)}
    labels = [(axes.get_xlabel(), axes.get_ylabel()) for axes in panels]
    assert labels == [("x [AU]", "y [AU]"), ("x [AU]", "z [AU]"), ("y [AU]", "z [AU]")]
    titles = [axes.get_title(loc="left") for axes in panels]
    assert titles == ["t = 2 yr, z = 0.5 AU", "t = 2 yr, y = 1 AU", "t = 2 yr, x = 0.5 AU"]
    assert panels[1].images[0].get_extent() == [-0.25, 1.25, -0.25, 0.75]


def test_maps_of_one_label_and_names_that_are_taken(tmp_path):
    run = _run(
        tmp_path / "run",
        {"dose": np.ones((2, 4))},
        {"total": np.ones(2)},
        times=[0.0, 1.0],
        rasters={"a": PLATE, "b": PLATE},
        grids={"a/dose": DOSE, "b/dose": DOSE, "a/energy": DOSE, "b/depth/after": DOSE},
    )
    names = ["energy", "dose", "energy_a", "depth_after", "dose_b", "dose_field"]
    assert [path.name for path in pictures.plot(run)] == [f"{name}.png" for name in names]


# Paths, coloured by what their nodes have ---------------------------------------------------------------

PATH = np.array([[0.0, 0.0], [6.0, 0.0], [6.0, 4.0], [0.0, 4.0]])
STEPS = np.array([[0, 1], [1, 2], [2, 3]])
POWER = np.array([[7.0, 7.0, 7.0, 7.0], [0.0, 0.0, 2.0, 6.0]])


def _path(path, scalars=None, times=(0.0, 2.0), lists=None, **more):
    x = np.stack([PATH[:, ::-1], PATH])
    frames = {"position": x} | ({"power": POWER} if scalars is None else scalars)
    return _run(path, frames, times=times, lists=lists or {"steps": STEPS}, **more)


def _path_figure(run, label="power") -> Figure:
    lists = meshes.drawable(run)
    found = meshes.node_colourings(run, trajectory.names(run), lists)
    return _figure(partial(meshes.draw, run=run, lists=lists, series=found[label]))


def test_lines_are_coloured_by_their_nodes_last_values(tmp_path):
    run = _path(tmp_path / "run")
    assert [path.name for path in pictures.plot(run)] == ["mesh_power.png", "power.png"]
    _size(run / "pictures" / "mesh_power.png")
    figure = _path_figure(run)
    means = np.array([0.0, 1.0, 4.0])
    rgba = mesh_artists.colours(means, "paths")(means)
    assert rgba.shape == (3, 4)
    assert rgba[0, 3] < 0.2 < 0.3 < rgba[1, 3] < rgba[2, 3], "what is zero is faint"
    shown = 1 + rgba[:, 3:] * (rgba[:, :3] - 1)  # on white
    for step, colour in zip(STEPS, shown, strict=True):
        np.testing.assert_allclose(_pixel(figure, PATH[step].mean(axis=0), around=1), colour, atol=0.03)
    axes, bar = figure.axes
    assert (bar.get_ylabel(), bar.get_ylim()) == ("power [W]", (0, 4))
    assert axes.get_title(loc="left") == "t = 2 yr"
    np.testing.assert_array_equal(_pixel(figure, (4.0, 3.0), around=3), WHITE)  # its past is not drawn


def test_a_path_of_many_small_values_is_linear_and_of_both_signs_centred():
    few_are_large = mesh_artists.colours(np.append(np.zeros(99), 10.0), "paths")
    assert (few_are_large.norm.vmin, few_are_large.norm.vmax) == (0, 10)
    assert not isinstance(few_are_large.norm, LogNorm)
    signed = mesh_artists.colours(np.array([-1.0, 3.0]), "paths")
    assert (signed.norm.vmin, signed.norm.vmax) == (-3, 3)
    below, zero, above = signed(np.array([-3.0, 0.0, 3.0]))
    assert zero[3] < 0.2 < below[3] == above[3] == 1


def test_where_strokes_cross_the_stronger_is_seen(tmp_path):
    cross = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]])
    lists = {"steps": np.array([[0, 1], [2, 3]])}
    for power in ([5.0, 5.0, -4.0, -4.0], [-4.0, -4.0, 5.0, 5.0]):
        frames = {"position": cross[None], "power": np.array([power])}
        figure = _path_figure(_run(tmp_path / f"run{power[0]}", frames, times=[0.0], lists=lists))
        red, _, blue = _pixel(figure, (1.0, 1.0))
        assert red > blue + 0.3


def test_a_path_over_a_grid_has_the_axes_of_its_maps(tmp_path):
    fields = {"dose": DOSE}
    frames = {"position": np.stack([PATH, PATH]), "power": POWER}
    run = _plate(tmp_path / "run", fields, frames=frames, lists={"steps": STEPS})
    names = ["mesh_power.png", "dose.png", "power.png"]
    assert [path.name for path in pictures.plot(run)] == names
    for figure in (_path_figure(run), _map(run)):
        assert (figure.axes[0].get_xlim(), figure.axes[0].get_ylim()) == ((-1, 9), (-1, 5))
    sizes = {_size(run / "pictures" / name) for name in names[:2]}
    assert len(sizes) == 1


def test_a_grid_in_another_unit_or_with_other_axes_leaves_the_path_alone(tmp_path):
    frames = {"position": np.stack([PATH, PATH]), "power": POWER}
    for number, raster in enumerate([Raster((3, 5), 2.0, ("m", 1.0)), Raster((3, 5, 1), 2.0, PLATE.unit)]):
        fields = {"dose": np.ones((2, *raster.shape))}
        run = _plate(tmp_path / f"run{number}", fields, raster, frames=frames, lists={"steps": STEPS})
        left, right = _path_figure(run).axes[0].get_xlim()
        assert (left, right) == pytest.approx((-0.24, 6.24))


def test_several_grids_are_spanned_together(tmp_path):
    frames = {"position": PATH[None], "power": POWER[-1:]}
    rasters = {"a": Raster((2, 10), 1.0, PLATE.unit), "b": Raster((8, 2), 2.0, PLATE.unit)}
    grids = {f"{name}/dose": np.ones((1, *raster.shape)) for name, raster in rasters.items()}
    run = _run(tmp_path / "run", frames, times=[0.0], lists={"steps": STEPS}, rasters=rasters, grids=grids)
    axes = _path_figure(run).axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == ((-1, 9.5), (-1, 15))


def test_cells_are_coloured_by_nodes_and_lines_where_there_are_none(tmp_path):
    for lists in ({"cells": HALVES, "steps": STEPS}, {"cells": HALVES}, {"steps": STEPS}):
        out = pictures.plot(_path(tmp_path / "-".join(lists), lists=lists))
        assert [path.name for path in out] == ["mesh_power.png", "power.png"]
    tension = {"steps/power": np.ones((2, 3)), "steps/tension": np.ones((2, 3))}
    out = pictures.plot(_path(tmp_path / "c", cells=tension))
    names = ["mesh", "mesh_tension", "mesh_power", "power"]
    assert [path.name for path in out] == [f"{name}.png" for name in names]


def test_frames_of_vectors_or_of_other_nodes_colour_no_path(tmp_path):
    scalars = {"force": np.ones((2, 4, 2)), "phi": np.ones((2, 7))}
    out = pictures.plot(_path(tmp_path / "run", scalars))
    assert [path.name for path in out] == ["mesh.png", "phi.png"]


def test_one_label_of_tuples_and_of_nodes_gives_two_pictures(tmp_path):
    cells = {"steps/a": np.ones((2, 3)), "steps/power": np.ones((2, 3))}
    out = pictures.plot(_path(tmp_path / "run", cells=cells))
    names = ["mesh", "mesh_power", "mesh_power_nodes", "power"]
    assert [path.name for path in out] == [f"{name}.png" for name in names]


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e7])
def test_numbers_of_an_axis_are_no_differences(scale):
    """A series that hardly changes has its digits at the ticks, and no number to add in a corner."""
    with matplotlib.rc_context(style.RC):
        figure = Figure()
        axes = figure.subplots()
        axes.plot(scale * (17.408 + 1e-5 * np.arange(5.0)))
        figure.draw_without_rendering()
        assert "+" not in axes.yaxis.get_offset_text().get_text()
        assert len({label.get_text() for label in axes.get_yticklabels()}) > 3
