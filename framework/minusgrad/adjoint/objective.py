"""A loss as a function of what is sought: what a minimiser needs of a potential, made from a run.

    U(p) = L(the run that starts from, and is governed by, p)

Each sought p is a field of its own here, in double precision, under the name of what it stands for: an
initial field ("m", "x") or a parameter ("spring.k"; one value is a field with one node). It is put into the
run before each look. A run that is not finite has the loss nan, and `blame` tells why.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..energies.fields import Fields
from ..engine import storage
from ..steppers.unknowns import ScaledVariables


class Rolling(Protocol):
    """A run of an integrator as a function of its initial state and parameters (`adjoint.Rollout`).

    If it is not finite, values are nan and `trouble` says why.
    """

    trouble: str

    def value(self) -> float: ...

    def evaluate(self, names: Sequence[str]) -> tuple[float, dict[str, np.ndarray]]: ...

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray: ...


@dataclass(frozen=True)
class Sought:
    """What is looked for: where it starts, in what SI unit, and how the run is told another value."""

    name: str
    start: np.ndarray
    put: Callable[[np.ndarray], None]
    unit: str = "1"


class Objective:
    """Value and gradient of a loss over the fields of what is sought."""

    parts: Mapping[str, Any] = {}
    given: Mapping[str, Any] = {}

    def __init__(self, rollout: Rolling, sought: Sequence[Sought]):
        self.rollout, self.sought = rollout, {s.name: s for s in sought}
        starts = {s.name: np.atleast_1d(np.asarray(s.start, np.float64)) for s in sought}
        self.fields = Fields(starts, {s.name: s.unit for s in sought})
        self._seen: tuple[bytes, float] = (b"", np.nan)

    @property
    def reads(self) -> set[str]:
        """All that is sought."""
        return set(self.fields)

    def value(self, t: float = 0.0) -> float:
        """The loss; nan if the run is not finite."""
        if self._seen[0] != self._bits():
            self._put()
            self._note(self.rollout.value())
        return self._seen[1]

    def by_term(self, t: float = 0.0) -> dict[str, float]:
        """The loss under its name."""
        return {"loss": self.value(t)}

    def magnitude(self, t: float = 0.0) -> float:
        """The size of the loss: what its rounding is measured by."""
        return abs(self.value(t))

    def gradient_into(self, targets: Mapping[str, Any], t: float = 0.0) -> None:
        """Overwrite each array of `targets` with dL/d(what is sought); nan if the run is not finite."""
        self.evaluate_into(targets, t)

    def evaluate_into(self, targets: Mapping[str, Any], t: float = 0.0) -> float:
        """The loss, and its gradient as `gradient_into` gives it."""
        self._put()
        loss, found = self.rollout.evaluate(list(targets))
        for name, array in targets.items():
            storage.store(array, np.asarray(found[name], np.float64).reshape(self.fields[name].shape))
        self._note(loss)
        return loss

    def blame(self, t: float, wrt: Iterable[str]) -> str | None:
        """Why the last run was not finite."""
        return f"the run that the loss is of: {self.rollout.trouble}" if self.rollout.trouble else None

    def curvature(self, coordinates: ScaledVariables) -> np.ndarray:
        """(P, P): J^T (d2 loss) J along the scaled variables z, J = d(state)/dz at the observed steps."""
        self._put()
        return self.rollout.curvature([self._direction(coordinates, k) for k in range(len(coordinates))])

    def _direction(self, coordinates: ScaledVariables, k: int) -> dict[str, np.ndarray]:
        """dp/dz_k, for every p, in the shape that it starts from."""
        one = np.zeros(len(coordinates))
        one[k] = coordinates.scale[k]
        spread = coordinates.spread(one)
        return {name: spread[name].reshape(np.shape(s.start)) for name, s in self.sought.items()}

    def _put(self) -> None:
        for name, sought in self.sought.items():
            sought.put(self.fields[name].values.reshape(np.shape(sought.start)))

    def _note(self, loss: float) -> None:
        self._seen = self._bits(), loss

    def _bits(self) -> bytes:
        return b"".join(field.values.tobytes() for field in self.fields.values())
