"""Critical points of paths: limit points and bifurcations told apart, located, branches followed; slopes."""

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import EnergyError
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.minimisers.continuation.arc_length import ArcLength
from minusgrad.steppers.minimisers.continuation.limit_slopes import limit_slopes
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.unknowns import Unknown
from tests.support.snapping import advanced, arch_load, arch_path, followed, hinged_rods, strut_path

# Bifurcations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("branch", [0, 1, -1])
def test_a_strut_and_its_branches(branch: int) -> None:
    """A pitchfork: upright, or k q / sin q to the side that was asked for."""
    k, p = 1.3, 2.0
    path = strut_path(k, p, 0.1, branch=branch)
    seen = advanced(path)
    assert path.outcome == "converged"
    (point,) = path.points
    assert (point.kind, point.node) == ("bifurcation", 0)
    assert point.load == pytest.approx(k / p, abs=1e-12)
    aside = [(load, q[0]) for load, q in seen if q[0] != 0.0]
    assert bool(aside) == (branch != 0)
    for load, q in aside:
        assert np.sign(q) == branch
        assert load == pytest.approx(k * q / np.sin(q) / p, abs=1e-11)
    assert path.negative == (1 if branch == 0 else 0)


def test_the_branches_of_a_shallow_arch_are_an_ellipse() -> None:
    """e = 3 bifurcates before its limit point: N = 4, and q^2 + 4 r^2 = e^2 - 4 on the branch."""
    rise, full = 3.0, 12.0
    straight = arch_path(rise, full, 0.05)
    advanced(straight)
    q_at = {"bifurcation": np.sqrt(rise**2 - 4.0), "limit point": np.sqrt((rise**2 - 1.0) / 3.0)}
    for point, kind in zip(straight.points, ("bifurcation", "limit point"), strict=False):
        assert point.kind == kind
        assert full * point.load == pytest.approx(arch_load(rise, q_at[kind]), abs=1e-9)
    for side in (1, -1):
        path = arch_path(rise, full, 0.05, branch=side)
        seen = [(load, q, r) for load, (q, r) in advanced(path, 40) if abs(r) > 1e-6]
        assert len(seen) > 15
        for load, q, r in seen:
            assert np.sign(r) == side
            assert q * q + 4.0 * r * r == pytest.approx(rise**2 - 4.0, abs=1e-10)
            assert full * load == pytest.approx(rise + 3.0 * q, abs=1e-10)


def test_a_limit_point_and_a_bifurcation_in_one_step_are_told_apart() -> None:
    """e^2 = 5.5 + 0.01: both within a thousandth of the load; a step that holds both is divided."""
    rise = float(np.sqrt(5.51))
    full = 12.0
    path = arch_path(rise, full, 0.2)
    advanced(path)
    first, second = path.points[:2]
    assert [first.kind, second.kind] == ["bifurcation", "limit point"]
    assert full * first.load == pytest.approx(arch_load(rise, np.sqrt(rise**2 - 4.0)), abs=1e-8)
    assert full * second.load == pytest.approx(arch_load(rise, np.sqrt((rise**2 - 1.0) / 3.0)), abs=1e-9)
    assert 0.0 < second.load - first.load < 1e-5


@pytest.mark.parametrize("n", [4, 12])
def test_rods_on_springs_buckle_where_hencky_says(n: int) -> None:
    """Constraints: rigid rods. Loads 4 n^2 sin^2(k pi / 2 n), and the mode of a half wave."""
    loads = [4.0 * n * n * np.sin(k * np.pi / (2 * n)) ** 2 for k in (1, 2)]
    simulation = hinged_rods(n, 0.08, 1.2 * loads[1])
    followed(simulation)
    expected = np.array(loads) / (1.2 * loads[1])
    points = simulation.stepper.points
    assert [point.kind for point in points] == ["bifurcation", "bifurcation"]
    np.testing.assert_allclose([point.load for point in points], expected, rtol=1e-9)
    mode = simulation.stepper.equations.by_field(points[0].mode)["x"]
    half_wave = np.sin(np.pi * np.linspace(0.0, 1.0, n + 1))
    np.testing.assert_allclose(mode[:, 1] / mode[:, 1].max(), half_wave / half_wave.max(), atol=1e-6)
    assert points[0].node == n // 2
    assert simulation.stepper.negative == 2


@pytest.mark.parametrize("side", [1, -1])
def test_rods_on_springs_bend_aside_and_keep_their_lengths(side: int) -> None:
    n = 8
    simulation = hinged_rods(n, 0.1, 20.0, branch=side, longest=4.0)
    places = followed(simulation)
    x = places[-1]
    assert simulation.stepper.outcome == "converged"
    np.testing.assert_allclose(np.linalg.norm(np.diff(x, axis=0), axis=1), 1.0 / n, rtol=1e-13)
    assert side * x[n // 2, 1] > 0.3
    assert simulation.stepper.stable
    turn = np.arctan2(*np.diff(x, axis=0).T[::-1])
    moments = n * np.diff(turn)  # of the springs, by statics those of the load on its end
    np.testing.assert_allclose(moments, -20.0 * x[1:-1, 1], atol=1e-9)


def test_two_modes_at_once() -> None:
    """A strut in space, with equal springs both ways: the number of negative eigenvalues rises by two."""
    fields = Fields({"q": np.zeros((1, 2))}, {"q": "1"})
    potential = Potential(fields, [bind(round_strut, fields, parameters={"p": 2.0})])
    path = ArcLength(Newton(potential, [Unknown("q")]), Holds(fields), 0.1, ["round_strut.p"])
    advanced(path)
    (point,) = path.points
    assert (point.kind, point.count) == ("bifurcation", 2)
    assert point.load == pytest.approx(0.5, abs=1e-9)
    assert "(2 modes at once)" in next(event["text"] for event in path.events())


@local_energy("round_strut", over="nodes", q=Node("1", (2,)), p=Parameter("J", default=0.0))
def round_strut(q, p):
    """A strut on a ball joint, up to fourth order."""
    square = q[0].dot(q[0])
    return 0.5 * square - p * (0.5 * square - square * square / 24.0)


# How limit loads change with parameters -------------------------------------------------------------------

SPAN, RISE, SIDE = 1.0, 0.3, 0.02


def leaning(**changed: float) -> mg.Simulation:
    """Two bars of unequal stiffness, whose top is free to move aside."""
    p = {"k": 1000.0, "stiff": 1.3, "rest": float(np.hypot(SPAN, RISE)), "foot": SPAN, "side": 5.0} | changed
    x = np.array([[-SPAN, 0.0], [SIDE, RISE], [p["foot"], 0.0], [SIDE, RISE + 1.0]])
    rest = [float(np.hypot(SPAN + SIDE, RISE)), p["rest"]]
    return mg.Simulation(
        fields={"x": x, "m": np.ones(4)},
        bodies={"feet": [0, 2, 3], "top": [1]},
        energies=[
            mg.energy("spring", tuples=[[0, 1]], rest=rest[:1], stiffness=p["k"]),
            mg.energy("spring", name="other", tuples=[[1, 2]], rest=rest[1:], stiffness=p["k"] * p["stiff"]),
            mg.energy("spring", name="tie", tuples=[[1, 3]], rest=[1.0], stiffness=p["side"]),
            mg.energy("load", body="top", force=[1.0, -25.0]),
        ],
        holds=[{"body": "feet"}],
        stepper=mg.Newton(
            load_steps={"arc_length": 0.1, "slopes": ["spring.stiffness", "other.rest", "x", "load.force"]},
            loads=["load.force"],
        ),
    )


def limit_load(simulation: mg.Simulation) -> float:
    while not simulation.stepper.points and simulation.stepper.outcome is None:
        simulation.step(1)
    return simulation.stepper.points[0].load


WAYS = {
    "k": lambda slopes: slopes["spring.stiffness"] + 0.0,
    "rest": lambda slopes: slopes["other.rest"][0],
    "foot": lambda slopes: slopes["x"][2, 0],
}


@pytest.mark.parametrize("name", ["rest", "foot"])
def test_slopes_of_a_limit_load_are_those_of_differences(name: str) -> None:
    """Between limit loads that are located, at two step sizes: their errors are in the ratio of h^2."""
    start = leaning()
    limit_load(start)
    exact = float(WAYS[name](start.stepper.slopes[0]))
    value = {"rest": float(np.hypot(SPAN, RISE)), "foot": SPAN}[name]

    def difference(h: float) -> float:
        high, low = (limit_load(leaning(**{name: value + s * h})) for s in (1.0, -1.0))
        return (high - low) / (2.0 * h)

    coarse, fine = difference(2e-3), difference(1e-3)
    richardson = (4.0 * fine - coarse) / 3.0
    assert richardson == pytest.approx(exact, rel=1e-7)
    assert (coarse - exact) / (fine - exact) == pytest.approx(4.0, rel=1e-2)


def test_slopes_add_up() -> None:
    """A limit load is proportional to all stiffnesses, and the inverse of the load that is given."""
    start = leaning()
    load, slopes = limit_load(start), None
    slopes = limit_slopes(
        start.stepper.equations,
        start.stepper.points[0],
        ["spring.stiffness", "other.stiffness", "tie.stiffness", "load.force"],
        start.stepper.full_loads,
    )
    stiffness = {"spring": 1000.0, "other": 1300.0, "tie": 5.0}
    by_all = sum(k * float(np.sum(slopes[f"{name}.stiffness"])) for name, k in stiffness.items())
    assert by_all == pytest.approx(load, rel=1e-9)
    by_force = float(np.sum(slopes["load.force"].ravel() * np.array([1.0, -25.0])))
    assert by_force == pytest.approx(-load, rel=1e-9)


def with_a_rod(length: float) -> mg.Simulation:
    """Two bars, the left one a rod that keeps its length."""
    height = float(np.sqrt(length**2 - SPAN**2))
    x = np.array([[-SPAN, 0.0], [0.0, height], [SPAN, 0.0]])
    return mg.Simulation(
        fields={"x": x, "m": np.ones(3)},
        bodies={"feet": [0, 2], "top": [1]},
        energies=[
            mg.energy("spring", tuples=[[1, 2]], rest=[1.04], stiffness=1000.0),
            mg.energy("load", body="top", force=[0.0, -25.0]),
        ],
        constraints=[{"kind": "rod", "tuples": [[0, 1]], "length": [length]}],
        holds=[{"body": "feet"}],
        stepper=mg.Newton(
            load_steps={"arc_length": 0.1, "slopes": ["rod.length", "spring.stiffness"]}, loads=["load.force"]
        ),
    )


def test_slopes_by_a_constraint() -> None:
    """By the length of a rod, against differences of located limit loads; and by the only stiffness."""
    length = float(np.hypot(SPAN, RISE))
    start = with_a_rod(length)
    load = limit_load(start)
    slopes = start.stepper.slopes[0]
    assert 1000.0 * float(slopes["spring.stiffness"]) == pytest.approx(load, rel=1e-9)

    def difference(h: float) -> float:
        return (limit_load(with_a_rod(length + h)) - limit_load(with_a_rod(length - h))) / (2.0 * h)

    richardson = (4.0 * difference(5e-4) - difference(1e-3)) / 3.0
    assert richardson == pytest.approx(float(slopes["rod.length"][0]), rel=1e-7)


def test_a_bifurcation_has_no_slopes() -> None:
    path = strut_path(1.3, 2.0, 0.1)
    advanced(path)
    with pytest.raises(EnergyError, match="are those of a limit point, got a bifurcation"):
        limit_slopes(path.equations, path.points[0], ["strut.k"], path.full_loads)


def test_a_branch_goes_on_with_the_same_bits() -> None:
    """The state is saved on the bifurcation, where the direction is that of the mode."""
    whole, part, later = (arch_path(3.0, 12.0, 0.05, branch=1) for _ in range(3))
    while not part.fresh:
        part.advance(1)
    later.potential.fields["q"].set(part.potential.fields["q"].values)
    later.restore(part.state())
    whole.advance(part.step + 6)
    later.advance(6)
    assert whole.load == later.load
    assert whole.potential.fields["q"].values.tobytes() == later.potential.fields["q"].values.tobytes()
    assert later.passed == whole.passed
