"""Torsions of nodes on a line: none without a stiffness, and a true reason with one."""

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Fields, Potential, bind
from minusgrad.errors import NonFiniteError
from minusgrad_elastic.angles import dihedral
from minusgrad_molecular.bonded import periodic_torsion

STRAIGHT = {
    "three on a line": [[-1, 0, 0], [0, 0, 0], [1, 0, 0], [1, 1, 0]],
    "the other three": [[-1, 1, 0], [0, 0, 0], [1, 0, 0], [2, 0, 0]],
    "all on a line": [[-1, 0, 0], [0, 0, 0], [1, 0, 0], [2, 0, 0]],
    "nearly on a line": [[-1, 1e-200, 0], [0, 0, 0], [1, 0, 0], [2, 1e-200, 1e-200]],
}
BENT = [[0, 1, 0], [0, 0, 0], [1, 0, 0], [1, np.cos(1.1), np.sin(1.1)]]


def torsion(x, stiffness, precision="f64", energy=periodic_torsion):
    fields = Fields({"x": np.array(x, float)}, {"x": "m"}, precision=precision)
    numbers = {"multiplicity": 3, "stiffness": stiffness, "phase": 0.3}
    data = {n: v for n, v in numbers.items() if n in ("multiplicity",) or energy is periodic_torsion}
    parameters = {n: v for n, v in numbers.items() if n not in data}
    return Potential(fields, [bind(energy, fields, tuples=[[0, 1, 2, 3]], data=data, parameters=parameters)])


@pytest.mark.parametrize(("energy", "precision"), [(periodic_torsion, "f32"), (dihedral, "f64")])
def test_a_torsion_without_stiffness(energy, precision):
    p = torsion(BENT, 0.0, precision, energy)
    for place in STRAIGHT.values():
        p.fields["x"].set(np.array(place, float))
        assert p.value() == 0.0
        assert np.array_equal(p.gradient("x"), np.zeros((4, 3)))
        assert np.array_equal(p.product({"x": np.ones((4, 3))}, "x"), np.zeros((4, 3)))
        assert not p.hessian("x").toarray().any()


def test_the_derivative_by_a_stiffness_of_zero():
    """Where there is an angle, a fit may begin at 0: dU/dk = 1 + cos(n phi - delta)."""
    p = torsion(BENT, 0.0)
    assert p.gradient("periodic_torsion.stiffness") == pytest.approx(1.0 + np.cos(3 * 1.1 - 0.3), rel=1e-12)


def acetonitrile(stiffness):
    """CH3CN, whose C-C-N is straight, with the torsions around it that a force field lists."""
    x = [[0, 0, 0], [1.458, 0, 0], [2.615, 0, 0], [-0.36, 1.03, 0], [-0.36, -0.515, 0.892]]
    x = np.array([*x, [-0.36, -0.515, -0.892]])
    return mg.Simulation(
        fields={"x": x, "m": np.array([12, 12, 14, 1, 1, 1.0])},
        units="molecular",
        stepper=mg.Leapfrog(dt=0.0005),
        energies=[
            periodic_torsion(
                tuples=[[3, 0, 1, 2], [4, 0, 1, 2], [5, 0, 1, 2]],
                multiplicity=3.0,
                phase=0.0,
                stiffness=stiffness,
            ),
        ],
    )


def test_a_run_of_a_straight_group():
    s = acetonitrile(0.0)
    s.step(5)
    assert np.isfinite(s.fields["x"].values).all()


def test_a_stiffness_is_refused_with_the_reason():
    with pytest.raises(
        NonFiniteError, match=r"torsion.*element 0 .*on a line: leave it out, or displace a node$"
    ):
        acetonitrile(1.0).step(1)
