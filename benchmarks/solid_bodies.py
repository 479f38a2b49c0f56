"""Two bodies that all programs are given alike: NAFEMS's membrane LE1 and FEniCS's twisted cube.

    membrane   plane stress, n x n x 2 triangles of 6 nodes with curved sides; K u = f
    cube       neo-Hookean tetrahedra, 6 in each part; U is least under a body force, a traction and a side
               that is turned by 60 degrees, from rest

f of the membrane is a pull of 10 MPa along the normal of its outer edge. mu, lambda: Lame's constants, of the
membrane those of plane stress, lambda 2 mu / (lambda + 2 mu). Plain arrays go to the others' processes.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.plugin import Datum
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad_elastic import generators
from minusgrad_elastic.hyperelastic import neo_hookean
from minusgrad_elastic.loads import load
from minusgrad_elastic.materials.linear import linear_plane_stress
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.published import nafems
from minusgrad_elastic.published.linear_statics import LinearBody, holding, mapped
from minusgrad_elastic.solids import solid

ANGLE = np.pi / 3.0
PULL = 10e6
RUBBER = {"youngs_modulus": 10.0, "poissons_ratio": 0.3}
BODY_FORCE, TRACTION = (0.0, -0.5, 0.0), (0.1, 0.0, 0.0)
FELL = 1e-8
"""What the largest out-of-balance force falls to, relative to the forces of the problem."""
MOST = 40
"""The most steps of Newton's method."""


@dataclass(frozen=True)
class Problem:
    """A body at rest; held (n, d): components that are given; target (n, d): where they go.

    mu, lam [Pa]: of the energy density. probe (n, d): what matrices are multiplied by, those at X + shift.
    """

    name: str
    mesh: Mesh
    held: np.ndarray
    target: np.ndarray
    mu: float
    lam: float

    @property
    def d(self) -> int:
        """Components of a node."""
        return self.mesh.points.shape[1]

    @property
    def probe(self) -> np.ndarray:
        """(n, d)"""
        return np.cos(3.0 * self.mesh.points + 0.5)

    @property
    def shift(self) -> np.ndarray:
        """(n, d): of the cube; the matrix of the membrane is the same everywhere."""
        return 0.05 * np.sin(2.0 * self.mesh.points[:, ::-1] + 1.0)

    def write(self, file: Path) -> None:
        """All as arrays, for the process of another program."""
        np.savez(
            file,
            points=self.mesh.points,
            cells=self.mesh.cells,
            held=self.held,
            target=self.target,
            moduli=[self.mu, self.lam],
            probe=self.probe,
            shift=self.shift,
            enough=self.enough,
        )

    @cached_property
    def potential(self) -> Potential:
        """Ours, at rest."""
        return _membrane_potential(self) if self.name == "membrane" else _cube_potential(self)

    @property
    def enough(self) -> float:
        """The largest out-of-balance force [N] of an equilibrium."""
        return FELL * (PULL / 16.0 if self.name == "membrane" else 1.0)

    def newton(self, solver: str) -> Newton:
        """Newton's method from rest, with held nodes where they are to be."""
        self.potential.fields["x"].set(np.where(self.held, self.target, self.mesh.points))
        tolerances = Tolerances(gradient=self.enough)
        return Newton(self.potential, [Unknown("x")], tolerances, free={"x": ~self.held}, solver=solver)


def membrane(n: int) -> Problem:
    """LE1 in n x n squares of two triangles."""
    mesh = mapped(generators.rectangle((1.0, np.pi / 2), (n, n), "triangles", 2), nafems.elliptic)
    mu, lam = _moduli(nafems.STEEL)
    return Problem(
        "membrane",
        mesh,
        holding(mesh, bottom="y", top="x"),
        mesh.points,
        mu,
        2.0 * mu * lam / (lam + 2.0 * mu),
    )


def cube(parts: tuple[int, int, int]) -> Problem:
    """The unit cube in so many parts of six tetrahedra."""
    mesh = generators.box((1.0, 1.0, 1.0), parts)
    target, c, s = mesh.points.copy(), np.cos(ANGLE), np.sin(ANGLE)
    y, z = target[mesh.bodies["right"], 1:].T - 0.5
    target[mesh.bodies["right"], 1:] = np.stack([y * c - z * s, y * s + z * c], axis=1) + 0.5
    return Problem("cube", mesh, holding(mesh, left="xyz", right="xyz"), target, *_moduli(RUBBER))


def _moduli(moduli: dict[str, float]) -> tuple[float, float]:
    E, nu = moduli["youngs_modulus"], moduli["poissons_ratio"]
    return E / (2.0 * (1.0 + nu)), E * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))


def _membrane_potential(problem: Problem) -> Potential:
    body = LinearBody(problem.mesh, linear_plane_stress, nafems.STEEL)
    pull = PULL * body.facet_load("right")
    (strain,) = body.potential.terms.values()
    return Potential(body.fields, [strain, _dead_load(body.fields, pull)])


def _cube_potential(problem: Problem) -> Potential:
    state = solid(problem.mesh, 1.0)
    fields = Fields(dict(state.fields))
    data = {name: state.data["cells"][name] for name in neo_hookean.of_role(Datum)}
    strain = bind(neo_hookean, fields, tuples=state.tuples["cells"], data=data, parameters=RUBBER)
    force = state.fields["m"][:, None] * np.array(BODY_FORCE)
    rows, facets = state.tuples["boundary"], state.data["boundary"]
    for corner in range(rows.shape[1]):
        np.add.at(force, rows[:, corner], facets["area"][:, None] / rows.shape[1] * np.array(TRACTION))
    return Potential(fields, [strain, _dead_load(fields, force)])


def _dead_load(fields: Fields, force: np.ndarray) -> object:
    return bind(load, fields, parameters={"force": force})
