"""Steady heat conduction against closed forms: slabs, layers, a ring, sources, convection, radiation.

Carslaw & Jaeger 1959, Conduction of Heat in Solids, chapters 3 and 7.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Hold, Potential, bind
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.systems.system import System
from minusgrad_elastic import generators
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.solids import solid
from minusgrad_heat.boundaries import convection, heat_flux, thermal_radiation
from minusgrad_heat.conduction import anisotropic_conduction, conduction, heat_source
from tests.support.laws import fitted_order
from tests.support.tiers import sampled

LENGTH, HEIGHT, K = 0.3, 0.1, 1.7


class Body:
    """A mesh with temperatures, the energies that a test adds, and its steady state."""

    def __init__(self, mesh: Mesh):
        self.mesh, self.state = mesh, solid(mesh, 1.0)
        count = len(mesh.points)
        self.fields = Fields({"T": np.full(count, 300.0), "share": self.state.fields["m"]})
        self.terms: list[Any] = []
        self.held: list[Hold] = []

    def add(self, energy: Any, where: str = "", name: str | None = None, **given: Any) -> "Body":
        """An energy over the cells, over the facets whose nodes all belong to a body, or over all nodes."""
        if energy is heat_source:
            self.terms.append(bind(energy, self.fields, parameters=given, name=name))
            return self
        of = "boundary" if where else "cells"
        data: Mapping[str, np.ndarray] = self.state.data[of]
        quadrature = self.state.quadratures.get(of)
        rows = self.state.tuples[of] if quadrature is None else quadrature.nodes
        chosen = np.isin(rows, self.mesh.bodies[where]).all(axis=1) if where else np.ones(len(rows), bool)
        roles = [r for r in energy.roles if r in data]
        values = {r: data[r][chosen] for r in roles}
        term = bind(energy, self.fields, tuples=rows[chosen], data=values, parameters=given, name=name)
        self.terms.append(term)
        return self

    def hold(self, where: str | np.ndarray, temperature: float | np.ndarray) -> "Body":
        nodes = self.mesh.bodies[where] if isinstance(where, str) else where
        values = self.fields["T"].values.copy()
        values[nodes] = temperature
        self.fields["T"].set(values)
        self.held.append(Hold(f"hold {len(self.held)}", "T", nodes))
        return self

    def steady(self) -> np.ndarray:
        self.potential = Potential(self.fields, self.terms)
        holds = Holds(self.fields, self.held)
        self.stepper = Newton(
            System(self.potential, holds=holds), [Unknown("T", 1.0)], Tolerances(gradient=1e-11 * K * 300.0)
        )
        self.stepper.advance(30)
        assert not self.stepper.failed, self.stepper.verdict
        return self.fields["T"].values


def plate(cells: tuple[int, int] = (6, 3), cell: str = "triangles", order: int = 1) -> Body:
    return Body(generators.rectangle((LENGTH, HEIGHT), cells, cell, order))


BODIES = {
    "triangles": plate,
    "quadratic triangles": lambda: plate((4, 2), "triangles", 2),
    "quadrilaterals": lambda: plate((5, 3), "quadrilaterals"),
    "quadratic quadrilaterals": lambda: plate((4, 2), "quadrilaterals", 2),
    "tetrahedra": lambda: Body(generators.box((LENGTH, HEIGHT, 0.2), (4, 2, 3))),
    "hexahedra": lambda: Body(generators.box((LENGTH, HEIGHT, 0.2), (4, 2, 3), "hexahedra")),
    "quadratic tetrahedra": lambda: Body(generators.box((LENGTH, HEIGHT, 0.2), (2, 1, 2), "tetrahedra", 2)),
}


@pytest.mark.parametrize("kind", sampled(BODIES, ["triangles", "quadratic quadrilaterals", "hexahedra"]))
def test_a_slab_with_convection(kind: str) -> None:
    """Linear in x, in every kind of cell: the two resistances L / k and 1 / h in a row; one Newton step."""
    h, outside, inside = 11.0, 280.0, 400.0
    body = BODIES[kind]().hold("left", inside)
    body.add(conduction, conductivity=K).add(convection, "right", coefficient=h, ambient=outside)
    found, x = body.steady(), body.mesh.points[:, 0]
    flow = (inside - outside) / (LENGTH / K + 1.0 / h)
    assert found == pytest.approx(inside - flow / K * x, abs=1e-9)
    assert body.stepper.step <= 2
    area = HEIGHT * (0.2 if body.mesh.dimension == 3 else 1.0)
    assert body.potential.gradient("T")[body.mesh.bodies["left"]].sum() == pytest.approx(
        flow * area, rel=1e-9
    )


def test_layers_of_different_materials() -> None:
    """A conductivity for each cell: resistances in a row."""
    body = plate((6, 2)).hold("left", 400.0).hold("right", 300.0)
    centre = body.mesh.points[body.mesh.cells].mean(axis=1)[:, 0]
    inner, outer = 0.8, 13.0
    body.add(conduction, conductivity=np.where(centre < LENGTH / 3.0, inner, outer))
    found, x = body.steady(), body.mesh.points[:, 0]
    flow = 100.0 / (LENGTH / 3.0 / inner + 2.0 * LENGTH / 3.0 / outer)
    expected = np.where(x < LENGTH / 3.0, 400.0 - flow * x / inner, 300.0 + flow * (LENGTH - x) / outer)
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_source_between_cold_walls() -> None:
    """T = q x (L - x) / 2 k, exact at the nodes of equal cells."""
    q = 3e4
    body = plate((8, 3)).hold("left", 300.0).hold("right", 300.0)
    body.add(conduction, conductivity=K).add(heat_source, power=q)
    found, x = body.steady(), body.mesh.points[:, 0]
    assert found == pytest.approx(300.0 + q * x * (LENGTH - x) / (2.0 * K), abs=1e-8)
    assert found.max() > 350.0


def test_a_plate_that_radiates() -> None:
    """A flux q enters at the left; at the right e s (T^4 - T_e^4) = q: no longer quadratic."""
    q, emissivity, sigma, outside = 5000.0, 0.8, 5.670374419e-8, 290.0
    body = plate().add(conduction, conductivity=K).add(heat_flux, "left", flux=q)
    body.add(thermal_radiation, "right", emissivity=emissivity, ambient=outside, stefan_boltzmann=sigma)
    found, x = body.steady(), body.mesh.points[:, 0]
    right = (outside**4 + q / (emissivity * sigma)) ** 0.25
    assert found == pytest.approx(right + q * (LENGTH - x) / K, abs=1e-8)


def test_radiation_is_solved_by_quadratic_steps() -> None:
    """The errors of Newton's iterates fall as e <- c e^2, c of the second and third derivatives of U."""
    q, sigma, outside = 2e4, 5.670374419e-8, 290.0
    body = plate().add(conduction, conductivity=100.0).add(heat_flux, "left", flux=q)
    body.add(thermal_radiation, "right", emissivity=0.8, ambient=outside, stefan_boltzmann=sigma)
    right = (outside**4 + q / (0.8 * sigma)) ** 0.25
    body.potential, at = Potential(body.fields, body.terms), body.mesh.bodies["right"]
    body.fields["T"].set(np.full(len(body.mesh.points), 1.4 * right))
    body.stepper = Newton(System(body.potential), [Unknown("T", 1.0)], Tolerances(gradient=1e-9))
    errors = []
    while not errors or errors[-1] > 1e-13:
        body.stepper.advance(1)
        errors.append(abs(body.fields["T"].values[at[0]] / right - 1.0))
        assert len(errors) <= 7
    ratios = [late / early**2 for early, late in pairwise(errors) if early < 0.1 and late > 1e-12]
    assert ratios == pytest.approx([1.5] * len(ratios), rel=0.15)
    assert len(ratios) >= 2


@pytest.mark.parametrize("start", [1.0, -400.0, 2e4])
def test_radiation_finds_its_state_from_any_start(start: float) -> None:
    """U is convex, below 0 K too, where T^5 alone would have no least value."""
    body = plate().add(conduction, conductivity=K).add(heat_flux, "left", flux=500.0)
    body.add(thermal_radiation, "right", emissivity=0.8, ambient=4.0)
    body.fields["T"].set(np.full(len(body.mesh.points), start))
    right = (4.0**4 + 500.0 / (0.8 * 5.670374419e-8)) ** 0.25
    found, x = body.steady(), body.mesh.points[:, 0]
    assert found == pytest.approx(right + 500.0 * (LENGTH - x) / K, abs=1e-7)


def test_radiation_near_a_temperature_is_convection() -> None:
    """h_r = 4 e s T_0^3 is the second derivative, and warms a plate alike by a small flux."""
    flat, sigma, outside = [], 5.670374419e-8, 300.0
    for energy, given in (
        (thermal_radiation, {"emissivity": 0.9, "stefan_boltzmann": sigma}),
        (convection, {"coefficient": 4.0 * 0.9 * sigma * outside**3}),
    ):
        body = plate().add(conduction, conductivity=K).add(heat_flux, "left", flux=0.1)
        flat.append(body.add(energy, "right", ambient=outside, **given).steady() - outside)
    assert flat[0] == pytest.approx(flat[1], rel=1e-4)


def ring(layers: int) -> Mesh:
    """A quarter of a ring, 1 < r < 3."""
    flat = generators.rectangle((1.0, 1.0), (layers, 2 * layers))
    r, angle = 1.0 + 2.0 * flat.points[:, 0], 0.5 * np.pi * flat.points[:, 1]
    points = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
    return Mesh(points, flat.cells, flat.bodies)


def test_a_ring() -> None:
    """T = T_1 + (T_2 - T_1) log r / log 3: order 2."""
    layers, errors = (4, 8, 16), []
    for n in layers:
        body = Body(ring(n)).hold("left", 400.0).hold("right", 300.0).add(conduction, conductivity=K)
        r = np.linalg.norm(body.mesh.points, axis=1)
        errors.append(np.abs(body.steady() - (400.0 - 100.0 * np.log(r) / np.log(3.0))).max())
    assert fitted_order(errors, layers) == pytest.approx(2.0, abs=0.15)
    assert errors[-1] < 0.05


@pytest.mark.parametrize("kind", ["triangles", "hexahedra"])
def test_a_tensor_of_conductivities(kind: str) -> None:
    """A linear field is exact inside; heat crosses a side as -n . K grad T; a skew part of K does nothing."""
    body = BODIES[kind]()
    d, points = body.mesh.dimension, body.mesh.points
    rng = np.random.default_rng(2)
    half = rng.normal(size=(d, d))
    tensor = half @ half.T + np.eye(d)
    skew = rng.normal(size=(d, d))
    slope = np.array([200.0, -70.0, 45.0])[:d]
    sides = np.unique(np.concatenate([*body.mesh.bodies.values()]))
    body.hold(sides, (300.0 + points @ slope)[sides])
    body.add(anisotropic_conduction, conductivity=tensor + skew - skew.T)
    assert body.steady() == pytest.approx(300.0 + points @ slope, abs=1e-9)
    free = BODIES[kind]()
    free.fields["T"].set(points @ slope)
    free.add(anisotropic_conduction, conductivity=tensor)
    area = HEIGHT * (0.2 if d == 3 else 1.0)
    inside = Potential(free.fields, free.terms).gradient("T")
    at = points[:, 0] / LENGTH
    assert at @ inside * LENGTH == pytest.approx(LENGTH * area * (tensor @ slope)[0], rel=1e-9)


def test_single_precision() -> None:
    body = plate()
    body.fields = Fields({n: f.values for n, f in body.fields.items()}, precision="f32")
    body.hold("left", 400.0).hold("right", 300.0).add(conduction, conductivity=K)
    potential = Potential(body.fields, body.terms)
    stepper = Newton(
        System(potential, holds=Holds(body.fields, body.held)), [Unknown("T", 1.0)], Tolerances(force=1e-4)
    )
    stepper.advance(20)
    assert body.fields["T"].values == pytest.approx(400.0 - 100.0 * body.mesh.points[:, 0] / LENGTH, abs=1e-3)
