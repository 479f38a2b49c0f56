"""The neo-Hookean solid in C (`reference/elastic.c`): its layouts, and its functions as columns."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from .harness.cases import Call
from .harness.compiled import DTYPE, NUMBER, Bound, aligned, library, width
from .solid import Solid

SOURCE = "elastic.c"


@dataclass(frozen=True)
class InC:
    """A solid as `elastic.c` wants it. Arrays are made once and kept."""

    solid: Solid
    precision: str
    threads: int

    @property
    def dtype(self) -> np.dtype:
        """Of its real numbers."""
        return DTYPE[self.precision]

    @cached_property
    def width(self) -> int:
        """W: tetrahedra in a register."""
        return width(SOURCE, self.precision)

    @cached_property
    def blocks(self) -> int:
        """Of W tetrahedra each."""
        return -(-len(self.solid.cells) // self.width)

    @cached_property
    def nodes(self) -> np.ndarray:
        """(blocks, 4, W)"""
        return aligned(self._blocked(self.solid.cells), np.int32)

    @cached_property
    def weights(self) -> np.ndarray:
        """(blocks, 9, W)"""
        return aligned(self._blocked(self.solid.gradients[:, 1:].reshape(-1, 9)), self.dtype)

    @cached_property
    def volumes(self) -> np.ndarray:
        """(blocks, W); zero where the last block is filled up."""
        volumes = self._blocked(self.solid.volumes[:, None])[:, 0]
        volumes.reshape(-1)[len(self.solid.cells) :] = 0.0
        return aligned(volumes, self.dtype)

    def _blocked(self, rows: np.ndarray) -> np.ndarray:
        """(E, k) to (blocks, k, W); the last row stands for those that are missing."""
        lanes = self.width
        filled = np.pad(rows, ((0, self.blocks * lanes - len(rows)), (0, 0)), mode="edge")
        return filled.reshape(self.blocks, lanes, -1).transpose(0, 2, 1)

    @cached_property
    def positions(self) -> np.ndarray:
        """(n, 4)"""
        return self.padded(self.solid.x)

    def padded(self, values: np.ndarray) -> np.ndarray:
        """(n, 3) to (n, 4)."""
        return aligned(np.pad(values, ((0, 0), (0, 1))), self.dtype)

    @cached_property
    def lists(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the list of each node begins (n + 1,), and the slots in it, in order (4 E,)."""
        cells, lanes = self.solid.cells, self.width
        order = np.argsort(cells.reshape(-1), kind="stable")
        cell, corner = np.divmod(order, 4)
        block, lane = np.divmod(cell, lanes)
        start = np.searchsorted(cells.reshape(-1)[order], np.arange(len(self.solid.x) + 1))
        return start.astype(np.int32), ((block * 12 + 3 * corner) * lanes + lane).astype(np.int32)

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where each thread's blocks begin (threads + 1,), the nodes they reach: from, to (threads,)."""
        first = np.linspace(0, self.blocks, self.threads + 1).astype(np.int32)
        reached = [self.nodes[a:b] for a, b in pairwise(first)]
        low, high = [r.min() for r in reached], [r.max() + 1 for r in reached]
        return first, np.array(low, np.int32), np.array(high, np.int32)

    @cached_property
    def _given(self) -> tuple:
        """What the functions that compute forces begin with: state, mesh, material."""
        number = NUMBER[self.precision]
        along = self.padded(self.solid.along)
        return self.positions, along, self.nodes, self.weights, self.volumes, *map(number, self.solid.lame)

    def by_slots(self, name: str) -> Call:
        """`gradient` or `product`, by the scheme that is measured: a buffer, then ordered sums."""
        n = len(self.solid.x)
        slots = aligned(np.zeros((self.blocks, 12, self.width)), self.dtype)
        out = aligned(np.zeros((n, 3)), self.dtype)
        sizes = n, self.blocks, self.threads
        run = Bound(self._function(f"{name}_by_slots"), *sizes, *self._given, *self.lists, slots, out)
        return lambda: (run(), out)[1]

    def by_parts(self, name: str) -> Call:
        """`gradient` or `product`, each thread adding to sums of its own."""
        n = len(self.solid.x)
        own = aligned(np.zeros((self.threads, n, 4)), self.dtype)
        out = aligned(np.zeros((n, 4)), self.dtype)
        run = Bound(self._function(f"{name}_by_parts"), n, self.threads, *self._given, *self.parts, own, out)
        return lambda: (run(), out[:, :3])[1]

    def element_hessians(self) -> Call:
        """The 78 numbers of each tetrahedron, (blocks, 78, W)."""
        out = aligned(np.zeros((self.blocks, 78, self.width)), self.dtype)
        x, _, *rest = self._given
        run = Bound(self._function("element_hessians"), self.blocks, self.threads, x, *rest, out)
        return lambda: (run(), out)[1]

    def _function(self, name: str) -> Any:
        return getattr(library(SOURCE, self.precision), name)
