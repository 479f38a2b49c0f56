"""`check` finds every trap of the zoo and leaves every twin in peace; what others find of it is shown."""

import tomllib
from pathlib import Path

import pytest

from tests.support import trap_zoo
from tests.support.tiers import sampled

ALL = [
    pytest.param(half, file.stem, marks=[pytest.mark.long] if half == "unseen" else [])
    for half in trap_zoo.HALVES
    for file in trap_zoo.files(half)
]
FILES = [file for half in trap_zoo.HALVES for file in trap_zoo.files(half)]
SOME = trap_zoo.files("seen")[::4]
"""Traps of which `make test` asks Taichi and the other checks, too."""
LINES = tomllib.loads((trap_zoo.TRAPS / "lines.toml").read_text())
LEAST = 1e-9
"""A trap is off by more: literals of single precision, the mildest, cost eight digits."""


def test_the_zoo_is_large_enough() -> None:
    names = [file.stem for half in trap_zoo.HALVES for file in (trap_zoo.TRAPS / half).glob("*.py")]
    assert len(names) == len(set(names)) >= 80


@pytest.mark.parametrize("file", sampled(FILES, SOME), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_trap_is_wrong_and_its_twin_is_right(file: Path) -> None:
    """By the answers that stand in the files, and what Taichi gives."""
    reports = trap_zoo.report(file)
    trap, twin = reports["trap"], reports["twin"]
    wrong = [trap.get(what, 0.0) for what in ("value", "gradient")]
    assert "crash" in trap or any(off is None or off > LEAST for off in wrong), trap
    assert "crash" not in twin
    assert twin["gradient"] is not None
    assert twin["gradient"] < trap_zoo.FINE
    assert twin.get("value", 0.0) < trap_zoo.FINE


@pytest.mark.parametrize(("half", "name"), ALL)
def test_every_trap_is_found(half: str, name: str) -> None:
    assert any(not f.passed for f in trap_zoo.checked(half)[name]["trap"])


@pytest.mark.parametrize(("half", "name"), ALL)
def test_a_finding_names_the_line(half: str, name: str) -> None:
    """The one that `lines.toml` says, by a piece of it; a decorator where only the kernel is known."""
    wrong = next(f for f in trap_zoo.checked(half)[name]["trap"] if not f.passed and f.where)
    file, _, line = wrong.where.rpartition(":")
    assert LINES[name] in Path(file).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize(("half", "name"), ALL)
def test_no_twin_is_accused(half: str, name: str) -> None:
    found = trap_zoo.checked(half)[name]
    assert set(found) == {"trap", "twin"}
    assert found["twin"] != []
    assert [f.text for f in found["twin"] if not f.passed] == []


@pytest.mark.long
@pytest.mark.parametrize("half", trap_zoo.HALVES)
def test_the_score_is_the_one_that_is_shown(half: str, record_property) -> None:
    """Printed at the end of the suite. Our row is held; what others find of races is luck at times."""
    found = trap_zoo.score(half)
    record_property("shown", f"the trap zoo, {half} half\n{found}")
    ours = next(line for line in found.splitlines() if "`minusgrad check`" in line)
    assert ours in (trap_zoo.TRAPS / "README.md").read_text()
