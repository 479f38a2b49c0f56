"""Images that follow the positions that callers write: of listed tuples, and of excluded pairs.

A run moves positions by kernels, and its images stay, also where a bond becomes longer than half the box.
Whoever writes positions may write others for the same state, such as a frame in which nodes are wrapped into
the box: then images are chosen for them, by the same rule. The fields of a simulation have `images_stay`, and
what must not change there is refused (`other_images`).

Decisions 0021, 0152.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...elements.periodic_box import PeriodicBox
from ...energies.fields import BOX, POSITIONS, Fields
from ...energies.local_energy import IMAGES
from ...energies.term import Term
from ...engine import storage
from ..map_chain import MapChain


class FollowedImages:
    """The images of `terms` over fields in a periodic box, chosen once for each write of positions or box."""

    def __init__(self, terms: Iterable[Any], fields: Fields):
        own = (term for term in terms if isinstance(term, Term) and term.rule is not None)
        self._terms = [term for term in own if IMAGES in term.data]
        self._fields, self._seen = fields, -1

    @classmethod
    def of(cls, terms: Iterable[Any], fields: Fields) -> "FollowedImages | None":
        """Those of terms that have images; None where images stay."""
        if fields.images_stay or not any(fields.periodic) or POSITIONS not in fields:
            return None
        made = cls(terms, fields)
        return made if made._terms or fields.lists_exclude else None

    def follow(self, compute_places: Callable[[], None]) -> None:
        """Choose the images at the present positions, if these or the box were written meanwhile.

        compute_places: recomputes the positions that maps give, from those that were written.
        """
        if self._fields.images_stay:
            return
        assert self._fields.box is not None
        x = self._fields[POSITIONS].array
        if (writes := x.writes + self._fields.box.array.writes) == self._seen:
            return
        self._seen = writes
        self._follow_at(POSITIONS)
        if others := self._computed_places():
            compute_places()
            for places in others:
                self._follow_at(places)

    def _computed_places(self) -> list[str]:
        """The fields of positions that maps compute, at which there are images."""
        found = {term.places_field for term in self._terms} | set(self._fields.listed_positions)
        return sorted(found - {POSITIONS})

    def _follow_at(self, places: str) -> None:
        """Choose the images of the tuples and excluded pairs that are at a field of positions."""
        values, box = self._fields[places].values.astype(np.float64), self._fields.geometry
        assert box is not None
        if np.isfinite(values).all():
            for term in self._terms:
                if term.places_field == places:
                    term.follow_images(values, box)
            self._fields.follow_excluded(places, box)


def other_images(
    terms: Iterable[Any], fields: Fields, x: np.ndarray | None = None, box: np.ndarray | None = None
) -> str:
    """The first term whose tuples have other images at positions x (n, d) than now, in words; "" if none has.

    x, box (1, d, d): default: the present ones.
    """
    if not any(fields.periodic) or POSITIONS not in fields:
        return ""
    written = np.asarray(fields[POSITIONS].values if x is None else x, np.float64)
    edges = fields[BOX].values if box is None else box
    around = PeriodicBox.of(edges[0], fields.periodic)
    if not np.isfinite(written).all():
        return ""
    own = [term for term in terms if isinstance(term, Term)]
    ruled = [term for term in own if term.rule is not None]
    places = {POSITIONS: written}
    if any(term.places_field != POSITIONS for term in ruled):
        places |= _computed_places(own, fields, written, edges)
    for term in ruled:
        present = storage.host(term.data[IMAGES]) if IMAGES in term.data else 0.0
        found = term.rule.at(places[term.places_field], around)
        if (rows := np.flatnonzero((found != present).any(axis=(1, 2)))).size:
            nodes = term.elements.nodes[rows[0]].tolist()
            return f"row {rows[0]} = {nodes} of '{term.name}' in other images of the box than at the start"
    return ""


def _computed_places(
    terms: Iterable[Term], fields: Fields, x: np.ndarray, box: np.ndarray
) -> dict[str, np.ndarray]:
    """The positions that maps among the terms give, at positions x (n, d) in a box (1, d, d), by field."""
    twin = fields.twin()
    twin[POSITIONS].set(x)
    twin[BOX].set(box)
    maps = {term.name: term.twin(twin) for term in terms if any(f.places for f in term.outputs.values())}
    chain = MapChain(list(maps.values()))
    chain.compute_places(0.0)
    return {n: f.values.astype(np.float64) for n, f in chain.outputs.items() if f.places}
