"""Helical springs in large stretch, beside Kirchhoff's helices under a wrench along their axis.

    bend = EI (kappa - kappa0),  twist = GJ (tau - tau0),  kappa = cos^2 a / r,  tau = sin a cos a / r
    F r = twist cos a - bend sin a                                      F the force along the axis

a is the angle of the helix, r its radius. Love 1927, A Treatise on the Mathematical Theory of Elasticity,
art. 271: a rod that is a helix at rest is one at any angle, held so by a force and a couple along the axis.
"""

from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad_rods.frames import axes_of, multiply, rotation_of
from tests.support.laws import fitted_order
from tests.support.rods import places, rod_scene

EI, GJ, TURNS = 1e-3, 1.5e-3, 2.0
MODULI = {"youngs_modulus": 1e6, "shear_modulus": 1e6}
SECTION = {"kind": "given", "area": 1e-2, "second_moments": [EI / 1e6, EI / 1e6], "torsion": GJ / 1e6}


def helix(angle: float) -> tuple[float, float, float]:
    """Radius, curvature and torsion of a helix of length 1 with its turns, at this angle."""
    radius = np.cos(angle) / (2.0 * np.pi * TURNS)
    return radius, np.cos(angle) ** 2 / radius, np.sin(angle) * np.cos(angle) / radius


def held_spring(n: int, at_rest: float, angle: float) -> mg.Simulation:
    """A spring of n elements with the angle `at_rest`, whose ends are held on a helix of another one.

    It starts on that helix. Walls stand half an edge before the first frame and behind the last one.
    """
    radius, curved, twisted = helix(angle)
    _, curved_at_rest, twisted_at_rest = helix(at_rest)
    state = {
        "kind": "rod_helix",
        "elements": n,
        "radius": radius,
        "pitch": np.sin(angle) / TURNS,
        "turns": TURNS,
    }
    state |= {"section": SECTION, "natural": {"curvature": [0.0, curved_at_rest], "twist": twisted_at_rest}}
    q = frames_of_frenet(mg.load(rod_scene(state)))
    bent = np.array([0.0, curved - curved_at_rest, twisted - twisted_at_rest]) * 0.5 / n
    walls = []
    for name, edge, sign in (("first", 0, -1.0), ("last", n - 1, 1.0)):
        wall = multiply(q[edge], rotation_of(sign * bent))
        only = np.arange(n) == edge
        walls.append(
            MODULI
            | {"kind": "rod_clamp", "name": f"{name}_wall", "tuples": "rod_frames", "length": 0.5 / n}
            | {
                "second_moments": np.outer(only, [EI / 1e6, EI / 1e6]).tolist(),
                "torsion": (only * GJ / 1e6).tolist(),
            }
            | {"wall": wall.tolist(), "axis": axes_of(wall)[:, 2].tolist()}
        )
    held = [{"body": "first", "field": "x"}, {"body": "last", "field": "x"}]
    made = mg.load(rod_scene(state, MODULI | {"clamps": []}, energy=walls, hold=held))
    made.fields["q"].set(q)
    return made


def frames_of_frenet(made: mg.Simulation) -> np.ndarray:
    """The frames (n, 4) of a helix about z, turned about the rod so that d1 points to the axis."""
    q, x = made.fields["q"].values, places(made)
    inwards, axes = -0.5 * (x[1:] + x[:-1]) * [1.0, 1.0, 0.0], axes_of(q)
    turn = np.arctan2(*(np.einsum("ei,ei->e", inwards, axes[:, :, k]) for k in (1, 0)))
    return multiply(q, rotation_of(turn[:, None] * [0.0, 0.0, 1.0]))


@pytest.mark.long
def test_a_spring_is_pulled_to_another_helix() -> None:
    """From 3 degrees to 34, ninefold: places, force along the axis and twisting moment, of order 2."""
    at_rest, angle = 0.06, 0.6
    radius, curved, twisted = helix(angle)
    _, curved_at_rest, twisted_at_rest = helix(at_rest)
    twist = GJ * (twisted - twisted_at_rest)
    bend = EI * (curved - curved_at_rest)
    force = (twist * np.cos(angle) - bend * np.sin(angle)) / radius
    found: dict[str, list[float]] = {"force": [], "twist": [], "places": []}
    for n in (40, 80):
        made = held_spring(n, at_rest, angle)
        start = places(made).copy()
        made.step(60)
        stepper: Any = made.stepper
        assert not stepper.failed, stepper.verdict
        pull = made.potential.gradient("x")[-1]
        assert np.abs(pull[:2]).max() < 0.02 * force
        found["force"].append(abs(pull[2] / force - 1.0))
        found["twist"].append(abs(float(made.potential.gradient("last_wall.angle")) / twist - 1.0))
        found["places"].append(float(np.abs(places(made) - start).max()) / radius)
    for name, errors in found.items():
        assert errors[1] < (5e-4 if name == "force" else 4.2e-3), (name, found)
        assert abs(fitted_order(errors, (40, 80)) - 2.0) < 0.35, (name, found)
