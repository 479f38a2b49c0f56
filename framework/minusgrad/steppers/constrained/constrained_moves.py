"""Moves of a constrained step: drifts onto constraints, tangent velocities, the work of driven constraints.

`multipliers` (4, projections of a step, E) are those of the last four steps, the newest first. Those that the
next one begins with are their extrapolation by a polynomial; in a heat bath, which pushes at random, the last
ones are taken as they are. They are state: from them and the fields, a resumed run computes the same bits.

Decisions 0379, 0380.
"""

from typing import Any

import numpy as np

from ...engine import storage
from ...engine.kernels import Code
from .projections import Projections

EXTRAPOLATED = ((1.0, 0.0, 0.0, 0.0), (2.0, -1.0, 0.0, 0.0), (4.0, -6.0, 4.0, -1.0))
"""Weights of the multipliers before: constant, linear, and cubic where four steps are known."""


class ConstrainedMoves:
    """The constrained moves of a step with so many projections of positions.

    work: an array of one number, to which the work of driven constraints and of supports by them is added.
    smooth: multipliers change little from step to step.
    """

    def __init__(self, projections: Projections, work: Any, count: int, smooth: bool = True):
        self.projections, self.work, self.smooth = projections, work, smooth
        self._kept = storage.allocate(np.zeros((len(EXTRAPOLATED[0]), count, projections.count)))
        self.projected: list[tuple[np.ndarray, np.ndarray]] = []
        """Velocities (N,) and impulses (E,) of projections of velocities, for a tape that empties it."""
        self.recorded = False

    @property
    def multipliers(self) -> np.ndarray:
        """Those of the last steps, (4, projections of a step, E)."""
        return storage.host(self._kept)

    def put(self, multipliers: np.ndarray | float) -> None:
        """Overwrite the multipliers of the last steps."""
        storage.store(self._kept, np.broadcast_to(multipliers, self._kept.shape))

    def project(self, number: int, h: float, end: float) -> None:
        """After a drift of length h: the projection onto g = 0 at the time `end`, and the Jacobian there.

        Raises `UnsolvedStepError` where there is no projection, or where constraints are singular.
        """
        known = self.multipliers[:, number]
        order = 0 if not self.smooth else 2 if known[3].any() else 1 if known[1].any() else 0
        guess = sum(c * one for c, one in zip(EXTRAPOLATED[order], known, strict=True) if c)
        found = self.projections.positions(h, end, guess)
        kept = self.multipliers.copy()
        kept[:, number] = found, *known[:-1]
        self.put(kept)
        self._count(self.projections.work(self.projections.impulses))
        self.projections.begin(end, loaded=True)

    # For kernels of whole steps

    def steps_in_kernels(self) -> bool:
        """True if a kernel can take whole steps: nothing drives constraints, and no tape or bath is there."""
        whole = self.projections.loops is not None and not self.projections.drives
        return whole and self.smooth and not self.recorded

    def onto(self, number: str) -> Code:
        """The projection of the drift of this number, and the Jacobian there; locals h and t."""
        loops = self.projections.loops
        assert loops
        weights = ", ".join(f"w{k}" for k in range(4))
        constant, linear, cubic = (", ".join(f"ti.f64({c})" for c in row) for row in EXTRAPOLATED)
        guess = " + ".join(f"w{k} * multipliers[{k}, {number}, e]" for k in range(4))
        shifted = "".join(
            f"    multipliers[{k}, {number}, e] = multipliers[{k - 1}, {number}, e]\n" for k in (3, 2, 1)
        )
        before = (
            f"{_sought('few', 1, number)}{_sought('full', 3, number)}"
            f"{weights} = {constant}\nif full > 0.0:\n    {weights} = {cubic}\n"
            f"elif few > 0.0:\n    {weights} = {linear}\n"
            f"for e in range(found.shape[0]):\n    found[e] = h * ({guess})\n"
        )
        after = (
            f"rest = ti.f64(1.0) / h\nfor e in range(impulses.shape[0]):\n{shifted}"
            f"    multipliers[0, {number}, e] = rest * impulses[e]\n"
        )
        guessed, kept = (loops.code(text).naming(multipliers=self._kept) for text in (before, after))
        return Code.joined([guessed, loops.onto(), kept, loops.rows()])

    def tangents(self) -> Code:
        """Tangent velocities."""
        assert self.projections.loops
        return self.projections.loops.tangent()

    def while_solved(self, step: Code) -> Code:
        """A step that is taken unless one before it failed."""
        assert self.projections.loops
        test = self.projections.loops.code("if failed[0] < 0:")
        return step.inside(test.text).naming(**test.arrays)

    # By launches

    def tangent(self) -> float:
        """Make velocities tangent; returns the kinetic energy that driven constraints took by it."""
        work = self.projections.work(self.velocities())
        self._count(work)
        return -work

    def velocities(self) -> np.ndarray:
        """Make velocities tangent; the impulses (E,)."""
        impulses = self.projections.velocities()
        if self.recorded:
            fields, motions = self.projections.constraints.fields, self.projections.motions
            v = [fields[m.velocity].values.reshape(-1) for m in motions]
            self.projected.append((np.concatenate(v, dtype=np.float64), impulses.copy()))
        return impulses

    def _count(self, work: float) -> None:
        if work:
            storage.store(self.work, storage.host(self.work) + work)


def _sought(name: str, kept: int, number: str) -> str:
    """Lines after which the local is not zero if one of the multipliers of a step before is not."""
    one = f"ti.abs(multipliers[{kept}, {number}, at_{name}])"
    return (
        f"{name}, at_{name} = ti.f64(0.0), 0\nwhile at_{name} < found.shape[0] and {name} == 0.0:\n"
        f"    {name} = {one}\n    at_{name} += 1\n"
    )
