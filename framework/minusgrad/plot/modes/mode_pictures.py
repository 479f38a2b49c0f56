"""Pictures of normal modes: their spectrum with the shapes of the first ones, and an animation of one."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...files import durable
from ...scene import units
from .. import picture_files, style
from ..movies import film_files
from . import mode_shapes
from .mode_shapes import Shapes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS, COLUMNS = 6, 3
FRAMES, FPS = 24, 14
COLOUR = {"": style.COLOURS[0], "zero": style.FAINT, "unstable": style.COLOURS[3]}


def draw_modes(
    of: Sequence[Shapes], out: Path, title: str, mode: int | None = None, name: str = "mode"
) -> list[Path]:
    """Write modes.png, and mode_K.gif of a mode (counted from 1), into a folder; returns their paths.

    `of`: the modes of each moving field. name: of the files. Raises UserError without Matplotlib.
    """
    mpl = picture_files.matplotlib()
    with durable.outside_a_run(out, "give another folder with --out"), mpl.rc_context(style.RC):
        durable.make_folder(out)
        files = [picture_files.drawn(out / f"{name}s.png", partial(_draw, of=of), title)]
        if mode is not None:
            swing = np.sin(2.0 * np.pi * np.arange(FRAMES) / FRAMES)
            frames = [partial(_draw_frame, of=of, k=mode - 1, phase=float(phase)) for phase in swing]
            files.append(film_files.written(out / f"{name}_{mode}.gif", map(_pixels, frames), FPS))
    return files


def _draw(figure: "Figure", of: Sequence[Shapes]) -> None:
    """The spectrum, and beside it the shapes of the unstable and of the lowest other modes, but zero ones."""
    kinds = of[0].kinds
    chosen = [k for k, kind in enumerate(kinds) if kind != "zero"] or list(range(len(kinds)))
    chosen = chosen[: PANELS if len(of) == 1 else PANELS // 2]
    drawn = [(shapes, k) for k in chosen for shapes in of]
    columns = min(COLUMNS, len(drawn))
    rows = -(-len(drawn) // columns)
    width, height = of[0].box[1] - of[0].box[0]
    tall = float(np.clip(2.5 * height / width + 0.4, 1.2, 3.2))
    figure.set_size_inches(3.2 + 2.5 * columns, max(0.6 + rows * tall, 3.2))
    grid = figure.add_gridspec(rows, columns + 1, width_ratios=[1.25, *[1.0] * columns])
    _draw_spectrum(figure.add_subplot(grid[:, 0]), of[0])
    for place, (shapes, k) in enumerate(drawn):
        axes = figure.add_subplot(grid[place // columns, 1 + place % columns])
        mode_shapes.draw(axes, shapes, k)
        if len(of) > 1:
            axes.set_title(f"{shapes.name(k)}, {shapes.label}", loc="left")


def _pixels(draw: "Callable[[Figure], None]") -> np.ndarray:
    figure = picture_files.figure()
    figure.set_dpi(100)
    draw(figure)
    return film_files.pixels(figure)


def _draw_spectrum(axes: "Axes", shapes: Shapes) -> None:
    from matplotlib.ticker import MaxNLocator

    numbers = np.arange(1, len(shapes.kinds) + 1)
    axes.axhline(0.0, color=style.FAINT, linewidth=0.6)
    for kind, colour in COLOUR.items():
        mine = np.array([k for k, of in enumerate(shapes.kinds) if of == kind], int)
        if len(mine):
            f = shapes.frequencies[mine]
            axes.vlines(numbers[mine], 0.0, f, color=colour, linewidth=1.0, alpha=0.6)
            axes.plot(numbers[mine], f, "o", markersize=3.5, color=colour, label=kind or "vibrations")
    signed = "unstable" in shapes.kinds
    what = f"{shapes.quantity} (below 0: imaginary)" if signed else shapes.quantity
    axes.set(xlabel="mode", ylabel=units.with_unit(what, shapes.unit_of_frequency))
    axes.set_xlim(0.0, len(numbers) + 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(set(shapes.kinds)) > 1:
        axes.legend(loc="best", handlelength=1.0)


def _draw_frame(figure: "Figure", of: Sequence[Shapes], k: int, phase: float) -> None:
    low, high = of[0].box
    width, height = high - low
    inch = min(5.0 / width, 4.4 / height)
    figure.set_size_inches(max(inch * width, 2.6) * len(of), max(inch * height, 1.4) + 0.4)
    count = len(of)
    if all(shapes.is_space for shapes in of):  # without labels, whose room would be found for each frame
        figure.set_layout_engine("none")
        panels = [figure.add_axes((n / count + 0.01, 0.01, 1.0 / count - 0.02, 0.91)) for n in range(count)]
    else:
        panels = list(np.atleast_1d(figure.subplots(1, count)))
    for axes, shapes in zip(panels, of, strict=True):
        mode_shapes.draw(axes, shapes, k, phase)
