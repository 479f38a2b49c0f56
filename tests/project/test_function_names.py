"""Functions have names that a reader and grep find: of two words, in more than half of the cases."""

import pytest

from tests.project.function_names import MOST, is_one_word, names_of_functions, share_of_all


def test_most_names_have_more_than_one_word() -> None:
    assert 0.3 < share_of_all() <= MOST, (
        "name it by a verb and its object (python -m tests.project.function_names)"
    )


@pytest.mark.parametrize(
    ("name", "one"), [("taken", True), ("_rows", True), ("stored_rows", False), ("_a_b", False)]
)
def test_words_of_a_name(name: str, one: bool) -> None:
    assert is_one_word(name) is one


def test_methods_and_inner_functions_count_and_dunder_methods_do_not() -> None:
    source = "class A:\n def __init__(): ...\n def moved():\n  def own_row(): ...\nasync def wait(): ...\n"
    assert sorted(names_of_functions(source)) == ["moved", "own_row", "wait"]
