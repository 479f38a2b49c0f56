"""Runs that diverge: said early, ended by name with exit code 5, refused by `resume`; no other is accused."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.cli import main
from minusgrad.app.info import info
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import run
from minusgrad.errors import DivergedError, InterruptedRunError, NonFiniteError
from minusgrad.files import checkpoint
from tests.support.command import SCENES, own_files
from tests.support.short_scenes import IN_TIME, moved, path_of
from tests.support.tiers import sampled

LATTICE = """
[units]
length = "nm"
mass = "u"
time = "ps"
[state]
kind = "rectangle"
size = ["1 nm", "1 nm"]
cells = [4, 4]
density = "1016 u/nm^3"
thickness = "1 nm"
velocity = ["10 m/s", "3 m/s"]
[[energy]]
kind = "spring"
stiffness = "20 N/m"
[[hold]]
body = "left"
[stepper]
kind = "leapfrog"
dt = "5 fs"
[run]
steps = 400
[checkpoint]
every = 25
[[observe]]
kind = "frames"
every = 100
"""
CURE = "resuming cannot cure this; start a new run with a smaller dt"


@pytest.fixture
def lattice(tmp_path: Path) -> Path:
    (tmp_path / "lattice.toml").write_text(LATTICE)
    return tmp_path / "lattice.toml"


def events(folder: Path, name: str) -> list[dict]:
    lines = (json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines())
    return [event for event in lines if event["event"] == name]


def test_the_step_size_is_said_at_the_start(lattice, capsys):
    assert main(["run", str(lattice), "--out", str(lattice.parent / "run"), "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["outcome"] == "finished"
    size = found["step_size"]
    assert size["limit"] == pytest.approx(2.0 / size["omega_max"])
    first = next(line for line in said.err.splitlines() if line.startswith("minusgrad: dt = "))
    share = round(100 * 0.005 / size["limit"])
    assert first.startswith(f"minusgrad: dt = 0.005 ps is {share} % of the stability limit, ")
    (event,) = events(lattice.parent / "run", "step size")
    assert f"minusgrad: {event['text']}" == first
    assert event["omega_max"] == size["omega_max"]
    assert not events(lattice.parent / "run", "warned")


def test_a_run_beyond_the_limit_ends_by_name(lattice, capsys):
    folder = lattice.parent / "run"
    assert main(["run", str(lattice), 'stepper.dt="70 fs"', "--out", str(folder), "--json"]) == 5
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["outcome"], found["folder"]) == ("diverged", str(folder))
    (first,) = (line for line in said.err.splitlines() if line.startswith("minusgrad: dt = "))
    assert first.endswith("the fastest motion grows without bound: use a smaller dt")
    assert f"minusgrad: {CURE}" in said.err
    assert info(folder)["state"] == "diverged"
    assert info(folder)["failed"] == [found["error"]]
    saved = checkpoint.step_of(checkpoint.list_checkpoints(folder / "ckpt")[-1])
    assert saved < found["step"]
    (event,) = events(folder, "failed")
    assert event["outcome"] == "diverged"
    for _ in range(2):
        assert main(["resume", str(folder), "--json"]) == 5
        said = capsys.readouterr()
        assert said.err == f"minusgrad: {folder}: has diverged ({found['error']}); {CURE}\n"
        assert json.loads(said.out)["outcome"] == "diverged"
    assert info(folder)["state"] == "diverged"


def test_with_another_dt_it_may_go_on(lattice):
    folder = lattice.parent / "run"
    with pytest.raises(DivergedError):
        run(lattice, {"stepper.dt": "70 fs"}, out=folder)
    (folder / "overrides.json").write_text('["stepper.dt=0.001"]')
    assert resume(folder, allow_changed=True).outcome == "finished"


ATOMS = """
[units]
length = "angstrom"
mass = "u"
time = "ps"
[state]
kind = "from_csv"
file = "atoms.csv"
[box]
edges = ["16 angstrom", "16 angstrom", "16 angstrom"]
[[energy]]
kind = "lennard_jones"
epsilon = "1 kJ/mol"
sigma = "3.4 angstrom"
cutoff = "7 angstrom"
[stepper]
kind = "leapfrog"
dt = "5 fs"
[run]
steps = 100
"""


@pytest.mark.parametrize("second", ["1, 1, 1", "17, 1, -15"])
def test_atoms_in_one_place_are_named_and_no_smaller_dt_is_advised(second, tmp_path, capsys):
    """The second is at the place of the first itself, or at that of an image."""
    rows = ("1, 1, 1", second, "5, 5, 5")
    table = "\n".join(["x, y, z, vx, vy, vz, m", *(f"{row}, 0, 0, 0, 40" for row in rows)])
    (tmp_path / "atoms.csv").write_text(table)
    (tmp_path / "atoms.toml").write_text(ATOMS)
    assert main(["run", str(tmp_path / "atoms.toml"), "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert (
        "minusgrad: step 0: the energy of term 'lennard_jones' is inf; term 'lennard_jones', node 0: its"
        " force on 'x' is not finite; node 1 is in the same place, move one of them\n"
        "minusgrad: resuming cannot cure this; begin with another state\n"
    ) in said


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_atoms_that_are_too_near_diverge_without_other_noise(tmp_path, capsys):
    rows = ("1, 1, 1", "1.001, 1, 1", "5, 5, 5")
    table = "\n".join(["x, y, z, vx, vy, vz, m", *(f"{row}, 0, 0, 0, 40" for row in rows)])
    (tmp_path / "atoms.csv").write_text(table)
    (tmp_path / "atoms.toml").write_text(ATOMS)
    assert main(["run", str(tmp_path / "atoms.toml"), "--out", str(tmp_path / "run")]) == 5
    assert "the run has diverged" in capsys.readouterr().err


def test_python_raises_a_named_error(lattice):
    with pytest.raises(DivergedError, match="the run has diverged") as caught:
        run(lattice, {"stepper.dt": "46 fs", "run.steps": 4000}, out=lattice.parent / "run")
    assert caught.value.exit_code == 5
    assert caught.value.__notes__[0] == CURE


def test_python_is_warned_of_a_step_that_is_too_large(lattice):
    """At the line of the caller; with a `say` it is told there, and no other run warns."""
    change, said = {"stepper.dt": "46 fs", "run.steps": 4000}, []
    warned = pytest.warns(UserWarning, match="the fastest motion grows without bound: use a smaller dt")
    with warned as seen, pytest.raises(DivergedError):
        run(lattice, change, out=lattice.parent / "run")
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DivergedError):
            run(lattice, change, out=lattice.parent / "told", say=said.append)
        run(lattice, {"run.steps": 4000}, out=lattice.parent / "right")
    assert "use a smaller dt" in said[0]


@pytest.mark.parametrize(("dt", "arrays"), [(1e12, "u"), (1e3, "du/dx")])
def test_numbers_that_leave_their_range_while_it_goes_on_ask_for_a_smaller_dt(tmp_path, dt, arrays):
    """Not for other units at first, as at the start: squares of distances overflow in f32."""
    fields = {"x": np.eye(3), "v": np.ones((3, 3)), "m": np.ones(3)}
    bonds = np.array([[0, 1], [1, 2]])
    energy = {
        "u": minusgrad.energy("gravity", G=1.0, softening=0.1),
        "du/dx": minusgrad.energy("spring", stiffness=3.0, rest=1.0, tuples=bonds),
    }
    simulation = minusgrad.Simulation(
        fields=fields,
        energies=[energy[arrays]],
        stepper=minusgrad.Leapfrog(dt=dt),
        units="dimensionless",
        runtime={"precision": "f32"},
    )
    with pytest.raises(NonFiniteError, match=f"{arrays} leaves the range of f32") as caught:
        simulation.run(steps=5, out=tmp_path / "run")
    said = str(caught.value)
    assert said.startswith("step ")
    assert said.endswith(
        "; try a smaller dt, and if that does not help, units in which such numbers are nearer to 1"
    )
    assert caught.value.exit_code == 5


def test_infinity_ends_by_the_same_name(lattice):
    with pytest.raises(NonFiniteError) as caught:
        run(lattice, {"stepper.dt": "10 ns", "run.steps": 40}, out=lattice.parent / "run")
    assert caught.value.exit_code == 5
    assert caught.value.facts["outcome"] == "diverged"


def test_drift_is_said_while_the_run_goes_on(tmp_path):
    """Two bodies by symplectic Euler with too long a step: the energy is off by a fifth."""
    said: list[str] = []
    change = {"stepper.kind": "symplectic_euler", "stepper.dt": 0.3, "run.steps": 1000}
    done = run(SCENES / "two_body.toml", change, out=tmp_path / "run", say=said.append)
    warned = [text for text in said if "the total energy is off by" in text]
    assert len(warned) == 1
    assert warned[0] in done.remarks
    (event,) = events(tmp_path / "run", "warned")
    assert event["text"] == warned[0]
    assert int(warned[0].split()[1].rstrip(":")) < 1000


def test_the_watch_goes_on_from_the_start_of_the_run(lattice, monkeypatch):
    """What was lost before an interruption counts."""
    folder, looks = lattice.parent / "run", []
    kept = minusgrad.steppers.stability.energy_balance.EnergyWatch.begin

    def begin(watch, *more):
        kept(watch, *more)
        looks.append((watch.start, more))

    monkeypatch.setattr(minusgrad.steppers.stability.energy_balance.EnergyWatch, "begin", begin)
    with pytest.raises(InterruptedRunError):
        run(lattice, out=folder, max_hours=1e-12)
    resume(folder)
    (first, none), (second, given) = looks
    assert none == ()
    assert second == first == given[0]


@pytest.mark.parametrize("scene", sampled(IN_TIME, [n for n in IN_TIME if n != "peptide_in_water"][::2]))
def test_shipped_scenes_are_not_accused(scene, tmp_path):
    own = minusgrad.scene.document.load(path_of(scene)).data["stepper"]["kind"]
    said: list[str] = []
    files = own_files(scene)
    run(path_of(scene), moved(scene, own), out=tmp_path / "run", plugins=files, say=said.append)
    assert not events(tmp_path / "run", "warned")
    assert [text for text in said if "bound" in text or "energy" in text] == []


def test_a_search_that_diverges_has_a_name(tmp_path, capsys):
    """Adam with a rate that sends a springs' network to infinity."""
    change = [
        "stepper.kind=adam",
        "stepper.rate=1e300",
        "run.steps=20",
        "--out",
        str(tmp_path / "run"),
        "--json",
    ]
    code = main(["run", str(SCENES / "stretch.toml"), *change])
    assert code == 5
    assert json.loads(capsys.readouterr().out)["outcome"] == "diverged"
