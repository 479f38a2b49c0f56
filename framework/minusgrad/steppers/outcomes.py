"""How the search for a minimum ends.

"converged"   the largest component of the projected gradient is at most `Tolerances.gradient`, or zero
"settled"     the last step changed no component of z by more than `Tolerances.change`
"stuck"       no step lowers U; or every component is at a bound, and `Tolerances` asked for nothing
"""

from dataclasses import dataclass

from ..errors import EnergyError


@dataclass(frozen=True)
class SearchStatus:
    """How a search stands.

    `residual`: the largest component of the projected gradient dU/dz. `change`: the largest |dz| of the last
    step (infinite before the first). `pinned`: every component is at a bound, and U pushes it beyond.
    `exhausted`: no step lowers U.
    """

    step: int
    energy: float
    residual: float
    change: float
    pinned: bool
    exhausted: bool


@dataclass(frozen=True)
class Tolerances:
    """When to stop: a `gradient` dU/dz (an energy) or a `change` of z as small as this; None: not asked."""

    gradient: float | None = None
    change: float | None = None

    def __post_init__(self) -> None:
        for what, asked in (("gradient", self.gradient), ("change", self.change)):
            if asked is not None and not asked >= 0.0:
                raise EnergyError(f"{what} = {asked:g} asks for too much: nothing is smaller than zero")

    def outcome(self, now: SearchStatus) -> str | None:
        """Why there is nothing left to do; None while there is."""
        if self.gradient is not None and now.residual <= self.gradient:
            return "converged"
        if self.change is not None and (now.change <= self.change or now.pinned):
            return "settled"
        if now.exhausted or now.pinned:
            return "stuck"
        return "converged" if now.residual == 0.0 else None

    def verdict(self, now: SearchStatus) -> str:
        """The outcome as a sentence, with its figures; the cure, where there is no way on."""
        outcome = self.outcome(now)
        figures = f"gradient {now.residual:.3g}{_asked(self.gradient)}"
        if self.change is not None:
            figures += f"; last change {now.change:.3g}{_asked(self.change)}"
        cure = f"; {_cure(now)}" if outcome == "stuck" else ""
        asked = self != UNASKED
        ended = f"{outcome}: " if outcome else "not converged: " if asked else ""
        return f"{ended}{figures} (step {now.step}){cure}"


UNASKED = Tolerances()


def _asked(number: float | None) -> str:
    return "" if number is None else f", asked {number:g}"


def _cure(now: SearchStatus) -> str:
    if now.pinned:
        return "every free component is at a bound and pushed beyond it; if it should move, widen the bounds"
    return (
        f"no step lowers U = {now.energy:.6g}: if rounding hides the way down, ask for a larger gradient or"
        ' compute with precision = "f64"; if it has a kink or a jump here, smooth the energy'
    )
