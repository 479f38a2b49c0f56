"""What is known while an SVG file is read: its parts, the tolerance, what was left out so far."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..flat_pen import MOST_POINTS
from .colours import Colour
from .elements import Document, Element
from .numbers import Lengths, diagonal
from .paints import Stroke
from .regions import Region
from .transforms import Matrix

MOST_REMARKS = 20


@dataclass(frozen=True, eq=False)
class Shape:
    """What is painted of an element.

    lines: points (k, 2) in its own coordinates, and whether they are closed. matrix: from there to metres.
    fill, stroke: colours with their opacities. fade: the opacity of the groups around it. pen: the stroke's
    width, caps and joins; dashes: lengths drawn and left out in turn, and where they begin. cuts: regions
    that cut it. source: its element.
    """

    lines: list[tuple[np.ndarray, bool]]
    matrix: Matrix
    fill: Colour | None
    stroke: Colour | None
    fade: float
    rule: str
    pen: Stroke | None
    dashes: tuple[tuple[float, ...], float] | None
    layer: str
    source: Element
    cuts: tuple[Region, ...] = ()


@dataclass(frozen=True, eq=False)
class State:
    """What an element has from where it stands. group: the outermost group with an id, if it is in one."""

    matrix: Matrix
    viewport: tuple[float, float]
    style: dict[str, str]
    regions: tuple[Region, ...] = ()
    layer: str | None = None
    group: str | None = None
    fade: float = 1.0
    is_clip: bool = False


class Context:
    """Of one file. tolerance [m]; wanted: names of layers that are read, None for all.

    without: elements that are left out. room: points that may still be drawn; remarks: what is left out;
    layers: those that were met.
    """

    def __init__(
        self,
        document: Document,
        tolerance: float,
        dpi: float,
        wanted: Sequence[str] | None = None,
        without: Sequence[str] = (),
    ):
        self.document, self.tolerance, self.lengths = document, tolerance, Lengths(dpi)
        self.remarks, self.room, self.wanted = dict[str, None](), MOST_POINTS, wanted
        self.layers, self.without = dict[str, None](), without

    def wants(self, state: "State") -> bool:
        """Whether what stands here is on a layer that is read."""
        if state.is_clip:
            return True
        layer = state.layer or state.group or ""
        self.layers[layer] = None
        return self.wanted is None or layer in self.wanted

    def remark(self, element: Element, text: str) -> None:
        if len(self.remarks) < MOST_REMARKS:
            self.remarks[f"line {element.line}: element <{element.tag}>: {text}"] = None

    def length(self, name: str, text: str, whole: float, state: State) -> float:
        return self.lengths.resolve(name, text.strip() or "0", whole, state.style.get("font-size"))

    def shape_length(self, state: State, name: str, text: str) -> float:
        """Of an attribute of a shape; percentages are of the width, the height or the diagonal."""
        w, h = state.viewport
        along = {"x": w, "y": h, "width": w, "height": h, "rx": w, "ry": h, "cx": w, "cy": h}
        along |= {"x1": w, "x2": w, "y1": h, "y2": h}
        return self.length(name, text, along.get(name, diagonal(state.viewport)), state)
