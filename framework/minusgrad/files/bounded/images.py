"""Pictures as numbers, through Pillow (the extra `image`): light (rows, columns) in [0, 1], bottom row first.

Pillow runs in a child process within limits.

The light of colours is 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601); values are taken as they stand in the
file, without a gamma.

Decisions 0240.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from typing import Any

import numpy as np

from ...engine import memory
from ...errors import UserError, pip_line
from . import limits
from .door import bounded_read

FORMATS = ("PNG", "TIFF", "BMP", "JPEG")
CELL_BYTES = 200
"""Bytes for a pixel that becomes a cell of a grid: some fields, their adjoints, copies for a checkpoint."""
SECONDS_A_PIXEL = 1e-6
"""Computing time of a decoder, beyond that for the bytes of the file."""
_LOADS = ("PIL.ImageOps", *(f"PIL.{name}ImagePlugin" for name in ("Png", "Tiff", "Bmp", "Jpeg")))
_FULL = {"1": 1.0, "L": 255.0, "RGB": 255.0, "I;16": 65535.0, "I": 65535.0, "F": 1.0}
"""Full light in those of Pillow's modes that are taken as they are."""


def read(file: str, data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Light and opacity in an image's bytes, (rows, columns) each in [0, 1]; row 0 is the bottom one.

    8 or 16 bits a channel, grey, colour or palette, with alpha or without; floats if they are in [0, 1].
    Raises `UserError` without Pillow, for images too large for the memory (before anything is decoded), and
    for data that are empty, not an image, damaged, or not in [0, 1].
    """
    _require_pillow(file, data)
    room = memory.free().count
    patience = 4.0 * SECONDS_A_PIXEL * room / CELL_BYTES
    found = bounded_read(decoded, file, data, _LOADS, space=room, patience=patience, room=room)
    if "large" in found:
        columns, rows = found["large"]
        memory.require(CELL_BYTES * columns * rows, f"'{file}': {columns} x {rows} pixels", "scale it down")
        raise UserError(
            f"'{file}': {columns} x {rows} pixels: more memory needed than is free; scale it down"
        )
    light, opaque = found["light"], found["opaque"]
    return light, np.ones(light.shape) if opaque is None else opaque


def decoded(file: str, data: bytes, room: int) -> dict[str, Any]:
    """In the child: `light` and `opaque` (None: 1 everywhere); beyond `room` bytes `large`: columns, rows.

    Raises `UserError` as `read` does.
    """
    image = _open_image(file, data)
    with _without_pixel_limit():
        cells = image.width * image.height
        if CELL_BYTES * cells > room:
            return {"large": [image.width, image.height]}
        limits.allow_seconds(limits.of(len(data)).seconds + SECONDS_A_PIXEL * cells)
        try:
            pages = getattr(image, "n_frames", 1)
            light, opaque = _image_channels(image)
        except MemoryError:
            raise
        except Exception as error:  # decoders raise anything
            raise _damaged_error(file, error) from error
    if pages > 1:
        raise UserError(f"'{file}' has {pages} pages; save the one that is meant as a file of its own")
    _refuse_beyond(file, light)
    return {"light": light[::-1], "opaque": None if opaque is None else opaque[::-1]}


def resolution(file: str, data: bytes) -> tuple[float, float] | None:
    """Pixels per metre along x and y, as an image's file says; None if it says none, or no unit.

    Sources: PNG's chunk pHYs (unit 1: metre), TIFF's tags 282, 283 and 296 (2, the default: inch; 3: cm),
    JFIF's density (1: inch; 2: cm), BMP's pixels per metre. Axes are those of the upright image, as `read`
    gives it. Raises `UserError` as `read` does where the file is no image.
    """
    _require_pillow(file, data)
    found = bounded_read(resolved, file, data, _LOADS)
    return None if found is None else (found[0], found[1])


def resolved(file: str, data: bytes) -> tuple[float, float] | None:
    """In the child: `resolution`, of the header and the tags. Raises `UserError` as that does."""
    image = _open_image(file, data)
    limits.allow_seconds(limits.of(len(data)).seconds + SECONDS_A_PIXEL * image.width * image.height)
    try:
        return _image_resolution(image)
    except MemoryError:
        raise
    except Exception as error:  # tags are of any type, and of a PNG the orientation decodes the pixels
        raise _damaged_error(file, error) from error


def _image_resolution(image: Any) -> tuple[float, float] | None:
    info, inch = image.info, 0.0254
    if image.format == "TIFF":
        tags = image.tag_v2
        along, length = (tags.get(282), tags.get(283)), {2: inch, 3: 0.01}.get(tags.get(296, 2))
    elif image.format == "JPEG":
        along, length = info.get("jfif_density", (0, 0)), {1: inch, 2: 0.01}.get(info.get("jfif_unit"))
    else:
        along, length = info.get("dpi", (0, 0)), inch
    if length is None or not all(along):
        return None
    x, y = (float(count) / length for count in along)
    if not (np.isfinite([x, y]).all() and min(x, y) > 0.0):
        raise ValueError(f"its resolution is no positive number, got {x:g} x {y:g} pixels per metre")
    is_turned = image.getexif().get(0x0112, 1) >= 5
    return (y, x) if is_turned else (x, y)


def _damaged_error(file: str, error: Exception) -> UserError:
    return UserError(
        f"'{file}' is damaged: {' '.join(str(error).split()) or type(error).__name__}; save it again"
    )


def _require_pillow(file: str, data: bytes) -> None:
    if find_spec("PIL") is None:
        raise UserError(f"'{file}': needs Pillow: {pip_line('image')}")
    if not data:
        raise UserError(f"'{file}' is empty (0 bytes)")


def _open_image(file: str, data: bytes) -> Any:
    """Pillow's image, of which no pixel is decoded yet."""
    from PIL import Image

    with _without_pixel_limit():
        try:
            return Image.open(BytesIO(data), formats=FORMATS)
        except MemoryError:
            raise
        except Exception:
            raise UserError(f"'{file}' is no image that can be read ({', '.join(FORMATS)})") from None


def _image_channels(image: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Light and opacity (rows, columns), full = 1, the top row first and upright; None: opaque everywhere."""
    from PIL import ImageOps

    image, opaque = ImageOps.exif_transpose(image), None
    sixteen = image.mode.startswith("I;16")
    if image.has_transparency_data and not sixteen:
        image = image.convert("RGBA")
        opaque = np.asarray(image.getchannel("A")) / 255.0
    if image.mode not in _FULL and not sixteen:
        image = image.convert("RGB")
    values, full = np.asarray(image, float), _FULL["I;16" if sixteen else image.mode]
    light = values @ [299.0, 587.0, 114.0] / (1000.0 * full) if values.ndim == 3 else values / full
    return light, opaque


def _refuse_beyond(file: str, light: np.ndarray) -> None:
    outside = np.argwhere(~((light >= 0.0) & (light <= 1.0)))
    if len(outside):
        row, column = outside[0]
        text = f"{light[row, column]:g} in row {row} from the top, column {column}"
        raise UserError(f"'{file}' has {text}; numbers in a picture go from 0 (dark) to 1 (light)")


@contextmanager
def _without_pixel_limit() -> Iterator[None]:
    """Without Pillow's own limit of pixels, and its warnings: here the memory sets the limit."""
    from PIL import Image as pillow  # noqa: N813

    limit, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        pillow.MAX_IMAGE_PIXELS = limit
