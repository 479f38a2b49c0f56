"""Rows of tables of two or more arguments, of which `make test` runs a sample."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest


def sample(rows: Sequence[Any], kept: Collection[Any]) -> list[Any]:
    """Parameters for all rows, of several arguments where a row is a tuple; those not `kept` are `long`."""
    lost = [row for row in kept if row not in rows]
    assert lost == [], f"not in the table: {lost}"
    every = [row if isinstance(row, tuple) else (row,) for row in rows]
    marks = [() if row in kept else pytest.mark.long for row in rows]
    return [pytest.param(*row, marks=mark) for row, mark in zip(every, marks, strict=True)]
