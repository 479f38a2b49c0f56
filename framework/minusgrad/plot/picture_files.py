"""Picture files: Matplotlib as it is needed, figures as PNG, and frames as GIF."""

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UserError
from ..files import durable
from .style import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def matplotlib() -> Any:
    """The package. Raises `UserError` where it is not installed."""
    try:
        import matplotlib
        import matplotlib.backends.backend_agg
        import matplotlib.figure
    except ImportError as error:
        raise UserError("pictures need matplotlib: pip install 'minusgrad[plot]'") from error
    return matplotlib


def drawn(path: Path, draw: "Callable[[Figure], None]", title: str) -> Path:
    """Write a figure as a PNG file; returns its path."""
    figure = _figure()
    draw(figure)
    if title:
        figure.suptitle(title, color=INK)
    png = io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    durable.replace(path, png.getvalue())
    return path


def animated(
    path: Path, frames: "Iterable[Callable[[Figure], None]]", milliseconds: int, dpi: int = 100
) -> Path:
    """Write figures as the frames of a GIF file that repeats; returns its path."""
    from PIL import Image

    pictures: list[Any] = []
    for draw in frames:
        figure = _figure()
        figure.set_dpi(dpi)
        draw(figure)
        figure.canvas.draw()
        seen = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())[..., :3])  # type: ignore[attr-defined]
        if pictures:
            pictures.append(seen.quantize(palette=pictures[0], dither=Image.Dither.NONE))
        else:
            pictures.append(_with_white(seen.quantize(128)))
    gif = io.BytesIO()
    pictures[0].save(
        gif, "GIF", save_all=True, append_images=pictures[1:], duration=milliseconds, loop=0, optimize=False
    )
    durable.replace(path, gif.getvalue())
    return path


def _with_white(picture: Any) -> Any:
    """The picture, the lightest colours of its palette made white: they are that of the paper, averaged."""
    palette = np.array(picture.getpalette()).reshape(-1, 3)
    palette[palette.min(axis=1) >= 247] = 255
    picture.putpalette(palette.ravel().tolist())
    return picture


def _figure() -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    return figure
