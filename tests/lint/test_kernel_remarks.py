"""Remarks about the source of kernels."""

from collections.abc import Callable

import pytest

from minusgrad import ti
from minusgrad.lint.kernel_remarks import readings

ARRAY = ti.types.ndarray(dtype=ti.f64, ndim=1)


@ti.kernel
def halved_by_all(x: ARRAY):
    for _ in range(4):
        x[0] = x[0] * 0.5


@ti.kernel
def halved_once(x: ARRAY):
    for _ in range(1):
        x[0] = x[0] * 0.5


@ti.kernel
def halved_once_elsewhere(x: ARRAY):
    for _ in range(2, 3):
        x[0] = x[0] * 0.5


@pytest.mark.parametrize(
    ("kernel", "shared"), [(halved_by_all, True), (halved_once, False), (halved_once_elsewhere, False)]
)
def test_a_loop_of_one_iteration_loses_no_update(kernel: Callable, shared: bool) -> None:
    assert ("shared" in {r.kind for r in readings(kernel)}) is shared
