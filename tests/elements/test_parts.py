"""Parts of elements: their rows, and which meshes they suit."""

import numpy as np
import pytest

from minusgrad.elements.parts import COUNTS, LEAST_SLOTS, Parts
from minusgrad_elastic import generators

pytestmark = pytest.mark.unit


def box(*parts: int) -> np.ndarray:
    """Tetrahedra of a box of so many cubes (E, 4)."""
    return generators.box(tuple(float(n) for n in parts), parts).cells


@pytest.mark.parametrize("wide", [8, 16])
@pytest.mark.parametrize("elements", [box(6, 6, 18), box(5, 8, 20)[:-3]])
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
    elements = box(6, 6, 18)[:-3]
    parts = Parts.of(elements, 16)
    assert parts is not None
    filled = parts.rows[len(elements) :]
    assert len(parts.rows) == 243 * 16
    assert len(filled) == 3
    assert (filled >= len(parts.nodes) - parts.spare).all()
    assert np.array_equal(parts.nodes[filled[0]], elements[-1])
    assert parts.rows[: len(elements)].max() < len(parts.nodes) - parts.spare


def test_nodes_sum_each_of_their_rows_once_in_the_order_of_parts() -> None:
    elements = box(6, 6, 18)
    count = int(elements.max()) + 1
    parts = Parts.of(elements, 16)
    assert parts is not None
    gather = parts.gather(count)
    assert sorted(gather.slots.tolist()) == [*range(len(parts.nodes) - parts.spare)]
    for node in (0, 1, count // 2, count - 1):
        rows = gather.slots[gather.start[node] : gather.start[node + 1]]
        assert (parts.nodes[rows] == node).all()
        assert (np.diff(rows) > 0).all()


def test_more_parts_are_preferred_and_few_slots_a_row_have_none() -> None:
    long = Parts.of(box(12, 12, 12), 16)
    assert long is not None
    assert len(long.first) == COUNTS[0] + 1
    assert LEAST_SLOTS * len(long.nodes) <= box(12, 12, 12).size
    short = Parts.of(box(10, 4, 4), 16)
    assert short is not None
    assert len(short.first) < COUNTS[0] + 1
    chain = np.stack([np.arange(3000), np.arange(3000) + 1], axis=1).astype(np.int32)
    assert Parts.of(chain, 16) is None
    assert Parts.of(np.random.default_rng(0).permutation(box(8, 8, 8)), 16) is None
    assert Parts.of(box(2, 2, 4), 8) is None  # 12 blocks
