"""Images of the nodes of listed tuples in a periodic box: each node follows another one of its tuple.

    n_k = n_p + the whole numbers m for which |x_k - x_p + m . box| is least,      p the parent of slot k

n_k (d,) is the image of the node in slot k: it acts at x_k + n_k . box. The parents of the slots make a tree
whose root is the first slot, of image 0. An energy declares them:

    "chain"      the slot before: bonds, angles, proper torsions (the default)
    "first"      the first slot: cells and facets, whose nodes are all near one another
    (2, 0, 2)    the parent of slot 1, of slot 2, of slot 3: an improper torsion around slot 2

A list may have images of its own in place of these: two bonds between the same two atoms, or a bond of an
atom with its own image. They are those of the positions at which the list was bound; at other positions each
edge is taken nearest to what it was, in units of the edges of the box.

Decisions 0020.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import EnergyError
from ..periodic_box import PeriodicBox

Follow = str | tuple[int, ...]
"""How images follow, as an energy declares it."""
CHAIN, FIRST = "chain", "first"
REPEATED = 3.0
"""How much longer the second image of a pair is, at least, if another row means the same image."""
CLEAR = 1.1
"""How much longer than an edge its other images are, at least, if the nearest one is no matter of choice."""


def declared_images(what: str, images: Any, listed: bool, arity: int | None) -> Follow:
    """How images follow, checked. Raises `EnergyError` for what is no tree of the slots.

    listed: whether elements are tuples of a list; arity: their length, None for any.
    """
    if not listed:
        if images != CHAIN:
            raise EnergyError(
                f"{what}: is over no list of tuples, got images = {images!r}; leave `images` out"
            )
        return CHAIN
    if images in (CHAIN, FIRST):
        return str(images)
    whole = isinstance(images, Sequence) and all(type(p) is int for p in images)
    if not whole or arity is None or isinstance(images, str):
        raise EnergyError(
            f'{what}.images: must be "chain", "first", or of tuples of one length the parents of the slots'
            f" after the first, got {images!r}; write one of them"
        )
    tree = np.array([0, *images])
    if len(tree) != arity or not _is_tree(tree):
        raise EnergyError(
            f"{what}.images: must lead from each of the slots 1 to {arity - 1} to slot 0, got"
            f" {tuple(images)!r}; write the parent of each of them"
        )
    return tuple(images)


def _is_tree(parents: np.ndarray) -> bool:
    """True if every slot leads to the first one."""
    if ((parents < 0) | (parents >= len(parents))).any():
        return False
    reached = parents
    for _ in parents:
        reached = parents[reached]
    return not reached.any()


def parents_of(images: Follow, arity: int, slots: Sequence[int]) -> np.ndarray:
    """The parent of each slot, (arity,); a slot without one is its own.

    slots: those whose nodes have positions.
    """
    parents = np.arange(arity)
    if images == FIRST:
        parents[list(slots)] = slots[0]
    elif images == CHAIN:
        parents[list(slots[1:])] = slots[:-1]
    else:
        parents[1:] = images
    return parents


def sentence(nodes: np.ndarray, rows: np.ndarray, what: str) -> str:
    """Rows in words, the first of them by its nodes."""
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return (
        f"row {rows[0]} = {nodes[rows[0]].tolist()}{more} {what}: U depends on the choice; give `images` of"
        " the list, or take a larger box"
    )


@dataclass(frozen=True)
class TupleImages:
    """Tuples `nodes` (E, k) and the `parents` of their slots, (k,) or (E, k).

    `given`: the images (E, k, d) of a list that has its own, at the positions `x` in the `box` at which it
    was bound; None: the nearest.
    """

    nodes: np.ndarray
    parents: np.ndarray
    given: np.ndarray | None = None
    x: np.ndarray | None = None
    box: PeriodicBox | None = None

    def at(self, x: np.ndarray, box: PeriodicBox) -> np.ndarray:
        """The images (E, k, d) of the nodes at positions x (n, d)."""
        return self._sum_steps(box.nearest(self._image_mismatch(x, box)) + self._relative_images)

    def still(self, images: np.ndarray, x: np.ndarray, box: PeriodicBox) -> bool:
        """True if these images are surely those of `at`: no edge is off by half the height of the box."""
        steps = images - self._of_parents(images) - self._relative_images
        off = self._image_mismatch(x, box) + steps @ box.vectors
        limit = 0.5 * box.least_height
        return bool((np.einsum("eki,eki->ek", off, off) < limit * limit).all())

    def unclear(self, x: np.ndarray, box: PeriodicBox) -> np.ndarray:
        """The rows with an edge that has another image of about the same length; none if they are given."""
        if self.given is not None:
            return np.empty(0, np.intp)
        return np.flatnonzero(box.ambiguous(self._image_mismatch(x, box), CLEAR).any(axis=1))

    @cached_property
    def _relative_images(self) -> np.ndarray | int:
        """The given images relative to those of parents; 0 where none are given."""
        return 0 if self.given is None else self.given - self._of_parents(self.given)

    @cached_property
    def _wanted_edges(self) -> np.ndarray:
        """The edges at which images are given, in units of the edges of the box."""
        assert self.given is not None
        assert self.x is not None
        assert self.box is not None
        places = self.box.fractions(self.x)[self.nodes] + self.given
        return places - self._of_parents(places)

    def _image_mismatch(self, x: np.ndarray, box: PeriodicBox) -> np.ndarray:
        """How far edges are from those that are wanted, (E, k, d): zero, or those of given images."""
        at = np.asarray(x, np.float64)[self.nodes]
        edges = at - self._of_parents(at)
        return (
            edges
            if self.given is None
            else edges + (self._relative_images - self._wanted_edges) @ box.vectors
        )

    def _of_parents(self, of_nodes: np.ndarray) -> np.ndarray:
        """The values (E, k, ...) at the parents of all slots."""
        if self.parents.ndim == 1:
            return of_nodes[:, self.parents]
        return np.take_along_axis(of_nodes, self.parents[:, :, None], axis=1)

    def _sum_steps(self, steps: np.ndarray) -> np.ndarray:
        """Images from those relative to parents, which are zero of roots."""
        found = steps
        for _ in range(self.nodes.shape[1]):
            further = steps + self._of_parents(found)
            if np.array_equal(further, found):
                break
            found = further
        return found.astype(np.int32)

    def remark(self, x: np.ndarray, box: PeriodicBox) -> str:
        """A sentence about rows whose images are a matter of choice; "" if there are none."""
        images = self.at(x, box)
        if (rows := self.unclear(x, box)).size:
            return sentence(self.nodes, rows, "has an edge whose second image is about as near")
        if (
            self.nodes.shape[1] == 2
            and self.given is None
            and (rows := self._repeated_rows(images, x, box)).size
        ):
            return sentence(self.nodes, rows, "joins the nodes of another row, in the same image")
        return ""

    def _repeated_rows(self, images: np.ndarray, x: np.ndarray, box: PeriodicBox) -> np.ndarray:
        """The rows of pairs that repeat another one, although the box has a second image not far away."""
        turned = (self.nodes[:, 0] > self.nodes[:, 1])[:, None]
        pairs = np.where(turned, self.nodes[:, ::-1], self.nodes)
        moves = np.where(turned, -1, 1) * (images[:, 1] - images[:, 0])
        _, first = np.unique(np.concatenate([pairs, moves], axis=1), axis=0, return_index=True)
        rows = np.setdiff1d(np.arange(len(pairs)), first)
        return rows[box.ambiguous(self._image_mismatch(x, box)[rows, 1], REPEATED)]

    def of_rows(self, rows: np.ndarray) -> "TupleImages":
        """Those of some tuples, by a mask or by numbers."""
        parents = self.parents if self.parents.ndim == 1 else self.parents[rows]
        given = None if self.given is None else self.given[rows]
        return replace(self, nodes=self.nodes[rows], parents=parents, given=given)
