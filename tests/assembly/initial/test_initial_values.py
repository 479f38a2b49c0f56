"""Fields from CSV, HDF5 and NumPy files: the values, their units, and one message for each mistake."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from minusgrad.assembly.contexts import StateContext
from minusgrad.assembly.initial.initial_values import InitialValues
from minusgrad.energies.fields import Body, State
from minusgrad.errors import UserError
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RunDir
from minusgrad.scene.state_tables.initial_table import InitialTable
from minusgrad.scene.toml_positions import KeyPath
from minusgrad.scene.units import UnitSystem

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
STATE = State(
    fields={"x": np.zeros((3, 2)), "m": np.ones(3), "F": np.zeros((3, 2, 2))},
    units={"x": "m", "m": "kg"},
    bodies=(Body("left", [0, 2]), Body("right", [1])),
)
KM = UnitSystem.of("km", "kg", "s")


@contextmanager
def placed(path: KeyPath) -> Iterator[None]:
    yield


def values(folder: Path, field: str, given: str | dict[str, Any], units: UnitSystem = KM) -> np.ndarray:
    """A field of STATE with the values of a file."""
    table = InitialTable.model_validate({"fields": {field: given}})
    initial = InitialValues(table, StateContext(units, 0, folder), folder, None, placed)
    return initial.replaced(STATE.fields, STATE.units, STATE)[field]


def hdf5(path: Path, name: str, array: np.ndarray, **attributes: Any) -> None:
    with h5py.File(path, "w") as file:
        file[name] = array
        file[name].attrs.update(attributes)


def npz(**arrays: np.ndarray) -> bytes:
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    return packed.getvalue()


def test_a_table_gives_vectors_and_numbers_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "start.csv").write_text("m, x, y, xx\n1, 1, 2, 0\n2, 3, 4, 0\n3, 5, 6, 0\n")
    np.testing.assert_array_equal(values(tmp_path, "m", "start.csv"), [1, 2, 3])
    (tmp_path / "plain.csv").write_text("x, y\n1, 2\n3, 4\n5, 6\n")
    np.testing.assert_array_equal(values(tmp_path, "x", "plain.csv"), X)
    (tmp_path / "own.csv").write_text("xx, xy, x\n1, 2, 9\n3, 4, 9\n5, 6, 9\n")
    np.testing.assert_array_equal(values(tmp_path, "x", "own.csv"), X)
    given = {"file": "own.csv", "columns": ("x", "xy")}
    np.testing.assert_array_equal(values(tmp_path, "x", given)[0], [9, 2])


def test_arrays_are_found_by_the_name_of_the_field_or_by_data(tmp_path: Path) -> None:
    hdf5(tmp_path / "start.h5", "x", X)
    np.testing.assert_array_equal(values(tmp_path, "x", "start.h5"), X)
    hdf5(tmp_path / "deep.h5", "particles/places", X.astype(np.float32))
    np.testing.assert_array_equal(values(tmp_path, "x", {"file": "deep.h5", "data": "/particles/places"}), X)
    np.save(tmp_path / "start.npy", X.astype(int))
    np.testing.assert_array_equal(values(tmp_path, "x", "start.npy"), X)
    (tmp_path / "start.npz").write_bytes(npz(x=X, other=2 * X))
    np.testing.assert_array_equal(values(tmp_path, "x", "start.npz"), X)
    np.testing.assert_array_equal(values(tmp_path, "x", {"file": "start.npz", "data": "other"}), 2 * X)
    tensors = np.arange(12.0).reshape(3, 2, 2)
    np.save(tmp_path / "F.npy", tensors)
    np.testing.assert_array_equal(values(tmp_path, "F", "F.npy"), tensors)


def test_numbers_are_converted_from_the_unit_that_is_given_or_that_the_file_has(tmp_path: Path) -> None:
    np.save(tmp_path / "start.npy", X)
    np.testing.assert_allclose(values(tmp_path, "x", {"file": "start.npy", "unit": "m"}), X / 1000)
    np.testing.assert_array_equal(values(tmp_path, "x", {"file": "start.npy", "unit": "km"}), X)
    hdf5(tmp_path / "start.h5", "x", X, unit_symbol="AU", unit_si=149597870700.0)
    np.testing.assert_allclose(values(tmp_path, "x", "start.h5"), X * 149597870.7)
    np.testing.assert_array_equal(values(tmp_path, "x", {"file": "start.h5", "unit": "km"}), X)
    with pytest.raises(UserError, match="'1 kg' is a mass, but 'm'"):
        values(tmp_path, "x", {"file": "start.npy", "unit": "kg"})


def test_the_nodes_of_bodies_have_new_values_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "start.csv").write_text("x, y\n1, 2\n3, 4\n")
    found = values(tmp_path, "x", {"file": "start.csv", "body": "left"})
    np.testing.assert_array_equal(found, [[1, 2], [0, 0], [3, 4]])
    (tmp_path / "all.csv").write_text("m\n1\n2\n3\n")
    found = values(tmp_path, "m", {"file": "all.csv", "body": ("right", "left")})
    np.testing.assert_array_equal(found, [2, 1, 3])


def test_fields_of_a_run_in_other_units_are_converted(tmp_path: Path) -> None:
    arrays = {"fields/x": X, "fields/m": np.full(3, 5.0), "fields/q": np.ones(7)}
    units = {"fields/x": "m", "fields/m": "kg", "fields/q": "1"}
    with RunDir.create(tmp_path / "run", b"", []) as run:
        run.save(Snapshot(7, 0.5, 0.1, arrays, units), None, keep=1)
    context = StateContext(KM, 0, tmp_path)
    initial = InitialValues(InitialTable(run="run", time=True), context, tmp_path, None, placed)
    found = initial.replaced(STATE.fields, STATE.units, STATE)
    np.testing.assert_array_equal(found["x"], X * 1e-3)
    np.testing.assert_array_equal(found["m"], arrays["fields/m"])
    assert sorted(found) == ["m", "x"]
    assert initial.time == 0.5
    assert list(context.files) == [f"initial/{initial.saved.name}"]
    with pytest.raises(UserError, match="run: its field 'm': '1 kg' is a mass, but 'm'"):
        initial.replaced(STATE.fields, {"x": "m", "m": "m"}, STATE)


BAD_NODE = np.where(X == 4.0, np.nan, X)


@pytest.mark.parametrize(
    ("field", "given", "content", "message"),
    [
        ("x", "f", b"x, y\n1, 2\n", "'f': has 1 rows, 'x' needs 3: one for each node"),
        (
            "x",
            "f",
            b"a, b\n1, 2\n1, 2\n1, 2\n",
            "'f': needs columns xx, xy or x, y for 'x', got a, b",
        ),
        ("x", {"file": "f", "columns": "x"}, b"x\n1\n2\n3\n", "'f': needs 2 columns for 'x', got 1: x"),
        ("x", "f", b"x, y\n1, 2\n3, 4\n5, nan\n", "f:4: column 'y': needs a finite number, got 'nan'"),
        ("F", "f", b"F\n1\n", "a value of 'F' has shape [2, 2]; use HDF5 or .npy"),
        ("m", {"file": "f", "data": "m"}, b"m\n1\n", "'f': is a table, got `data`"),
        ("x", "f", npz(x=BAD_NODE), "'f': node 1 has NaN or infinity; correct it"),
        ("x", "f", npz(x=X[:2]), "'f': has values of shape [2, 2], 'x' needs [3, 2]: one value for each"),
        ("x", "f", npz(y=X), "'f': no array named 'x'"),
        ("x", "f", npz(x=X + 1j), "'f': needs an array of numbers, got complex128"),
        ("x", "f", npz(x=X)[:60], "'f': not a readable NumPy file"),
        ("x", {"file": "f", "columns": "x"}, npz(x=X), "'f': is no table, got `columns`"),
        ("x", "f", b"\x89HDF\r\n\x1a\nrest", "'f': not a readable HDF5 file"),
        ("q", "f", b"q\n1\n", "no field named 'q'"),
        ("x", {"file": "f", "body": "lef"}, b"x\n1\n", "no body named 'lef'; did you mean 'left'?"),
        ("x", "../f", b"", "lies outside the scene's folder"),
        ("x", "g", b"", "cannot read 'g'"),
    ],
)
def test_a_mistake_has_one_message(
    tmp_path: Path, field: str, given: Any, content: bytes, message: str
) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(UserError) as caught:
        values(tmp_path, field, given)
    assert message in str(caught.value)


def test_arrays_that_a_file_does_not_hold_plainly_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f", "w") as file:
        file.create_dataset("x", data=X, compression="gzip", chunks=(3, 2))
        file["m"] = h5py.SoftLink("/x")
    with pytest.raises(UserError, match="'x' is stored through a filter; initial values are plain arrays"):
        values(tmp_path, "x", "f")
    with pytest.raises(UserError, match="'/m' is a link"):
        values(tmp_path, "m", "f")
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(UserError, match="not a readable NumPy file"):
        values(tmp_path, "x", "objects.npy")
