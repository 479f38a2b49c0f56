"""The example distributions: as any stranger's, and each within 120 lines of physics.

`make test` runs their own tests with the folder on the path; `make long` builds each, installs it beside a
wheel of ours into a fresh environment, and runs its tests and its scene there.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from minusgrad.app.plugin_kit.exam import INNER
from tests.project import test_packages
from tests.support.desk import Desk, new_desk
from tests.support.installed import as_if_installed

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(path.parent for path in (ROOT / "plugins" / "examples").glob("*/pyproject.toml"))
NAMES = [path.name for path in EXAMPLES]


def test_there_are_three() -> None:
    assert NAMES == ["fput_chain", "kuramoto_rotors", "thomson_problem"]


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_it_is_small_and_sees_the_doors_only(example: Path) -> None:
    files = [*(example / example.name).glob("*.py")]
    assert sum(len(file.read_text().splitlines()) for file in files if file.name != "__init__.py") < 120
    test_packages.test_plugins_import_from_the_public_doors_only(example / example.name)
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    assert project["name"] == example.name
    assert project["entry-points"]["minusgrad"] == {example.name: example.name}
    assert f"[{example.name}]({example.name})" in (example.parent / "README.md").read_text()


def test_their_tests_pass(tmp_path: Path) -> None:
    """In one process, whose start takes longer than the tests."""
    environment: dict[str, str] = {}
    for example in EXAMPLES:
        environment = as_if_installed(example.name, example, tmp_path)
    path = os.pathsep.join([*map(str, EXAMPLES), environment["PYTHONPATH"]])
    call = [sys.executable, "-m", "pytest", "-q", "-p", "minusgrad.app.plugin_kit.pytest_plugin"]
    call += ["-p", "no:cacheprovider", "--import-mode", "importlib", "--rootdir", tmp_path]
    call += [example / "tests" for example in EXAMPLES]
    environment |= {INNER: "1", "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*map(str, call)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Wheels of minusgrad and of all examples."""
    paths = [path.relative_to(ROOT) for path in EXAMPLES]
    desk = new_desk(tmp_path_factory.mktemp("examples"), *paths)
    desk.install("minusgrad")
    desk.python("-m", "pip", "install", "pytest>=8")
    yield desk
    shutil.rmtree(desk.environment)


@pytest.mark.long
@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_installed_by_pip_it_runs_and_its_tests_pass(example: Path, desk: Desk) -> None:
    desk.install(example.name)
    done = desk.minusgrad("run", example / "scenes" / f"{example.name}.toml", "--out", example.name)
    assert done.returncode == 0, done.stderr
    desk.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", example, example / "tests")
    desk.python("-m", "pip", "uninstall", "--yes", example.name)


@pytest.mark.long
def test_a_new_plugin_works_installed_by_pip(desk: Desk) -> None:
    done = desk.minusgrad("new-plugin", "springy")
    assert done.returncode == 0, done.stderr
    desk.python("-m", "pip", "install", "./springy")
    done = desk.minusgrad("check", "springy")
    assert (done.returncode, done.stderr) == (0, "")
    assert desk.minusgrad("run", "springy/scenes/springy.toml").returncode == 0
    desk.python("-m", "pytest", "-q", "springy")


@pytest.mark.long
def test_two_scenes_run_without_taichi(desk: Desk) -> None:
    quadrants = "quadrants>=1.4.0,<1.5" if sys.version_info >= (3, 12) else "quadrants>=1.3.3,<1.4"
    desk.python("-m", "pip", "install", quadrants)
    desk.python("-m", "pip", "uninstall", "--yes", "taichi")
    for scene in ("two_body", "stretch"):
        done = desk.minusgrad("run", ROOT / "scenes" / f"{scene}.toml", "--out", scene)
        assert done.returncode == 0, done.stderr
        assert "quadrants" in desk.minusgrad("info", scene).stdout
