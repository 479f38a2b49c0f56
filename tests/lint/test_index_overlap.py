"""Which places a text keeps apart."""

import ast

import pytest

from minusgrad.lint.index_overlap import distinguished_turns, spelt_out

pytestmark = pytest.mark.unit

APART = [
    "i, j",
    "j, i",
    "n - 1 - i, j + 2",
    "2 * i + 1, -j",
    "i * w + j",
    "j + i * w",
    "(i * h + j) * w + 2",
    "i * h * w + j * w + 5",
    "ti.cast(i, ti.i32), int(j)",
    "i // w, i % w, j",
    "row, j",
    "row * w + j",
    "here",
    "mine(i, j)",
    "[i, j]",
]
MEETING = {
    "i, 0": "j",
    "0": "ij",
    "i + j": "ij",
    "i - j": "ij",
    "i * w + j + i": "ij",
    "i * j": "ij",
    "i // 2, j": "i",
    "i % n, j": "i",
    "i // 2, i % 3, j": "i",
    "i >> 1, j": "i",
    "i & 1, j": "i",
    "abs(i - 5), j": "i",
    "ti.max(i, 3), j": "i",
    "ti.select(i > 3, 0, i), j": "i",
    "0 if i > 3 else i, j": "i",
    "int(0.5 * i), j": "i",
    "i > 0, j": "i",
    "half, j": "i",
    "(i + j) * w": "ij",
    "often, j": "i",
}


def apart(index: str) -> set[str]:
    function = ast.parse(
        "def f(y, n, w, h):\n"
        "    n = n // 2\n"
        "    row = i + n\n"
        "    here = row * w + j\n"
        "    half = i // 2\n"
        "    often = i\n"
        "    often = 0\n"
        f"    y[{index}] = 0.0\n"
    )
    (place,) = [n for n in ast.walk(function) if isinstance(n, ast.Subscript)]
    return distinguished_turns(spelt_out(function, [place.slice]), frozenset("ij"))


@pytest.mark.parametrize("index", APART)
def test_turns_have_places_of_their_own(index: str) -> None:
    assert apart(index) == {"i", "j"}


@pytest.mark.parametrize(("index", "meeting"), MEETING.items())
def test_turns_may_meet(index: str, meeting: str) -> None:
    assert {"i", "j"} - apart(index) == set(meeting)


def test_a_place_in_two_brackets() -> None:
    """y[i][j], as vectors are written."""
    assert distinguished_turns([ast.Name("i"), ast.Name("j")], frozenset("ij")) == {"i", "j"}
