"""A drawing: its outlines in metres, and the layers that its file has.

The lower left corner of the page is (0, 0); x points to the right, y up.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

Mode = Literal["cut", "score", "engrave"]


@dataclass(frozen=True, eq=False)
class Outline:
    """A line of a drawing: points (k, 2) [m]; a closed one does not repeat its first point at the end.

    layer: the name of its layer, "" for none. stroke, fill: colours "#rrggbb", None where it has none.
    piece: outlines of one number are one shape, whose inside follows from all of them (`rule`).
    """

    points: np.ndarray
    closed: bool
    layer: str = ""
    stroke: str | None = None
    fill: str | None = None
    piece: int = 0
    rule: Literal["nonzero", "evenodd"] = "nonzero"


@dataclass(frozen=True)
class Layer:
    """A layer as its file states it; None for what it does not state.

    power: part of the laser's full power; least_power: at corners and the like. speed [m/s]. passes: how
    often. interval [m]: between lines of an engraving. order: layers of a smaller number come first. output:
    False for one that is not to be marked. air: whether air blows. kerf [m]: by how much outlines move out.
    """

    name: str
    colour: str | None = None
    mode: Mode | None = None
    power: float | None = None
    speed: float | None = None
    passes: int | None = None
    least_power: float | None = None
    interval: float | None = None
    order: int | None = None
    output: bool = True
    air: bool | None = None
    kerf: float | None = None


@dataclass(frozen=True, eq=False)
class Drawing:
    """Width and height of the page [m]; outlines in the file's order; its layers; what was left out."""

    size: tuple[float, float]
    outlines: tuple[Outline, ...]
    layers: tuple[Layer, ...] = ()
    remarks: tuple[str, ...] = ()
