"""Elements: who interacts with whom in a sum of local energies.

    U = sum over elements e of u(fields at the nodes of e, ...)

A new kind of interaction (neighbours within a cutoff, a tree, a grid) is a subclass of `Elements`: it lists
its nodes, names the loop that kernels run (`loops`), and says when it changes (`rebuild`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..engine import lane_blocks
from .gather import Gather
from .list_reference import ListReference
from .loops import Loop


class Elements(ABC):
    """The elements that an energy is summed over.

    A subclass gives `arity`, `loop`, `nodes`, `tuples`, `part`; the rest follows, and may be overridden.

    unordered   pairs, each listed once: u(a, b) = u(b, a); a map adds to both nodes
    fixed       never changes; otherwise `rebuild` is called before every evaluation
    listed      in lists of neighbours, which are built for a reference of positions
    """

    unordered: ClassVar[bool] = False
    fixed: ClassVar[bool] = True
    listed: ClassVar[bool] = False
    barrier: ClassVar[bool] = False
    """True if U is finite on a part of space alone, which no step may leave (`free_part`)."""
    version: int = 0
    """How often they were rebuilt in place."""
    copies: int = 1
    """Blocks of consecutive elements, all alike, that share the values of elements."""
    pair_set: Hashable = None
    """Which directed pairs slot 0 numbers; None of elements without such a slot."""
    pair_room: int = 0
    """The length of fields over these directed pairs."""
    brings: Collection[str] = ()
    """The data of an energy that follow from the elements, by argument."""
    nodes: np.ndarray
    """The rows of the loop, int32: nodes of elements, shape (E, k); or targets, shape (n,)."""

    @property
    @abstractmethod
    def arity(self) -> int:
        """k: the nodes of one element."""

    @property
    @abstractmethod
    def loop(self) -> Loop:
        """The loop that kernels run over them."""

    def all_pairs(self, n: int) -> bool:
        """True if these are all unordered pairs of n nodes, also where a tree takes distant ones."""
        return self.unordered and self.arity == 2 and self.count == n * (n - 1) // 2

    @abstractmethod
    def tuples(self) -> np.ndarray:
        """The nodes of every element, shape (count, k): for plain evaluation, Hessians and messages."""

    @abstractmethod
    def part(
        self, rng: np.random.Generator, elements: int, targets: int
    ) -> tuple["Elements", np.ndarray | None]:
        """A random part of the same kind, at most so many elements (or targets, where the loop has targets).

        Returns the part, and the rows of elements in it for values by element; None if there are no such.
        """

    @property
    def count(self) -> int:
        """E: how many elements there are."""
        return len(self.tuples())

    @property
    def empty(self) -> bool:
        """True if there are no elements, as of lists of neighbours where there are none."""
        return not self.count

    @property
    def rows(self) -> int:
        """How many iterations the loop has: rows of the buffers that kernels fill."""
        return len(self.nodes)

    @property
    def room(self) -> int:
        """How many rows the buffers that kernels fill need, so that elements can be rebuilt in place."""
        return self.rows

    @property
    def defined(self) -> bool:
        """False where positions are not finite, so that who interacts with whom is not known."""
        return True

    @property
    def members(self) -> np.ndarray:
        """The nodes of all elements, each once, in increasing order."""
        return each_once(self.nodes)

    @property
    def form(self) -> tuple[int, ...]:
        """The shape of an array with a value for each element of a copy, as values are given and reported."""
        return (self.count // self.copies,)

    @property
    def own_values(self) -> bool:
        """True if data and parameters may have a value for each element."""
        return self.fixed and not self.loop.per_target

    def arrays(self) -> dict[str, Any]:
        """The arrays that the loop's text names, int32; always `nodes`. Slots may be overwritten later."""
        return {"nodes": self.nodes}

    def derived_array(self, name: Hashable, make: Callable[[], np.ndarray]) -> Any:
        """An array for kernels that follows from the elements; a slot where these are rebuilt in place.

        `make` computes it from the present elements. Equal names mean the same array.
        """
        return make()

    def in_lanes(self, name: Hashable, make: Callable[[], np.ndarray], wide: int) -> lane_blocks.Blocks:
        """The same of an array with a row for each row of the loop, in blocks of `wide` lanes."""
        return lane_blocks.rows_in_blocks(make(), wide)

    def of_row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """The elements of one iteration: their nodes, (n, k), and which of them are counted there, (n,)."""
        if self.loop.per_target:
            raise NotImplementedError(f"{type(self).__name__} needs `of_row`: its loop is over targets")
        return self.nodes[row : row + 1], np.ones(1, bool)

    @property
    def has_own_nodes(self) -> bool:
        """True if each iteration of the loop has a node of its own."""
        return self.loop.per_target or (self.arity == 1 and len(self.members) == self.rows)

    def gather(self, nodes: int, slots: Sequence[int] | None = None) -> Gather | None:
        """The CSR list that sums over slots by node; None if each iteration has a node of its own.

        `nodes`: how many there are. `slots`: some of an element, default all; number k of them has the place
        e * len(slots) + k in element e.
        """
        if self.has_own_nodes:
            return None
        return Gather.of(self.nodes if slots is None else self.nodes[:, list(slots)], nodes)

    def following(self, reference: ListReference | None) -> "Elements":
        """The same kind of elements over twins of the fields, whose lists have this reference."""
        return self

    def rebuild(self, fields: Mapping[str, np.ndarray]) -> "Elements":
        """The elements at these node fields, by argument of the energy (none for those that are `listed`).

        They are self if they have not changed.

        `Potential.refresh` calls it before every evaluation, unless they are `fixed`, and makes new kernels
        for other elements. Those that are `listed` are at the reference of lists, which follows before. The
        same ones may have overwritten the slots among their arrays (`version`). A
        kernel of many steps does not return here between steps, so integrators and adjoints fuse steps only
        where all elements are fixed.
        """
        return self

    def free_part(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> float:
        """The part of the straight way between node fields, by argument, on which U is finite."""
        return 1.0

    def trouble(self, fields: Mapping[str, np.ndarray]) -> str:
        """In words, why node fields are where U is not defined, though its numbers are finite; "" if not."""
        return ""


def each_once(nodes: np.ndarray) -> np.ndarray:
    """The different nodes of an array of node numbers, in increasing order.

    By marks: `np.unique` hashes, and takes six seconds for the four million cells of a large canvas.
    """
    met = np.zeros(nodes.max(initial=-1) + 1, bool)
    met[nodes] = True
    return np.flatnonzero(met).astype(nodes.dtype)
