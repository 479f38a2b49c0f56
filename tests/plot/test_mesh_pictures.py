"""Pictures of bodies and networks: cells, lines, where they began and went, in the plane and in space."""

from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from minusgrad.files import trajectory
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from minusgrad.plot import mesh_artists, meshes, pictures
from minusgrad.plot.shapes import surfaces
from minusgrad_elastic import generators
from tests.support.recorded_runs import UNITS
from tests.support.recorded_runs import recorded_run as _run
from tests.support.seen_pictures import (
    HALVES,
    INK,
    PALE,
    PLAIN,
    STILL,
    WHITE,
    captured_figure,
    circular_orbits,
    picture_size,
    pixel_colour,
)

# Bodies and networks ------------------------------------------------------------------------------------

SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
SHIFTED = np.stack([SQUARE, SQUARE + np.array([2.5, 0.0])])
DENSITY = np.array([[1.0, 1.0], [0.0, 4.0]])


def _mesh_figure(run) -> Figure:
    lists = meshes.drawable(run)
    found = meshes.colourings(run, trajectory.names(run), lists) or {"": {}}
    return captured_figure(partial(meshes.draw, run=run, lists=lists, series=next(iter(found.values()))))


def _sheet(tmp_path, **more):
    return _run(tmp_path / "run", {"position": SHIFTED}, times=[0.0, 2.0], lists={"cells": HALVES}, **more)


def test_a_body_has_a_mesh_instead_of_orbits(tmp_path):
    run = _sheet(tmp_path, cells={"cells/energy_density": DENSITY}, meta={"title": "A square"})
    out = pictures.plot(run)
    assert out == [run / "pictures" / "mesh.png"]
    picture_size(out[0])
    before = out[0].read_bytes()
    pictures.plot(run)
    assert out[0].read_bytes() == before, "the same run, the same bytes"


def test_cells_are_coloured_where_they_ended_and_pale_where_they_began(tmp_path):
    figure = _mesh_figure(_sheet(tmp_path, cells={"cells/energy_density": DENSITY}))
    scale = mesh_artists.colours(DENSITY[-1], "cells")
    for half, value in zip(HALVES, DENSITY[-1], strict=True):
        np.testing.assert_allclose(
            pixel_colour(figure, SHIFTED[1][half].mean(axis=0)), scale(value[None])[0], atol=0.01
        )
        np.testing.assert_array_equal(pixel_colour(figure, SHIFTED[0][half].mean(axis=0)), WHITE)
    np.testing.assert_allclose(pixel_colour(figure, (0.5, 0.0), around=2), PALE, atol=0.05)
    np.testing.assert_allclose(
        pixel_colour(figure, (0.3, 0.3), around=2), PALE, atol=0.1
    )  # few cells: all edges
    assert pixel_colour(figure, (3.0, 1.0), around=2).max() < 0.4, "a dark rim"
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [AU]", "y [AU]")
    assert axes.get_title(loc="left") == "t = 2 yr, pale: t = 0 yr"
    assert bar.get_ylabel() == "energy density [J m⁻³]"
    assert axes.get_aspect() == 1


def test_without_values_a_body_is_plain_and_has_no_colour_bar(tmp_path):
    figure = _mesh_figure(_sheet(tmp_path))
    assert len(figure.axes) == 1
    np.testing.assert_allclose(pixel_colour(figure, (3.2, 0.3)), PLAIN, atol=0.01)


def test_many_cells_began_as_an_outline(tmp_path):
    mesh = generators.rectangle((1.0, 1.0), (16, 16))
    x = mesh.points + np.array([[[0.0, 0.0]], [[2.5, 0.0]]])
    figure = _mesh_figure(
        _run(tmp_path / "run", {"position": x}, times=[0.0, 2.0], lists={"cells": mesh.cells})
    )
    np.testing.assert_allclose(pixel_colour(figure, (0.5, 0.0), around=2), PALE, atol=0.05)
    np.testing.assert_array_equal(pixel_colour(figure, (0.5, 0.5), around=4), WHITE)


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
        np.testing.assert_allclose(pixel_colour(figure, (between, 0.6), around=2), PALE, atol=0.1)
        np.testing.assert_array_equal(pixel_colour(figure, (between + 0.5, 0.5), around=2), WHITE)
    assert figure.axes[0].get_title(loc="left") == "t = 8 yr, pale: from t = 0 yr on"


def test_a_minimiser_leaves_no_states_between(tmp_path):
    x = SQUARE + np.outer(np.linspace(0, 4.8, 9), [1.0, 0.0])[:, None, :]
    figure = _mesh_figure(_run(tmp_path / "run", {"position": x}, times=STILL, lists={"cells": HALVES}))
    np.testing.assert_array_equal(pixel_colour(figure, (2.4, 0.6), around=4), WHITE)
    assert figure.axes[0].get_title(loc="left") == "iteration 8, pale: iteration 0"


def test_one_frame_has_nothing_pale(tmp_path):
    run = _run(tmp_path / "run", {"position": SHIFTED[:1]}, times=[3.0], lists={"cells": HALVES})
    figure = _mesh_figure(run)
    assert figure.axes[0].get_title(loc="left") == "t = 3 yr"
    np.testing.assert_allclose(pixel_colour(figure, (0.7, 0.2)), PLAIN, atol=0.01)


def test_a_body_that_went_far_has_a_panel_for_itself(tmp_path):
    for along, rows in (([40.0, 1.0], True), ([1.0, 40.0], False)):
        x = np.array([SQUARE, SQUARE + along])
        run = _run(tmp_path / f"run{rows}", {"position": x}, times=[0.0, 2.0], lists={"cells": HALVES})
        figure = _mesh_figure(run)
        whole, close = figure.axes
        np.testing.assert_allclose(
            pixel_colour(figure, along + SQUARE.mean(axis=0) + [0.2, 0], panel=1), PLAIN, atol=0.01
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
        seen = pixel_colour(figure, SHIFTED[1][rope].mean(axis=0), around=1)
        np.testing.assert_allclose(seen, scale(value[None])[0], atol=0.03)
        np.testing.assert_allclose(
            pixel_colour(figure, SHIFTED[0][rope].mean(axis=0), around=2), PALE, atol=0.05
        )
    np.testing.assert_array_equal(pixel_colour(figure, (0.0, 0.5), around=3), WHITE)
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
        np.testing.assert_allclose(pixel_colour(figure, (left + 0.7, 0.3)), colour, atol=0.01)
    np.testing.assert_allclose(pixel_colour(figure, (1.5, 1.0), around=1), INK, atol=0.1)
    np.testing.assert_allclose(pixel_colour(figure, (3.0, 2.0)), INK, atol=0.05)  # a node of no list


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
        (3, [[0, 1, 2, 3, 0, 1, 2]]),
        (2, [[0, 1, 4]]),
        (2, np.empty((0, 3), np.int32)),
    ],
)
def test_lists_that_no_picture_can_show_leave_orbits(tmp_path, dimension, tuples):
    x = circular_orbits([1, 2, 3, 4], dimension)
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
        pixel_colour(figure, _seen(CUBE.points, point))
        for point in ((0.4, 0.6, 1), (0.4, 0, 0.55), (1, 0.6, 0.55))
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
        red, _, blue = pixel_colour(_mesh_figure(run), _seen(x, x[:8].mean(axis=0) + 0.02))
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
        seen = pixel_colour(figure, _seen(plate.points, plate.points[facets[facet]].mean(axis=0)))
        np.testing.assert_allclose(seen, expected[facet], atol=0.02)


def test_a_solid_began_as_a_contour(tmp_path):
    mesh = generators.beam(4.0, 1.0, 1.0, (16, 4, 4))
    x = mesh.points + np.array([[[0.0, 0.0, 0.0]], [[0.0, 0.0, 3.0]]])
    run = _solid(
        tmp_path / "run", x, mesh.cells, cells={"cells/energy_density": np.ones((2, len(mesh.cells)))}
    )
    assert [path.name for path in pictures.plot(run)] == ["mesh.png"]
    picture_size(run / "pictures" / "mesh.png")
    figure, both = _mesh_figure(run), np.concatenate(list(x))
    np.testing.assert_allclose(
        pixel_colour(figure, _seen(both, (2.0, -0.5, -0.5)), around=2), PALE, atol=0.06
    )
    np.testing.assert_array_equal(pixel_colour(figure, _seen(both, (2.1, -0.5, 0.1)), around=1), WHITE)
    red, _, blue = pixel_colour(figure, _seen(both, (2.1, -0.5, 3.1)))
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
        red, _, blue = pixel_colour(_mesh_figure(run), (0.0, 0.0))
        assert (red - blue) * flip > 0.2


@pytest.mark.parametrize(
    ("length", "rounded"), [(0.3, 0.2), (1.0, 1.0), (7.0, 5.0), (19.0, 10.0), (2.1e-6, 2e-6)]
)
def test_a_scale_is_a_round_length(length, rounded):
    np.testing.assert_allclose(mesh_artists._round(length), rounded, rtol=1e-12)
