"""Views of bodies in space by name: from an axis, onto a plane, or by two angles."""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from ..errors import UserError
from ..files import h5md, trajectory
from . import readings
from .shapes import surfaces

VIEWS = {"x": (0.0, 0.0), "y": (-90.0, 0.0), "z": (-90.0, 90.0)}
"""Angles of an eye on an axis of space."""
VIEWS |= {"yz": VIEWS["x"], "xz": VIEWS["y"], "xy": VIEWS["z"]}


def dimension(run: Path, names: Collection[str]) -> int:
    """The number of coordinates of the recorded positions: 1 for numbers (N,) too; 0 if none are recorded.

    names: of the recorded series.
    """
    if h5md.POSITION not in names:
        return 0
    shape = next(readings.pieces(run, h5md.POSITION)).value.shape
    return int(shape[2]) if len(shape) > 2 else 1


def named_view(run: Path, view: str) -> np.ndarray | None:
    """The view (3, 3) that a user asks for, or None for "", the usual one.

    view: "x", "y" or "z", the axis of the eye; the plane that is seen, "xy", "xz" or "yz"; or
    "AZIMUTH,ELEVATION" in degrees. Raises `UserError` for others, and for a view of a plane.
    """
    if not view:
        return None
    axes = dimension(run, trajectory.names(run))
    if axes != 3:
        raise UserError(f"{run}: a view needs positions in space, got {axes} coordinates; leave --view out")
    try:
        azimuth, elevation = VIEWS[view] if view in VIEWS else map(float, view.split(","))
    except ValueError:
        text = "give x, y, z, xy, xz, yz, or two angles in degrees like 30,20"
        raise UserError(f"not a view, got {view!r}; {text}") from None
    return surfaces.view(np.radians(azimuth), np.radians(elevation))
