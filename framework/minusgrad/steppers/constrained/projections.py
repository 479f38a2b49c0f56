"""Projections of a motion onto constraints: positions onto g(x, t) = 0, velocities onto G v + dg/dt = 0.

    x <- x - h W G0^T L,    v <- v - W G0^T L,    L such that g(x, t) = 0           at the end of a drift
    v <- v - W G^T M,       (G W G^T) M = G v + dg/dt                               at the end of a step

G0 is the Jacobian at the start of the drift, G that at the present positions; W the inverse masses, zero at
held components; L and M are impulses. Together with kicks and drifts this is RATTLE (Andersen 1983, J.
Comput. Phys. 52, 24), symplectic and time-reversible (Leimkuhler and Skeel 1994, J. Comput. Phys. 112, 117).

The equations for L are solved by Newton's method with the matrix G0 W G0^T, which has been factored at the
start of the drift for the velocities there (simplified Newton): one factorisation a step. Where a step turns
bodies so far that this converges slowly, with the matrix at the present positions, G W G0^T. Iterations go on
to the rounding of the positions. They begin at the impulses of the step before, which are state.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.fields import Motion, ordered_sum
from ...engine import storage
from ...errors import MiscompiledError, UnsolvedStepError
from ...potential.constraints.constraints import Constraints
from ..holds import Holds
from .gram_matrix import GramMatrix
from .impulses import Impulses
from .incidence import entries
from .limits import AGREES, MOST, ROUNDED, SINGULAR, SLOW, SOLVED

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from .constraint_loops import ConstraintLoops


class Projections:
    """The projections of some motions onto constraints, at free components.

    `begin` evaluates the Jacobian at the present positions, and factors A; `positions`, `velocities` and
    `solve` use it. Other classes (`choice`) have other kernels for these four. `impulses` (E,): those of the
    last projection. `driven` (E,): dg/dt with free components at rest; None where it is zero. inertia: by the
    position's name.
    """

    def __init__(
        self,
        constraints: Constraints,
        motions: Sequence[Motion],
        inertia: Mapping[str, Any],
        holds: Holds,
    ):
        self.constraints, self.motions, self.holds = constraints, tuple(motions), holds
        self.names = [m.position for m in motions]
        self.equations = constraints.equations(self.names)
        fields = constraints.fields
        self._inertia = inertia
        self.weights = storage.allocate(np.concatenate([self._inverse(m) for m in motions]))
        lengths = [part.columns.size for part in self.equations.parts.values()]
        self.rows = storage.allocate(np.zeros(sum(lengths)))
        every = entries(self.equations, self.names)
        self.gram = GramMatrix(self.equations.count, every, self.rows, self.weights)
        velocities = [fields[m.velocity] for m in motions]
        kernel_arrays = self.rows, self.weights, self.gram.factors.x, self.gram.factors.b
        self._entries, self._velocities = every, velocities
        self._kernels = Impulses(self.equations, every, velocities, *kernel_arrays)
        self._turns = storage.allocate(np.zeros(1, np.int32))
        self.sizes = np.zeros(self.equations.count)
        self.impulses = np.zeros(self.equations.count)
        self.driven: np.ndarray | None = None
        self.loops: ConstraintLoops | None = None
        """The loops of these projections for kernels of whole steps, if there are such."""
        self._eps = float(np.finfo(fields.dtype).eps)

    def weigh(self) -> None:
        """Take the present inertia."""
        storage.store(self.weights, np.concatenate([self._inverse(m) for m in self.motions]))

    def _inverse(self, motion: Motion) -> np.ndarray:
        free = self.holds.free(motion.position)
        mass = storage.host(self._inertia[motion.position]).astype(np.float64)
        return (free / mass.reshape(-1, *[1] * (free.ndim - 1))).ravel()

    @property
    def iterations(self) -> int:
        """How many iterations projections of positions took so far."""
        return int(storage.host(self._turns)[0])

    @property
    def count(self) -> int:
        """E, by which constraints reduce the degrees of freedom."""
        return self.equations.count

    def begin(self, t: float, loaded: bool = False) -> None:
        """Take the Jacobian at the present positions and time, and factor A.

        loaded: a projection ended here, so that the equations have these positions. Raises
        `UnsolvedStepError` where A is singular.
        """
        self.load(t, loaded)
        self.factor()
        ratio = self.gram.factors.pivots / self.gram.diagonal
        least = SINGULAR[self.constraints.fields.dtype.name]
        if not (ratio > least).all():
            row = int(np.argmin(np.where(np.isfinite(ratio), ratio, -np.inf)))
            raise UnsolvedStepError(f"{self.combined(row)}, a singular configuration, as of rods in line")

    def load(self, t: float, loaded: bool = False) -> None:
        """Take the rows of the Jacobian at the present positions and time."""
        self.time = t
        if not loaded:
            self.equations.load(t)
        rows = self.equations.rows()
        self.sizes = _joined([np.sqrt(np.einsum("ij,ij->i", part, part)) for part in rows])
        storage.store(self.rows, _joined([part.ravel() for part in rows]))
        self.driven = self._driven(rows)

    @property
    def drives(self) -> bool:
        """True if the time or supports move constraints."""
        return self.constraints.uses_time or self.holds.moving

    def _driven(self, rows: Sequence[np.ndarray]) -> np.ndarray | None:
        """dg/dt with free components at rest (E,): by the time and by moving supports; None of neither."""
        if not self.drives:
            return None
        parts = []
        for motion in self.motions:
            v = self.constraints.fields[motion.velocity].values.astype(np.float64)
            parts.append(np.where(self.holds.free(motion.position), 0.0, v).ravel())
        v = np.concatenate(parts)
        columns = zip(rows, self.equations.columns, strict=True)
        return self.equations.rates() + np.concatenate([(part * v[c]).sum(axis=1) for part, c in columns])

    def compare_rows(self, t: float) -> None:
        """Compare the rows that a kernel of its own computed with those of the constraints.

        Raises `MiscompiledError`.
        """
        self.equations.load(t)
        right = _joined([part.ravel() for part in self.equations.rows()])
        off, size = np.abs(storage.host(self.rows) - right), float(np.abs(right).max())
        if np.isfinite(size) and not (off <= min(AGREES * self._eps, 0.01) * size).all():
            raise MiscompiledError(
                f"the kernel of constraints has a Jacobian that is {off.max():.3g} off, where its numbers are"
                f" up to {size:.3g}; report it, with the constraint"
            )

    def factor(self) -> None:
        """Compute G W G^T and its factors."""
        self.gram.factor()

    def combined(self, row: int) -> str:
        """That the gradient of an equation is a combination of those of others, in words."""
        name = str(self.equations.row(row))
        if not self.sizes[row] > 0.0:
            return f"{name}: its gradient is zero"
        parts = np.abs(self.gram.factors.combination(row)) * np.sqrt(np.abs(self.gram.diagonal))
        parts[row] = 0.0
        largest = [k for k in np.argsort(-parts, kind="stable")[:4] if parts[k] > 1e-3 * parts.max()]
        others = "; ".join(str(self.equations.row(int(k))) for k in largest)
        return f"{name}: its gradient is a combination of those of others ({others})"

    # Positions

    def project(self, t: float) -> np.ndarray:
        """x <- x - W G^T L at rest, with G at the start; the impulses L (E,). Velocities stay.

        Raises `UnsolvedStepError` where no iteration leads onto g = 0; positions are then as before.
        """
        fields = self.constraints.fields
        before = [
            (fields[n], fields[n].values.copy()) for m in self.motions for n in (m.position, m.velocity)
        ]
        names = [m.velocity for m in self.motions]
        self.begin(t)
        try:
            self.positions(1.0, t, np.zeros(self.count))
        except UnsolvedStepError:
            names = [field.name for field, _ in before]
            raise
        finally:
            for field, values in before:
                if field.name in names:
                    field.set(values)
        return self.impulses.copy()

    def positions(self, h: float, t: float, guess: np.ndarray) -> np.ndarray:
        """Move positions, after a drift of length h that began where `begin` was, onto g = 0 at time t.

        guess (E,): the multipliers to begin with; h times these are impulses. Returns the multipliers. Raises
        `UnsolvedStepError` where no iteration leads there.
        """
        self._apply(guess * h, h)
        self.impulses = guess * h
        self._solve(h, t)
        return self.impulses / h

    def damped(self, g: np.ndarray, damping: float) -> None:
        """x <- x - W G^T (A + damping diag A)^-1 g at the Jacobian that was loaded; velocities are spoilt."""
        self.gram.factor(damping)
        self.gram.solve(g)
        self._kernels.move(1.0)

    def _apply(self, impulses: np.ndarray, h: float) -> None:
        storage.store(self.gram.factors.x, impulses)
        self._kernels.move(h)

    def _solve(self, h: float, t: float, exact: bool = False) -> None:
        """Iterations; `exact`: all with the matrix at the present positions."""
        scale, last = 1.0 / (self.sizes * self.equations.extent()), np.inf
        for _ in range(MOST):
            self.equations.load(t)
            g = self.equations.values()
            worst = float(np.abs(g * scale).max(initial=0.0))
            if not np.isfinite(worst):
                break
            solved = worst <= SOLVED * self._eps
            if solved or (worst <= ROUNDED * self._eps and worst > 0.5 * last):
                return
            exact = exact or (worst > SLOW * last and worst > ROUNDED * self._eps)
            storage.store(self._turns, storage.host(self._turns) + 1)
            self.impulses = self.impulses + (self._exactly(g, h) if exact else self.gram.solve(g / h))
            self._kernels.move(h)
            last = worst
        row = self.equations.row(int(np.argmax(np.where(np.isfinite(g), np.abs(g) / self.sizes, np.inf))))
        raise UnsolvedStepError(f"{row}: Newton's method does not reach it in {MOST} iterations")

    def _exactly(self, g: np.ndarray, h: float) -> np.ndarray:
        """(G W G0^T)^-1 g / h, with G at the present positions, by SuperLU; the impulses to apply."""
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        weights = diags_array(storage.host(self.weights))
        matrix = (self.equations.jacobian() @ weights @ self._begun().T).tocsc()
        try:
            found = splu(matrix).solve(g / h)
        except RuntimeError:
            raise UnsolvedStepError("the constraints are singular at the end of the step") from None
        storage.store(self.gram.factors.x, found)
        return found

    def _begun(self) -> "csr_matrix":
        """G0."""
        columns = self.equations.columns
        parts = np.split(storage.host(self.rows), np.cumsum([c.size for c in columns])[:-1])
        return self.equations.matrix([p.reshape(c.shape) for p, c in zip(parts, columns, strict=True)])

    def launched(self, steps: Callable[[], None], t: float, h: float) -> None:
        """Launch a kernel of steps of length h until time t, made with `loops`; for h = 0 it is `begin`.

        Raises `UnsolvedStepError` where the steps do not reach the constraints.
        """
        raise NotImplementedError

    # Velocities

    def velocities(self) -> np.ndarray:
        """Make velocities tangent, where `begin` was; the impulses (E,)."""
        self.rates_of_change()
        self.gram.factors.solve()
        self._kernels.kick()
        self.impulses = storage.host(self.gram.factors.x).copy()
        return self.impulses

    def solve(self, right: np.ndarray) -> np.ndarray:
        """(G W G^T)^-1 b for b (E,), where `begin` was."""
        return self.gram.solve(right)

    def rates_of_change(self) -> np.ndarray:
        """G v + dg/dt (E,) at the present velocities, where `begin` was."""
        rates = self.equations.rates() if self.constraints.uses_time else np.zeros(self.count)
        storage.store(self.gram.factors.b, rates)
        self._kernels.rate()
        return storage.host(self.gram.factors.b)

    def work(self, impulses: np.ndarray) -> float:
        """The work that impulses at the present Jacobian do by driven constraints and moving supports."""
        return 0.0 if self.driven is None else ordered_sum(impulses * self.driven)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays one after another; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
