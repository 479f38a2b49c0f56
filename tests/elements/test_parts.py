"""Parts of elements: their rows, and which meshes they suit."""

import numpy as np
import pytest

from minusgrad.elements.parts import COUNTS, MOST_ROWS, Parts
from minusgrad_elastic import generators

pytestmark = pytest.mark.unit


def chain(count: int) -> np.ndarray:
    """Bonds of a chain (count, 2)."""
    return np.stack([np.arange(count), np.arange(count) + 1], axis=1).astype(np.int32)


@pytest.mark.parametrize("wide", [8, 16])
@pytest.mark.parametrize("elements", [chain(1500), generators.box((1.0, 1.0, 3.0), (6, 6, 18)).cells[:-3]])
def test_a_row_is_a_copy_of_its_node(elements: np.ndarray, wide: int) -> None:
    parts = Parts.of(elements, wide)
    assert parts is not None
    assert np.array_equal(parts.nodes[parts.rows[: len(elements)]], elements)
    for part, (begin, end) in enumerate(zip(parts.begin[:-1], parts.begin[1:], strict=True)):
        some = parts.rows[parts.first[part] * wide : parts.first[part + 1] * wide]
        assert begin <= some.min() <= some.max() < end
        own = parts.nodes[begin : end - (parts.spare if end == parts.begin[-1] else 0)]
        assert len(own) == len(set(own.tolist()))


def test_lanes_that_fill_up_add_to_rows_of_their_own() -> None:
    elements = chain(1501)
    parts = Parts.of(elements, 16)
    assert parts is not None
    filled = parts.rows[len(elements) :]
    assert len(parts.rows) == 94 * 16
    assert len(filled) == 3
    assert (filled >= len(parts.nodes) - parts.spare).all()
    assert np.array_equal(parts.nodes[filled[0]], elements[-1])
    assert parts.rows[: len(elements)].max() < len(parts.nodes) - parts.spare


def test_nodes_sum_each_of_their_rows_once_in_the_order_of_parts() -> None:
    parts = Parts.of(chain(1501), 16)
    assert parts is not None
    gather = parts.gather(1502)
    assert sorted(gather.slots.tolist()) == [*range(len(parts.nodes) - parts.spare)]
    for node in (0, 1, 750, 1501):
        rows = gather.slots[gather.start[node] : gather.start[node + 1]]
        assert (parts.nodes[rows] == node).all()
        assert (np.diff(rows) > 0).all()


def test_more_parts_are_preferred_and_scattered_elements_have_none() -> None:
    parts = Parts.of(chain(1500), 16)
    assert parts is not None
    assert len(parts.first) == COUNTS[0] + 1
    scattered = chain(1500)[np.random.default_rng(0).permutation(1500)]
    dense = np.random.default_rng(0).integers(0, 300, (3000, 4)).astype(np.int32)
    few = Parts.of(scattered, 8)
    assert few is None or len(few.nodes) <= MOST_ROWS * 1501
    assert Parts.of(dense, 8) is None
    assert Parts.of(chain(100), 8) is None  # 13 blocks
