"""A body under a load that grows by a factor, and its equilibria.

    U(x; lambda) = U_0(x) + lambda U_load(x)
    dU/dx = 0,  followed by Newton's method from a neighbouring equilibrium:  K dx = -dU/dx,  K = d2U/dx2

over the free components of all that moves. Newton's method finds equilibria that are not stable, too, and
stays on the path it comes from where that path is unstable beyond a point, which a minimiser would leave.

Decisions 0351.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...errors import EnergyError
from ...potential.argument_values import argument_values
from ...potential.potential import Potential
from ...solvers.linear_solver import direct
from ...solvers.row_selection import RowSelection
from ..holds import Holds
from .exact_hessian import exact_hessian
from .free_components import FreeComponents

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BALANCED = 1e-11
"""Forces balance up to this part of the largest force of the load, or to some roundings of the stiffness."""
ROUNDINGS = 8.0
ITERATIONS, HALVINGS = 30, 6
SMALL = 1e-4
"""A step of the factor, relative to it, after which the tangent may be mostly rounding."""
NUDGE = 1e-4
"""Part of the extent of a field by which it moves to see how K changes with the load."""
SAME_PATH, EQUAL = 0.5, 1e-9
"""How far the way to the next equilibrium may be from the path's tangents, by its length, and by |x|."""


class Factors(Protocol):
    """Factors of K, or of K along constraints."""

    @property
    def negative(self) -> int | None:
        """The number of negative eigenvalues; None where it is not known."""

    def solve(self, right: np.ndarray, tolerance: float) -> np.ndarray: ...


@dataclass(frozen=True)
class LoadedEquilibrium:
    """An equilibrium: the load's factor, the free components x (N,), K there, and its factors.

    jacobian: G (E, N) of constraints; K is then that of the Lagrangian, and its factors are those along them.
    """

    factor: float
    x: np.ndarray
    stiffness: "csr_matrix"
    factors: "Factors | None"
    jacobian: "csr_matrix | None" = None

    @property
    def stable(self) -> bool:
        """True if K is positive definite."""
        return self.factors is not None and self.factors.negative == 0


@dataclass(frozen=True)
class QuadraticStiffness:
    """K_0 + s K_1 + s^2 K_2 at s beyond the factor `begin`."""

    begin: float
    stiffness: "csr_matrix"
    slope: "csr_matrix"
    curve: "csr_matrix"

    def is_definite(self, factor: float) -> bool:
        """True if it is positive definite at a factor."""
        s = factor - self.begin
        factors = direct((self.stiffness + s * self.slope + s * s * self.curve).tocsr())
        return factors is not None and factors.negative == 0


class LoadedBody:
    """U_0 + lambda U_load over the free components of the fields `names`.

    loads: the terms of `potential` that are U_load. Raises `EnergyError` where nothing is free.
    """

    def __init__(
        self, potential: Potential, names: Sequence[str], holds: Holds, loads: Collection[str], t: float = 0.0
    ):
        self.potential, self.fields, self.names, self.t = potential, potential.fields, list(names), t
        self.free = FreeComponents(self.fields, {n: np.ones(1) for n in names}, holds)
        if not self.free.size:
            raise EnergyError("every component is held; leave some free")
        self._selection = RowSelection(self.free.rows)
        maps = list(potential.chain.parts.values())
        self._rest = Potential(
            self.fields, [term for n, term in potential.terms.items() if n not in loads], maps
        )
        self._load = Potential(self.fields, [potential.terms[n] for n in loads], maps)
        self.push = float(np.abs(self.load_gradient()).max())
        """The largest force of the load, at factor 1."""

    @property
    def parts(self) -> tuple[Potential, Potential]:
        """U_0 and U_load."""
        return self._rest, self._load

    @property
    def inputs(self) -> list[str]:
        """Names by which r = dU/dx may change: fields that stay, and "term.argument"."""
        still = [n for n in self.fields if n in self.potential.reads and n not in self.names]
        return [*still, *self.potential.arguments]

    def values(self, name: str) -> np.ndarray:
        """The values of a field or of "term.argument"."""
        if name in self.fields:
            return self.fields[name].values.astype(np.float64)
        return np.asarray(argument_values(self.potential, name), np.float64)

    def pushed(self, along: np.ndarray, name: str, factor: float) -> np.ndarray:
        """along . d2U/(dx d(name)) for a vector (N,), in the shape of the values of `name`."""
        tangents, found = self.free.by_field(along), np.zeros(np.shape(self.values(name)))
        for part, share in ((self._rest, 1.0), (self._load, factor)):
            owners = {term for term, _ in self.potential.places_of(name)}
            if not owners.isdisjoint(part.terms) or name in part.reads:
                read = {n: w for n, w in tangents.items() if n in part.reads}
                found = found + share * np.asarray(part.product(read, name, self.t), np.float64)
        return found

    @property
    def x(self) -> np.ndarray:
        """The free components (N,) as they are."""
        return self.free.vector({n: self.fields[n].values for n in self.names})

    @x.setter
    def x(self, values: np.ndarray) -> None:
        for name, of in self.free.by_field(values).items():
            whole = self.fields[name].values.copy()
            places = self.free.places[name]
            whole.reshape(-1)[places] = of.reshape(-1)[places]
            self.fields[name].set(whole)

    def load_gradient(self) -> np.ndarray:
        """dU_load/dx (N,)."""
        return self.free.vector({n: self._load.gradient(n, self.t) for n in self.names})

    def load_forces(self, name: str) -> np.ndarray:
        """-dU_load/d(name) of all nodes, (n, components), at factor 1."""
        gradient = self._load.gradient(name, self.t).astype(np.float64)
        return -gradient.reshape(len(gradient), -1)

    def gradient(self, factor: float) -> np.ndarray:
        """dU/dx (N,)."""
        rest = self.free.vector({n: self._rest.gradient(n, self.t) for n in self.names})
        return rest + factor * self.load_gradient()

    def imbalance(self, factor: float) -> float:
        """The largest force that is not balanced."""
        return float(np.abs(self.gradient(factor)).max())

    def stiffness(self, factor: float) -> "csr_matrix":
        """K (N, N)."""
        rest, load = (exact_hessian(part, self.names, self.t) for part in (self._rest, self._load))
        return self._selection.of((rest + factor * load).tocsr())

    def equilibrium(self, factor: float, start: np.ndarray) -> LoadedEquilibrium | None:
        """The equilibrium near `start`; None where Newton's method does not find one. Moves the fields."""
        self.x = start
        residual = self.gradient(factor)
        for _ in range(ITERATIONS):
            if not np.isfinite(residual).all():
                return None
            stiffness = self.stiffness(factor)
            factors = direct(stiffness)
            rounding = np.finfo(np.float64).eps * float(abs(stiffness).dot(np.abs(self.x)).max())
            enough = max(BALANCED * abs(factor) * self.push, ROUNDINGS * rounding)
            if np.abs(residual).max() <= enough:
                return LoadedEquilibrium(factor, self.x, stiffness, factors)
            if factors is None:
                return None
            residual = self._towards(factor, factors.solve(-residual, 0.0), residual)
        return None

    def follow(self, here: LoadedEquilibrium, factor: float) -> LoadedEquilibrium | None:
        """The equilibrium at another factor on the same path; None where none was found on it.

        The way there must be near the tangents K dx/dlambda = -dU_load/dx at both ends (after a small step at
        its beginning), so that a jump to another path is noticed. Moves the fields.
        """
        tangent = self._tangent(here)
        there = self.equilibrium(factor, here.x + (factor - here.factor) * tangent)
        if there is None or there.factors is None:
            return there
        way = there.x - here.x
        allowed = SAME_PATH * np.linalg.norm(way) + EQUAL * np.linalg.norm(here.x)
        step, tangents = factor - here.factor, [tangent]
        if abs(step) > SMALL * abs(factor):
            tangents.append(self._tangent(there))
        off = [way - step * t for t in tangents]
        return there if max(np.linalg.norm(o) for o in off) <= allowed else None

    def quadratic_stiffness(self, rest: LoadedEquilibrium) -> "QuadraticStiffness | None":
        """K of the factor near `rest` to second order, by differences along the path; moves the fields back.

        Stiff parts that turn with the load change K by squares, which outgrow what is linear. None where the
        path is lost.
        """
        way = self._tangent(rest)
        by_field = self.free.by_field(way)
        extents = {n: float(np.abs(self.fields[n].values).max()) for n in self.names}
        most = max(float(np.abs(w).max(initial=0.0)) / (extents[n] or 1.0) for n, w in by_field.items())
        h = NUDGE / (most or 1.0)
        sides = [self.follow(rest, rest.factor + side * h) for side in (1.0, -1.0)]
        self.x = rest.x
        if sides[0] is None or sides[1] is None:
            return None
        ahead, back = (side.stiffness for side in sides if side is not None)
        slope, curve = (ahead - back) / (2.0 * h), (ahead + back - 2.0 * rest.stiffness) / (2.0 * h * h)
        return QuadraticStiffness(rest.factor, rest.stiffness, slope, curve)

    def _tangent(self, at: LoadedEquilibrium) -> np.ndarray:
        """dx/dlambda (N,)."""
        assert at.factors is not None
        self.x = at.x
        return at.factors.solve(-self.load_gradient(), 0.0)

    def _towards(self, factor: float, step: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Go along a step, halved until the forces fall; returns them."""
        start, size = self.x, float(np.abs(residual).max())
        for k in range(HALVINGS):
            self.x = start + 0.5**k * step
            there = self.gradient(factor)
            if np.isfinite(there).all() and np.abs(there).max() < size:
                return there
        return there


def dead_loads(potential: Potential, names: Sequence[str], t: float = 0.0) -> list[str]:
    """The terms that are linear in the fields `names`: forces that keep size and direction."""
    found = []
    for name, term in potential.terms.items():
        alone = Potential(potential.fields, [term], list(potential.chain.parts.values()))
        read = [n for n in names if n in alone.reads]
        if read and not exact_hessian(alone, read, t).data.any() and _pushes(alone, read, t):
            found.append(name)
    return found


def _pushes(potential: Potential, names: Sequence[str], t: float) -> bool:
    return any(bool(potential.gradient(n, t).any()) for n in names)
