"""What cards of Nastran name: points, cells and faces, each group by its card and number (`SPC1_7`).

A face of PLOAD4 is that of the corners G1 and, across it, G3; of a tetrahedron all corners but G4.
Source: MSC Nastran Quick Reference Guide (SPC, SPC1, SET1, SET3, PLOAD, PLOAD2, PLOAD4, BSURF, BSURFS).
"""

from collections import defaultdict
from typing import Any

import numpy as np

from minusgrad.plugin import printable

from .abaqus_elements import DIMENSIONS, FACES, face_nodes
from .bulk_lines import Card, ranges_of
from .deck_mesh import DeckMesh
from .deck_numbers import Index

SHAPES = ("point", "curve", "surface", "volume")
"""Words for dimensions, behind the names of groups that share a number."""


class Groups:
    """What cards name: points, cells and faces of a mesh."""

    def __init__(self, mesh: DeckMesh, nodes: Index, elements: Index, properties: np.ndarray) -> None:
        self.mesh, self.nodes, self.elements, self.properties = mesh, nodes, elements, properties
        self.points: dict[str, list[np.ndarray]] = defaultdict(list)
        self.cells: dict[str, list[np.ndarray]] = defaultdict(list)
        self.faces: dict[str, list[np.ndarray]] = defaultdict(list)
        self.starts = np.cumsum([0, *(len(rows) for _, rows in mesh.blocks)])

    def take(self, card: Card) -> None:
        """The group that a card adds to."""
        name, of = f"{card.name}_{card.whole(0)}", card.name
        if of == "SPC1":
            self.points[name].append(self._members(self.nodes, card, 2))
        elif of in ("SPC", "SPCD"):
            wanted = [card.whole(k) for k in range(1, len(card.fields), 3) if card.text(k)]
            self.points[name].append(self._rows(self.nodes, wanted, card))
        elif of == "SPCADD":
            for first, last, _ in card.listed(1):
                for n in range(first, min(last, first + 1000) + 1):
                    for other in (f"SPC1_{n}", f"SPC_{n}"):
                        self.points[name] += self.points.get(other, [])
        elif of == "SET1":
            self.points[name].append(self._members(self.nodes, card, 1))
        elif of == "SET":
            self._take_case_set(card)
        elif of == "SET3":
            self._take_set3(card, name)
        elif of.startswith(("FORCE", "MOMENT")):
            self.points[name].append(self._rows(self.nodes, [card.whole(1)], card))
        elif of in ("PLOAD2", "BSURF"):
            self.cells[name].append(self._members(self.elements, card, 2 if of == "PLOAD2" else 1))
        elif of == "BCPROP":
            wanted = [
                pid for pid in np.unique(self.properties) for a, b, _ in card.listed(1) if a <= pid <= b
            ]
            self.cells[name].append(np.flatnonzero(np.isin(self.properties, wanted)))
        elif of == "PLOAD":
            corners = [card.whole(k) for k in (2, 3, 4, 5) if card.text(k)]
            self.faces[name].append(self._face_by_corners(self._rows(self.nodes, corners, card), card))
        elif of == "BSURFS":
            for k in range(4, len(card.fields) - 3, 4):
                if card.text(k):
                    cell = self._rows(self.elements, [card.whole(k)], card)
                    three = self._rows(self.nodes, [card.whole(k + i) for i in (1, 2, 3)], card)
                    self.faces[name].append(self._face(int(cell[0]), {*three.tolist()}, card))
        else:
            self._take_pload4(card, name)

    def name_properties(self, names: dict[int, str]) -> None:
        """The cells of each property; those of several dimensions in one are groups of their own."""
        sizes = np.repeat([DIMENSIONS[kind] for kind, _ in self.mesh.blocks], np.diff(self.starts))
        for pid in np.unique(self.properties[self.properties > 0]).tolist():
            own = self.properties == pid
            dimensions = np.unique(sizes[own])
            for dimension in dimensions:
                of = f"_{SHAPES[dimension]}" if len(dimensions) > 1 else ""
                name = f"property_{pid}{of}"
                members = np.flatnonzero(own & (sizes == dimension))
                self.mesh.elements[name] = members
                if pid in names and dimension == dimensions[-1]:
                    self.mesh.elements.setdefault(names[pid], members)

    def _members(self, index: Index, card: Card, start: int) -> np.ndarray:
        """Listed numbers that are there; of ranges those that are not do not count."""
        found, without = [np.zeros(0, int)], [np.zeros(0, int)]
        for first, last, step in card.listed(start):
            if step < 0:
                without.append(index.rows_within(first, last, 1))
            elif first == last:
                found.append(self._rows(index, [first], card))
            else:
                found.append(index.rows_within(first, last, step))
        return np.setdiff1d(np.concatenate(found), np.concatenate(without))

    def _rows(self, index: Index, wanted: list[int], card: Card) -> np.ndarray:
        rows = index.rows_of(np.array(wanted, int))
        if (rows < 0).any():
            lost = np.array(wanted)[rows < 0]
            card.fail(f"names {lost[0]}, which is not there; save the mesh whole")
        return rows

    def _take_case_set(self, card: Card) -> None:
        """A set of the case control is of points or of cells, as its numbers are; of both where both are."""
        words, name = card.fields[1:], f"SET_{card.fields[0]}"
        single = [a for a, b, step in ranges_of(words, card) if a == b and step > 0]
        for index, table in ((self.nodes, self.points), (self.elements, self.cells)):
            if (index.rows_of(np.array(single, int)) >= 0).all():
                members = self._members(index, Card(card.file, "SET", card.line, words), 0)
                if len(members):
                    table[name].append(members)

    def _take_set3(self, card: Card, name: str) -> None:
        of = card.text(1).upper()
        if of in ("GRID", "POINT", "NODE"):
            self.points[name].append(self._members(self.nodes, card, 2))
        elif of in ("ELEM", "ELEMENT"):
            self.cells[name].append(self._members(self.elements, card, 2))
        elif of in ("PROP", "PROPERTY"):
            wanted = [
                pid for pid in np.unique(self.properties) for a, b, _ in card.listed(2) if a <= pid <= b
            ]
            self.cells[name].append(np.flatnonzero(np.isin(self.properties, wanted)))
        else:
            card.fail(f"sets of GRID, ELEM and PROP are read, got {printable(of, 20)}; take it out")

    def _take_pload4(self, card: Card, name: str) -> None:
        first = card.whole(1)
        if card.text(6).upper() == "THRU":
            rows = self.elements.rows_within(first, card.whole(7), 1)
        else:
            rows = self._rows(self.elements, [first], card)
        for row in rows.tolist():
            kind, nodes = self._cell(row)
            if kind.startswith(("triangle", "quad", "line")):
                self.cells[name].append(np.array([row]))
                continue
            corner = self._rows(self.nodes, [card.whole(6)], card)[0]
            other = self._rows(self.nodes, [card.whole(7)], card)[0] if card.text(7) else -1
            if kind.startswith("tetra"):
                own = {*nodes[:4].tolist()} - {other}
                self.faces[name].append(self._face(row, own, card))
                continue
            faces = [[nodes[n] for n in one] for one in FACES[kind.rstrip("0123456789")]]
            meant = [one for one in faces if corner in one and _is_meant(one, int(corner), int(other))]
            if len(meant) != 1:
                card.fail("the face of its cell is not clear; give G1 and the corner across the face")
            self.faces[name].append(self._face(row, {*map(int, meant[0])}, card))

    def _cell(self, row: int) -> tuple[str, np.ndarray]:
        block = int(np.searchsorted(self.starts, row, side="right")) - 1
        kind, rows = self.mesh.blocks[block]
        return kind, rows[row - self.starts[block]]

    def _face(self, row: int, corners: set[int], card: Card) -> np.ndarray:
        """The face of a cell that has these corners, (1, b)."""
        kind, nodes = self._cell(row)
        if kind.startswith(("triangle", "quad")):
            return nodes[None]
        for face in face_nodes(kind):
            if corners <= {*nodes[list(face)].tolist()}:
                return nodes[list(face)][None]
        return card.fail("names a face that its cell does not have; save the mesh whole")

    def _face_by_corners(self, corners: np.ndarray, card: Card) -> np.ndarray:
        """The face of some cell with these corners, with the nodes between them, (1, b)."""
        for kind, rows in self.mesh.blocks:
            if kind.startswith(("triangle", "quad", "line")):
                continue
            near = rows[np.isin(rows, corners).sum(axis=1) >= len(corners)]
            for face in face_nodes(kind):
                hit = np.isin(near[:, list(face)], corners).sum(axis=1) == len(corners)
                if hit.any():
                    return near[hit][:1][:, list(face)]
        if len(corners) in (3, 4):
            return corners[None]
        return card.fail("names a face that no cell has; save the mesh whole")

    def finish(self) -> None:
        """Put all groups into the mesh; faces of cells that are facets themselves are sets of elements."""
        for name, rows in self.points.items():
            self.mesh.nodes[name] = np.unique(np.concatenate(rows))
        for name, rows in self.cells.items():
            self.mesh.elements[name] = np.unique(np.concatenate(rows))
        for name, faces in self.faces.items():
            widths = sorted({face.shape[1] for face in faces})
            self.mesh.sides[name] = [np.concatenate([f for f in faces if f.shape[1] == w]) for w in widths]


def _is_meant(face: list[Any], corner: int, other: int) -> bool:
    """Whether a face is that of PLOAD4: of four corners with the other across, of three without."""
    if len(face) == 3:
        return other < 0
    return other in face and face.index(other) == (face.index(corner) + 2) % 4
