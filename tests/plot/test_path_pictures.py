"""Pictures of paths, coloured by what their nodes have."""

from functools import partial

import numpy as np
import pytest
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from minusgrad.files import trajectory
from minusgrad.files.h5md import Raster
from minusgrad.plot import mesh_artists, meshes, pictures
from tests.support.recorded_runs import recorded_run as _run
from tests.support.seen_pictures import (
    DOSE,
    HALVES,
    PLATE,
    WHITE,
    captured_figure,
    map_figure,
    picture_size,
    pixel_colour,
    plate_run,
)

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
    return captured_figure(partial(meshes.draw, run=run, lists=lists, series=found[label]))


def test_lines_are_coloured_by_their_nodes_last_values(tmp_path):
    run = _path(tmp_path / "run")
    assert [path.name for path in pictures.plot(run)] == ["mesh_power.png", "power.png"]
    picture_size(run / "pictures" / "mesh_power.png")
    figure = _path_figure(run)
    means = np.array([0.0, 1.0, 4.0])
    rgba = mesh_artists.colours(means, "paths")(means)
    assert rgba.shape == (3, 4)
    assert rgba[0, 3] < 0.2 < 0.3 < rgba[1, 3] < rgba[2, 3], "what is zero is faint"
    shown = 1 + rgba[:, 3:] * (rgba[:, :3] - 1)  # on white
    for step, colour in zip(STEPS, shown, strict=True):
        np.testing.assert_allclose(pixel_colour(figure, PATH[step].mean(axis=0), around=1), colour, atol=0.03)
    axes, bar = figure.axes
    assert (bar.get_ylabel(), bar.get_ylim()) == ("power [W]", (0, 4))
    assert axes.get_title(loc="left") == "t = 2 yr"
    np.testing.assert_array_equal(pixel_colour(figure, (4.0, 3.0), around=3), WHITE)  # its past is not drawn


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
        red, _, blue = pixel_colour(figure, (1.0, 1.0))
        assert red > blue + 0.3


def test_a_path_over_a_grid_has_the_axes_of_its_maps(tmp_path):
    fields = {"dose": DOSE}
    frames = {"position": np.stack([PATH, PATH]), "power": POWER}
    run = plate_run(tmp_path / "run", fields, frames=frames, lists={"steps": STEPS})
    names = ["mesh_power.png", "dose.png", "power.png"]
    assert [path.name for path in pictures.plot(run)] == names
    for figure in (_path_figure(run), map_figure(run)):
        assert (figure.axes[0].get_xlim(), figure.axes[0].get_ylim()) == ((-1, 9), (-1, 5))
    sizes = {picture_size(run / "pictures" / name) for name in names[:2]}
    assert len(sizes) == 1


def test_a_grid_in_another_unit_or_with_other_axes_leaves_the_path_alone(tmp_path):
    frames = {"position": np.stack([PATH, PATH]), "power": POWER}
    for number, raster in enumerate([Raster((3, 5), 2.0, ("m", 1.0)), Raster((3, 5, 1), 2.0, PLATE.unit)]):
        fields = {"dose": np.ones((2, *raster.shape))}
        run = plate_run(tmp_path / f"run{number}", fields, raster, frames=frames, lists={"steps": STEPS})
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
