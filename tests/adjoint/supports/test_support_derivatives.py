"""Derivatives by the numbers of holds, against differences of sixth order and against each other."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from minusgrad import Datum, Fields, Hold, Node, Parameter, Potential, Rotation, bind, local_energy
from minusgrad.adjoint.equilibria.equilibrium import Equilibrium
from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.supports.support_derivatives import SupportDerivatives
from minusgrad.energies.misfit import misfit
from minusgrad.errors import EnergyError
from minusgrad.plugin import Constraints
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.implicit.gradient_flow import GradientFlow
from minusgrad.steppers.minimisers.constrained_newton import ConstrainedNewton
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.stepper import DifferentiableStepper
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.rods import rod
from tests.support.held_motions import DT, NUMBERS, STEPS, difference, judged, swung
from tests.support.implicit_runs import KINDS, swing
from tests.support.tiers import sampled

Made = Callable[[], Rollout]
EXPLICIT = [("leapfrog", True), ("leapfrog", False), ("yoshida4", True), ("symplectic_euler", False)]


def assert_differences(run: Rollout, names: tuple[str, ...] = NUMBERS, bound: float = 1e-8) -> None:
    """The gradient by each number is that of differences."""
    _, found = run.evaluate(names)
    for seed, name in enumerate(names):
        direction = np.random.default_rng(seed).normal(size=found[name].shape)
        expected = difference(run, name, direction)
        assert abs(expected) > 1e-3
        assert float((found[name] * direction).sum()) == pytest.approx(expected, rel=bound), name


def assert_tangents(run: Rollout, names: tuple[str, ...]) -> None:
    """The Gauss-Newton matrix of the misfits is J' J / sigma^2, with the states' differences J."""
    one = run.stepper
    shapes = {n: np.shape(values) for n, values in run.evaluate(names)[1].items()}
    rng = np.random.default_rng(4)
    directions = [{n: rng.normal(size=s) for n, s in shapes.items()} for _ in range(2)]

    def states(direction: dict[str, np.ndarray], part: float) -> np.ndarray:
        shift(one, direction, part)
        with run._from_here():
            found = []
            for stop in run.observed:
                one.advance(stop - one.step)
                found += [one.potential.fields[n].values.ravel().copy() for n in "xv"]
        shift(one, direction, -part)
        return np.concatenate(found)

    h = 2e-3
    rows = [
        sum(c * (states(d, k * h) - states(d, -k * h)) for k, c in ((1, 45.0), (2, -9.0), (3, 1.0)))
        / (60.0 * h)
        for d in directions
    ]
    np.testing.assert_allclose(run.curvature(directions), np.array(rows) @ np.array(rows).T / 0.49, rtol=1e-8)


def shift(one: DifferentiableStepper, direction: dict[str, np.ndarray], part: float) -> None:
    """Change numbers of holds and parameters of the potential by a part of a direction."""
    for name, d in direction.items():
        owner = one.holds.numbers if name in one.holds.numbers else one.potential
        owner.set_parameter(name, owner.parameter(name) + part * d)


@pytest.mark.parametrize("damped", sampled([True, False], [True]))
@pytest.mark.parametrize("kind", sampled(KINDS, ["newmark"]))
def test_gradient_of_implicit_runs(kind: str, damped: bool) -> None:
    assert_differences(judged(swing(kind, DT, damped)))


@pytest.mark.parametrize("row", sampled(EXPLICIT, EXPLICIT[:1]), ids=str)
def test_gradient_of_explicit_runs(row: tuple[str, bool], launches: str) -> None:
    run = judged(swung(*row))
    assert_differences(run)
    (back,) = run._adjoints.values()
    assert run.stepper.fused == (back._many is not None) == (launches == "fused")


def test_gradient_by_jumps_at_the_start() -> None:
    """Without a duration displacement and angle are there at once; the rotation goes on from it."""
    assert_differences(judged(swung("leapfrog", at_once=True)))


def test_single_precision_is_near_double() -> None:
    one, two = (judged(swung("leapfrog", precision=p)).evaluate(NUMBERS)[1] for p in ("f32", "f64"))
    for name in NUMBERS:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-4)


def test_gradient_within_a_small_budget() -> None:
    whole, small = judged(swing("bdf2", DT)), judged(swing("bdf2", DT), 2700)
    assert small.plan.again > 0
    one, two = (run.evaluate(NUMBERS)[1] for run in (whole, small))
    assert all(np.array_equal(one[name], two[name]) for name in NUMBERS)


@pytest.mark.parametrize("kind", sampled(KINDS, ["newmark"]))
def test_tangents_of_implicit_runs(kind: str) -> None:
    assert_tangents(judged(swing(kind, DT)), (*NUMBERS, "stiffening.k"))


@pytest.mark.long
@pytest.mark.parametrize("row", EXPLICIT, ids=str)
def test_tangents_of_explicit_runs(row: tuple[str, bool], launches: str) -> None:
    assert_tangents(judged(swung(*row)), (*NUMBERS, "stiffening.k"))


def test_places_are_those_of_the_holds() -> None:
    """P has the places and the velocities of `Holds.place` as derivatives."""
    one = swung("leapfrog")
    fields, held = one.potential.fields, one.holds.held["x"]
    supports = SupportDerivatives(one.holds, NUMBERS)
    rng = np.random.default_rng(0)
    direction = {n: rng.normal(size=one.holds.numbers.shape(n)) for n in NUMBERS}
    for t in (0.0, 0.4, 1.7, 2.9):
        supports.start(direction)
        moved, h = supports.moved(t), 1e-3
        for name in "xv":
            found = np.zeros(fields[name].shape)
            for k, c in ((1, 45.0), (2, -9.0), (3, 1.0)):
                for sign in (1.0, -1.0):
                    shift(one, direction, sign * k * h)
                    one.holds.place(t)
                    found += sign * c / (60.0 * h) * fields[name].values
                    shift(one, direction, -sign * k * h)
            np.testing.assert_allclose(moved[name][held.all], found[held.all], atol=1e-10)


# Flows and equilibria ---------------------------------------------------------------------------------


@local_energy("slab", over=2, T=Node("K"), k=Parameter())
def slab(T, k):
    """Conduction that grows with temperature."""
    d, mean = T[0] - T[1], T[0] + T[1]
    return 0.5 * k * d * d * (1.0 + 0.1 * mean)


@pytest.mark.parametrize("scheme", sampled(["implicit_euler", "crank_nicolson", "bdf2"], ["crank_nicolson"]))
def test_gradient_of_gradient_flows(scheme: str) -> None:
    """The ends of a slab are heated, at once and at a rate."""
    fields = Fields({"T": np.linspace(1.0, 2.0, 6)})
    holds = Holds(
        fields,
        [
            Hold("hot", "T", np.array([0]), displacement=(0.5,), duration=0.4, velocity=(0.7,)),
            Hold("cold", "T", np.array([5]), displacement=(-0.2,)),
        ],
    )
    chain = [[k, k + 1] for k in range(5)]
    potential = Potential(fields, [bind(slab, fields, tuples=chain, parameters={"k": 1.3})])
    one = GradientFlow(System(potential, holds=holds), {"T": 1.0}, DT, scheme)
    term = bind(misfit(fields["T"]), fields, name="seen", renamed={"x": "T"}, data={"target": np.ones(6)})
    run = Rollout(one, [Loss(Potential(fields, [term]), (0, 2, STEPS))], STEPS)
    names = ("hot.displacement", "hot.velocity", "cold.displacement")
    assert_differences(run, names)
    directions = [{name: np.ones(1)} for name in names]
    matrix, h = run.curvature(directions), 1e-3
    numbers, rows = one.holds.numbers, []
    for name in names:
        row, base = np.zeros((3, 6)), numbers.parameter(name)
        for k, c in ((1, 45.0), (2, -9.0), (3, 1.0)):
            for sign in (1.0, -1.0):
                numbers.set_parameter(name, base + sign * k * h)
                with run._from_here():
                    for at, stop in enumerate(run.observed):
                        one.advance(stop - one.step)
                        row[at] += sign * c / (60.0 * h) * fields["T"].values
        numbers.set_parameter(name, base)
        rows.append(row.ravel())
    np.testing.assert_allclose(matrix, np.array(rows) @ np.array(rows).T, rtol=1e-8)


@local_energy("strut", over=2, x=Node("m", ("d",)), k=Parameter(), rest=Datum())
def strut(x, k, rest):
    """A spring that hardens."""
    s = (x[0] - x[1]).norm() - rest
    return 0.5 * k * s * s * (1.0 + 0.3 * s * s)


def spanned(rigid: Sequence[int] = ()) -> Equilibrium:
    """A truss between a support that turns by an angle and one that is displaced; rigid: rods."""
    points = np.array([[0.0, 0.0], [1.0, 0.1], [2.1, 0.0], [0.4, 1.0], [1.6, 0.9], [1.0, 1.9]])
    bars = [[0, 1], [1, 2], [0, 3], [1, 3], [1, 4], [2, 4], [3, 4], [3, 5], [4, 5]]
    fields = Fields({"x": points})
    rest = np.full(len(bars), 0.9)
    potential = Potential(
        fields, [bind(strut, fields, tuples=bars, parameters={"k": 2.0}, data={"rest": rest})]
    )
    holds = Holds(
        fields,
        [
            Hold("grip", "x", np.array([0, 3]), rotation=Rotation((0.0, 0.0), angle=0.3), duration=2.0),
            Hold("end", "x", np.array([2]), displacement=(0.2, -0.1)),
        ],
    )
    kind, kept = Newton, {}
    if rigid:
        lengths = {
            "length": np.linalg.norm(np.diff(points[np.array(bars)[list(rigid)]], axis=1)[:, 0], axis=1)
        }
        rods = bind(rod, fields, tuples=np.array(bars)[list(rigid)], data=lengths)
        kind, kept = ConstrainedNewton, {"constraints": Constraints(fields, [rods], {"rod"})}
    system = System(potential, holds=holds, **kept)
    search = kind(system, [Unknown("x")], Tolerances(force=1e-13), t=1.1)
    term = bind(
        misfit(fields["x"]), fields, name="seen", renamed={"x": "x"}, data={"target": np.ones((6, 2))}
    )
    return Equilibrium(search, [Loss(Potential(fields, [term]), (0,))], 60)


@pytest.mark.parametrize("rigid", [(), (5, 7)], ids=["springs", "rods"])
def test_gradient_of_equilibria(rigid: tuple[int, ...]) -> None:
    one = spanned(rigid)
    numbers, names = one.holds.numbers, ["grip.angle", "end.displacement", "strut.k"]
    _, found = one.evaluate(names)
    ways = [{"grip.angle": np.array(1.0)}, {"end.displacement": np.array([1.0, 0.0])}]
    exact = np.zeros((2, 12))
    for k, way in enumerate(ways):
        ((name, d),) = way.items()
        base, h, expected = numbers.parameter(name), 2e-3, 0.0
        for part, c in ((1, 45.0), (2, -9.0), (3, 1.0)):
            for sign in (1.0, -1.0):
                numbers.set_parameter(name, base + sign * part * h * d)
                expected += sign * c / (60.0 * h) * one.value()
                exact[k] += sign * c / (60.0 * h) * one.potential.fields["x"].values.ravel()
        numbers.set_parameter(name, base)
        assert float((found[name] * d).sum()) == pytest.approx(expected, rel=1e-8)
    np.testing.assert_allclose(one.curvature(ways), exact @ exact.T, rtol=1e-8)


def test_places_and_numbers_of_one_support_are_refused_together() -> None:
    text = r"^'x' and 'grip\.angle': both move the same supports; ask for one of them$"
    with pytest.raises(EnergyError, match=text):
        spanned().evaluate(["x", "grip.angle"])


# Names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "turning.centre",
            r"^hold 'turning': has no derivative by its centre, got 'turning\.centre'; its numbers are",
        ),
        ("pushed.duration", r"hold 'pushed': has no derivative by its duration, .* displacement, velocity"),
        (
            "pushed.angle",
            r"hold 'pushed': has no angle, or none that acts in time, got 'pushed\.angle'; its numbers",
        ),
        (
            "pusht.velocity",
            r"no derivative with respect to 'pusht\.velocity'; did you mean 'pushed\.velocity'",
        ),
    ],
)
def test_numbers_that_a_hold_does_not_have(name: str, text: str) -> None:
    with pytest.raises(EnergyError, match=text):
        judged(swung("leapfrog")).evaluate([name])


def test_numbers_are_checked_where_they_are_set() -> None:
    numbers = swung("leapfrog").holds.numbers
    with pytest.raises(EnergyError, match=r"'pushed\.velocity': needs shape \[2\], got \[3\]; reshape it"):
        numbers.set_parameter("pushed.velocity", np.ones(3))
    with pytest.raises(EnergyError, match=r"'turning\.angle': needs finite numbers, got infinity or NaN"):
        numbers.set_parameter("turning.angle", np.array(np.nan))
    still = Fields({"x": np.zeros((2, 1))})
    at_rest = Holds(still, [Hold("wall", "x", np.array([0]), velocity=(0.0,))])
    with pytest.raises(
        EnergyError, match="its supports are at rest, and cannot be given a velocity afterwards"
    ):
        at_rest.numbers.set_parameter("wall.velocity", np.ones(1))


def test_a_stepper_notices_that_a_number_was_set() -> None:
    """The present places follow before the next step."""
    one, other = swung("leapfrog"), swung("leapfrog")
    one.advance(3)
    one.holds.numbers.set_parameter("pushed.displacement", np.array([0.5, 0.1]))
    one.advance(1)
    other.holds.numbers.set_parameter("pushed.displacement", np.array([0.5, 0.1]))
    other.advance(4)
    places = [some.potential.fields["x"].values[3] for some in (one, other)]
    assert np.array_equal(*places)
    assert not np.array_equal(one.potential.fields["x"].values[:2], other.potential.fields["x"].values[:2])
