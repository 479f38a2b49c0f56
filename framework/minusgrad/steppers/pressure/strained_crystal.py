"""A crystal under homogeneous strains: how forces and stress change, and what the relaxation of atoms gives.

    L = U + lambda g,    f = d2L/dx dF,    c = dg/dF,    K = d2L/dx2,    G = dg/dx
    K u + G^T mu = -f,   G u = -c          the relaxation: displacements u and changes mu of the multipliers
    relaxation = f u + c mu                its part of d2E/dF2, E the least U along g = 0

Without constraints u = -K^-1 f. With them u is the shortest displacement with G u = -c, and one along g = 0,
by conjugate gradients of K between projections onto G w = 0. lambda are the multipliers of least squares,
those of an equilibrium where it is one.

Decisions 0010.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...energies.constraint import MULTIPLIER
from ...energies.fields import BOX, Motion, ordered_sum
from ...engine import storage
from ...errors import EnergyError
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ...solvers.sparse_factors import SuperLU
from ...solvers.sparse_system import SparseSystem
from .cutoff_jumps import CutoffJumps
from .internal_relaxation import relaxed_along
from .stress import Stress

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DIMENSIONS = (2, 3)
TIED = 1e-9
"""A constraint whose g changes with a translation by less than this part of its gradient does not change."""


class Crystal:
    """Derivatives of a potential by a homogeneous strain."""

    def __init__(self, potential: Potential, t: float, positions: str):
        missing, geometry = {positions, BOX} - potential.reads, potential.fields.geometry
        if missing or geometry is None:
            raise EnergyError(
                f"elastic constants: no energy depends on '{min(missing or {BOX})}', got fields"
                f" {', '.join(sorted(potential.reads))}; give the scene a periodic [box]"
            )
        self.potential, self.t, self.names = potential, t, (positions, BOX)
        self.x, self.h = (potential.fields[n].values.astype(np.float64) for n in self.names)
        self.h = self.h.reshape(self.h.shape[-2:])
        self.dimension, self.volume = len(self.h), geometry.volume
        if self.dimension not in DIMENSIONS:
            raise EnergyError(
                f"elastic constants: need 2 or 3 dimensions, got {self.dimension}; use such a box"
            )
        self._stress = Stress(potential, [Motion(positions, positions)], {})
        self._jump = CutoffJumps(potential).total(t) / self.volume
        gradients = self._gradients()
        self.largest_force = float(np.abs(gradients[0]).max())
        self.stress = (self._by_strain(*gradients) - self._jump * np.eye(self.dimension)) / self.volume

    def response(self, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The changes along a strain e of dU/dx, (n, d), and of dU/dF, (d, d)."""
        box = self.potential.fields[self.names[1]].values
        strained = [np.einsum("ib,ab->ia", rows, e) for rows in (self.x, self.h)]
        tangents = {self.names[0]: strained[0], self.names[1]: strained[1].reshape(box.shape)}
        changes = self._changes(tangents)
        of_jump = self._jump * (np.trace(e) * np.eye(self.dimension) + e.T)
        return changes[0].astype(np.float64), self._by_strain(*changes) + of_jump

    def relaxation(self, forces: Sequence[np.ndarray], zero: float) -> np.ndarray:
        """f u of each two strains, for their forces f; zero: a force below which nothing moves."""
        return table(forces, [relaxed_along(self.stiffness, force, zero) for force in forces])

    def stiffness(self, moved: np.ndarray) -> np.ndarray:
        """d2U/dx2 times displacements of the atoms, (n, d)."""
        return self.potential.product({self.names[0]: moved}, self.names[0], self.t).astype(np.float64)

    def _gradients(self) -> list[np.ndarray]:
        """dU/dx and dU/dh."""
        return [self.potential.gradient(n, self.t) for n in self.names]

    def _changes(self, tangents: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Their changes along tangents of both."""
        return [self.potential.product(tangents, name, self.t) for name in self.names]

    def rounding(self, direct: np.ndarray) -> float:
        """A force below which those that a strain causes are rounding: they are zero by symmetry."""
        eps = float(np.finfo(self.potential.fields.dtype).eps)
        return 100.0 * eps * float(np.abs(direct).max()) / self.volume ** (1.0 / self.dimension)

    def _by_strain(self, of_positions: np.ndarray, of_box: np.ndarray) -> np.ndarray:
        """dU/dF_ab from dU/dx and dU/dh; or its change from theirs."""
        arrays = dict(zip(self.names, map(storage.allocate, (of_positions, of_box)), strict=True))
        return self._stress.strain_derivative(arrays).T


class ConstrainedCrystal(Crystal):
    """The same of U + lambda g, at the multipliers of the present state.

    Raises `EnergyError` for constraints that tie atoms to places.
    """

    def __init__(self, potential: Potential, t: float, positions: str, constraints: Constraints):
        self.constraints, self._strains = constraints, list[np.ndarray]()
        equations = constraints.equations([positions])
        equations.load(t)
        self._jacobian = equations.jacobian()
        self._factors = _factors((self._jacobian @ self._jacobian.T).tocsr())
        slope = potential.gradient(positions, t).astype(np.float64).ravel()
        self._multipliers = -self._solved(self._jacobian @ slope)
        super().__init__(potential, t, positions)
        self._refuse_tied()

    def response(self, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = super().response(e)
        self._strains.append(self._along)
        return found

    def relaxation(self, forces: Sequence[np.ndarray], zero: float) -> np.ndarray:
        moves, weights = [], []
        for force, change in zip(forces, self._strains, strict=True):
            kept = -(self._jacobian.T @ self._solved(change)).reshape(force.shape)
            pushed = self._projected(force + super().stiffness(kept) + self._bent(kept))
            moved = kept + relaxed_along(self._stiffness_along, pushed, zero)
            whole = force + super().stiffness(moved) + self._bent(moved)
            moves.append(moved)
            weights.append(-self._solved(self._jacobian @ whole.ravel()))
        return table(forces, moves) + table(self._strains, weights)

    def _gradients(self) -> list[np.ndarray]:
        pulled = self.constraints.forces(self._multipliers, self.names, self.t)
        return [own + pulled[n] for n, own in zip(self.names, super()._gradients(), strict=True)]

    def _changes(self, tangents: dict[str, np.ndarray]) -> list[np.ndarray]:
        bent = self.constraints.product(tangents, self._multipliers, self.names, self.t)
        of_g, weights = self.constraints.potential, [f"{n}.{MULTIPLIER}" for n in self.constraints.terms]
        self._along = np.concatenate([of_g.product(tangents, name, self.t) for name in weights])
        return [own + bent[n] for n, own in zip(self.names, super()._changes(tangents), strict=True)]

    def _stiffness_along(self, moved: np.ndarray) -> np.ndarray:
        """K between projections, times displacements."""
        along = self._projected(moved)
        return self._projected(super().stiffness(along) + self._bent(along))

    def _bent(self, moved: np.ndarray) -> np.ndarray:
        """d2(lambda g)/dx2 times displacements."""
        name = self.names[0]
        return self.constraints.product({name: moved}, self._multipliers, [name], self.t)[name]

    def _projected(self, moved: np.ndarray) -> np.ndarray:
        """The part of displacements that is along g = 0."""
        flat = moved.ravel()
        return (flat - self._jacobian.T @ self._solved(self._jacobian @ flat)).reshape(moved.shape)

    def _solved(self, right: np.ndarray) -> np.ndarray:
        return self._factors.solve(np.asarray(right, np.float64), 0.0)

    def _refuse_tied(self) -> None:
        sizes = np.sqrt(np.asarray(self._jacobian.multiply(self._jacobian).sum(axis=1)).ravel())
        for axis in range(self.dimension):
            way = np.zeros_like(self.x)
            way[:, axis] = 1.0
            off = np.abs(self._jacobian @ way.ravel()) > TIED * sizes
            if off.any():
                name = next(n for n, part in self.constraints.by_constraint(off).items() if part.any())
                raise EnergyError(
                    f"elastic constants: constraint '{name}' ties atoms to places, which no strain of the"
                    " crystal moves, got some; leave it out"
                )


def crystal_of(potential: Potential, t: float, positions: str, constraints: Constraints | None) -> Crystal:
    """The crystal of a potential, and of constraints where there are some."""
    if constraints is None:
        return Crystal(potential, t, positions)
    return ConstrainedCrystal(potential, t, positions, constraints)


def _factors(matrix: "csr_matrix") -> SuperLU:
    """Factors of G G^T (E, E)."""
    count = matrix.shape[0]
    return SuperLU(SparseSystem(matrix, np.arange(count), np.zeros(count, int), np.zeros((count, 0))))


def table(rows: Sequence[np.ndarray], columns: Sequence[np.ndarray]) -> np.ndarray:
    """The sums over all components of each row times each column, as a symmetric matrix."""
    table = np.array([[ordered_sum(row * column) for column in columns] for row in rows])
    return 0.5 * (table + table.T)
