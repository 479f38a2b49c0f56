"""Newton's method: the step to the minimum of the parabola that U is here.

    H d = -p,    H = d2U/dz2                        then the step of `line_search` along d, 1 tried first

H is taken as it is while it is positive definite and d leads downhill. Else the Hessian of each element is
made positive semi-definite first: negative eigenvalues become zero, then positive (`Potential.hessian`);
where it is singular, because a part of the body is free, a small part of its diagonal is added. Where that
does not help, d is the slope. Near a minimum the number of correct digits doubles with every step.
(Nocedal and Wright, Numerical Optimization, chapter 3; projection by elements: Teran et al. 2005, SCA, 181.)

Bounds: components at a bound that U pushes beyond it are left out of the system.

Decisions 0072, 0361.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from ...errors import EnergyError, RunFailedError, SingularSystemError
from ...solvers.linear_solver import LinearSolver
from ...solvers.sparse_system import SparseSystem
from ..systems.system import System
from .line_search import search
from .minimiser import Minimiser, Point, dot, largest
from .objective import Curved
from .outcomes import NO_TOLERANCES, Tolerances
from .scaled_hessian import images, scaled_hessian
from .soft_motions import SoftMotion, soft_motions
from .unknowns import Unknown, positive

ACCURATE = 1e-8
"""The relative residual to which iterative solvers solve for a step."""
ROUNDED = 4.0
"""Out-of-balance forces are rounding up to so many times eps |H| |z|, where a step does not halve them."""
ROUNDINGS = 1e3
"""Forces along a free motion balance each other up to so many roundings of each."""
MOST_PARTS = 32
"""A body of more parts than this is asked for free motions as a whole."""
SCATTERED = 16.0
"""The same of roundings that add up at random, which in f32 are below the loads of a body."""


class Newton(Minimiser):
    """Newton's method; `solver`: of `solvers.linear_solver.METHODS`, or "auto".

    first: the largest |dz| of the first trial where a step follows the slope. `last`: the residual before the
    last step. Raises `EnergyError` for an
    objective without a sparse Hessian, and an unknown solver.
    """

    kept = ("last", "rounded")

    def __init__(
        self,
        objective: System | Curved,
        unknowns: Sequence[Unknown],
        tolerances: Tolerances = NO_TOLERANCES,
        *,
        solver: str = "auto",
        first: float = 0.1,
        **options: Any,
    ):
        super().__init__(objective, unknowns, tolerances, **options)
        if not hasattr(self.objective, "hessian"):
            raise EnergyError("newton: needs second derivatives, which a loss has not; use lbfgs")
        self._curved, self.solver = cast(Curved, self.objective), LinearSolver(solver)
        self.first = positive("first", first)
        self.loose: tuple[str, ...] = ()
        """The motions that nothing resists, which the last step left out."""
        self._said: tuple[str, ...] = ()
        self._known_parts: tuple[Any, list[np.ndarray]] = (None, [])
        self._curved.hessian([field.name for field in self.moving], self.t)  # refuses energies without one

    @property
    def solver_used(self) -> str:
        return self.solver.used

    def evaluate(self, t: float | None = None) -> None:
        super().evaluate(t)
        self.last = math.inf

    def _next_point(self, here: Point) -> Point | None:
        before, self.last = self.last, self._status().residual
        self.rounded = self.last > 0.5 * before and self._is_rounding()
        for direction in () if self.rounded else self._directions(here):
            if (there := search(self, here, direction, 1.0)) is not None:
                return there
            self.return_to(here)
        return None

    def _directions(self, here: Point) -> Iterator[np.ndarray]:
        """Directions downhill: by the Hessian as it is, by projected ones, along the slope."""
        moving = np.flatnonzero(~self.coordinates.pinned(here.z, here.slope))
        motions = self._soft_motions()
        system = self._linear_system(motions, None)
        rows = self._resisted(here, moving, motions, system.restricted_to(moving))
        for project in (None, "clamp", "abs"):
            direction = np.zeros(len(here.z))
            if project is not None:
                system = self._linear_system(motions, project)
            try:
                self._factor(system.restricted_to(rows), project is not None)
                if project is None and self.solver.definite is False:
                    continue  # it may lead to a saddle
                direction[rows] = -self.solver.solve(here.slope[rows], ACCURATE)
            except RunFailedError:
                continue
            if np.isfinite(direction).all() and dot(here.slope, direction) < 0.0:
                yield direction
        slope = np.zeros(len(here.z))
        slope[moving] = here.slope[moving]
        yield -self.first / largest(slope) * slope

    def _factor(self, system: SparseSystem, projected: bool) -> None:
        """Factor a system; a singular one with a small shift, if it is semi-definite."""
        try:
            self.solver.factor(system)
        except SingularSystemError:
            if not projected:
                raise
            self.solver.factor(system.shifted_system())

    def _is_rounding(self) -> bool:
        """True if no force that is left is above the rounding of those that balance at a node."""
        system = self._linear_system(self._soft_motions(), None)
        z = self.coordinates.scaled(self.coordinates.read())
        most = float(abs(system.matrix).dot(np.abs(z)).max(initial=0.0))
        return self.last <= ROUNDED * np.finfo(self.objective.fields.dtype).eps * most

    def _soft_motions(self) -> Sequence[SoftMotion]:
        """The motions that U may not resist."""
        return soft_motions(self.moving)

    def _linear_system(self, motions: Sequence[SoftMotion], project: str | None) -> SparseSystem:
        """H in scaled variables."""
        return scaled_hessian(self._curved, self.coordinates, motions, self.t, project)

    def _resisted(
        self, here: Point, moving: np.ndarray, motions: Sequence[SoftMotion], system: SparseSystem
    ) -> np.ndarray:
        """The components that move, but as many fewer as there are motions that nothing resists.

        A step then contains none of these motions. Raises `RunFailedError` where U falls along one.
        """
        turned = images(self.coordinates, motions, here.slope)[moving]
        left, loose = [], list[str]()
        for part in self._parts(system) if system.matrix.data.any() else ():
            own = system.restricted_to(part)
            if free := self._unresisted(own, turned[part]):
                of_part = "" if len(part) == system.size else f" of the part with node {own.node.min()}"
                names = [f"{motions[k].name}{of_part}" for k in free]
                self._refuse_pushed(own, free, names, here.z[moving][part], here.slope[moving][part])
                left.append(part[_independent(own.modes[:, free])])
                loose += names
        self.loose = tuple(loose)
        return np.delete(moving, np.concatenate(left)) if left else moving

    def _parts(self, system: SparseSystem) -> list[np.ndarray]:
        """The rows of the parts that are asked for free motions one by one; found once for a pattern."""
        pattern = system.size, system.matrix.nnz
        if self._known_parts[0] != pattern:
            self._known_parts = pattern, system.parts(MOST_PARTS)
        return self._known_parts[1]

    def unresisted(self) -> np.ndarray:
        """The rows that a step at the present fields leaves out, of motions that nothing resists."""
        self.evaluate()
        every, motions = np.arange(len(self.coordinates)), self._soft_motions()
        kept = self._resisted(self._here(), every, motions, self._linear_system(motions, None))
        return np.setdiff1d(every, kept)

    def events(self) -> list[dict[str, Any]]:
        """A remark on the motions that nothing resists, once."""
        if self.loose == self._said:
            return []
        self._said = self.loose
        return [{"event": "remarked", "step": self.step, "text": self._of_loose}] if self.loose else []

    @property
    def _of_loose(self) -> str:
        return (
            f"nothing resists {', '.join(self.loose)}: steps leave it out, so that the state found is one of"
            " many; hold a part of the body to choose one"
        )

    @property
    def verdict(self) -> str:
        return f"{super().verdict}; {self._of_loose}" if self.loose else super().verdict

    def _unresisted(self, system: SparseSystem, turned: np.ndarray) -> list[int]:
        """The motions that nothing resists."""
        return system.free_modes(turned, 8.0 * float(np.finfo(self.objective.fields.dtype).eps))

    def _refuse_pushed(
        self, system: SparseSystem, free: list[int], names: list[str], z: np.ndarray, slope: np.ndarray
    ) -> None:
        """Raise `RunFailedError` where forces act along motions that nothing resists: U has no minimum."""
        modes = system.modes[:, free] / np.abs(system.modes[:, free]).max(axis=0)
        rounding = np.finfo(self.objective.fields.dtype).eps * float(abs(system.matrix).dot(np.abs(z)).max())
        most, likely = ROUNDINGS * len(slope) * rounding, SCATTERED * np.sqrt(len(slope)) * rounding
        pushed = [
            name
            for name, mode in zip(names, modes.T, strict=True)
            if (off := abs(dot(mode, slope))) > most
            or (off > likely and off > 0.5 * dot(np.abs(mode), np.abs(slope)))  # most of them one way
        ]
        if pushed:
            raise RunFailedError(
                f"step {self.step + 1}: the Hessian is singular: nothing resists {', '.join(pushed)}, and U"
                " falls along it; hold a part of the body"
            )


def _independent(modes: np.ndarray) -> np.ndarray:
    """As many rows of the modes (N, k) as are linearly independent."""
    from scipy.linalg import qr

    upper, order = qr(modes.T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(upper))
    return order[: int(np.count_nonzero(sizes > 1e-8 * sizes[0]))]
