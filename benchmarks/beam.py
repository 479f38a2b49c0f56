"""A cantilever of neo-Hookean tetrahedra with a dead load, and its equilibrium by NumPy and SciPy; f64.

U(x) = sum of the strain energy - sum f x,    sum f = 1.5 E I / L^2 along -z, the same on each node of the tip
length 1, width 6 / 40, height 7 / 40, E = 1, nu = 0.3; density 1 where it moves

Newton's method minimises U, from rest until the largest out-of-balance force has fallen by FELL.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags
from scipy.sparse.linalg import cg

from minusgrad import Fields, Potential, bind
from minusgrad.energies.fields import Body, Hold, Motion
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.implicit.implicit_integrator import ImplicitIntegrator
from minusgrad.steppers.implicit.stage import IMPLICIT_SCHEMES
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.generators import beam
from minusgrad_elastic.hyperelastic import neo_hookean
from minusgrad_elastic.loads import load

from .solid import POISSONS_RATIO, YOUNGS_MODULUS, Solid

LENGTH, WIDTH, HEIGHT = 1.0, 6.0 / 40.0, 7.0 / 40.0
FELL = 1e-8
"""What the largest out-of-balance force falls to, relative to that at rest."""
MOST = 60
"""The most steps of Newton's method."""
EXACT = 1e-10
"""The relative residual of a linear system; of a step in time, a tenth of the distance is enough far from its
end."""
DECREASE, ROUNDING = 1e-4, 1e-12
"""A step is halved until U falls by this part of its slope, but for rounding, relative to U."""


@dataclass(frozen=True)
class Beam:
    """solid: at rest; free (n,): nodes that may move; tip: nodes that are loaded; forces (n, 3)."""

    solid: Solid
    free: np.ndarray
    tip: np.ndarray
    forces: np.ndarray

    @classmethod
    def of(cls, parts: tuple[int, int, int]) -> "Beam":
        """6 tetrahedra in each of so many parts."""
        mesh = beam(LENGTH, WIDTH, HEIGHT, parts)
        x, tip = mesh.points, mesh.bodies["right"]
        free, forces = np.ones(len(x), bool), np.zeros_like(x)
        free[mesh.bodies["left"]] = False
        total = 1.5 * YOUNGS_MODULUS * (WIDTH * HEIGHT**3 / 12.0) / LENGTH**2
        forces[tip, 2] = -total / len(tip)
        return cls(Solid(x, x, mesh.cells, mesh.gradients(), mesh.volumes()), free, tip, forces)

    @property
    def masses(self) -> np.ndarray:
        """(n,): a quarter of each tetrahedron at each of its nodes; the density is 1."""
        return np.bincount(self.solid.cells.ravel(), np.repeat(self.solid.volumes / 4.0, 4))

    def sag(self, x: np.ndarray) -> float:
        """The mean displacement of the tip along z."""
        return float((x - self.solid.x)[self.tip, 2].mean())

    # Ours

    def potential(self) -> Potential:
        """Of the shipped energies, on fields x, v, m."""
        x, solid = self.solid.x, self.solid
        fields = Fields({"x": x, "v": np.zeros_like(x), "m": self.masses})
        moduli = {"youngs_modulus": YOUNGS_MODULUS, "poissons_ratio": POISSONS_RATIO}
        data = {"gradients": solid.gradients, "volume": solid.volumes}
        strain = bind(neo_hookean, fields, tuples=solid.cells, data=data, parameters=moduli)
        force, tip = self.forces[self.tip[0]], Body("tip", self.tip)
        return Potential(fields, [strain, bind(load, fields, bodies=[tip], parameters={"force": force})])

    def newton(self, potential: Potential, solver: str) -> Newton:
        """Newton's method from rest."""
        potential.fields["x"].set(self.solid.x)
        free = {"x": np.repeat(self.free[:, None], 3, axis=1)}
        enough = Tolerances(gradient=FELL * float(np.abs(self.forces).max()))
        return Newton(potential, [Unknown("x")], enough, free=free, solver=solver)

    def implicit_euler(self, potential: Potential, dt: float) -> ImplicitIntegrator:
        """Implicit Euler, which begins at rest."""
        potential.fields["x"].set(self.solid.x)
        potential.fields["v"].set(np.zeros_like(self.solid.x))
        motions = [Motion("x", "v", "m")]
        holds = Holds(potential.fields, [Hold("left", "x", np.flatnonzero(~self.free))], motions)
        return ImplicitIntegrator(
            System(potential, motions, holds=holds), IMPLICIT_SCHEMES["implicit_euler"], dt
        )

    # What is right, by NumPy and conjugate gradients of SciPy

    def minimum(self, inertia: float = 0.0, steps: int = MOST) -> np.ndarray:
        """x (n, 3) that minimises U + inertia sum m |x - X|^2 / 2, after so many steps at most."""
        x, first = self.solid.x, 0.0
        for _ in range(steps):
            p = self._slope(x, inertia)
            residual = float(np.abs(p).max())
            first = first or residual
            if residual <= 1e-2 * FELL * first:
                break
            exact = max(EXACT, 0.1 * residual / first) if inertia and steps != 1 else EXACT
            x = self._lower(x, self._direction(x, p, inertia, exact), p, inertia)
        else:
            assert steps < MOST, "Newton's method does not converge"
        return x

    def _slope(self, x: np.ndarray, inertia: float) -> np.ndarray:
        pull = inertia * self.masses[:, None] * (x - self.solid.x)
        return (replace(self.solid, x=x).gradient() - self.forces + pull) * self.free[:, None]

    def _energy(self, x: np.ndarray, inertia: float) -> float:
        moved = x - self.solid.x
        kinetic = 0.5 * inertia * float(self.masses @ (moved**2).sum(axis=1))
        return replace(self.solid, x=x).energy() - float((self.forces * moved).sum()) + kinetic

    def _direction(self, x: np.ndarray, p: np.ndarray, inertia: float, exact: float) -> np.ndarray:
        rows = np.flatnonzero(np.repeat(self.free, 3))
        H = self._hessian(x) + diags(np.repeat(inertia * self.masses, 3))
        H = csr_matrix(H)[rows][:, rows]
        found, failed = cg(H, -p.ravel()[rows], rtol=exact, M=diags(1.0 / H.diagonal()), maxiter=50_000)
        assert not failed, "conjugate gradients do not converge"
        d = np.zeros(p.size)
        d[rows] = found
        return d.reshape(p.shape)

    def _hessian(self, x: np.ndarray) -> coo_matrix:
        places = (3 * self.solid.cells[:, :, None] + np.arange(3)).reshape(-1, 12)
        values = replace(self.solid, x=x).element_hessians()
        rows, columns = np.repeat(places, 12, axis=1), np.tile(places, 12)
        return coo_matrix((values.ravel(), (rows.ravel(), columns.ravel())), shape=(x.size, x.size))

    def _lower(self, x: np.ndarray, d: np.ndarray, p: np.ndarray, inertia: float) -> np.ndarray:
        """Along d, halved until U falls."""
        U, slope, s = self._energy(x, inertia), float((p * d).sum()), 1.0
        while not self._energy(x + s * d, inertia) <= U + DECREASE * s * slope + ROUNDING * abs(U):
            s *= 0.5
        return x + s * d
