"""What a file has on its layers and cannot be read as lines: refused, unless other layers are chosen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from minusgrad.plugin import UserError, printable

from .drawing import Drawing

MOST_NAMED = 6
"""Things, and layers, that a message names."""


@dataclass(frozen=True)
class Unread:
    """So many things of a name, such as "TEXT", on a layer; cure: what to do about them."""

    name: str
    layer: str
    count: int
    cure: str

    def __str__(self) -> str:
        return f"{self.count} {self.name} on layer '{printable(self.layer)}'"


def refuse_unread(file: str, found: Sequence[Unread], layers: Iterable[str]) -> None:
    """Raise `UserError` for things that cannot be read; layers: names of those that have lines."""
    if not found:
        return
    rest = "" if len(found) <= MOST_NAMED else f" and {len(found) - MOST_NAMED} kinds more"
    named = ", ".join(map(str, found[:MOST_NAMED])) + rest
    cures = list(dict.fromkeys(one.cure for one in found))
    other = [one for one in layers if one not in {thing.layer for thing in found}]
    if other:
        names = ", ".join(f"'{printable(one)}'" for one in other[:MOST_NAMED])
        cures.append(f"choose layers without them, such as layers = [{names}]")
    raise UserError(f"'{printable(file)}': {named} cannot be read as lines; {', or '.join(cures)}")


def require_outlines(file: str, drawing: Drawing) -> Drawing:
    """The drawing itself. Raises `UserError` for one without lines, with the remarks that may say why."""
    if drawing.outlines:
        return drawing
    left = f" ({'; '.join(drawing.remarks)})" if drawing.remarks else ""
    raise UserError(f"'{printable(file)}': there is nothing to draw: no layer that is read has lines{left}")


def chosen_layers(file: str, layers: Sequence[str] | None, known: Sequence[str]) -> list[str] | None:
    """The chosen names as the file writes them. Raises `UserError` for one that the file does not have."""
    if layers is None:
        return None
    by_name = {one.casefold(): one for one in known}
    for name in layers:
        if name.casefold() not in by_name:
            shown = ", ".join(f"'{printable(one)}'" for one in known[:20]) or "none"
            raise UserError(
                f"'{printable(file)}': has no layer '{printable(name)}'; choose from its layers: {shown}"
            )
    return [by_name[name.casefold()] for name in layers]
