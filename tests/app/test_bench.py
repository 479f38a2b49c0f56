"""The scoreboard: its statistics, its records, what it leaves out by name, and that its C is right.

Nothing here looks at a clock.
"""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from minusgrad.engine import devices
from tests.support import instances
from tests.support.command import minusgrad

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import (  # noqa: E402
    chain_of_rods,
    device_peers,
    double_pendula,
    energies,
    ensembles,
    falcon,
    far_pairs,
    far_pairs_errors,
    far_pairs_scaling,
    few_bodies,
    gravity_forces,
    laser_deposit,
    leapfrog,
    liquid,
    liquid_lists,
    liquid_product,
    neo_hookean,
    planetary_orbits,
    rigid_water,
    statics,
    works,
)
from benchmarks.harness import cases, measuring, pairing, peers, plots, records, session, tables  # noqa: E402
from benchmarks.harness.cases import OURS, BenchError, C, Case, Goal, MissingColumnError  # noqa: E402
from benchmarks.harness.measuring import Measured, Row, Verdict  # noqa: E402
from benchmarks.harness.pairing import Times  # noqa: E402
from benchmarks.harness.process import Process  # noqa: E402
from benchmarks.harness.session import Settings  # noqa: E402
from benchmarks.solid import Solid  # noqa: E402
from benchmarks.solid_in_c import InC  # noqa: E402

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
PRECISIONS = ("f32", "f64")


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    """Small sizes, two threads."""
    session.expect(Settings(threads=2, quick=True))
    yield
    session.expect(Settings())


# The clock ------------------------------------------------------------------------------------------


def test_minimum_median_and_what_has_settled():
    times = Times((2.0, 1.0, 1.1))
    assert (times.minimum, times.median, times.settled) == (1.0, 1.1, True)
    assert not Times((1.0, 1.3, 1.4)).settled
    assert pairing.ratio(Times((3.0, 4.0)), times) == 3.0


def test_columns_take_turns():
    order: list[str] = []

    def turn(name: str, seconds: float) -> Callable[[int], float]:
        return lambda calls: order.append(name) or seconds  # type: ignore[func-returns-value]

    found = pairing.paired({"A": turn("A", 0.01), "B": turn("B", 0.5)}, 3)
    assert order == ["A", "B"] * 4  # the first of each tells how many calls fill a turn
    assert [found[name].calls for name in "AB"] == [5, 1]
    assert len(found["A"].turns) == 3


def test_what_disagrees_is_measured_again():
    uneasy = iter([1.0, 1.0, 1.5, 1.5, *[1.0] * 20])
    found = pairing.paired({"A": lambda calls: 1.0, "B": lambda calls: next(uneasy)}, 3)
    assert len(found["A"].turns) == len(found["B"].turns) == 6
    assert found["B"].settled


def test_measuring_again_ends():
    noise = iter(range(1, 1000))
    found = pairing.paired({"A": lambda calls: float(next(noise))}, 2)
    assert len(found["A"].turns) == 2 * (1 + pairing.RERUNS)
    assert not found["A"].settled


def test_what_takes_long_is_soon_over():
    spent = iter([30.0] * 4)
    found = pairing.paired({"A": lambda calls: 30.0, "B": lambda calls: 20.0 + next(spent)}, 7)
    assert len(found["A"].turns) == len(found["B"].turns) == pairing.SELDOM


def test_what_is_slow_has_few_turns_and_keeps_nobody_waiting():
    slow = iter([19.0, 15.0, 16.0, 17.0, 18.0])
    found = pairing.paired({"A": lambda calls: 1.0, "slow": lambda calls: next(slow)}, 5)
    assert len(found["A"].turns) == 5
    assert len(found["slow"].turns) == pairing.SELDOM


# Answers --------------------------------------------------------------------------------------------


def test_errors_are_in_parts_of_the_largest_number_of_the_first_rows():
    right = np.array([[10.0, 1.0]])
    assert cases.error(np.array([[10.0, 2.0], [7.0, 7.0]]), right) == pytest.approx(0.1)
    assert cases.error(np.zeros((1, 3)), right) == np.inf
    assert cases.error(np.array([[np.nan, 1.0]]), right) == np.inf
    assert cases.error(np.array(1e-9), np.array(0.0)) == pytest.approx(1e-9)


@needs_gcc
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("registers", [False, True])
def test_c_forces_are_ours(precision: str, registers: bool):
    x, m = gravity_forces.bodies(100, precision)  # no multiple of a register
    right = gravity_forces.ours(x, m, precision)()
    found = gravity_forces.in_c(x, m, precision, registers)()
    assert cases.error(found[:100], np.asarray(right, float)) < gravity_forces.TOLERANCE[precision]
    assert cases.error(right, gravity_forces.expected(x, m)) < gravity_forces.TOLERANCE[precision]


@needs_gcc
@pytest.mark.parametrize("precision", PRECISIONS)
def test_c_solid_is_ours(precision: str):
    solid = neo_hookean.box((3, 2, 2), precision)
    in_c = InC(solid, precision, threads=2)
    for name, ours in (("gradient", neo_hookean.our_gradient), ("product", neo_hookean.our_product)):
        right = getattr(solid, name)()
        for call in (ours(solid, precision), in_c.by_slots(name), in_c.by_parts(name)):
            assert cases.error(call(), right) < neo_hookean.TOLERANCE[precision]
    right = neo_hookean.lower(solid.element_hessians())
    for call in (neo_hookean.in_c(solid, precision), neo_hookean.our_hessians(solid, precision)):
        assert cases.error(cases.numbers(call()), right) < neo_hookean.TOLERANCE[precision]


def test_numpy_solid_is_its_own_derivative():
    solid = Solid.of((2, 1, 1))
    h = 1e-6
    change = [replace(solid, x=solid.x + s * h * solid.along).gradient() for s in (1, -1)]
    assert solid.product() == pytest.approx((change[0] - change[1]) / (2 * h), abs=1e-7)
    energies = [replace(solid, x=solid.x + s * h * solid.along).energy() for s in (1, -1)]
    slope = float((solid.gradient() * solid.along).sum())
    assert slope == pytest.approx((energies[0] - energies[1]) / (2 * h), abs=1e-7)
    whole = solid.element_hessians()
    assert whole == pytest.approx(whole.transpose(0, 2, 1), abs=1e-12)


@needs_gcc
@pytest.mark.parametrize("precision", PRECISIONS)
def test_c_laser_is_right(precision: str):
    case = laser_deposit.case(300, precision)
    assert case.expected
    for name in (C, OURS):
        answer = cases.numbers(case.columns[name].make()())
        assert cases.error(answer, case.expected()) < case.tolerance


def test_our_double_pendula_keep_their_energy_as_scipys_do():
    case = double_pendula.case(2)
    assert case.expected
    for name, column in case.columns.items():
        if name == double_pendula.HEYOKA and find_spec("heyoka") is None:
            continue
        assert cases.error(column.make()(), case.expected()) < case.tolerance


@pytest.mark.long
def test_our_rigid_waters_are_those_of_openmm():
    """OpenMM keeps distances in single precision: 5e-8 angstrom of 18.6 are 3e-9."""
    pytest.importorskip("openmm")
    case = rigid_water.case("f64", 5)
    assert case.expected
    assert case.energy
    call, energy = case.columns[OURS].make()
    assert energy == pytest.approx(case.energy(), rel=1e-8)
    assert cases.error(call(), case.expected()) < 1e-8


def test_our_chains_fall_and_rods_keep_their_lengths():
    case = chain_of_rods.case(40)
    for column in case.columns.values():
        assert (expected := column.expected or case.expected)
        assert cases.error(column.make()(), expected()) < case.tolerance


@needs_gcc
def test_c_leapfrog_is_right():
    case = leapfrog.case("call", 50, 20, "f64")
    assert case.expected
    assert cases.error(case.columns[C].make()(), case.expected()) < 1e-12
    few = few_bodies.case(3, 50)
    assert few.expected
    for name in (C, OURS):
        assert cases.error(few.columns[name].make()(), few.expected()) < 1e-12


@pytest.mark.parametrize("which", ["bodies", "springs", "runs"])
def test_our_members_are_right(which: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ensembles, "MEMBERS", 9)
    for cached in (ensembles.starts, ensembles.net):
        cached.cache_clear()
    made = {"bodies": lambda: ensembles.bodies(5, "f64", 6.0, {}), "springs": lambda: ensembles.springs(5)}
    case = (made | {"runs": lambda: ensembles.runs(5)})[which]()
    for name, column in case.columns.items():
        if not column.peer:
            assert (expected := column.expected or case.expected)
            assert cases.error(column.make()(), expected()) < case.tolerance, name
    for cached in (ensembles.starts, ensembles.net):
        cached.cache_clear()


def test_our_planets_are_right():
    for case in planetary_orbits.cases():
        assert case.expected
        assert cases.error(case.columns[OURS].make()(), case.expected()) < case.tolerance


def test_our_liquid_is_right(monkeypatch: pytest.MonkeyPatch):
    """In lanes, against the loops over one target at a time."""
    from minusgrad.codegen.element_lanes import lane_loops

    monkeypatch.setattr(lane_loops, "LEAST_TARGETS", 1)
    case = liquid.case(4, "f64", 20)
    assert case.expected
    assert case.energy
    call, energy = case.columns[OURS].make()
    assert energy == pytest.approx(case.energy(), rel=1e-13)
    assert cases.error(call(), case.expected()) < 1e-11


def test_our_lists_and_products_of_a_liquid_are_right():
    for case in (liquid_lists.case(4, "f64"), liquid_product.case(4, "f64")):
        for column in case.columns.values():
            if not column.peer:
                expected = column.expected or case.expected
                assert expected
                assert cases.error(cases.numbers(column.make()()), expected()) <= case.tolerance


def test_our_far_pairs_have_the_error_that_they_are_measured_at():
    case = far_pairs.forces(10_000)
    for column in case.columns.values():
        if not column.peer:
            call, expected = column.make(), column.expected or case.expected
            assert expected
            for _ in range(2):
                assert cases.error(cases.numbers(call()), expected()) <= case.tolerance


def test_the_size_from_which_expansions_are_faster():
    assert far_pairs_scaling.slope((10, 100), (2.0, 200.0)) == pytest.approx(2.0)
    assert far_pairs_scaling.crossing((10, 1000), (10.0, 0.1)) == pytest.approx(100.0)


def test_a_row_of_errors_of_forces():
    row = far_pairs_errors.measured("gravity", 3000, 1e-3, "f64")
    assert 1e-5 < row.rms < 1e-3
    assert str(row).count("|") == 8


def test_scipy_lists_the_same_neighbours():
    case = liquid_lists.case(4, "f64")
    assert case.expected
    found = cases.numbers(case.columns["SciPy's cKDTree"].make()())
    assert cases.error(found, case.expected()) == 0.0
    assert found.min() > 50


@pytest.mark.parametrize(("other", "reason"), [(-5.1, "is -5.1"), (None, "is None"), (np.nan, "is nan")])
def test_another_problem_stops_the_benchmark(other: float | None, reason: str):
    """As of a liquid whose cutoff is shifted, or a column that does not know its energy."""
    case = Case("work", "100", "f64", {}, None, energy=lambda: -5.2, agreement=1e-10)
    measuring.refuse_other_problem(case, "peer", -5.2 * (1.0 + 1e-11), lambda energy: energy())
    with pytest.raises(cases.WrongAnswerError) as raised:
        measuring.refuse_other_problem(case, "peer", other, lambda energy: energy())
    assert str(raised.value) == (
        f"work[100-f64]: peer computes another problem: the energy of its start {reason}, expected -5.2; give"
        " it the same potential, cutoff and units"
    )


def test_our_beam_is_that_of_numpy():
    bend, step = statics.cases()
    beam = statics.of(statics.QUICK)
    sag = statics.equilibrium(beam, "superlu")()
    assert cases.error(np.array(sag), bend.expected()) < bend.tolerance
    moved = step.columns[statics.IMPLICIT]
    assert cases.error(moved.make()().answer, moved.expected()) < step.tolerance


def test_scikit_fem_bends_the_same_beam():
    pytest.importorskip("skfem")
    beam = statics.of(statics.QUICK)
    assert statics.by_scikit_fem(beam)() == pytest.approx(beam.sag(beam.minimum()), rel=statics.SIX_DIGITS)


def test_without_tinyad_its_columns_are_missing_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TINYAD", str(tmp_path))
    with pytest.raises(MissingColumnError, match="TinyAD is not installed; name its folder in TINYAD"):
        statics.by_tinyad(statics.of(statics.QUICK))


def test_without_falcon_it_is_missing_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("FALCON", str(tmp_path))
    with pytest.raises(MissingColumnError, match="name NEMO's usr/dehnen/falcON, built, in FALCON"):
        falcon.in_falcon(far_pairs.sphere(10), 0.5)


# What is measured -----------------------------------------------------------------------------------


def test_every_work_has_cases_whose_labels_are_their_own():
    labels = [case.label for work in works.WORKS for case in works.cases(work)]
    assert len(set(labels)) == len(labels)
    assert {label.partition("[")[0] for label in labels} == set(works.WORKS)
    assert works.find("gravity_forces[1024-f32]").count == 1024**2


def test_every_shipped_energy_is_in_the_table():
    from minusgrad.assembly.registry import Registry
    from minusgrad.energies.constraint import Constraint
    from minusgrad.energies.lagrangian import Lagrangian
    from minusgrad.energies.local_map import LocalMap

    every = Registry.load(None, []).energies()
    no_energies = LocalMap | Constraint | Lagrangian
    here = {name: one for name, one in every.items() if not isinstance(one, no_energies)}
    registered = {name for name, one in here.items() if not instances.examined_by_check(one)}
    assert set(energies.shipped()) == registered - set(instances.MAGNETIC)


def test_goals_name_columns_that_there_are():
    for work in works.WORKS:
        for case in works.cases(work):
            for goal in case.goals:
                assert {goal.base, goal.column} <= set(case.columns), case.label
            assert case.base in case.columns, case.label


def test_a_peer_that_is_not_installed_is_missing_by_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "warp", None)
    with pytest.raises(MissingColumnError, match="warp-lang is not installed"):
        peers.peer("warp")


def test_without_a_compiler_c_is_missing_by_name(monkeypatch: pytest.MonkeyPatch):
    from benchmarks.harness import compiled

    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingColumnError, match="gcc is not on the PATH"):
        compiled.library.__wrapped__("elastic.c", "f32")


def test_a_case_is_measured_by_processes_of_its_own():
    case = replace(
        works.find("gravity_forces[1024-f32]"),
        goals=(Goal("closed form by hand", 1e9),),
        base="closed form by hand",
    )
    kept = {"closed form by hand": case.columns["closed form by hand"], OURS: case.columns[OURS]}
    with measuring.Pool() as pool:
        found = measuring.measure(replace(case, columns=kept), Settings(2, True), ("taichi",), pool)
    assert [row.name for row in found.rows] == ["closed form by hand, taichi", "minusgrad, taichi"]
    assert all(row.error is not None and row.error < case.tolerance for row in found.rows)
    assert [verdict.met for verdict in found.verdicts] == [True]
    assert all(row.memory and row.memory > 1e7 for row in found.rows)


def test_a_process_that_dies_is_told_and_not_taken_for_a_reader_who_left():
    """A broken pipe would end the command with 0."""
    process = Process(Settings(), "taichi")
    process._process.kill()
    process._process.wait()
    with pytest.raises(BenchError, match="its process died"), contextlib.closing(process):
        process.ask(do="turn", case="a", column="C", calls=1, wake=False)


def test_a_wrong_answer_stops_the_benchmark(monkeypatch: pytest.MonkeyPatch):
    case = works.find("gravity_forces[1024-f32]")
    wrong = replace(case, columns={OURS: case.columns[OURS]}, expected=lambda: np.ones((64, 3)))
    with pytest.raises(cases.WrongAnswerError, match="computes something else"), measuring.Pool() as pool:
        measuring.measure(wrong, Settings(2, True), ("taichi",), pool)


# Records --------------------------------------------------------------------------------------------


@pytest.fixture
def measured() -> Measured:
    """Three columns that nobody has measured."""
    case = Case("work", "100", "f32", {}, None, count=100, unit="ns a thing", about={"N": 100})
    rows = [
        Row(name, engine, peer, 0.5, Times((2e-6 * k, 1e-6 * k), 3), 10**8, 1e-7, float(k), k / 2)
        for k, (name, engine, peer) in enumerate(
            [(C, "", False), (OURS, "taichi", False), ("JAX", "", True)], 1
        )
    ]
    goals = (Verdict(Goal(C, 1.2, "taichi"), "minusgrad, taichi", 2.0),)
    return Measured(case, tuple(rows), {"torch": "torch is not installed"}, goals)


def test_a_peer_that_cannot_be_imported_is_missing_with_the_reason(tmp_path: Path, monkeypatch: Any):
    (tmp_path / "broken_peer.py").write_text("raise ImportError('libmpi.so.12: no such file')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingColumnError, match=r"broken_peer cannot be imported: libmpi.so.12: no such"):
        peers.peer("broken_peer")


@pytest.fixture
def document(measured: Measured) -> dict[str, Any]:
    pytest.importorskip("pytest_benchmark")
    return records.document([measured], {"threads": 2, "quick": True})


def test_records_have_pytest_benchmarks_layout(document: dict[str, Any]):
    kept = json.loads(json.dumps(document))
    assert {"machine_info", "commit_info", "benchmarks", "datetime", "version"} <= set(kept)
    one = kept["benchmarks"][1]
    assert (one["group"], one["name"]) == ("work[100-f32]", "minusgrad, taichi")
    assert one["params"] == {"N": 100, "precision": "f32"}
    assert one["stats"]["min"] == 2e-6
    assert one["stats"]["rounds"] == 2
    assert one["extra_info"]["to_base"] == 2.0
    assert kept["missing"] == {"work[100-f32]": {"torch": "torch is not installed"}}
    assert kept["goals"][0]["met"] is False
    assert kept["machine_info"]["versions"]["numpy"] == np.__version__


def test_pytest_benchmark_reads_them(document: dict[str, Any], tmp_path: Path):
    from pytest_benchmark.storage.file import FileStorage

    records.written(tmp_path / "machine" / "0001_ours.json", document)
    storage = FileStorage(str(tmp_path), logger=None, default_machine_id="machine")
    [(_, loaded)] = storage.load("*0001*")
    assert [one["name"] for one in loaded["benchmarks"]] == ["C", "minusgrad, taichi", "JAX"]


def test_tables(document: dict[str, Any]):
    group = tables.groups(document)["work[100-f32]"]
    assert tables.heads(group)[1] == "ns a thing: min"
    rows = {row[0]: row[1:] for row in tables.rows(group)}
    assert rows["minusgrad, taichi"] == ("20 ~", "30", "2", "1", "0.5 s", "100 MB", "1e-07")
    message = tables.document(document)
    assert "| minusgrad, taichi | 20 ~ |" in message
    assert "Missing: torch (torch is not installed)" in message
    assert "missed" in message


def test_pictures(document: dict[str, Any], tmp_path: Path):
    scaling = [
        {
            **one,
            "params": {"physics": "solid", "size": size, "threads": threads},
            "extra_info": {**one["extra_info"], "work": "scaling"},
        }
        for one in document["benchmarks"][:2]
        for size, threads in ((10, 2), (20, 2), (20, 1))
    ]
    document = {**document, "benchmarks": [*document["benchmarks"], *scaling]}
    made = plots.plot(document, tmp_path)
    assert [file.name for file in made] == ["work.png", "scaling.png"]
    assert all(file.stat().st_size > 5000 for file in made)


def test_numbers_stand_beside_the_ticks_of_goals(document: dict[str, Any]):
    """A goal just above a time is a tick to the right of its dot, where the number would stand."""
    ((_, rows), *_) = tables.groups(document).items()
    goal = dict(document["goals"][0])
    base = next(row for row in rows if row["name"] == plots._base_of(goal, rows))
    ours = next(row for row in rows if row["name"] == goal["name"])
    goal["ratio"] = 1.4 * ours["stats"]["min"] / base["stats"]["min"]
    ax = Figure().subplots()
    plots._panel(ax, rows, [goal])
    (tick,) = (line.get_xdata()[0] for line in ax.lines if line.get_solid_capstyle() == "butt")
    names = [label.get_text() for label in ax.get_yticklabels()]
    number = ax.texts[names.index(ours["name"])]
    assert number.xy[0] == pytest.approx(tick)


# The command ----------------------------------------------------------------------------------------


def test_the_command_lists_and_refuses():
    listed = minusgrad("bench", "start", "few_bodies[2", "--list")
    starts = [f"start[{name}]" for name in ("help", "first_step", "outer_solar_system", "cantilever")]
    assert listed.stdout.split() == [*starts, "few_bodies[2-f64]"]
    for arguments, message in (
        (("gravty_forces",), "did you mean 'gravity_forces'?"),
        (("few_bodies[3",), "no case begins with 'few_bodies[3'"),
        (("start", "--engine", "numpy"), "no engine named 'numpy' (installed: "),
    ):
        refused = minusgrad("bench", *arguments)
        assert refused.returncode == 2
        assert message in refused.stderr


def test_a_wheel_has_no_benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    from minusgrad.app import cli
    from minusgrad.app.verbs import benchmarks

    monkeypatch.setattr(benchmarks, "__file__", str(tmp_path / "a" / "b" / "app" / "verbs" / "benchmarks.py"))
    assert cli.main(["bench"]) == 2
    assert "not part of a wheel" in capsys.readouterr().err


SLOW_PEERS = [pytest.param(name, marks=pytest.mark.long) for name in ("JAX", "torch.compile", "CUDA by hand")]


@pytest.mark.parametrize("name", ["Warp", *SLOW_PEERS])
def test_peers_on_a_device_are_right(name: str) -> None:
    """Beside another architecture than CUDA they run on the CPU; here is no simulator of CUDA."""
    x, m = gravity_forces.bodies(256, "f32")
    try:
        call = device_peers.gravity("vulkan")[name](x, m, gravity_forces.SOFTENING)
    except MissingColumnError as reason:
        pytest.skip(str(reason))
    found = cases.numbers(call())[: gravity_forces.SHOWN]
    assert cases.error(found, gravity_forces.expected(x, m)) < 1e-5


@pytest.mark.skipif(bool(devices.devices("cuda")), reason="has CUDA")
@pytest.mark.parametrize("name", device_peers.gravity("cuda"))
def test_a_peer_without_cuda_is_not_measured(name: str) -> None:
    x, m = gravity_forces.bodies(256, "f32")
    with pytest.raises(MissingColumnError):
        device_peers.gravity("cuda")[name](x, m, 0.1)
