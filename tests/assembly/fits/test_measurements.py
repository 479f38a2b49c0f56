"""Which measurements a fit reads: tables, trajectories, their units, and files that are refused."""

import re
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from minusgrad.app.runs import run
from minusgrad.errors import (
    UserError,
)
from minusgrad.files import durable, hdf5_trust
from minusgrad.files.measurements import Wanted, read_measurements
from tests.support import oscillators
from tests.support.swing_fits import SCENE, SEEN, K, V, fitted, observed, table

PLANE = Wanted("x", "position", (2,), [0, 1, 2], 3, ("left", "right", "2"))


def test_a_table_of_three_nodes_in_any_order() -> None:
    lines = table(data := observed()).splitlines()
    shuffled = "\n".join([*lines[:2], *reversed(lines[2:])])
    found = read_measurements("x.csv", shuffled.encode(), PLANE)
    np.testing.assert_array_equal(found.times, [0.1 * s for s in SEEN])
    np.testing.assert_array_equal(found.values, list(data.values()))
    assert found.places[0].startswith("x.csv:")


def test_tables_of_one_node_need_no_names() -> None:
    text = "# seen\ntime,m , note\n 0,1.5, a\n\n2.0 , 2.5,b\n"
    found = read_measurements("m.csv", text.encode(), Wanted("m", "m", (), [4], 7))
    np.testing.assert_array_equal(found.times, [0.0, 2.0])
    np.testing.assert_array_equal(found.values, [[1.5], [2.5]])
    found = read_measurements("v.csv", b"time,vx,vy\n0,1,2\n", Wanted("v", "velocity", (2,), [4], 7))
    np.testing.assert_array_equal(found.values, [[[1.0, 2.0]]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,x,y\n", "x.csv: has no rows below the column names; add at least one"),
        ("x,y\n1,2\n", "x.csv: no column named 'time' (there are: x, y)"),
        ("time,x\n1,2\n", "x.csv: no column named 'y' (there are: time, x)"),
        ("time,x,x\n1,2,3\n", "x.csv: 2 columns are named 'x'; give each its own name"),
        ("time,x,y\n1,2\n", "x.csv:2: needs as many values as the first row, 3, got 2"),
        ("time,x,y\n1,2," + "3" * 140_000, "x.csv:2: field larger than field limit (131072)"),
        ("# a\ntime,x,y\n1,2,nan\n", "x.csv:3: column 'y': needs a finite number, got 'nan'"),
        ("time,x,y\nnow,2,3\n", "x.csv:2: column 'time': needs a finite number, got 'now'"),
        ("time,x,y\n1,2,3\n", "x.csv: needs a column 'node' for 3 nodes; add it"),
        (
            "time,node,x,y\n1,9,2,3\n",
            "x.csv:2: column 'node': must be a node of the loss, got '9' (there are: left, right",
        ),
        (
            "time,node,x,y\n1,0,2,3\n1,left,2,3\n",
            "x.csv:3: time 1 appears twice; remove one row",
        ),
        ("time,node,x,y\n1,0,2,3\n1,2,2,3\n", "x.csv:2: node right is missing at time 1; add a row"),
        ("\x00\x01", "x.csv: has no rows"),
    ],
)
def test_tables_with_a_mistake(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_measurements("x.csv", text.encode(), PLANE)
    assert str(error.value).startswith(message)


def trajectory(fill: Callable[[h5py.File], None]) -> bytes:
    return durable.image(fill)


def written(value: Any, time: Any) -> Callable[[h5py.File], None]:
    def fill(file: h5py.File) -> None:
        file["particles/all/position/time"] = time
        file["particles/all/position/value"] = value

    return fill


def test_a_table_tells_vectors_of_three_at_most() -> None:
    message = "q.csv: field 'q': a table has at most 3 components, got 5; write a trajectory in HDF5"
    with pytest.raises(UserError, match=re.escape(message)):
        read_measurements("q.csv", b"time,x,y,z\n0,1,2,3\n", Wanted("q", "q", (5,), [0], 1))


def test_a_trajectory_of_ours_is_measured(here: Path) -> None:
    """The run's own path is fitted exactly by its own parameters; with units it comes back in the run's."""
    (here / "true.toml").write_text(
        SCENE.replace("k = [1.0, 1.0, 1.0]", f"k = {K.tolist()}").replace("[[0.0, 0.5]", "[[0.1, 0.4]")
    )
    done = run("true.toml", {"observe": [{"kind": "frames", "every": 4}]}, "true", [oscillators])
    (segment,) = (done.folder / "traj").glob("*40.*.h5")
    (here / "x.h5").write_bytes(segment.read_bytes())
    found = fitted({"fit.loss.0.data": "x.h5"})
    assert found.parameter_fit.observed.losses[0].steps == tuple(range(4, 41, 4))
    np.testing.assert_allclose(found.estimates.parameters[0].values, K, rtol=1e-8)
    np.testing.assert_allclose(found.estimates.parameters[1].values, V[0], rtol=1e-8)
    assert found.estimates.loss < 1e-12
    assert found.estimates.observations == 60
    two = fitted({"fit.loss.0.data": "x.h5", "fit.loss.0.body": ["right", "left"]}, "two").estimates
    np.testing.assert_allclose(two.parameters[0].values, [K[0], K[1], 1.0], rtol=1e-8)
    assert (two.observations, two.loss < 1e-12) == (40, True)
    assert two.undetermined == ["tether.k[2]"]


def test_units_of_a_file_and_of_the_scene() -> None:
    """A table in days and AU in a run that computes in hours and gigametres; a trajectory tells its own."""
    from minusgrad.assembly.fits.losses import FitLosses, RunSteps
    from minusgrad.scene.units import UnitSystem

    observer = object.__new__(FitLosses)
    observer.simulation = SimpleNamespace(units=UnitSystem.of("Gm", "kg", "h"))
    model = SimpleNamespace(data="x.csv", unit="AU", time_unit="day")
    assert observer._size(model, "unit", None, "m") == pytest.approx(149.5978707, rel=1e-15)
    assert observer._size(model, "time_unit", None, "s") == 24.0
    bare = SimpleNamespace(data="x.h5", unit=None, time_unit=None)
    assert observer._size(bare, "unit", None, "m") == 1.0
    assert observer._size(bare, "time_unit", 86400.0, "s") == 24.0
    with pytest.raises(UserError, match=r"'x.csv': gives its own unit; leave `unit` out"):
        observer._size(model, "unit", 1.0, "m")
    assert RunSteps(0.1, 40, "s").steps(SimpleNamespace(times=np.array([0.3, 0.7]), places=["a", "b"])) == (
        3,
        7,
    )


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (
            written(np.zeros((4, 3, 2)), np.zeros(3)),
            "for each row, got [4, 3, 2] and [3] times",
        ),
        (
            written(np.zeros((3, 2, 2)), np.zeros(3)),
            "needs shape [times, 3, ...], like the field 'x', and",
        ),
        (written(np.zeros((0, 3, 2)), np.zeros(0)), "one time for each row, got [0, 3, 2]"),
        (written(np.full((1, 3, 2), np.inf), np.zeros(1)), "row 0: contains NaN or infinity"),
        (
            lambda f: f.create_group("particles"),
            "has no 'particles/all/position/time' (in '/particles/' there",
        ),
        (lambda f: f.__setitem__("particles", 1.0), "has no 'particles/all/position/time' (in '/particles/'"),
        (
            lambda f: f.__setitem__("particles", h5py.ExternalLink("/etc/passwd", "x")),
            "'/particles' is a link; do not trust it",
        ),
        (
            lambda f: f.__setitem__("particles", h5py.SoftLink("/particles")),
            "'/particles' is a link; do not trust it",
        ),
        (written(np.array([b"a"]), np.zeros(1)), "plain arrays only; do not trust it"),
        (
            lambda f: f.create_dataset("particles/all/position/time", data=np.zeros(9), compression="gzip"),
            "'particles/all/position/time' is stored through a filter",
        ),
    ],
)
def test_trajectories_that_are_not_read(fill: Any, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_measurements("x.h5", trajectory(fill), PLANE)
    assert str(error.value).startswith("'x.h5'")
    assert message in str(error.value)


def test_a_master_or_rubbish_is_not_read(tmp_path: Path) -> None:
    def virtual(file: h5py.File) -> None:
        layout = h5py.VirtualLayout((2,), float)
        layout[:] = h5py.VirtualSource("/etc/passwd", "x", (2,))
        file.create_virtual_dataset("particles/all/position/time", layout)

    with pytest.raises(UserError, match=r"keeps its data in another file; for a run, name a segment"):
        read_measurements("x.h5", trajectory(virtual), PLANE)
    with pytest.raises(UserError, match=r"'x.h5': not a readable HDF5 file: "):
        read_measurements("x.h5", b"\x89HDF\r\n\x1a\n" + bytes(200), PLANE)
    data = trajectory(written(np.zeros((1, 3, 2)), np.zeros(1237)))
    with hdf5_trust.open_bytes(data) as file:
        offset = file["particles/all/position/time"].id.get_offset()
    many = data.replace(struct.pack("<qq", offset, 8 * 1237), struct.pack("<qq", offset, 8 * 10**11))
    many = many.replace(struct.pack("<q", 1237), struct.pack("<q", 10**11))  # 800 GB, it claims
    with pytest.raises(UserError, match=r"claims more bytes than the file has|invalid dataset size"):
        read_measurements("x.h5", many, PLANE)
    for end in range(20, len(data), 97):
        with pytest.raises(UserError):
            read_measurements("x.h5", data[:end], PLANE)
