"""Scenes with one mistake: a piece of a shipped scene's text is replaced."""

from pathlib import Path

import pytest

import minusgrad
from minusgrad.errors import SceneError


def refusal(scene: Path, old: str, new: str, folder: Path) -> str:
    """The message with which the scene is refused when `new` stands in place of `old`."""
    text = scene.read_text()
    assert old in text
    (folder / "scene.toml").write_text(text.replace(old, new))
    with pytest.raises(SceneError) as error:
        minusgrad.build(folder / "scene.toml")
    return str(error.value)
