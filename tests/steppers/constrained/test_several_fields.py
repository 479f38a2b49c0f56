"""Constraints that bind fields of different shapes, each with a motion of its own."""

import numpy as np
import pytest

from minusgrad import Fields, Motion, Node, Potential, bind, constraint
from minusgrad.plugin import SCHEMES, Constraints, Integrator
from minusgrad.steppers.systems.system import System


@constraint("on_balloon", over="nodes", x=Node("m", ("d",)), radius=Node("m"))
def on_balloon(x, radius):
    """A node at a distance from the origin that moves, too."""
    return x[0].dot(x[0]) - radius[0] * radius[0]


def balloons(dt: float) -> Integrator:
    """Two nodes of 2 kg in the plane, on balloons of 3 kg that grow and shrink with them, without a force.

    L = (m + M) r'^2 / 2 + m r^2 phi'^2 / 2, with m r^2 phi' kept: r^2 = r_0^2 + (v t)^2 for M = 0.
    """
    x, v = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[0.0, 1.0], [-0.5, 0.3]])
    given = {"x": x, "v": v, "m": np.full(2, 2.0)}
    given |= {"radius": np.array([1.0, 2.0]), "rate": np.array([0.0, 0.3]), "mass": np.full(2, 3.0)}
    fields = Fields(given)
    motions = [Motion("x", "v", "m"), Motion("radius", "rate", "mass")]
    kept = Constraints(fields, [bind(on_balloon, fields)])
    return Integrator(System(Potential(fields, []), motions, constraints=kept), SCHEMES["leapfrog"], dt)


def test_two_motions_by_one_constraint() -> None:
    """Against r'' = m r phi'^2 / (m + M), which r^2 = r_0^2 + 2 r_0 r_0' t + (2 E / (m + M)) t^2 solves."""
    errors = []
    for n in (50, 100):
        one = balloons(2.0 / n)
        one.advance(n)
        fields = one.potential.fields
        energy = np.array([0.5 * 2.0 * 1.0, 0.5 * 2.0 * 0.34 + 0.5 * 3.0 * 0.09])
        squared = np.array([1.0, 4.0 + 2.0 * 2.0 * 0.3 * 2.0]) + 2.0 * energy / 5.0 * 4.0
        errors.append(np.abs(fields["radius"].values ** 2 - squared).max())
        x, v = fields["x"].values, fields["v"].values
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), fields["radius"].values, rtol=1e-15)
        spin = x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]
        np.testing.assert_allclose(spin, [1.0, 1.0], rtol=1e-13)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] < 1e-3
