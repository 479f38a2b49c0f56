"""The equations of an equilibrium path: forces in balance, constraints met, at a load that is an unknown.

    r(w, s) = [ dU/dz + G^T mu ] = 0      w = (z, mu): scaled free components, multipliers;  s: the load
              [ g              ]
    A = dr/dw = [ H + K  G^T ]            b = dr/ds = d2U/dz dp p' + d2U/dz dX X',   likewise of g
                [ G      0   ]

p' are the full values of the parameters that are loads, X' the change of held components with the load: both
derivatives are products of second derivatives of U, no differences. A is symmetric and, on a path, often
indefinite; `negative` counts its eigenvalues below zero on the kernel of G (Sylvester).

Decisions 0163.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ....energies.constraint import MULTIPLIER
from ....errors import SingularSystemError
from ....solvers.linear_solver import direct
from ....solvers.saddle_point import SaddlePoint, negative_on_kernel
from ..newton import Newton
from ..scaled_hessian import scaled_hessian
from ..soft_motions import soft_motions

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHIFT = 1e-12
"""A shift of a singular matrix, in units of its largest entry."""
BALANCED, ROUNDINGS = 1e-12, 8.0
"""Forces balance up to this part of those of the load, or to some roundings of what is summed."""


@dataclass(frozen=True)
class PathPoint:
    """w (M,), free components and multipliers, and the load s."""

    unknowns: np.ndarray
    load: float


class LinearisedPath:
    """A, b and r at a point; `size`: the number of components of z in w."""

    def __init__(
        self, left: np.ndarray, stiffness: "csr_matrix", jacobian: "csr_matrix | None", rate: np.ndarray
    ):
        from scipy.sparse import block_array

        self.left, self.rate, self.size = left, rate, stiffness.shape[0]
        self._stiffness, self._jacobian = stiffness, jacobian
        self.matrix: csr_matrix = stiffness
        if jacobian is not None:
            self.matrix = block_array([[stiffness, jacobian.T], [jacobian, None]], format="csr")

    @cached_property
    def factors(self) -> "SymmetricFactors | SaddleFactors | None":
        """Of A; None where it is singular."""
        return self._factors_of(self._stiffness)

    @cached_property
    def nearby_factors(self) -> "SymmetricFactors | SaddleFactors | None":
        """Of A, and where it is singular of A with a shift of H that is rounding."""
        from scipy.sparse import eye_array

        if self.factors is not None:
            return self.factors
        shift = SHIFT * float(np.abs(self._stiffness.data).max(initial=0.0)) or SHIFT
        return self._factors_of((self._stiffness + shift * eye_array(self.size)).tocsr())

    def _factors_of(self, stiffness: "csr_matrix") -> "SymmetricFactors | SaddleFactors | None":
        if self._jacobian is None:
            found = direct(stiffness)
            return None if found is None else SymmetricFactors(found)
        try:
            return SaddleFactors(SaddlePoint(stiffness, self._jacobian), self.size)
        except SingularSystemError:
            return None

    @cached_property
    def negative(self) -> int | None:
        """How many eigenvalues are below zero along the constraints; None where A is singular."""
        if self.factors is None:
            return None
        if isinstance(self.factors, SymmetricFactors):
            return self.factors.negative
        return negative_on_kernel(self._stiffness, self._jacobian)

    def enough(self, unknowns: np.ndarray) -> np.ndarray:
        """The parts of r (M,) that are rounding."""
        sizes = ROUNDINGS * np.finfo(np.float64).eps * (abs(self.matrix) @ np.abs(unknowns))
        found = np.empty_like(sizes)
        push = BALANCED * float(np.abs(self.rate[: self.size]).max(initial=0.0))
        found[: self.size] = max(float(sizes[: self.size].max(initial=0.0)), push)
        found[self.size :] = sizes[self.size :].max(initial=0.0)
        return found


class SymmetricFactors:
    """Factors of A without constraints."""

    def __init__(self, inner):
        self._inner, self.negative = inner, inner.negative

    def solve(self, right: np.ndarray) -> np.ndarray:
        return self._inner.solve(right, 0.0)


class SaddleFactors:
    """Factors of A with constraints."""

    def __init__(self, inner: SaddlePoint, size: int):
        self._inner, self._size = inner, size

    def solve(self, right: np.ndarray) -> np.ndarray:
        return np.concatenate(self._inner.solve(right[: self._size], right[self._size :]))


class PathEquations:
    """r, A and b of a search at any load.

    apply: sets loads and supports to a load. ways: what changes with the load, by name, d/ds at the present
    one. `rows`: the components of z that move; those that stay belong to motions that nothing resists.
    """

    def __init__(
        self, search: Newton, apply: Callable[[float], None], ways: Callable[[], Mapping[str, np.ndarray]]
    ):
        self.search, self.apply, self.ways = search, apply, ways
        self.variables, self.manifold = search.coordinates, search.manifold
        self.rows = np.arange(len(self.variables))

    @property
    def size(self) -> int:
        """The number of components of z in w."""
        return len(self.rows)

    def read(self, multipliers: np.ndarray, load: float) -> PathPoint:
        """The point of the present fields."""
        z = self.variables.scaled(self.variables.read())
        return PathPoint(np.concatenate([z[self.rows], multipliers]), load)

    def place(self, point: PathPoint) -> None:
        """Set fields, loads and supports to a point."""
        self.apply(point.load)
        z = self.variables.scaled(self.variables.read())
        z[self.rows] = point.unknowns[: self.size]
        self.variables.put(z * self.variables.scale)

    def linearised(self, point: PathPoint) -> LinearisedPath:
        """r, A and b at a point, to which the fields are set."""
        self.place(point)
        potential, variables, t = self.search.potential, self.variables, self.search.t
        names, mu = [field.name for field in variables.fields], point.unknowns[self.size :]
        slope = variables.slope({n: potential.gradient(n, t) for n in names})
        system = scaled_hessian(potential, variables, soft_motions(variables.fields), t)
        ways = self.ways()
        of_energies = {n: w for n, w in ways.items() if n.partition(".")[0] not in self.constraint_names}
        changes = {n: potential.product(of_energies, n, t).astype(np.float64) for n in names}
        if self.manifold is None:
            stiffness = system.restricted_to(self.rows).matrix
            rate = variables.scale * variables.components(changes)
            return LinearisedPath(slope[self.rows], stiffness, None, rate[self.rows])
        manifold = self.manifold
        manifold.load(t)
        stiffness = manifold.curved(system, mu).restricted_to(self.rows).matrix
        jacobian = manifold.jacobian[:, self.rows].tocsr()
        kept = manifold.constraints
        own = {n: way for n, way in ways.items() if n in kept.reads or n.partition(".")[0] in kept.terms}
        more, off = manifold.pushed(own, mu, t)
        rate = variables.scale * variables.components({n: c + more[n] for n, c in changes.items()})
        left = (slope + manifold.jacobian.T @ mu)[self.rows]
        values = np.concatenate([left, manifold.values])
        return LinearisedPath(values, stiffness, jacobian, np.concatenate([rate[self.rows], off]))

    def multipliers(self) -> np.ndarray:
        """mu (E,) of least squares at the present fields."""
        return self.search._multipliers()

    def nodes(self, mode: np.ndarray) -> int:
        """The node that a mode (M,) moves most, in its own field."""
        moved = np.zeros(len(self.variables))
        moved[self.rows] = mode[: self.size]
        by_field = self.variables.spread(self.variables.scale * moved)
        sizes = [np.abs(a.reshape(len(a), -1)).max(axis=1) for a in by_field.values()]
        return int(np.argmax(sizes[int(np.argmax([s.max() for s in sizes]))]))

    @property
    def constraint_names(self) -> set[str]:
        """The names of the constraints."""
        return set() if self.manifold is None else {*self.manifold.constraints.terms}

    def of_constraints(self, point: PathPoint, mode: np.ndarray, name: str) -> "np.ndarray | float":
        """phi . d(r)/d(name) of the constraints, in the shape of the argument or field."""
        if self.manifold is None:
            return 0.0
        kept = self.manifold.constraints
        if name not in kept.reads and name.partition(".")[0] not in kept.terms:
            return 0.0
        kept.set_multipliers(point.unknowns[self.size :])
        ends = np.cumsum([len(term.elements.nodes) for term in kept.terms.values()])[:-1]
        parts = np.split(mode[self.size :], ends)
        ways = {f"{n}.{MULTIPLIER}": part for n, part in zip(kept.terms, parts, strict=True)}
        ways |= {n: a for n, a in self.by_field(mode).items() if n in kept.reads}
        return np.asarray(kept.potential.product(ways, name, self.search.t), np.float64)

    def by_field(self, mode: np.ndarray) -> dict[str, np.ndarray]:
        """A mode (M,) as displacements by field."""
        moved = np.zeros(len(self.variables))
        moved[self.rows] = mode[: self.size]
        return self.variables.spread(self.variables.scale * moved)
