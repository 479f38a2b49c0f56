"""Symmetries of U, declared or found by trial, and the conservation laws that its gradient must obey.

    U(x + c) = U(x)   ->   sum_i dU/dx_i = 0           translation: momentum is conserved
    U(R x)   = U(x)   ->   sum_i x_i ^ dU/dx_i = 0     rotation: so is angular momentum
    U(P x)   = U(x)   ->   dU/dx(P x) = P dU/dx(x)     permutation: equal nodes feel equal forces

(Noether 1918.) Fields of vectors are shifted one by one, and rotated together, with the edges of a periodic
box; nodes are permuted in all fields of the same length. A symmetry that U lacks is reported only if its
energy declares it; a gradient that breaks a symmetry of U is wrong.

Decisions 0280.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np

from ...energies.fields import Field, ordered_sum
from ..questions import Finding, Subject, field_spread

TRIES = 2
ALIKE = 1e3
"""Values that differ by so many rounding errors are equal."""
KEPT = 1e-8
"""The tolerance of a sum that must be zero, relative to its sum of absolute values."""

Moved = dict[str, np.ndarray]
"""Fields by name, with other values."""


@dataclass
class Symmetries:
    """Symmetry checks of a subject: `fields` that it reads, restored at the end; `gradient` by field.

    `among`: by field, the nodes in the sum; all where there is none. `box`: the field of the periodic box
    that the subject reads. `places`: by field, how data that are places are moved by a vector from the start.
    """

    subject: Subject
    fields: Mapping[str, Field]
    gradient: Callable[[str], np.ndarray]
    rng: np.random.Generator
    symmetries: Collection[str] = ()
    among: Mapping[str, np.ndarray] = field(default_factory=dict)
    box: Field | None = None
    places: Mapping[str, Callable[[np.ndarray], None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start = {name: field.values.astype(np.float64) for name, field in self.fields.items()}
        self.here = self.subject.value()
        sizes = (2, 3) if self.box is None else (self.box.shape[-1],)
        vectors = {name: x for name, x in self.start.items() if x.ndim == 2 and x.shape[1] in sizes}
        self.vectors = vectors if len({x.shape[1] for x in vectors.values()}) == 1 else {}
        self.edges = {} if self.box is None else {self.box.name: self.box.values[0].astype(np.float64)}

    def findings(self) -> Iterator[Finding]:
        """Translations of each field of vectors, rotations of all, permutations of nodes."""
        if not all(np.isfinite(self.gradient(name)).all() for name in self.fields):
            return
        for name in self.vectors:
            change = self._energy_change(partial(self._shifted_field, name))
            yield from self._of("translation", name, change, partial(self._force_sum, name))
            if name in self.places:
                yield self._of_places(name)
        if self.vectors:
            change = self._energy_change(self._turned_fields)
            yield from self._of("rotation", ", ".join(self.vectors), change, self._torque_sum)
        for count in sorted({len(x) for x in self.start.values()} - {1}):
            mine = [name for name, x in self.start.items() if len(x) == count]
            order = np.arange(count)
            among = reduce(np.intersect1d, [self.among.get(name, order) for name in mine])
            order[among] = self.rng.permutation(among)
            change, left = self._change_of_order(mine, order), partial(self._gradient_distance, mine, order)
            yield from self._of("permutation", ", ".join(mine), change, left)

    def _of(
        self,
        question: str,
        name: str,
        change: float,
        left: Callable[[], tuple[np.ndarray, float, float, str]],
    ) -> Iterator[Finding]:
        """`left` returns a quantity that must be zero, the size of its parts, its length, and its name."""
        if change == 0.0:
            rest, size, length, what = left()
            # a state at rest has gradients of rounding alone
            error = max(0.0, float(np.abs(rest).max()) - self.subject.rounding() / length) / (size or 1.0)
            text = f"U has this symmetry, and {what} is {error:.1e} of its parts"
            yield self.subject.finding(name, question, error <= KEPT, error, text)
        elif question in self.symmetries:
            text = f"U is declared invariant under {question}, but changes by {change:.6g}"
            yield self.subject.finding(name, question, False, change, text)

    def _energy_change(self, moved: Callable[[], Moved]) -> float:
        """The change of U; zero if it is rounding."""
        return self._beyond_rounding(self._energy_at(moved()) - self.here for _ in range(TRIES))

    def _beyond_rounding(self, changes: Iterable[float]) -> float:
        """The largest change; zero if it is rounding, infinite if one is NaN."""
        most = float(np.max(np.nan_to_num(np.abs(list(changes)), nan=np.inf)))
        return 0.0 if most <= ALIKE * self.subject.rounding() else most

    def _energy_at(self, moved: Moved) -> float:
        with self._put_moved(moved):
            return self.subject.value()

    @contextmanager
    def _put_moved(self, moved: Moved) -> Iterator[None]:
        for name, values in moved.items():
            self._field_named(name).set(values)
        yield
        for name in moved:
            self._field_named(name).set(self.edges[name][None] if name in self.edges else self.start[name])

    def _field_named(self, name: str) -> Field:
        """The field of this name: one of nodes, or the box."""
        return self.box if self.box is not None and name in self.edges else self.fields[name]

    # Translation

    def _shifted_field(self, name: str) -> Moved:
        """A field shifted by about its own size."""
        x = self.vectors[name]
        return {name: x + (float(np.abs(x).max()) or 1.0) * self.rng.normal(size=x.shape[1])}

    def _force_sum(self, name: str) -> tuple[np.ndarray, float, float, str]:
        g = self.gradient(name)
        return _column_sums(g), ordered_sum(np.abs(g)), field_spread(self.vectors[name]), "the sum of forces"

    def _of_places(self, name: str) -> Finding:
        """U is the same where a field is translated with the places that belong to it."""
        moved = [self._shifted_field(name) for _ in range(TRIES)]
        change = self._beyond_rounding(self._value_with_places(name, one) - self.here for one in moved)
        text = f"U changes by {change:.6g} where all, with its supports, is translated"
        return self.subject.finding(name, "translation", change == 0.0, change, text)

    def _value_with_places(self, name: str, moved: Moved) -> float:
        by = moved[name][0] - self.start[name][0]
        self.places[name](by)
        try:
            return self._energy_at(moved)
        finally:
            self.places[name](0.0 * by)

    # Rotation

    def _turned_fields(self) -> Moved:
        """All fields, rotated about the origin by one random rotation."""
        d = next(iter(self.vectors.values())).shape[1]
        q, r = np.linalg.qr(self.rng.normal(size=(d, d)))
        q = q * np.sign(np.diag(r))
        q[:, 0] *= np.sign(np.linalg.det(q))
        turned = {name: x @ q.T for name, x in self.vectors.items()}
        return turned | {name: (rows @ q.T)[None] for name, rows in self.edges.items()}

    def _torque_sum(self) -> tuple[np.ndarray, float, float, str]:
        forces = [self.gradient(name) for name in self.vectors]
        forces += [self.gradient(name)[0] for name in self.edges]
        x = np.concatenate([*self.vectors.values(), *self.edges.values()])
        f = np.concatenate(forces)
        size = ordered_sum(np.linalg.norm(x, axis=1) * np.linalg.norm(f, axis=1))
        return (
            _column_sums(_node_moments(x, f)),
            size,
            field_spread(x) / (float(np.abs(x).max()) or 1.0),
            "the sum of torques",
        )

    # Permutation

    def _change_of_order(self, names: Collection[str], order: np.ndarray) -> float:
        """The change of U at random states near this one, at which nodes may be equal (as at rest)."""
        changes = []
        for _ in range(TRIES):
            near = {
                n: self.start[n]
                + 0.01 * field_spread(self.start[n]) * self.rng.normal(size=self.start[n].shape)
                for n in names
            }
            changes.append(self._energy_at({n: x[order] for n, x in near.items()}) - self._energy_at(near))
        return self._beyond_rounding(changes)

    def _exchange_nodes(self, names: Collection[str], order: np.ndarray) -> Moved:
        return {name: self.start[name][order] for name in names}

    def _gradient_distance(
        self, names: Collection[str], order: np.ndarray
    ) -> tuple[np.ndarray, float, float, str]:
        """The distance between the gradient at exchanged nodes and the exchanged gradient."""
        here = [self.gradient(name)[order] for name in names]
        with self._put_moved(self._exchange_nodes(names, order)):
            there = [self.gradient(name) for name in names]
        rest = [np.abs(a - b).max() for a, b in zip(here, there, strict=True)]
        sizes = [float(np.abs(a).max()) or 1.0 for a in here]
        worst = int(np.argmax([r / s for r, s in zip(rest, sizes, strict=True)]))
        length = field_spread(self.start[list(names)[worst]])
        return (
            np.array(rest[worst]),
            sizes[worst],
            length,
            "the change of the forces when nodes are exchanged",
        )


def _column_sums(parts: np.ndarray) -> np.ndarray:
    return np.array([ordered_sum(column) for column in parts.T])


def _node_moments(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    """x ^ g for each node: one number in the plane, three in space."""
    if x.shape[1] == 2:
        return (x[:, :1] * g[:, 1:] - x[:, 1:] * g[:, :1]).reshape(-1, 1)
    return np.cross(x, g)
