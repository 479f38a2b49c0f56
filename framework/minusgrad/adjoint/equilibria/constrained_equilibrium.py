"""The part of constraints in derivatives of an equilibrium, with its multipliers.

    dU/dx + G^T lambda = 0,  g = 0                 at the equilibrium x of the parameters p
    [ W  G^T ] [ z  ]   [ dl/dx ]                  W = d2(U + lambda^T g)/dx2,  G = dg/dx
    [ G  0   ] [ mu ] = [ 0     ]
    dL/dp = dl/dp - (d2U/dx dp)^T z - (d2C/dx dp)^T z - (dg/dp)^T mu,      C = lambda^T g

The last two are the derivatives of C by p along the tangents z of x and mu of lambda, as d2C/(dlambda dp) is
dg/dp. Forward, dx and dlambda solve the same system with the right sides -d2(U + C)/(dx dp) dp, -dg/dp dp.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ...codegen.derivative_request import DerivativeRequest
from ...energies.constraint import MULTIPLIER
from ...engine import storage
from ...errors import SingularSystemError
from ...solvers.saddle_point import SaddlePoint
from ...solvers.sparse_system import FREE, SparseSystem
from ...steppers.constrained.plane_reactions import plane_constraints
from ...steppers.minimisers.minimiser import Minimiser
from ...steppers.minimisers.scaled_hessian import images, scaled_hessian
from ...steppers.minimisers.soft_motions import soft_motions
from .singular_modes import CURE, ROUNDINGS, ROUNDS, named

SHIFT = 1e-9
"""Of a singular matrix, relative to its largest entry, to find its mode."""


class ConstrainedEquilibrium:
    """The constraints of a search, in derivatives of the equilibrium that it found.

    `potential`: C, with the parameters and data of the constraints. `planes`: the fields of those that keep
    nodes in planes, by name.
    """

    def __init__(self, search: Minimiser):
        assert search.constraints is not None
        assert search.manifold is not None
        self.search, self.constraints, self.manifold = search, search.constraints, search.manifold
        self.potential = search.constraints.potential
        self.inputs = [n for n in self.potential.arguments if n.partition(".")[2] != MULTIPLIER]
        self.planes = plane_constraints(search.constraints)
        self._factored: object = None
        self._factors: SaddlePoint | None = None

    def load(self) -> None:
        """Take the multipliers of the equilibrium."""
        self.constraints.set_multipliers(self.search.multipliers)
        self.manifold.load(self.search.t)

    def pulled(
        self, z: Mapping[str, np.ndarray], mu: np.ndarray, names: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """The derivatives of C by names of its inputs, along z (by field) and mu (E,)."""
        fields, dtype = self.potential.fields, self.potential.fields.dtype
        read = [n for n in names if n in self.potential.reads]
        into = {n: storage.allocate(np.zeros_like(fields[n].values)) for n in read}
        changed = [n for n in names if n in self.inputs]
        along = {n: storage.allocate(a.astype(dtype)) for n, a in z.items() if n in self.potential.reads}
        weights = {f"{n}.{MULTIPLIER}": a for n, a in self.constraints.by_constraint(mu).items()}
        request = DerivativeRequest(product=into, changes=changed, tangents={**along, **weights})
        swept = self.potential.sweep(request, self.search.t)
        return {n: storage.host(a).astype(np.float64) for n, a in into.items()} | swept.changes

    def pushed(self, way: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """d2C/(dx dp) dp by unknown field, and dg/dp dp (E,), along a way of fields and inputs."""
        known = {n: d for n, d in way.items() if n in self.potential.reads or n in self.inputs}
        return self.manifold.pushed(known, self.search.multipliers, self.search.t)

    def solved(self, right: np.ndarray, lower: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """x (N,) over the free components, and y (E,), for right sides of derivatives by x and by lambda.

        Raises `SingularSystemError` naming the mode, where the equilibrium is not unique.
        """
        if self._factored != self.search.inputs or self._factors is None:
            self._factors = self._made()
            self._factored = self.search.inputs
        scale = self.search.coordinates.scale
        z, y = self._factors.solve(scale * right, lower)
        return scale * z, y

    def _made(self) -> SaddlePoint:
        search, variables = self.search, self.search.coordinates
        motions, multipliers = soft_motions(variables.fields), search.multipliers
        hessian = scaled_hessian(search.potential, variables, motions, search.t)
        system = self.manifold.curved(hessian, multipliers)
        jacobian = self.manifold.jacobian
        slope = self.manifold.tangent(
            variables.slope({f.name: search.gradient[f.name] for f in search.moving})
        )
        turned = images(variables, motions, slope)
        moved = np.abs(jacobian @ system.modes).max(axis=0, initial=0.0)
        most = abs(jacobian).sum(axis=1).max() * np.abs(system.modes).max(axis=0, initial=0.0)
        if free := [k for k in system.free_modes(turned) if moved[k] <= FREE * most[k]]:
            names = ", ".join(motions[k].name for k in free)
            raise SingularSystemError(f"the Hessian is singular: nothing resists {names}; {CURE}")
        try:
            made = SaddlePoint(system.matrix, jacobian)
        except SingularSystemError:
            made = SaddlePoint(_shifted(system), jacobian)
            mode, _ = _softest(made, system.size)
            raise named(system, mode, motions, variables.fields) from None
        mode, size = _softest(made, system.size)
        if size <= ROUNDINGS[self.manifold.precision] * float((abs(system.matrix) @ np.abs(mode)).max()):
            raise named(system, mode, motions, variables.fields)
        return made


def _shifted(system: SparseSystem):
    from scipy.sparse import eye_array

    size = float(np.abs(system.matrix.data).max(initial=0.0)) or 1.0
    return (system.matrix + SHIFT * size * eye_array(system.size)).tocsr()


def _softest(factors: SaddlePoint, count: int) -> tuple[np.ndarray, float]:
    """The unit vector (N,) along the constraints that W changes least, and how much; repeatable."""
    mode = np.random.Generator(np.random.Philox(key=0)).normal(size=count)
    size = 0.0
    for _ in range(ROUNDS):
        mode, _ = factors.solve(mode / np.linalg.norm(mode))
        size = 1.0 / float(np.linalg.norm(mode) or 1.0)
    return mode / (np.linalg.norm(mode) or 1.0), size
