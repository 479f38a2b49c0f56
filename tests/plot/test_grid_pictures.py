"""Pictures of fields over grids: maps, layers, lines over time, and their colours."""

from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from minusgrad.files.h5md import Raster
from minusgrad.plot import layers, mesh_artists, pictures
from minusgrad.plot.curves import space_time
from tests.support.recorded_runs import T
from tests.support.recorded_runs import recorded_run as _run
from tests.support.seen_pictures import (
    DOSE,
    PLATE,
    captured_figure,
    map_figure,
    picture_size,
    pixel_colour,
    plate_run,
)


def _at(row, column):
    """The centre of a cell of the plate."""
    return column * PLATE.spacing, row * PLATE.spacing


def test_a_map_shows_every_cell_of_the_last_frame_where_it_lies(tmp_path):
    run = plate_run(tmp_path / "run", {"dose": DOSE})
    assert [path.name for path in pictures.plot(run)] == ["dose.png"]
    picture_size(run / "pictures" / "dose.png")
    figure = map_figure(run)
    scale = mesh_artists.colours(DOSE[-1], "maps")
    for row in range(3):
        for column in range(5):
            seen = pixel_colour(figure, _at(row, column))
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
    figure = map_figure(plate_run(tmp_path / "run", {"dose": values}, times=T))
    *panels, bar = figure.axes
    for axes, k in zip(panels, (0, 13, 26, 39), strict=True):
        (image,) = axes.images
        np.testing.assert_allclose(image.get_array(), values[k], rtol=1e-6)
        assert image.get_clim() == (-14, 14)
    assert panels[0].get_title(loc="left") == "t = 0 yr"
    assert (panels[0].get_ylabel(), panels[3].get_xlabel()) == ("y [AU]", "x [AU]")
    assert bar.get_ylabel() == "dose [J m⁻²]"
    still = map_figure(plate_run(tmp_path / "still", {"dose": values}, times=0 * T))
    assert len(still.axes) == 2, "a search shows its result"


def test_fields_of_very_different_size_have_colour_scales_of_their_own(tmp_path):
    values = np.stack([size * np.arange(15.0).reshape(3, 5) for size in (0.0, 1.0, 10.0, 2.0)])
    figure = map_figure(plate_run(tmp_path / "run", {"dose": values}, times=(0.0, 1.0, 2.0, 3.0)))
    panels, bars = figure.axes[:4], figure.axes[4:]
    assert [axes.images[0].get_clim()[1] for axes in panels] == [1, 14, 140, 28]
    assert [bar.get_ylabel() for bar in bars] == 4 * ["dose [J m⁻²]"]


def test_a_map_of_one_sign_begins_at_zero(tmp_path):
    for sign in (1, -1):
        figure = map_figure(plate_run(tmp_path / f"run{sign}", {"dose": sign * (DOSE + 3)}))
        image, bar = figure.axes[0].images[0], figure.axes[1]
        assert sorted(np.abs(image.get_clim())) == [0, 17]
        assert sorted(np.abs(bar.get_ylim())) == [0, 17]
        dark, bright = pixel_colour(figure, _at(0, 0)), pixel_colour(figure, _at(2, 4))
        assert dark.sum() < 1 < 2 < bright.sum(), "what is near zero is dark"
        np.testing.assert_allclose(image.cmap(image.norm(0.0))[:3], to_rgb("#000004"), atol=0.01)


def test_a_map_of_both_signs_is_white_at_zero(tmp_path):
    error = DOSE - 10.0
    figure = map_figure(plate_run(tmp_path / "run", {"error": error}), "error")
    assert figure.axes[0].images[0].get_clim() == (-10, 10)
    red, _, blue = pixel_colour(figure, _at(2, 4))
    assert red > blue + 0.1
    red, _, blue = pixel_colour(figure, _at(0, 1))
    assert blue > red + 0.3
    assert pixel_colour(figure, _at(2, 0)).min() > 0.95


def test_a_map_without_units_of_a_minimiser(tmp_path):
    raster = Raster((3, 5), 1.0, None)
    figure = map_figure(plate_run(tmp_path / "run", {"shade": DOSE}, raster, times=(0.0, 0.0)), "shade")
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("x", "y", "shade")
    assert axes.get_title(loc="left") == "iteration 1"
    one = map_figure(plate_run(tmp_path / "one", {"dose": DOSE[:1]}, times=(3.0,)))
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
    figure = captured_figure(partial(layers.draw, run=run, name="grids/block/dose"))
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
