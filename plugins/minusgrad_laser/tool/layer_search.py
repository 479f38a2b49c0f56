"""The search for the path of an engraved area: that of an image, whose pixels are the area's cells."""

import argparse
import os
import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.plugin import StateContext, UnitSystem, UserError, pip_line

from ..canvas import CanvasTable
from ..jobs.toolpath import Toolpath
from ..layers.engraving import Area
from ..layers.settings import Settings
from ..targets.image import FromImage
from . import runs, scene
from .picture import UNITS, Picture, inline_table, micrometres
from .request import Request
from .runs import Scene


def run_folder(wanted: Request, title: str) -> Path:
    """The run folder of the search of a layer, beside the job file: `part.fill-000000.run`."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-") or "layer"
    return wanted.path_beside(f".{slug}.run")


def search_area(wanted: Request, a: argparse.Namespace, settings: Settings, area: Area) -> Toolpath:
    """The path of an area by a search, in coordinates of the drawing; with --resume a begun one goes on.

    Raises `UserError` without Pillow, and as the search does.
    """
    name = "area.png"
    margin = 0.5 * max(wanted.machine.spot)
    keys: dict[str, Any] = {
        "kind": "image", "file": name, "pixel": micrometres(area.pixel), "margin": micrometres(margin),
    }  # fmt: skip
    data = _png_of(area)
    context = StateContext(UnitSystem.of(**UNITS), wanted.seed, Path(), attached={name: data})
    target = FromImage(**keys).draw(CanvasTable(pixel=micrometres(area.pixel)), context)
    border = (target.shape[0] - area.covered.shape[0]) // 2
    picture = Picture({name: data}, inline_table(keys), target, area.pixel)
    folder = run_folder(wanted, settings.title)
    its = replace(wanted, out=folder.with_suffix(".gcode"), pixel=area.pixel, power=settings.power)
    its_scene = Scene(scene.text(its, picture), {name: data})
    if a.resume and os.path.lexists(folder / "scene.toml"):
        run = runs.resume_search(its, its_scene, a.max_hours)
    else:
        run = runs.begin_search(its, its_scene, a.max_hours, a.force)
    path = runs.toolpath(run)
    left, below = ((corner - border) * area.pixel for corner in area.corner)
    return replace(path, x=path.x + left, y=path.y + below, lit=path.lit.astype(bool))


def _png_of(area: Area) -> bytes:
    """The cover as a picture of 8 bits, dark where it is covered."""
    try:
        from PIL import Image
    except ImportError:
        raise UserError(f"search: needs Pillow: {pip_line('image')}") from None
    buffer = BytesIO()
    light = np.rint(255.0 * (1.0 - area.covered[::-1])).astype(np.uint8)
    Image.fromarray(light).save(buffer, "PNG")
    return buffer.getvalue()
