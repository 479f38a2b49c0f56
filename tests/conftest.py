"""In what order the suite runs, what it shows at its end, and what its files share: command line, steps."""

from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app import cli

HERE = Path(__file__).parent
FIRST = (
    *("app/test_resume_matrix", "scene/test_mutated_scenes", "check/test_traps", "torch/test_energy"),
    *("codegen/test_lane_loops", "exams/test_random_energies", "check/test_kernel_check"),
    *("exams/test_engines", "check/test_false_alarms", "project/test_stranger", "exams/test_scenes"),
)
"""Files that take minutes come first, so that no worker waits for another in the end."""


def pytest_collection_modifyitems(items) -> None:
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


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`minusgrad ARGUMENTS` in this process: exit code, what it prints, what it complains of."""

    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            code = cli.main([*map(str, arguments)])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


@pytest.fixture(params=["fused", "unfused"])
def launches(request, monkeypatch):
    """Both ways of stepping: many steps in one kernel, and one kernel for each move."""
    if request.param == "unfused":
        monkeypatch.setattr("minusgrad.steppers.integrator.SMALL", 0)
    return request.param
