"""The source of a lambda: of several in one line, the one that is asked for."""

import ast

import pytest

from minusgrad.symbolic.sources.function_sources import parsed_lambda

pytestmark = pytest.mark.unit

SEVERAL = [lambda x: x, lambda x, n=2: x + n, lambda x: [1.0, x][1]]
OUTER = lambda x: (lambda y: y * x)(3.0)  # noqa: E731


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (SEVERAL[0], "x"),
        (SEVERAL[1], "x + n"),
        (SEVERAL[2], "[1.0, x][1]"),
        (OUTER, "(lambda y: y * x)(3.0)"),
    ],
)
def test_a_lambda_is_found_among_others(function, text: str) -> None:
    definition, file = parsed_lambda(function)
    (statement,) = definition.body
    assert isinstance(statement, ast.Return)
    assert statement.value is not None
    assert ast.unparse(statement.value) == text
    assert file == __file__
    assert definition.lineno == function.__code__.co_firstlineno
