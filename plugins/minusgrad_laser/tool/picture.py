"""The image of a job: its bytes, and the target that the scene makes of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.plugin import StateContext, UnitSystem, UserError, images, input_files

from ..canvas import CanvasTable
from ..drawings.read import OF_LINES
from ..targets.image import FromImage
from ..targets.outlines import FromDrawing
from ..targets.svg import FromSvg
from .request import DRAWINGS, Request

UNITS = {"length": "um", "mass": "kg", "time": "ms"}
"""Of the scenes of jobs: powers are in mW, and speeds in mm/s."""


@dataclass(frozen=True, eq=False)
class Picture:
    """files: beside the scene, by name, the image before the fonts. table: the scene's `target`, as TOML.

    target (rows, columns), row 0 at the bottom; pixel [m].
    """

    files: dict[str, bytes]
    table: str
    target: np.ndarray
    pixel: float


def read_picture(request: Request) -> Picture:
    """The picture of a request. Raises `UserError` with what is wrong about it."""
    name = request.image.name
    files = {path.name: _read_file(path) for path in (request.image, *(font for _, font in request.fonts))}
    data = files[name]
    _refuse_larger(request, name, 0, request.width or 0.0)  # before so many cells are asked for
    kind = _target_kind(name)
    if kind is FromImage:
        light, opaque = images.read(name, data)
        _refuse_constant(name, opaque * (light if request.invert else 1.0 - light))
    keys = _target_keys(request, name, data, kind)
    context = StateContext(UnitSystem.of(**UNITS), request.seed, Path(), attached=files)
    target = kind(**keys).draw(CanvasTable(pixel=micrometres(request.pixel)), context)
    _refuse_blank(name, target)
    for axis, count in enumerate(target.shape[::-1]):
        _refuse_larger(request, name, axis, count * request.pixel)
    return Picture(files, inline_table(keys), target, request.pixel)


def _read_file(path: Path) -> bytes:
    try:
        return input_files.read(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{path}: cannot be read: {reason}") from None


def _target_kind(name: str) -> type[FromDrawing] | type[FromImage] | type[FromSvg]:
    """Of a file by the ending of its name."""
    if name.lower().endswith(OF_LINES):
        return FromDrawing
    return FromSvg if name.lower().endswith(DRAWINGS) else FromImage


def micrometres(length: float) -> str:
    return f"{length * 1e6:.9g} um"


def _target_keys(request: Request, name: str, data: bytes, kind: Any) -> dict[str, Any]:
    """Of the scene's table `target`. A margin lets the spot of a dark rim be within the canvas."""
    margin = micrometres(0.5 * max(request.machine.spot))
    keys: dict[str, Any] = {"kind": "image", "file": name, "margin": margin}
    if request.width is not None:
        keys["width"] = micrometres(request.width)
    if request.dpi is not None:
        keys["dpi"] = request.dpi
    if kind is not FromImage and request.invert:
        raise UserError(f"--invert: {name} is a drawing, whose page has no darkness to swap; leave it out")
    if kind is FromDrawing:
        return keys | {"kind": "drawing"} | _drawing_keys(request, name)
    if request.length is not None or request.only or request.stroke is not None:
        raise UserError(f"{name}: --length, --only and --stroke are for drawings in DXF and of LightBurn")
    if kind is FromSvg:
        fonts = [f"{family}={path.name}" if family else path.name for family, path in request.fonts]
        return keys | {"kind": "svg"} | ({"fonts": fonts} if fonts else {})
    if request.width is None and request.dpi is None:
        if images.resolution(name, data) is None:
            raise UserError(f"{name}: has no scale; give --width, such as --width '30 mm', or --dpi")
        keys["scale"] = "file"
    return keys | ({"invert": True} if request.invert else {})


def _drawing_keys(request: Request, name: str) -> dict[str, Any]:
    if request.dpi is not None:
        raise UserError(f"--dpi: {name} has lengths, not pixels; give --length mm, or --width")
    keys: dict[str, Any] = {} if request.length is None else {"length": request.length}
    if request.stroke is not None:
        keys["stroke"] = micrometres(request.stroke)
    return keys | ({"layers": list(request.only)} if request.only else {})


def _refuse_constant(name: str, dark: np.ndarray) -> None:
    if np.ptp(dark) == 0.0:
        cure = "" if dark.flat[0] else "; perhaps --invert"
        raise UserError(f"{name}: is {dark.flat[0]:g} everywhere, so there is nothing to mark{cure}")


def _refuse_blank(name: str, target: np.ndarray) -> None:
    if target.max() <= 0.5:
        raise UserError(
            f"{name}: nothing is darker than one half, got {target.max():.3g}; raise the contrast"
        )


def _refuse_larger(request: Request, name: str, axis: int, length: float) -> None:
    room = request.machine.field[axis]
    if length > room:
        size, field = (f"{of * 1e3:.4g} mm" for of in (length, room))
        text = f"is {size} along {'xy'[axis]}, but the field of {request.machine.name} is {field}"
        raise UserError(f"{name}: {text}; give a smaller --width")


def inline_table(keys: dict[str, Any]) -> str:
    """An inline table: true, numbers, texts and lists of texts are written alike in TOML and JSON."""
    rows = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())
    return "{ " + ", ".join(rows) + " }"
