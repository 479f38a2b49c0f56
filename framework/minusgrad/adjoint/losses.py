"""Losses of a run: an energy summed over its states at some steps.

L = sum over observed steps k of  l(fields at step k, data at step k)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..codegen.derivative_request import DerivativeRequest
from ..energies.fields import Fields
from ..engine import storage
from ..errors import EnergyError, choices
from ..potential.potential import Potential


@dataclass
class Loss:
    """A potential over the fields of a run, evaluated after each of `steps`.

    `data`: "term.argument" to the values (steps, elements, ...) of a datum at those steps; other data are
    constant. Raises `EnergyError` for data that the potential does not have or that do not fit, and for a
    step given twice.
    """

    potential: Potential
    steps: tuple[int, ...]
    data: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.steps, Iterable):
            raise EnergyError(f"loss: needs a sequence of steps, got {self.steps!r}; write ({self.steps!r},)")
        self._row = {step: row for row, step in enumerate(self.steps)}
        if len(self._row) < len(self.steps):
            twice = next(k for row, k in enumerate(self.steps) if self._row[k] != row)
            raise EnergyError(f"loss: step {twice} is given twice; give it once")
        for name, rows in self.data.items():
            self._check(name, np.shape(rows))
        self._slopes: dict[str, Any] = {}
        self.watch: Callable[[int, float], None] | None = None
        """Called with step and time after each value, while the fields are those of the step."""

    def __contains__(self, step: int) -> bool:
        return step in self._row

    @property
    def reads(self) -> set[str]:
        """The names of the fields that it depends on."""
        return self.potential.reads

    def set_data(self, step: int) -> None:
        """Set the data to their values at an observed step."""
        for name, rows in self.data.items():
            self._put(name, rows[self._row[step]])

    def value(self, step: int, t: float) -> float:
        """l at the present fields, those of an observed step at time t."""
        self.set_data(step)
        found = self.potential.value(t)
        if self.watch is not None:
            self.watch(step, t)
        return found

    def evaluate(
        self, step: int, t: float, names: Iterable[str], own: Sequence[str] = ()
    ) -> tuple[float, dict[str, np.ndarray]]:
        """l, dl/d(field) for the fields among `names` that it depends on, dl/d(parameter) for `own`."""
        self.set_data(step)
        targets = {n: self._slope(n) for n in sorted(self.reads.intersection(names))}
        found = self.potential.sweep(DerivativeRequest(value=True, gradient=targets, slopes=tuple(own)), t)
        return found.value, {n: storage.host(a).copy() for n, a in targets.items()} | found.slopes

    def shared(self, names: Iterable[str], potential: Potential) -> list[str]:
        """The parameters among `names` of maps that this loss shares with that potential."""
        found = []
        for name in names:
            term = name.partition(".")[0]
            if term in self.potential.maps and self.potential.maps[term] is potential.maps.get(term):
                found.append(name)
        return found

    def gauss_newton(self, step: int, t: float, tangents: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """The Gauss-Newton matrix (P, P) of l along P tangents: s_i' l'' s_j.

        Tangents are of fields and of shared parameters; map outputs move with their inputs. l'' is that of
        the terms, without second derivatives of the maps, so that the matrix of a sum of squares is positive
        semi-definite.
        """
        self.set_data(step)
        moved = [self._field_tangents(tangent, t) for tangent in tangents]
        products = [{n: self._terms.product(one, n, t) for n in one} for one in moved]
        total = np.zeros((len(moved), len(moved)))
        for name in sorted(moved[0]) if moved else ():
            rows, columns = (np.array([one[name].ravel() for one in some]) for some in (products, moved))
            # einsum adds up in one order, which BLAS does not promise
            total += np.einsum("pi,qi->pq", rows.astype(np.float64), columns.astype(np.float64))
        return total

    def _field_tangents(self, tangent: Mapping[str, np.ndarray], t: float) -> dict[str, np.ndarray]:
        """The tangents of all fields that the terms read, including those that maps compute."""
        whole = dict(tangent) | self.potential.map_output_tangents(tangent, t)
        return {n: w for n, w in whole.items() if n in self._terms.reads}

    @cached_property
    def _terms(self) -> Potential:
        """The terms alone, for which the fields that maps compute are ordinary ones."""
        loss = self.potential
        return Potential(loss.fields, list(loss.terms.values()), frozen=True) if loss.maps else loss

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Restore the data on leaving."""
        before = {name: storage.host(self._datum(name)).copy() for name in self.data}
        try:
            yield
        finally:
            for name, values in before.items():
                self._put(name, values)

    def _slope(self, name: str) -> Any:
        """An array for dl/d(field), kept for the next evaluation."""
        if name not in self._slopes:
            self._slopes[name] = storage.allocate(np.zeros_like(self.potential.fields[name].values))
        return self._slopes[name]

    def _datum(self, name: str) -> Any:
        term, _, argument = name.partition(".")
        return self.potential.parts[term].data[argument]

    def _put(self, name: str, values: Any) -> None:
        term, _, argument = name.partition(".")
        self.potential.parts[term].set_datum(argument, values)

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        term, _, argument = name.partition(".")
        parts = self.potential.parts
        known = [f"{t}.{a}" for t, part in parts.items() for a in getattr(part, "data", {})]
        if name not in known:
            raise EnergyError(f"loss: no datum '{name}'{choices(name, known)}")
        if shape[:1] != (len(self.steps),):
            raise EnergyError(
                f"loss: '{name}' needs a row for each of {len(self.steps)} steps, got {shape[0]};"
                " give one row each"
            )
        if shape[1:] != (one := tuple(parts[term].data[argument].shape)):
            raise EnergyError(
                f"loss: '{name}' needs rows of shape {list(one)}, got {list(shape[1:])}; give one value for"
                " each element"
            )


class ObservedStates:
    """The states of a run at some steps, in place of a `Loss`: a caller outside computes the loss.

    The forward run copies the states into `kept`, a row for each of `steps`, by field. The backward run
    starts from `slopes`, dL/d(field) in rows of the same shape.
    """

    data: Mapping[str, np.ndarray] = {}

    def __init__(self, fields: Fields, names: Iterable[str], steps: Sequence[int]):
        self.fields, self.reads, self.steps = fields, set(names), tuple(steps)
        self.kept: Mapping[str, np.ndarray] = {}
        self.slopes: Mapping[str, np.ndarray] = {}
        self._row = {step: row for row, step in enumerate(self.steps)}

    def __contains__(self, step: int) -> bool:
        return step in self._row

    def value(self, step: int, t: float) -> float:
        """Copy the states of this step; its own loss is zero."""
        for name, rows in self.kept.items():
            rows[self._row[step]] = self.fields[name].values
        return 0.0

    def evaluate(
        self, step: int, t: float, names: Iterable[str], own: Sequence[str] = ()
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Zero, and dL/d(field) at this step for the fields among `names`."""
        return 0.0, {n: self.slopes[n][self._row[step]] for n in names if n in self.slopes}

    def gauss_newton(self, step: int, t: float, tangents: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """Zero: it has no second derivatives of its own."""
        return np.zeros((len(tangents), len(tangents)))

    def shared(self, names: Iterable[str], potential: Potential) -> list[str]:
        """None: it has no maps."""
        return []

    def unchanged(self) -> AbstractContextManager[None]:
        """Nothing to restore: it has no data."""
        return nullcontext()
