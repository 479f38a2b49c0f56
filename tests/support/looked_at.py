"""Run folders that are looked at: copies, damage, the answer to a mistake."""

import shutil
from collections.abc import Callable
from pathlib import Path

from minusgrad.app.verify import verify
from tests.support import saved_runs as standin
from tests.support.command import SCENES

TWO_BODY, SOLAR = SCENES / "two_body.toml", SCENES / "outer_solar_system.toml"
SHORT = {"run.steps": 40, "checkpoint.every": 10, "observe.0.every": 5}


def complaint(invoke: Callable, *arguments: object) -> str:
    """What a mistake of the user's is answered with."""
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, ""), err
    return err.rstrip("\n").removeprefix("minusgrad: ")


def copied(made: Path, name: str) -> Path:
    """A copy in the folder that the test works in."""
    return Path(shutil.copytree(made / name, name))


def flipped(path: Path, at: float = 0.5) -> None:
    """One bit of a file is another; where, as a share of its length."""
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= 4
    path.write_bytes(data)


def unbroken(path: Path, end: int = 40) -> Path:
    """A stand-in run up to a step; it saves every 10."""
    standin.start(path).close()
    standin.go_on(path, end)
    return path


def wrong(run: Path) -> list[str]:
    """What is not as it should be."""
    return [answer.what for answer in verify(run) if not answer.passed]
