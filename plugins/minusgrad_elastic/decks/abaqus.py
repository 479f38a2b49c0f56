"""Decks of Abaqus and CalculiX (.inp): nodes, cells, sets, surfaces, parts and their instances, systems.

    X = R(a, b, angle) (x + translation)        of an instance: first moved, then turned about its axis
    x = system(*Node, system=) in *System        of a node

Which keyword is read, refused or passed over with a remark stands in `abaqus_keywords`. A set of a part is
`set` where the deck has one instance, else also `instance.set`; an instance itself is a set of cells where
there are several. Source: Abaqus Keywords Guide (*NODE, *ELEMENT, *NSET, *ELSET, *SURFACE, *INSTANCE).

Decisions 0157.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minusgrad.plugin import UserError, printable

from . import abaqus_keywords
from .abaqus_assembly import name_sets, placed_scope
from .abaqus_elements import COUNTS, REORDERED, shape_of
from .abaqus_rows import element_rows, local_axes, required_value, whole_number
from .abaqus_sets import Elements, Member, Names, Scope
from .coordinate_systems import cylinder_points
from .deck_mesh import DeckMesh, first_lines
from .keyword_lines import Keyword, keyword_blocks, label, text_of


def read_deck(file: str, data: bytes, remarks: list[str]) -> Any:
    """The mesh of meshlane in the bytes of a deck; remarks are added. Raises `UserError` with the line."""
    deck = _Deck(file)
    for block in keyword_blocks(file, text_of(data)):
        deck.take(block)
    mesh = deck.mesh()
    found = mesh.as_meshlane()
    remarks += mesh.remarks
    return found


@dataclass
class _Instance:
    """A part at its place: what the part has, and what the instance adds."""

    block: Keyword
    scope: Scope


@dataclass
class _Deck:
    """The blocks of a deck as they come, and where they belong."""

    file: str
    root: Scope = field(default_factory=lambda: Scope(""))
    parts: dict[str, Scope] = field(default_factory=dict)
    instances: dict[str, _Instance] = field(default_factory=dict)
    said: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    left: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    axial: list[int] = field(default_factory=list)
    here: Scope | None = None
    in_step: bool = False

    def take(self, block: Keyword) -> None:
        """Enter one block. Raises `UserError` for keywords that are refused, or not known."""
        name = block.name
        self.in_step |= name == "STEP"
        verdict, why = abaqus_keywords.verdict_of(name, self.in_step)
        if verdict == "refused":
            block.fail(why)
        if verdict == "said":
            text = f" ({', '.join(text for _, text in block.data)})" if name == "UNITSYSTEM" else ""
            self.said[block.shown + text].append(block.line)
        if verdict == "read":
            getattr(self, f"_take_{name.lower()}")(block)

    @property
    def _scope(self) -> Scope:
        return self.root if self.here is None else self.here

    def _take_part(self, block: Keyword) -> None:
        name = required_value(block, "NAME")
        if label(name) in self.parts:
            block.fail(f"two parts are named '{printable(name)}'; rename one")
        self.here = self.parts[label(name)] = Scope(name)

    def _take_endpart(self, block: Keyword) -> None:
        self.here = None

    _take_assembly = _take_endassembly = _take_endinstance = _take_endpart

    def _take_instance(self, block: Keyword) -> None:
        if {"LIBRARY", "INSTANCE"} & block.parameters.keys():
            block.fail("an instance of another analysis is a second file, which is not read")
        name, part = required_value(block, "NAME"), required_value(block, "PART")
        if label(part) not in self.parts:
            block.fail(f"there is no part '{printable(part)}' before it")
        if label(name) in self.instances:
            block.fail(f"two instances are named '{printable(name)}'; rename one")
        scope = self.parts[label(part)].copy(name)
        self.here = scope
        self.instances[label(name)] = _Instance(block, scope)

    def _take_system(self, block: Keyword) -> None:
        rows = [block.numbers(line, fields) for line, fields in block.rows()]
        self._scope.axes = local_axes(block, rows)

    def _take_node(self, block: Keyword) -> None:
        scope, file = self._scope, block.parameters.get("INPUT")
        if file is not None:
            block.fail(f"the nodes are in another file, got input={printable(file)}; put them in its place")
        numbers, points, lines = [], [], []
        for line, fields in block.rows():
            numbers.append(whole_number(block, line, fields[0]))
            row = block.numbers(line, fields[1:4])
            points.append(row + [0.0] * (3 - len(row)))
            lines.append(line)
        placed = np.array(points, float).reshape(-1, 3)
        system = block.parameters.get("SYSTEM", "R").upper()[:1]
        if system == "C":
            placed = cylinder_points(placed)
        elif system != "R":
            block.fail(
                f"of coordinate systems R and C are read, got system={printable(block.parameters['SYSTEM'])};"
                " write the nodes in Cartesian coordinates"
            )
        if scope.axes is not None:
            placed = scope.axes.placed(placed)
        scope.add_nodes(block, numbers, placed, lines)
        if "NSET" in block.parameters:
            scope.node_sets.add(block.parameters["NSET"], Member(block, block.line, np.array(numbers, int)))

    def _take_element(self, block: Keyword) -> None:
        kind_name = required_value(block, "TYPE")
        if "INPUT" in block.parameters or "FILE" in block.parameters:
            block.fail("the elements are in another file; put them in its place")
        shape = shape_of(kind_name)
        if shape is None:
            block.fail(f"elements {printable(kind_name)} are not read; mesh with others, or take them out")
        kind, is_axial = shape
        if is_axial:
            self.axial.append(block.line)
        if not kind:
            self.left[kind_name.upper()].append(block.line)
            return
        rows = [*element_rows(block, COUNTS[kind], kind.startswith("line"))]
        numbers = np.array([row[0] for row in rows], int)
        nodes = [row[1:] for row in rows]
        shaped = np.array(nodes, int).reshape(-1, COUNTS[kind])
        if kind in REORDERED:
            shaped = shaped[:, REORDERED[kind]]
        self._scope.blocks.append(Elements(block, kind, numbers, shaped))
        if kind.startswith("line"):
            self.left[kind_name.upper()].append(block.line)
        if "ELSET" in block.parameters:
            self._scope.element_sets.add(block.parameters["ELSET"], Member(block, block.line, numbers))

    def _take_nset(self, block: Keyword) -> None:
        self._take_set(block, self._scope.node_sets, required_value(block, "NSET"))
        if (other := block.parameters.get("ELSET")) is not None:
            member = Member(
                block, block.line, of_elements=(other,), instance=block.parameters.get("INSTANCE")
            )
            self._scope.node_sets.add(block.parameters["NSET"], member)

    def _take_elset(self, block: Keyword) -> None:
        self._take_set(block, self._scope.element_sets, required_value(block, "ELSET"))

    def _take_set(self, block: Keyword, names: Names, name: str) -> None:
        """The members of a set: numbers, ranges, names of other sets, each alone or of an instance."""
        instance = block.parameters.get("INSTANCE")
        names.add(name)
        whole: list[int] = []
        for line, fields in block.rows():
            if "GENERATE" in block.parameters:
                whole_words = [whole_number(block, line, word) for word in fields if word]
                first, last, step = [*whole_words, 1][:3] if len(whole_words) in (2, 3) else (1, 0, 1)
                if first > last or step < 1:
                    block.fail("needs first, last and a step above 0; list the numbers", line)
                member = Member(block, line, ranges=(first, last, step), instance=instance)
                names.add(name, member)
                continue
            words = [word for word in fields if word]
            whole += [int(word) for word in words if word.isdecimal()]
            if others := [word for word in words if not word.isdecimal()]:
                names.add(name, Member(block, line, names=tuple(others), instance=instance))
        if whole:
            names.add(name, Member(block, block.line, np.array(whole, int), instance=instance))

    def _take_surface(self, block: Keyword) -> None:
        name, kind = required_value(block, "NAME"), block.parameters.get("TYPE", "ELEMENT").upper()
        for word in ("COMBINE", "CROP", "REGION", "REGIONTYPE"):
            if word in block.parameters:
                block.fail(f"a surface made of others ({word.lower()}) is not read; save its faces")
        if kind not in ("ELEMENT", "NODE"):
            block.fail(f"surfaces of elements and nodes are read, got type={printable(kind)}; take it out")
        instance = block.parameters.get("INSTANCE")
        names = self._scope.surfaces if kind == "ELEMENT" else self._scope.node_sets
        names.add(name)
        for line, fields in block.rows():
            word, face = fields[0], (fields[1] if len(fields) > 1 else "").upper()
            if not word:
                block.fail("the outside of the whole model has no name of a set; name the elements", line)
            number = np.array([int(word)]) if word.isdecimal() else None
            others = () if number is not None else (word,)
            face = face if kind == "ELEMENT" else ""
            names.add(name, Member(block, line, number, names=others, face=face, instance=instance))

    def mesh(self) -> DeckMesh:
        """All parts at their places, with the sets that name them."""
        scopes = [self.root, *(placed_scope(one.block, one.scope) for one in self.instances.values())]
        if not self.instances:
            scopes += self.parts.values()
        found = DeckMesh(np.concatenate([scope.points for scope in scopes]), [])
        nodes, elements = 0, 0
        for scope in scopes:
            found.blocks += scope.number_members(nodes, elements, scopes)
            nodes, elements = nodes + len(scope.points), elements + scope.count
        if not elements:
            raise UserError(
                f"'{self.file}': there are no elements with a shape; save the mesh with its elements"
            )
        lost = [
            part.name for name, part in self.parts.items() if self.instances and not self._is_placed(name)
        ]
        found.remarks += [f"part '{name}' has no instance: it is left out, as in Abaqus" for name in lost]
        name_sets(found, scopes)
        self._remark(found)
        return found

    def _is_placed(self, part: str) -> bool:
        return any(label(one.block.parameters["PART"]) == part for one in self.instances.values())

    def _remark(self, found: DeckMesh) -> None:
        for name, lines in self.left.items():
            shape = shape_of(name)
            if shape and shape[0] and found.dimension == 2:
                continue  # edges of the plane: sides
            of = "lines" if shape and shape[0] else "no cells"
            found.remarks.append(
                f"elements {name} ({first_lines(lines)}) are {of}: they have no stiffness here"
            )
        if self.axial:
            where = first_lines(self.axial)
            found.remarks.append(f"axially symmetric elements ({where}) are read as cells of the plane x, y")
        if self.said:
            words = ", ".join(f"{name} ({first_lines(lines)})" for name, lines in self.said.items())
            found.remarks.append(f"read for its mesh and groups alone: passed over {words}")
