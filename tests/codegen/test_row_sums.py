"""Sums of many elements into one node: on devices in parts, in an order that the elements fix."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Output, Parameter, Potential, bind, local_energy, local_map
from minusgrad.codegen.row_sums import PART
from minusgrad.codegen.term_loops import Emitter
from minusgrad.elements.changing.changing_tuples import ChangingTuples
from minusgrad.elements.gather import parts
from minusgrad.energies.values.parameter_values import Values
from minusgrad.engine.kernels import BoundKernel
from minusgrad.engine.storage import allocate, host, store
from tests.support import devices

MANY = 200_000
"""More than the turns that the loops of a thread may have on a software device."""
CLOSE = {"f64": 1e-12, "f32": 2e-5}
"""In parts of the sum of absolute values."""


@local_map("total", over=("whole", "cells"), gives={"whole_sum": Output("1")}, q=Node(of="cells"))
def total(q):
    """The sum of squares."""
    return q[1] * q[1]


@local_energy("square", over="nodes", whole_sum=Node())
def square(whole_sum):
    """Of the sum, in parts of a million."""
    return 1e-6 * whole_sum[0] * whole_sum[0]


@local_energy("spoke", over=2, x=Node("1", ("d",)), k=Parameter(default=1.0))
def spoke(x, k):
    """From a hub to a rim."""
    d = x[0] - x[1]
    return 0.5 * k * d.dot(d) * d.dot(d)


def rim(count: int = MANY) -> np.ndarray:
    """Bodies around the first one."""
    return np.random.default_rng(3).normal(size=(count + 1, 2)) + 0.1


def spokes(x: np.ndarray, precision: str) -> Potential:
    """All bodies but one are tied to the first one, and the last one to the second one, too."""
    count = len(x) - 1
    ties = np.stack([np.zeros(count, int), np.arange(1, count + 1)], axis=1)
    fields = Fields({"x": x}, precision=precision)
    return Potential(fields, [bind(spoke, fields, tuples=np.append(ties, [[1, count]], axis=0))])


@pytest.mark.unit
@pytest.mark.parametrize("counts", [[0, 1, 256, 257, 0, 1000], [0], [3]])
def test_parts_of_rows(counts: list[int]) -> None:
    """Each slot is in one part, each part in one row, and no part is longer than it may be."""
    start = np.concatenate([[0], np.cumsum(counts)])
    begin, rows = parts(start, PART)
    assert np.diff(begin).max(initial=0) <= PART
    assert (np.diff(begin) > 0).all()
    np.testing.assert_array_equal(begin[rows], start)


def close(found: np.ndarray, right: np.ndarray, precision: str, size: float) -> None:
    np.testing.assert_allclose(found, right, rtol=0.0, atol=CLOSE[precision] * size)


@devices.needed
@pytest.mark.parametrize("precision", CLOSE)
def test_a_map_of_many_elements_to_one_node(precision: str) -> None:
    with devices.on():
        fields = Fields({"q": np.random.default_rng(5).normal(size=MANY)}, precision=precision)
        maps = [bind(total, fields, sizes={"whole": 1})]
        potential = Potential(fields, [bind(square, fields)], maps)
        found, slope = potential.value(), potential.gradient("q")
        assert potential.value() == found
        q = fields["q"].values.astype(float)
    whole = (q * q).sum()
    assert found == pytest.approx(1e-6 * whole**2, rel=CLOSE[precision])
    close(slope, 4e-6 * whole * q, precision, np.abs(slope).max())


@devices.needed
@pytest.mark.parametrize("precision", CLOSE)
def test_the_gradient_at_a_node_that_all_elements_share(precision: str) -> None:
    with devices.on():
        potential = spokes(rim(), precision)
        x = potential.fields["x"].values.astype(float)
        along = np.random.default_rng(6).normal(size=x.shape)
        gradient, change = potential.gradient("x"), potential.product({"x": along}, "x")
        np.testing.assert_array_equal(potential.gradient("x"), gradient)
    d, e = x[0] - x[1:], along[0] - along[1:]
    forces = 2.0 * (d * d).sum(1)[:, None] * d
    changes = 2.0 * (d * d).sum(1)[:, None] * e + 4.0 * (d * e).sum(1)[:, None] * d
    close(gradient[0], forces.sum(0), precision, np.abs(forces).sum())
    close(change[0], changes.sum(0), precision, np.abs(changes).sum())
    close(gradient[2:-1], -forces[1:-1], precision, np.abs(forces).max())


@devices.needed
def test_sums_by_row_of_a_parameter() -> None:
    """Two values, one of which all elements but three have."""
    x = rim()
    index = np.zeros(MANY, np.int32)
    index[[5, 77, MANY - 1]] = 1
    with devices.on():
        term = spokes(x, "f64").terms["spoke"]
        term.parameters["k"] = Values(np.array([1.0, 2.0]), np.append(index, 1).astype(np.int32))
        emitter = Emitter(term)
        code, buffer = emitter.derivative("k")
        BoundKernel(code, "t")(0.0)
        into = allocate(np.ones((2, 1)))
        BoundKernel(emitter.by_row("k", "d_k", "into", into, "-"))()
        found, each = 1.0 - host(into)[:, 0], host(buffer)[:, 0]
    assert found[1] == pytest.approx(each[[5, 77, MANY - 1, MANY]].sum(), rel=1e-14)
    assert found[0] == pytest.approx(each[:MANY][index == 0].sum(), rel=1e-12)


@devices.needed
def test_a_list_that_is_rebuilt_has_room_for_the_parts_of_a_longer_one() -> None:
    """The first list fills no second level of parts; the last one has nodes without any element."""
    x = rim(4 * PART)
    with devices.on():
        term = spokes(x, "f64").terms["spoke"]
        every = term.elements.nodes
        elements = ChangingTuples(every[: PART + 3].copy(), 8 * PART)
        term.elements = elements
        target = allocate(np.zeros_like(x))
        kernel = BoundKernel(Emitter(term).gradient({"x": target}), "t")
        for nodes in (elements.nodes, every, every[: PART // 2]):
            if nodes is not elements.nodes:
                assert elements.with_nodes(nodes.copy()) is elements
            store(target, np.zeros_like(x))
            kernel(0.0)
            d = x[nodes[:, 0]] - x[nodes[:, 1]]
            forces, right = 2.0 * (d * d).sum(1)[:, None] * d, np.zeros_like(x)
            np.add.at(right, nodes[:, 0], forces)
            np.add.at(right, nodes[:, 1], -forces)
            close(host(target), right, "f64", np.abs(forces).sum())


def test_the_longest_list_has_one_thread_on_the_cpu() -> None:
    """There the bits are those of earlier versions."""
    emitter = Emitter(spokes(rim(2 * PART), "f64").terms["spoke"])
    target = np.zeros((2 * PART + 1, 2))
    assert "_parts" not in emitter.gradient({"x": target}).text
