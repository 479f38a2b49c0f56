"""A drawing scaled to a width: its curves are read again, to the tolerance that the scale leaves."""

from collections.abc import Callable
from dataclasses import replace

from minusgrad.plugin import UserError, printable

from .drawing import Drawing


def scale_to_width(
    draw: Callable[[float], Drawing], tolerance: float, width: float | None, file: str, coarse: float
) -> Drawing:
    """`draw(tolerance)`, scaled so that its page has a width [m]; `draw(coarse)` finds how wide it is.

    Raises `UserError` for a drawing without width.
    """
    if width is None:
        return draw(tolerance)
    first = draw(coarse)
    if not first.size[0] > 0.0:
        raise UserError(f"'{printable(file)}': has no width to scale; leave width out")
    found = draw(tolerance * first.size[0] / width)
    scale = width / found.size[0]
    return replace(
        found,
        size=(width, found.size[1] * scale),
        outlines=tuple(replace(one, points=one.points * scale) for one in found.outlines),
    )
