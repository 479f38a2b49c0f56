"""The files of an ensemble for people and other programs: tables, arrays with names, pictures, readers."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from vtkmodules.vtkIOHDF import vtkHDFReader

from minusgrad.app.cli import main
from minusgrad.app.results.csv_export import export, export_table
from minusgrad.app.results.ensemble_run import EnsembleRun
from minusgrad.errors import RunFolderError, UserError
from minusgrad.files import trajectory
from minusgrad.plot.curves import fans
from minusgrad.plot.pictures import plot
from tests.support.documented import imported
from tests.support.ensembles import TWO_BODIES, ensemble, written

STATISTICS = TWO_BODIES + '\n[ensemble.statistics]\nof = ["total"]\nquantiles = [0.5]\n'


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> EnsembleRun:
    folder = tmp_path_factory.mktemp("output")
    return ensemble(written(folder, STATISTICS), folder / "run", "ensemble.members=5", "observe.1.every=2")


def lines(write, *arguments: object) -> list[dict[str, str]]:
    out = io.StringIO()
    write(*arguments, out=out)
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def test_a_table_has_a_row_for_each_member(done: EnsembleRun) -> None:
    rows, total = lines(export_table, done.folder), done.series("observables/total").value
    assert [row["member"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert [float(row["gravity.G"]) for row in rows] == done.points["gravity.G"].tolist()
    assert [float(row["state.x.1.0"]) for row in rows] == done.points["state.x"][:, 1, 0].tolist()
    assert [float(row["total"]) for row in rows] == total[-1].tolist()
    assert {row["state"] for row in rows} == {"finished"}
    assert [str(one["gravity.G"]) for one in done.members] == [row["gravity.G"] for row in rows]


def test_series_have_a_row_for_each_step_and_member(done: EnsembleRun) -> None:
    total, position = (done.series(n).value for n in ("observables/total", "particles/all/position"))
    rows = lines(export, done.folder, ["total", "drift"])
    assert np.array_equal([float(row["total"]) for row in rows], total.ravel())
    assert [row["member"] for row in rows[:6]] == ["0", "1", "2", "3", "4", "0"]
    rows = lines(export, done.folder, ["position"])
    assert np.array_equal([float(row["position.y"]) for row in rows], position[..., 1].ravel())
    assert (rows[3]["member"], rows[3]["node"]) == ("1", "1")
    assert len(lines(export, done.folder, ["mean/total"])) == len(total)
    with pytest.raises(UserError, match="statistics one for each step"):
        lines(export, done.folder, ["total", "mean/total"])


def test_export_of_members_from_the_command_line(
    done: EnsembleRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(done.folder), "--table", "--out", str(tmp_path / "table.csv")]) == 0
    assert "5 rows" in capsys.readouterr().out
    assert main(["export", str(done.folder), "--member", "3", "--out", str(tmp_path / "three")]) == 0
    assert main(["info", str(tmp_path / "three"), "--json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{") :])["state"] == "finished"
    assert main(["export", str(tmp_path / "three"), "--table"]) == RunFolderError.exit_code
    assert main(["export", str(done.folder), "total", "--table"]) == UserError.exit_code


def test_xarray_has_named_axes(done: EnsembleRun) -> None:
    pytest.importorskip("xarray")
    found = done.to_xarray()
    assert found["total"].dims == ("time", "member")
    assert found["position"].dims == ("time", "member", "node", "component_2")
    assert found["mean/total"].dims == ("time",)
    assert found["gravity.G"].dims == ("member",)
    one = found["position"].sel(member=3).isel(time=-1, node=1).values
    assert np.array_equal(one, done.series("particles/all/position").value[-1, 3 * 2 + 1])
    assert np.array_equal(found["step"].values, done.series("observables/total").step)
    assert not found["failed"].values.any()


def test_other_programs_read_the_file(done: EnsembleRun) -> None:
    """MDAnalysis has the nodes of all members, VTK, too."""
    file = str(done.folder / "trajectory.h5")
    universe = imported("MDAnalysis").Universe.empty(10, trajectory=True)
    universe.load_new(file, format="H5MD", convert_units=False)
    assert len(universe.trajectory) == 7
    universe.trajectory[-1]
    last = done.series("particles/all/position").value[-1].astype(np.float32)
    assert np.array_equal(universe.atoms.positions[:, :2], last)
    reader = vtkHDFReader()
    assert reader.CanReadFile(file)
    reader.SetFileName(file)
    reader.Update()
    assert reader.GetOutputDataObject(0).GetNumberOfPoints() == 10


def test_pictures_are_fans_over_the_members(done: EnsembleRun, tmp_path: Path) -> None:
    drawn = plot(done.folder, tmp_path)
    assert {path.stem for path in drawn} == {"orbits", "members"}
    values = np.array([[1.0, 2.0, 3.0], [np.nan, 4.0, 6.0]])
    assert np.array_equal(fans._quantiles(values, [0.5])[0], [2.0, 5.0])
    assert "3 members, 1 failed" in fans._legend(values)
    names = trajectory.names(done.folder)
    assert not fans.jobs(done.folder, names, members=6)
