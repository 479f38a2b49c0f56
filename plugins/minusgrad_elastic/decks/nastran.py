"""Decks of Nastran (.bdf, .fem, .nas): points in their coordinate systems, cells, and what cards name.

    X = system CP (x1, x2, x3)      of a GRID (`nastran_systems`)

Groups: the cells of a property (`property_3`, and its name where a comment has one), the points of SPC, SPC1,
FORCE, MOMENT and SET1, the cells of SET3 and PLOAD2, the faces of PLOAD4, PLOAD and BSURFS: `SPC1_7`. Which
card is read, refused or passed over with a remark stands in `nastran_cards`.
Source: MSC Nastran Quick Reference Guide (GRID, CORD1R to CORD2S, CHEXA, CPENTA, PLOAD4).

Decisions 0157.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, printable

from . import nastran_cards
from .abaqus_elements import COUNTS
from .bulk_lines import Card, bulk_cards
from .deck_mesh import DeckMesh, first_lines
from .deck_numbers import Index
from .keyword_lines import text_of
from .nastran_groups import Groups
from .nastran_systems import Systems

REORDERED = {
    "hexahedron20": (*range(12), *range(16, 20), *range(12, 16)),
    "wedge15": (*range(9), 12, 13, 14, 9, 10, 11),
}
"""Nodes in VTK's order: Nastran has the middles of the upright edges before those of the top."""
NAMES = (
    re.compile(r"\$\s*Femap.*?\bProperty\s+(\d+)\s*:\s*(\S.*)", re.IGNORECASE),
    re.compile(r"\$HMNAME\s+PROP\s+(\d+)\s*\"([^\"]+)\"", re.IGNORECASE),
    re.compile(r"\$ANSA_NAME_COMMENT;(\d+);P\w+;([^;]+);", re.IGNORECASE),
)
"""Comments by which preprocessors name properties."""


def read_bulk(file: str, data: bytes, remarks: list[str]) -> Any:
    """The mesh of meshlane in the bytes of a deck; remarks are added. Raises `UserError` with the line."""
    lines = [*enumerate(text_of(data).splitlines(), 1)]
    bulk = next((k for k, (_, line) in enumerate(lines) if re.match(r"\s*BEGIN\b", line, re.IGNORECASE)), -1)
    if bulk >= 0 and not re.match(r"\s*BEGIN\s+BULK\s*(\$|$)", lines[bulk][1], re.IGNORECASE):
        said = " ".join(lines[bulk][1].split())
        Card(file, printable(said, 40), bulk + 1).fail(
            "is a part of a model; save the whole mesh as one deck"
        )
    deck = _Deck(file)
    for card in bulk_cards(file, lines[bulk + 1 :]):
        deck.take(card)
    deck.take_case_sets(lines[: max(bulk, 0)])
    for _, line in lines:
        if line.startswith("$"):
            deck.take_comment(line)
    mesh = deck.mesh()
    if not any(line.lstrip().upper().startswith("ENDDATA") for _, line in lines):
        mesh.remarks.insert(0, "has no ENDDATA at its end: it may be cut off")
    found = mesh.as_meshlane()
    remarks += mesh.remarks
    return found


@dataclass
class _Deck:
    """Cards as they come: points with their systems, cells by kind, cards that name things."""

    file: str
    grids: dict[int, Card] = field(default_factory=dict)
    default: Card | None = None
    systems: dict[int, tuple[Card, int]] = field(default_factory=dict)
    cells: dict[str, list[tuple[int, int, list[int], Card]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    naming: list[Card] = field(default_factory=list)
    case_sets: list[Card] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    said: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def take(self, card: Card) -> None:
        """Enter one card. Raises `UserError` for cards that are refused, or not known."""
        verdict, why = nastran_cards.verdict_of(card.name)
        if verdict == "refused":
            card.fail(why)
        if verdict == "said":
            self.said[card.name].append(card.line)
        if verdict != "read":
            return
        if card.name == "GRID":
            before = self.grids.setdefault(card.whole(0), card)
            if before is not card and before.fields[:6] != card.fields[:6]:
                card.fail(f"point {card.whole(0)} stands twice, at two places; renumber one")
        elif card.name == "GRDSET":
            self.default = card
        elif card.name in nastran_cards.SYSTEMS:
            self._take_system(card)
        elif card.name in nastran_cards.NAMING:
            self.naming.append(card)
        else:
            self._take_cell(card)

    def _take_system(self, card: Card) -> None:
        starts = (0, 4) if card.name.startswith("CORD1") and card.text(4) else (0,)
        for start in starts:
            if card.whole(start) in self.systems:
                card.fail(f"system {card.whole(start)} stands twice; renumber one")
            self.systems[card.whole(start)] = card, start

    def _take_cell(self, card: Card) -> None:
        name, start, pid = card.name, 2, 0
        if name in nastran_cards.LINES:
            start, count, kind = nastran_cards.LINES[name], 2, "line"
            if name in ("CBAR", "CBEAM", "CROD", "CTUBE", "CONROD", "CBEND"):
                self.said[name].append(card.line)
            pid = card.whole(1, card.whole(0)) if start == 2 else 0
        elif name in nastran_cards.FLAT:
            kind = nastran_cards.FLAT[name]
            count = COUNTS[kind]
        else:
            first, second = nastran_cards.SOLIDS[name]
            count = max((k for k, word in enumerate(card.fields[2:], 1) if word), default=0)
            kind = first if count <= COUNTS[first] else second
            count = COUNTS[kind]
        words = [card.text(start + k) for k in range(count)]
        if not all(words):
            card.fail(f"cells with some nodes in the middle of edges are not read, got {words.count('')} of"
                      f" {count} without; mesh with all or none")  # fmt: skip
        nodes = [card.whole(start + k) for k in range(count)]
        if start == 2:
            pid = card.whole(1, card.whole(0))
        nodes = [nodes[k] for k in REORDERED[kind]] if kind in REORDERED else nodes
        self.cells[kind].append((card.whole(0), pid, nodes, card))

    def take_case_sets(self, lines: list[tuple[int, str]]) -> None:
        """The lines SET n = ... before BEGIN BULK, which may go on after a comma."""
        text, first = "", 0
        for number, line in lines:
            bare = line.split("$", 1)[0].strip()
            if re.match(r"INCLUDE\b", bare, re.IGNORECASE):
                Card(self.file, "INCLUDE", number).fail(nastran_cards.REFUSED["INCLUDE"])
            first = first if text else number
            text += bare
            if bare.endswith(","):
                continue
            if found := re.match(r"SET\s+(\d+)\s*=\s*(.*)", text, re.IGNORECASE):
                words = found[2].upper().replace(",", " ").split()
                if words != ["ALL"] and all(re.fullmatch(r"\d+|THRU|BY|EXCEPT", word) for word in words):
                    self.case_sets.append(Card(self.file, "SET", first, [found[1], *words]))
            text = ""

    def take_comment(self, line: str) -> None:
        """The name of a property in a comment of a preprocessor."""
        for pattern in NAMES:
            if found := pattern.match(line):
                self.names[int(found[1])] = found[2].strip()

    def mesh(self) -> DeckMesh:
        """The points at their places, the cells, and the groups."""
        if not self.cells:
            raise UserError(f"'{self.file}': there are no cells; save the mesh with its elements")
        nodes = Index(np.fromiter(self.grids, int, len(self.grids)))
        blocks, numbers, properties, cards = [], [], [], []
        for kind, rows in self.cells.items():
            wanted = np.array([own for _, _, own, _ in rows], int)
            found = nodes.rows_of(wanted.ravel()).reshape(wanted.shape)
            if (found < 0).any():
                row, column = np.argwhere(found < 0)[0]
                rows[row][3].fail(f"has point {wanted[row, column]}, which is not there; save the mesh whole")
            blocks.append((kind, found))
            numbers += [number for number, *_ in rows]
            properties += [pid for _, pid, *_ in rows]
            cards += [card for *_, card in rows]
        elements = Index(np.array(numbers, int))
        if len(
            twice := np.flatnonzero(np.bincount(elements.rows_of(elements.numbers), minlength=len(cards)) > 1)
        ):
            cards[twice[0]].fail(f"element {numbers[twice[0]]} stands twice; renumber one")
        mesh = DeckMesh(Systems(self.grids, self.systems, self.default).points(), blocks)
        groups = Groups(mesh, nodes, elements, np.array(properties, int))
        groups.name_properties(self.names)
        for card in [*self.naming, *self.case_sets]:
            groups.take(card)
        groups.finish()
        self._remark(mesh)
        return mesh

    def _remark(self, mesh: DeckMesh) -> None:
        lines = [card.line for card in self.grids.values() if card.text(5) not in ("", "0")]
        if lines:
            where = first_lines(lines)
            mesh.remarks.append(f"systems of displacements (CD, {where}): holds are along x, y, z here")
        lost = {n: at for n, at in self.said.items() if mesh.dimension == 3 or n not in nastran_cards.LINES}
        if lost:
            words = ", ".join(f"{name} ({first_lines(at)})" for name, at in lost.items())
            mesh.remarks.append(f"read for its mesh and groups alone: passed over {words}")
