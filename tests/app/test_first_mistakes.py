"""Mistakes of a first hour, on the command line and in Python: each is answered with its cure."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.errors import EnergyError, SceneError, UserError, suggestion
from minusgrad.scene import parsing
from minusgrad.scene.document import load
from minusgrad_gravity.gravity import gravity

SCENE = """
[state]
kind = "random_points"
n = 4
side = "4 m"
mass = "1 kg"

[[energy]]
kind = "gravity"

[stepper]
kind = "leapfrog"
dt = "10 ms"

[run]
steps = 3
"""
WELL = '''
from minusgrad import Node, Parameter, local_energy

@local_energy("magnets", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def magnets(x, k):
    """A well."""
    return 0.5 * k * x[0].norm_sqr()
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "magnets.toml").write_text(SCENE)
    (tmp_path / "magnets.py").write_text(WELL)
    return tmp_path


@pytest.mark.unit
def test_an_option_for_a_key_is_answered_with_the_key(invoke: Callable[..., Any]) -> None:
    for given, cure in (
        (("--threads", "2"), "--threads 2; write runtime.threads=2"),
        (("--arch=gpu",), "--arch=gpu; write runtime.arch=gpu"),
        (("--dt", "2"), "--dt 2; write stepper.dt=2"),
        (("--oot", "x"), "--oot x; did you mean '--out'?"),
    ):
        code, _, err = invoke("run", "magnets.toml", *given)
        assert code == 2
        assert err.endswith(f"unrecognized arguments: {cure}\n")


# Files ----------------------------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("magnet.toml", "cannot be read: No such file or directory; did you mean 'magnets.toml'?"),
        ("sub/magnets.toml", "cannot be read: No such file or directory"),
        (
            "magnets.py",
            "is no scene, whose file ends in .toml, got '.py'; a file with energies goes with --plugin"
            " magnets.py",
        ),
        ("start.csv", "is no scene, whose file ends in .toml, got '.csv'; give the scene that reads it"),
        ("start.H5", "is no scene, whose file ends in .toml, got '.H5'; give the scene that reads it"),
    ],
)
def test_what_is_no_scene_is_told_what_it_is(name: str, said: str, here: Path) -> None:
    (here / "start.csv").write_text("time,x\n0.1,2.0\n")
    (here / "start.H5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(SceneError) as caught:
        load(Path(name))
    assert str(caught.value) == f"{name}: {said}"


@pytest.mark.unit
def test_a_scene_of_another_ending_is_read(here: Path) -> None:
    (here / "scene.txt").write_text(SCENE)
    (here / "scene.csv").write_text(SCENE)
    assert load(Path("scene.txt")).data == load(Path("scene.csv")).data == load(Path("magnets.toml")).data
    (here / "scene.txt").write_text("a = = 1")
    with pytest.raises(SceneError, match=r"scene.txt:1:5: Invalid value"):
        load(Path("scene.txt"))


@pytest.mark.unit
def test_a_file_with_the_name_of_a_shipped_scene(invoke: Callable) -> None:
    said = "two_body.toml: no such file; that of minusgrad is named without .toml: two_body"
    assert invoke("run", "two_body.toml") == (2, "", f"minusgrad: {said}\n")


# Values with units ----------------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    ("line", "quantity"),
    [
        ("dt = 10 ms", "10 ms"),
        ("dt = 10ms # short", "10 ms"),
        ("dt = 1e-3 s", "1e-3 s"),
        ("k = -2.5 N/m", "-2.5 N/m"),
        ("rate = 0.25 s^-1", "0.25 s^-1"),
        ("G = 6.67430e-11 m^3 kg^-1 s^-2", "6.67430e-11 m^3 kg^-1 s^-2"),
        ("edges = [10 mm, 2]", "10 mm"),
        ("box = { side = 4 angstrom }", "4 angstrom"),
        ("angle = 90 °", "90 °"),
        ("width = 3 µm", "3 µm"),
    ],
)
def test_a_value_with_a_unit_needs_quotes(line: str, quantity: str) -> None:
    with pytest.raises(SceneError) as caught:
        parsing.parse("a.toml", f"x = 1\n{line}\n")
    assert str(caught.value).endswith(f': a value with a unit stands in quotes; write "{quantity}"')


@pytest.mark.unit
@pytest.mark.parametrize("line", ["a = 1 b = 2", "a = [1 2]", "a = 1 ]", "a = 'x' s", "a = 2024-01-01 s"])
def test_other_mistakes_keep_their_words(line: str) -> None:
    with pytest.raises(SceneError) as caught:
        parsing.parse("a.toml", line)
    assert "stands in quotes" not in str(caught.value)


# Names ----------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_a_misspelt_key_is_told_alone(here: Path, invoke: Callable) -> None:
    """Not beside a line that says that the key is missing; another key that is missing is told."""
    (here / "typo.toml").write_text(SCENE.replace("dt =", "Dt =").replace("side =", "sied ="))
    said = invoke("run", "typo.toml")[2]
    assert "stepper.Dt: no key 'Dt'; did you mean 'dt'?" in said
    assert "state.sied: no key 'sied'; did you mean 'side'?" in said
    assert "missing" not in said
    (here / "typo.toml").write_text(SCENE.replace('dt = "10 ms"', "").replace("side =", "sied ="))
    assert "stepper.dt: required, but missing" in invoke("run", "typo.toml")[2]


@pytest.mark.unit
@pytest.mark.parametrize("verb", ["check", "source", "energies", "kinds"])
def test_a_file_here_that_defines_the_name_is_named_by_every_verb(verb: str, invoke: Callable) -> None:
    code, _, err = invoke(verb, "magnets")
    assert code == 2
    assert err.endswith("named 'magnets'; magnets.py here defines it: add --plugin magnets.py\n")


@pytest.mark.unit
def test_a_name_in_other_capitals_is_meant(here: Path) -> None:
    with pytest.raises(
        AttributeError, match=r"'minusgrad' has no attribute 'LeapFrog'; did you mean 'Leapfrog'\?"
    ):
        _ = mg.LeapFrog
    with pytest.raises(AttributeError, match=r"has no attribute '__wrapped__'$"):
        _ = mg.__wrapped__
    assert suggestion("DT", ["x", "dt"]) == "; did you mean 'dt'?"
    assert "Leapfrog" in dir(mg)


# Numbers in Python ----------------------------------------------------------------------------------


def simulation() -> Any:
    x = np.random.default_rng(0).normal(size=(5, 3))
    energies = [gravity(G=1.0, softening=0.1)]
    stepper = mg.Leapfrog(dt=0.01)
    return mg.Simulation(
        fields={"x": x, "m": np.ones(5)}, energies=energies, stepper=stepper, units="dimensionless"
    )


def test_numbers_that_are_none_are_refused_where_they_are_given(here: Path) -> None:
    sim = simulation()
    for wrong in (1.5, 2.0, -1, "3", True, None):
        with pytest.raises(
            UserError, match=rf"^step: needs a whole number of steps of at least 0, got {wrong!r};"
        ):
            sim.step(wrong)
    for wrong in (1.5, -1, "3"):
        with pytest.raises(UserError, match=r"^run: needs a whole number of steps of at least 0, got "):
            sim.run(steps=wrong, out="run")
    with pytest.raises(UserError, match=r"^dt: 'fast' is not a quantity; write a number and a unit"):
        sim.dt = "fast"
    assert sim.stepper.step == 0
    x, before = sim.fields["x"].values, sim.fields["x"].values.copy()
    cure = r"read-only, got an assignment .*; change a copy and write fields\['x'\].set\(copy\)$"
    for write in (
        lambda: x.__setitem__(0, 1.0),
        lambda: x[0].__setitem__(1, 1.0),
        lambda: x.T.__iadd__(1.0),
        lambda: np.add(x, 1.0, out=x),
    ):
        with pytest.raises(EnergyError, match=rf"^field 'x': its values are {cure}"):
            write()
    with pytest.raises(
        EnergyError, match=r"^field 'x': is written by .set, got .*fields\['x'\].set\(values\)"
    ):
        sim.fields["x"] = before
    with pytest.raises(EnergyError, match=r"^field 'x': is written as a whole, .*; write .set\(values\)"):
        sim.fields["x"][0] = 1.0
    assert np.array_equal(x, before)
    assert (str(x), repr(x)) == (str(before), repr(before))
    assert type(x + 1.0) is type(x.copy()) is type(pickle.loads(pickle.dumps(x))) is np.ndarray
    for few in (0, 1, np.int64(2)):
        sim.step(few)
    assert sim.stepper.step == 3
    assert not os.path.exists("run")
