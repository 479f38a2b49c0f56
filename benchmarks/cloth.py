"""A cloth of triangles over the edge of a table, and what is right of its forces by NumPy in f64.

    U = sum over triangles of V (mu E:E + lambda*/2 (tr E)^2)
        + sum over hinges of D/2 aspect (theta - theta_0)^2
        - sum m g . x + the obstacle's penalty

1 m by 0.5 m, 0.5 mm thick, 0.2 kg/m^2, E = 1 MPa, nu = 0.3, D = 1e-5 J. It lies on the table along half of
its length, where its end is held, and falls over the edge.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.fields import Hold, Motion
from minusgrad.energies.term import Term
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.implicit.implicit_integrator import ImplicitIntegrator
from minusgrad.steppers.implicit.stage import IMPLICIT_SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.loads import body_force
from minusgrad_elastic.shells.obstacle import grid_values, obstacle
from minusgrad_elastic.shells.signed_distance import distance_grid
from minusgrad_elastic.shells.surface_mesh import SurfaceMesh
from minusgrad_shells.bending import fold_angles, shell_bending, shell_stretching
from minusgrad_shells.patches import triangulated_patch
from minusgrad_shells.surface_state import shell

LENGTH, WIDTH, THICKNESS, DENSITY = 1.0, 0.5, 5e-4, 400.0
YOUNGS_MODULUS, POISSONS_RATIO, STIFFNESS = 1e6, 0.3, 1e-5
WEIGHT = (0.0, 0.0, -9.81)
TABLE = (-0.4, -0.6, -0.1), (0.4, 0.0, -0.002)
"""Its lowest and highest corner; the edge is at y = 0."""
PUSH, CELLS = 1e7, 48
"""The table's stiffness [N/m^2], and cells of its grid of distances."""


@dataclass(frozen=True)
class Cloth:
    """x (n, 3), triangles (E, 3), hinges (H, 4); gradients (E, 3, 2), volumes (E,), rests, aspects (H,)."""

    x: np.ndarray
    masses: np.ndarray
    triangles: np.ndarray
    hinges: np.ndarray
    gradients: np.ndarray
    volumes: np.ndarray
    rests: np.ndarray
    aspects: np.ndarray

    @classmethod
    def of(cls, parts: tuple[int, int]) -> "Cloth":
        """Two triangles in each of so many parts along its width and length, at rest on the table."""
        mesh = triangulated_patch(_flat_place, parts).mesh
        state = shell(mesh, 1.0, DENSITY, THICKNESS)
        flat, folds = state.data["triangles"], state.data["hinges"]
        rows = state.tuples["triangles"], state.tuples["hinges"]
        return cls(
            mesh.points,
            state.fields["m"],
            *rows,
            flat["gradients"],
            flat["volume"],
            folds["rest"],
            folds["aspect"],
        )

    def shaken(self) -> "Cloth":
        """Bent and shaken, so that all angles and strains differ."""
        x, side = self.x.copy(), LENGTH / np.sqrt(len(self.x))
        x += 0.1 * side * np.random.default_rng(0).uniform(-1.0, 1.0, x.shape)
        x[:, 2] += 0.05 * np.sin(20.0 * x[:, 1]) * np.cos(15.0 * x[:, 0])
        return replace(self, x=x)

    def rounded(self, dtype: np.dtype) -> "Cloth":
        """The same in numbers that the precision holds; weights still sum to zero."""
        names = "x", "masses", "gradients", "volumes", "rests", "aspects"
        found = {name: getattr(self, name).astype(dtype).astype(float) for name in names}
        found["gradients"][:, 0] = -found["gradients"][:, 1:].sum(axis=1)
        return replace(self, **found)

    @property
    def lame(self) -> tuple[float, float]:
        """mu and lambda* of plane stress."""
        nu = POISSONS_RATIO
        return YOUNGS_MODULUS / (2.0 * (1.0 + nu)), YOUNGS_MODULUS * nu / (1.0 - nu * nu)

    # Ours

    def fabric(self, fields: Fields) -> list[Term]:
        """The shipped energies of the cloth alone."""
        moduli = {"youngs_modulus": YOUNGS_MODULUS, "poissons_ratio": POISSONS_RATIO}
        flat, folds = (
            {"gradients": self.gradients, "volume": self.volumes},
            {"rest": self.rests, "aspect": self.aspects},
        )
        return [
            bind(shell_stretching, fields, tuples=self.triangles, data=flat, parameters=moduli),
            bind(shell_bending, fields, tuples=self.hinges, data=folds, parameters={"stiffness": STIFFNESS}),
        ]

    def potential(self) -> Potential:
        """Of cloth, weight and table, on fields x, v, m."""
        fields = Fields({"x": self.x, "v": np.zeros_like(self.x), "m": self.masses})
        table = grid_values(distance_grid(_box(*map(np.array, TABLE)), CELLS))
        table["parameters"] |= {"stiffness": PUSH}
        weight = bind(body_force, fields, parameters={"acceleration": np.array(WEIGHT)})
        return Potential(fields, [*self.fabric(fields), weight, bind(obstacle, fields, **table)])

    def draped(self, dt: float, solver: str = "auto") -> ImplicitIntegrator:
        """Implicit Euler from rest on the table, where the end is held."""
        potential = self.potential()
        motions = [Motion("x", "v", "m")]
        end = np.flatnonzero(self.x[:, 1] < self.x[:, 1].min() + 1e-9)
        holds = Holds(potential.fields, [Hold("end", "x", end)], motions)
        system = System(potential, motions, holds=holds)
        return ImplicitIntegrator(system, IMPLICIT_SCHEMES["implicit_euler"], dt, solver=solver)

    # What is right, by NumPy in f64

    @cached_property
    def _deformed(self) -> tuple[np.ndarray, np.ndarray]:
        """F (E, 3, 2) and E (E, 2, 2)."""
        F = np.einsum("eai,eaj->eij", self.x[self.triangles], self.gradients)
        return F, 0.5 * (np.einsum("eki,ekj->eij", F, F) - np.eye(2))

    def gradient(self) -> np.ndarray:
        """dU/dx (n, 3) of the cloth alone."""
        (F, E), (mu, lam) = self._deformed, self.lame
        S = 2.0 * mu * E + lam * np.trace(E, axis1=1, axis2=2)[:, None, None] * np.eye(2)
        of_triangles = np.einsum("e,eij,eaj->eai", self.volumes, F @ S, self.gradients)
        out = np.zeros_like(self.x)
        np.add.at(out, self.triangles, of_triangles)
        turn = fold_angles(self.x[self.hinges]) - self.rests
        np.add.at(out, self.hinges, (STIFFNESS * self.aspects * turn)[:, None, None] * self.fold_slopes())
        return out

    def fold_slopes(self) -> np.ndarray:
        """dtheta/dx (H, 4, 3), by the two triangles' heights above the hinge."""
        a, b, c, d = self.x[self.hinges].swapaxes(0, 1)
        q = c - b
        length = np.linalg.norm(q, axis=1)[:, None]
        found = np.empty((len(a), 4, 3))
        found[:, 1:3] = 0.0
        for k, (corner, sign) in enumerate(((a, 1.0), (d, 1.0))):
            normal = np.cross(corner - b, q) if k == 0 else np.cross(q, corner - b)
            area = np.linalg.norm(normal, axis=1)[:, None]
            slope = -sign * normal / area**2 * length
            part = np.einsum("hi,hi->h", corner - b, q)[:, None] / length**2
            found[:, 3 * k] = slope
            found[:, 1] -= (1.0 - part) * slope
            found[:, 2] -= part * slope
        return found


def _flat_place(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Places (n, 3) on the table: u along the width, v along the length."""
    return np.stack([(u - 0.5) * WIDTH, (v - 0.5) * LENGTH, 0.0 * u], axis=1)


def _box(low: np.ndarray, high: np.ndarray) -> SurfaceMesh:
    """The closed surface of a box."""
    corners = np.array([[(high if k >> a & 1 else low)[a] for a in range(3)] for k in range(8)])
    sides = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    halves = [half for a, b, c, d in sides for half in ((a, b, c), (a, c, d))]
    return SurfaceMesh("table", corners, np.array(halves, np.int32))
