"""Doors to programs that are not installed name the extra; `make test` installs both programs."""

import importlib.metadata
import json
import subprocess
import sys
import tomllib
from types import SimpleNamespace

import pytest

from minusgrad.errors import pip_line
from tests.support.pages import ROOT

pytestmark = pytest.mark.unit
TEXTS = {
    "ase": f"ASE is not installed; {pip_line('ase')}",
    "openmm": f"OpenMM is not installed; {pip_line('openmm')}",
}


@pytest.mark.parametrize("program", TEXTS)
def test_a_program_that_is_missing(program: str) -> None:
    code = (
        f"import sys\nsys.modules['{program}'] = None\n"
        f"try:\n    import minusgrad.{program}\n"
        "except ModuleNotFoundError as error:\n    print(type(error).__name__, error.name, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"MissingPackageError {program} {TEXTS[program]}\n"


def test_an_openmm_without_python_forces() -> None:
    code = (
        "import sys, types\nold = sys.modules['openmm'] = types.ModuleType('openmm')\n"
        "old.__version__ = '8.4'\n"
        "try:\n    import minusgrad.openmm\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line = pip_line("openmm").replace("install", "install -U", 1)
    assert done.stdout == f"OpenMM 8.4 has no PythonForce, which came with 8.5; {line}\n"


def test_a_clone_installs_its_extras_from_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index has the version of a clone."""
    origin = {"url": "file:///home/me/two%20words", "dir_info": {"editable": True}}
    for text, line in (
        (json.dumps(origin), "pip install -e '/home/me/two words[view]'"),
        (json.dumps(origin | {"dir_info": {}}), "pip install 'minusgrad[view]'"),
        (None, "pip install 'minusgrad[view]'"),
    ):
        found = SimpleNamespace(read_text=lambda name, text=text: text)
        monkeypatch.setattr(importlib.metadata, "distribution", lambda name, found=found: found)
        assert pip_line("view") == line


def test_the_suite_installs_both() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (own,) = (text for text in extras["test"] if text.startswith("minusgrad["))
    assert set(TEXTS) <= set(own.removeprefix("minusgrad[").removesuffix("]").split(",")) & set(extras)
