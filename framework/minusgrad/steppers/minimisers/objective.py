"""The objective of a minimiser: a scalar function of named fields, with its gradient.

    U(fields, t)        in J where it is a potential energy, without a unit where it is the loss of a run

`Potential` and `adjoint.RunObjective` satisfy these protocols; a minimiser uses nothing else of either.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...energies.fields import Field, Fields
from ...energies.roles import Bounded


class Objective(Protocol):
    """Value and gradient of a scalar function of fields; NaN where it is not defined."""

    fields: Fields

    @property
    def writes(self) -> int:
        """How often anything that the value depends on was overwritten; it only grows."""

    @property
    def reads(self) -> set[str]:
        """The names of the fields that the value depends on."""

    @property
    def map_outputs(self) -> Mapping[str, Field]:
        """The fields that are computed from others, by name; they cannot be unknowns."""

    def roles_of(self, name: str) -> list[tuple[str, Bounded]]:
        """The roles that bound a field's values, each with the name of the argument that has it."""

    def value(self, t: float = 0.0) -> float:
        """U at the present fields."""

    def by_term(self, t: float = 0.0) -> dict[str, float]:
        """The summands of U, by name."""

    def magnitude(self, t: float = 0.0) -> float:
        """The sum of the absolute values that U is summed from; times eps it is about the rounding of U."""

    def evaluate_into(self, targets: Mapping[str, Any], t: float = 0.0) -> float:
        """Overwrite each array of `targets` with dU/d(field), shape of the field; returns U."""

    def first_nonfinite(self, t: float, wrt: Iterable[str]) -> str | None:
        """In words, the first value or derivative by a field of `wrt` that is not finite; None if none."""


class Curved(Objective, Protocol):
    """An objective with a sparse Hessian."""

    def hessian(self, wrt: Sequence[str], t: float = 0.0, project: str | None = None) -> Any:
        """d2U/(d(wrt) d(wrt)) in CSR, rows field by field; `project`: "clamp" or "abs", by element."""


class LeastSquares(Objective, Protocol):
    """An objective whose Hessian has a Gauss-Newton approximation, J^T (d2 loss) J with J = d(state)/dz."""

    def curvature(self, directions: Sequence[Mapping[str, np.ndarray]]) -> np.ndarray:
        """The (P, P) matrix along P directions dx/dz_k, each given by field, in the shape of the field."""


class Constrained(Objective, Protocol):
    """An objective with one constraint, g <= 0, on the same fields."""

    def constraint(self) -> float:
        """g at the present fields."""

    def constraint_slopes(self) -> dict[str, np.ndarray]:
        """dg/d(field), by field."""


@runtime_checkable
class Redrawn(Protocol):
    """An objective that is drawn anew in each iteration, as a function of its number alone."""

    def redraw(self, iteration: int) -> None:
        """From now on the objective is that of an iteration; nothing, where nothing is drawn."""


@runtime_checkable
class WithMemory(Protocol):
    """An objective whose bits depend on its last value, besides the fields: a warm start."""

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that it remembers, by names that no minimiser has."""

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Set the values that `state` returned; other arrays in it are ignored."""


@runtime_checkable
class WithBarriers(Protocol):
    """An objective that may be finite on a part of space alone, which no step may leave."""

    @property
    def barriers(self) -> list[str]:
        """What it is that no step may pass; empty where U is finite everywhere."""

    def free_part(self, before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> float:
        """The part of the straight way between values of fields, by name, on which U is finite."""
