"""What tests of a fit share: a folder with the scene of a swing and its data."""

from pathlib import Path

import pytest

from tests.support.swing_fits import SCENE, observed, table


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with the scene and its data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swing.toml").write_text(SCENE)
    (tmp_path / "x.csv").write_text(
        table(observed()).replace(", 0, ", ", left, ").replace(", 1, ", ", right, ")
    )
    return tmp_path
