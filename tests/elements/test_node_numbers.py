"""Node numbers: int32 that never wraps, at every place that converts numbers from outside."""

import numpy as np
import pytest

from minusgrad.elements.elements import each_once
from minusgrad.elements.node_numbers import node_numbers
from minusgrad.elements.node_tuples import NodeTuples
from minusgrad.energies.fields import Body
from minusgrad.errors import RunFailedError, UserError
from minusgrad.files.trajectory import Recorder

pytestmark = pytest.mark.unit

WRAPS = 2**32 + 3
"""NumPy's conversion makes 3 of it."""


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_a_number_beyond_int32_is_refused(kind: type) -> None:
    with pytest.raises(UserError, match=r"^x: must be below 2\^31, got 4294967299; count nodes from 0$"):
        node_numbers("x", np.array([0, WRAPS], kind))


def test_numbers_are_kept(tmp_path) -> None:
    kept = node_numbers("x", np.array([[0, 2**31 - 1]], np.uint64))
    assert (kept.dtype, kept.tolist()) == (np.int32, [[0, 2**31 - 1]])
    assert node_numbers("x", []).dtype == np.int32
    with pytest.raises(UserError, match=r"^x: must be whole numbers, got float64; count nodes from 0$"):
        node_numbers("x", [1.5])


def test_bodies_tuples_and_recorded_lists_do_not_wrap() -> None:
    with pytest.raises(UserError, match=r"body 'left': must be below 2\^31, got 4294967299"):
        Body("left", np.array([WRAPS]))
    with pytest.raises(UserError, match=r"body 'left': must be whole numbers, got float64"):
        Body("left", [1.5])
    assert Body("left", range(3)).nodes.dtype == np.int32
    with pytest.raises(UserError, match=r"row 0 = \[0, 4294967299\] names a node outside 0..4"):
        NodeTuples.of(np.array([[0, WRAPS]]), 2, 5)
    with pytest.raises(RunFailedError, match=r"list 'edges': needs nodes below 2\^31, got 4294967299"):
        Recorder({}, ("s", 1.0), {"edges": np.array([[0, WRAPS]])}, ("edges",))


@pytest.mark.parametrize("shape", [(0, 2), (1,), (40, 3), (900, 1)])
def test_each_node_is_met_once_as_numpy_has_it(shape: tuple[int, ...]) -> None:
    nodes = np.random.default_rng(3).integers(0, 300, shape).astype(np.int32)
    found, expected = each_once(nodes), np.unique(nodes)
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
