"""How the search for a minimum ends.

"converged"   the largest component of the projected gradient is at most `Tolerances.gradient`, or zero;
              or all that is given of `Tolerances.force` and `Tolerances.step` is reached;
              or `Tolerances.force` is given, and all forces that are left are rounding;
              under constraints it is the gradient along them, and they hold to `Tolerances.constraint`
"settled"     the last step changed no component of z by more than `Tolerances.change`
"stuck"       no step lowers U; or every component is at a bound, and `Tolerances` has no `change`

Decisions 0363.
"""

import math
from dataclasses import dataclass

from ...errors import EnergyError


@dataclass(frozen=True)
class SearchStatus:
    """The state of a search for a minimum, from which `Tolerances` decide whether it ends.

    `residual`: the largest component of the projected gradient dU/dz; `force`: of dU/dx, relative to the
    largest force (infinite where it was not asked for). `change`, `moved`: the largest |dz| and |dx| of the
    last step (infinite before the first). `pinned`: every component is at a bound, and U pushes it beyond.
    `exhausted`: no step lowers U. `rounded`: so because all forces that are left are rounding. `violation`:
    the largest of a constraint, relative to the coordinates.
    """

    step: int
    energy: float
    residual: float
    change: float
    pinned: bool
    exhausted: bool
    force: float = math.inf
    moved: float = math.inf
    rounded: bool = False
    violation: float = 0.0


@dataclass(frozen=True)
class Tolerances:
    """When to stop: at a `gradient` dU/dz [J] or a `change` of z as small as this; None: no such condition.

    Or where all that is given of these two holds: no component of the out-of-balance force dU/dx exceeds
    `force`, relative to the largest force that a term or a support exerts on a node; and the last step moved
    no component of x by more than `step`, in the unit of the fields. `constraint`: the violation to which
    each point is projected onto constraints; None: the rounding of the fields.

    Raises `EnergyError` for a negative tolerance and for NaN.
    """

    gradient: float | None = None
    change: float | None = None
    force: float | None = None
    step: float | None = None
    constraint: float | None = None

    def __post_init__(self) -> None:
        for name in ("gradient", "change", "force", "step", "constraint"):
            if (value := getattr(self, name)) is not None and not value >= 0.0:
                raise EnergyError(f"tolerance `{name}` must be >= 0, got {value:g}")

    @property
    def balanced(self) -> bool:
        """True if a tolerance of the force or of the step is given."""
        return self.force is not None or self.step is not None

    def outcome(self, now: SearchStatus) -> str | None:
        """The word for how the search has ended; None while it has not."""
        if self.gradient is not None and now.residual <= self.gradient:
            return "converged"
        if self.balanced and now.force <= _or_any(self.force) and now.moved <= _or_any(self.step):
            return "converged"
        if self.change is not None and (now.change <= self.change or now.pinned):
            return "settled"
        if now.rounded and self.force is not None:
            return "converged"
        if now.exhausted or now.pinned:
            return "stuck"
        return "converged" if now.residual == 0.0 else None

    def verdict(self, now: SearchStatus) -> str:
        """The outcome as a sentence, with its figures; if the search is stuck, with a cure."""
        outcome = self.outcome(now)
        figures = f"gradient {now.residual:.3g}{_required(self.gradient)}"
        if self.force is not None:
            figures += f"; force {now.force:.3g} of the largest{_required(self.force)}"
            figures += ", all of it rounding" if now.rounded else ""
        if self.step is not None:
            figures += f"; last step {now.moved:.3g}{_required(self.step)}"
        if self.constraint is not None:
            figures += f"; constraints violated by {now.violation:.3g}{_required(self.constraint)}"
        if self.change is not None:
            figures += f"; last change {now.change:.3g}{_required(self.change)}"
        cure = f"; {_cure(now)}" if outcome == "stuck" else ""
        required = self != NO_TOLERANCES
        ended = f"{outcome}: " if outcome else "not converged: " if required else ""
        return f"{ended}{figures} (step {now.step}){cure}"


BALANCED = {"float64": 1e-9, "float32": 1e-4}
"""The relative out-of-balance force of an equilibrium, where a scene gives no tolerance, by precision."""
NO_TOLERANCES = Tolerances()
"""The search goes on until the gradient is zero, or until no step lowers U."""


def _or_any(number: float | None) -> float:
    return math.inf if number is None else number


def _required(number: float | None) -> str:
    return "" if number is None else f", asked {number:g}"


def _cure(now: SearchStatus) -> str:
    if now.pinned:
        return "every free component is at a bound and pushed beyond it; if it should move, widen the bounds"
    return (
        f"no step lowers U = {now.energy:.6g}: if rounding hides the way down, ask for a larger gradient or"
        ' compute with precision = "f64"; if it has a kink or a jump here, smooth the energy'
    )
