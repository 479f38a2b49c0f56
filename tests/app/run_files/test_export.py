"""`minusgrad export`: every number keeps its bits as text."""

import csv
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.errors import RunFailedError
from minusgrad.files import durable, trajectory
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.frames import series_names
from minusgrad.files.run_folder import RunDir
from minusgrad.files.trajectory import Recorder
from tests.support import saved_runs as standin
from tests.support.atom_runs import atom_run
from tests.support.looked_at import complaint, copied, flipped, unbroken

AWKWARD = [0.1, -0.0, 1e-300, 1.7976931348623157e308, 1 / 3, -2.2250738585072014e-308, np.pi * 1e-40, 2.0**60]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of awkward numbers in three segments: every kind of series, in rhythms of their own."""
    path = tmp_path_factory.mktemp("recorded") / "run"
    chance = np.random.default_rng(8)
    units = {"total": ("J", 1.0), "momentum": ("kg m/s", 1.0), "position": ("m", 1.0), "dose": ("1", 1.0)}
    lists = {"bonds": np.array([[0, 1], [1, 2]]), "faces": np.array([[0, 1, 2]])}
    grids = {
        "canvas": trajectory.Raster((2, 3), 0.5, ("mm", 1e-3)),
        "line": trajectory.Raster((4,), 1.0, None),
        "box": trajectory.Raster((2, 1, 2), 1.0, None),
    }
    rows = Recorder(units, ("day", 86400.0), lists, ("bonds",), grids)
    with RunDir.create(path, b"", []) as run:
        for step in range(12):
            t = AWKWARD[step % 8] if step % 2 else step / 3
            rows.record_observables(step, t, {"total": AWKWARD[step % 8]})
            if step % 3 == 0:
                vector, stress = (
                    chance.normal(size=3) * 10.0 ** chance.integers(-300, 300),
                    chance.normal(size=(2, 2)),
                )
                rows.record_observables(step, t, {"momentum": vector, "stress": stress})
                rows.record_observables(step, t, {"modes": chance.normal(size=5)})
                rows.record_frame(
                    step, t, {"position": chance.normal(size=(3, 2)), "charge": chance.normal(size=3)}
                )
                rows.record_frame(step, t, {"single": chance.normal(size=(3, 2)).astype(np.float32)})
            if step % 4 == 0:
                rows.record_cells(
                    step, t, "bonds", {"stress": np.float32(chance.normal(size=2)), "pair": np.eye(2)}
                )
                rows.record_cells(step, t, "faces", {"stress": chance.normal(size=(1, 3))})
                rows.record_grid(step, t, "canvas", {"dose": chance.normal(size=6).astype(np.float32)})
                rows.record_grid(step, t, "line", {"heat": chance.normal(size=4)})
                rows.record_grid(step, t, "box", {"heat": chance.normal(size=4)})
                run.save(Snapshot(step, t, 0.1, {}), rows, 3)
        run.save(Snapshot(12, 4.0, 0.1, {}), rows, 3)
    assert len(trajectory.segments(path)) == 4
    return path


def read_back(text: str) -> tuple[list[str], list[list[str]]]:
    """The names of the columns, and the rows."""
    head, *rows = csv.reader(text.splitlines())
    assert all(len(row) == len(head) for row in rows)
    return head, rows


def bits(values: Any) -> list[bytes]:
    return [struct.pack("<d", float(value)) for value in values]


def test_observables_of_different_rhythms_join_and_keep_their_bits(recorded: Path, invoke: Callable) -> None:
    code, out, err = invoke("export", recorded)
    assert (code, err) == (0, "")
    head, rows = read_back(out)
    modes = [f"modes.{k}" for k in range(5)]
    momentum = [f"momentum.{axis} [kg m/s]" for axis in "xyz"]
    stress = ["stress.xx", "stress.xy", "stress.yx", "stress.yy"]
    assert head == ["step", "time [day]", *modes, *momentum, *stress, "total [J]"]
    assert [int(row[0]) for row in rows] == list(range(12))
    names = ["modes"] * 5 + ["momentum"] * 3 + ["stress"] * 4 + ["total"]
    clock = trajectory.series(recorded, "observables/total").time
    assert bits(row[1] for row in rows) == bits(clock)
    for column, name in enumerate(names, start=2):
        series = trajectory.series(recorded, f"observables/{name}")
        there = [(int(row[0]), row[column]) for row in rows if row[column]]
        assert [step for step, _ in there] == series.step.tolist()
        values = series.value.reshape(len(series.step), -1)[:, column - 2 - names.index(name)]
        assert bits(cell for _, cell in there) == bits(values)
    assert bits(row[-1] for row in rows) == bits((AWKWARD * 2)[:12])


@pytest.mark.parametrize(
    ("name", "series", "what", "columns"),
    [
        ("position", "particles/all/position", ["node"], ["position.x [m]", "position.y [m]"]),
        ("charge", "particles/all/charge", ["node"], ["charge"]),
        ("single", "particles/all/single", ["node"], ["single.x", "single.y"]),
        ("pair", "cells/bonds/pair", ["tuple"], ["pair.x", "pair.y"]),
        ("cells/bonds/stress", "cells/bonds/stress", ["tuple"], ["stress"]),
        ("cells/faces/stress", "cells/faces/stress", ["tuple"], [f"stress.{axis}" for axis in "xyz"]),
        ("dose", "grids/canvas/dose", ["row", "column"], ["dose"]),
        ("grids/line/heat", "grids/line/heat", ["row"], ["heat"]),
        ("grids/box/heat", "grids/box/heat", ["row", "column", "layer"], ["heat"]),
        ("momentum", "observables/momentum", [], [f"momentum.{axis} [kg m/s]" for axis in "xyz"]),
    ],
)
def test_every_kind_of_series_keeps_its_bits(
    name: str, series: str, what: list[str], columns: list[str], recorded: Path, invoke: Callable
) -> None:
    """Single precision too: each of its numbers is one of double precision."""
    code, out, err = invoke("export", recorded, name)
    assert (code, err) == (0, "")
    head, rows = read_back(out)
    whole = trajectory.series(recorded, series)
    assert head == ["step", "time [day]", *what, *columns]
    shape = whole.value.shape[1 : 1 + len(what)]
    places = [(step, *place) for step in whole.step.tolist() for place in np.ndindex(*shape)]
    assert [tuple(map(int, [row[0], *row[2 : 2 + len(what)]])) for row in rows] == places
    cells = [cell for row in rows for cell in row[2 + len(what) :]]
    assert bits(cells) == bits(whole.value.ravel().tolist())
    assert np.array_equal(np.array(list(map(float, cells)), whole.value.dtype), whole.value.ravel())
    times = np.repeat(whole.time, len(rows) // len(whole.step))
    assert bits(row[1] for row in rows) == bits(times)


SUBNORMAL = """
import io, struct, sys
from pathlib import Path
from minusgrad.files import trajectory
from minusgrad.app.results.csv_export import export
from minusgrad.files.run_folder import RunDir
from minusgrad.files.checkpoint import Snapshot

values = [5e-324, -1e-310, 2.2250738585072009e-308, 1.2345e-320, float("inf"), float("nan")]
rows = trajectory.Recorder({}, ("s", 1.0))
for step, value in enumerate(values):
    rows.record_observables(step, 0.1 * step, {"total": value})
path = Path(sys.argv[1])
with RunDir.create(path, b"", []) as run:
    run.save(Snapshot(9, 0.9, 0.1, {}), rows, 3)
out = io.StringIO()
export(path, [], out)
read = [float(line.split(",")[2]) for line in out.getvalue().splitlines()[1:]]
print([struct.pack("<d", a) == struct.pack("<d", b) for a, b in zip(values, read, strict=True)])
"""


def test_the_smallest_numbers_keep_their_bits(here: Path) -> None:
    """In a process without Taichi, which lets the processor take subnormal numbers for zero."""
    done = subprocess.run([sys.executable, "-c", SUBNORMAL, "run"], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{[True] * 6}\n", "")


def test_series_of_the_same_places_stand_side_by_side(recorded: Path, invoke: Callable) -> None:
    head, rows = read_back(invoke("export", recorded, "position", "charge")[1])
    assert head == ["step", "time [day]", "node", "position.x [m]", "position.y [m]", "charge"]
    charge = trajectory.series(recorded, "particles/all/charge").value.ravel()
    assert bits(row[5] for row in rows) == bits(charge)
    head, _ = read_back(invoke("export", recorded, "total", "modes")[1])
    assert head[2] == "total [J]", "in the order that was asked for"


def test_names_that_are_none_or_several(recorded: Path, invoke: Callable) -> None:
    text = complaint(invoke, "export", recorded, "totl")
    there = ", ".join(series_names.shortest_names(trajectory.names(recorded)))
    assert text == f"{recorded}: no series named 'totl'; did you mean 'total'? (there are: {there})"
    text = complaint(invoke, "export", recorded, "heat")
    assert text == f"{recorded}: 'heat' may be grids/box/heat or grids/line/heat; write one of them out"
    text = complaint(invoke, "export", recorded, "total", "position")
    assert text == (
        "observables/total: have one row for each step, the others one for each node or cell;"
        " export them to separate files"
    )
    for one, other in (("position", "dose"), ("grids/box/heat", "grids/line/heat"), ("position", "pair")):
        assert complaint(invoke, "export", recorded, one, other).endswith(
            "belong to different nodes or cells; export them one by one"
        )


def test_series_looked_at_at_other_steps_are_refused_before_a_line(here: Path, invoke: Callable) -> None:
    rows = standin.recorder()
    with RunDir.create(here / "run", b"", []) as run:
        for step in (1, 2, 3, 4):
            rows.record_frame(step, 0.1, {"position": np.ones(2)})
            if step > 2:
                rows.record_frame(step, 0.1, {"late": np.ones(2)})
            run.save(Snapshot(step, 0.1, 0.1, {}), rows, 3)
    assert complaint(invoke, "export", "run", "position", "late") == (
        "particles/all/position, particles/all/late: were recorded at different steps; export them one by one"
    )


def test_a_run_without_observables_asks_for_a_name(here: Path, invoke: Callable) -> None:
    run = unbroken(here / "run", 0)
    assert complaint(invoke, "export", run) == f"{run}: has no observables; name a series (there are: none)"


def test_export_into_a_file(recorded: Path, invoke: Callable, here: Path) -> None:
    shown = invoke("export", recorded, "position")[1]
    code, out, err = invoke("export", recorded, "position", "--out", "positions.csv")
    assert (code, out, err) == (0, "positions.csv: 12 rows\n", "")
    assert (here / "positions.csv").read_bytes() == shown.encode()
    before = (here / "positions.csv").read_bytes()
    assert "no series named 'nope'" in complaint(invoke, "export", recorded, "nope", "--out", "positions.csv")
    assert (here / "positions.csv").read_bytes() == before, "what was there stands"
    assert complaint(invoke, "export", recorded, "--out", "deep/total.csv") == (
        "deep/total.csv: cannot be written: there is no folder deep; give a file with --out"
    )
    assert complaint(invoke, "export", recorded, "--out", here) == (
        f"{here}: cannot be written: is a folder; give a file with --out"
    )
    assert [path.name for path in here.iterdir()] == ["positions.csv"]


def test_a_damaged_segment_is_not_exported(made: Path, invoke: Callable, here: Path) -> None:
    run = copied(made, "two")
    flipped(trajectory.segments(run)[2])
    assert "damaged: its bytes have SHA-256" in complaint(invoke, "export", run, "--out", "x.csv")
    assert not (here / "x.csv").exists()


@pytest.mark.parametrize("form", ["csv", "extxyz", "pdb", "xtc"])
def test_a_full_disk_while_exporting_leaves_nothing(form, here: Path, invoke, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    run, series = here / "run", np.ones((3, 2, 3))
    atom_run(run, {"position": series}, observables={"total": series[:, 0, 0]})
    monkeypatch.setattr(durable.os, "replace", full)
    code, _, err = invoke("export", run, "--format", form, "--out", "x.file")
    assert code == RunFailedError.exit_code
    assert (
        err == "minusgrad: x.file: cannot be written: No space left on device; give another file with --out\n"
    )
    assert list(here.iterdir()) == [run]
