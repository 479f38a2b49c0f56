"""How a buckling load changes with parameters, exactly, at its critical point.

    r(x, s; p) = 0,   K Phi = 0,   Phi^T Phi = 1            s: the load's factor, K = d2U/dx2, r = dU/dx
    mu = mean of phi_k . K phi_k,    S = [K Phi; Phi^T 0]   m modes phi_k; one, or those that buckle together

    bifurcation   ds/dp = -(dmu/dp - w . dr/dp) / (dmu/ds - w . dr/ds),    S (w, .) = (dmu/dx, 0)
    limit point   ds/dp = -(phi . dr/dp) / (phi . dr/ds)

The equilibrium x(s, p) before buckling is followed across the modes: w carries how it stiffens or softens as
x changes, and dmu/dx is a third derivative of U (`ModeCurvature`). K is singular at the point, S is not. The
point is first found to rounding by Newton's method on r = 0, mu = 0 with the same derivatives.

A parameter that pushes along a mode of a bifurcation (phi . dr/dp not zero) makes the body imperfect: the
bifurcation vanishes, and the largest load falls by the power 2/3 of it (Koiter 1945), so that no derivative
exists. One that parts modes which buckle together has one from each side alone. Both are refused, and
bifurcations to one side (dmu/dx . phi not zero), whose equilibria before buckling turn along the mode.

Werner & Spence 1984, SIAM J. Numer. Anal. 21, 388; Wu & Wang 1997, Comput. Methods Appl. Mech. Eng. 147.

Decisions 0198.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import EnergyError, RunFailedError, choices
from ...potential.hessians.mode_curvature import ModeCurvature
from ...solvers.linear_solver import direct
from ...solvers.saddle_point import SaddlePoint
from .buckling import CriticalPoint
from .loaded_body import LoadedBody, LoadedEquilibrium

TOGETHER = 1e-4
"""Modes buckle together whose eigenvalues are below this part of the lowest one without the load."""
BLOCK, ROUNDS = 4, 30
"""Vectors and rounds of inverse iteration that find the modes."""
STEPS, SETTLED, ROUNDED = 12, 1e-9, 1e-6
"""Newton's steps to the point, and the changes of the factor after which the next is rounding: at
once, and where they no longer fall."""
PUSHED = 1e-6
"""The part of a push that may lie along a mode, by rounding."""
PARTED = 1e-5
"""The part of a change of mu by which it may differ between modes that buckle together."""


@dataclass(frozen=True)
class CriticalSlopes:
    """A critical point to rounding, with the derivatives of its load's factor by name, in their shapes."""

    factor: float
    slopes: dict[str, np.ndarray]


def critical_slopes(
    body: LoadedBody, rest: LoadedEquilibrium, point: CriticalPoint, names: Sequence[str]
) -> CriticalSlopes:
    """ds/d(name) at a critical point, by fields and "term.argument"; moves the fields there.

    rest: the equilibrium without the load. point: may be that of slightly other parameters. Raises
    `EnergyError` for constraints, for a name without such a derivative, where the point is not regular (see
    above), and `RunFailedError` where Newton's method does not find it.
    """
    if rest.jacobian is not None:
        raise EnergyError(
            "slopes of a buckling load: are not known under constraints; use stiff energies in their place,"
            " or take differences"
        )
    found = _Point(body, rest, point)
    found.settle()
    return CriticalSlopes(found.factor, {n: found.slope(n) for n in names})


class _Point:
    """A critical point and its modes (N, m), which `settle` moves to rounding."""

    def __init__(self, body: LoadedBody, rest: LoadedEquilibrium, point: CriticalPoint):
        self.body, self.factor, self.limit = body, point.factor, point.kind == "limit point"
        computed = body.potential.map_outputs
        self._curved = [ModeCurvature(part.terms, body.names, computed) for part in body.parts]
        body.x = point.x
        stiffness = body.stiffness(point.lower)
        softest, _ = _lowest(rest.stiffness)
        values, vectors = _lowest(stiffness)
        together = np.abs(values) <= TOGETHER * abs(softest[0])
        self.modes = vectors[:, : max(int(together.sum()), 1)]
        if self.modes.shape[1] == BLOCK or (self.limit and self.modes.shape[1] > 1):
            raise EnergyError(
                f"slopes of a buckling load: {self.modes.shape[1]} modes or more buckle together, at most"
                f" {1 if self.limit else BLOCK - 1} have a derivative; hold what may move freely"
            )

    def settle(self) -> None:
        """Newton's method on r = 0, mu = 0."""
        last = np.inf
        for _ in range(STEPS):
            self._linearise()
            force, push = self.body.gradient(self.factor), self.body.load_gradient()
            back, ahead = self._solved(force), self._solved(push)
            mu, bends = self._mu, self._mu_by_x
            if self.limit:
                phi = self.modes[:, 0]
                step = -float(phi @ force) / float(phi @ push)
                across = -back - step * ahead
                off = mu + float(bends @ across) + step * self._mu_by_factor
                across = across - off / float(bends @ phi) * phi
            else:
                step = -(mu - float(bends @ back)) / (self._mu_by_factor - float(bends @ ahead))
                across = -back - step * ahead
            self.body.x = self.body.x + across
            self.factor += step
            size = abs(step / self.factor)
            if size <= SETTLED or 0.5 * last <= size <= ROUNDED:
                self._linearise()
                return
            if not np.isfinite(step):
                break
            last = size
        raise RunFailedError(
            f"slopes of a buckling load: Newton's method did not settle at the critical point near"
            f" {self.factor:g} times the load; the slopes of its path's limit points are asked in [stepper]"
            " load_steps"
        )

    def _linearise(self) -> None:
        """K, the modes, mu and its derivatives at the present state."""
        stiffness = self.body.stiffness(self.factor)
        for _ in range(2):
            self._bordered = _bordered(stiffness, self.modes)
            m = self.modes.shape[1]
            nearer = [self._bordered.solve(np.zeros(len(self.modes)), row)[0] for row in np.eye(m)]
            self.modes, _ = np.linalg.qr(np.array(nearer).T)
        small = self.modes.T @ (stiffness @ self.modes)
        _, turned = np.linalg.eigh(0.5 * (small + small.T))
        self.modes = self.modes @ turned
        self._bordered = _bordered(stiffness, self.modes)
        of_rest, self._mu_by_factor = (self._mean_curvature(part) for part in self._curved)
        self._mu = of_rest + self.factor * self._mu_by_factor
        self._mu_by_x = self.body.free.vector(self._mean_by(self.body.names))

    def _solved(self, right: np.ndarray) -> np.ndarray:
        """The part of S^-1 (right, 0) that is x, across the modes."""
        return self._bordered.solve(right)[0]

    def _derivatives(self, vector: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """d(phi . K phi)/d(name) along one vector (N,)."""
        along, t = self.body.free.by_field(vector), self.body.t
        rest, load = (part.derivatives(along, names, t) for part in self._curved)
        return {n: rest[n] + self.factor * load[n] for n in names}

    def _mean_by(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """dmu/d(name)."""
        each = [self._derivatives(phi, names) for phi in self.modes.T]
        return {n: sum((one[n] for one in each), 0.0 * each[0][n]) / len(each) for n in names}

    def _mean_curvature(self, part: ModeCurvature) -> float:
        """The part of mu of some terms; element by element it has more digits than phi . K phi."""
        free, t = self.body.free, self.body.t
        return float(np.mean([part.value(free.by_field(phi), t) for phi in self.modes.T]))

    # Slopes

    @cached_property
    def _carried(self) -> np.ndarray:
        """w (N,)."""
        return self._solved(self._mu_by_x)

    def slope(self, name: str) -> np.ndarray:
        """ds/d(name). Raises `EnergyError` where there is none."""
        self._check(name)
        pushes = [self._push(phi, name) for phi in self.modes.T]
        if self.limit:
            return -pushes[0] / float(self.modes[:, 0] @ self.body.load_gradient())
        for phi, push in zip(self.modes.T, pushes, strict=True):
            self._refuse_push(name, phi, push)
        self._refuse_one_side()
        changes = self._mean_by([name])[name] - self._push(self._carried, name)
        along = self._mu_by_factor - float(self._carried @ self.body.load_gradient())
        self._refuse_parting(name, changes)
        return -changes / along

    def _push(self, along: np.ndarray, name: str) -> np.ndarray:
        """along . dr/d(name), in the shape of its values."""
        return self.body.pushed(along, name, self.factor)

    def _check(self, name: str) -> None:
        body = self.body
        if name in body.names:
            raise EnergyError(
                f"'{name}': a buckling load has no slope by what moves; name a parameter, data, or a field"
                " that stays"
            )
        if name not in body.inputs:
            raise EnergyError(f"a buckling load has no slope by '{name}'{choices(name, body.inputs)}")

    def _refuse_push(self, name: str, phi: np.ndarray, push: np.ndarray) -> None:
        """Refuse an imperfection: a force along the mode, as large as a part of that of the load."""
        body = self.body
        values = np.abs(body.values(name)).max(initial=0.0)
        size = np.abs(push).max(initial=0.0) * (values or 1.0)
        if size <= PUSHED * max(abs(self.factor) * body.push * float(np.abs(phi).max()), 1e-300):
            return
        raise EnergyError(
            f"'{name}': pushes along the mode of the bifurcation, so that the body is imperfect and its load"
            " falls by the power 2/3 of the change: there is no derivative; follow the path of the imperfect"
            " body, whose limit points have one"
        )

    def _refuse_one_side(self) -> None:
        """Refuse a bifurcation whose paths are not alike on both sides of the mode."""
        size = float(np.linalg.norm(self._mu_by_x))
        for phi in self.modes.T:
            if abs(float(self._mu_by_x @ phi)) > 1e-3 * size:
                raise EnergyError(
                    "slopes of a buckling load: the bifurcation is to one side, as of a frame of two bars,"
                    " and the body turns along the mode before it buckles; take differences of two runs"
                )

    def _refuse_parting(self, name: str, changes: np.ndarray) -> None:
        """Refuse a parameter that parts modes which buckle together: it has no derivative but one-sided."""
        modes = self.modes.T
        largest = float(np.abs(changes).max(initial=0.0))
        for i in range(len(modes)):
            for j in range(i + 1, len(modes)):
                for one, other in ((modes[i], modes[j]), _turned(modes[i], modes[j])):
                    names = [*self.body.names, name]
                    a, b = self._derivatives(one, names), self._derivatives(other, names)
                    bends = self.body.free.vector({n: a[n] - b[n] for n in self.body.names})
                    w = self._solved(bends)
                    parted = 0.5 * np.abs(a[name] - b[name] - self._push(w, name)).max(initial=0.0)
                    if parted > PARTED * largest:
                        raise EnergyError(
                            f"'{name}': parts modes that buckle together, so that the load has no derivative"
                            " but one from each side; make the body a little unlike in their directions"
                        )


def _turned(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two orthonormal vectors, turned by an eighth."""
    return (one + other) / np.sqrt(2.0), (one - other) / np.sqrt(2.0)


def _bordered(stiffness: Any, modes: np.ndarray) -> SaddlePoint:
    """Factors of S."""
    from scipy.sparse import csr_array

    return SaddlePoint(stiffness, csr_array(modes.T))


def _lowest(stiffness: Any) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues of K that are nearest to zero, by size, and their vectors (N, k)."""
    if (factors := direct(stiffness)) is None:
        raise RunFailedError("slopes of a buckling load: K is singular to rounding; take another mesh")
    size = stiffness.shape[0]
    block = np.random.Generator(np.random.Philox(key=4)).normal(size=(size, min(BLOCK, size)))
    for _ in range(ROUNDS):
        block, _ = np.linalg.qr(np.array([factors.solve(v, 0.0) for v in block.T]).T)
    values, turned = np.linalg.eigh(block.T @ (stiffness @ block))
    order = np.argsort(np.abs(values))
    return values[order], block @ turned[:, order]
