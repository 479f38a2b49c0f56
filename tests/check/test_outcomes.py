"""Outcomes of a check: right, a finding, not asked; and the exit code that they make."""

from pathlib import Path

import pytest

from minusgrad.check.outcomes import NOT_ASKED, RIGHT, WRONG, exit_code, not_asked, of_exception, outcome
from minusgrad.check.questions import Finding

VALUE = Finding("k", "", "value", True, 0.0, "agrees")
TAYLOR = Finding("k", "x", "taylor", True, 2.0, "remainder of order 2.00")
WRONG_ONE = Finding("k", "x", "taylor", False, 1.0, "remainder of order 1.00, not 2")
LEFT_OUT = not_asked("k", "", "value", "too large")


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([], RIGHT),
        ([VALUE, TAYLOR], RIGHT),
        ([VALUE, TAYLOR, LEFT_OUT], RIGHT),
        ([LEFT_OUT], NOT_ASKED),
        ([VALUE, LEFT_OUT], NOT_ASKED),
        ([TAYLOR, LEFT_OUT, WRONG_ONE], WRONG),
    ],
)
def test_a_kernel_is_right_where_a_derivative_was_answered_and_none_failed(found, code: int) -> None:
    assert outcome(found) == code


def test_a_finding_goes_before_what_was_not_asked_and_that_before_what_is_right() -> None:
    other = not_asked("other", "", "value", "it draws random numbers")
    assert exit_code([VALUE, TAYLOR, other]) == NOT_ASKED
    assert exit_code([VALUE, TAYLOR, other, WRONG_ONE]) == WRONG
    assert exit_code([VALUE, TAYLOR]) == RIGHT


def raised(text: str, file: Path) -> Exception:
    """The exception of a file with this text."""
    try:
        exec(compile(text, str(file), "exec"), {})
    except Exception as error:
        return error
    raise AssertionError(text)


def test_an_exception_is_never_a_finding_and_says_whose_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("")
    error = raised("a = [1]\na[3]\n", file)
    theirs = of_exception("k", "the forward run", error, file)
    assert theirs.passed
    assert theirs.unasked
    assert theirs.where == f"{file}:2"
    assert theirs.text == "the file raises IndexError: list index out of range, during the forward run"
    ours = of_exception("k", "the forward run", error)
    assert ours.unasked
    assert ours.text.startswith("the check itself failed during the forward run: IndexError:")
    assert ours.text.endswith("please report it, with the file")
