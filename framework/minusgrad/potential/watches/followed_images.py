"""Images that follow the positions that callers write: of listed tuples, and of excluded pairs.

A run moves positions by kernels, and its images stay, also where a bond becomes longer than half the box.
Whoever writes positions may write others for the same state, such as a frame in which nodes are wrapped into
the box: then images are chosen for them, by the same rule. The fields of a simulation have `images_stay`, and
what must not change there is refused (`other_images`).

Decisions 0021.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...elements.periodic_box import PeriodicBox
from ...energies.fields import BOX, POSITIONS, Fields
from ...energies.local_energy import IMAGES
from ...energies.term import Term
from ...engine import storage


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
        lists = fields.lists_or_none
        return made if made._terms or (lists is not None and lists.excludes) else None

    def follow(self) -> None:
        """Choose the images at the present positions, if these or the box were written meanwhile."""
        if self._fields.images_stay:
            return
        assert self._fields.box is not None
        x = self._fields[POSITIONS].array
        if (writes := x.writes + self._fields.box.array.writes) == self._seen:
            return
        self._seen = writes
        values, box = np.asarray(storage.host(x), np.float64), self._fields.geometry
        assert box is not None
        if np.isfinite(values).all():
            for term in self._terms:
                term.follow_images(values, box)
            self._fields.follow_excluded(values, box)


def other_images(
    terms: Iterable[Any], fields: Fields, x: np.ndarray | None = None, box: np.ndarray | None = None
) -> str:
    """The first term whose tuples have other images at positions x (n, d) than now, in words; "" if none has.

    x, box (1, d, d): default: the present ones.
    """
    if not any(fields.periodic) or POSITIONS not in fields:
        return ""
    places = np.asarray(fields[POSITIONS].values if x is None else x, np.float64)
    edges = fields[BOX].values if box is None else box
    around = PeriodicBox.of(edges[0], fields.periodic)
    if not np.isfinite(places).all():
        return ""
    for term in terms:
        if not isinstance(term, Term) or term.rule is None:
            continue
        present = storage.host(term.data[IMAGES]) if IMAGES in term.data else 0.0
        if (rows := np.flatnonzero((term.rule.at(places, around) != present).any(axis=(1, 2)))).size:
            nodes = term.elements.nodes[rows[0]].tolist()
            return f"row {rows[0]} = {nodes} of '{term.name}' in other images of the box than at the start"
    return ""
