"""Virtual sites and massless particles of an OpenMM System file: which atoms they follow, and their weights.

    TwoParticleAverageSite      p1 p2, w1 w2
    ThreeParticleAverageSite    p1 p2 p3, w1 w2 w3
    OutOfPlaneSite              p1 p2 p3, w12 w13, wc [1/nm]
    LocalCoordinatesSite        p1 p2 (p3), wo, wx and wy of each, pos1 pos2 pos3 [nm]

The formulas are those of `virtual_sites`. Atoms come first in what is made of a file, in its order, and sites
behind them. A particle without mass that is no site stays where it is.

Decisions 0152.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import UserError, printable

SUM = 1e-6
"""How far from 1, or from 0, the sums of weights may be."""


@dataclass(frozen=True)
class Sites:
    """The order (n,) of particles, `atoms` of them with places of their own, then the sites.

    rows (K, 4): the place of a row and three atoms, with `weights` (K, 3) and `cross` (K,) [1/nm]; of atoms
    and of averages. frames (K, 4) with weights, x_weights, y_weights (K, 3) and coordinates (K, 3) [nm]. All
    numbers are those of the order. held: atoms without mass.
    """

    order: np.ndarray
    atoms: int
    rows: np.ndarray
    weights: np.ndarray
    cross: np.ndarray
    frames: np.ndarray
    of_frames: dict[str, np.ndarray] = field(default_factory=dict)
    held: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def count(self) -> int:
        """The number of sites."""
        return len(self.order) - self.atoms

    @property
    def places(self) -> np.ndarray:
        """The number in the order of each particle of the file, (n,)."""
        found = np.empty(len(self.order), np.int64)
        found[self.order] = np.arange(len(self.order))
        return found

    def inertia(self, file: str, mass: np.ndarray) -> np.ndarray:
        """The masses of the atoms [u] from those in the order (n,), 1 for those that are held.

        Raises `UserError` for negative ones.
        """
        if (light := np.flatnonzero(mass < 0.0)).size:
            raise UserError(
                f"'{file}': particle {self.order[light[0]]} must have a mass of at least 0, got"
                f" {mass[light[0]]:g}; correct it"
            )
        return np.where(mass[: self.atoms] > 0.0, mass[: self.atoms], 1.0)

    def remarks(self, file: str) -> list[str]:
        """What a user should know of particles without mass."""
        if not len(self.held):
            return []
        shown = ", ".join(map(str, self.order[self.held[:3]])) + (", ..." if len(self.held) > 3 else "")
        return [
            f"'{file}': particles without mass ({shown}) are held where they are, as OpenMM does; they have a"
            " mass of 1 u, which moves nothing"
        ]

    def refuse_constraints(self, file: str, pairs: np.ndarray) -> None:
        """Raise `UserError` for constraints of particles without mass, pairs (K, 2) in the order."""
        free = np.ones(len(self.order), bool)
        free[self.held], free[self.atoms :] = False, False
        if (wrong := np.flatnonzero(~free[pairs].all(axis=1))).size:
            one, other = self.order[pairs[wrong[0]]]
            raise UserError(
                f"'{file}': Constraint of atoms {one} and {other} must be of particles with a mass, got one"
                " without; leave it out"
            )


def read_sites(file: str, particles: list[Element], mass: np.ndarray) -> Sites:
    """The sites among the particles of a file, whose masses are (n,).

    Raises `UserError` for sites of another kind, of atoms that do not exist, of sites, and with a mass, and
    for weights whose sum would let a site stay behind as its atoms move.
    """
    of_sites = np.array([len(one) > 0 for one in particles])
    order = np.concatenate([np.flatnonzero(~of_sites), np.flatnonzero(of_sites)])
    atoms = int((~of_sites).sum())
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    rows = [[k, k, k, k] for k in range(atoms)]
    weights, cross = [[1.0, 0.0, 0.0]] * atoms, [0.0] * atoms
    frames: list[list[int]] = []
    of_frames: dict[str, list] = {"weights": [], "x_weights": [], "y_weights": [], "coordinates": []}
    for k in order[atoms:].tolist():
        one = _SiteElement(file, k, particles[k][0], of_sites)
        one.refuse_mass(mass[k])
        parents, numbers = one.definition()
        row = [int(number[k]), *(int(number[p]) for p in parents)]
        if "coordinates" in numbers:
            frames.append(row)
            for name, values in numbers.items():
                of_frames[name].append(values)
        else:
            rows.append(row)
            weights.append(numbers["weights"])
            cross.append(numbers["cross"][0])
    return Sites(
        order,
        atoms,
        np.array(rows, np.int32).reshape(-1, 4),
        np.array(weights).reshape(-1, 3),
        np.array(cross),
        np.array(frames, np.int32).reshape(-1, 4),
        {name: np.array(values).reshape(-1, 3) for name, values in of_frames.items()},
        np.flatnonzero(mass[order[:atoms]] == 0.0).astype(np.int32),
    )


class _SiteElement:
    """The element of one site, of particle `number`."""

    def __init__(self, file: str, number: int, element: Element, of_sites: np.ndarray):
        self.element, self.of_sites, self.number = element, of_sites, number
        self.kind = element.tag
        self.what = f"'{file}': {printable(element.tag)} of particle {number}"

    def refuse_mass(self, mass: float) -> None:
        """Raise `UserError` for a site with a mass, which its atoms would have to carry."""
        if mass != 0.0:
            raise UserError(f"{self.what}: must have the mass 0, got {mass:g}; set it to 0")

    def definition(self) -> tuple[list[int], dict[str, list[float]]]:
        """The three particles that it follows, and its numbers by name."""
        if self.kind not in READERS:
            raise UserError(
                f"{self.what}: is not supported; use one of {', '.join(READERS)}, or leave the site out"
            )
        return READERS[self.kind](self)

    def numbers(self, *names: str) -> list[float]:
        """Attributes that are finite numbers."""
        found = []
        for name in names:
            try:
                found.append(float(self.element.attrib[name]))
            except (KeyError, ValueError):
                found.append(np.nan)
            if not np.isfinite(found[-1]):
                raise UserError(f"{self.what}: needs a finite number `{name}`; write the file again")
        return found

    def parents(self, count: int) -> list[int]:
        """The atoms p1, p2, ..., of which the first stands in where there are less than three."""
        found = self.numbers(*(f"p{k + 1}" for k in range(count)))
        n = len(self.of_sites)
        if any(p != int(p) or not 0 <= p < n for p in found):
            raise UserError(
                f"{self.what}: atoms must be whole numbers from 0 to {n - 1}, got"
                f" {', '.join(f'{p:g}' for p in found)}; correct them"
            )
        for parent in map(int, found):
            if self.of_sites[parent]:
                raise UserError(
                    f"{self.what}: must follow atoms, got particle {parent}, which is a site; define it by"
                    " the atoms of that site"
                )
        return [int(found[k]) if k < count else int(found[0]) for k in range(3)]

    def weights_of(self, key: str, count: int, total: float = 1.0) -> list[float]:
        """Weights whose sum is checked, with zeros for atoms that stand in."""
        found = self.numbers(*(f"{key}{k + 1}" for k in range(count)))
        if abs(sum(found) - total) > SUM:
            raise UserError(
                f"{self.what}: weights {key} must sum to {total:g}, so that the site moves with its atoms,"
                f" got {sum(found):g}; correct them"
            )
        return found + [0.0] * (3 - count)


def _read_average(one: _SiteElement, count: int) -> tuple[list[int], dict[str, list[float]]]:
    return one.parents(count), {"weights": one.weights_of("w", count), "cross": [0.0]}


def _read_out_of_plane(one: _SiteElement) -> tuple[list[int], dict[str, list[float]]]:
    second, third, cross = one.numbers("w12", "w13", "wc")
    return one.parents(3), {"weights": [1.0 - second - third, second, third], "cross": [cross]}


def _read_frame(one: _SiteElement) -> tuple[list[int], dict[str, list[float]]]:
    count = sum(name[1:].isdigit() for name in one.element.attrib if name.startswith("p"))
    if count not in (2, 3):
        raise UserError(
            f"{one.what}: must follow two or three atoms, got {count}; define its frame by three of them"
        )
    return one.parents(count), {
        "weights": one.weights_of("wo", count),
        "x_weights": one.weights_of("wx", count, 0.0),
        "y_weights": one.weights_of("wy", count, 0.0),
        "coordinates": one.numbers("pos1", "pos2", "pos3"),
    }


READERS: dict[str, Callable[[_SiteElement], tuple[list[int], dict[str, list[float]]]]] = {
    "TwoParticleAverageSite": lambda one: _read_average(one, 2),
    "ThreeParticleAverageSite": lambda one: _read_average(one, 3),
    "OutOfPlaneSite": _read_out_of_plane,
    "LocalCoordinatesSite": _read_frame,
}
