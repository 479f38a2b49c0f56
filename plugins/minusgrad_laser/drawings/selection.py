"""Outlines of a drawing by layer or colour, as users of LightBurn and Inkscape keep them apart."""

from collections.abc import Sequence
from dataclasses import replace

from minusgrad.plugin import UserError, printable

from .drawing import Drawing, Outline
from .svg.colours import parse_colour
from .svg.faults import SvgError

MOST_SHOWN = 12


def select_outlines(
    drawing: Drawing, layers: Sequence[str] | None, colours: Sequence[str] | None, source: str
) -> Drawing:
    """The drawing with the outlines of some layers, whose stroke or inside has one of some colours.

    None: of all. Raises `UserError` for a layer or a colour that no outline has, with those that there are.
    """
    found = drawing.outlines
    if layers is not None:
        _refuse_absent(source, "layer", layers, [one.layer for one in found if one.layer])
        found = tuple(one for one in found if one.layer in layers)
    if colours is not None:
        wanted = [_read_colour(one) for one in colours]
        _refuse_absent(source, "colour", wanted, [colour for one in found for colour in colours_of(one)])
        found = tuple(one for one in found if set(colours_of(one)) & set(wanted))
    return replace(drawing, outlines=found)


def colours_of(outline: Outline) -> list[str]:
    """Of its stroke and its inside."""
    return [one for one in (outline.stroke, outline.fill) if one is not None]


def _read_colour(text: str) -> str:
    try:
        return parse_colour("colours", text)[0]
    except SvgError as fault:
        raise UserError(str(fault)) from None


def _refuse_absent(source: str, what: str, wanted: Sequence[str], given: Sequence[str]) -> None:
    known = list(dict.fromkeys(given))
    for one in wanted:
        if one not in known:
            shown = ", ".join(f"'{printable(name)}'" for name in known[:MOST_SHOWN]) or "none"
            more = f" and {len(known) - MOST_SHOWN} others" if len(known) > MOST_SHOWN else ""
            raise UserError(
                f"{source}: no outline has the {what} '{printable(one)}' (there are: {shown}{more})"
            )
