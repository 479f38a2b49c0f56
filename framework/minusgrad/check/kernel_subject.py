"""Recorded launches as a subject of checks: their loss, its rounding, and findings with a line.

Decisions 0082.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from ..interpreter.recorded_launches import RecordedLaunch, Recording
from ..interpreter.replay import stays_within_bounds
from ..lint.kernel_remarks import in_words
from .questions import EPS, Finding

DRAWS, TINY = 8, 2.0**-24
"""How often each input is perturbed, by this part of its step, to measure the rounding of the loss."""
COSTLY, FEW = 1.5, 2
"""Seconds of a gradient beyond which an input is perturbed this often, and no path is asked."""


class Cause(NamedTuple):
    """The reason of a finding, and its line."""

    where: str = ""
    text: str = ""


NO_REASON = Cause()


def at_line(where: str, text: str) -> Cause:
    """A reason whose text begins with its line, if it has one."""
    return Cause(where, f"{in_words(where)}: {text}" if where else text)


class Announce(Protocol):
    """Receives the name of each computation before it runs, and a remark on why it may crash."""

    def __call__(self, doing: str, why: Cause = NO_REASON, /) -> None: ...


@dataclass
class KernelSubject:
    """The loss of a case of launches as a subject of `questions`; `where` names the present state."""

    launches: Recording
    ran: Sequence[RecordedLaunch] = ()
    where: str = ""
    usual: float = 0.0
    noise: float = 0.0
    steady: bool = False
    """A replay elsewhere has no new result: no branch or index depends on inputs, or there is no replay."""
    slow: bool = False
    """A replay takes long: one is enough."""
    cost: float = 0.0
    """Seconds of one gradient."""
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The range that the program gives each input, where no replay says how far it may be moved."""

    @property
    def eps(self) -> float:
        return float(np.finfo(coarsest(self.launches)).eps)

    def value(self) -> float:
        return self.launches.value()

    def decisions(self) -> None:
        """None: a jump of a kernel is a finding."""

    def rounding(self) -> float:
        return max(100.0 * self.eps * self.usual, self.noise)

    def least_change(self) -> float:
        """The smallest change of the loss that the mismatch of a path is measured by.

        As of double precision: with 1e9 roundings of f32 no mismatch would be one.
        """
        return 1e9 * 100.0 * EPS * self.usual

    def stays_within_bounds(self) -> bool:
        """True if the kernels stay within array bounds at the present inputs."""
        if self.slow:
            return all(self.admits(h.name, h.start) for h in self.launches.inputs)
        return self.steady or stays_within_bounds(
            self.launches, self.ran, [(h, h.start) for h in self.launches.inputs]
        )

    def admits(self, name: str, values: np.ndarray) -> bool:
        """True if an input may have these values: they are in its range, if that is all that is known."""
        low, high = self.limits.get(name, (-np.inf, np.inf))
        return bool((values >= low).all() and (values <= high).all())

    def measured_rounding(
        self,
        rng: np.random.Generator,
        steps: Mapping[str, float],
        gradients: Mapping[str, np.ndarray | None],
    ) -> float:
        """The rounding of the loss: its remainder over tiny steps, which would be zero for a smooth loss."""
        launches, worst = self.launches, 0.0
        here = launches.value()
        for handle in launches.inputs:
            found, start = gradients[handle.name], handle.start.astype(np.float64)
            remainders = []
            for _ in range(DRAWS if self.cost < COSTLY else FEW):
                tiny = np.maximum(TINY * steps[handle.name], 4.0 * self.eps * np.abs(start))
                launches.set(handle, start + tiny * rng.uniform(-1.0, 1.0, start.shape))
                change = 0.0 if found is None else float(np.sum(found * (handle.start - start)))
                left = abs(launches.value() - here - change)
                remainders.append(left if np.isfinite(left) else 0.0)
            launches.set(handle, start)
            worst = max(
                worst, sorted(remainders)[min(1, len(remainders) - 1)]
            )  # a jump at this point shows in some draws, rounding in all
        return min(30.0 * worst, max(1e-6, 1e4 * self.eps) * self.usual)

    def finding(
        self,
        argument: str,
        question: str,
        passed: bool,
        figure: float | None,
        text: str,
        why: Cause = NO_REASON,
    ) -> Finding:
        said = f"{text} {self.where}{f': {why.text}' if why.text else ''}"
        return Finding(self.launches.case.name, argument, question, passed, figure, said, why.where)


def put_state(launches: Recording, state: Mapping[str, np.ndarray]) -> None:
    """Give the inputs these values."""
    for handle in launches.inputs:
        launches.set(handle, state[handle.name])


def coarsest(launches: Recording) -> str:
    """The least precise type among the arrays that the loss depends on, and the casts of its kernels."""
    real = [h.start.dtype for h in (launches.loss, *launches.inputs)] + [np.dtype(launches.narrow)]
    return min(real, key=lambda dtype: dtype.itemsize).name
