"""Pairs of nodes whose images follow from the links between them: excluded and scaled pairs of molecules.

    image of the second node = sum over the links of the path from the first; links: bonds, or the pair itself

In a small box a pair may be linked through several images, and each is a row: in quartz two oxygens have two
silicons in common. A path takes no link back at once, so that a node is also linked to its own images.

Decisions 0020.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..periodic_box import PeriodicBox
from .tuple_images import TupleImages, sentence

PAIR = np.array([0, 0])
"""The parents of the slots of a pair."""


@dataclass(frozen=True)
class LinkedPairs:
    """Pairs along `steps` (P, m): numbers of links from 1, negative backwards; 0: no further step.

    `links`: lists of pairs with their images, which steps number one after another. `every`: the pairs with
    all of their shortest paths, where these are one of each. NumPy takes it as the array of its `pairs`.
    """

    links: tuple[TupleImages, ...]
    steps: np.ndarray
    every: "LinkedPairs | None" = None

    @classmethod
    def of(cls, given: Any, images: np.ndarray | None = None) -> "LinkedPairs":
        """Pairs (P, 2) that are links themselves, of the nearest or these images; linked ones as they are."""
        if isinstance(given, cls):
            return given
        rows = np.asarray(given, np.int64).reshape(-1, 2)
        return cls((TupleImages(rows, PAIR, images),), np.arange(1, len(rows) + 1)[:, None])

    @classmethod
    def along(cls, links: Sequence[TupleImages], most: int) -> "LinkedPairs":
        """All pairs that at most so many links join, by all paths, shortest first; each in one direction."""
        found = cls(tuple(links), np.zeros((0, most), np.int64))
        paths = found._of_one_link(most)
        every = [paths]
        for length in range(1, most):
            paths = found._lengthen_paths(paths, length)
            every.append(paths)
        whole = replace(found, steps=np.concatenate(every))
        return whole.of_rows(whole.pairs[:, 0] <= whole.pairs[:, 1])

    @classmethod
    def joined(cls, lists: Iterable["LinkedPairs"]) -> "LinkedPairs":
        """The pairs of several lists, one list after another."""
        links: list[TupleImages] = []
        steps: list[np.ndarray] = []
        for one in lists:
            before = sum(len(part.nodes) for part in links)
            steps.append(np.where(one.steps == 0, 0, one.steps + np.sign(one.steps) * before))
            links += one.links
        most = max((rows.shape[1] for rows in steps), default=1)
        padded = [np.pad(rows, ((0, 0), (0, most - rows.shape[1]))) for rows in steps]
        return cls(tuple(links), np.concatenate([np.zeros((0, most), np.int64), *padded]))

    def __len__(self) -> int:
        return len(self.steps)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.pairs if dtype is None else self.pairs.astype(dtype)

    @cached_property
    def pairs(self) -> np.ndarray:
        """The first and the last node of each path, (P, 2)."""
        last = np.maximum((self.steps != 0).sum(axis=1) - 1, 0)
        ends = self.steps[np.arange(len(self.steps)), last]
        return np.stack([self._start_nodes(self.steps[:, 0]), self._start_nodes(-ends)], axis=1)

    def placed(self, x: np.ndarray, box: PeriodicBox) -> "LinkedPairs":
        """The same with the positions and the box at which images of links are given."""
        own = [one if one.given is None else replace(one, x=np.array(x), box=box) for one in self.links]
        return replace(self, links=tuple(own))

    def at(self, x: np.ndarray, box: PeriodicBox) -> np.ndarray:
        """The images (P, 2, d) of both nodes at positions x (n, d)."""
        of_links = [one.at(x, box)[:, 1] for one in self.links]
        moves = np.concatenate([np.zeros((1, x.shape[1]), np.int32), *of_links])
        second = (np.sign(self.steps)[:, :, None] * moves[np.abs(self.steps)]).sum(axis=1)
        return np.stack([np.zeros_like(second), second], axis=1).astype(np.int32)

    def still(self, images: np.ndarray, x: np.ndarray, box: PeriodicBox) -> bool:
        """True if these images are those of `at`."""
        return np.array_equal(images, self.at(x, box))

    def unclear(self, x: np.ndarray, box: PeriodicBox) -> np.ndarray:
        """The rows with a link that has another image of about the same length."""
        flags = [np.zeros(1, bool)]
        for one in self.links:
            flags.append(np.isin(np.arange(len(one.nodes)), one.unclear(x, box)))
        return np.flatnonzero(np.concatenate(flags)[np.abs(self.steps)].any(axis=1))

    def remark(self, x: np.ndarray, box: PeriodicBox) -> str:
        """A sentence about links whose images are a matter of choice; "" if there are none."""
        if self.every is not None:
            pairs = self.every.placed(x, box).different(x, box).pairs
            low, high = np.sort(self.pairs, axis=1).T
            found, times = np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)
            several = {tuple(pair) for pair in found[times > 1].tolist()}
            rows = [row for row, pair in enumerate(zip(low, high, strict=True)) if pair in several]
            if rows:
                return sentence(self.pairs, np.array(rows), "is joined by bonds through several images")
        return next(filter(None, (one.remark(x, box) for one in self.links)), "")

    def of_rows(self, rows: np.ndarray) -> "LinkedPairs":
        """Some of the pairs, by a mask or by numbers."""
        return replace(self, steps=self.steps[rows])

    def turned(self, rows: np.ndarray) -> "LinkedPairs":
        """The same with the pairs of a mask from their second node to the first."""
        steps, lengths = self.steps.copy(), (self.steps != 0).sum(axis=1)
        for length in range(1, steps.shape[1] + 1):
            some = np.flatnonzero(rows & (lengths == length))
            steps[some, :length] = -steps[some, :length][:, ::-1]
        return replace(self, steps=steps)

    def different(self, x: np.ndarray, box: PeriodicBox | None) -> "LinkedPairs":
        """Each pair of nodes and images once, at positions x: the first path of each; no node with itself."""
        pairs = self.pairs
        images = np.zeros((len(pairs), x.shape[1]), np.int64) if box is None else self.at(x, box)[:, 1]
        rows = np.concatenate(orient_pairs(pairs, images), axis=1)
        _, first = np.unique(rows, axis=0, return_index=True)
        first = np.sort(first)
        return self.of_rows(first[(pairs[first, 0] != pairs[first, 1]) | images[first].any(axis=1)])

    # Paths

    @cached_property
    def _link_nodes(self) -> np.ndarray:
        """The nodes of all links, (L, 2)."""
        return np.concatenate([np.zeros((0, 2), np.int64), *(one.nodes for one in self.links)]).astype(int)

    def _start_nodes(self, steps: np.ndarray) -> np.ndarray:
        """The nodes that steps begin at; 0 where there is none."""
        if not len(self._link_nodes):
            return np.zeros(len(steps), int)
        number = np.abs(steps) - 1
        return np.where(steps > 0, self._link_nodes[number, 0], self._link_nodes[number, 1])

    def _of_one_link(self, most: int) -> np.ndarray:
        forth = np.arange(1, len(self._link_nodes) + 1)
        paths = np.zeros((2 * len(forth), most), np.int64)
        paths[:, 0] = np.concatenate([forth, -forth])
        return paths

    def _lengthen_paths(self, paths: np.ndarray, length: int) -> np.ndarray:
        """The paths with one link more; the last of so many is not taken back."""
        steps = self._of_one_link(1)[:, 0]
        starts = self._start_nodes(steps)
        order = np.argsort(starts, kind="stable")
        last = paths[:, length - 1]
        ends = self._start_nodes(-last)
        begin = np.searchsorted(starts[order], ends)
        many = np.searchsorted(starts[order], ends, side="right") - begin
        row = np.repeat(np.arange(len(paths)), many)
        inside = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
        further = steps[order][np.repeat(begin, many) + inside]
        longer = paths[row]
        longer[:, length] = further
        return longer[further != -last[row]]


def orient_pairs(pairs: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs with the smaller node first; of one node, with an image whose first number is positive."""
    nonzero = images != 0
    lead = np.take_along_axis(images, nonzero.argmax(axis=1)[:, None], axis=1)[:, 0]
    turned = (pairs[:, 0] > pairs[:, 1]) | ((pairs[:, 0] == pairs[:, 1]) & (lead < 0))
    return np.where(turned[:, None], pairs[:, ::-1], pairs), np.where(turned[:, None], -images, images)


def pairs_by_links(rows: np.ndarray, links: Sequence[TupleImages], most: int) -> LinkedPairs:
    """Pairs (P, 2) along all shortest paths of links that join them; others are links themselves.

    most: the longest paths that are sought.
    """
    own = LinkedPairs.of(rows)
    if not sum(len(one.nodes) for one in links) or not len(rows):
        return own
    paths = LinkedPairs.along(links, most)
    lengths, reached = (paths.steps != 0).sum(axis=1), np.sort(paths.pairs, axis=1)
    count = int(max(reached.max(), rows.max())) + 1
    wanted = np.sort(np.asarray(rows, np.int64), axis=1) @ [count, 1]
    keys = reached @ [count, 1]
    known = np.isin(keys, wanted) & (reached[:, 0] != reached[:, 1])
    paths, keys, lengths = paths.of_rows(known), keys[known], lengths[known]
    order = np.lexsort((lengths, keys))
    paths, keys, lengths = paths.of_rows(order), keys[order], lengths[order]
    least = lengths[np.searchsorted(keys, keys)]
    return LinkedPairs.joined([paths.of_rows(lengths == least), own.of_rows(~np.isin(wanted, keys))])


def along_bonds(rows: np.ndarray, links: Sequence[TupleImages], most: int) -> LinkedPairs:
    """Pairs (P, 2), in their order, each along the first of the shortest paths of links that join it."""
    every = pairs_by_links(rows, links, most)
    keys = np.sort(every.pairs, axis=1)
    wanted = np.sort(np.asarray(rows, np.int64), axis=1)
    count = int(max(keys.max(initial=0), wanted.max(initial=0))) + 1
    numbers, first = np.unique(keys @ [count, 1], return_index=True)
    found = every.of_rows(first[np.searchsorted(numbers, wanted @ [count, 1])])
    return replace(found.turned(found.pairs[:, 0] != rows[:, 0]), every=every)
