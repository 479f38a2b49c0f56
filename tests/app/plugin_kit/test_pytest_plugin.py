"""The plugin of pytest: every run of pytest beside an installed minusgrad loads it, so it must be nothing."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from minusgrad.app.plugin_kit import exam
from minusgrad.errors import UserError

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
NAME = "minusgrad.app.plugin_kit.pytest_plugin"


def test_it_loads_nothing() -> None:
    code = f"import sys, {NAME}; print(*sorted(n for n in sys.modules if n.startswith('minusgrad')))"
    call = [sys.executable, "-S", "-c", code]
    run = subprocess.run(call, capture_output=True, text=True, cwd=ROOT / "framework")
    parents = ["minusgrad", "minusgrad.app", "minusgrad.app.plugin_kit"]
    assert run.stdout.split() == [*parents, NAME], run.stderr
    code = f"import sys, {NAME}; print(*{{'numpy', 'taichi', 'pytest', 'pluggy'}} & {{*sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "\n", run.stdout + run.stderr


def test_it_is_registered_and_knows_the_marker(tmp_path: Path) -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert points["pytest11"] == {"minusgrad": NAME}
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.minusgrad\ndef test_it():\n    pass\n\ndef test_other():\n    pass\n"
    )
    call = [sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider"]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # or it is registered twice
    call += ["-m", "minusgrad", "-p", NAME]
    done = subprocess.run(call, cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert "1 passed, 1 deselected" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("plugin", "instances", "says"),
    [
        ("nobody", {}, "no plugin named 'nobody'"),
        ("heat", {"heat_sorce": None}, "exam of 'heat': no energy named 'heat_sorce'; did you mean"),
    ],
)
def test_an_exam_of_nothing_is_refused(plugin: str, instances: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        exam.exam(plugin, instances)
