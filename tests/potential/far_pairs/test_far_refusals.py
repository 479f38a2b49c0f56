"""Far pairs that are refused, each in words that name the cause and the cure."""

import re

import pytest

from minusgrad import Fields, Motion, Node, Parameter, Potential, Time, bind, local_energy
from minusgrad.adjoint.chaos.variation import Variation
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.energies.pairs.far import Far
from minusgrad.errors import EnergyError
from minusgrad.plugin import ti
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.far_energies import CHARGE, X, attraction

from .test_kept_trees import cluster
from .test_tree_energies import FAR, aim, potential, rollout, state


def test_derivatives_of_runs_with_kept_trees_are_refused():
    with pytest.raises(EnergyError, match=r"attraction\.far\.skin: derivatives of runs need the tree"):
        rollout(Far(opening_angle=0.4, order=3, skin=0.1))


def test_variations_with_kept_trees_are_refused():
    """MEGNO takes steps again, with a tree that has moved since."""
    with pytest.raises(EnergyError, match=r"attraction\.far\.skin: steps that are taken again need the tree"):
        Variation(cluster("f64"))


@local_energy("rubbing", over="pairs", x=X, v=Node("m/s", ("d",)))
def rubbing(x, v):
    """A friction of pairs."""
    r, u = x[0] - x[1], v[0] - v[1]
    return u.dot(u) * ti.exp(-r.dot(r))


@pytest.mark.parametrize("where", ["friction", "loss"])
def test_frictions_and_losses_with_kept_trees_are_refused(where):
    x, m = state(60, 2)
    fields = Fields({"x": x, "v": 0.0 * x, "m": m})
    potential = Potential(fields, [bind(attraction, fields, parameters={"G": 1.0, "softening": 0.2})])
    kept = Potential(fields, [bind(rubbing, fields, far=Far(opening_angle=0.4, skin=0.1))])
    aims, friction = (Potential(fields, [bind(aim, fields)]), kept) if where == "friction" else (kept, None)
    stepper = Integrator(
        System(potential, [Motion("x", "v", "m")], dissipation=friction), SCHEMES["leapfrog"], 0.05
    )
    with pytest.raises(EnergyError, match=r"rubbing\.far\.skin: derivatives of runs need the tree"):
        Rollout(stepper, [Loss(aims, (6,))], 6)


@local_energy("mixed", over="pairs", x=X, q=CHARGE)
def mixed(x, q):
    """Charges that do not factor."""
    r = x[0] - x[1]
    return ti.sqrt(1.0 + q[0] * q[1] + r.dot(r))


@local_energy("kinked", over="pairs", x=X, q=CHARGE)
def kinked(x, q):
    """An energy with a kink."""
    return q[0] * q[1] * ti.max((x[0] - x[1]).norm() - 1.0, 0.0)


@local_energy("slanted", over="pairs", x=X, q=CHARGE)
def slanted(x, q):
    """An energy that depends on the direction."""
    r = x[0] - x[1]
    return q[0] * q[1] * (r[0] * r[0] + 2.0 * r[1] * r[1])


@pytest.mark.parametrize(
    ("energy", "message"),
    [
        (
            mixed,
            "mixed.far: needs an energy that is a sum of products a(i) b(j) K(r), got the operation 'sqrt'",
        ),
        (kinked, "kinked.far: needs an energy that is smooth in the distance, got the operation 'max'"),
        (slanted, "slanted.far: needs an energy that depends on positions by their distance alone, got"),
    ],
)
def test_other_energies_are_refused(energy, message):
    x, q = state(50)
    fields = Fields({"x": x, "q": q})
    with pytest.raises(EnergyError, match=re.escape(message)):
        Potential(fields, [bind(energy, fields, far=FAR)])


@local_energy("narrow", over="pairs", x=X, q=CHARGE)
def narrow(x, q):
    """An energy that depends on the direction, of short range."""
    r = x[0] - x[1]
    return q[0] * q[1] * ti.exp(-r[0] * r[0] - 2.0 * r[1] * r[1])


@local_energy("placed", over="pairs", x=X, q=CHARGE)
def placed(x, q):
    """An energy that depends on the place."""
    r = x[0] - x[1]
    return q[0] * q[1] * ti.exp(-r.dot(r)) * (1.0 + 0.1 * x[0].dot(x[1]))


@pytest.mark.parametrize("energy", [narrow, placed])
@pytest.mark.parametrize("where", ["from the origin", "beside one far outside", "without charge"])
def test_directions_are_tried_where_the_nodes_are(energy, where):
    """Not where an energy of short range is zero, nor with charges that are."""
    x, q = state(100)
    x, q = (x + 1e5, q) if where == "from the origin" else (x, q)
    if where == "beside one far outside":
        x[7] = [1e4, 0.0, 0.0]
    if where == "without charge":
        q = 0.0 * q
    fields = Fields({"x": x, "q": q})
    with pytest.raises(EnergyError, match="depends on positions by their distance alone, got"):
        Potential(fields, [bind(energy, fields, far=FAR)])


@local_energy("stirred", over="pairs", x=X, q=CHARGE, t=Time(), rate=Parameter("s^-1"))
def stirred(x, q, t, rate):
    """An energy that depends on the direction after the start."""
    r = x[0] - x[1]
    return q[0] * q[1] * ti.exp(-r.dot(r)) * (1.0 + 0.1 * ti.sin(rate * t) * (x[0][0] + x[1][0]))


@pytest.mark.parametrize("rate", [0.0, 1e-3])
def test_directions_are_tried_after_the_start(rate):
    x, q = state(100)
    fields = Fields({"x": x, "q": q})
    with pytest.raises(EnergyError, match="depends on positions by their distance alone, got"):
        Potential(fields, [bind(stirred, fields, parameters={"rate": rate}, far=FAR)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "far: needs an error or an opening_angle, got none"),
        ({"error": 1e-3, "opening_angle": 0.5}, "far: needs an error or an opening_angle, got both"),
        ({"error": 1e-9}, "far.error: must be from"),
        ({"opening_angle": 1.5}, "far.opening_angle: must be above 0"),
        ({"error": 1e-3, "order": 1}, "far.order: must be a whole number from 2 to 6, got 1; correct it"),
        ({"error": 1e-3, "order": 2.5}, "far.order: must be a whole number from 2 to 6, got 2.5"),
        ({"error": 1e-3, "skin": 2.0}, "far.skin: must be from 0 to 1"),
    ],
)
def test_numbers_out_of_range_are_refused(given, message):
    with pytest.raises(EnergyError, match=re.escape(message)):
        Far(**given)


def test_hessian_matrices_are_refused():
    with pytest.raises(EnergyError, match=r"attraction\.far: has no Hessian matrix"):
        potential("gravity", n=50).hessian("x")
