"""The loss of a run, or of an equilibrium, as a function of its parameters: an objective for minimisers.

    U(p) = L(the run that starts from, and is governed by, p)
    U(p) = L(the equilibrium of the energy with the parameters p)

Each parameter p is a field of its own here, in double precision, under its name in the run: an
initial field ("m", "x") or a parameter of a term ("spring.k"; one value is a field with one node). It is
written into the run before each evaluation. If a run is not finite, its loss is NaN and `first_nonfinite`
says why.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..energies.fields import Field, Fields
from ..energies.roles import Bounded
from ..engine import storage
from .equilibria.mean_constraint import MeanConstraint


class DifferentiableRun(Protocol):
    """A run, or an equilibrium, as a function of parameters (`adjoint.Rollout`, `adjoint.Equilibrium`).

    If it has no value, values are NaN and `trouble` says why; `label` is what messages call it.
    """

    label: str
    trouble: str

    @property
    def writes(self) -> Any:
        """The inputs of the value, as a value that differs after every write."""

    def value(self) -> float: ...

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]: ...

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray: ...

    def state(self) -> dict[str, np.ndarray]:
        """State on which the bits of the next value depend, besides the parameters."""

    def restore(self, state: Mapping[str, np.ndarray]) -> None: ...


class Draws(Protocol):
    """What each iteration of a stochastic search draws anew, as a function of its number alone."""

    def put(self, number: int, held_out: bool = False) -> None:
        """Write the draw of an iteration, or one that no iteration has, into the run."""


@dataclass(frozen=True)
class FitParameter:
    """A parameter of a fit: its name, first values, SI unit; `put` writes other values into the run."""

    name: str
    start: np.ndarray
    put: Callable[[np.ndarray], None]
    unit: str = "1"


class RunObjective:
    """Value, gradient and Gauss-Newton matrix of the loss of a run, over the fields of its parameters.

    draws: what is drawn anew when a search calls `redraw`; before that the run is as it was built.
    """

    map_outputs: Mapping[str, Field] = {}

    def __init__(
        self,
        rollout: DifferentiableRun,
        parameters: Sequence[FitParameter],
        limit: MeanConstraint | None = None,
        draws: Draws | None = None,
    ):
        self.draws = draws
        self.rollout, self.parameters, self.limit = rollout, {p.name: p for p in parameters}, limit
        starts = {p.name: np.atleast_1d(np.asarray(p.start, np.float64)) for p in parameters}
        self.fields = Fields(starts, {p.name: p.unit for p in parameters})
        self._seen: tuple[bytes, float] = (b"", np.nan)
        self._left, self._others = rollout.writes, 0

    @property
    def writes(self) -> int:
        """How often the parameters, or anything else that the run depends on, were overwritten by others."""
        self._notice()
        return self._others + sum(field.array.writes for field in self.fields.values())

    @property
    def reads(self) -> set[str]:
        """The names of the parameters."""
        return set(self.fields)

    def roles_of(self, name: str) -> list[tuple[str, Bounded]]:
        """None: the unknowns of a run come with their bounds."""
        return []

    def value(self, t: float = 0.0) -> float:
        """The loss; NaN if the run is not finite."""
        self._notice()
        if self._seen[0] != self._bits():
            self._put()
            self._note(self.rollout.value())
        return self._seen[1]

    def again(self) -> float:
        """The loss at the present parameters, computed again even if it is known."""
        self._notice()
        self._put()
        found = self.rollout.value()
        self._left = self.rollout.writes
        return found

    def redraw(self, iteration: int) -> None:
        """From now on the loss is that of the draw of an iteration, if anything is drawn."""
        if self.draws is not None:
            self.draws.put(iteration)
            self._seen, self._left, self._others = (b"", np.nan), self.rollout.writes, self._others + 1

    def held_out(self, count: int, iteration: int) -> float:
        """The mean loss of `count` draws that no iteration has; then that of `iteration` is put back."""
        assert self.draws is not None
        self._notice()
        memory, found = self.rollout.state(), []
        for number in range(count):
            self.draws.put(number, held_out=True)
            self._put()
            found.append(self.rollout.value())
        self.draws.put(iteration)
        self.rollout.restore(memory)
        self._put()
        self._left = self.rollout.writes
        return float(np.mean(found))

    def by_term(self, t: float = 0.0) -> dict[str, float]:
        """The loss under its name."""
        return {"loss": self.value(t)}

    def magnitude(self, t: float = 0.0) -> float:
        """The absolute value of the loss; times eps it is about its rounding."""
        return abs(self.value(t))

    def evaluate_into(self, targets: Mapping[str, Any], t: float = 0.0) -> float:
        """Overwrite each array of `targets` with dL/dp, NaN if the run is not finite; returns the loss."""
        self._notice()
        self._put()
        loss, found = self.rollout.evaluate(list(targets))
        for name, array in targets.items():
            storage.store(array, np.asarray(found[name], np.float64).reshape(self.fields[name].shape))
        self._note(loss)
        return loss

    def first_nonfinite(self, t: float, wrt: Iterable[str]) -> str | None:
        """Why the last run was not finite; None if it was."""
        return f"{self.rollout.label}: {self.rollout.trouble}" if self.rollout.trouble else None

    def state(self) -> dict[str, np.ndarray]:
        """State that a resumed search needs besides the parameters."""
        return self.rollout.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the values that `state` returned."""
        self.rollout.restore(state)
        self._seen, self._left = (b"", np.nan), self.rollout.writes

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """(P, P): J^T (d2 loss) J, J = d(state)/dz at the observed steps, along P directions dp/dz_k."""
        self._notice()
        self._put()
        found = self.rollout.curvature([self._as_started(direction) for direction in directions])
        self._left = self.rollout.writes
        return found

    def constraint(self) -> float:
        """g at the present parameters, without a run."""
        assert self.limit is not None
        self._notice()
        self._put()
        found = self.limit.value()
        self._left = self.rollout.writes
        return found

    def constraint_slopes(self) -> dict[str, np.ndarray]:
        """dg/dp, by parameter; zero of one that it does not depend on."""
        assert self.limit is not None
        self._notice()
        self._put()
        found = {n: self.limit.slope(n) for n in self.parameters}
        self._left = self.rollout.writes
        zeros = {n: np.zeros(self.fields[n].shape) for n in self.parameters}
        return {n: zeros[n] if a is None else a.reshape(zeros[n].shape) for n, a in found.items()}

    def _as_started(self, direction: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """A direction in the shapes that the parameters started with: a run knows scalars."""
        return {name: direction[name].reshape(np.shape(p.start)) for name, p in self.parameters.items()}

    def _put(self) -> None:
        for name, parameter in self.parameters.items():
            parameter.put(self.fields[name].values.reshape(np.shape(parameter.start)))

    def _notice(self) -> None:
        """Forget the last value if the run was changed by other means than its parameters here."""
        if self.rollout.writes != self._left:
            self._left, self._others, self._seen = self.rollout.writes, self._others + 1, (b"", np.nan)

    def _note(self, loss: float) -> None:
        self._seen, self._left = (self._bits(), loss), self.rollout.writes

    def _bits(self) -> bytes:
        return b"".join(field.values.tobytes() for field in self.fields.values())
