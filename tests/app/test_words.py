"""Messages and listings that a newcomer meets in the first hour."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import minusgrad
from minusgrad import UserError
from minusgrad.errors import SceneError
from tests.support.command import SCENES
from tests.support.pages import ROOT

NETWORK = """
[units]
system = "dimensionless"

[state]
kind = "network"
nodes = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]]
springs = [[0, 1], [1, 2], [2, 3], [3, 4]]
mass = 1.0

[[energy]]
kind = "{kind}"
{keys}

[stepper]
kind = "leapfrog"
dt = 0.01

[run]
steps = 1
"""


@pytest.mark.parametrize(
    ("kind", "keys", "message"),
    [
        ("spring", "stiffness = [1.0, 2.0]",
         "energy.0: spring.stiffness: needs one value, or 4, one for each element, got 2; give 1 or 4"),
        ("angle", "stiffness = 1.0\nrest = 1.0",
         "energy.0: 'angle' takes 3 nodes, got a state with lists of others (edges of 2);"
         " list them: tuples = [[0, 1, 2], ...]"),
    ],
)  # fmt: skip
def test_numbers_and_tuples_that_do_not_fit(kind: str, keys: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "net.toml").write_text(NETWORK.format(kind=kind, keys=keys))
    with pytest.raises(SceneError) as refusal:
        minusgrad.build(tmp_path / "net.toml")
    assert str(refusal.value).partition(": ")[2] == message


def test_every_state_is_in_the_table_of_the_page(invoke: Callable) -> None:
    """Also those of the core and of all shipped plugins."""
    _, out, _ = invoke("states", "--json")
    packages = ROOT / "plugins"
    ours = {one["kind"] for one in json.loads(out) if (packages / f"minusgrad_{one['plugin']}").is_dir()}
    text = (ROOT / "docs" / "scenes.md").read_text().partition("## States")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("|")]
    missing = (ours | {"arrays"}) - {kind for row in rows for kind in re.findall("`([a-z_]+)`", row)}
    assert not missing


@pytest.mark.unit
@pytest.mark.parametrize(
    "text",
    ["[energy]\na = 1\n[energy]\nb = 2\n", "[energy]\na = 1\n[[energy]]\nb = 2\n", "[ energy ]\na = 1\n[["],
)
def test_single_brackets_are_named_where_they_stand(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("\n" + text)
    with pytest.raises(SceneError) as refusal:
        minusgrad.build(tmp_path / "s.toml")
    column = 3 if text.startswith("[ ") else 2
    line = f"s.toml:2:{column}: energy: needs two brackets, [[energy]], because a scene may have several"
    assert str(refusal.value).endswith(line)


@pytest.mark.unit
def test_a_scene_is_a_path_a_text_or_a_dictionary() -> None:
    for door in (minusgrad.build, minusgrad.run, minusgrad.fit):
        with pytest.raises(UserError) as refusal:
            door(3)  # type: ignore[operator]
        needs = "scene: needs the path of a file, a text or a dictionary, got a int; give one"
        assert str(refusal.value) == needs


def test_a_simulation_can_be_stepped_and_shown() -> None:
    simulation = minusgrad.build(SCENES / "two_body.toml")
    simulation.step(3)
    simulation.step()
    fields = "Fields(x [2, 2], v [2, 2], m [2])"
    assert repr(simulation.fields) == fields
    assert repr(simulation.potential) == f"Potential(gravity; {fields})"
    assert repr(simulation.stepper) == "Integrator('leapfrog', step 4, dt = 0.005)"
    path = SCENES / "two_body.toml"
    assert repr(simulation) == f"Simulation('{path}', {simulation.stepper}, {simulation.potential})"
    assert repr(simulation.recorder) == "Recorder(no rows yet)"
    simulation.look()
    assert repr(simulation.recorder).startswith("Recorder(observables/")


def test_kinds_are_listed_with_their_keys(
    invoke: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = invoke("kinds")
    assert (code, err) == (0, "")
    for section, kind in (
        ("state", "network"),
        ("stepper", "langevin"),
        ("observe", "frames"),
        ("energy", "spring"),
    ):
        assert re.search(rf"^{section} +{kind} ", out, re.M), kind
    assert not re.search(r"^loss +spring ", out, re.M)  # an energy is one row
    assert re.search(r"^loss +misfit ", out, re.M)
    assert out.endswith("every energy is also a loss of a fit, [[fit.loss]]\n")
    listed = json.loads(invoke("kinds", "--json")[1])
    assert {"energy", "loss"} <= {one["section"] for one in listed if one["kind"] == "spring"}
    _, out, _ = invoke("kinds", "leapfrog")
    assert out.startswith("stepper 'leapfrog' of plugin 'core': ")
    assert re.search(r"^dt +quantity +s +required +Time step\. *$", out, re.M)
    _, out, _ = invoke("kinds", "hold")
    assert out.startswith("`[[hold]]`: ")
    assert re.search(r"^rotation\.rate +quantity +rad s\^-1 +0\.0 +Angular velocity", out, re.M)
    for verb, kind in (("states", "network"), ("steppers", "leapfrog"), ("observers", "frames")):
        assert re.search(rf"^{kind} ", invoke(verb)[1], re.M)
        assert invoke(verb, kind) == invoke("kinds", kind)
    assert re.search(r"^every +whole number \| text ", invoke("observers", "frames")[1], re.M)
    code, _, err = invoke("states", "leapfrog")
    assert code == 2
    assert err.startswith("minusgrad: no state named 'leapfrog'")
    assert invoke("energies", "network") == invoke("kinds", "network")
    code, _, err = invoke("kinds", "leapfrg")
    assert code == 2
    assert err.startswith("minusgrad: no kind named 'leapfrg'; did you mean 'leapfrog'? (")
    assert err.endswith(" exist; `minusgrad kinds` lists them)\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "links.py").write_text('@local_energy("morse_link")\ndef link(x): ...\n')
    text = "links.py here defines it: add --plugin links.py\n"
    assert invoke("energies", "morse_link")[2] == f"minusgrad: no energy named 'morse_link'; {text}"
    for verb, kind, said in (
        (
            "states",
            "gravity",
            "no state named 'gravity'; it is an energy: `minusgrad energies gravity` shows it",
        ),
        (
            "steppers",
            "hold",
            "no stepper named 'hold'; it is a table of a scene: `minusgrad kinds hold` shows it",
        ),
        ("energies", "gravty", "no energy named 'gravty'; did you mean 'gravity'? ("),
    ):
        code, _, err = invoke(verb, kind)
        assert (code, err.startswith(f"minusgrad: {said}")) == (2, True), err


@pytest.mark.unit
def test_no_scenes_in_a_folder(invoke: Callable, tmp_path: Path) -> None:
    code, _, err = invoke("scenes", tmp_path)
    cure = "give another folder, or none for those of minusgrad"
    assert (code, err) == (2, f"minusgrad: {tmp_path}: contains no scenes (*.toml); {cure}\n")
