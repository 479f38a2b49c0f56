"""Film files: frames as WebP and GIF by Pillow, which Matplotlib needs, and as MP4 by PyAV."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UserError, pip_line
from ...files import durable
from .. import picture_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FASTEST = 60
"""Frames a second; more are shown by no format's usual players."""
CODECS = {"libvpx-vp9": {"crf": "30", "b": "0", "cpu-used": "5"}, "libsvtav1": {"crf": "30", "preset": "8"}}
"""Of MP4, VP9 and AV1 with their options, by preference: browsers play both; that of AV1 is not silent."""


def judge(path: Path, fps: float) -> None:
    """Raise `UserError` for an unknown format, one whose package is missing, or an impossible speed."""
    if path.suffix not in FORMATS:
        *most, last = FORMATS
        raise UserError(
            f"{path}: no format of movies, got {path.suffix or 'no suffix'!r}; give a file that ends in "
            f"{', '.join(most)} or {last}"
        )
    if not 0 < fps <= FASTEST:
        raise UserError(
            f"movie: frames a second must be above 0 and at most {FASTEST}, got {fps:g}; see --fps"
        )
    if path.suffix == ".mp4":
        _av()


def written(path: Path, frames: Iterable[np.ndarray], fps: float) -> Path:
    """Write frames (H, W, 3) of bytes as a film, which WebP and GIF repeat without end; returns its path.

    The suffix of the path is its format. Raises `UserError` as `judge` does.
    """
    judge(path, fps)
    durable.replace(path, FORMATS[path.suffix](iter(frames), fps))
    return path


def pixels(figure: "Figure") -> np.ndarray:
    """The figure as it is now, (H, W, 3) bytes."""
    picture_files.draw(figure)
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()  # type: ignore[attr-defined]


def _webp(frames: Iterator[np.ndarray], fps: float) -> bytes:
    return _saved(_images(frames), "WEBP", fps, quality=80, method=3)


def _gif(frames: Iterator[np.ndarray], fps: float) -> bytes:
    """All frames have one palette, of some of them; its lightest colours are white, as paper is."""
    from PIL import Image

    seen = _images(frames)
    some = [np.asarray(seen[k]) for k in sorted({0, len(seen) // 3, 2 * len(seen) // 3, len(seen) - 1})]
    palette = Image.fromarray(np.concatenate(some)).quantize(192)
    colours = np.array(palette.getpalette()).reshape(-1, 3)
    colours[colours.min(axis=1) >= 247] = 255
    palette.putpalette(colours.ravel().tolist())
    drawn = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in seen]
    return _saved(drawn, "GIF", fps, optimize=False)


def _mp4(frames: Iterator[np.ndarray], fps: float) -> bytes:
    from fractions import Fraction

    av = _av()
    codec = next((name for name in CODECS if name in av.codecs_available), None)
    if codec is None:
        raise UserError(
            "movies as .mp4 need an encoder of AV1 or VP9, which this PyAV lacks; give a .webp file"
        )
    first = next(frames)
    rows, columns = (side - side % 2 for side in first.shape[:2])  # colours have half of the resolution
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as film:
        stream = film.add_stream(codec, rate=Fraction(fps).limit_denominator(1000))
        stream.height, stream.width, stream.pix_fmt, stream.options = rows, columns, "yuv420p", CODECS[codec]
        for frame in chain([first], frames):
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame[:rows, :columns]), format="rgb24")
            film.mux(stream.encode(picture))
        film.mux(stream.encode())
    return file.getvalue()


FORMATS = {".webp": _webp, ".gif": _gif, ".mp4": _mp4}


def _images(frames: Iterable[np.ndarray]) -> list[Any]:
    from PIL import Image

    return [Image.fromarray(frame) for frame in frames]


def _saved(pictures: list[Any], kind: str, fps: float, **options: Any) -> bytes:
    file = io.BytesIO()
    first, *others = pictures
    first.save(file, kind, save_all=True, append_images=others, duration=round(1000 / fps), loop=0, **options)
    return file.getvalue()


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise UserError(f"movies as .mp4 need PyAV: {pip_line('movie')}, or give a .webp file") from error
    return av
