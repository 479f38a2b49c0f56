"""The image of a job: its bytes, and the target that the scene makes of it."""

from dataclasses import dataclass
from io import BytesIO

import numpy as np

from minusgrad.plugin import UserError, images

from .request import Request

INCH = 0.0254


@dataclass(frozen=True, eq=False)
class Picture:
    """name: of the file beside the scene. target (rows, columns), row 0 at the bottom; pixel [m]."""

    name: str
    data: bytes
    target: np.ndarray
    pixel: float


def read(request: Request) -> Picture:
    """The picture of a request. Raises `UserError` with what is wrong about it."""
    name = request.image.name
    try:
        data = request.image.read_bytes()
    except OSError as error:
        raise UserError(f"{request.image}: cannot be read: {error.strerror}") from None
    light, opaque = images.read(name, data)
    target = opaque * (light if request.invert else 1.0 - light)
    if np.ptp(target) == 0.0:
        raise UserError(f"{name}: is {target.flat[0]:g} in every pixel; there is nothing to mark")
    pixel = _width(request, data) / target.shape[1]
    for axis, (count, room) in enumerate(zip(target.shape[::-1], request.machine.field, strict=True)):
        if count * pixel > room:
            raise UserError(
                f"{name}: is {count * pixel * 1e3:.4g} mm along {'xy'[axis]}, more than the field of"
                f" {request.machine.name}, {room * 1e3:.4g} mm; give a smaller --width"
            )
    return Picture(name, data, target, pixel)


def _width(request: Request, data: bytes) -> float:
    """Of the image [m]."""
    from PIL import Image

    image = Image.open(BytesIO(data))
    if request.width is not None:
        return request.width
    dpi = request.dpi or image.info.get("dpi", (0.0,))[0]
    if not dpi:
        raise UserError(
            f"{request.image.name}: has no scale; give --width, such as --width '30 mm', or --dpi"
        )
    return image.width / float(dpi) * INCH
