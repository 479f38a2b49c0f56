"""Energies over single nodes in lanes; and arrays of gradients that a sweep begins anew."""

import numpy as np
import pytest

from exam import CANONICAL, Instance
from minusgrad import Body, Fields, Node, Parameter, Potential, Table, bind, lane_text, local_energy, runtime
from minusgrad import node_lanes as rooms
from minusgrad.emit import Emitter
from minusgrad.errors import MiscompiledError
from minusgrad.node_lanes import NodeLanes
from minusgrad_gravity.gravity import gravity
from test_lanes import LIMITS, T, engine, everything, in_lanes

__all__ = ["engine"]

NAMES = ["site", "readout", "dose_l2", "dose_l1"]
CASES = [pytest.param(CANONICAL[name], id=name) for name in NAMES]
SIZES = [16, 17, 64, 96, 101]
"""A vector, one and a bit, whole parts, and a last part that is longer and ends between vectors."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "PART", 32)


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("instance", CASES)
def test_both_layouts_compute_the_same(
    instance: Instance, size: int, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    found = {}
    for wanted in (False, True):
        in_lanes(monkeypatch, wanted)
        potential = instance.potential(np.random.default_rng(7), 1, n=size, precision=precision)
        (name,) = potential.terms
        assert type(potential._work[name].emitter) is (NodeLanes if wanted else Emitter)
        found[wanted] = everything(potential) | asked_singly(potential)
    for what, expected in found[False].items():
        assert found[True][what].dtype == expected.dtype
        largest = max(float(np.abs(expected).max()), 1e-30)
        assert np.abs(found[True][what].astype(float) - expected).max() <= LIMITS[precision] * largest, what


def asked_singly(potential: Potential) -> dict[str, np.ndarray]:
    """What vectors compute: values, gradients and products of fields alone."""
    field = next(name for name in potential.reads)
    values = potential.fields[field].values
    out = runtime.allocate(np.full_like(values, 7.0))
    value = potential.evaluate_into({field: out}, T)
    along = np.random.default_rng(5).normal(size=values.shape)
    return {
        "value and gradient": np.array([value, *runtime.host(out)]),
        "gradient alone": potential.gradient(field, T),
        "product alone": potential.product({field: along}, field, T),
    }


@pytest.mark.parametrize("name", NAMES)
def test_bits_do_not_depend_on_threads(name: str, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    bits = {}
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        potential = CANONICAL[name].potential(np.random.default_rng(5), 1, n=2111)
        bits[threads] = {what: values.tobytes() for what, values in asked_singly(potential).items()}
    assert bits[1] == bits[2]


@local_energy("well", over="nodes", q=Node(), k=Parameter(default="1"))
def well(q, k):
    return 0.5 * k * q[0] ** 2


@local_energy("hilly", over="nodes", q=Node(), heights=Table())
def hilly(q, heights):
    return heights[q[0]] * q[0]


@pytest.mark.parametrize("count", [37, 4096])
def test_several_terms_of_one_field_add_up(count: int, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    """The first begins the array, the second adds to it, in vectors too; again and again."""
    in_lanes(monkeypatch, True)
    q = np.random.default_rng(1).normal(size=count)
    fields = Fields({"q": q})
    terms = [bind(well, fields, name=f"well_{k}", parameters={"k": k + 1.0}) for k in range(3)]
    potential = Potential(fields, terms)
    assert potential.in_lanes == ["well_0", "well_1", "well_2"]
    out = runtime.allocate(np.full(count, np.nan))
    for _ in range(3):
        assert potential.evaluate_into({"q": out}) == pytest.approx(3.0 * (q * q).sum(), rel=1e-13)
        np.testing.assert_allclose(runtime.host(out), 6.0 * q, rtol=1e-14)


def test_what_covers_some_nodes_begins_nothing(engine: None) -> None:
    """Terms of some nodes find zeros, in either order; so does what no term gives to."""
    rng = np.random.default_rng(2)
    x, m, q = rng.normal(size=(9, 2)), rng.uniform(1.0, 2.0, 9), rng.normal(size=9)
    fields = Fields({"x": x, "m": m, "q": q, "idle": q})
    some, others = Body("some", [1, 4, 5]), Body("others", [0, 7])
    pulls = {
        body.name: bind(
            gravity, fields, name=body.name, bodies=[body], parameters={"G": 1.0, "softening": 0.1}
        )
        for body in (some, others)
    }
    caught = bind(well, fields, bodies=[some], parameters={"k": 2.0})
    every = bind(well, fields, name="every", parameters={"k": 3.0})
    alone = {name: Potential(fields, [term]).gradient("x") for name, term in pulls.items()}
    expected = {"x": alone["some"] + alone["others"], "q": 3.0 * q, "idle": 0.0 * q}
    expected["q"][some.nodes] += 2.0 * q[some.nodes]
    for terms in ([*pulls.values(), caught, every], [every, caught, *reversed(pulls.values())]):
        potential = Potential(fields, terms)
        targets = {n: runtime.allocate(np.full_like(fields[n].values, np.nan)) for n in expected}
        for _ in range(2):
            potential.gradient_into(targets)
            for name, values in expected.items():
                np.testing.assert_allclose(runtime.host(targets[name]), values, rtol=1e-13, atol=1e-13)


def test_only_nodes_side_by_side_with_one_number_each(monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, True)
    fields = Fields({"q": np.ones(40)})
    assert type(rooms_of(bind(well, fields))) is NodeLanes
    assert type(rooms_of(bind(well, fields, bodies=[Body("back", np.arange(40)[::-1])]))) is Emitter
    assert type(rooms_of(bind(well, fields, bodies=[Body("some", np.arange(30))]))) is Emitter
    assert type(rooms_of(bind(well, fields, parameters={"k": np.arange(40.0)}))) is Emitter
    assert type(rooms_of(bind(well, Fields({"q": np.ones(7)})))) is Emitter


def rooms_of(term: object) -> object:
    from minusgrad.lanes import loops_of_energy

    return loops_of_energy(term)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", ["value", "gradient", "both"])
def test_a_kernel_that_computes_something_else_is_not_used(
    asked: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    in_lanes(monkeypatch, True)

    def ask(potential: Potential) -> None:
        out = runtime.allocate(np.zeros(64))
        match asked:
            case "value":
                potential.value()
            case "gradient":
                potential.gradient_into({"dose": out})
            case "both":
                potential.evaluate_into({"dose": out})

    with monkeypatch.context() as broken:
        broken.setitem(lane_text.VECTORS, "sub", "{} + {}")
        wrong = CANONICAL["dose_l2"].potential(np.random.default_rng(2), 1, n=64)
        with pytest.raises(MiscompiledError, match=r"term 'dose_l2', element .* its function: engine "):
            ask(wrong)
    ask(CANONICAL["dose_l2"].potential(np.random.default_rng(2), 1, n=64))
