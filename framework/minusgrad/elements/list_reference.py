"""The reference of neighbour lists: the positions, and the box, for which they were built.

A pair that is not listed was further apart than the reach of its list, the cutoff and the skin. It cannot be
within the cutoff as long as

    slack = least stretch * reach - cutoff >= displacement of one + displacement of the other

where the displacement is that from the reference position, moved with the box, and the least stretch is the
smallest singular value of the deformation of the box. Twice the largest displacement is compared first. Where
it exceeds the slack, the few nodes that could be in such a pair are searched (`unlisted_pairs`). The
reference is saved with a run, because the order of sums follows from it: a resumed run has the lists of one
that was not interrupted.

At positions or in a box with NaN or infinity there are no lists: a comparison with NaN is false, so that
kernels would take such a node for one beyond every cutoff. The numbers of all terms with a list are NaN
there (`defined`).

Decisions 0050, 0051, 0284, 0312.
"""

import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

import numpy as np

from ..engine import storage
from ..errors import EnergyError
from .displacements import Displacements
from .periodic.position_rounding import PositionRounding
from .periodic_box import PeriodicBox
from .unlisted_pairs import Moved

POSITIONS, BOX = "x", "box"
"""The fields with the positions of nodes, which periodic images displace, and with the box."""


class Choice(Protocol):
    """Which list it is: equal keys are equal lists."""

    @property
    def key(self) -> Hashable: ...


ChoiceT = TypeVar("ChoiceT", bound=Choice)
ListT = TypeVar("ListT")


class ListReference:
    """Positions (n, d) and box (1, d, d), or None, for which the lists of neighbours of fields are built.

    `periodic`: by axis. `lists`: those that terms share, by what they list. `margins`: cutoff and reach of
    each list within a cutoff; `trees`: those that say themselves at which positions they serve. `defined`:
    False where the positions and the box that were followed last are not finite.
    """

    def __init__(self, positions: np.ndarray, box: np.ndarray | None, periodic: tuple[bool, ...] = ()):
        self.positions = storage.ArraySlot(storage.allocate(positions))
        self.box = None if box is None else storage.ArraySlot(storage.allocate(box))
        self.periodic = periodic
        self._displacements: Displacements | None = None
        self.margins: set[tuple[float, float]] = set()
        self.lists: dict[Any, Any] = {}
        self.trees: list[Any] = []
        self.defined = True
        self._rounding = PositionRounding()
        self._warn_of_rounding()

    def twin(self, dtype: np.dtype) -> "ListReference":
        """The same positions and box in memory of their own and of this type, without lists."""
        box = None if self.box is None else storage.host(self.box).astype(dtype)
        return ListReference(storage.host(self.positions).astype(dtype), box, self.periodic)

    def shared_list(self, choice: ChoiceT, make: "Callable[[ChoiceT, ListReference], ListT]") -> ListT:
        """The list of a choice, which all terms over some fields share: made at first use."""
        if choice.key not in self.lists:
            self.lists[choice.key] = make(choice, self)
        return self.lists[choice.key]

    @property
    def excludes(self) -> bool:
        """True if a list leaves out pairs."""
        return any(getattr(one, "excluded", None) is not None for one in self.lists.values())

    def follow_excluded(self, x: np.ndarray, box: PeriodicBox) -> bool:
        """Choose the images of pairs that lists leave out at these positions; True if one is another."""
        every = [getattr(one, "excluded", None) for one in self.lists.values()]
        changed = [one.follow(x, box) for one in {id(e): e for e in every if e is not None}.values()]
        return any(changed)

    @property
    def lasts(self) -> bool:
        """True if there are lists that serve for other positions, too: their bits depend on the reference."""
        return bool(self.margins) or any(tree.choice.skin > 0.0 for tree in self.trees)

    @contextmanager
    def keep_reference(self) -> Iterator[None]:
        """Be the same reference on leaving, wherever energies were evaluated meanwhile."""
        if not self.lasts:
            yield
            return
        version, positions = self.version, storage.host(self.positions).copy()
        box = None if self.box is None else storage.host(self.box).copy()
        try:
            yield
        finally:
            if self.version != version:
                self.move(positions, box)

    @property
    def version(self) -> int:
        """How often the reference was overwritten; it only grows."""
        return self.positions.writes + (self.box.writes if self.box is not None else 0)

    def follow(self, x: Any, box: np.ndarray | None) -> None:
        """Move the reference to these positions and this box, unless all lists still have every pair.

        x: the array of a field. The reference stays where positions or box are not finite, and is not
        `defined`.
        """
        serve = [
            self._still_serves(x, box) if self.margins else True,
            self._trees_serve(storage.host(x), box) if self.trees else True,
        ]
        self.defined = None not in serve
        if self.defined and not all(serve):
            self._overwrite_reference(storage.host(x), box)

    def _trees_serve(self, x: np.ndarray, box: np.ndarray | None) -> bool | None:
        """True if all trees are used at these positions in this box; None where numbers are not finite."""
        same_box = box is None or self._in_the_box(box)
        if same_box and all(tree.serves(x) for tree in self.trees):
            return True
        return False if np.isfinite(x).all() and (box is None or np.isfinite(box).all()) else None

    def _in_the_box(self, box: np.ndarray) -> bool:
        return self.box is None or np.array_equal(self.box.last_stored, box)

    def move(self, x: Any, box: Any) -> None:
        """Overwrite the reference: all lists are rebuilt before they are used again.

        Raises `EnergyError` for positions at which no list can be built.
        """
        refuse_unlistable("lists of neighbours", x)
        self._overwrite_reference(x, box)

    def _overwrite_reference(self, x: Any, box: Any) -> None:
        storage.store(self.positions, x)
        if self.box is not None:
            storage.store(self.box, box)
        self._warn_of_rounding()

    def _warn_of_rounding(self) -> None:
        if self.box is not None and (
            text := self._rounding.warning(storage.host(self.positions), self.geometry)
        ):
            warnings.warn(text, stacklevel=2)

    def _still_serves(self, x: Any, box: np.ndarray | None) -> bool | None:
        """True if no unlisted pair can be within its cutoff; None where numbers are not finite."""
        displacements, deformation, least = self._from_reference(x), np.eye(x.shape[1]), 1.0
        if self.box is not None and box is not None and not np.array_equal(self.box.last_stored, box):
            if not np.isfinite(box).all():
                return None
            old, new = (np.asarray(h, np.float64)[0] for h in (storage.host(self.box), box))
            deformation = np.linalg.solve(old, new)
            least = float(np.linalg.svd(deformation, compute_uv=False).min())
        else:
            limit = 0.5 * min(reach - cutoff for cutoff, reach in self.margins)
            if limit > 0.0 and displacements.surely_below(limit):
                return True
        far = displacements.lengths(deformation)
        if not np.isfinite(far.max()):
            return None
        of_box = None if box is None else PeriodicBox.of(box[0], self.periodic)
        moved = Moved(storage.host(x), storage.host(self.positions), far, deformation, of_box)
        return not any(moved.enter(cutoff, least * reach) for cutoff, reach in self.margins)

    def _from_reference(self, x: Any) -> Displacements:
        if self._displacements is None or self._displacements.x is not x:
            self._displacements = Displacements(x, self.positions)
        return self._displacements

    @property
    def geometry(self) -> PeriodicBox | None:
        """The box of the reference; None without one."""
        return None if self.box is None else PeriodicBox.of(storage.host(self.box)[0], self.periodic)


def refuse_unlistable(what: str, x: np.ndarray) -> None:
    """Raise `EnergyError`, whose text begins with `what`, for the first node at which no list can be built.

    x: positions (n, d). Squares of distances must be finite, too.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.isfinite(np.square(x, dtype=np.float64).sum(axis=1))
    if not found.all():
        node = int(np.argmin(found))
        finite = "positions with finite squares" if np.isfinite(x[node]).all() else "finite positions"
        raise EnergyError(f"{what}: needs {finite}, got {x[node].tolist()} of node {node}; correct them")
