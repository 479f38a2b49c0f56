"""What tests of a deposition's states share: states by keys, scenes by lines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minusgrad.energies.fields import State
from minusgrad.scene.units import UnitSystem
from tests.plugins.laser.starts import HEAD, KEYS, TAIL, made


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., State]:
    """The state of BLOCK with other keys (None: left out), in a folder of its own, in any units."""

    def make(units: UnitSystem | None = None, seed: int = 0, folder: Path = tmp_path, **keys: Any) -> State:
        return made(folder, units, seed, **keys)

    return make


@pytest.fixture
def scene(tmp_path: Path) -> Callable[..., Path]:
    """A scene file with other keys in its state (empty: left out), and more at its end."""

    def write(more: str = "", **keys: str) -> Path:
        lines = [f"{key} = {text}\n" for key, text in (KEYS | keys).items() if text]
        file = tmp_path / "scene.toml"
        file.write_text(HEAD + "".join(lines) + TAIL + more)
        return file

    return write
