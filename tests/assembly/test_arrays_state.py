"""The state of arrays from an HDF5 file: units, motions, lists, and mistakes with their place."""

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad import build
from minusgrad.assembly.arrays.arrays_file import Stored, read, written
from minusgrad.errors import SceneError

SCENE = """
plugins = ["elastic"]
[units]
length = "km"
[state]
kind = "arrays"
file = "start.h5"
{more}
[[energy]]
kind = "spring"
stiffness = 2.0
[stepper]
kind = "leapfrog"
dt = 0.1
[run]
steps = 1
"""
X = np.array([[0.0, 0.0], [1.5, 0.0], [3.0, 0.0]])


def fill(file: h5py.File) -> None:
    file["fields/x"] = 1000.0 * X
    file["fields/x"].attrs["unit"] = "m"
    file["fields/v"] = np.zeros((3, 2))
    file["fields/charge"] = np.ones(3, np.int64)
    file["tuples/bonds"] = np.array([[0, 1], [1, 2]])
    file["data/bonds/rest"] = np.array([1.0, 1.0])
    file["bodies/left"] = np.array([0])


def scene(folder: Path, more: str = "", change: Callable[[h5py.File], None] = lambda file: None) -> Path:
    with h5py.File(folder / "start.h5", "w") as file:
        fill(file)
        change(file)
    (folder / "scene.toml").write_text(SCENE.format(more=more))
    return folder / "scene.toml"


def test_a_file_that_was_written_by_hand(tmp_path: Path) -> None:
    made = build(scene(tmp_path, "labels = { charge = 'q' }"))
    assert made.fields["x"].values.tolist() == X.tolist()
    units = {name: made.fields[name].unit for name in ("x", "v", "charge")}
    assert units == {"x": "m", "v": "m s^-1", "charge": "C"}
    assert made.state.motions[0].inertia == 1.0
    assert (made.state.shown, made.state.labels["charge"]) == (("bonds",), "q")
    assert made.bodies("left")[0].nodes.tolist() == [0]
    assert made.potential.value(0.0) == pytest.approx(2 * 0.5 * 2.0 * 0.5**2)
    assert list(made.start_files) == ["start.h5"]


@pytest.mark.unit
def test_equal_arrays_give_equal_bytes() -> None:
    arrays = {"fields/x": Stored(X, "m"), "tuples/bonds": Stored(np.array([[0, 1]], np.int32))}
    data = written(arrays)
    assert data == written(dict(reversed(arrays.items())))
    again = read("start.h5", data)
    assert again["fields/x"].unit == "m"
    assert all(np.array_equal(again[path].values, one.values) for path, one in arrays.items())


def put(path: str, values: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        if path in file:
            del file[path]
        file[path] = values

    return change


@pytest.mark.parametrize(
    ("more", "change", "message"),
    [
        ("units = { y = 'm' }", put("fields/m", np.ones(3)), "no field named 'y' (there are: charge, m"),
        ("", put("fields/v", np.zeros((2, 2))), "fields/v: needs the shape of 'x', (3, 2), got (2, 2)"),
        ("", put("fields/v", np.full((3, 2), np.inf)), "fields/v: needs finite numbers, got inf at"),
        ("", put("data/bonds/rest", np.ones(3)), "data/bonds/rest: needs a value for each of the 2 elements"),
        ("", put("data/bnds/rest", np.ones(3)), "no list named 'bnds'; did you mean 'bonds'?"),
        ("", put("tuples/bonds", np.ones((2, 2))), "tuples/bonds: needs whole numbers of nodes"),
        ("", put("bodies/left", np.array([7])), "bodies/left: needs numbers of nodes from 0 to 2, got 7"),
        ("", put("field/y", np.ones(3)), "no group named 'field'; did you mean 'fields'?"),
        ("", put("fields/mass", np.ones(3)), "fields/charge: is read by nothing, got 3 values; rename it"),
        ("motions = [{ position = 'x', velocity = 'w' }]", put("fields/m", np.ones(3)), "no field named 'w'"),
    ],
)  # fmt: skip
def test_mistakes_in_the_file_have_their_place(
    more: str, change: Callable[[h5py.File], None], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SceneError) as refusal:
        build(scene(tmp_path, more, change))
    place = {"units": "8:9", "motions": "8:11"}.get(more.partition(" ")[0], "5:2")
    assert str(refusal.value).startswith(f"{tmp_path}/scene.toml:{place}: state: ")
    assert message in str(refusal.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    path = scene(tmp_path)
    (tmp_path / "start.h5").write_text("x,y\n1,2\n")
    with pytest.raises(SceneError, match=r"scene\.toml:5:2: state: 'start\.h5': is no HDF5 file"):
        build(path)
