"""The part of a drawing that each layer takes: its strokes and its fills, each by exactly one layer.

A *mark* is the stroke of an outline, its fill, or, without any colour, the outline itself.

Decisions 0186.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from minusgrad.plugin import UserError

from ..drawings.drawing import Drawing
from .joined_lines import bounds_area
from .layer_table import LayerTable

Kind = Literal["stroke", "fill", "line"]


@dataclass(frozen=True, order=True)
class Mark:
    """A stroke, a fill, or an outline without a colour ("line", colour ""), by the number of its outline."""

    outline: int
    kind: Kind
    colour: str
    layer: str

    @property
    def text(self) -> str:
        """As a layer's table takes it: `stroke = "#ff0000"`, `layer = "Cut"`."""
        return f'layer = "{self.layer}"' if self.kind == "line" else f'{self.kind} = "{self.colour}"'


def marks_of(drawing: Drawing) -> Iterator[Mark]:
    """All marks of a drawing, in its order; a stroke without length and a fill without area are none."""
    for k, outline in enumerate(drawing.outlines):
        if np.ptp(outline.points, axis=0).max(initial=0.0) == 0.0:
            continue
        if outline.fill is not None and bounds_area(outline.points):
            yield Mark(k, "fill", outline.fill.lower(), outline.layer)
        if outline.stroke is not None:
            yield Mark(k, "stroke", outline.stroke.lower(), outline.layer)
        if outline.fill is None and outline.stroke is None:
            yield Mark(k, "line", "", outline.layer)


def takes_mark(layer: LayerTable, mark: Mark) -> bool:
    """True if a layer takes a mark: the name of its layer, and one of the colours that are given, agree."""
    if layer.layer is not None and layer.layer != mark.layer:
        return False
    colours = {"stroke": layer.stroke, "fill": layer.fill}
    if layer.colour is not None:
        return mark.colour == layer.colour
    if all(colour is None for colour in colours.values()):
        return True
    return mark.kind != "line" and colours[mark.kind] == mark.colour


def choose_marks(drawing: Drawing, layers: tuple[LayerTable, ...], name: str) -> list[list[Mark]]:
    """The marks of each layer.

    Raises `UserError` for a drawing without a line, for a mark that no layer takes or two take, and for a
    layer that takes none.
    """
    marks = list(marks_of(drawing))
    if not marks:
        raise UserError(f"{name}: has no line and no area, got an empty drawing; draw something")
    chosen: list[list[Mark]] = [[] for _ in layers]
    left: list[Mark] = []
    for mark in marks:
        takers = [k for k, layer in enumerate(layers) if takes_mark(layer, mark)]
        if len(takers) > 1:
            both = " and ".join(f"'{layers[k].title}'" for k in takers[:2])
            raise UserError(
                f"{name}: a mark belongs to one layer, got {both} for {mark.text} in layer '{mark.layer}';"
                " let one of them take less"
            )
        (chosen[takers[0]] if takers else left).append(mark)
    if left:
        raise UserError(
            f"{name}: no layer takes {_counted_marks(left)}; add layers, with output = false for what stays"
            " out"
        )
    for layer, its in zip(layers, chosen, strict=True):
        if not its:
            known = ", ".join(sorted({mark.text for mark in marks}))
            known += (
                ""
                if layer.layer is None
                else "; layers " + ", ".join(sorted({f"'{mark.layer}'" for mark in marks}))
            )
            raise UserError(
                f"{name}: has nothing that layer '{layer.title}' takes; known are {known}: correct the layer,"
                " or leave it out"
            )
    return chosen


def _counted_marks(marks: list[Mark]) -> str:
    counts = Counter(mark.text for mark in marks)
    return ", ".join(f"{text} ({count} outline{'s'[: count > 1]})" for text, count in counts.items())
