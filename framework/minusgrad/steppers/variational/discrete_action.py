"""The discrete action of a step: its slopes by the displacements in the step, and their derivatives.

With displacements u_n = Q_n - q from the start q of a step of length h (`galerkin`), at each point i of the
quadrature

    q_i = q + sum_n l_n(c_i) u_n      v_i = sum_n l_n'(c_i) u_n / h      t_i = t + c_i h
    G_i = dL/dq - dU/dq - dR/dv       P_i = dL/dv                        at (q_i, v_i, t_i)

    r_n = h sum_i b_i ( l_n(c_i) G_i + l_n'(c_i) P_i / h )               n = 0, ..., s

A step solves p + r_0 = 0 and r_1 = ... = r_s-1 = 0 at free components; then

    q' = q + u_s        p' = p + h sum_i b_i G_i                         which is r_s there

U: the potential energy of the scene; R(v, q, t): its dissipation, whose force -dR/dv is that of
Lagrange-d'Alembert's principle. p' has no rounding of the rest where G vanishes: the momentum of a cyclic
coordinate keeps its bits. (Marsden and West 2001, Acta Numerica 10, 357, sections 1.3 and 3.2.)

Decisions 0375.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...energies.fields import ordered_sum
from ...potential.potential import Potential
from ..implicit.moving_components import MovingComponents
from .galerkin import Galerkin
from .phase_function import PhaseFunction

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


FEW = 64
"""Up to so many components matrices are dense."""


class DiscreteAction:
    """The discrete action over the fields of L, U and R, which every evaluation overwrites.

    `begin` sets the step; displacements are (s, N), in double precision also where the fields are not.
    """

    def __init__(
        self,
        galerkin: Galerkin,
        components: MovingComponents,
        lagrangian: Potential,
        potential: Potential,
        dissipation: Potential | None,
    ):
        self.galerkin, self.components = galerkin, components
        self.lagrangian = PhaseFunction(lagrangian, components)
        self.potential = PhaseFunction(potential, components) if potential.terms else None
        self.dissipation = PhaseFunction(dissipation, components) if dissipation else None

    @property
    def functions(self) -> Iterator[tuple[str, float, PhaseFunction]]:
        """The functions of the action: letter, sign and function."""
        for letter, sign, one in (
            ("L", 1.0, self.lagrangian),
            ("U", -1.0, self.potential),
            ("R", -1.0, self.dissipation),
        ):
            if one:
                yield letter, sign, one

    def begin(self, h: float, t: float, q: np.ndarray, p: np.ndarray) -> None:
        """Begin a step of length h at time t from coordinates q and momenta p (N,)."""
        self.h, self.t, self.q, self.p = h, t, q, p

    def times(self) -> np.ndarray:
        """t_i (s,)."""
        return self.t + self.galerkin.points * self.h

    def place(self, i: int, u: np.ndarray) -> float:
        """Set the fields to q_i and v_i, and return t_i."""
        g = self.galerkin
        self.put(self.q + g.values[i, 1:] @ u, g.slopes[i, 1:] @ u / self.h)
        return float(self.times()[i])

    def put(self, q: np.ndarray | None, v: np.ndarray | None) -> None:
        """Set coordinates and velocities (N,), held components included."""
        for vector, names in ((q, self.components.positions), (v, self.components.velocities)):
            if vector is not None:
                for name, part in self.components.parts(vector, names).items():
                    with np.errstate(over="ignore"):
                        self.components.fields[name].set(part.astype(self.components.fields[name].dtype))

    def slopes_at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """G and P (N,) at the present fields."""
        force, momentum = self.lagrangian.gradient(t)
        if self.potential:
            force = force - self.potential.gradient(t)[0]
        if self.dissipation:
            force = force - self.dissipation.gradient(t)[1]
        return force, momentum

    def slopes(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G and P (s, N) at the points of the quadrature."""
        found = [self.slopes_at(self.place(i, u)) for i in range(self.galerkin.degree)]
        return np.array([one for one, _ in found]), np.array([one for _, one in found])

    def rows(self, slopes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """r (s + 1, N)."""
        g, (force, momentum) = self.galerkin, slopes
        return np.einsum("i,in,ia->na", self.h * g.weights, g.values, force) + np.einsum(
            "i,in,ia->na", g.weights, g.slopes, momentum
        )

    def residual(self, slopes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The left sides (s, N) of the equations of a step."""
        found = self.rows(slopes)[:-1]
        found[0] += self.p
        return found

    def impulse(self, slopes: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """h sum_i b_i G_i (N,), the change of momentum."""
        return np.einsum("i,ia->a", self.h * self.galerkin.weights, slopes[0])

    # Second derivatives

    def blocks(self, t: float) -> "dict[str, Any]":
        """dG/dq, dG/dv, dP/dq and dP/dv at the present fields, as "Gq", "Gv", "Pq", "Pv" (N, N).

        Sparse matrices; of few components arrays, which cost less.
        """
        n, parts = len(self.components), dict[str, Any]()
        for letter, sign, one in self.functions:
            matrix = one.hessian(t)
            if matrix is None:
                continue
            whole = matrix.toarray() if n <= FEW else matrix.tocsr()
            q, v = slice(0, n), slice(n, 2 * n)
            places = {"L": (("Gq", q, q), ("Gv", q, v), ("Pq", v, q), ("Pv", v, v)), "U": (("Gq", q, q),)}
            for name, row, column in places.get(letter, (("Gq", v, q), ("Gv", v, v))):
                part = sign * whole[row, column]
                parts[name] = parts[name] + part if name in parts else part
        return parts

    def mass(self, t: float) -> Any:
        """The mass matrix d2L/dv2 (N, N) at the present fields; sparse, of few components an array."""
        n, matrix = len(self.components), self.lagrangian.hessian(t)
        assert matrix is not None
        return (matrix.toarray() if n <= FEW else matrix.tocsr())[n:, n:]

    def blocks_at(self, u: np.ndarray) -> list[dict[str, Any]]:
        """`blocks` at the points of the quadrature."""
        return [self.blocks(self.place(i, u)) for i in range(self.galerkin.degree)]

    def jacobian(self, blocks_at: Sequence[dict[str, Any]]) -> "csr_matrix | np.ndarray":
        """The derivatives (s N, s N) of the left sides by the displacements, from `blocks_at`."""
        from scipy.sparse import block_array

        g, size = self.galerkin, range(self.galerkin.degree)
        grid: list[list[Any]] = [[None for _ in size] for _ in size]
        for i in size:
            for name, block in blocks_at[i].items():
                row, column = _factors(g, i, self.h, name[0] == "P"), _factors(g, i, self.h, name[1] == "v")
                for m in size:
                    for n in size:
                        part = self.h * g.weights[i] * row[m] * column[n + 1] * block
                        grid[m][n] = part if grid[m][n] is None else grid[m][n] + part
        return np.block(grid) if len(self.components) <= FEW else block_array(grid, format="csr")

    # Energy

    def energy_function(self, t: float) -> float:
        """v dL/dv - L at the present fields."""
        v = self.components.read(self.components.velocities)
        return ordered_sum(v * self.lagrangian.gradient(t)[1]) - self.lagrangian.potential.value(t)

    def flows(self, u: np.ndarray) -> tuple[float, float]:
        """Work of an explicit dependence on time, and dissipated energy, in the step."""
        g, works = self.galerkin, [0.0, 0.0]
        timed = [(s, f) for letter, s, f in self.functions if letter != "R" and f.potential.uses_time]
        if not timed and not self.dissipation:
            return 0.0, 0.0
        for i in range(g.degree):
            t = self.place(i, u)
            h = self.h * g.weights[i]
            works[0] -= h * sum(sign * one.potential.rate(t) for sign, one in timed)
            if self.dissipation:
                v = g.slopes[i, 1:] @ u / self.h
                lost = np.where(self.components.free, self.dissipation.gradient(t)[1] * v, 0.0)
                works[1] += h * ordered_sum(lost)
        return works[0], works[1]


def _factors(g: Galerkin, i: int, h: float, rate: bool) -> Sequence[float]:
    """How q_i, or v_i, changes with each Q_n."""
    return [*(g.slopes[i] / h if rate else g.values[i])]
