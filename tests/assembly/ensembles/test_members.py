"""Members of an ensemble: ordinary scenes whose varied values are replaced, the same in any number."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.ensembles.members import Members
from minusgrad.assembly.validation import validate
from minusgrad.engine import memory
from minusgrad.errors import SceneError, UserError
from minusgrad.plugin import StateContext
from minusgrad.scene.document import load, read

ORBIT = """
plugins = ["gravity"]
units = { system = "dimensionless" }
runtime = { seed = 7 }
run = { steps = 10 }
stepper = { kind = "leapfrog", dt = 0.01 }

[state]
kind = "two_body"
masses = [0.75, 0.25]
semi_major_axis = 1.0
eccentricity = 0.3
G = 1.0

[[energy]]
kind = "gravity"
G = 1.0

[ensemble]
members = 16

[ensemble.vary]
"gravity.G" = { normal = [1.0, 0.01] }
"state.x" = { jitter = 1e-6 }
"""

NET = """
plugins = ["elastic"]
units = { system = "dimensionless" }
run = { steps = 10 }
stepper = { kind = "leapfrog", dt = 0.01 }

[state]
kind = "network"
nodes = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.5]]
springs = [[0, 1], [1, 2], [2, 3]]
mass = 1.0
bodies = { left = [0, 1], right = [2, 3] }

[[energy]]
kind = "spring"
stiffness = [1.0, 2.0, 3.0]

[[hold]]
name = "grip"
body = "left"
velocity = [0.1, 0.0]

[ensemble]
members = 5
"""


@pytest.fixture
def orbit(tmp_path: Path) -> Path:
    path = tmp_path / "orbit.toml"
    path.write_text(ORBIT)
    return path


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(NET)
    return path


def members(scene: Path, *overrides: str) -> Members:
    return Members(validate(load(scene, overrides)))


def only(scene: Path, key: str, how: str, *more: str) -> Members:
    """The members of a scene that varies one key."""
    return members(scene, f'ensemble.vary={{"{key}" = {how}}}', *more)


def refused(scene: Path, key: str, how: str, *more: str) -> str:
    """The message about one varied key, without its place and name."""
    with pytest.raises(SceneError) as caught:
        only(scene, key, how, *more)
    return str(caught.value).partition(f"ensemble.vary.{key}: ")[2] or str(caught.value)


def same_steps(found: Members, number: int) -> None:
    """A member alone takes the steps of the template that was given its values, bit for bit."""
    one = found.simulation(number)
    one.step(10)
    found.put(number)
    found.template.stepper.evaluate()
    found.template.step(10)
    for name in ("x", "v"):
        assert np.array_equal(one.fields[name].values, found.template.fields[name].values)


def test_members_are_the_same_alone_and_in_any_number(orbit: Path) -> None:
    some, alone = members(orbit), members(orbit, "ensemble.members=40", "ensemble.member=3")
    assert alone.initial("x").tobytes() == some.initial("x")[3].tobytes()
    assert alone.parameters["gravity.G"].tobytes() == some.parameters["gravity.G"][3].tobytes()
    assert len({row.tobytes() for row in some.initial("x")}) == 16
    assert (some.initial("m") == [0.75, 0.25]).all()
    assert some.seed(3) == alone.seed(3) != some.seed(4)
    same_steps(some, 3)
    one = alone.simulation(3)
    assert np.array_equal(one.fields["x"].values, some.initial("x")[3])
    assert one.potential.parameter("gravity.G") == some.parameters["gravity.G"][3]


def test_values_are_those_of_a_scene_in_which_they_are_written(orbit: Path) -> None:
    """States are made of each member's values, and jitter is added to what they make."""
    vary = '"state.eccentricity" = { grid = [0.0, 0.5] }, "state.masses.1" = { grid = [1, 2, 3] }'
    found = members(orbit, f'ensemble.vary={{{vary}, "state.v" = {{ jitter = 1e-3 }}}}', "ensemble.members=6")
    assert found.fields == ["x", "v", "m"]
    written = {"state.eccentricity": 0.5, "state.masses": [0.75, 3.0]}
    state = validate(load(orbit, [f"{k}={v}" for k, v in written.items()])).models[("state",)]
    made = state.make(StateContext(found.template.units, 7, orbit.parent))
    for name in ("x", "m"):
        assert np.array_equal(found.initial(name)[5], made.fields[name])
    moved = made.fields["v"] + found.points.values("state.v")[5]
    assert np.array_equal(found.initial("v")[5], moved)
    assert found.scene.state.values["masses"] == [0.75, 0.25]
    same_steps(found, 5)


def test_a_state_may_change_the_data_of_elements(net: Path) -> None:
    """The lengths at rest follow the nodes of each member."""
    found = only(net, "state.nodes.3", "{ list = [[3.0, 0.0], [4.0, 0.0], [5.0, 0.0], [6, 0], [7, 0]] }")
    assert found.parameters["spring.rest"].tolist() == [[1, 1, length] for length in (1, 2, 3, 4, 5)]
    assert found.fields == ["x"]
    same_steps(found, 2)


def test_only_the_nodes_and_elements_of_a_body_are_varied(net: Path) -> None:
    vary = '"state.v" = { uniform = [[1, 2], [2, 3]], body = "right" }'
    vary += ', "spring.stiffness" = { list = [5, 6, 7, 8, 9], body = "right" }'
    found = members(net, f"ensemble.vary={{{vary}}}")
    assert (found.initial("v")[:, :2] == 0.0).all()
    assert (found.initial("v")[:, 2:] > [1, 2]).all()
    assert (found.initial("v")[:, 2:] < [2, 3]).all()
    assert len(np.unique(found.initial("v")[:, 2:])) == 20
    assert found.parameters["spring.stiffness"].tolist() == [[1, 2, k] for k in (5, 6, 7, 8, 9)]
    same_steps(found, 4)


def test_a_value_that_other_bodies_share_is_refused(net: Path) -> None:
    text = NET.replace("right = [2, 3]", "right = [2, 3], every = [0, 1, 2, 3]")
    net.write_text(text.replace("[1.0, 2.0, 3.0]", "{ every = 1.0 }"))
    found = only(net, "spring.stiffness", '{ list = [5, 6, 7, 8, 9], body = "every" }')
    assert found.parameters["spring.stiffness"].tolist() == [[5], [6], [7], [8], [9]]
    assert refused(net, "spring.stiffness", '{ list = [5, 6, 7, 8, 9], body = "left" }') == (
        "body: needs values of elements of left alone, got 'spring.stiffness', which elements of other bodies"
        " share; leave it out"
    )


def test_members_without_varied_values_have_noise_of_their_own(net: Path) -> None:
    net.write_text(NET.replace('"leapfrog"', '"langevin", temperature = 1.0, friction = 1.0'))
    found, ends = members(net, "ensemble.members=2"), []
    for number in (0, 1):
        one = found.simulation(number)
        one.step(3)
        ends.append(one.fields["v"].values[2:].copy())
    assert not (ends[0] == ends[1]).any()


def test_data_and_numbers_of_holds_are_varied(net: Path) -> None:
    found = members(
        net,
        'ensemble.vary={"spring.rest" = { uniform = [0.5, 1] },'
        ' "grip.velocity" = { grid = [[1, 0], [2, 0]] }}',
        "ensemble.members=2",
    )
    assert found.parameters["spring.rest"].shape == (2, 3)
    assert found.parameters["grip.velocity"].tolist() == [[1, 0], [2, 0]]
    same_steps(found, 1)


def test_single_precision_is_rounded_once(orbit: Path) -> None:
    found = members(orbit, 'runtime.precision="f32"')
    double = members(orbit)
    assert found.initial("x").dtype == found.parameters["gravity.G"].dtype == np.float32
    assert np.array_equal(found.parameters["gravity.G"], double.parameters["gravity.G"].astype(np.float32))
    assert np.array_equal(found.simulation(2).fields["x"].values, found.initial("x")[2])


def test_the_seed_of_states_is_varied(orbit: Path) -> None:
    text = ORBIT.partition("[state]")[0]
    orbit.write_text(
        f'{text}[state]\nkind = "random_points"\nn = 3\nmass = 1.0\nside = 1.0\n[[energy]]\n'
        'kind = "gravity"\nG = 1.0\n[ensemble]\nmembers = 4\n'
    )
    found = only(orbit, "runtime.seed", "{ range = { from = 1, to = 4, step = 1 } }")
    for number, seed in enumerate((1, 2, 3, 4)):
        state = validate(load(orbit, [f"runtime.seed={seed}"])).models[("state",)]
        made = state.make(StateContext(found.template.units, seed, orbit.parent))
        assert np.array_equal(found.initial("x")[number], made.fields["x"])
    assert refused(orbit, "runtime.seed", "{ list = [1, 1.5, 2, 3] }").endswith(
        "needs a whole number of at least 0, got 1.5"
    )


def test_a_state_of_other_shapes_is_refused(orbit: Path) -> None:
    text = ORBIT.partition("[state]")[0]
    state = '[state]\nkind = "random_points"\nn = 3\nmass = 1.0\nside = 1.0\n[[energy]]\nkind = "gravity"'
    orbit.write_text(f"{text}{state}\nG = 1.0\n")
    found = refused(orbit, "state.n", "{ list = [3, 5] }")
    assert found == (
        "member 1, state.n = 5: makes a state with another shape of 'x', [5, 3] in place of [3, 3]; members"
        " differ in values of fields and data of elements alone"
    )


def test_a_table_is_an_input_file_of_the_run(orbit: Path) -> None:
    (orbit.parent / "points.csv").write_text("gravity.G\n1.0\n2.0\n")
    found = only(orbit, "gravity.G", '{ table = "points.csv" }', "ensemble.members=2")
    assert found.parameters["gravity.G"].tolist() == [1, 2]
    for simulation in (found.template, found.simulation(1)):
        assert simulation.start_files == {"points.csv": b"gravity.G\n1.0\n2.0\n"}


@pytest.mark.parametrize(
    ("key", "how", "message"),
    [
        (
            "gravity.g",
            "{ uniform = [0, 1] }",
            "gravity: no parameter or datum named 'g'; did you mean 'G'? (there are: G, softening)",
        ),
        (
            "gravty.G",
            "{ uniform = [0, 1] }",
            "no term named 'gravty'; did you mean 'gravity'? (there are: gravity); initial fields are"
            " 'state.FIELD'",
        ),
        (
            "x",
            "{ jitter = 1 }",
            "needs a key of two parts, got 'x'; write 'state.x'",
        ),
        (
            "state.eccentrcity",
            "{ uniform = [0, 1] }",
            "no initial field or key of [state] named 'eccentrcity'; did you mean 'eccentricity'? (there are:"
            " x, v, m, masses, semi_major_axis, eccentricity, G, sides)",
        ),
        ("state.masses.2", "{ uniform = [0, 1] }", "no key of masses named '2' (there are: 0, 1)"),
        (
            "state.kind",
            "{ list = [1] }",
            "no initial field or key of [state] named 'kind' (there are: x, v, m, masses, semi_major_axis,"
            " eccentricity, G, sides)",
        ),
        ("state.G.x", "{ list = [1] }", "no key of G named 'x' (there are: none)"),
        (
            "state.masses",
            "{ list = [1, 2, [1, 2, 3]] }",
            "needs values of shape [2] or one number, got [3]; reshape it",
        ),
        (
            "stepper.dt",
            "{ uniform = [0, 1] }",
            "members share [stepper], got 'stepper.dt'; sweep it (`minusgrad sweep`), or vary a parameter of"
            " a term, an initial field or a key of [state]",
        ),
        ("gravity.G", "{ uniform = [-2, -1] }", "member 0: gravity.G: -1.06786 is not within [0, inf]"),
        (
            "gravity.softening",
            "{ list = [0.1, 0.2, -0.3] }",
            "member 2: gravity.softening: -0.3 is not within [0, inf]",
        ),
        (
            "state.eccentricity",
            "{ list = [0.1, 1.2, 0.3] }",
            "member 1, state.eccentricity = 1.2: state.eccentricity: needs a number of at least 0 and below"
            " 1, not 1.2",
        ),
        (
            "state.x",
            "{ list = [1, 2, [[[1]]]] }",
            "needs values of shape [2, 2], [2] or one number, got [1, 1, 1]; reshape it",
        ),
        (
            "state.m",
            "{ list = [1, 0, 2] }",
            "member 1: 'x' moves with inertia 0 at node 0: it has no acceleration that an energy could"
            " give; give it a positive one, such as 1e-20 of the largest for a body that moves no other, and"
            " hold nodes that should stay ([[hold]])",
        ),
        ("state.x", '{ jitter = 1, body = "a" }', "no body named 'a' (there are: none)"),
        (
            "gravity.G",
            '{ list = [1, 2, 3], body = "a" }',
            "body: needs a value for each body or element, got one for all; give the block a value for each"
            " body, as in k = { left = 1.0, right = 2.0 }, or leave it out",
        ),
        (
            "gravity.G",
            '{ table = "none.csv" }',
            "cannot read 'none.csv' (No such file or directory); paths start at the scene's folder",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_key(orbit: Path, key: str, how: str, message: str) -> None:
    assert refused(orbit, key, how, "ensemble.members=3") == message


def test_a_value_beyond_the_precision_names_its_member(orbit: Path) -> None:
    found = refused(orbit, "state.x", "{ list = [1, 1e39] }", 'runtime.precision="f32"', "ensemble.members=2")
    assert found == "member 1: needs finite numbers, got infinity or NaN"


def test_more_members_than_fit_into_memory_are_refused_before_they_are_drawn(
    orbit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free", lambda: memory.Free(10**7))
    with pytest.raises(SceneError) as caught:
        members(orbit, "ensemble.members=1000000000000")
    # x, v and m of 2 bodies, and the points of G and x, 4 times 8 bytes each
    fits = 10**7 // (4 * 8 * (4 + 4 + 2 + 1 + 4))
    message = str(caught.value).partition("ensemble: ")[2]
    assert message == (
        f"1,000,000,000,000 members: 480 TB of memory needed, 10 MB free; {fits:,} fit; run fewer, or one"
        " with --member"
    )
    assert len(members(orbit, f"ensemble.members={fits}")) == fits


def test_a_member_that_does_not_exist_is_refused(orbit: Path) -> None:
    with pytest.raises(SceneError, match="member: needs a number from 0 to 15, got 16; there are 16 members"):
        members(orbit, "ensemble.member=16")
    with pytest.raises(UserError, match="member: no member 16, there are 0 to 15; give one of them"):
        members(orbit).put(16)
    with pytest.raises(UserError, match="member: no member 2, there are only 3; give one of them"):
        members(orbit, "ensemble.member=3").put(2)
    orbit.write_text(ORBIT.partition("[ensemble]")[0])
    with pytest.raises(UserError, match=r"has no \[ensemble\]; add one, or leave the member out"):
        members(orbit)
    with pytest.raises(SceneError, match="needs a number of `members`, or keys in"):
        read(orbit, ["ensemble.member=3"])
