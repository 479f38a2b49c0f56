"""A side that was found in a state: its facets and nodes, and what a run prints of it.

Decisions 0159.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ....scene.units import UnitSystem
from .boundary_facets import BoundaryFacets


@dataclass(frozen=True, eq=False)
class Side:
    """A side that was found: nodes (k,), and of a side of facets their numbers (F,) and area [m^2].

    whole: false of a body with nodes that none of its facets has. inner: of one from a file, how many of its
    facets are inside of the mesh, in no list.
    """

    name: str
    nodes: np.ndarray
    facets: np.ndarray | None = None
    area: float | None = None
    whole: bool = True
    inner: int = 0

    def line(self, units: UnitSystem) -> str:
        """`side left: 12 facets, 0.04 m^2, 25 nodes`."""
        return f"side {self.name}: {self.sizes(units)}"

    def sizes(self, units: UnitSystem) -> str:
        """`12 facets, 0.04 m^2, 25 nodes`."""
        parts = [] if self.facets is None else [count_words(len(self.facets), "facet")]
        if self.area is not None:
            unit = units.symbol("m^2")
            parts.append(f"{self.area:.6g}" + ("" if unit == "1" else f" {unit}"))
        return ", ".join([*parts, count_words(len(self.nodes), "node")])


@dataclass(frozen=True, eq=False)
class SideContext:
    """What a side is chosen from: places x (n, d), facets if there are some, sides and bodies by name."""

    x: np.ndarray
    facets: BoundaryFacets | None
    named: Callable[[str], Side]
    units: UnitSystem

    def node_mask(self, nodes: np.ndarray) -> np.ndarray:
        """A mask (n,) of some nodes."""
        mask = np.zeros(len(self.x), bool)
        mask[nodes] = True
        return mask


def count_words(count: int, noun: str) -> str:
    """`1 facet`, `12 facets`."""
    return f"{count} {noun}" + "s" * (count != 1)
