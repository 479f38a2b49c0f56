"""How often the shapes of an SVG file are drawn, where `<use>` draws a part once more.

    shapes(part) = its own + sum of shapes(part within it) + sum of shapes(part that a <use> in it names)

They are counted before anything is expanded: 30 levels of 10 uses are 1e30 shapes in a file of 8 kB.
"""

from dataclasses import dataclass, field

MOST_SHAPES = 100_000
"""Shapes that are drawn, each once more for every use."""


@dataclass(eq=False)
class Part:
    """An element with an id, or the page: shapes and parts within it; ids and lines of what is used there."""

    shapes: int = 0
    parts: list["Part"] = field(default_factory=list)
    uses: list[tuple[str, int]] = field(default_factory=list)


class EndlessError(Exception):
    """A drawing without end, or with too many shapes: a text, and the line of the `<use>`, 0 for none."""

    def __init__(self, line: int, text: str):
        super().__init__(text)
        self.line = line


class Uses:
    """The parts of a file, collected element by element in the order of the file."""

    def __init__(self) -> None:
        self.page = Part()
        self._open = [self.page]
        self._named: dict[str, Part] = {}

    def begin(self, is_shape: bool, name: str | None, used: str | None, line: int) -> None:
        """An element begins. name: its id; used: the id of what it draws once more."""
        part = self._open[-1]
        if name is not None and name not in self._named:
            part.parts.append(new := Part())
            self._named[name] = part = new
        part.shapes += is_shape
        if used is not None:
            part.uses.append((used, line))
        self._open.append(part)

    def end(self) -> None:
        """The element that began last ends."""
        self._open.pop()

    def missing(self) -> tuple[str, int] | None:
        """Id and line of a use of what is not there."""
        parts = (self.page, *self._named.values())
        return next((use for part in parts for use in part.uses if use[0] not in self._named), None)

    def forget_missing(self) -> None:
        """Leave out the uses of what is not there."""
        for part in (self.page, *self._named.values()):
            part.uses = [use for use in part.uses if use[0] in self._named]

    def count(self) -> int:
        """The shapes that are drawn. Raises `EndlessError`, also for more than `MOST_SHAPES`."""
        counts = self._count_parts()
        count = counts[self.page]
        if count > MOST_SHAPES:
            uses = (use for part in counts for use in part.uses)
            line = min((line for name, line in uses if counts[self._named[name]] > MOST_SHAPES), default=0)
            shown = f"{count:,}" if count < 10**15 else f"about 1e{len(str(count)) - 1}"
            what = "element <use>: " if line else ""
            raise EndlessError(
                line,
                f"{what}draws more than {MOST_SHAPES:,} shapes, {shown} in all; take some out, or split the"
                " drawing",
            )
        return count

    def _count_parts(self) -> dict[Part, int]:
        """Of every part."""
        counts: dict[Part, int] = {}
        within: dict[Part, tuple[str, int]] = {}  # parts that are being counted, by the use that led there
        pending: list[tuple[Part, tuple[str, int], bool]] = [(self.page, ("", 0), False)]
        while pending:
            part, use, is_counted = pending.pop()
            needed = [(one, use) for one in part.parts]
            needed += [(self._named[name], (name, line)) for name, line in part.uses]
            if is_counted:
                del within[part]
                counts[part] = part.shapes + sum(counts[one] for one, _ in needed)
                continue
            if part in counts:
                continue
            if part in within:
                name, line = use
                text = f"draws '{name}', in which it stands itself, without end; remove it"
                raise EndlessError(line, f"element <use>: {text}")
            within[part] = use
            pending.append((part, use, True))
            pending += [(one, its, False) for one, its in needed if one not in counts]
        return counts
