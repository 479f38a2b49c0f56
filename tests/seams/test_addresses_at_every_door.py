"""One address for a parameter: the same name at every door, and one message for a name that there is not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.app.run_options import RunOptions
from minusgrad.app.runs import build
from minusgrad.assembly.building.named_arguments import owner_of
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.errors import SceneError, UserError
from minusgrad.scene.addresses import SYSTEM
from minusgrad.scene.document import MANY, SKELETON_KEYS, load, of_text
from minusgrad.sweeps.plan import plan_points
from minusgrad.sweeps.sweep_file import read_sweep
from tests.support.command import files

SCENE = """\
plugins = ["elastic", "gravity"]

[units]
system = "dimensionless"

[state]
kind = "network"
nodes = [[0.0, 0.0], [1.0, 0.2], [2.0, -0.1], [3.0, 0.0]]
springs = [[0, 1], [1, 2], [2, 3]]
mass = 1.0
bodies = { left = [0], right = [3] }

[[energy]]
kind = "gravity"
G = 0.01

[[energy]]
kind = "spring"
name = "bond"
stiffness = [30.0, 31.0, 32.0]

[[dissipation]]
kind = "mass_damping"
rate = 0.1

[[constraint]]
kind = "rod"
tuples = [[1, 2]]
length = [1.0440306508910551]

[[hold]]
name = "grip"
body = "right"
displacement = [0.1, 0.05]
duration = 0.3

[[hold]]
body = "left"
rotation = { centre = [-0.5, 0.0], angle = 0.1 }
duration = 0.2

[stepper]
kind = "leapfrog"
dt = 0.02

[run]
steps = 8

[[observe]]
kind = "frames"
every = 4

[fit]
method = "lbfgs"
iterations = 3

[fit.parameters.v]

[[fit.loss]]
kind = "gravity"
name = "pull"
G = 1.0
"""
"""A net with parts of five sections, by their name or kind."""

ADDRESSES: dict[str, tuple[str, Any]] = {
    "gravity.G": ("energy.0.G", 0.02),  # a number of a kind
    "bond.stiffness": (
        "energy.1.stiffness",
        [3.0, 4.0, 5.0],
    ),  # a part with a name; one number for each element
    "mass_damping.rate": ("dissipation.0.rate", 0.3),  # another section
    "grip.displacement": ("hold.0.displacement", [0.2, 0.1]),  # a hold
    "left.angle": ("hold.1.rotation.angle", 0.2),  # by the body's name, in a table of the hold's
}
"""What each address means in the scene, and a value."""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(SCENE)
    return path


def value_in(simulation: Any, address: str) -> Any:
    """The values of an argument of a built scene."""
    return owner_of(simulation, address).parameter(address).tolist()


def by_command_line(scene: Path, address: str, value: Any) -> Any:
    return value_in(build(scene, [f"{address}={value}"]), address)


def by_python(scene: Path, address: str, value: Any) -> Any:
    return value_in(build(scene, {address: value}), address)


def by_sweep(scene: Path, address: str, value: Any) -> Any:
    plan = plan_points(scene, (), (), read_sweep({"vary": {address: {"list": [value]}}}))
    return value_in(build(scene, plan.points[0]), address)


def by_member(scene: Path, address: str, value: Any) -> Any:
    table = {"members": 2, "vary": {address: {"list": [value, value]}}, "member": 1}
    simulation = build(scene, {"ensemble": table})
    return value_in(simulation, address)


def by_fit(scene: Path, address: str, value: Any) -> Any:
    fit = ParameterFit(RunOptions(scene, {"fit.parameters": {address: {"start": value}}}).validated())
    (parameter,) = fit.parameters.listed
    assert parameter.name == address
    return np.asarray(parameter.start).tolist()


def by_handle(scene: Path, address: str, value: Any) -> Any:
    simulation = build(scene)
    owner_of(simulation, address).set_parameter(address, value)
    return value_in(simulation, address)


def by_tensor(scene: Path, address: str, value: Any) -> Any:
    torch = pytest.importorskip("torch")
    from minusgrad.torch import rollout

    run = rollout(scene)
    start = torch.tensor(value, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(sum(one.sum() for one in run({address: start}).values()), start)
    assert float(slope.abs().sum()) > 0.0
    return value


DOORS: dict[str, Callable[[Path, str, Any], Any]] = {
    "command line": by_command_line,
    "Python": by_python,
    "[vary] of a sweep": by_sweep,
    "[ensemble.vary]": by_member,
    "[fit.parameters]": by_fit,
    "a handle": by_handle,
    "PyTorch": by_tensor,
}


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_knows_every_address(scene: Path, door: str, address: str) -> None:
    value = ADDRESSES[address][1]
    assert DOORS[door](scene, address, value) == value


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_name_and_a_path_are_one_place(scene: Path, address: str) -> None:
    path, value = ADDRESSES[address]
    document = load(scene)
    assert (document.path_of(address), document.path_of(path)) == (path, path)
    assert load(scene, [f"{address}={value}"]).data == load(scene, [f"{path}={value}"]).data != document.data


def test_a_run_by_name_is_the_run_by_path(scene: Path, tmp_path: Path, invoke: Callable[..., Any]) -> None:
    for out, address in (("name", "bond.stiffness.1"), ("path", "energy.1.stiffness.1")):
        code, _, err = invoke("run", scene, f"{address}=3.5", "--out", tmp_path / out)
        assert (code, err) == (0, "")
    found = [
        {n: b for n, b in files(tmp_path / out).items() if n.startswith("traj/")} for out in ("name", "path")
    ]
    assert found[0]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("stepper.dt", "stepper.dt"),
        ("bond.stiffness.1", "energy.1.stiffness.1"),
        ("energy.bond.stiffness.1", "energy.bond.stiffness.1"),  # an element by its name, which `load` finds
        ("frames.every", "observe.0.every"),
        ("pull.G", "fit.loss.0.G"),
        ("rod.length.0", "constraint.0.length.0"),
        ("left.duration", "hold.1.duration"),
    ],
)
def test_addresses_below_a_part(scene: Path, address: str, path: str) -> None:
    assert load(scene).path_of(address) == path
    assert load(scene, [f"{address}=7"]).data == load(scene, [f"{path}=7"]).data


@pytest.mark.parametrize("section", SYSTEM)
def test_every_section_of_parts_has_addresses(section: str) -> None:
    document = of_text(f'[[{section}]]\nkind = "it"\nname = "that"\na = 1\n', "scene", ["that.a=2"])
    assert document.data[section][0]["a"] == 2


def test_all_lists_of_parts_are_known() -> None:
    assert {*SYSTEM, "observe"} == {*MANY, "slope", "hold"}
    assert {*SYSTEM} < {*SKELETON_KEYS}


# What is refused ------------------------------------------------------------------------------------------

UNKNOWN = {
    "gravty.G": "no section and no part of the scene is named 'gravty'; did you mean 'gravity'?",
    "spring.stiffness": "energy.1, of kind 'spring', is named 'bond'; write bond.stiffness",
    "steper.dt": "no section and no part of the scene is named 'steper'; did you mean 'stepper'?",
}


@pytest.mark.parametrize("address", UNKNOWN)
def test_an_unknown_name_is_refused_with_what_was_meant(
    scene: Path, address: str, invoke: Callable[..., Any]
) -> None:
    code, _, err = invoke("run", scene, f"{address}=1.0")
    assert code == 2
    assert UNKNOWN[address] in err
    with pytest.raises(SceneError) as caught:
        plan_points(scene, (), (), read_sweep({"vary": {address: {"list": [1.0]}}}))
    assert UNKNOWN[address] in str(caught.value)


@pytest.mark.parametrize("door", [by_member, by_fit])
def test_parameters_are_not_named_by_paths(scene: Path, door: Callable[..., Any]) -> None:
    with pytest.raises(SceneError, match=r"got a path in the scene; write gravity\.G"):
        door(scene, "energy.0.G", 0.02)
    with pytest.raises(SceneError, match="no term named 'gravty'; did you mean 'gravity'"):
        door(scene, "gravty.G", 0.02)


def test_a_name_of_two_parts_is_refused_with_their_paths(scene: Path) -> None:
    scene.write_text(SCENE.replace('kind = "mass_damping"\n', 'kind = "mass_damping"\nname = "gravity"\n'))
    with pytest.raises(
        SceneError,
        match=r"'gravity' is the name of 2 parts of the scene; write energy\.0\.G or dissipation\.0\.G",
    ):
        load(scene, ["gravity.G=1.0"])
    with pytest.raises(SceneError, match="two terms are named 'gravity'; rename one"):
        by_fit(scene, "gravity.G", 0.02)


def test_losses_and_observers_stand_behind_the_system(scene: Path) -> None:
    scene.write_text(SCENE.replace('name = "pull"\n', ""))
    assert load(scene).path_of("gravity.G") == "energy.0.G"


@pytest.mark.parametrize("name", ["box", "stepper", "run", "energy"])
def test_no_part_has_the_name_of_a_section(scene: Path, name: str, invoke: Callable[..., Any]) -> None:
    scene.write_text(SCENE.replace('name = "bond"', f'name = "{name}"'))
    code, _, err = invoke("run", scene)
    assert code == 2
    assert (
        f"energy.1.name: needs a name that no section of a scene has, got '{name}'; give it another name"
        in err
    )


def test_a_body_may_have_the_name_of_a_section_where_its_hold_has_no_number() -> None:
    text = SCENE.replace("left = [0]", "box = [0]").replace('body = "left"\n', 'body = "box"\n')
    with pytest.raises(
        UserError,
        match=r"hold\.1\.body: needs a name that no section of a scene has, got 'box'; give it a `name`",
    ):
        build(text)
    still = text.replace("rotation = { centre = [-0.5, 0.0], angle = 0.1 }\nduration = 0.2\n", "")
    assert isinstance(build(still), BuiltScene)
