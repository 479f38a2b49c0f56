"""Elements as a list of node tuples, all of one length; single nodes are tuples of one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import EnergyError
from .elements import Elements
from .loops import EachElement, Loop
from .node_numbers import node_numbers


@dataclass(frozen=True)
class NodeTuples(Elements):
    """Elements as rows of node numbers, shape (E, k), int32."""

    nodes: np.ndarray
    copies: int = 1

    @classmethod
    def of(
        cls, rows: Sequence | np.ndarray, arity: int | None, count: int | None, what: str = "tuples"
    ) -> "NodeTuples":
        """Checked tuples of `arity` (None: any) over `count` nodes (None: their numbers are not checked).

        There may be none. Raises `EnergyError` with the first bad row.
        """
        nodes = np.asarray(rows)
        if not nodes.size and nodes.shape[-1] in (0, arity) and arity:
            nodes = np.zeros((0, arity), np.int32)
        fits = nodes.ndim == 2 and nodes.shape[1] > 0 and nodes.shape[1] == (arity or nodes.shape[1])
        if not fits or nodes.dtype.kind not in "iu":
            shape, many = f"{nodes.dtype} of shape {list(nodes.shape)}", f"{arity} " if arity else ""
            raise EnergyError(f"{what}: needs rows of {many}node numbers, got {shape}")
        if count is not None and (outside := ((nodes < 0) | (nodes >= count)).any(axis=1)).any():
            row = int(np.argmax(outside))
            found = nodes[row].tolist()
            raise EnergyError(f"{what}: row {row} = {found} names a node outside 0..{count - 1}")
        return cls(node_numbers(what, nodes))

    @property
    def arity(self) -> int:
        return self.nodes.shape[1]

    @property
    def loop(self) -> Loop:
        return EachElement()

    @property
    def count(self) -> int:
        return len(self.nodes)

    def tuples(self) -> np.ndarray:
        return self.nodes

    def part(
        self, rng: np.random.Generator, elements: int, targets: int
    ) -> tuple["NodeTuples", np.ndarray | None]:
        rows = np.sort(rng.permutation(self.count)[:elements])
        return NodeTuples(self.nodes[rows]), rows


@dataclass(frozen=True)
class AllCombinations(NodeTuples):
    """Every node of one set, with every node of another: (0, 0), (0, 1), ..., (1, 0), (1, 1), ...

    With copies each set has as many equal blocks, and nodes of the same block are combined.
    """

    @classmethod
    def of_sizes(cls, *sizes: int, copies: int = 1) -> "AllCombinations":
        """The combinations of sets with so many nodes in a copy; the last one varies first."""
        rows = np.indices((copies, *sizes), np.int32).reshape(len(sizes) + 1, -1).T
        nodes = rows[:, 1:] + rows[:, :1] * np.array(sizes, np.int32)
        return cls(np.ascontiguousarray(nodes), copies)

    @property
    def form(self) -> tuple[int, ...]:
        return tuple(((self.nodes[-1] + 1) // self.copies).tolist())
