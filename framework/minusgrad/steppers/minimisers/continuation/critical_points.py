"""Critical points of a path, where A is singular: limit points and bifurcations, told apart and located.

    limit point     s' changes its sign, the load turns;  phi . b is not zero
    bifurcation     the number of negative eigenvalues of A changes and s' keeps its sign;  phi . b = 0

with A phi = 0. An interval of the path with several of them is halved until each has one. A limit point is
the zero of s' along the path, where A phi = 0 holds with phi the tangent; a bifurcation is the zero of the
eigenvalue of A that is nearest to zero, with the sign that the counts give it. Both by Brent's method, each
trial a point of the path. (Seydel 2010, Practical Bifurcation and Stability Analysis, chapters 4 and 5.)

Decisions 0163.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .path_equations import PathPoint
from .path_points import PathCorrector, PathPlane, PathState

LIMIT, BIFURCATION = "limit point", "bifurcation"
CLOSE, CLOSER = 1e-12, 1e-6
"""The interval, in parts of the step, to which a point is located, and in which several are one."""
INVERSE = 12
"""Inverse iterations for the null vector."""


@dataclass(frozen=True)
class CriticalState:
    """A critical point at `load` and at an arc length `ahead` of where the step began.

    mode: phi (M,) of A phi = 0, unit in z; node: the one that it moves most. count: how many modes there are.
    """

    kind: str
    load: float
    ahead: float
    state: PathState
    mode: np.ndarray
    node: int
    count: int = 1


def critical_points(
    corrector: PathCorrector, plane: PathPlane, before: PathState, after: PathState
) -> list[CriticalState]:
    """All that are between two states of a path, along it; `plane`: across the tangent of `before`."""
    search = _Between(corrector, plane, plane.height(after.point))
    return list(search.points(before, after, 0.0, search.length))


class _Between:
    """The path between two states, as a function of the height above a plane."""

    def __init__(self, corrector: PathCorrector, plane: PathPlane, length: float):
        self.corrector, self.plane, self.length = corrector, plane, length

    def at(
        self, height: float, low: PathState, high: PathState, begin: float, end: float
    ) -> PathState | None:
        part = (height - begin) / (end - begin)
        a, b = low.point, high.point
        guess = PathPoint(a.unknowns + part * (b.unknowns - a.unknowns), a.load + part * (b.load - a.load))
        return self.corrector.found(guess, self.plane, height)

    def points(self, low: PathState, high: PathState, begin: float, end: float) -> Iterator[CriticalState]:
        turns = (low.rate < 0.0) != (high.rate < 0.0)
        if low.negative is None or high.negative is None:
            return
        changes = abs(high.negative - low.negative)
        if not turns and not changes:
            return
        single = changes == 1
        if not single and end - begin > CLOSER * self.length:
            height = 0.5 * (begin + end)
            middle = self.at(height, low, high, begin, end)
            if middle is not None and middle.negative is not None:
                yield from self.points(low, middle, begin, height)
                yield from self.points(middle, high, height, end)
                return
        yield self._located(LIMIT if turns else BIFURCATION, low, high, begin, end, max(changes, 1))

    def _located(
        self, kind: str, low: PathState, high: PathState, begin: float, end: float, count: int
    ) -> CriticalState:
        from scipy.optimize import brentq

        last: dict[float, PathState] = {begin: low, end: high}

        def test(height: float) -> float:
            """s' of a limit point, the eigenvalue of a bifurcation; zero where the path cannot tell."""
            state = last.get(height) or self.at(height, low, high, begin, end)
            if state is None:
                return 0.0
            last[height] = state
            if kind == LIMIT:
                return state.rate
            if state.negative is None:
                return 0.0
            size = abs(self._softest(state)[1])
            return size if state.negative == low.negative else -size

        root = float(brentq(test, begin, end, xtol=CLOSE * self.length, rtol=1e-14, maxiter=60))
        nearest = min(last, key=lambda height: abs(height - root))
        state = last[nearest]
        mode = self._softest(state)[0] if kind == BIFURCATION else _unit(state.way, self._size)
        node = self.corrector.equations.nodes(mode)
        return CriticalState(kind, state.point.load, nearest, state, mode, node, count)

    @property
    def _size(self) -> int:
        return self.corrector.equations.size

    def _softest(self, state: PathState) -> tuple[np.ndarray, float]:
        """The eigenvector of A whose eigenvalue is nearest to zero, and this, by inverse iteration."""
        here = state.linearised
        shape = np.random.Generator(np.random.Philox(key=2)).normal(size=here.matrix.shape[0])
        shape[self._size :] = 0.0
        value, factors = 0.0, here.nearby_factors
        for _ in range(INVERSE if factors else 0):
            assert factors is not None
            shape = factors.solve(shape)
            shape /= np.linalg.norm(shape)
            value = float(shape @ (here.matrix @ shape))
        return _unit(shape, self._size), value


def _unit(shape: np.ndarray, size: int) -> np.ndarray:
    """Of unit length in z, its largest component positive."""
    free = shape[:size]
    largest = np.argmax(np.round(np.abs(free) / np.abs(free).max(), 6))
    return shape / np.linalg.norm(free) * (1.0 if free[largest] > 0.0 else -1.0)
