"""Kept traces: a term that is bound again derives nothing, and its kernels have the same text and bits.

A trace must not outlive what it was made of: every way to change an energy's function is tried.
"""

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.codegen import kept_traces
from minusgrad.codegen.derivative_request import ADJOINT, DerivativeRequest
from minusgrad.codegen.hessians.hessian_loops import HessianLoops
from minusgrad.codegen.kept_traces import KEPT, KeptTraces
from minusgrad.codegen.loop_choice import loops_of_energy
from minusgrad.codegen.map_loops import MapLoops
from minusgrad.codegen.term_loops import Emitter
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.term import Term
from minusgrad.engine import storage
from minusgrad.errors import RangeError
from minusgrad.potential.potential import Potential as Sum
from minusgrad.symbolic import differentiation
from minusgrad.symbolic.sources.captured_values import captured_values
from minusgrad_elastic import springs
from tests.support.instances import CANONICAL, MAPS
from tests.support.tiers import sampled

STIFFNESS = 2.0
WEIGHTS = [1.0, 3.0]
TABLE = np.array([1.0, 2.0])
SETTINGS = SimpleNamespace(stiffness=2.0)
MODULE = ModuleType("settings_of_a_user")
MODULE.stiffness = 2.0  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    KEPT.clear()
    yield
    KEPT.clear()
    WEIGHTS[0], TABLE[1] = 1.0, 2.0


# The text follows from the request alone ---------------------------------------------------------------


def _texts(emitter: Emitter, order: Callable[[list], list], before: Callable[[], None]) -> dict[str, str]:
    """The text of the kernels of several requests, which are made in an `order`."""
    term = emitter.term
    of_map = isinstance(emitter, MapLoops)
    own = [a for a in term.fields if not a.endswith(ADJOINT)]
    array = {a: storage.allocate(np.zeros_like(term.fields[a].values)) for a in own}
    others = tuple(a for a in term.energy.differentiable if a not in term.fields)
    asked: dict[str, DerivativeRequest] = {
        "value": DerivativeRequest(value=True),
        "gradient": DerivativeRequest(value=not of_map, gradient=array, slopes=others),
        "product": DerivativeRequest(product=array, tangents=dict(list(array.items())[:1])),
    }
    if of_map:
        del asked["value"]
    found = {}
    for name in order(list(asked)):
        before()
        found[name] = emitter.sweep_with_total(asked[name])[0].text
    if isinstance(emitter, MapLoops):
        before()
        found["forward"] = emitter.forward_loops().text
    return found


def _emitters(potential: Sum) -> list[Emitter]:
    """New loops for each term and map, as a new binding makes them."""
    terms = [loops_of_energy(term) for term in potential.terms.values()]
    return [*terms, *(potential.chain.loops[name] for name in potential.maps)]


@pytest.mark.parametrize("name", sampled([*CANONICAL, *MAPS], [*CANONICAL, *MAPS][::6]))
def test_kept_derivations_have_the_text_of_new_ones(name: str) -> None:
    """In any order of requests, and whatever was derived before."""
    instance = (CANONICAL | MAPS)[name]
    d = instance.dimensions[-1]

    def texts(*how: Any) -> list[dict[str, str]]:
        potential = instance.potential(np.random.default_rng(1), d, n=9, e=7)
        return [_texts(emitter, *how) for emitter in _emitters(potential)]

    new = texts(list, KEPT.clear)
    KEPT.clear()
    assert texts(list, lambda: None) == new
    count, nodes = len(KEPT), KEPT.nodes
    assert texts(lambda asked: asked[::-1], lambda: None) == new
    assert (len(KEPT), KEPT.nodes) == (count, nodes)
    KEPT.clear()
    assert texts(lambda asked: asked[::-1], lambda: None) == new


@pytest.mark.parametrize("name", ["spring", "neo_hookean"])
def test_kept_hessians_have_the_text_of_new_ones(name: str) -> None:
    def text() -> str:
        (emitter,) = _emitters(CANONICAL[name].potential(np.random.default_rng(1), 3, n=9, e=7))
        return HessianLoops(emitter, list(emitter.term.fields)[:1]).hessians().text

    new, again = text(), text()
    assert again == new
    KEPT.clear()
    assert text() == new


def _springs(precision: str = "f64", energy: LocalEnergy = springs.spring, k: float = 7.0) -> Potential:
    x = np.random.default_rng(0).normal(size=(6, 3))
    fields = Fields({"x": x}, precision=precision)
    tuples = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    parameters = dict.fromkeys(energy.of_role(Parameter), k)
    data = dict.fromkeys(energy.of_role(Datum), 0.5)
    return Potential(fields, [bind(energy, fields, tuples=tuples, data=data, parameters=parameters)])


def test_a_second_binding_derives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def results() -> list[np.ndarray]:
        u = _springs()
        tangent = np.ones((6, 3))
        return [
            np.array([u.value()]),
            u.gradient("x"),
            u.product({"x": tangent}, "x"),
            u.hessian("x").toarray(),
            u.gradient("spring.stiffness"),
        ]

    first = results()

    def never(*_: Any) -> None:
        pytest.fail("derives again")

    monkeypatch.setattr(differentiation, "gradient", never)
    monkeypatch.setattr(differentiation, "tangent", never)
    monkeypatch.setattr(kept_traces, "of_term", never)
    for one, other in zip(first, results(), strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_second_binding_is_verified_too() -> None:
    """Its state is another one: numbers may leave the range there."""
    _springs("f32").gradient("x")
    with pytest.raises(RangeError):
        _springs("f32", k=3e38).gradient("x")


# What is changed is traced again ------------------------------------------------------------------------


@ti.func
def _scaled(s):
    return STIFFNESS * s


@local_energy("one", over=2, x=Node("m", ("d",)))
def _global(x):
    r = x[0] - x[1]
    return STIFFNESS * r.dot(r)


@local_energy("one", over=2, x=Node("m", ("d",)))
def _nested(x):
    r = x[0] - x[1]
    return _scaled(r.dot(r))


@local_energy("one", over=2, x=Node("m", ("d",)))
def _listed(x):
    r = x[0] - x[1]
    return WEIGHTS[0] * r.dot(r)


@local_energy("one", over=2, x=Node("m", ("d",)))
def _in_an_array(x):
    r = x[0] - x[1]
    return TABLE[1] * r.dot(r)


@local_energy("one", over=2, x=Node("m", ("d",)))
def _in_an_object(x):
    r = x[0] - x[1]
    return SETTINGS.stiffness * r.dot(r)


@local_energy("one", over=2, x=Node("m", ("d",)))
def _in_a_module(x):
    r = x[0] - x[1]
    return MODULE.stiffness * r.dot(r)


def _closed_over(stiffness: float) -> tuple[LocalEnergy, Callable[[float], None]]:
    @local_energy("one", over=2, x=Node("m", ("d",)))
    def energy(x):
        r = x[0] - x[1]
        return stiffness * r.dot(r)

    def change(value: float) -> None:
        nonlocal stiffness
        stiffness = value

    return energy, change


CHANGES: dict[str, tuple[LocalEnergy, Callable[[pytest.MonkeyPatch], None]]] = {
    "a global": (_global, lambda patch: patch.setitem(globals(), "STIFFNESS", 10.0)),
    "a global of a nested function": (_nested, lambda patch: patch.setitem(globals(), "STIFFNESS", 10.0)),
    "an item of a list": (_listed, lambda patch: WEIGHTS.__setitem__(0, 5.0)),
    "a number of an array": (_in_an_array, lambda patch: TABLE.__setitem__(1, 10.0)),
    "an attribute": (_in_an_object, lambda patch: patch.setattr(SETTINGS, "stiffness", 10.0)),
    "an attribute of a module": (_in_a_module, lambda patch: patch.setattr(MODULE, "stiffness", 10.0)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_constant_changes_the_energy(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    energy, change = CHANGES[what]
    before = _springs(energy=energy).gradient("x")
    assert _springs(energy=energy).gradient("x").tobytes() == before.tobytes()
    change(monkeypatch)
    after = _springs(energy=energy)
    np.testing.assert_allclose(after.gradient("x"), 5.0 * before, rtol=1e-14)
    x = after.fields["x"].values
    legs = x[1:] - x[:-1]
    assert after.value() == pytest.approx(float(_stiffness(what) * (legs * legs).sum()), rel=1e-14)


def _stiffness(what: str) -> float:
    return 5.0 if what == "an item of a list" else 10.0


def test_a_changed_closure_changes_the_energy() -> None:
    energy, change = _closed_over(2.0)
    before = _springs(energy=energy).value()
    change(6.0)
    assert _springs(energy=energy).value() == pytest.approx(3.0 * before, rel=1e-14)


def test_closures_of_one_definition_share_what_is_equal() -> None:
    first, second, third = (_closed_over(number)[0] for number in (2.0, 2.0, 4.0))
    values, kept = [], []
    for one in (first, second):
        values.append(_springs(energy=one).value())
        kept.append(len(KEPT))
    assert kept == [2, 2]  # the request's, and that by which hidden NaN are looked for
    assert values[0] == values[1]
    assert _springs(energy=third).value() == pytest.approx(2.0 * values[0], rel=1e-14)


SOURCE = """
from minusgrad import Node, local_energy, ti

@local_energy("one", over=2, x=Node("m", ("d",)))
def energy(x):
    r = x[0] - x[1]
    return {factor} * r.dot(r)
"""


def test_a_module_that_is_loaded_again_is_another_energy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    (tmp_path / "reloaded_energy.py").write_text(SOURCE.format(factor="1.0"))
    module = importlib.import_module("reloaded_energy")
    before = _springs(energy=module.energy).value()
    (tmp_path / "reloaded_energy.py").write_text(SOURCE.format(factor="4.0"))
    importlib.invalidate_caches()
    module = importlib.reload(module)
    assert _springs(energy=module.energy).value() == pytest.approx(4.0 * before, rel=1e-14)


def test_energies_of_one_name_are_not_confused() -> None:
    @local_energy("one", over=2, x=Node("m", ("d",)), k=Parameter("N/m"))
    def linear(x, k):
        return k * (x[0] - x[1]).norm()

    @local_energy("one", over=2, x=Node("m", ("d",)), k=Parameter("N/m"))
    def quadratic(x, k):
        return k * (x[0] - x[1]).dot(x[0] - x[1])

    one, other = _springs(energy=linear), _springs(energy=quadratic)
    legs = np.diff(one.fields["x"].values, axis=0)
    assert one.value() == pytest.approx(7.0 * np.linalg.norm(legs, axis=1).sum(), rel=1e-14)
    assert other.value() == pytest.approx(7.0 * (legs * legs).sum(), rel=1e-14)


def test_a_cutoff_and_the_precision_are_part_of_the_energy() -> None:
    from minusgrad.energies.pairs.cutoff import Cutoff
    from minusgrad_molecular.lennard_jones import lennard_jones

    x = np.random.default_rng(3).uniform(0.0, 3.0, (12, 3))

    def force(radius: float, precision: str = "f64") -> np.ndarray:
        fields = Fields({"x": x}, precision=precision)
        parameters = {"sigma": 0.5, "epsilon": 1.0}
        given = {a: parameters[a] for a in lennard_jones.of_role(Parameter) if a in parameters}
        return Potential(
            fields, [bind(lennard_jones, fields, parameters=given, cutoff=Cutoff(radius))]
        ).gradient("x")

    near, far = force(1.2), force(2.4)
    KEPT.clear()
    assert force(2.4).tobytes() == far.tobytes()
    assert not np.allclose(near, far)
    assert force(1.2, "f32").dtype == np.float32
    assert force(1.2).tobytes() == near.tobytes()


# Memory -------------------------------------------------------------------------------------------------


def test_kept_traces_hold_no_fields_and_no_terms() -> None:
    potential = _springs()
    potential.gradient("x")
    fields, term = weakref.ref(potential.fields), weakref.ref(next(iter(potential.terms.values())))
    del potential
    gc.collect()
    assert len(KEPT) > 0
    assert fields() is None
    assert term() is None


def test_the_graphs_that_were_used_last_are_kept() -> None:
    kept = KeptTraces(most_nodes=300)
    terms: list[Term] = [_springs(energy=_closed_over(float(n))[0]).terms["one"] for n in range(40)]
    for term in terms:
        kept.of_term(term, "value")
        kept.of_term(terms[0], "value")
    assert 1 < len(kept) < 40
    assert kept.nodes <= 300
    count, traced = len(kept), kept.of_term(terms[0], "value")
    assert len(kept) == count
    assert traced is kept.of_term(terms[0], "value")
    assert kept.of_term(terms[1], "value") is not None


def test_captured_values_are_those_of_attributes_too() -> None:
    hash(captured_values(_in_a_module.function, _in_an_object.function))
    assert captured_values(_in_a_module.function) == captured_values(_in_a_module.function)
    assert captured_values(_global.function) == captured_values(_global.function)
    assert captured_values(_global.function) != captured_values(_nested.function)
    hash(captured_values(_listed.function, _in_an_array.function, springs.spring.function))
