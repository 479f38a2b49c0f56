"""Tuples that change, and lists of none: bits are of the tuples alone, numbers those of a fixed term."""

from pathlib import Path
from shutil import copy
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from minusgrad import Datum, Fields, Linear, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.codegen.element_lanes import lane_loops
from minusgrad.energies.fields import Motion
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.term import Term
from minusgrad.engine import kernels, runtime
from minusgrad.errors import EnergyError, RangeError
from minusgrad.potential.hessians import sparsity_pattern
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.springs import spring
from tests.support.layouts import in_lanes

NODES = 40
X = Node("m", ("d",))
SIZES = (0, 5, 70, 64, 63, 0, 130, 1)


@local_energy(
    "near", over=4, x=X, weight=Datum(differentiable=True), shift=Datum("m", ("d",)), reach=Parameter("m")
)
def near(x, weight, shift, reach):
    """A barrier between a node and a triangle."""
    n = (x[2] - x[1]).cross(x[3] - x[1])
    a = n.dot(x[0] - x[1] + shift)
    s = a * a / (n.dot(n) + reach**4) / (reach * reach)
    return weight * ti.exp(-s)


@local_energy("weigh", over=2, x=X, share=Datum("m^-1", ("k",)), stretch=Linear("x", "share"))
def weigh(stretch):
    return 0.5 * stretch.dot(stretch)


@local_map("count", gives="n", over=2, x=X)
def count(x):
    return (x[0] - x[1]).norm()


def fields_of(precision: str = "f64") -> Fields:
    x = np.random.default_rng(0).normal(size=(NODES, 3))
    return Fields({"x": x, "v": np.zeros((NODES, 3)), "m": np.ones(NODES)}, precision=precision)


def drawn(rng: np.random.Generator, size: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    tuples = np.array([rng.permutation(NODES)[:4] for _ in range(size)], np.int32).reshape(size, 4)
    return tuples, {"weight": rng.uniform(1.0, 2.0, size), "shift": rng.normal(size=(size, 3))}


def bound(fields: Fields, tuples: Any, data: dict[str, Any], **more: Any) -> Term:
    return bind(near, fields, tuples=tuples, data=data, parameters={"reach": 0.7}, **more)


def none(fields: Fields) -> Term:
    return bound(fields, [], {"weight": [], "shift": []}, changing=True)


def held(fields: Fields) -> Term:
    """Springs, which do not change."""
    rows = [[k, k + 1] for k in range(NODES - 1)]
    return bind(spring, fields, tuples=rows, data={"rest": 0.5}, parameters={"stiffness": 3.0})


def numbers(potential: Potential) -> dict[str, np.ndarray]:
    """All that a potential of `near` gives."""
    w = np.random.default_rng(1).normal(size=(NODES, 3))
    out = potential._output_array("x")
    found: dict[str, Any] = {"both": potential.evaluate_into({"x": out}), "into": np.array(out)}
    found |= {"value": potential.value(), "each": potential.by_element("near")}
    found |= {f"d{n}": potential.gradient(n) for n in ("x", "near.reach", "near.weight")}
    found["product"] = potential.product({"x": w}, "x")
    found["mixed"] = potential.product({"x": w}, "near.weight")
    weights = np.ones(potential.shape("near.weight"))
    found["along data"] = potential.product({"near.weight": weights, "near.reach": 0.5}, "x")
    for how in (None, "clamp"):
        matrix = potential.hessian("x", project=how)
        found |= {f"{how} {part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
        found[f"{how} elements"] = potential.element_hessians("near", "x", project=how)
    return {name: np.asarray(one) for name, one in found.items()}


def bits_of(found: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {name: one.tobytes() for name, one in found.items()}


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("lanes", [False, True])
def test_bits_are_of_the_tuples_alone_and_numbers_those_of_a_fixed_term(
    lanes: bool, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone and beside a fixed term, through lists that grow, shrink and vanish.

    Short loops of a fixed term are serial, where LLVM may add up in other vectors: its last digits differ.
    """
    rounding = 8.0 * np.finfo(precision.replace("f", "float")).eps
    in_lanes(monkeypatch, lanes)
    if lanes:
        monkeypatch.setattr(lane_loops, "LEAST_TUPLES", 0)  # by number they begin beyond the smallest rooms
    rng, fields = np.random.default_rng(2), fields_of(precision)
    changing = none(fields)
    alone, both = Potential(fields, [changing]), Potential(fields, [held(fields), changing])
    assert bool(alone.in_lanes) == lanes
    for size in SIZES:
        tuples, data = drawn(rng, size)
        changing.set_tuples(tuples, data)
        new, fixed = none(fields), bound(fields, tuples, data)
        new.set_tuples(tuples, data)
        for changed, beside in ((alone, []), (both, [held(fields)])):
            found = numbers(changed)
            assert bits_of(found) == bits_of(numbers(Potential(fields, [*beside, new]))), size
            for name, expected in numbers(Potential(fields, [*beside, fixed])).items():
                scale = np.abs(expected).max(initial=0.0)
                assert np.abs(found[name] - expected).max(initial=0.0) <= rounding * scale, (size, name)


def test_an_empty_list_is_zero() -> None:
    """Also of a term that never changes, in steps that share a kernel, and with data of any shape."""
    fields = fields_of()
    empty = bound(fields, np.zeros((0, 4), int), {"weight": 1.0, "shift": [0.0, 0.0, 1.0]})
    for term in (empty, none(fields)):
        potential = Potential(fields, [term])
        assert potential.value() == 0.0
        assert not potential.gradient("x").any()
        assert not potential.product({"x": np.ones((NODES, 3))}, "x").any()
        assert potential.hessian("x").nnz == 0
        assert potential.hessian("x").shape == (3 * NODES, 3 * NODES)
        assert potential.gradient("near.reach") == 0.0
        assert potential.gradient("near.weight").shape == (0,)
        assert potential.magnitude() == 0.0
    alone, beside = (fields_of() for _ in range(2))
    states = []
    for some, terms in (
        (alone, [held(alone)]),
        (beside, [held(beside), bound(beside, [], {"weight": [], "shift": []})]),
    ):
        stepper = _stepper(some, terms)
        stepper.advance(50)
        states.append(some["x"].values.tobytes())
    assert states[0] == states[1]


def _stepper(fields: Fields, terms: list[Term]) -> Integrator:
    return Integrator(System(Potential(fields, terms), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], 1e-3)


def test_kernels_are_kept_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the pattern of fixed terms always: it is computed once."""
    rng, fields = np.random.default_rng(3), fields_of()
    changing = none(fields)
    potential = Potential(fields, [held(fields), changing])
    changing.set_tuples(*drawn(rng, 100))
    numbers(potential)
    made, compiled = dict(potential.kernels), kernels.compiled_count()
    whole: list[int] = []
    of_pattern = sparsity_pattern.SparsityPattern.__init__

    def counted(self: Any, dofs: Any, blocks: Any) -> None:
        whole.extend([1] * (dofs.used is None))
        of_pattern(self, dofs, blocks)

    monkeypatch.setattr(sparsity_pattern.SparsityPattern, "__init__", counted)
    for size in (0, 127, 3, 100):
        changing.set_tuples(*drawn(rng, size))
        numbers(potential)
    assert potential.kernels == made
    changing.set_tuples(*drawn(rng, 128))
    numbers(potential)
    assert potential.kernels["spring"] is made["spring"]
    assert potential.kernels["near"] is not made["near"]
    assert changing.elements.room == 256
    assert kernels.compiled_count() == compiled
    assert whole == []


def test_the_pattern_is_shared_until_tuples_change() -> None:
    rng, fields = np.random.default_rng(4), fields_of()
    changing = none(fields)
    potential = Potential(fields, [held(fields), changing])
    changing.set_tuples(*drawn(rng, 3))
    one = potential.hessian("x")
    fields["x"].set(fields["x"].values + 0.1)
    other = potential.hessian("x")
    assert one.indices is other.indices
    assert one.has_sorted_indices
    assert (abs(other - other.T)).nnz == 0
    changing.set_tuples(*drawn(rng, 3))
    assert potential.hessian("x").indices is not one.indices
    dense = [Potential(fields, [term]).hessian("x").toarray() for term in (held(fields), changing)]
    np.testing.assert_allclose(potential.hessian("x").toarray(), dense[0] + dense[1], rtol=1e-14, atol=1e-13)


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    bits, before = {}, runtime._Running.options
    for threads in (1, 2):
        runtime.start(runtime.Options(threads=threads))
        fields = fields_of()
        changing = none(fields)
        potential = Potential(fields, [held(fields), changing])
        rng = np.random.default_rng(5)
        bits[threads] = []
        for size in (0, 3000, 20):
            changing.set_tuples(*drawn(rng, size))
            bits[threads].append(bits_of(numbers(potential)))
    runtime.start(before)
    assert bits[1] == bits[2]


def test_steppers_notice() -> None:
    """A run whose tuples change between two steps is one that begins there with them."""
    rng, fields = np.random.default_rng(6), fields_of()
    changing = none(fields)
    stepper = _stepper(fields, [held(fields), changing])
    stepper.advance(3)
    tuples, data = drawn(rng, 20)
    writes = stepper.potential.writes
    changing.set_tuples(tuples, data)
    assert stepper.potential.writes == writes + 1
    other = fields_of()
    there = _stepper(other, [held(other), bound(other, tuples, data, changing=True)])
    other["x"].set(fields["x"].values)
    other["v"].set(fields["v"].values)
    stepper.advance(3)
    there.advance(3)
    assert np.abs(other["v"].values).max() > 1e-3
    assert fields["x"].values.tobytes() == other["x"].values.tobytes()
    assert fields["v"].values.tobytes() == other["v"].values.tobytes()


def test_a_twin_has_tuples_of_its_own() -> None:
    rng, fields = np.random.default_rng(7), fields_of()
    changing = none(fields)
    potential = Potential(fields, [changing])
    changing.set_tuples(*drawn(rng, 9))
    value = potential.value()
    twin = potential.twin()
    twin.terms["near"].set_tuples(*drawn(rng, 4))
    assert potential.value() == value
    changing.set_tuples([], {"weight": [], "shift": []})
    assert potential.value() == 0.0
    assert twin.value() > 0.0
    assert len(twin.by_element("near")) == 4


def test_tuples_of_single_nodes_are_read_where_they_are() -> None:
    """0, 1, 2, ... at first, of which plain kernels assume that element e is node e."""
    at = LocalEnergy("at", single.function, 1, single.roles)
    fields = fields_of()
    changing = bind(at, fields, tuples=np.arange(NODES)[:, None], data={"rest": 0.0}, changing=True)
    potential = Potential(fields, [changing])
    x = fields["x"].values
    assert potential.value() == pytest.approx((x * x).sum(), rel=1e-14)
    changing.set_tuples(np.arange(NODES)[::-1][:7, None], {"rest": 1.0})
    gradient = potential.gradient("x")
    np.testing.assert_allclose(gradient[-7:], 2.0 * (x[-7:] - 1.0), rtol=1e-14)
    assert not gradient[:-7].any()


@local_energy("at", over=1, x=X, rest=Datum("m"))
def single(x, rest):
    r = x[0] - rest
    return r.dot(r)


def test_a_kernel_of_no_elements_is_verified_when_there_are_some() -> None:
    fields = fields_of("f32")
    changing = none(fields)
    potential = Potential(fields, [changing])
    potential.gradient("x")
    potential.value()
    tuples, data = drawn(np.random.default_rng(8), 5)
    data["weight"][:] = 3e38
    data["shift"][:] = 1e25
    changing.set_tuples(tuples, data)
    with pytest.raises(RangeError, match="near"):
        potential.gradient("x")


def test_what_cannot_change_is_refused() -> None:
    fields = fields_of()
    changing = none(fields)
    potential = Potential(fields, [changing])
    tuples, data = drawn(np.random.default_rng(9), 6)
    changing.set_tuples(tuples, data)
    before = bits_of(numbers(potential))
    wrong = tuples.copy()
    wrong[4, 2] = NODES
    rows = [(tuples[:, :3], data, r"near\.tuples: needs rows of 4 node numbers, got int32 of shape \[6, 3\]")]
    rows += [
        (wrong, data, rf"near\.tuples: row 4 = .* names a node outside 0\.\.{NODES - 1} of 'x'; correct it")
    ]
    rows += [(tuples, {"weight": data["weight"]}, r"near\.shift: needs a value for each of the 6 new tuples")]
    rows += [(tuples, data | {"wieght": 1.0}, r"near: no datum named 'wieght'; did you mean 'weight'\?")]
    rows += [(tuples, data | {"weight": np.ones(5)}, r"near\.weight: needs shape \[6\] or \[\], got \[5\]")]
    rows += [(tuples, data | {"weight": np.nan}, r"near\.weight: needs finite numbers")]
    for some, given, message in rows:
        with pytest.raises(EnergyError, match=message):
            changing.set_tuples(some, given)
        assert bits_of(numbers(potential)) == before
    with pytest.raises(EnergyError, match=r"spring: its tuples are fixed; bind it with changing = True"):
        held(fields).set_tuples([[0, 1]], {"rest": 1.0})
    with pytest.raises(EnergyError, match=r"near\.reach: takes one value for all, got 6 for tuples"):
        bind(near, fields, tuples=tuples, data=data, parameters={"reach": np.ones(6)}, changing=True)
    with pytest.raises(EnergyError, match=r"count: is a map, whose receivers follow from its tuples"):
        bind(count, fields, tuples=[[0, 1]], changing=True)
    made = bind(weigh, fields, tuples=[], data={"share": []}, changing=True)
    with pytest.raises(EnergyError, match=r"weights of element 0 must sum to zero"):
        made.set_tuples([[0, 1]], {"share": [[1.0, 1.0]]})


PLUGIN = """
    from minusgrad import Datum, Node, bind, local_energy
    from minusgrad.plugin import Compound, CompoundContext, Record, hookimpl

    @local_energy("touch", over=2, x=Node("m", ("d",)), weight=Datum("J m^-2"))
    def touch(x, weight):
        return weight * (x[0] - x[1]).dot(x[0] - x[1])

    class Contacts(Record):
        def make(self, context: CompoundContext) -> Compound:
            return Compound([bind(touch, context.fields, tuples=[], data={"weight": []}, changing=True)], [])

    @hookimpl
    def register_compounds():
        return {"contacts": Contacts}
    """


def test_a_run_refuses_tuples_that_no_checkpoint_holds(tmp_path: Path, invoke) -> None:
    (tmp_path / "contacts.py").write_text(dedent(PLUGIN))
    scene = Path("scenes/mass_spring.toml").read_text()
    (tmp_path / "data").mkdir()
    copy(Path("scenes/data/strider.toml"), tmp_path / "data")
    begin, _, end = scene.partition("[stepper]")
    (tmp_path / "scene.toml").write_text(f'{begin}[[compound]]\nkind = "contacts"\n\n[stepper]{end}')
    code, _, complaint = invoke("run", tmp_path / "scene.toml", "--plugin", tmp_path / "contacts.py")
    assert code == 2
    assert "touch: its tuples change, which no checkpoint holds" in complaint
