"""Sums, the flag of finite numbers and launches on a device: few numbers are copied, and they are right."""

import numpy as np
import pytest

from minusgrad.energies.fields import MOST_COLUMNS, ordered_sum
from minusgrad.engine.column_sums import ColumnSums
from minusgrad.engine.device_tasks import tasks
from minusgrad.engine.finite_numbers import FiniteNumbers
from minusgrad.engine.kernels import MOST_IN_A_LOOP, BoundKernel, Code
from minusgrad.engine.storage import ArraySlot, Crossings, allocate, duplicate, host, store
from minusgrad.errors import DeviceError, EnergyError
from tests.support.devices import needed, on

pytestmark = needed


@pytest.mark.parametrize("rows", [1, MOST_COLUMNS + 1, 7 * MOST_COLUMNS + 3])
def test_sums_by_columns_begin_an_ordered_sum(rows: int) -> None:
    values = np.random.default_rng(1).normal(size=(rows + 5, 2))
    with on():
        found = ColumnSums(allocate(values), MOST_COLUMNS)(rows)
    for column in range(2):
        assert ordered_sum(found[:, column]) == ordered_sum(values[:rows, column])


@pytest.mark.parametrize("count", [1, 300, 40_000])
def test_a_sum_in_tasks(count: int) -> None:
    """With scalars before it, one of which is changed; no number of a loop is lost or taken twice."""
    values = np.random.default_rng(2).normal(size=count)
    text = "a = 2.0 * h\na = a + h\nfor n in range(x.shape[0]):\n    total[0] = total[0] - a * x[n]\n"
    with on():
        arrays = {"x": allocate(values), "total": allocate(np.ones(1))}
        kernel = BoundKernel(tasks(Code(text, arrays)), "h")
        kernel(0.5)
        first = host(arrays["total"])[0]
        store(arrays["total"], np.ones(1))
        kernel(0.5)
        assert host(arrays["total"])[0] == first
    assert first == pytest.approx(1.0 - 1.5 * values.sum(), rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, np.finfo(np.float32).max, 1e-40])
def test_the_flag_of_finite_numbers(kind: type, wrong: float) -> None:
    with on():
        slots = [ArraySlot(allocate(np.ones(shape, kind))) for shape in ((700,), (5, 3))]
        finite = FiniteNumbers(slots)
        assert finite()
        for slot in slots:
            values = np.ones(slot.shape, kind)
            values.flat[-1] = wrong
            store(slot, values)
            assert finite() == bool(np.isfinite(wrong))
            store(slot, np.ones(slot.shape, kind))
        before = Crossings.count()
        assert finite()
        assert np.subtract(Crossings.count(), before).tolist() == [1, 0]


def test_copies_within_a_device_are_none_to_the_host() -> None:
    with on():
        slot = ArraySlot(allocate(np.arange(6.0)))
        before = Crossings.count()
        kept = duplicate(slot)
        slot.fill(0.0)
        store(slot, kept)
        assert Crossings.count() == before
        np.testing.assert_array_equal(host(slot), np.arange(6.0))


def gathered(count: int) -> tuple[BoundKernel, dict[str, ArraySlot]]:
    """a0 <- h + the sum of so many arrays, in one loop."""
    arrays = {f"a{k}": ArraySlot(allocate(np.full(9, float(k)))) for k in range(count)}
    text = f"for n in range(a0.shape[0]):\n    a0[n] = ti.f64(h) + {' + '.join(f'{a}[n]' for a in arrays)}\n"
    return BoundKernel(Code(text, arrays), "h"), arrays


def test_a_kept_launch_takes_the_array_that_is_in_the_slot() -> None:
    with on():
        kernel, arrays = gathered(3)
        kernel(0.5)
        kernel(0.25)
        np.testing.assert_array_equal(host(arrays["a0"]), np.full(9, 6.75))
        arrays["a1"].lend(allocate(np.full(9, 10.0)))
        kernel(0.0)
        np.testing.assert_array_equal(host(arrays["a0"]), np.full(9, 18.75))
        arrays["a1"].leave()
        kernel(0.0)
        np.testing.assert_array_equal(host(arrays["a0"]), np.full(9, 21.75))


def test_an_array_of_the_host_is_refused() -> None:
    """The engines would copy it there and back at each launch."""
    message = r"kernel: takes arrays of the device alone on arch = '\w+', got NumPy's of shape \[9\]"
    with on():
        with pytest.raises(DeviceError, match=message):
            BoundKernel(Code("for n in range(a.shape[0]):\n    a[n] = 1.0\n", {"a": np.zeros(9)}))()
        kernel, arrays = gathered(3)
        kernel(0.5)
        arrays["a1"].lend(np.full(9, 10.0))
        with pytest.raises(DeviceError, match=message):
            kernel(0.5)
        arrays["a1"].leave()
        kernel(0.0)
        np.testing.assert_array_equal(host(arrays["a0"]), np.full(9, 6.5))


def test_values_of_another_precision_are_stored() -> None:
    with on():
        for kind, other in ((np.float32, np.float64), (np.float64, np.float32)):
            slot = ArraySlot(allocate(np.zeros(3, kind)))
            store(slot, np.array([0.5, 1.5, -2.0], other))
            np.testing.assert_array_equal(host(slot), [0.5, 1.5, -2.0])


def test_a_loop_of_too_many_arrays_is_refused() -> None:
    with on():
        kernel, arrays = gathered(MOST_IN_A_LOOP)
        kernel(1.0)
        assert host(arrays["a0"])[0] == 1.0 + sum(range(MOST_IN_A_LOOP))
        with pytest.raises(EnergyError, match="a loop on Vulkan takes at most 32 arrays, got 33; put"):
            gathered(MOST_IN_A_LOOP + 1)
