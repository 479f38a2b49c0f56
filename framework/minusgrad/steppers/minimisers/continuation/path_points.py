"""Points of an equilibrium path by arc length: tangents, predictor, and corrector on a plane.

    |(dw, ds)|^2 = (|dz|^2 / Z^2 + ds^2) / 2             Z = |dz/ds| at the start of the path
    [ A    b ] [ w' ]   [ 0 ]                            the tangent, |(w', s')| = 1; c, d: the plane of the
    [ c^T  d ] [ s' ] = [ 1 ]                            tangent before, so that it goes on the same way
    r(w, s) = 0,   c (w - w_0) + d (s - s_0) = length    by Newton's method, from the end of the tangent

At the start of the path arc length and load grow alike; the lengths are thus independent of units. The
bordered matrix is regular at limit points, where A is singular. (Riks 1979, Int. J. Solids Struct. 15, 529;
Keller 1977, Applications of Bifurcation Theory, 359; Crisfield 1991, Non-linear Finite Element Analysis of
Solids and Structures, vol. 1, chapter 9.)

Decisions 0163.
"""

from dataclasses import dataclass

import numpy as np

from ....errors import RunFailedError, SingularSystemError
from ....solvers.bordered_system import BorderedSystem
from .path_equations import LinearisedPath, PathEquations, PathPoint

MISSED = 1e-11
"""A point is at a height up to this."""
NEARLY = 1e3
"""A residual that no longer falls by half is rounding up to so many times what was expected."""


@dataclass(frozen=True)
class PathPlane:
    """c (M,) and d of a plane through `base`: c (w - w_0) + d (s - s_0) = 0; M includes multipliers."""

    base: PathPoint
    across: np.ndarray
    load: float

    def height(self, point: PathPoint) -> float:
        """How far a point is above the plane."""
        off = float(self.across @ (point.unknowns - self.base.unknowns))
        return off + self.load * (point.load - self.base.load)


@dataclass(frozen=True)
class PathState:
    """A point on the path, its unit tangent (w', s'), and how many eigenvalues of A are negative there."""

    point: PathPoint
    way: np.ndarray
    rate: float
    negative: int | None
    linearised: LinearisedPath

    def ahead(self, length: float) -> PathPoint:
        """The end of the tangent of this length."""
        return PathPoint(self.point.unknowns + length * self.way, self.point.load + length * self.rate)


class PathMetric:
    """Lengths along a path; `scale`: Z."""

    def __init__(self, scale: float, size: int):
        self.scale, self.size = scale, size

    def plane(self, base: PathPoint, way: np.ndarray, rate: float) -> PathPlane:
        """The plane across a direction."""
        across = np.zeros(len(way))
        across[: self.size] = way[: self.size] / (2.0 * self.scale**2)
        return PathPlane(base, across, 0.5 * rate)

    def length(self, way: np.ndarray, rate: float) -> float:
        """The length of a change of w and of s."""
        inner = float(way[: self.size] @ way[: self.size]) / self.scale**2
        return float(np.sqrt(0.5 * (inner + rate * rate)))

    def cosine(self, a: PathState, b: PathState) -> float:
        """The cosine of the angle between two tangents."""
        inner = float(a.way[: self.size] @ b.way[: self.size]) / self.scale**2
        return 0.5 * (inner + a.rate * b.rate)


class PathCorrector:
    """Finds points of the path, by at most so many `iterations`; `trouble` says why one was not found."""

    def __init__(self, equations: PathEquations, metric: PathMetric, iterations: int):
        self.equations, self.metric, self.iterations = equations, metric, iterations
        self.trouble, self.taken = "", 0

    def found(
        self, guess: PathPoint, plane: PathPlane, height: float, onward: PathPlane | None = None
    ) -> PathState | None:
        """The state on the path near a guess, at a height above a plane; None where there is none.

        onward: the plane of the direction in which the path goes on, if it is another one.
        """
        try:
            return self._found(guess, plane, height, onward or plane)
        except RunFailedError as error:
            self.trouble = str(error)
            return None

    def _found(
        self, point: PathPoint, plane: PathPlane, height: float, onward: PathPlane
    ) -> PathState | None:
        last = np.inf
        for taken in range(self.iterations + 1):
            self.taken = taken
            here = self.equations.linearised(point)
            if not (np.isfinite(here.left).all() and np.isfinite(here.matrix.data).all()):
                self.trouble = "forces are not finite on the way"
                return None
            enough = here.enough(point.unknowns)
            off = float((np.abs(here.left) / np.maximum(enough, np.finfo(float).tiny)).max(initial=0.0))
            short = height - plane.height(point)
            balanced = off <= 1.0 or (off <= NEARLY and off > 0.5 * last)
            if balanced and abs(short) <= MISSED * (1.0 + abs(height)):
                return self.state(point, here, onward)
            last = off
            system = BorderedSystem(here.matrix, here.factors, here.rate, plane.across, plane.load)
            step, change = system.solve(-here.left, short)
            point = PathPoint(point.unknowns + step, point.load + change)
        self.trouble = f"forces did not balance within {self.iterations} corrections"
        return None

    def state(self, point: PathPoint, here: LinearisedPath, plane: PathPlane) -> PathState:
        """The state at a point of the path; the plane tells which way the tangent goes.

        On a bifurcation, where there is no unique tangent, it is across the plane.
        """
        try:
            system = BorderedSystem(here.matrix, here.factors, here.rate, plane.across, plane.load)
            way, rate = system.solve(np.zeros(len(here.rate)), 1.0)
        except SingularSystemError:
            way, rate = 2.0 * self.metric.scale**2 * plane.across, 2.0 * plane.load
        length = self.metric.length(way, rate)
        return PathState(point, way / length, rate / length, here.negative, here)
