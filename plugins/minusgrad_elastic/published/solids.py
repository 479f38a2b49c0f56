"""Published values of membranes, beams, tubes and bars: closed forms, and tables of others."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

from .. import generators
from ..hyperelastic import neo_hookean
from ..materials.linear import linear, linear_plane_stress
from .linear_statics import LinearBody, holding, mapped, node_at

MATTIASSON = {1: (0.30172, 0.05643), 2: (0.49346, 0.16064), 5: (0.71379, 0.38763), 10: (0.81061, 0.55500)}
"""w / L and u / L at P L^2 / E I (Mattiasson 1981, Int. J. Numer. Methods Eng. 17, 145, table I)."""


@published_value(
    "Cook's membrane",
    area="elasticity",
    value=23.96,
    tolerance=0.01,
    why="half of the last digit, and as much for the mesh",
    source="Cook 1974, J. Struct. Div. ASCE 100, 1851; 23.96 is the limit of fine meshes in plane stress:"
    " solver-docs.pages.dev/v0.20.2/gallery/verification/example_verify_cooks_membrane",
    quick=True,
)
def rise_of_cooks_membrane(place: Workplace) -> float:
    """Displacement of the middle of the sheared edge; E = 1, nu = 1/3, thickness 1, a load of 1."""
    mesh = mapped(
        generators.rectangle((1.0, 1.0), (32, 32), "quadrilaterals", 2),
        lambda s, t: (48.0 * s, 44.0 * s + t * (44.0 - 28.0 * s)),
    )
    body = LinearBody(mesh, linear_plane_stress, {"youngs_modulus": 1.0, "poissons_ratio": 1.0 / 3.0})
    u = body.displaced(holding(mesh, left="xy"), body.facet_load("right", np.array([0.0, 1.0 / 16.0])))
    return float(u[node_at(mesh, 48.0, 52.0), 1])


@published_value(
    "Timoshenko's beam",
    area="elasticity",
    value=1.0,
    tolerance=4e-4,
    why="1.4e-4 of 3,000 unknowns; shear has 6e-3 of the deflection, Cowper's factor 1e-3 of it",
    source="F L^3 / 3 E I + F L / (k G A), k of a rectangle by Cowper 1966, J. Appl. Mech. 33, 335",
    quick=True,
)
def deflection_of_a_beam(place: Workplace) -> float:
    """Deflection of a cantilever 10 times as long as high over Timoshenko's, with tetrahedra of order 2."""
    mesh = generators.beam(10.0, 1.0, 1.0, (20, 2, 2), "tetrahedra", 2)
    body = LinearBody(mesh, neo_hookean, {"youngs_modulus": 1e6, "poissons_ratio": 0.0})
    return deflection_over_timoshenko(body, 1e6, 0.0)


def deflection_over_timoshenko(body: LinearBody, young: float, nu: float) -> float:
    """The mean deflection of the loaded end of a beam of 10 x 1 x 1 m, over that of Timoshenko's theory."""
    load = body.facet_load("right", np.array([0.0, 0.0, 1.0]))
    u = body.displaced(holding(body.mesh, left="xyz"), load)
    shear = young / (2.0 * (1.0 + nu))
    cowper = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu)  # 5 / 6 at nu = 0
    return float((u * load).sum() / (1e3 * 4.0 / young + 10.0 / (cowper * shear)))


def elastica(load: float) -> tuple[float, float]:
    """Deflection and shortening of a cantilever of length 1 under P L^2 / E I, by elliptic integrals.

    Frisch-Fay 1962, Flexible Bars, chapter 2: with p^2 = (1 + sin phi) / 2 of the slope phi of the end,
    sqrt(load) = K(p) - F(p, m), sin m = 1 / (p sqrt 2).
    """
    start = lambda p: np.arcsin(1.0 / (p * np.sqrt(2.0)))  # noqa: E731
    length = lambda p: ellipk(p * p) - ellipkinc(start(p), p * p)  # noqa: E731
    p = brentq(lambda p: length(p) - np.sqrt(load), np.sqrt(0.5) + 1e-12, 1.0 - 1e-12, xtol=1e-15)
    down = 1.0 - 2.0 / np.sqrt(load) * (ellipe(p * p) - ellipeinc(start(p), p * p))
    along = np.sqrt(2.0 * (2.0 * p * p - 1.0) / load)
    return down, 1.0 - along


@published_value(
    "elastica",
    area="elasticity",
    value=[number for pair in MATTIASSON.values() for number in pair],
    tolerance=1e-3,
    why="the beam is 100 times as long as deep, not a line; 40 cells",
    source="Mattiasson 1981, Int. J. Numer. Methods Eng. 17, 145, table I: elliptic integrals",
    quick=True,
)
def bending_of_the_elastica(place: Workplace) -> list[float]:
    """Deflection and shortening of a cantilever, over its length, at P L^2 / E I = 1, 2, 5, 10."""
    one = minusgrad.build(place.scene("elastica"))
    before, found = one.fields["x"].values.copy(), []
    end = next(body.nodes for body in one.state.bodies if body.name == "right")
    for load in range(1, 11):
        one.step()
        if load in MATTIASSON:
            found += list(-(one.fields["x"].values - before)[end].mean(axis=0)[::-1])
    return found


@published_value(
    "Lame's tube",
    area="elasticity",
    value=[1.0, -1.0, 5.0 / 3.0],
    tolerance=1e-3,
    why="64 cells of order 2 across the wall",
    source="Lame 1852: u(a), sigma_rr = -p and sigma_tt = p (b^2 + a^2) / (b^2 - a^2) at r = a, b = 2 a",
    quick=True,
)
def stress_of_a_tube(place: Workplace) -> list[float]:
    """Widening of a thick tube over Lame's, radial and hoop stress at its bore over the pressure there."""
    E, nu, a = 200e9, 0.3, 0.01
    mesh = mapped(
        generators.rectangle((1.0, np.pi / 2), (64, 16), "quadrilaterals", 2),
        lambda s, t: (a * (1.0 + s) * np.cos(t), a * (1.0 + s) * np.sin(t)),
    )
    body = LinearBody(mesh, linear, {"youngs_modulus": E, "poissons_ratio": nu})
    u = body.displaced(holding(mesh, bottom="y", top="x"), -1e6 * body.facet_load("left"))
    there = node_at(mesh, a, 0.0)
    widened = 1e6 * (1.0 + nu) / (3.0 * E) * ((1.0 - 2.0 * nu) * a + 4.0 * a)
    stress = body.stress_at(there) / 1e6
    return [float(u[there, 0] / widened), float(stress[0, 0]), float(stress[1, 1])]


@published_value(
    "60-degree twist",
    area="elasticity",
    value=0.1406,
    tolerance=8e-4,
    why="three cells of order 2 across the bar: 0.4 % too stiff, four are 0.2 %",
    source="Saint-Venant 1855; Timoshenko & Goodier 1951, Theory of Elasticity, section 94: M = 0.1406 G a^4",
    quick=True,
)
def stiffness_of_a_twisted_bar(place: Workplace) -> float:
    """Torque over G a^4 and twist of a square bar of rubber, between bars of 1 m and 2 m, 60 degrees a metre.

    Both have the same clamped ends: their angles at one torque differ by that of a metre far from ends.
    """
    angles = [np.radians(60.0 * metres) for metres in (1, 2)]
    softness = [angle / torque_of_a_bar(place, metres) for metres, angle in enumerate(angles, 1)]
    return float(1.0 / (softness[1] - softness[0]) / (1e6 / 2.6 * 0.2**4))


def torque_of_a_bar(place: Workplace, metres: int) -> float:
    """The torque [N m] on the end of the bar of `twisted_bar`, as long as this, by 60 degrees a metre."""
    turned = {"centre": [f"{metres} m", "0 m", "0 m"], "axis": [1.0, 0.0, 0.0], "angle": f"{60 * metres} deg"}
    bar = {"state.length": f"{metres} m", "state.cells": [6 * metres, 3, 3]}
    holds = {"hold": [{"body": "left"}, {"body": "right", "rotation": turned}]}
    stepper = {"stepper": {"kind": "newton", "load_steps": 4}, "run.steps": 4}
    one = minusgrad.build(place.scene("twisted_bar"), bar | holds | stepper)
    one.step(4)
    x, force = one.fields["x"].values, one.potential.gradient("x")
    end = next(body.nodes for body in one.state.bodies if body.name == "right")
    return float((x[end, 1] * force[end, 2] - x[end, 2] * force[end, 1]).sum())


ROWS: list[PublishedValue] = [
    rise_of_cooks_membrane,
    deflection_of_a_beam,
    bending_of_the_elastica,
    stress_of_a_tube,
    stiffness_of_a_twisted_bar,
]
