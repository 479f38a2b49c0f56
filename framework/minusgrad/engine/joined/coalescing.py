"""Arrays of a loop over steps that become one, where their lives do not cross.

A step is joined from loops that know nothing of each other: each writes arrays of its own, and loops between
them copy. Two arrays that a copy joins become one if no place needs both, and the copy goes; so do an output
and an input that is read for the last time by the loop which writes the output, row by row. Lives are those
of the usual analysis of registers (Chaitin 1982, SIGPLAN Notices 17, 98), with arrays for registers and
pieces of code for statements. All numbers stay the same.

What is not understood counts as a read: an array that a piece may write in part keeps the rest, and rows read
at other places than they are written need both arrays.

Decisions 0113.
"""

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from ..kernels import Code

Pair = tuple[int, int]


@dataclass(frozen=True)
class _Access:
    """A load or a store of a number: the row's text, the column's, and the loops around it."""

    row: str
    column: str
    loops: tuple["_Loop", ...]
    order: int
    guarded: bool


@dataclass(frozen=True)
class _Loop:
    """A loop of a piece: its number, its variable and the text of what it runs over."""

    number: int
    variable: str
    over: str


class _Accesses(ast.NodeVisitor):
    """The loads and stores of a piece, by the name of the array, in their order."""

    def __init__(self, text: str, arrays: Collection[str]):
        self.loads: dict[str, list[_Access]] = {}
        self.stores: dict[str, list[_Access]] = {}
        self.copies: list[tuple[_Access, str, _Access, str]] | None = []
        """Into what, from what: all statements of a piece that copies and does nothing else."""
        self._arrays, self._known = arrays, dict[str, str]()
        self._loops: tuple[_Loop, ...] = ()
        self._order = self._count = self._depth = 0
        for statement in ast.parse(text).body:
            self.visit(statement)

    def visit_For(self, node: ast.For) -> None:
        """A loop: its body may assign to names once for each turn."""
        self.visit(node.iter)
        self._count += 1
        before, known = self._loops, self._known
        self._known = {n: text for n, text in known.items() if n not in _assigned(node)}
        self._loops = (*before, _Loop(self._count, ast.unparse(node.target), ast.unparse(node.iter)))
        for statement in node.body:
            self.visit(statement)
        self._loops = before
        self._known = {n: text for n, text in known.items() if n not in _assigned(node)}

    def visit_If(self, node: ast.If | ast.While) -> None:
        """What stands under a condition may not happen."""
        self.visit(node.test)
        self._depth += 1
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._depth -= 1
        self._known = {n: text for n, text in self._known.items() if n not in _assigned(node)}

    def visit_While(self, node: ast.While) -> None:
        """As under a condition: it may not happen, or often."""
        self.visit_If(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """A store, or a name for a value."""
        self.visit(node.value)
        target = node.targets[0]
        if isinstance(target, ast.Name):
            self.copies = self.copies if not self._loops else None
            if self._depth == 0:
                self._known[target.id] = self._resolved(node.value)
            return
        where = self._touched(target, self.stores)
        if self.copies is not None:
            one = isinstance(node.value, ast.Subscript) and self._name(node.value)
            if one and where:
                self.copies.append((where, self._name(target), self.loads[one][-1], one))
            else:
                self.copies = None

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """A load and a store."""
        self.visit(node.value)
        self.copies = None
        if isinstance(node.target, ast.Subscript):
            self._touched(node.target, self.loads)
            self._touched(node.target, self.stores)
        elif isinstance(node.target, ast.Name):
            self._known.pop(node.target.id, None)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """A load."""
        self.visit(node.slice)
        self._touched(node, self.loads)

    def visit_Call(self, node: ast.Call) -> None:
        """A function: an array that it is given whole is read and written."""
        for argument in node.args:
            if isinstance(argument, ast.Name) and argument.id in self._arrays:
                for kind in (self.loads, self.stores):
                    kind.setdefault(argument.id, []).append(self._at("?", "?", True))
        self.generic_visit(node)

    def _name(self, node: ast.AST) -> str:
        value = node.value if isinstance(node, ast.Subscript) else node
        return value.id if isinstance(value, ast.Name) and value.id in self._arrays else ""

    def _touched(self, node: ast.AST, kind: dict[str, list[_Access]]) -> _Access | None:
        name = self._name(node)
        if not name or not isinstance(node, ast.Subscript):
            return None
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        column = ", ".join(self._resolved(place) for place in places[1:])
        one = self._at(self._resolved(places[0]), column, self._depth > 0)
        kind.setdefault(name, []).append(one)
        return one

    def _at(self, row: str, column: str, guarded: bool) -> _Access:
        self._order += 1
        return _Access(row, column, self._loops, self._order, guarded)

    def _resolved(self, node: ast.AST) -> str:
        """The text of an index, with the values of names in their place."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id, node.id)
        return ast.unparse(node)


def _assigned(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


class _Piece:
    """A piece of code with what it does to arrays, by their identity."""

    def __init__(self, code: Code):
        self.code = code
        self._found = _Accesses(code.text, code.arrays)

    def joining(self, one: int, other: Any) -> bool:
        """Let an array stand for another of this identity; False if the piece copies it to itself."""
        found = {name: other if id(a) == one else a for name, a in self.code.arrays.items()}
        self.code = replace(self.code, arrays=found)
        self.__dict__.pop("loads", None)
        self.__dict__.pop("stores", None)
        return self.copies is None or self.copies[0] is not self.copies[1]

    @cached_property
    def loads(self) -> dict[int, list[_Access]]:
        """The loads of each array."""
        return self._by_array(self._found.loads)

    @cached_property
    def stores(self) -> dict[int, list[_Access]]:
        """The stores of each array."""
        return self._by_array(self._found.stores)

    def _by_array(self, found: dict[str, list[_Access]]) -> dict[int, list[_Access]]:
        by_array: dict[int, list[_Access]] = {}
        for name, accesses in found.items():
            by_array.setdefault(id(self.code.arrays[name]), []).extend(accesses)
        return by_array

    @property
    def copies(self) -> tuple[Any, Any] | None:
        """The array that is overwritten and the one that it becomes, if the piece does nothing else."""
        found, arrays = self._found.copies, self.code.arrays
        if not found or len({(into, source) for _, into, _, source in found}) > 1:
            return None
        into, source = arrays[found[0][1]], arrays[found[0][3]]
        same = all((a.row, a.column, a.loops) == (b.row, b.column, b.loops) for a, _, b, _ in found)
        whole = into is source or self._whole(into, [a for a, *_ in found])
        return (into, source) if same and whole and _alike(into, source) else None

    def overwritten(self, array: Any) -> bool:
        """True if the piece stores every number of the array, and loads none before."""
        stores, loads = self.stores.get(id(array), []), self.loads.get(id(array), [])
        return not loads and self._whole(array, stores)

    def row_by_row(self, written: int, read: int) -> bool:
        """True if the array read may be the one that is written: no number is loaded after its store."""
        loads, stores = self.loads[read], self.stores[written]
        places = {(a.row, a.loops) for a in (*loads, *stores)}
        if len(places) > 1 or any(a.guarded for a in stores):
            return False
        ((row, loops),) = places
        if self._rows(row, loops) is None:
            return False
        first = {a.column: a.order for a in reversed(stores)}
        return all(a.order < first.get(a.column, a.order + 1) for a in loads)

    def _whole(self, array: Any, stores: Sequence[_Access]) -> bool:
        """True if the stores are of all numbers of the array."""
        if any(a.guarded for a in stores) or len({(a.row, a.loops) for a in stores}) != 1:
            return False
        if self._rows(stores[0].row, stores[0].loops) != array.shape[0]:
            return False
        columns = [", ".join(map(str, c)) for c in product(*map(range, array.shape[1:]))]
        return {a.column for a in stores} == set(columns)

    def _rows(self, row: str, loops: tuple[_Loop, ...]) -> int | None:
        """The number of rows that loops visit, from the first on and each once; None if they may not."""
        if len(loops) != 1:
            return None
        index, variable = None, loops[0].variable
        if row.endswith(f"[{variable}]"):  # a row of the nodes of elements
            index = self.code.arrays.get(row.partition("[")[0])
        elif row != variable:
            return None
        shown = loops[0].over.removeprefix("range(").removesuffix(")")
        counted = self.code.arrays.get(shown.removesuffix(".shape[0]")) if shown.endswith("]") else None
        if counted is None:
            return None
        count = int(counted.shape[0])
        if index is None:
            return count if row == variable else None
        if type(index) is not np.ndarray or index.ndim != 1 or len(index) != count:
            return None
        return count if np.array_equal(np.sort(index), np.arange(count)) else None


def _alike(one: Any, other: Any) -> bool:
    return type(one) is type(other) and tuple(one.shape) == tuple(other.shape) and one.dtype == other.dtype


def stored_arrays(code: Code) -> set[int]:
    """The identities of the arrays that a code stores to."""
    return {*_Piece(code).stores}


def coalesced(pieces: Iterable[Code], scratch: Iterable[Any]) -> list[Code]:
    """The pieces of a step, which is repeated, with fewer arrays and copies.

    scratch: the arrays that nobody reads after the last step, and that hold nothing before the first one.
    """
    parts = [_Piece(piece) for piece in pieces if piece.text]
    free = {id(array) for array in scratch}
    while True:
        arrays = {id(a): a for part in parts for a in part.code.arrays.values()}
        joined = _joined(parts, arrays, free)
        if joined is None:
            return [part.code for part in parts]
        gone, kept = joined
        parts = [part for part in parts if part.joining(gone, arrays[kept])]


def _joined(parts: Sequence[_Piece], arrays: dict[int, Any], free: set[int]) -> Pair | None:
    """An array, and the one that may stand for it; None if there are no more."""
    live = _lives(parts, arrays, free)
    candidates = [(id(copy[0]), id(copy[1])) for part in parts if (copy := part.copies)]
    for k, part in enumerate(parts):
        candidates += [
            (a, b)
            for a in part.stores
            for b in part.loads.keys() - live[k + 1]
            if a != b and part.overwritten(arrays[a])
        ]
    crossing: set[Pair] | None = None
    for a, b in candidates:
        if a == b or (a not in free and b not in free) or not _alike(arrays[a], arrays[b]):
            continue
        crossing = _crossing(parts, live) if crossing is None else crossing
        if (a, b) not in crossing:
            return (a, b) if a in free else (b, a)
    return None


def _lives(parts: Sequence[_Piece], arrays: dict[int, Any], free: set[int]) -> list[set[int]]:
    """The arrays whose numbers are still read, before each piece and after the last."""
    over = [{a for a in part.stores if part.overwritten(arrays[a])} for part in parts]
    live: list[set[int]] = [set() for _ in range(len(parts) + 1)]
    while True:
        before = [set(some) for some in live]
        live[-1] = live[0] | (arrays.keys() - free)
        for k in reversed(range(len(parts))):
            live[k] = (live[k + 1] - over[k]) | parts[k].loads.keys()
        if live == before:
            return live


def _crossing(parts: Sequence[_Piece], live: Sequence[set[int]]) -> set[Pair]:
    """The pairs of arrays of which, somewhere, one is written while the other is still needed."""
    found = {(a, b) for a in live[0] for b in live[0] if a != b}  # what a step hands on to the next
    for k, part in enumerate(parts):
        copy = part.copies
        for a in part.stores:
            others = live[k + 1] - {a, id(copy[1]) if copy else a}
            others |= part.stores.keys() - {a}
            others |= {b for b in part.loads if b != a and not part.row_by_row(a, b)}
            found |= {(a, b) for b in others} | {(b, a) for b in others}
    return found
