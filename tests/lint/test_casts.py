"""Casts in the text of kernels: which places of real numbers become integers."""

import pytest

from minusgrad import ti
from minusgrad.lint.casts import casts

pytestmark = pytest.mark.unit


def deposit(x, grid):
    for i in range(4):
        place = x[i]
        for a, b in ti.ndrange(3, 3):
            left = ti.cast(place - 1 + a, ti.i32)
            turn = ti.cast(a, ti.i32)
            real = ti.cast(i, ti.f32)
            grid[left, int(b)] += ti.floor(place) + turn + real + (2 * place).cast(int)


def test_places_that_become_integers_are_named_and_counters_are_not() -> None:
    found = [(r.kind, r.text.partition(" becomes")[0]) for r in casts(deposit)]
    assert sorted(found) == [("cast", "'2 * place'"), ("cast", "'place - 1 + a'"), ("cast", "'place'")]
    assert len({r.where for r in casts(deposit)}) == 2
