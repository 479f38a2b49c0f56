"""The page of the gradient check says what is asked; each row of its table has a test."""

import ast

import pytest

from tests.project import asked_table
from tests.project.asked_table import ROOT, ROWS, Row

pytestmark = pytest.mark.unit


def test_the_page_has_the_table() -> None:
    """`python -m tests.project.asked_table --write` puts it there."""
    text = asked_table.PAGE.read_text()
    assert text.split(asked_table.BEGIN)[1].split(asked_table.END)[0].strip() == asked_table.table().strip()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.form)
def test_a_row_has_its_test(row: Row) -> None:
    tree = ast.parse((ROOT / row.file).read_text())
    assert row.test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
