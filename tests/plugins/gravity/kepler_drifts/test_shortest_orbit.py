"""The shortest orbit at the start: Kepler's third law, the warning, and bad states of bodies."""

import numpy as np
import pytest

from minusgrad import Fields, Motion, Potential, bind, build
from minusgrad.app.cli import main
from minusgrad.errors import UserError
from minusgrad_gravity.gravity import gravity
from minusgrad_gravity.shortest_orbits import shortest_orbit as module
from minusgrad_gravity.shortest_orbits.shortest_orbit import shortest_orbit
from tests.support.command import SCENES
from tests.support.kepler import MASSES, orbit

MOTIONS = [Motion("x", "v", "m")]


def bodies(x, v, m, **parameters: float) -> Potential:
    fields = Fields({"x": np.array(x), "v": np.array(v), "m": np.array(m)})
    return Potential(fields, [bind(gravity, fields, parameters={"G": 1.0} | parameters)])


def test_kepler():
    """At any place of an ellipse with semi-major axis 1 and masses that sum to 1: 2 pi."""
    found = shortest_orbit(bodies(*orbit(1.7, 0.6), MASSES), MOTIONS)
    assert found is not None
    assert found.nodes == (0, 1)
    assert found.period == pytest.approx(2.0 * np.pi, rel=1e-12)


def test_the_shortest_of_several():
    """A binary that a third body is far from."""
    x = [[0.0, 0.0], [50.0, 0.0], [50.5, 0.0]]
    v = [[0.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    found = shortest_orbit(bodies(x, v, [1.0, 1.0, 1.0]), MOTIONS)
    assert found is not None
    assert found.nodes == (1, 2)
    assert found.period == pytest.approx(2.0 * np.pi * np.sqrt(0.5**3 / 2.0), rel=1e-12)


def test_none_of_a_hyperbola():
    pull = bodies([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 3.0]], [0.5, 0.5])
    assert shortest_orbit(pull, MOTIONS) is None


def turn(r: float, speed: float, softening: float) -> float:
    """The period of two bodies that move at right angles to their separation, with masses that sum to 1."""
    pull = bodies([[0.0, 0.0], [r, 0.0]], [[0.0, 0.0], [0.0, speed]], [0.5, 0.5], softening=softening)
    found = shortest_orbit(pull, MOTIONS)
    assert found is not None
    return found.period


@pytest.mark.parametrize("softening", [0.01, 0.5, 20.0])
def test_a_softened_circle(softening):
    rate = (1.0 + softening**2) ** -0.75
    assert turn(1.0, rate, softening) == pytest.approx(2.0 * np.pi / rate, rel=1e-9)


def test_a_softening_that_tends_to_zero():
    assert turn(1.0, 0.8, 1e-6) == pytest.approx(turn(1.0, 0.8, 0.0), rel=1e-9)


@pytest.mark.parametrize("speed", [0.0, 1e-5, 2e-4])
def test_far_within_the_softening_bodies_are_an_oscillator(speed):
    assert turn(1e-4, speed, 0.7) == pytest.approx(2.0 * np.pi * np.sqrt(0.7**3), rel=1e-6)


def test_of_many_bodies_neighbours_are_looked_at(monkeypatch):
    monkeypatch.setattr(module, "MOST", 1)
    found = shortest_orbit(bodies(*orbit(0.0), MASSES), MOTIONS)
    assert found is not None
    assert found.period == pytest.approx(2.0 * np.pi, rel=1e-12)


def test_a_softened_orbit_that_is_not_resolved_is_warned_of():
    change = {"energy.0.softening": 0.01, "stepper.dt": 1.5}
    (said,) = build(SCENES / "two_body.toml", change).remarks
    assert "has a period of 6.29, which is 4.2 steps" in said


def test_bodies_of_a_tree_are_looked_at():
    change = {"state.n": 1200, "energy.0.far": {"error": 1e-2}, "stepper.dt": 10.0}
    said = build(SCENES / "plummer.toml", change).remarks
    assert [r for r in said if "the shortest orbit at the start" in r]


@pytest.mark.parametrize("scene", ["plummer", "cold_collapse", "gravity_seed"])
def test_softened_scenes_are_not_warned_of(scene):
    assert not [r for r in build(SCENES / f"{scene}.toml").remarks if "shortest orbit" in r]


def test_a_step_that_does_not_resolve_it_is_warned_of():
    assert build(SCENES / "two_body.toml").remarks == []
    said = build(SCENES / "two_body.toml", {"stepper.dt": 0.5}).remarks
    assert said == [
        "dt = 0.5: the shortest orbit at the start, of nodes 0 and 1, has a period of 6.28, which is 13"
        " steps; take at least 20, or use gauss_radau"
    ]


@pytest.mark.parametrize("stepper", ["wisdom_holman", "gauss_radau"])
def test_steppers_that_need_no_such_step_are_not(stepper):
    assert build(SCENES / "two_body.toml", {"stepper.kind": stepper, "stepper.dt": 3.0}).remarks == []


# Bad states ---------------------------------------------------------------------------------------------


def complaint(tmp_path, capfd, second: str, *change: str) -> tuple[int, str]:
    """The exit code and the message of a run of the figure eight whose second body is this one."""
    (tmp_path / "data").mkdir()
    rows = (SCENES / "data/figure_eight.csv").read_text().splitlines()
    table = [f"b,1.0,{second}" if row.startswith("b,") else row for row in rows]
    (tmp_path / "data/figure_eight.csv").write_text("\n".join(table))
    (tmp_path / "eight.toml").write_text((SCENES / "figure_eight.toml").read_text())
    change = ("run.steps=5", *change)
    code = main(["run", str(tmp_path / "eight.toml"), *change, "--out", str(tmp_path / "run")])
    return code, capfd.readouterr().err


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_bodies_in_one_place_are_both_named_before_the_first_step(tmp_path, capfd):
    code, said = complaint(tmp_path, capfd, "0.0,0.0,0.1,0.2")
    assert code == 2
    assert (
        "step 0: the energy of term 'gravity' is -inf; term 'gravity', node 1: its force on 'x' is not"
        " finite; node 2 is in the same place, move one of them"
    ) in said


@pytest.mark.parametrize("number", ["nan", "inf", "1e400"])
def test_bodies_at_no_finite_place_are_refused(tmp_path, capfd, number):
    code, said = complaint(tmp_path, capfd, f"{number},0.0,0.1,0.2")
    assert code == 2
    assert f"data/figure_eight.csv:6: column 'x': needs a finite number, got '{number}'" in said


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("far", "precision", "most"), [("1e200", "f64", "1.8e+308"), ("-1e20", "f32", "3.4e+38")]
)
@pytest.mark.parametrize("tree", [[], ["energy.0.far={ error = 1e-3 }"]])
def test_bodies_whose_distances_overflow_are_refused(tmp_path, capfd, far, precision, most, tree):
    change = [f'runtime.precision="{precision}"', *tree]
    code, said = complaint(tmp_path, capfd, f"0.0,{far},0.1,0.2", *change)
    assert code == 2
    assert (
        f"the initial state: field 'x', node 1: has a coordinate {abs(float(far)):.3g}, whose square is"
        f" beyond the largest number of its precision, {most}; move it, or use a larger unit"
    ) in said


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("0.0,0.0,0.1,0.2", "node 2 is in the same place, move one of them"),
        ("1e200,0.0,0.1,0.2", "coordinate"),
    ],
)
def test_gauss_radau_refuses_the_same(tmp_path, capfd, second, said):
    code, text = complaint(tmp_path, capfd, second, 'stepper.kind="gauss_radau"')
    assert (code, said in text) == (2, True), text


def test_a_run_that_diverges_has_been_warned(tmp_path, capfd):
    code = main(["run", str(SCENES / "two_body.toml"), "stepper.dt=3.0", "--out", str(tmp_path / "run")])
    said = capfd.readouterr().err
    assert code == 5
    assert said.index("the shortest orbit at the start, of nodes 0 and 1") < said.index("has diverged")


def test_a_tolerance_below_rounding_is_refused():
    change = {"stepper.kind": "gauss_radau", "stepper.tolerance": 1e-14}
    with pytest.raises(UserError, match="needs a number of at least 1e-11, not 1e-14"):
        build(SCENES / "two_body.toml", change)
