"""The table of operations: its columns agree with each other, row by row."""

import inspect
import string

import numpy as np
import pytest

from minusgrad.errors import EnergyError
from minusgrad.symbolic.graph import Graph
from minusgrad.symbolic.operation import SAME
from minusgrad.symbolic.operations import OPERATIONS, TRUTHS
from minusgrad.symbolic.simplification import RULES

pytestmark = pytest.mark.unit

LEAVES = {"constant", "input", "lookup"}
ROWS = {name: row for name, row in OPERATIONS.items() if name not in LEAVES}
POINTS = {"acos": (0.3,), "asin": (0.3,), "quotient": (7, 2), "select": (True, 1.5, 2.5)}


WHOLES = {"stretch_sum": {2: 1, 3: 0}, "stretch_entry": {2: 1, 3: 1, 4: 0, 5: 1}}
"""Arguments that are whole numbers, by place: powers, and indices of an entry."""


def open_ended(rule) -> bool:
    """True of a rule that takes any number of arguments."""
    return any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(rule).parameters.values())


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
        shown = 1 if row.defined else row.arity
        assert count == (shown if text else 0)
        assert {hole for hole in holes(text) if hole.isalpha()} <= {"T", "R", "one", "zero"}
    for rule in (row.derivative, row.branches, row.singularity and row.singularity.at):
        if rule is not None and not open_ended(rule):
            assert len(inspect.signature(rule).parameters) == 1 + row.arity
    if row.derivative is not None:
        graph = Graph()
        wholes = WHOLES.get(name.rstrip("23"), {})
        leaves = [graph.constant(wholes[k]) if k in wholes else graph.input(k) for k in range(row.arity)]
        if name.startswith("stretch_slope"):
            with pytest.raises(EnergyError, match="got a request for a third"):
                row.derivative(graph.apply(name, *leaves), *leaves)
        else:
            assert len(row.derivative(graph.apply(name, *leaves), *leaves)) == row.arity


@pytest.mark.parametrize("name", ROWS)
def test_numpy_and_python_agree(name: str) -> None:
    row = ROWS[name]
    point = POINTS.get(name, (2.75, 1.5, *[0.5] * row.arity)[: row.arity])
    assert row.numpy is not None
    if row.python is not None:
        assert row.numpy(*point) == pytest.approx(row.python(*point), rel=1e-15)


def test_an_operation_differentiates_branches_or_is_piecewise_constant() -> None:
    constant = {name for name, row in ROWS.items() if row.derivative is None and row.branches is None}
    rounded = {name for name, row in ROWS.items() if row.rounding}
    assert constant == {*TRUTHS, *rounded, "quotient", "to_real", "fixed"}
    assert not any(row.derivative and row.branches for row in ROWS.values())


def test_halves_are_rounded_away_from_zero_as_in_taichi() -> None:
    assert ROWS["round"].numpy(np.array([0.5, 1.5, 2.5, -0.5, -2.5])).tolist() == [1.0, 2.0, 3.0, -1.0, -3.0]
