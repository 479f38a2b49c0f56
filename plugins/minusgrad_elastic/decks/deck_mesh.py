"""What a deck says of geometry and groups, as a mesh of meshlane: points, cells, sets.

Facets that no element of the file is (the face S3 of a cell) become blocks of their own, so that each side
is a set of cells of the dimension below. Sets of nodes, of elements and sides may have one name in a deck;
here a name is one thing: where they name other nodes, the later ones have a word behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from .abaqus_elements import DIMENSIONS

FACETS = {(3, 3): "triangle", (3, 4): "quad", (3, 6): "triangle6", (3, 8): "quad8", (3, 9): "quad9",
          (2, 2): "line", (2, 3): "line3"}  # fmt: skip
"""Kinds of facets by the dimension of the cells and the number of nodes."""
MANY = 3


@dataclass
class DeckMesh:
    """Points (n, 3); blocks of cells: kind and nodes (k, m); sets by name: of nodes, of elements, of facets.

    Elements are counted through all blocks. A side is a list of facets: nodes (k, b), corners first.
    """

    points: np.ndarray
    blocks: list[tuple[str, np.ndarray]]
    nodes: dict[str, np.ndarray] = field(default_factory=dict)
    elements: dict[str, np.ndarray] = field(default_factory=dict)
    sides: dict[str, list[np.ndarray]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @property
    def dimension(self) -> int:
        """Of the cells: 3 where there are solid ones."""
        return max((DIMENSIONS[kind] for kind, rows in self.blocks if len(rows)), default=0)

    def as_meshlane(self) -> Any:
        """The mesh of meshlane."""
        import meshlane

        starts = np.cumsum([0, *(len(rows) for _, rows in self.blocks)])
        extra, placed = self._facet_blocks()
        blocks = [*self.blocks, *extra]
        sets: dict[str, list[np.ndarray]] = {}
        for name, members in self._named_elements(starts).items():
            own = [members[(members >= a) & (members < b)] - a for a, b in pairwise(starts)]
            sets[name] = [*own, *(np.zeros(0, int) for _ in extra)]
        for name, rows in placed.items():
            sets[name] = [np.zeros(0, int) for _ in self.blocks] + rows
        return meshlane.Mesh(self.points, blocks, point_sets=self.nodes, cell_sets=sets)

    def _nodes_of(self, members: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The nodes of elements by number."""
        found = [np.zeros(0, int)]
        for (_, rows), (a, b) in zip(self.blocks, pairwise(starts), strict=True):
            found.append(rows[members[(members >= a) & (members < b)] - a].ravel())
        return np.unique(np.concatenate(found))

    def _named_elements(self, starts: np.ndarray) -> dict[str, np.ndarray]:
        """Sets of elements by the names that they have here."""
        found: dict[str, np.ndarray] = {}
        for name, members in self.elements.items():
            taken = self.nodes.get(name)
            if taken is not None and not np.array_equal(np.unique(taken), self._nodes_of(members, starts)):
                name = self._renamed(name, "elements", found)
            found[name] = members
        self.elements = found
        return found

    def _facet_blocks(self) -> tuple[list[tuple[str, np.ndarray]], dict[str, list[np.ndarray]]]:
        """Blocks of the facets of sides, and of each side the rows in each of these blocks."""
        by_kind: dict[str, list[np.ndarray]] = {}
        rows: dict[str, dict[str, list[np.ndarray]]] = {}
        for side, groups in self.sides.items():
            nodes = np.unique(np.concatenate([np.zeros(0, int), *(group.ravel() for group in groups)]))
            taken = self.nodes.get(side)
            is_other = taken is not None and not np.array_equal(np.unique(taken), nodes)
            name = self._renamed(side, "surface", rows) if is_other or side in self.elements else side
            if any((self.dimension, group.shape[1]) not in FACETS for group in groups):
                self.nodes[name] = nodes
                self.remarks.append(
                    f"'{name}' has faces that are no sides of these cells: it names nodes here"
                )
                continue
            own = rows.setdefault(name, {})
            for group in groups:
                kind = FACETS[self.dimension, group.shape[1]]
                block = by_kind.setdefault(kind, [])
                own.setdefault(kind, []).append(sum(map(len, block)) + np.arange(len(group)))
                block.append(group)
        extra = [(kind, np.concatenate(block)) for kind, block in by_kind.items()]
        empty = [np.zeros(0, int)]
        placed = {n: [np.concatenate(of.get(kind, empty)) for kind in by_kind] for n, of in rows.items()}
        return extra, placed

    def _renamed(self, name: str, word: str, others: Any) -> str:
        new = f"{name}_{word}"
        while new in self.nodes or new in self.elements or new in others:
            new += "'"
        self.remarks.append(f"'{name}' names {word} and other things: its {word} are '{new}' here")
        return new


def first_lines(lines: Sequence[int]) -> str:
    """`line 3`, `lines 3, 17 and 4 more`."""
    shown = ", ".join(map(str, lines[:MANY]))
    rest = f" and {len(lines) - MANY} more" if len(lines) > MANY else ""
    return f"line{'s' * (len(lines) > 1)} {shown}{rest}"
