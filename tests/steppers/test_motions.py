"""Motions of an integrator: each field moves once, and no energy reads a velocity, whatever way it takes."""

import numpy as np
import pytest

from minusgrad import Datum, Fields, Motion, Node, Parameter, Potential, bind, local_energy, local_map
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.errors import EnergyError, SceneError
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System

X, V = Node("m", ("d",)), Node("m s^-1", ("d",))
CURE = (
    "and a force is -dU/dx alone; write friction as a [[dissipation]], and a magnetic force as [[magnetic]]"
)


@local_energy("lorentz", over="nodes", x=X, v=V, qB=Parameter("C T"))
def lorentz(x, v, qB):
    """-q v.A, A = B (-y, x) / 2: a Lagrangian's term, which is no energy of a force -dU/dx."""
    return -0.5 * qB * (x[0][0] * v[0][1] - x[0][1] * v[0][0])


@local_energy("well", over="nodes", x=X, k=Parameter("N/m"))
def well(x, k):
    """A harmonic well."""
    return 0.5 * k * x[0].dot(x[0])


@local_map("speed", gives="s", over="nodes", v=V)
def speed(v):
    """|v|^2 of a node."""
    return v[0].dot(v[0])


@local_map("twice", gives="s2", over="nodes", s=Node())
def twice(s):
    """A map of a map."""
    return 2.0 * s[0]


@local_energy("fast", over="nodes", s2=Node(), x=X, c=Parameter("J"))
def fast(s2, x, c):
    """An energy that reads velocities through two maps."""
    return c * s2[0] * x[0][0]


@local_energy("aimed_speed", over="nodes", s=Node(), aim=Datum())
def aimed_speed(s, aim):
    """A misfit of squared speeds."""
    return 0.5 * (s[0] - aim) ** 2


@local_energy("aimed", over="nodes", v=V, aim=Datum("m s^-1", ("d",)))
def aimed(v, aim):
    """A misfit of velocities."""
    r = v[0] - aim
    return 0.5 * r.dot(r)


def particle() -> Fields:
    return Fields({"x": [[0.3, -0.2]], "v": [[0.1, 0.9]], "m": [1.5]}, {"x": "m", "v": "m s^-1", "m": "kg"})


def integrator(potential: Potential, *motions: Motion) -> Integrator:
    return Integrator(System(potential, motions or [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 0.01)


def test_an_energy_of_the_velocity_is_refused():
    """It ran: a perfect circle of twice the radius, in twice the period."""
    fields = particle()
    with pytest.raises(EnergyError) as refused:
        integrator(Potential(fields, [bind(well, fields, parameters={"k": 1.0}), bind(lorentz, fields,
                   name="field", parameters={"qB": 1.0})]))  # fmt: skip
    assert str(refused.value) == f"energy 'field': reads the velocity 'v', {CURE}"


def test_the_momentum_of_a_lattice_is_a_velocity_too():
    fields = Fields({"x": [[1.0, 0.0]], "p": [[0.0, 1.0]]})
    term = bind(lorentz, fields, renamed={"v": "p"}, parameters={"qB": 1.0})
    with pytest.raises(EnergyError, match="energy 'lorentz': reads the velocity 'p',"):
        integrator(Potential(fields, [term]), Motion("x", "p"))


def test_an_energy_of_the_velocity_through_maps_is_refused():
    fields = particle()
    maps = [bind(speed, fields), bind(twice, fields)]
    with pytest.raises(EnergyError) as refused:
        integrator(Potential(fields, [bind(fast, fields, parameters={"c": 1.0})], maps))
    way = "reads the velocity 'v' through the map 'speed' through the map 'twice'"
    assert str(refused.value) == f"energy 'fast': {way}, {CURE}"


def losses(kind: str) -> tuple[Integrator, Loss]:
    """A run, and a loss of its velocities: itself, or through a map that the run has."""
    fields = particle()
    if kind == "direct":
        loss = Potential(fields, [bind(aimed, fields, data={"aim": np.array([[0.2, 0.5]])})])
        return integrator(Potential(fields, [bind(well, fields, parameters={"k": 2.0})])), Loss(loss, (5, 9))
    shared = bind(speed, fields)
    loss = Potential(fields, [bind(aimed_speed, fields, data={"aim": np.array([0.4])})], [shared])
    return integrator(Potential(fields, [bind(well, fields, parameters={"k": 2.0})], [shared])), Loss(
        loss, (5, 9)
    )


@pytest.mark.parametrize("kind", ["direct", "through a map of the run"])
def test_a_loss_may_read_velocities(kind):
    """A loss is no force; its gradient by the start is that of differences."""
    one, loss = losses(kind)
    rollout, fields = Rollout(one, [loss], 9), one.potential.fields
    _, slopes = rollout.evaluate(["x", "v", "well.k"])
    for name in ("x", "v"):
        start, slope = fields[name].values.copy(), np.zeros((1, 2))
        for k in range(2):
            sides = []
            for sign in (1.0, -1.0):
                moved = start.copy()
                moved[0, k] += sign * 1e-5
                fields[name].set(moved)
                sides.append(rollout.value())
            slope[0, k] = (sides[0] - sides[1]) / 2e-5
        fields[name].set(start)
        assert np.abs(slope).max() > 1e-2
        np.testing.assert_allclose(slopes[name], slope, rtol=1e-8, atol=1e-9)


def test_a_minimiser_may_read_velocities():
    """Of a search, a field of velocities is one like any other."""
    fields = particle()
    potential = Potential(fields, [bind(aimed, fields, data={"aim": np.array([[0.2, 0.5]])})])
    search = LBFGS(potential, [Unknown("v")])
    search.advance(50)
    np.testing.assert_allclose(fields["v"].values, [[0.2, 0.5]], atol=1e-8)


@pytest.mark.parametrize(
    ("motions", "message"),
    [
        (
            [Motion("x", "v"), Motion("x", "w")],
            "motions: 'x' is moved 2 times; give each motion a position and a velocity of its own",
        ),
        (
            [Motion("x", "v"), Motion("y", "v")],
            "motions: 'v' is moved 2 times; give each motion a position and a velocity of its own",
        ),
        (
            [Motion("x", "x")],
            "motions: 'x' is moved 2 times; give each motion a position and a velocity of its own",
        ),
        (
            [Motion("x", "v", "y"), Motion("y", "w")],
            "motions: the inertia 'y' is itself moved, and the kinetic energy has no such force; use a field"
            " that stays",
        ),
    ],
)
def test_fields_that_motions_share_are_refused(motions, message):
    """They ran: a field drifted twice a step, or had a mass that changed without a force."""
    fields = Fields({name: [1.0, 2.0] for name in "xvyw"})

    @local_energy("spring_of_numbers", over="nodes", x=Node(), k=Parameter())
    def spring_of_numbers(x, k):
        """A harmonic well of numbers."""
        return 0.5 * k * x[0] * x[0]

    potential = Potential(fields, [bind(spring_of_numbers, fields, parameters={"k": 1.0})])
    with pytest.raises(EnergyError) as refused:
        integrator(potential, *motions)
    assert str(refused.value) == message


SCENE = """
plugins = []
[units]
system = "dimensionless"
[state]
kind = "one"
[[energy]]
kind = "well"
k = 1.0
[[energy]]
kind = "lorentz"
qB = 1.0
[stepper]
kind = "leapfrog"
dt = 0.01
[run]
steps = 3
"""
PLUGIN = '''
import numpy as np
from minusgrad.plugin import Motion, Record, State, hookimpl
from tests.steppers.test_motions import lorentz, well

class One(Record):
    """One charged particle."""
    def make(self, context):
        return State(fields={"x": np.array([[1.0, 0.0]]), "v": np.array([[0.0, 1.0]])},
                     units={"x": "m", "v": "m s^-1"}, motions=(Motion("x", "v"),))

@hookimpl
def register_states():
    return {"one": One}

@hookimpl
def register_energies():
    return [lorentz, well]
'''


def test_a_scene_names_the_block(tmp_path):
    from minusgrad import build

    (tmp_path / "one.py").write_text(PLUGIN)
    (tmp_path / "one.toml").write_text(SCENE)
    with pytest.raises(SceneError) as refused:
        build(tmp_path / "one.toml", plugins=[tmp_path / "one.py"])
    (problem,) = refused.value.problems
    assert (problem.line, problem.key) == (10, "energy.1")
    assert problem.message == f"energy 'lorentz': reads the velocity 'v', {CURE}"
