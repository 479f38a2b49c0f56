"""A step size against the stability limit of its scheme, estimated at the present fields.

Decisions 0366.
"""

from dataclasses import dataclass
from typing import Any

from ...errors import EnergyError
from ..integrator import Integrator
from ..stepper import Stepper
from .linear_stability import friction_limit, stability_limit
from .vibrations import PRODUCTS, friction_rate, vibrations

WORTH = 20 * PRODUCTS
"""A run of fewer steps is not worth an estimate: it would cost more than a few percent of the run."""


@dataclass(frozen=True)
class StepSize:
    """A time step and the largest stable one, `limit` [the run's unit of time]; None where nothing vibrates.

    `omega` is the highest frequency, `growth` and `rate` are the highest rates of growth and of friction
    [1 / unit of time].
    """

    dt: float
    limit: float | None
    omega: float
    growth: float
    rate: float = 0.0

    @property
    def unstable(self) -> bool:
        """True if the fastest vibration grows."""
        return self.limit is not None and abs(self.dt) > self.limit

    def text(self, unit: str) -> str:
        """In words; `unit`: the symbol of the run's unit of time. Frequencies and rates are in `as_dict`."""
        after = "" if unit == "1" else f" {unit}"
        said = f"dt = {self.dt:.4g}{after}"
        if self.limit is None:
            return f"{said} has no stability limit: nothing vibrates at the start"
        said += f" is {_percent(abs(self.dt) / self.limit)} of the stability limit, {self.limit:.3g}{after}"
        return f"{said}; the fastest motion grows without bound: use a smaller dt" if self.unstable else said

    def as_dict(self) -> dict[str, Any]:
        """For journals and JSON."""
        return {"dt": self.dt, "limit": self.limit, "omega_max": self.omega, "growth_rate": self.growth} | (
            {"friction_rate": self.rate} if self.rate else {}
        )


def _percent(share: float) -> str:
    """`0.4 %`, `11 %`, `99.7 %`: so many digits as one looks at, and more where it is close."""
    size = 100.0 * share
    return f"{size:.1g} %" if size < 1.0 else f"{size:.2g} %" if size < 95.0 else f"{size:.3g} %"


def step_size(stepper: Stepper, steps: int) -> StepSize | None:
    """The step size of a run of so many steps, against its limit.

    None for a minimiser, for a run too short to be worth it, and where there are no second derivatives or
    the scheme has a move whose linear stability is not known: a magnetic field may steady a vibration,
    constraints take some away, and drifts along the flow of a part contain the fastest.
    """
    if not isinstance(stepper, Integrator) or steps < WORTH or _unknown(stepper):
        return None
    try:
        found, rate = vibrations(stepper), friction_rate(stepper)
        if found is None or rate is None:
            return None
        limit = stable_time(stepper, found.omega, rate)
    except EnergyError:
        return None
    return StepSize(stepper.dt, limit, found.omega, found.growth, rate)


def _unknown(stepper: Integrator) -> bool:
    """True for moves whose linear stability is not known."""
    return bool(stepper.magnetic or stepper.constraints or stepper.part_flow)


def stable_time(stepper: Integrator, omega: float, rate: float) -> float | None:
    """The largest dt that is stable for a vibration, for friction, and for both in one; None without them."""
    limits = []
    if omega:
        bath = stepper.bath.friction / omega if stepper.bath else 0.0
        limits += [
            stability_limit(stepper.scheme, g, b) / omega for g in (0.0, rate / omega) for b in (0.0, bath)
        ]
    if rate:
        limits.append(friction_limit(stepper.scheme) / rate)
    return min(limits, default=None)
