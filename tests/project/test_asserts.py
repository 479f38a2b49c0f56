"""Asserts only look: Python leaves them out with -O, and with them whatever they would have done."""

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
LOOKS = {
    "all", "any", "callable", "getattr", "hasattr", "isfinite", "isinstance", "issubclass", "len", "max",
    "min", "set", "sorted", "startswith", "type",
}  # fmt: skip


def acting(text: str) -> list[int]:
    """The lines of asserts that call something, other than what only looks, or that bind a name."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Assert):
            continue
        calls = [part.func for part in ast.walk(node.test) if isinstance(part, ast.Call)]
        names = {one.id if isinstance(one, ast.Name) else getattr(one, "attr", "?") for one in calls}
        if names - LOOKS or any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
            found.append(node.lineno)
    return found


def test_no_assert_of_the_packages_does_anything() -> None:
    files = [p for top in ("framework", "plugins/minusgrad_") for p in ROOT.glob(f"{top}*/**/*.py")]
    assert len(files) > 900
    wrong = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in files
        if "template" not in file.parts
        for line in acting(file.read_text())
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text", ["assert d.setdefault(k, v) is v", "assert not (n := f), n", "assert found.pop()"]
)
def test_an_assert_that_acts_is_found(text: str) -> None:
    assert acting(text) == [1]
