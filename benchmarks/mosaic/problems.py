"""The two finite-element cases of Mosaic: how stiff, and how hot, a body of given densities is.

    structural    E(rho) = E_min + (E_max - E_min) rho^3, nu = 0.3      C = F.u            compliance
    thermal       k(rho) = k_min + (k_max - k_min) rho^p                C = sum f T        thermal compliance
                  with a source s in each cell                          |T - T_target|^2   identification

Hexahedra of 8 nodes with 8 points each; rho and s are one number for each cell, F and f the consistent nodal
forces and heats of tractions and fluxes on the facets whose nodes are all marked. u and T are equilibria of
energies, and all gradients come from these by the implicit function theorem (`adjoint.equilibria`).
(Bendsoe & Sigmund 2003, Topology Optimization, sections 1.2 and 2.5, for the interpolation.)
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from minusgrad import Datum, Fields, Hold, Linear, Node, Parameter, Potential, bind, local_energy
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.adjoint.losses import Loss
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.solids import solid

POINTS = 8
"""Quadrature points of a cell."""
PRECISE = 1e-13
"""The relative out-of-balance force, or heat, of an equilibrium."""


@local_energy(
    "porous_solid",
    over="tuples",
    u=Node("m", ("d",)),
    gradients=Datum("m^-1", ("k", "d")),
    G=Linear("u", "gradients"),
    volume=Datum("m^3"),
    density=Parameter("1"),
    youngs_modulus=Parameter("Pa"),
    void=Parameter("1"),
    poissons_ratio=Parameter("1"),
)
def porous_solid(G, volume, density, youngs_modulus, void, poissons_ratio):
    """Linear elasticity of displacements, with a stiffness between that of the void and of the solid."""
    stiffness = youngs_modulus * (void + (1.0 - void) * density**3)
    mu = stiffness / (2.0 * (1.0 + poissons_ratio))
    lam = 2.0 * mu * poissons_ratio / (1.0 - 2.0 * poissons_ratio)
    strain = 0.5 * (G + G.transpose())
    return volume * (mu * (strain * strain).sum() + 0.5 * lam * strain.trace() * strain.trace())


@local_energy(
    "porous_conductor",
    over="tuples",
    T=Node("K"),
    gradients=Datum("m^-1", ("k", "d")),
    G=Linear("T", "gradients"),
    volume=Datum("m^3"),
    density=Parameter("1"),
    conductivity=Parameter("W m^-1 K^-1"),
    void=Parameter("1"),
    exponent=Parameter("1"),
)
def porous_conductor(G, volume, density, conductivity, void, exponent):
    """Heat conduction, with a conductivity between that of the void and of the solid."""
    k = conductivity * (void + (1.0 - void) * density**exponent)
    return 0.5 * volume * k * G.dot(G)


@local_energy("cell_source", over="tuples", T=Node("K"), volume=Datum("m^3"), power=Parameter("W m^-3"))
def cell_source(T, volume, power):
    """Heat set free in a cell, shared by its nodes; exact where the cells are boxes."""
    total = T[0] + T[1] + T[2] + T[3] + T[4] + T[5] + T[6] + T[7]
    return -0.125 * volume * power * total


@local_energy("nodal_force", over="nodes", u=Node("m", ("d",)), force=Node("N", ("d",)))
def nodal_force(u, force):
    """Dead forces on nodes."""
    return -force[0].dot(u[0])


@local_energy("nodal_heat", over="nodes", T=Node("K"), heat=Node("W"))
def nodal_heat(T, heat):
    """Heat given to nodes."""
    return -heat[0] * T[0]


@local_energy("work", over="nodes", u=Node("m", ("d",)), force=Node("N", ("d",)))
def work(u, force):
    """F.u."""
    return force[0].dot(u[0])


@local_energy("heat_work", over="nodes", T=Node("K"), heat=Node("W"))
def heat_work(T, heat):
    """sum f T."""
    return heat[0] * T[0]


@local_energy("deviation", over="nodes", T=Node("K"), target=Node("K"))
def deviation(T, target):
    """|T - T_target|^2."""
    return (T[0] - target[0]) ** 2


class Body:
    """A mesh with its marks: points (n, 3), cells (E, 8), and of each kind of condition the marked nodes.

    A mark of 0 is no condition, k the values in row k - 1.
    """

    def __init__(self, points: np.ndarray, cells: np.ndarray):
        self.mesh = Mesh(np.asarray(points, np.float64), np.asarray(cells, np.int32))
        self.state = solid(self.mesh, 1.0)

    @cached_property
    def rows(self) -> np.ndarray:
        """The nodes of each quadrature point."""
        return self.state.quadratures["cells"].nodes

    @property
    def data(self) -> dict[str, np.ndarray]:
        return {name: self.state.data["cells"][name] for name in ("gradients", "volume")}

    def nodal(self, mask: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Consistent nodal values (n, components) of densities on the facets whose nodes are all marked."""
        found = np.zeros((len(self.mesh.points), values.shape[1]))
        data, facets = self.state.data["boundary"], self.state.quadratures["boundary"].nodes
        for k, value in enumerate(values):
            chosen = (mask[facets] == k + 1).all(axis=1)
            share = data["area"][chosen, None] * data["shares"][chosen]
            np.add.at(found, facets[chosen], share[..., None] * value)
        return found

    def at_points(self, of_cells: np.ndarray) -> np.ndarray:
        return np.repeat(np.asarray(of_cells, np.float64), POINTS)

    def of_cells(self, at_points: np.ndarray) -> np.ndarray:
        return at_points.reshape(-1, POINTS).sum(axis=1)


def _marked(mask: Any, values: Any, components: int) -> tuple[np.ndarray, np.ndarray]:
    """Marks (n,) and the values (groups, components) of the groups; zero where none are given."""
    marks = np.asarray(mask, np.int64)
    groups = int(marks.max(initial=0))
    given = np.zeros((groups, components)) if values is None else np.asarray(values, np.float64)
    return marks, given.reshape(-1, components)


def _held(name: str, marks: np.ndarray) -> tuple[Hold, ...]:
    return (Hold("marked", name, np.flatnonzero(marks)),)


class Structural:
    """Compliance of a cantilever of densities, and its gradient.

    conditions: as Mosaic's `boundary_conditions`; `E_max`, `nu`, `xmin`: moduli.
    """

    def __init__(
        self,
        points: np.ndarray,
        cells: np.ndarray,
        conditions: Mapping[str, Any],
        E_max: float = 70_000.0,
        nu: float = 0.3,
        xmin: float = 1e-3,
    ):
        self.body = Body(points, cells)
        marks, places = _marked(conditions["dirichlet"]["mask"], conditions["dirichlet"].get("values"), 3)
        u = np.zeros((len(self.body.mesh.points), 3))
        u[marks > 0] = places[marks[marks > 0] - 1]
        pushed = _marked(conditions["neumann"]["mask"], conditions["neumann"]["values"], 3)
        fields = Fields({"u": u, "force": self.body.nodal(*pushed)})
        given = {"youngs_modulus": E_max, "void": xmin, "poissons_ratio": nu}
        given["density"] = np.ones(len(self.body.rows))
        solid_term = bind(
            porous_solid, fields, tuples=self.body.rows, data=self.body.data, parameters=given, name="solid"
        )
        potential = Potential(fields, [solid_term, bind(nodal_force, fields)])
        self.equilibrium = _equilibrium(potential, "u", marks, Potential(fields, [bind(work, fields)]))

    def compliance(self, rho: np.ndarray) -> float:
        """C."""
        self.equilibrium.potential.set_parameter("solid.density", self.body.at_points(rho))
        return self.equilibrium.value()

    def gradient(self, rho: np.ndarray) -> np.ndarray:
        """dC/d(rho) of each cell."""
        self.equilibrium.potential.set_parameter("solid.density", self.body.at_points(rho))
        _, slopes = self.equilibrium.evaluate(["solid.density"])
        return self.body.of_cells(slopes["solid.density"])


class Thermal:
    """Thermal compliance and identification error of a slab of densities and sources, and their gradients.

    conditions: as Mosaic's `boundary_conditions`; `k_max`, `p_exp`, `k_min` (relative): conductivities.
    """

    def __init__(
        self,
        points: np.ndarray,
        cells: np.ndarray,
        conditions: Mapping[str, Any],
        target: np.ndarray | None = None,
        k_max: float = 1.0,
        p_exp: float = 3.0,
        k_min: float = 1e-3,
    ):
        self.body = Body(points, cells)
        count = len(self.body.mesh.points)
        marks, places = _marked(conditions["dirichlet"]["mask"], conditions["dirichlet"].get("values"), 1)
        start = np.zeros(count)
        start[marks > 0] = places[marks[marks > 0] - 1, 0]
        heated = _marked(conditions["neumann"]["mask"], conditions["neumann"]["values"], 1)
        aim = np.zeros(count) if target is None or len(target) != count else target
        fields = Fields({"T": start, "heat": self.body.nodal(*heated)[:, 0], "target": aim})
        given = {"conductivity": k_max, "void": k_min, "exponent": p_exp}
        given["density"] = np.ones(len(self.body.rows))
        conductor = bind(
            porous_conductor,
            fields,
            tuples=self.body.rows,
            data=self.body.data,
            parameters=given,
            name="conductor",
        )
        sources = bind(
            cell_source,
            fields,
            tuples=self.body.mesh.cells,
            data={"volume": self.body.mesh.volumes()},
            parameters={"power": np.zeros(self.body.mesh.count)},
            name="source",
        )
        potential = Potential(fields, [conductor, sources, bind(nodal_heat, fields)])
        losses = {"thermal_compliance": heat_work, "identification_error": deviation}
        self._of = {
            name: _equilibrium(potential, "T", marks, Potential(fields, [bind(loss, fields)]))
            for name, loss in losses.items()
        }

    def _set(self, name: str, rho: np.ndarray, source: np.ndarray) -> Equilibrium:
        equilibrium = self._of[name]
        equilibrium.potential.set_parameter("conductor.density", self.body.at_points(rho))
        equilibrium.potential.set_parameter("source.power", np.asarray(source, np.float64))
        return equilibrium

    def value(self, name: str, rho: np.ndarray, source: np.ndarray) -> float:
        """`thermal_compliance` or `identification_error`."""
        return self._set(name, rho, source).value()

    def gradient(self, name: str, rho: np.ndarray, source: np.ndarray) -> dict[str, np.ndarray]:
        """Its gradient by `rho` and `source` of each cell."""
        _, slopes = self._set(name, rho, source).evaluate(["conductor.density", "source.power"])
        return {"rho": self.body.of_cells(slopes["conductor.density"]), "source": slopes["source.power"]}


def _equilibrium(potential: Potential, name: str, marks: np.ndarray, loss: Potential) -> Equilibrium:
    holds = Holds(potential.fields, _held(name, marks))
    search = Newton(System(potential, holds=holds), [Unknown(name, 1.0)], Tolerances(force=PRECISE))
    return Equilibrium(search, [Loss(loss, (0,))], iterations=20)
