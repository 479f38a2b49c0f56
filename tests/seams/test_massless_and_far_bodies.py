"""Orbits about a dominant mass wherever it lies, and one cure for bodies without mass at every door."""

import numpy as np
import pytest

import minusgrad as mg

X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 1.7, 0.1]])
V = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.7, 0.1, 0.0]])
CURE = "1e-20 of the largest"


def simulation(m, stepper, x=X) -> mg.Simulation:
    return mg.Simulation(
        fields={"x": x, "v": V, "m": np.array(m)},
        energies=[mg.energy("gravity", G=1.0)],
        stepper=stepper,
        units="dimensionless",
        plugins=["gravity"],
    )


@pytest.mark.parametrize("away", [0.0, 1e4, 1e9])
@pytest.mark.parametrize("coordinates", ["jacobi", "democratic_heliocentric"])
def test_wisdom_holman_knows_its_mass_far_from_the_origin(coordinates, away):
    stepper = mg.WisdomHolman(dt=0.01, coordinates=coordinates)
    sim, near = (simulation([1.0, 1e-3, 1e-4], stepper, X + shift) for shift in (away, 0.0))
    sim.step(20)
    near.step(20)
    x = sim.fields["x"].values
    moved = (x - x[0]) - (near.fields["x"].values - near.fields["x"].values[0])
    assert np.abs(moved).max() < 1e-13 + 4e-15 * away


STEPPERS = {
    "leapfrog": mg.Leapfrog(dt=0.01),
    "gauss_radau": mg.GaussRadau(dt=0.01),
    "wisdom_holman": mg.WisdomHolman(dt=0.01),
    "heliocentric": mg.WisdomHolman(dt=0.01, coordinates="democratic_heliocentric"),
    "langevin": mg.Langevin(dt=0.01, friction=0.1, temperature=0.0),
    "implicit_midpoint": mg.ImplicitMidpoint(dt=0.01),
    "bdf2": mg.BDF2(dt=0.01),
}


@pytest.mark.parametrize("kind", STEPPERS)
@pytest.mark.parametrize("m", [[1.0, 0.0, 1e-4], [1.0, 1e-4, 0.0], [1.0, 0.0, 0.0]])
def test_steppers_name_the_cure_of_massless_bodies(kind, m):
    with pytest.raises(mg.UserError, match=f"'x' moves with inertia 0 at node {m.index(0.0)}.*{CURE}"):
        simulation(m, STEPPERS[kind])


def test_tiny_masses_are_test_particles():
    one, other = (simulation(m, mg.WisdomHolman(dt=0.01)) for m in ([1.0, 1e-20, 1e-4], [1.0, 1e-300, 1e-4]))
    for sim in (one, other):
        sim.step(20)
    np.testing.assert_allclose(one.fields["x"].values, other.fields["x"].values, atol=1e-14)


@pytest.mark.parametrize(
    "state",
    [
        {
            "kind": "orbits",
            "G": 1.0,
            "central": {"mass": 1.0},
            "bodies": [{"name": "a", "mass": 0.0, "semi_major_axis": 1.0}],
        },
        {"kind": "two_body", "masses": [1.0, 0.0], "semi_major_axis": 1.0, "eccentricity": 0.0, "G": 1.0},
        {"kind": "random_points", "n": 3, "side": 1.0, "mass": 0.0},
    ],
)
def test_states_name_the_cure_of_massless_bodies(state):
    with pytest.raises(mg.UserError, match=f"mass.*needs a quantity above 0, not 0.*{CURE}"):
        mg.Simulation(
            state=state,
            energies=[mg.energy("gravity", G=1.0)],
            stepper=mg.Leapfrog(dt=0.01),
            units="dimensionless",
            plugins=["gravity"],
        )
