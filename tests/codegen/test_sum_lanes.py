"""Sums over all nodes of a set in lanes: values and derivatives against NumPy, and against plain loops."""

import numpy as np
import pytest

from minusgrad import Fields, Node, Output, Parameter, Potential, bind, local_energy, local_map
from minusgrad.codegen import loop_choice
from minusgrad.codegen.node_lanes import sum_lanes
from minusgrad.codegen.node_lanes.sum_lanes import SumLanes
from minusgrad.engine import runtime


@local_map(
    "moments",
    gives={"first": Output(), "second": Output()},
    over=("whole", "grains"),
    s=Node(of="grains"),
    m=Node(of="grains"),
    k=Parameter(),
)
def moments(s, m, k):
    return k * m[1] * s[1], m[1] * s[1] * s[1] + k * s[1]


@local_energy("spread", over="nodes", first=Node(), second=Node())
def spread(first, second):
    return second[0] * second[0] - first[0] * first[0] * second[0]


def _potential(count: int, precision: str = "f64", adds: bool = False) -> Potential:
    rng = np.random.default_rng(count)
    values = {"s": rng.uniform(0.5, 1.5, count), "m": rng.uniform(0.5, 1.5, count) / count}
    fields = Fields(values, precision=precision)
    given = {"sizes": {"whole": 1}, "parameters": {"k": 0.7}}
    maps = [bind(moments, fields, **given)]
    if adds:
        maps.append(bind(moments, fields, name="again", **given))
    return Potential(fields, [bind(spread, fields)], maps)


def _expected(potential: Potential, k: float = 0.7, times: float = 1.0) -> tuple[float, np.ndarray, float]:
    """U, dU/ds and dU/dk, by hand."""
    s, m = (potential.fields[name].values.astype(float) for name in "sm")
    a, b = times * k * (m * s).sum(), times * (m * s * s + k * s).sum()
    of_a, of_b = -2.0 * a * b, 2.0 * b - a * a
    by_s = times * (of_a * k * m + of_b * (2.0 * m * s + k))
    return b * b - a * a * b, by_s, times * (of_a * (m * s).sum() + of_b * s.sum())


COUNTS = [16_384, 16_385, 20_479, 40_007]
"""Whole chunks of 4096, one node more, one less; and a prime."""


@pytest.mark.exam
@pytest.mark.parametrize(("precision", "error"), [("f32", 3e-6), ("f64", 1e-13)])
@pytest.mark.parametrize("count", COUNTS)
def test_a_sum_over_a_set_and_its_derivatives(count, precision, error):
    potential = _potential(count, precision)
    value, by_s, by_k = _expected(potential)
    assert isinstance(potential.chain.loops["moments"], SumLanes)
    assert potential.value() == pytest.approx(value, rel=error)
    np.testing.assert_allclose(potential.gradient("s"), by_s, rtol=0.0, atol=error * abs(by_s).max())
    assert potential.gradient("moments.k") == pytest.approx(by_k, rel=error)


@pytest.mark.exam
def test_two_sums_into_one_node_add_up():
    potential = _potential(20_479, adds=True)
    value, by_s, _ = _expected(potential, times=2.0)
    assert potential.value() == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(potential.gradient("s"), by_s, rtol=1e-12)


@pytest.mark.exam
@pytest.mark.parametrize(("along", "to"), [("s", "s"), ("moments.k", "s"), ("s", "moments.k"), ("m", "s")])
def test_second_derivatives_are_those_of_plain_loops(along, to, monkeypatch):
    w = np.random.default_rng(5).normal(size=20_479) if along in ("s", "m") else np.array(0.3)
    in_lanes = _potential(20_479).product({along: w}, to)
    monkeypatch.setattr(loop_choice, "_sums_in_lanes", lambda term: False)
    plain = _potential(20_479)
    assert not isinstance(plain.chain.loops["moments"], SumLanes)
    np.testing.assert_allclose(
        in_lanes, plain.product({along: w}, to), rtol=1e-11, atol=1e-13 * abs(in_lanes).max()
    )


@pytest.mark.exam
def test_bits_do_not_depend_on_threads(engine: None):
    bits = []
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        potential = _potential(40_007, "f32")
        bits.append((potential.value().hex(), potential.gradient("s").tobytes()))
    assert bits[0] == bits[1]


@pytest.mark.exam
def test_maps_that_are_no_such_sums_keep_their_loops():
    def loops(**options):
        fields = Fields({"s": np.ones(20_000), "m": np.ones(20_000)})
        return sum_lanes.suits(
            bind(moments, fields, **{"sizes": {"whole": 1}, "parameters": {"k": 0.7}} | options)
        )

    assert loops()
    assert not loops(sizes={"whole": 2})
    assert not loops(parameters={"k": np.linspace(0.0, 1.0, 20_000)})
    assert not loops(sizes={"whole": 2}, copies=2)
