"""Old names of kinds, keys and public names: they work, with a warning that says the new one."""

import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
from minusgrad import MinusgradDeprecationWarning, Node, Parameter, hookimpl, local_energy
from minusgrad.app.runs import build
from minusgrad.assembly.building import old_names
from minusgrad.assembly.registry import Registry
from minusgrad.errors import PluginError, SceneError
from minusgrad.plugin import OldName
from minusgrad_elastic.materials.registered import OLD_NAMES, PLATES
from tests.support.command import files
from tests.support.command import minusgrad as command
from tests.support.stretch_energies import ELASTIC, MATERIALS

SCENE = """\
plugins = ["elastic"]
[units]
system = "dimensionless"
[state]
kind = "rectangle"
size = [2.0, 1.0]
cells = [4, 2]
density = 1.0
[[energy]]
{energy}
[stepper]
kind = "leapfrog"
dt = 0.001
[run]
steps = 20
[checkpoint]
every = 5
"""


@pytest.fixture(autouse=True)
def nothing_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_names, "_SHOWN", {})


def scene(folder: Path, **keys: Any) -> Path:
    """A scene with one energy, of these keys, whose kind stands in line 10."""
    texts = {key: "true" if value is True else repr(value) for key, value in keys.items()}
    path = folder / "plate.toml"
    path.write_text(SCENE.format(energy="\n".join(f"{key} = {text}" for key, text in texts.items())))
    return path


def parameters(kind: str) -> dict[str, float]:
    return dict(MATERIALS[kind].parameters) if kind in MATERIALS else dict(ELASTIC)


@pytest.mark.parametrize("one", OLD_NAMES, ids=lambda one: one.old)
def test_an_old_kind_is_the_new_one_with_its_keys(tmp_path: Path, one: OldName) -> None:
    given = parameters(one.old)
    with pytest.warns(MinusgradDeprecationWarning) as seen:
        old = build(scene(tmp_path, kind=one.old, **given))
    (warning,) = seen
    text = f"energy.0.kind: '{one.old}' is an old name; write kind = \"{one.new}\" and plane_stress = true"
    assert str(warning.message) == text
    assert (Path(warning.filename).name, warning.lineno) == ("plate.toml", 10)
    with warnings.catch_warnings(action="error", category=MinusgradDeprecationWarning):
        new = build(scene(tmp_path, kind=one.new, plane_stress=True, **given))
        flat = build(scene(tmp_path, kind=one.new, **given))
    assert list(old.potential.parts) == [one.old], "results and addresses keep the old name"
    assert list(new.potential.parts) == [one.new]
    start = new.fields["x"].values
    moved = start + 0.01 * np.random.default_rng(3).normal(size=start.shape)
    for made in (old, new, flat):
        made.fields["x"].set(moved)
    first, second, other = (made.potential.gradient("x") for made in (old, new, flat))
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != other.tobytes(), "plane strain is something else"
    assert old.potential.value() == new.potential.value()


def test_old_kinds_are_not_listed() -> None:
    registry = Registry.load(["elastic"])
    kinds = {kind for table in registry.tables.values() for kind in table}
    assert not {one.old for one in OLD_NAMES} & kinds
    assert {one.new for one in OLD_NAMES} <= kinds
    assert {plate.name for plate in PLATES.values()} <= {*registry.energies()}, "the exam sees them"


def test_an_old_kind_warns_once_where_it_stands(tmp_path: Path) -> None:
    path = scene(tmp_path, kind="linear_plane_stress", **ELASTIC)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            build(path)
    assert [one.category for one in seen] == [MinusgradDeprecationWarning]
    done = command("run", path, "--out", tmp_path / "run")
    assert done.returncode == 0
    assert f"{path}:10: MinusgradDeprecationWarning: energy.0.kind: " in done.stderr


@pytest.mark.filterwarnings("ignore::minusgrad.errors.MinusgradDeprecationWarning")
def test_addresses_of_an_old_kind_keep_its_name(tmp_path: Path) -> None:
    path = scene(tmp_path, kind="linear_plane_stress", **ELASTIC)
    made = build(path, {"linear_plane_stress.youngs_modulus": 7.0})
    assert made.potential.parameter("linear_plane_stress.youngs_modulus") == 7.0
    named = build(scene(tmp_path, kind="hencky_plane_stress", name="plate", **ELASTIC))
    assert list(named.potential.parts) == ["plate"]


def test_a_run_with_an_old_kind_is_resumed_with_the_same_bits(tmp_path: Path) -> None:
    path = scene(tmp_path, kind="neo_hookean_plane_stress", **parameters("neo_hookean_plane_stress"))
    for name in ("whole", "cut"):
        assert command("run", path, "--out", tmp_path / name).returncode == 0
    (last,) = (tmp_path / "cut" / "ckpt").glob("*20.*.h5")
    last.unlink()  # as if it had been killed before the last save
    assert command("resume", tmp_path / "cut").returncode == 0
    whole, cut = (files(tmp_path / name) for name in ("whole", "cut"))
    kept = [name for name in whole if name.startswith(("ckpt/", "traj/"))]
    assert kept
    assert {name: whole[name] for name in kept} == {name: cut.get(name) for name in kept}


@pytest.mark.filterwarnings("ignore::minusgrad.errors.MinusgradDeprecationWarning")
def test_a_scene_is_recorded_as_it_is_written(tmp_path: Path) -> None:
    """So a run folder of before is the same run now."""
    made = build(scene(tmp_path, kind="linear_plane_stress", **ELASTIC))
    (recorded,) = made.scene.resolved()["energy"]
    assert (recorded["kind"], {"name", "plane_stress"} & recorded.keys()) == ("linear_plane_stress", set())


@pytest.mark.filterwarnings("ignore::minusgrad.errors.MinusgradDeprecationWarning")
def test_an_old_name_in_tables_of_python() -> None:
    tables = {
        "plugins": ["elastic"],
        "units": {"system": "dimensionless"},
        "state": {"kind": "rectangle", "size": [2.0, 1.0], "cells": [4, 2], "density": 1.0},
        "stepper": {"kind": "leapfrog", "dt": 0.001},
        "run": {"steps": 1},
    }
    kinds = ({"kind": "hencky", "plane_stress": True}, {"kind": "hencky_plane_stress"})
    made = [minusgrad.load(tables | {"energy": [kind | dict(ELASTIC)]}).potential.parts for kind in kinds]
    assert [list(one) for one in made] == [["hencky"], ["hencky_plane_stress"]]
    assert {part.energy.name for one in made for part in one.values()} == {"hencky_plane_stress"}


# Keys, and kinds of other sections ------------------------------------------------------------------------

SOFTENING = Parameter("m", default=1.0, about="Softening.")


@local_energy("pull", over="nodes", x=Node("m", ("d",)), softening=SOFTENING)
def pull(x, softening):
    """Towards the origin."""
    return x[0].dot(x[0]) * softening


KEYS = [OldName("energy", "pull.eps", "pull.softening"), OldName("stepper", "hop", "leapfrog")]


def plugin(names: Any) -> Any:
    module = types.ModuleType("pulls")
    module.register_energies = hookimpl(lambda: [pull])  # type: ignore[attr-defined]
    module.register_old_names = hookimpl(lambda: names)  # type: ignore[attr-defined]
    return module


def test_an_old_key_is_the_new_one(tmp_path: Path) -> None:
    path = scene(tmp_path, kind="pull", eps=3.0)
    text = r"^energy\.0\.eps: 'eps' is an old name; write softening$"
    with pytest.warns(MinusgradDeprecationWarning, match=text):
        made = build(path, plugins=[plugin(KEYS)])
    assert made.potential.parameter("pull.softening") == 3.0


@pytest.mark.filterwarnings("ignore::minusgrad.errors.MinusgradDeprecationWarning")
def test_an_old_key_beside_the_new_one_is_refused(tmp_path: Path) -> None:
    path = scene(tmp_path, kind="pull", eps=3.0, softening=1.0)
    with pytest.raises(SceneError, match="no key 'eps'"):
        build(path, plugins=[plugin(KEYS)])


def test_an_old_kind_of_a_section_without_names(tmp_path: Path) -> None:
    path = scene(tmp_path, kind="pull")
    text = r"stepper\.kind: 'hop' is an old name; write kind = \"leapfrog\""
    with pytest.warns(MinusgradDeprecationWarning, match=text):
        made = build(path, {"stepper.kind": "hop"}, plugins=[plugin(KEYS)])
    assert made.stepper.kind == "leapfrog"


@pytest.mark.parametrize("names", ["eps", ["eps"], {"eps": "softening"}])
def test_what_is_no_list_of_old_names_is_refused(names: Any) -> None:
    with pytest.raises(PluginError, match=r"register_old_names gives .*, not a list of OldName"):
        Registry.load([], [plugin(names)])


# Public names ---------------------------------------------------------------------------------------------


def test_an_old_public_name_is_the_new_one() -> None:
    find, names = minusgrad._door("minusgrad", minusgrad._HOMES, {"simulate": "run"})
    text = r"^minusgrad\.simulate: is an old name; write minusgrad\.run$"
    with pytest.warns(MinusgradDeprecationWarning, match=text) as seen:
        assert find("simulate") is minusgrad.run
    assert Path(seen[0].filename) == Path(__file__)
    assert "simulate" not in names()
    with pytest.raises(AttributeError):
        find("simulat")


def test_the_warning_is_shown_by_default() -> None:
    code = "import warnings, minusgrad; warnings.warn('old', minusgrad.MinusgradDeprecationWarning)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "MinusgradDeprecationWarning: old" in done.stderr
