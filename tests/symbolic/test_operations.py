"""The table of operations: its columns agree with each other, row by row."""

import inspect
import string

import numpy as np
import pytest

from minusgrad.symbolic.graph import Graph
from minusgrad.symbolic.operation import SAME
from minusgrad.symbolic.operations import OPERATIONS, TRUTHS
from minusgrad.symbolic.simplification import RULES

pytestmark = pytest.mark.unit

LEAVES = {"constant", "input", "lookup"}
ROWS = {name: row for name, row in OPERATIONS.items() if name not in LEAVES}
POINTS = {"acos": (0.3,), "asin": (0.3,), "quotient": (7, 2), "select": (True, 1.5, 2.5)}


def holes(text: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]


def test_names_are_keys_and_simplified_operations_are_rows() -> None:
    assert all(row.name == name for name, row in OPERATIONS.items())
    assert RULES.keys() <= ROWS.keys()
    assert {"lt", "le", "eq", "ne", "and", "or", "side"} == TRUTHS


@pytest.mark.parametrize("name", ROWS)
def test_a_row_takes_as_many_arguments_as_it_says(name: str) -> None:
    row = ROWS[name]
    for text in (row.text, row.vectors if row.vectors != SAME else row.text):
        named = {hole for hole in holes(text) if hole.isdigit()}
        count = len(named) or holes(text).count("")
        assert count == (row.arity if text else 0)
        assert {hole for hole in holes(text) if hole.isalpha()} <= {"T", "R", "one", "zero"}
    for rule in (row.derivative, row.branches, row.singularity and row.singularity.at):
        if rule is not None:
            assert len(inspect.signature(rule).parameters) == 1 + row.arity
    if row.derivative is not None:
        graph = Graph()
        leaves = [graph.input(k) for k in range(row.arity)]
        assert len(row.derivative(graph.apply(name, *leaves), *leaves)) == row.arity


@pytest.mark.parametrize("name", ROWS)
def test_numpy_and_python_agree(name: str) -> None:
    row = ROWS[name]
    point = POINTS.get(name, (2.75, 1.5)[: row.arity])
    assert row.numpy is not None
    if row.python is not None:
        assert row.numpy(*point) == pytest.approx(row.python(*point), rel=1e-15)


def test_an_operation_differentiates_branches_or_is_piecewise_constant() -> None:
    constant = {name for name, row in ROWS.items() if row.derivative is None and row.branches is None}
    rounded = {name for name, row in ROWS.items() if row.rounding}
    assert constant == {*TRUTHS, *rounded, "quotient", "to_real"}
    assert not any(row.derivative and row.branches for row in ROWS.values())


def test_halves_are_rounded_away_from_zero_as_in_taichi() -> None:
    assert ROWS["round"].numpy(np.array([0.5, 1.5, 2.5, -0.5, -2.5])).tolist() == [1.0, 2.0, 3.0, -1.0, -3.0]
