"""Published numbers that anybody can compute again: the rows of `minusgrad validate`.

    @published_value("figure eight", area="celestial", value=0.0, tolerance=1e-9, quick=True,
                     why="errors of a start with 16 digits, grown in 100 periods",
                     source="Chenciner & Montgomery 2000, Annals of Mathematics 152, 881")
    def return_of_the_figure_eight(place):
        '''Distance from the start after 100 periods.'''
        run = minusgrad.run(place.scene("figure_eight"), out=place.folder / "run")
        ...
        return distance

A row is a function that computes a number, or several, and a declaration of what they must be. Plugins give
rows by the hook `register_published_values`, from a module for each area, which is imported for the table
alone. The first line of the docstring says what is measured. `place.scene(name)` is a scene that comes with
minusgrad, `place.scene_bytes(name)` a file beside the scenes, `place.folder` an empty folder,
`place.data_bytes(name)` a file of `--data`; the row declares it by `data=`, and modules that are no
dependency by `needs=`. A source is a paper with its table or equation; where there is no published number,
the closed form.

A tolerance is justified in words: the last published digit, the standard error of a Monte Carlo number, the
error of the discretisation. It must be so narrow that a wrong code misses it: damage each row once.

Decisions 0132.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any

Numbers = float | Sequence[float]


@dataclass(frozen=True)
class Workplace:
    """What a row may use. folder: empty, its own. data: the folder of `--data`, None where none is given."""

    folder: Path
    data: Path | None
    scenes: Mapping[str, Path]

    def scene(self, name: str) -> Path:
        """The file of a scene that comes with minusgrad."""
        return self.scenes[name]

    def scene_bytes(self, name: str) -> bytes:
        """A file beside the scenes, such as "data/figure_eight.csv"."""
        return (next(iter(self.scenes.values())).parent / name).read_bytes()

    def data_bytes(self, name: str) -> bytes:
        """A file of `--data`; a row that asks for one has its name in `data`."""
        assert self.data is not None
        return (self.data / name).read_bytes()


@dataclass(frozen=True)
class PublishedValue:
    """A row: what is published, how near one must be to it and why, and the function that computes it.

    value, tolerance: one number, or one for each number that is computed; with `at_most` the value is the
    largest that passes, and there is no tolerance. name: short, unique. unit: of the numbers, "1" for none.
    quick: the row belongs to `--quick`, which takes two minutes in all, so a few seconds of its own. data:
    files that it reads from `--data`. needs: modules that it imports and minusgrad does not depend on.
    """

    name: str
    area: str
    measured: str
    value: tuple[float, ...]
    tolerance: tuple[float, ...]
    at_most: bool
    why: str
    source: str
    unit: str
    quick: bool
    data: tuple[str, ...]
    needs: tuple[str, ...]
    compute: Callable[[Workplace], Numbers]

    def misses(self, found: Sequence[float]) -> list[float]:
        """By how much each number misses: 1 is the edge of what passes, infinity a number that is none.

        Raises `ValueError` for another count of numbers than is published.
        """
        if len(found) != len(self.value):
            raise ValueError(f"{self.name}: {len(self.value)} numbers are published, got {len(found)}")
        pairs = zip(found, self.value, self.tolerance, strict=True)
        return [self._miss(*one) if isfinite(one[0]) else float("inf") for one in pairs]

    def _miss(self, found: float, value: float, tolerance: float) -> float:
        return found / value if self.at_most else abs(found - value) / tolerance

    def declaration(self) -> dict[str, Any]:
        """All but the function, as plain data."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "compute"}
        return {key: [*given] if isinstance(given, tuple) else given for key, given in plain.items()}


def published_value(
    name: str,
    *,
    area: str,
    value: Numbers,
    source: str,
    why: str,
    tolerance: Numbers | None = None,
    at_most: bool = False,
    unit: str = "1",
    quick: bool = False,
    data: Sequence[str] = (),
    needs: Sequence[str] = (),
) -> Callable[[Callable[[Workplace], Numbers]], PublishedValue]:
    """Make a row of `minusgrad validate` of a function `(place: Workplace) -> number, or numbers`.

    The arguments are those of `PublishedValue`; one tolerance serves all numbers. Raises `ValueError` for a
    row that cannot fail or says nothing of its source.
    """
    values = _as_numbers(value)
    tolerances = (0.0,) * len(values) if tolerance is None else _as_numbers(tolerance)
    if len(tolerances) == 1:
        tolerances *= len(values)

    def row(compute: Callable[[Workplace], Numbers]) -> PublishedValue:
        measured = (compute.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        if not (name and area and source and why and measured):
            raise ValueError(f"published value '{name}': needs an area, a source, a reason, a docstring")
        if len(tolerances) != len(values) or not all(map(isfinite, (*values, *tolerances))):
            raise ValueError(f"published value '{name}': needs finite numbers, as many tolerances as values")
        if at_most != (tolerance is None) or min(values if at_most else tolerances) <= 0.0:
            raise ValueError(f"published value '{name}': needs a tolerance above zero, or at_most of a bound")
        return PublishedValue(
            name, area, measured, values, tolerances, at_most, why, source, unit, quick, tuple(data),
            tuple(needs), compute,
        )  # fmt: skip

    return row


def _as_numbers(given: Numbers) -> tuple[float, ...]:
    return tuple(map(float, given)) if isinstance(given, Sequence) else (float(given),)
