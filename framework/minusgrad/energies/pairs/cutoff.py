"""Cutoffs of pair energies: the distance beyond which a pair does not interact, and how u becomes zero there.

    S(r) = 1                                 r <= r_s
           1 - 10 s^3 + 15 s^4 - 6 s^5       r_s < r < r_c,  s = (r - r_s) / (r_c - r_s)
           0                                 r >= r_c

S is twice continuously differentiable, and multiplies the energy of a pair; its derivatives are derived with
those of the energy. (The switching function of OpenMM, User Guide, "NonbondedForce".) A sharp cutoff has no
switch: u jumps to zero at r_c.

Decisions 0281.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import sqrt
from typing import Any

from ...elements.neighbours.pair_list import Reach
from ...errors import EnergyError

SWITCHED = 0.9
"""Where the switch begins, in units of the cutoff, unless the scene says."""
SKIN = 0.1
"""The skin of a list of neighbours, in units of the cutoff, unless the scene says."""


@dataclass(frozen=True)
class Cutoff:
    """The distance `radius` beyond which a pair does not interact, in the run's unit of length.

        Cutoff(2.5)                          switched from 2.25 on, listed up to 2.75
        Cutoff(2.5, sharp=True)

    switch: where the switch begins; default: at 0.9 of the radius. skin: how much further pairs are listed;
    default: 0.1 of the radius. sharp: without a switch. images: also count images of nodes where the cutoff
    reaches beyond half the box. Raises `EnergyError` unless radius > 0, 0 <= switch < radius and skin >= 0.
    """

    radius: float
    switch: float | None = None
    skin: float | None = None
    sharp: bool = False
    images: bool = False

    def __post_init__(self) -> None:
        if not self.radius > 0.0:
            raise EnergyError(f"cutoff: must be above 0, got {self.radius:g}; give a distance")
        if self.switch is not None and not 0.0 <= self.switch < self.radius:
            raise EnergyError(
                f"switch: must begin below the cutoff of {self.radius:g}, got {self.switch:g}; correct it, or"
                ' cut sharply with "none"'
            )
        if self.skin is not None and not self.skin >= 0.0:
            raise EnergyError(f"skin: must be at least 0, got {self.skin:g}; correct it")

    @property
    def begin(self) -> float:
        """Where the switch begins."""
        return SWITCHED * self.radius if self.switch is None else self.switch

    @property
    def reach(self) -> Reach:
        """How far lists of neighbours reach."""
        return Reach(self.radius, SKIN * self.radius if self.skin is None else self.skin, self.images)

    def cut(self, u: Any, squared: Any, select: Callable[..., Any], root: Callable[[Any], Any]) -> Any:
        """u times S, from the squared distance; `select` and `root` of the kind of numbers that are given."""
        value = u
        if not self.sharp:
            s = (root(squared) - self.begin) / (self.radius - self.begin)
            quintic = 1.0 - s * s * s * (10.0 + s * (-15.0 + s * 6.0))
            value = select(squared > self.begin * self.begin, quintic * u, u)
        return select(squared < self.radius * self.radius, value, 0.0 * u)

    def of_arms(
        self, u: Any, arms: Iterable[Any], select: Callable[..., Any], root: Callable[[Any], Any]
    ) -> Any:
        """`cut` by each squared distance: of a pair by one, of a triple by those of both arms."""
        return reduce(lambda value, squared: self.cut(value, squared, select, root), arms, u)

    def of_numbers(self, u: Any, arms: Sequence[float]) -> Any:
        """`of_arms` of numbers, or of arrays and tuples of them, in plain Python."""
        if isinstance(u, tuple):
            return tuple(self.of_numbers(one, arms) for one in u)
        return self.of_arms(u, arms, lambda inside, one, other: one if inside else other, sqrt)
