"""Names in a deck: sets and surfaces of a part, an instance or the assembly, resolved when all is read."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from minusgrad.plugin import printable

from .abaqus_elements import DIMENSIONS, face_nodes
from .coordinate_systems import Axes
from .deck_numbers import Index, free_faces
from .keyword_lines import Keyword, label


@dataclass(frozen=True)
class Member:
    """What a line adds to a set: numbers, a range (first, last, step), names of sets; a face, an instance."""

    block: Keyword
    line: int
    numbers: np.ndarray | None = None
    ranges: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    of_elements: tuple[str, ...] = ()
    face: str = ""
    instance: str | None = None


@dataclass
class Names:
    """Sets by name, in which capitals do not count; the first spelling is shown."""

    shown: dict[str, str] = field(default_factory=dict)
    members: dict[str, list[Member]] = field(default_factory=dict)

    def add(self, name: str, *members: Member) -> None:
        """Add members to a set, which may be new."""
        self.shown.setdefault(label(name), name.strip().strip('"'))
        self.members.setdefault(label(name), []).extend(members)

    def copy(self) -> "Names":
        """A copy to which an instance may add."""
        return Names(dict(self.shown), {key: [*members] for key, members in self.members.items()})


@dataclass
class Elements:
    """A block: the kind of its cells, the numbers that the file gives them, and those of their nodes (k, m).

    rows: the nodes (k, m) as they are counted in the whole mesh.
    """

    block: Keyword
    kind: str
    numbers: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray | None = None


@dataclass
class Scope:
    """Nodes, elements and names of a part, an instance, or the assembly (no name)."""

    name: str
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    places: dict[int, int] = field(default_factory=dict)
    blocks: list[Elements] = field(default_factory=list)
    node_sets: Names = field(default_factory=Names)
    element_sets: Names = field(default_factory=Names)
    surfaces: Names = field(default_factory=Names)
    axes: Axes | None = None
    scopes: list["Scope"] = field(default_factory=list)
    first_node: int = 0
    first_element: int = 0
    remarks: list[str] = field(default_factory=list)

    def copy(self, name: str) -> "Scope":
        """What a part has, for an instance of it."""
        sets = self.node_sets.copy(), self.element_sets.copy(), self.surfaces.copy()
        blocks = [replace(one) for one in self.blocks]
        return Scope(name, self.points.copy(), dict(self.places), blocks, *sets)

    @property
    def count(self) -> int:
        """The number of elements."""
        return sum(len(one.numbers) for one in self.blocks)

    def add_nodes(self, block: Keyword, numbers: list[int], points: np.ndarray, lines: list[int]) -> None:
        """Raises `UserError` for a number that stands twice at different places."""
        every = np.concatenate([self.points, points])
        kept = [*range(len(self.points))]
        for row, (number, line) in enumerate(zip(numbers, lines, strict=True), len(self.points)):
            first = self.places.setdefault(number, len(kept))
            if first == len(kept):
                kept.append(row)
            elif not np.array_equal(every[kept[first]], every[row]):
                block.fail(f"node {number} stands twice, at two places; renumber one", line)
        self.points = every[kept]

    def number_members(
        self, first_node: int, first_element: int, scopes: list["Scope"]
    ) -> list[tuple[str, np.ndarray]]:
        """Count nodes and elements on from those before; the blocks of cells as they are then counted.

        scopes: all of the deck. Raises `UserError` for nodes that are not there, elements that stand twice.
        """
        self.first_node, self.first_element, self.scopes = first_node, first_element, scopes
        numbers, counts = np.unique(self.element_index.numbers, return_counts=True)
        for one in self.blocks:
            if (twice := np.isin(one.numbers, numbers[counts > 1])).any():
                one.block.fail(f"element {one.numbers[twice][0]} stands twice; renumber one")
            rows = self.node_index.rows_of(one.nodes.ravel())
            if (rows < 0).any():
                lost = one.nodes.ravel()[np.argmax(rows < 0)]
                one.block.fail(f"an element has node {lost}, which is not there; save the mesh whole")
            one.rows = rows.reshape(one.nodes.shape) + first_node
        return [(one.kind, one.rows) for one in self.blocks if one.rows is not None]

    @cached_property
    def node_index(self) -> Index:
        """The numbers of the nodes."""
        return Index(np.fromiter(self.places, int, len(self.places)))

    @cached_property
    def element_index(self) -> Index:
        """The numbers of the elements of all blocks."""
        return Index(np.concatenate([np.zeros(0, int), *(one.numbers for one in self.blocks)]))

    def has_set(self, what: str, name: str) -> bool:
        """Whether a set of that name is defined here."""
        return label(name) in self._names(what).shown

    def _names(self, what: str) -> Names:
        return {"nodes": self.node_sets, "elements": self.element_sets, "sides": self.surfaces}[what]

    def resolved_sets(self, what: str) -> Iterator[tuple[str, Any]]:
        """Each name with its nodes or elements, as they are counted in the whole mesh, or its facets."""
        names = self._names(what)
        for key, shown in names.shown.items():
            if what == "sides":
                yield shown, [facets for member in names.members[key] for facets in self._facets(member)]
            else:
                yield shown, self._members_of(what, key, ())

    def _members_of(self, what: str, key: str, above: tuple[str, ...]) -> np.ndarray:
        """The members of a set, those of the sets that it names among them."""
        found = [np.zeros(0, int)]
        for member in self._names(what).members[key]:
            if key in above:
                member.block.fail(f"set '{printable(key)}' is a part of itself", member.line)
            found.append(self._chosen(what, member, (*above, key)))
        return np.unique(np.concatenate(found))

    def _scope_of(self, member: Member) -> "Scope":
        if member.instance is None:
            return self
        for scope in self.scopes[1:]:
            if label(scope.name) == label(member.instance):
                return scope
        return member.block.fail(f"there is no instance '{printable(member.instance)}'")

    def _chosen(self, what: str, member: Member, above: tuple[str, ...]) -> np.ndarray:
        """What one line adds, as it is counted in the whole mesh."""
        at, found = self._scope_of(member), [np.zeros(0, int)]
        index, first = (
            (at.node_index, at.first_node) if what == "nodes" else (at.element_index, at.first_element)
        )
        if member.numbers is not None:
            rows = index.rows_of(member.numbers)
            if (rows < 0).any():
                lost = member.numbers[rows < 0]
                said = f"{len(lost)} members are not there, the first {lost[0]}; they are left out"
                self.remarks.append(f"line {member.line}: {member.block.shown}: {said}")
            found.append(rows[rows >= 0] + first)
        if member.ranges:
            found.append(index.rows_within(*member.ranges) + first)
        for name in member.names:
            found.append(at._named(what, name, member, above))
        for name in member.of_elements:
            chosen = at._named("elements", name, member, ())
            found += [rows.ravel() for _, rows in self._cells(chosen)]
        return np.concatenate(found)

    def _named(self, what: str, name: str, member: Member, above: tuple[str, ...]) -> np.ndarray:
        """A set by its name: of this scope, or instance.set, instance.number."""
        key = label(name)
        if key in self._names(what).shown:
            return self._members_of(what, key, above)
        for scope in self.scopes[1:]:
            rest = key.removeprefix(f"{label(scope.name)}.")
            if rest != key and rest.isdecimal():
                one = Member(member.block, member.line, np.array([int(rest)]))
                return scope._chosen(what, one, above)
            if rest != key and rest in scope._names(what).shown:
                return scope._members_of(what, rest, ())
        return member.block.fail(f"there is no set '{printable(name)}'", member.line)

    def _cells(self, chosen: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """The kinds and nodes of elements, as they are counted in the whole mesh."""
        for scope in self.scopes:
            first = scope.first_element
            for one in scope.blocks:
                own = chosen[(chosen >= first) & (chosen < first + len(one.numbers))] - first
                first += len(one.numbers)
                if len(own) and one.rows is not None:
                    yield one.kind, one.rows[own]

    def _facets(self, member: Member) -> Iterator[np.ndarray]:
        """The faces of elements that a line of a surface names: nodes (k, b), corners first."""
        chosen = self._chosen("elements", member, ())
        dimension = max(DIMENSIONS[one.kind] for scope in self.scopes for one in scope.blocks)
        for kind, rows in self._cells(chosen):
            if DIMENSIONS[kind] < dimension:
                _refuse_edge(member, kind, dimension)
                yield rows
            elif not member.face:
                every = np.arange(self.scopes[-1].first_element + self.scopes[-1].count)
                yield from free_faces(kind, rows, [*self._cells(every)])
            else:
                yield rows[:, list(_face_of(member, kind))]


def _refuse_edge(member: Member, kind: str, dimension: int) -> None:
    """Elements below the cells are facets themselves, on either side; their edges and ends are no sides."""
    if DIMENSIONS[kind] < dimension - 1 or member.face not in ("", "SPOS", "SNEG", "S1", "S2", "P", "N"):
        what = f"'{printable(member.face)}' of a {kind}" if member.face else f"a {kind}"
        member.block.fail(f"{what} is no side of a body in space; name its nodes", member.line)


def _face_of(member: Member, kind: str) -> tuple[int, ...]:
    """The nodes of the face of a cell that a line names: S1, S2, ...; of shells in a plane E1, E2, ..."""
    faces, face = face_nodes(kind), member.face
    number = face[1:] if face[:1] in ("S", "E") else ""
    if number.isdecimal() and 0 < int(number) <= len(faces):
        return faces[int(number) - 1]
    return member.block.fail(f"a {kind} has no side '{printable(face)}'; name its elements", member.line)
