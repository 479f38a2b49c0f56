"""Tuples of nodes that follow from a list of pairs within a cutoff: a node with some of its neighbours.

They have the images of the pairs, and the order of their targets and rows. They are listed again from the
pairs when these are. Tuples beyond the cutoff, but within the skin, have no energy.

Decisions 0290.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...errors import EnergyError
from ..changing.rewritten_tuples import RewrittenTuples, room_of
from ..list_reference import ListReference
from .pair_list import PairList


class PairTuples(RewrittenTuples):
    """The tuples of a list of pairs: `nodes` (E, k) and their `images`, int32 (E, k, d); d = 0 without a box.

    A subclass has `SIZE`, the number of nodes k, lists the tuples (`_listed_tuples`), and names one that is
    beyond the cutoff (`_tuple_beyond`), which stands where there are no others. They are listed again in
    place, as long as their number stays between the same two powers of two, which are the room of the buffers
    that kernels fill: how a run goes on does not depend on how it came about.
    """

    listed: ClassVar[bool] = True
    SIZE: ClassVar[int]

    def __init__(self, pairs: PairList):
        super().__init__()
        self._take_tuples(pairs, *self._listed_tuples(pairs))

    @classmethod
    @abstractmethod
    def _listed_tuples(cls, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        """The nodes (E, k) and images (E, k, d) of the tuples of these pairs, int32."""

    @classmethod
    @abstractmethod
    def _tuple_beyond(cls, pairs: PairList) -> tuple[np.ndarray, np.ndarray]:
        """The same of one tuple that is beyond the cutoff: kernels need an element."""

    def _take_tuples(self, pairs: PairList, nodes: np.ndarray, images: np.ndarray) -> None:
        self.pairs, self._listed_from, self._empty = pairs, pairs.version, not len(nodes)
        self.nodes, self.images = self._tuple_beyond(pairs) if self._empty else (nodes, images)

    @property
    def empty(self) -> bool:
        return self._empty

    @property
    def defined(self) -> bool:
        return self.pairs.defined

    @property
    def room(self) -> int:
        return room_of(len(self.nodes))

    def following(self, reference: ListReference | None) -> "PairTuples":
        return type(self)(self.pairs.following(reference))

    def rebuild(self, fields: Mapping[str, Any]) -> "PairTuples":
        """The tuples for the reference as it is: itself, or a list with another room."""
        pairs = self.pairs.rebuild(fields)
        if pairs is self.pairs and pairs.version == self._listed_from:
            return self
        nodes, images = self._listed_tuples(pairs)
        if not self._fits_room(pairs, nodes):
            return type(self)(pairs)
        self._take_tuples(pairs, nodes, images)
        self._renew_arrays()
        return self

    def _fits_room(self, pairs: PairList, nodes: np.ndarray) -> bool:
        """True if these tuples have the room of the present ones."""
        return room_of(len(nodes)) == self.room


def require_nodes(size: int, nodes: np.ndarray, what: str) -> None:
    """Raise `EnergyError`, whose text begins with `what`, for less nodes than a tuple of this size has."""
    if len(nodes) < size:
        of, many = {2: ("pair", "two"), 3: ("triple", "three")}[size]
        raise EnergyError(f"{what}: a {of} needs {many} nodes, got {len(nodes)}; add nodes")


def later(targets: np.ndarray) -> np.ndarray:
    """How many visits of the same target follow each visit; those of a target are consecutive."""
    last = np.searchsorted(targets, targets, side="right")
    return last - 1 - np.arange(len(targets))


def tuple_beyond(pairs: PairList, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A centre and others that are not within the reach of a list, (1, size), and images (1, size, d).

    Raises `EnergyError` for less nodes, without a periodic axis.
    """
    nodes, d = pairs.nodes, len(pairs.periodic)
    images = np.zeros((1, size, d), np.int32)
    if any(pairs.periodic):
        images[0, 1:, pairs.periodic.index(True)] = pairs.beyond
        return np.full((1, size), nodes[0]), images
    require_nodes(size, nodes, pairs.what)
    return nodes[None, :size], images
