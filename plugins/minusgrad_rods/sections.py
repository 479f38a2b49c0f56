"""Cross-sections of rods: area, second moments about d1 and d2, torsion constant, areas that bear shear.

    circle      A = pi r^2,  I_1 = I_2 = pi r^4 / 4,  J = 2 I,  k = 6/7
    tube        differences of two circles;  k = 6 (1 + m^2)^2 / (7 (1 + m^2)^2 + 20 m^2),  m = inner / outer
    rectangle   A = a b,  I_1 = a b^3 / 12,  I_2 = b a^3 / 12,  k = 5/6;  of sides p >= q
                J = p q^3 (1/3 - 64/pi^5 (q/p) sum over odd n of tanh(n pi p / (2 q)) / n^5)
    given       any numbers

a [m] is the side along d1, b the side along d2; the areas that bear shear are k A. k: Cowper 1966, J. Appl.
Mech. 33, 335, for Poisson's ratio 0; J: Timoshenko & Goodier, Theory of Elasticity, section 109. A length of
a section is one number, or two: at the start and at the end of the rod, between which it changes evenly (a
taper).
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from minusgrad.plugin import ByForm, ByKind, Quantity, Record, Tubes, UserError, one_or_each

Size = Annotated[float | str, Quantity("m", "positive")]
Sizes = Annotated[Size | tuple[Size, Size], ByForm(one_or_each, ("one", "each"))]
Area = Annotated[float | str, Quantity("m^2", "positive")]
Moment = Annotated[float | str, Quantity("m^4", "positive")]
ODD = np.arange(1, 60, 2)
"""The terms of the torsion constant of a rectangle; the next is below 1e-9 of the first."""


@dataclass(frozen=True)
class SectionNumbers:
    """Numbers at N places: area (N,) [m^2], shear_areas (N, 2), second_moments (N, 2) [m^4], torsion (N,).

    outer: the radius of the surface (N,) [m], if it is not that of a circle with this area.
    """

    area: np.ndarray
    shear_areas: np.ndarray
    second_moments: np.ndarray
    torsion: np.ndarray
    outer: np.ndarray | None = None

    @property
    def radius(self) -> np.ndarray:
        """The radius of the surface, for contact, (N,); of a section that is not round, of its area."""
        return np.sqrt(self.area / np.pi) if self.outer is None else self.outer

    @property
    def polar(self) -> np.ndarray:
        """The sum of both second moments, (N,)."""
        return self.second_moments.sum(axis=1)


class Circle(Record):
    """A full circle."""

    kind: Literal["circle"] = "circle"
    """A full circle."""
    radius: Sizes
    """Radius; two numbers for a taper."""

    def numbers(self, values: dict[str, Any], places: np.ndarray) -> SectionNumbers:
        r = along_rod(values["radius"], places)
        area, moment = np.pi * r**2, np.pi * r**4 / 4.0
        return round_section(area, moment, 6.0 / 7.0)

    def tubes(self, values: dict[str, Any], places: np.ndarray, frames: str) -> Tubes:
        """What edges look like."""
        return round_tubes(2.0 * along_rod(values["radius"], places), frames)


class Tube(Record):
    """A circular tube."""

    kind: Literal["tube"] = "tube"
    """A circular tube."""
    radius: Sizes
    """Outer radius; two numbers for a taper."""
    wall: Sizes
    """Thickness of the wall; two numbers for a taper."""

    def numbers(self, values: dict[str, Any], places: np.ndarray) -> SectionNumbers:
        r = along_rod(values["radius"], places)
        inner = r - along_rod(values["wall"], places)
        if (inner < 0.0).any():
            raise UserError("section.wall: is thicker than the radius, got more; use kind = 'circle'")
        part = (inner / r) ** 2
        share = 6.0 * (1.0 + part) ** 2 / (7.0 * (1.0 + part) ** 2 + 20.0 * part)
        return replace(
            round_section(np.pi * (r**2 - inner**2), np.pi * (r**4 - inner**4) / 4.0, share), outer=r
        )

    def tubes(self, values: dict[str, Any], places: np.ndarray, frames: str) -> Tubes:
        """What edges look like."""
        return round_tubes(2.0 * along_rod(values["radius"], places), frames)


class Rectangle(Record):
    """A full rectangle."""

    kind: Literal["rectangle"] = "rectangle"
    """A full rectangle."""
    width: Sizes
    """Side along d1; two numbers for a taper."""
    height: Sizes
    """Side along d2, which is across d1; two numbers for a taper."""

    def numbers(self, values: dict[str, Any], places: np.ndarray) -> SectionNumbers:
        a, b = along_rod(values["width"], places), along_rod(values["height"], places)
        moments = np.stack([a * b**3, b * a**3], axis=1) / 12.0
        shear = np.stack([a * b, a * b], axis=1) * 5.0 / 6.0
        return SectionNumbers(a * b, shear, moments, rectangle_torsion(a, b))

    def tubes(self, values: dict[str, Any], places: np.ndarray, frames: str) -> Tubes:
        """What edges look like."""
        sides = [along_rod(values[side], places) for side in ("width", "height")]
        return Tubes(np.stack(sides, axis=1), frames, "bar")


class Given(Record):
    """A cross-section whose numbers are given; a rod reads products with E, G and the density alone."""

    kind: Literal["given"] = "given"
    """A cross-section whose numbers are given."""
    area: Area
    """Area A, for stretch and mass."""
    second_moments: Annotated[tuple[Moment, ...], Field(min_length=2, max_length=2)]
    """Second moments of area about d1 and d2."""
    torsion: Moment
    """Torsion constant J."""
    shear_areas: Annotated[tuple[Area, ...], AfterValidator(tuple), Field(max_length=2)] = ()
    """Areas that bear shear along d1 and d2; empty: 5/6 of the area."""

    def numbers(self, values: dict[str, Any], places: np.ndarray) -> SectionNumbers:
        count = len(places)
        shear = values["shear_areas"] or (values["area"] * 5.0 / 6.0,) * 2
        if len(shear) != 2:
            raise UserError(f"section.shear_areas: needs 2 numbers, got {len(shear)}; give one for d1 and d2")
        return SectionNumbers(
            np.full(count, values["area"]),
            np.tile(shear, (count, 1)),
            np.tile(values["second_moments"], (count, 1)),
            np.full(count, values["torsion"]),
        )

    def tubes(self, values: dict[str, Any], places: np.ndarray, frames: str) -> Tubes:
        """What edges look like: the ellipse whose second moments have these ratios to its area."""
        first, second = values["second_moments"]
        sides = 4.0 * np.sqrt(np.array([second, first]) / values["area"])
        return Tubes(np.tile(sides, (len(places), 1)), frames)


AnySection = Annotated[Circle | Tube | Rectangle | Given, ByKind()]


def along_rod(size: Any, places: np.ndarray) -> np.ndarray:
    """A length at places (N,) from 0 to 1, between those at the ends."""
    first, last = size if isinstance(size, tuple | list) else (size, size)
    return first + (last - first) * places


def round_tubes(diameter: np.ndarray, frames: str) -> Tubes:
    """Tubes with the same diameter (N,) in all directions."""
    return Tubes(np.stack([diameter] * 2, axis=1), frames)


def round_section(area: np.ndarray, moment: np.ndarray, share: Any) -> SectionNumbers:
    """A section with the same moment in all directions; `share` of the area bears shear."""
    shear = np.stack([share * area] * 2, axis=1)
    return SectionNumbers(area, shear, np.stack([moment] * 2, axis=1), 2.0 * moment)


def rectangle_torsion(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The torsion constant (N,) of rectangles with sides a, b (N,)."""
    p, q = np.maximum(a, b), np.minimum(a, b)
    terms = np.tanh(ODD * np.pi * (p / q)[:, None] / 2.0) / ODD**5.0
    return p * q**3 * (1.0 / 3.0 - 64.0 / np.pi**5 * (q / p) * terms.sum(axis=1))
