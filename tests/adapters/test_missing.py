"""Doors to programs that are not installed name the extra; `make test` installs both programs."""

import subprocess
import sys
import tomllib

import pytest

from tests.support.pages import ROOT

pytestmark = pytest.mark.unit
TEXTS = {
    "ase": "ASE is not installed; pip install 'minusgrad[ase]'",
    "openmm": "OpenMM is not installed; pip install 'minusgrad[openmm]'",
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
    text = "OpenMM 8.4 has no PythonForce, which came with 8.5; pip install -U 'minusgrad[openmm]'\n"
    assert done.stdout == text


def test_the_suite_installs_both() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (own,) = (text for text in extras["test"] if text.startswith("minusgrad["))
    assert set(TEXTS) <= set(own.removeprefix("minusgrad[").removesuffix("]").split(",")) & set(extras)
