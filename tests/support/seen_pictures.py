"""Runs to be drawn, and what is seen of their pictures: figures, sizes, colours of pixels."""

from functools import partial

import matplotlib
import matplotlib.image
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from minusgrad.files.h5md import Raster
from minusgrad.plot import grids as grid_pictures
from minusgrad.plot import style
from tests.support.recorded_runs import T, recorded_run


def circular_orbits(radii, dimension=2):
    """Positions (times, nodes, dimension) on circles, one for each radius."""
    radii = np.asarray(radii, float)
    angle = T[:, None] * 9 / radii**0.5 + radii
    x = np.stack([radii * np.cos(angle), radii * np.sin(angle), 0 * angle], axis=-1)
    return x[..., :dimension]


def picture_size(path):
    """Rows and columns of a picture that is not blank."""
    picture = matplotlib.image.imread(path)
    assert picture.shape[0] > 300
    assert np.ptp(picture[..., :3]) > 0.5, "not blank"
    return picture.shape[:2]


ENERGIES = {"kinetic": 1 + 0.1 * np.sin(T), "potential/gravity": -2 - 0.1 * np.sin(T), "total": -1 + 1e-9 * T}


STILL = np.zeros(9)


def captured_figure(draw) -> Figure:
    """What `draw` draws, in the style of all pictures, laid out and painted."""
    figure = Figure()
    canvas = FigureCanvasAgg(figure)
    with matplotlib.rc_context(style.RC):
        draw(figure)
        canvas.draw()
    return figure


HALVES = np.array([[0, 1, 2], [0, 2, 3]])
WHITE, INK, PALE, PLAIN = (to_rgb(colour) for colour in ("white", style.INK, "#bfc6ce", "#a9c4de"))


def pixel_colour(figure: Figure, point, around: int = 0, panel: int = 0) -> np.ndarray:
    """The colour (3,) at a point of the data; `around`: the darkest within so many pixels."""
    image = np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255
    x, y = figure.axes[panel].transData.transform(point).astype(int)
    row = image.shape[0] - 1 - y
    seen = image[row - around : row + around + 1, x - around : x + around + 1].reshape(-1, 3)
    return seen[seen.sum(axis=1).argmin()]


PLATE = Raster((3, 5), 2.0, ("AU", 1.5e11))
DOSE = np.stack([np.full((3, 5), 9.0), np.arange(15.0).reshape(3, 5)])


def plate_run(path, fields, raster=PLATE, times=(0.0, 2.0), **more):
    """A run that recorded fields over the cells of a plate."""
    grids = {f"plate/{label}": values for label, values in fields.items()}
    return recorded_run(path, times=times, rasters={"plate": raster}, grids=grids, **more)


def map_figure(run, label="dose") -> Figure:
    """The map of a field of the plate."""
    return captured_figure(partial(grid_pictures.draw, run=run, name=f"grids/plate/{label}"))
