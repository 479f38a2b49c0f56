"""What tests of run folders share: a folder to work in, and two finished runs."""

from pathlib import Path

import pytest

from minusgrad.app import runs
from tests.support.looked_at import SHORT, SOLAR, TWO_BODY


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the test, in a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs; tests that change one copy it first."""
    folder = tmp_path_factory.mktemp("made")
    runs.run(TWO_BODY, SHORT, folder / "two")
    runs.run(SOLAR, SHORT, folder / "solar")
    return folder
