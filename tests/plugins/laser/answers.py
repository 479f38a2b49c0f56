"""What tests of `minusgrad laser` share: how mistakes are answered."""

from collections.abc import Callable
from pathlib import Path

Invoke = Callable[..., tuple[int, str, str]]


def left(folder: Path) -> set[str]:
    """The names of what is in a folder."""
    return {path.name for path in folder.iterdir()}


def refused(invoke: Invoke, here: Path, *arguments: object) -> str:
    """What a mistake is answered with: one message, and no file."""
    before = left(here)
    code, out, err = invoke("laser", *arguments)
    assert (code, out) == (2, ""), err
    assert left(here) == before
    return err.rstrip("\n").removeprefix("minusgrad: ")
