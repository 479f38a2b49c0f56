"""Variational steps under constraints g(q, t) = 0, whose impulses act at the nodes d_n of a step.

With the letters of `discrete_action`, Q_n = q + u_n at t + d_n h, Q_0 = q, and C_n = dg/dq (E, N) at Q_n, a
step solves for u_1, ..., u_s (N,) and impulses L_0, ..., L_s-1 (E,), at free components,

    p + r_0 = C_0' L_0      r_n = C_n' L_n  (0 < n < s)      g(Q_n) = 0  (0 < n <= s)

    q' = q + u_s            p' = p + h sum_i b_i G_i - sum_n<s C_n' L_n - C_s' L_s
    dL/dv (q', v') = p'     C_s v' + dg/dt = 0                               for v' and L_s

so that the discrete action less sum_n L_n g(Q_n) is stationary. Order 2 is RATTLE, for any mass matrix; the
nodes of order 4 are Lobatto's, beside the two Gauss points of the action, and the order is kept. (Marsden and
West 2001, Acta Numerica 10, 357, section 3.5; Jay 2007, SIAM J. Numer. Anal. 45, 1814: Gauss-Lobatto SPARK
methods; Wenger, Ober-Bloebaum and Leyendecker 2017, Adv. Comput. Math. 43, 1163.)

Decisions 0377.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.fields import Motion, ordered_sum
from ...engine import storage
from ...errors import SingularSystemError, UnsolvedStepError
from ...potential.constraints.constraints import Constraints
from ...solvers.equilibrated_factors import EquilibratedFactors
from ..constrained.projections import Projections
from ..holds import Holds
from .convergence import Convergence
from .discrete_action import DiscreteAction
from .momenta import momenta

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class NodeOfStep:
    """A node of a step: its time, coordinates (N,), g (E,) there, and the Jacobian (E, N)."""

    time: float
    q: np.ndarray
    values: np.ndarray
    jacobian: "csr_matrix"


class ConstrainedSteps:
    """Solves the equations of steps under constraints.

    inertia: one for every component, the metric of `projections` of starts. iterations: of Newton's method.
    """

    def __init__(
        self, action: DiscreteAction, constraints: Constraints, motions: Sequence[Motion], holds: Holds
    ):
        self.action, self.iterations = action, 0
        self.inertia = {m.position: storage.allocate(np.ones(1)) for m in motions}
        self.projections = Projections(constraints, motions, self.inertia, holds)
        self.equations, self.count = self.projections.equations, self.projections.count
        self._driven = constraints.uses_time or holds.moving

    def solve(self, u: np.ndarray, impulses: np.ndarray, end: float) -> tuple[np.ndarray, np.ndarray]:
        """Displacements (s, N) and impulses (s, E) of the step that `action` has begun, with its end time.

        u, impulses: where the search begins; held components keep those of `u`. Raises `UnsolvedStepError`
        where it finds none.
        """
        action, u, impulses = self.action, u.copy(), impulses.copy()
        s, free = action.galerkin.degree, np.tile(action.components.free, action.galerkin.degree)
        test, start = Convergence(action.components.fields.dtype), self.node(0, u, end)
        for _ in range(Convergence.MOST):
            self.iterations += 1
            left = action.residual(action.slopes(u))
            nodes, bends = self.nodes(u, impulses, end, start)
            for n, node in enumerate(nodes[:-1]):
                left[n] -= node.jacobian.T @ impulses[n]
            whole = np.concatenate([left.reshape(-1)[free], *(node.values for node in nodes[1:])])
            if not np.isfinite(whole).all():
                raise UnsolvedStepError("the slopes of the action, or the constraints, are not finite")
            factors = self.factors(action.blocks_at(u), nodes, bends)
            change = factors.solve(-whole)
            moved, pushed = np.split(change, [-s * self.count])
            u.reshape(-1)[free] += moved
            impulses += pushed.reshape(impulses.shape)
            if test.reached(moved, u.reshape(-1)[free], action.q):
                return u, impulses
        raise UnsolvedStepError(f"Newton's method does not converge in {Convergence.MOST} iterations")

    def nodes(
        self, u: np.ndarray, impulses: np.ndarray, end: float, start: NodeOfStep | None = None
    ) -> tuple[list[NodeOfStep], list[Any]]:
        """The nodes of the step, and at those inside sum of L_e d2g_e/dq2 (N, N); start: node 0 if known."""
        nodes, bends = [start or self.node(0, u, end)], list[Any]()
        for n in range(1, len(u) + 1):
            nodes.append(self.node(n, u, end))
            bends += [self.equations.hessian(impulses[n])] if n < len(u) else []
        return nodes, bends

    def node(self, n: int, u: np.ndarray, end: float) -> NodeOfStep:
        """Be at node n of the step; its Jacobian there."""
        action, d = self.action, self.action.galerkin.nodes
        q = action.q + u[n - 1] if n else action.q
        t = end if n == len(d) - 1 else action.t + float(d[n]) * action.h
        action.put(q, None)
        self.equations.load(t)
        return NodeOfStep(t, q, self.equations.values(), self.equations.jacobian())

    def factors(
        self, blocks_at: Sequence[dict[str, Any]], nodes: Sequence[NodeOfStep], bends: Sequence[Any]
    ) -> EquilibratedFactors:
        """Those of the derivatives of the equations by displacements and impulses, at free components.

        nodes, bends: from `nodes`. Raises `UnsolvedStepError` where they are singular.
        """
        from scipy.sparse import block_array, csr_matrix

        action, s, size = self.action, self.action.galerkin.degree, len(self.action.components)
        free, own = np.tile(action.components.free, s), action.jacobian(blocks_at)

        def whole(blocks: dict[tuple[int, int], Any], rows: int, columns: int) -> "csr_matrix":
            """A matrix of s by s blocks, most of which are zero."""
            none = csr_matrix((rows, columns))
            return block_array([[blocks.get((m, n), none) for n in range(s)] for m in range(s)], format="csr")

        pulled = whole({(n, n): -node.jacobian.T for n, node in enumerate(nodes[:-1])}, size, self.count)
        below = whole({(n, n): node.jacobian for n, node in enumerate(nodes[1:])}, self.count, size)
        if bends:
            bent = whole({(n, n - 1): bend for n, bend in enumerate(bends, 1)}, size, size)
            own = own - (bent.toarray() if isinstance(own, np.ndarray) else bent)
        own, pulled, below = own[free][:, free], pulled[free], below[:, free]
        if isinstance(own, np.ndarray):
            zeros = np.zeros((below.shape[0],) * 2)
            matrix: Any = np.block([[own, pulled.toarray()], [below.toarray(), zeros]])
        else:
            matrix = block_array([[own, pulled], [below, None]], format="csr")
        return self._factored(matrix, nodes[-1].time)

    def pull(
        self, u: np.ndarray, impulses: np.ndarray, end: float, rates: np.ndarray | None
    ) -> tuple[Any, float]:
        """sum_n<s C_n' L_n (N,) at the solution, and the work that these impulses do.

        rates (s + 1, N): the velocities of held components at the nodes; None where they are at rest.
        """
        found, work = np.zeros(len(self.action.components)), 0.0
        for n, one in enumerate(impulses):
            node = self.node(n, u, end)
            found = found + node.jacobian.T @ one
            work += self._work(node, one, rates[n] if rates is not None else None)
        return found, work

    def _work(self, node: NodeOfStep, impulses: np.ndarray, held: np.ndarray | None) -> float:
        """The work of impulses at the node that was loaded: L (dg/dt + C v) with free components at rest."""
        if not self._driven:
            return 0.0
        rates = self.equations.rates()
        if held is not None:
            rates = rates + node.jacobian @ np.where(self.action.components.free, 0.0, held)
        return ordered_sum(impulses * rates)

    # The end of a step

    def tangent(self, u: np.ndarray, p: np.ndarray, v: np.ndarray, end: float) -> tuple[Any, Any, Any, float]:
        """v' and p' (N,), L_s (E,), and the work of these impulses, at the end of the step.

        p: the momenta without L_s. v: where the search begins; held components keep those. Leaves the fields
        at q' and v'. Raises `UnsolvedStepError` where there is none.
        """
        action, free, v = self.action, self.action.components.free, v.copy()
        node = self.node(action.galerkin.degree, u, end)
        impulses, rates = np.zeros(self.count), self.equations.rates()
        action.put(None, v)
        test = Convergence(action.components.fields.dtype)
        for _ in range(Convergence.MOST):
            left = (momenta(action, end) + node.jacobian.T @ impulses - p)[free]
            change = self.saddle(action.mass(end), node).solve(
                -np.concatenate([left, node.jacobian @ v + rates])
            )
            moved, pushed = np.split(change, [-self.count])
            v[free] += moved
            impulses = impulses + pushed
            action.put(None, v)
            if test.reached(moved, v[free], v[free]):
                work = self._work(node, impulses, v)
                return v, p - node.jacobian.T @ impulses, impulses, work
        raise UnsolvedStepError("no velocity along the constraints has the momentum of the step")

    def saddle(self, mass: Any, node: NodeOfStep) -> EquilibratedFactors:
        """Factors of [M C'; C 0] at free components. Raises `UnsolvedStepError` where it is singular."""
        from scipy.sparse import block_array

        free, rows = self.action.components.free, node.jacobian[:, self.action.components.free]
        if isinstance(mass, np.ndarray):
            c = rows.toarray()
            matrix = np.block([[mass[free][:, free], c.T], [c, np.zeros((len(c),) * 2)]])
        else:
            matrix = block_array([[mass[free][:, free], rows.T], [rows, None]], format="csr")
        return self._factored(matrix, node.time)

    def _factored(self, matrix: Any, t: float) -> EquilibratedFactors:
        """Factors; where there are none, the constraint that is a combination of others is named."""
        try:
            return EquilibratedFactors(matrix)
        except SingularSystemError as error:
            self.projections.begin(t)
            raise UnsolvedStepError(f"the equations of the step are singular: {error}") from error
