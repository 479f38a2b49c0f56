"""In what order the suite runs, what it shows at its end, and what its files share: command line, steps."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minusgrad.app import cli
from minusgrad.assembly.kinds.kind_index import VARIABLE
from minusgrad.engine import runtime
from tests.support import row_costs
from tests.support.command import complaints
from tests.support.tiers import COSTLY, is_alike

HERE = Path(__file__).parent
os.environ.setdefault(VARIABLE, str(HERE.parent / ".cache" / "minusgrad"))  # of plugins that tests install
FIRST = (
    *("app/test_resume_matrix", "check/test_false_alarms", "check/test_kernel_check", "check/test_traps"),
    *("adjoint/test_rollout", "scene/test_mutated_scenes", "energies/test_maps_from_cells"),
    *("torch/test_energy", "codegen/test_products", "app/test_cli", "codegen/test_lane_loops"),
    *("potential/test_hessian", "exams/test_energies", "app/test_resume", "app/run_files/test_verify"),
    *("steppers/programs/test_serial_steps", "exams/programs/test_smoke", "exams/programs/test_rigid_body"),
    *("exams/test_engines", "exams/test_random_energies", "project/test_stranger", "exams/test_scenes"),
)
"""Files that take minutes come first, so that no worker waits for another in the end."""


TIERS = ("unit", "exam", "long")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m "unit and ..."` does not import files without a unit test."""
    if not config.option.markexpr.startswith("unit") or not collection_path.name.startswith("test_"):
        return None
    return None if "mark.unit" in collection_path.read_text() else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items) -> None:
    for item in items:
        row = getattr(item, "callspec", None)
        if row is not None and is_alike(row.id) and "plugins" not in item.path.parts:
            item.add_marker("long")
        if item.nodeid.removeprefix("tests/") in COSTLY:
            item.add_marker("long")
        if not any(mark.name in TIERS for mark in item.iter_markers()):
            item.add_marker("exam")
    rank = {HERE / f"{name}.py": k for k, name in enumerate(FIRST)}
    assert (lost := [str(path) for path in rank if not path.is_file()]) == [], lost
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def pytest_terminal_summary(terminalreporter) -> None:
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in getattr(report, "user_properties", ()):
            if name == "shown":
                title, _, table = text.partition("\n")
                terminalreporter.section(title)
                terminalreporter.write_line(table)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--row-costs", metavar="DIR", type=Path, help="write the CPU seconds of each row there")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A unit test, or a fixture of any scope that is made for it, fails when it starts the engine."""
    began, folder = row_costs.cpu(), item.config.option.row_costs
    marks = {mark.name for mark in item.iter_markers()}
    with pytest.MonkeyPatch.context() as patch:
        if "unit" in marks and not marks & {"exam", "long"}:
            patch.setattr(runtime, "start", lambda *_: pytest.fail("a unit test starts the engine"))
        result = yield
    if folder is not None:
        row_costs.noted(folder, item.nodeid, row_costs.cpu() - began)
    return result


@pytest.fixture(autouse=True)
def nothing_damaged_is_kept(request: pytest.FixtureRequest) -> Iterator[None]:
    """What was derived while a test had replaced a function is not kept for the next test."""
    yield
    if "monkeypatch" in request.fixturenames and (kept := sys.modules.get("minusgrad.codegen.kept_traces")):
        kept.KEPT.clear()


@pytest.fixture
def any_threads() -> Iterator[None]:
    """For tests that start the engine with other numbers of threads: leaves the engine as it was."""
    before = runtime._Running.options
    yield
    runtime.start(before)


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`minusgrad ARGUMENTS` in this process: exit code, what it prints, what it complains of."""

    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            code = cli.main([*map(str, arguments)])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, complaints(err)

    return call


@pytest.fixture(params=["fused", "unfused"])
def launches(request, monkeypatch):
    """Both ways of stepping: many steps in one kernel, and one kernel for each move."""
    if request.param == "unfused":
        monkeypatch.setattr("minusgrad.steppers.integrator.SMALL", 0)
        monkeypatch.setattr("minusgrad.steppers.integrator.LEAST_WORK", -1)
        monkeypatch.setattr("minusgrad.steppers.timed.gauss_radau.radau_launches.SMALL", 0)
    return request.param
