"""Elements: a kind that the framework does not have goes through everything that evaluates a term.

`Neighbours` is written here alone: pairs within a cutoff, listed by target, rebuilt when nodes have moved.
The energy is zero beyond the cutoff, so that all pairs give the same numbers.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from minusgrad import Datum, Fields, Motion, Node, Parameter, Potential, bind, local_energy, local_map, ti
from minusgrad.check import term_check
from minusgrad.elements.all_pairs import AllPairs
from minusgrad.elements.elements import Elements
from minusgrad.elements.loops import EachTarget, Sources
from minusgrad.elements.node_tuples import NodeTuples
from minusgrad.energies.term import Term
from minusgrad.energies.term_spec import TermSpec
from minusgrad.errors import EnergyError, MiscompiledError
from minusgrad.exam import references
from minusgrad.potential.fused_code import FusedCode
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support import energies

X, REACH = Node("m", ("d",)), 1.0
N = 40

NAMED = ("j = {p}neighbours[q]",)
BY_TARGET = EachTarget(
    (
        Sources("for q in range({p}begins[i], {p}middles[i]):", counted=True, begin=NAMED),
        Sources("for q in range({p}middles[i], {p}begins[i + 1]):", counted=False, begin=NAMED),
    )
)


@dataclass(frozen=True)
class Neighbours(Elements):
    """Pairs of nodes closer than `reach` + `skin` at positions `x`, listed by target."""

    nodes: np.ndarray
    x: np.ndarray
    reach: float
    skin: float = 0.3
    unordered = True
    fixed = False
    arity = 2
    loop = BY_TARGET

    @property
    def _near(self) -> np.ndarray:
        apart = np.linalg.norm(self.x[self.nodes, None] - self.x[None, self.nodes], axis=2)
        return (apart < self.reach + self.skin) & ~np.eye(len(self.nodes), dtype=bool)

    def tuples(self) -> np.ndarray:
        low, high = np.nonzero(np.triu(self._near))
        return np.stack([self.nodes[low], self.nodes[high]], axis=1)

    def arrays(self) -> dict[str, np.ndarray]:
        near = self._near
        begins = np.concatenate([[0], near.sum(axis=1).cumsum()])
        middles = begins[:-1] + np.tril(near).sum(axis=1)
        made = {"begins": begins, "middles": middles, "neighbours": np.nonzero(near)[1]}
        return {"nodes": self.nodes, **{name: array.astype(np.int32) for name, array in made.items()}}

    def of_row(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        others = np.flatnonzero(self._near[row])
        return self.nodes[np.stack([np.full_like(others, row), others], axis=1)], others < row

    def part(self, rng: np.random.Generator, elements: int, targets: int) -> tuple["Neighbours", None]:
        return replace(self, nodes=np.sort(rng.permutation(self.nodes)[:targets])), None

    def rebuild(self, fields: Mapping[str, np.ndarray]) -> "Neighbours":
        moved = np.linalg.norm(fields["x"] - self.x, axis=1).max()
        return replace(self, x=fields["x"].astype(np.float64)) if moved > self.skin / 2 else self


@local_energy("repulsion", over="pairs", symmetries=("translation",), x=X, k=Parameter(default=2.0))
def repulsion(x, k):
    """k max(1 - r^2, 0)^3."""
    inside = ti.max(1.0 - (x[0] - x[1]).norm_sqr(), 0.0)
    return k * inside * inside * inside


@local_map("crowd", gives="rho", over="pairs", x=X, weight=Node())
def crowd(x, weight):
    """The weighted density at node 0 that node 1 gives."""
    inside = ti.max(1.0 - (x[0] - x[1]).norm_sqr(), 0.0)
    return weight[1] * inside * inside * inside


def some_fields(precision: str = "f64", d: int = 2) -> Fields:
    rng = np.random.default_rng(3)
    values = {
        "x": rng.uniform(0.0, 5.0, (N, d)),
        "v": 0.5 * rng.normal(size=(N, d)),
        "weight": rng.normal(size=N),
    }
    return Fields(values, precision=precision)


def neighbours(fields: Fields) -> Neighbours:
    return Neighbours(np.arange(N, dtype=np.int32), fields["x"].values.astype(np.float64), REACH)


def both(precision: str = "f64") -> tuple[Potential, Potential]:
    """The same energy over neighbours and over all pairs."""
    fields, others = some_fields(precision), some_fields(precision)
    listed = bind(repulsion, fields, elements=neighbours(fields))
    return Potential(fields, [listed]), Potential(others, [bind(repulsion, others)])


def with_map() -> tuple[Potential, Potential]:
    """An energy of what a map over neighbours, and over all pairs, gives."""
    made = []
    for listed in (True, False):
        fields = some_fields()
        density = bind(crowd, fields, elements=neighbours(fields) if listed else None)
        made.append(Potential(fields, [bind(energies.readout, fields, renamed=READ)], [density]))
    return made[0], made[1]


READ = {"y": "rho", "lean": "weight"}
QUANTITIES: dict[str, Callable[[Potential, np.ndarray], np.ndarray | float]] = {
    "value": lambda potential, w: potential.value(),
    "gradient": lambda potential, w: potential.gradient("x"),
    "product": lambda potential, w: potential.product({"x": w}, "x"),
    "magnitude": lambda potential, w: potential.magnitude(),
}
OF_ENERGY = QUANTITIES | {
    "slope": lambda potential, w: potential.gradient("repulsion.k"),
    "mixed": lambda potential, w: potential.product({"repulsion.k": 1.0}, "x"),
    "by element": lambda potential, w: potential.by_element("repulsion"),
    "Hessian": lambda potential, w: potential.hessian("x").toarray(),
    "projected": lambda potential, w: potential.hessian("x", project="clamp").toarray(),
}


def direction() -> np.ndarray:
    return np.random.default_rng(5).normal(size=(N, 2))


def assert_close(some: np.ndarray | float, others: np.ndarray | float, tolerance: float) -> None:
    size = np.abs(others).max()
    assert size > 0.1
    np.testing.assert_allclose(some, others, rtol=0.0, atol=tolerance * size)


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("quantity", OF_ENERGY)
def test_neighbours_give_the_numbers_of_all_pairs(quantity: str, precision: str) -> None:
    listed, every = both(precision)
    tolerance = {"f32": 1e-5, "f64": 1e-13}[precision]
    assert_close(*(OF_ENERGY[quantity](p, direction()) for p in (listed, every)), tolerance)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_map_over_neighbours_gives_the_numbers_of_all_pairs(quantity: str) -> None:
    listed, every = with_map()
    assert_close(*(QUANTITIES[quantity](p, direction()) for p in (listed, every)), 1e-12)
    assert_close(listed.fields["rho"].values, every.fields["rho"].values, 1e-13)


def test_element_hessians_are_those_of_the_listed_pairs() -> None:
    listed, every = both()
    rows = {tuple(pair): k for k, pair in enumerate(AllPairs(np.arange(N)).tuples().tolist())}
    pairs = listed.terms["repulsion"].elements.tuples()
    found, all_of_them = (p.element_hessians("repulsion", "x") for p in (listed, every))
    assert len(found) == len(pairs) < len(all_of_them) / 4
    np.testing.assert_array_equal(found, all_of_them[[rows[tuple(pair)] for pair in pairs.tolist()]])


def test_plain_evaluation() -> None:
    potential, _ = both()
    (term,) = potential.terms.values()
    evaluate = term.energy.evaluator()
    plain = [evaluate(term.arguments(e, nodes, 0.0)) for e, nodes in enumerate(term.elements.tuples())]
    assert potential.value() == pytest.approx(sum(plain), rel=1e-13)
    assert len(plain) == term.elements.count


@pytest.mark.parametrize("made", [both, with_map])
def test_check_finds_nothing_wrong(made: Callable[[], tuple[Potential, Potential]]) -> None:
    potential, _ = made()
    findings = list(term_check.of_potential(potential))
    assert {"value", "taylor", "product"} <= {finding.question for finding in findings}
    assert [finding for finding in findings if not finding.passed] == []


def test_a_loop_that_forgets_neighbours_is_found_by_check() -> None:
    """The mutant of `check`: sources behind the target are never read, so that forces do not match U."""
    potential, _ = both()
    (term,) = potential.terms.values()
    broken = EachTarget(BY_TARGET.sources[:1])
    elements = type("Half", (Neighbours,), {"loop": broken})(*vars(term.elements).values())
    findings = term_check.of_potential(Potential(potential.fields, [replace(term, elements=elements)]))
    with pytest.raises(MiscompiledError, match="term 'repulsion', element 20: du/dx is"):
        list(findings)


# Rebuilding -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [both, with_map])
def test_elements_are_rebuilt_before_an_evaluation(made: Callable[[], tuple[Potential, Potential]]) -> None:
    listed, every = made()
    term = next(t for t in listed.parts.values() if isinstance(t.elements, Neighbours))
    rng, seen = np.random.default_rng(0), []
    for step in range(12):
        moved = listed.fields["x"].values + 0.03 * rng.normal(size=(N, 2))
        moved = moved[::-1] if step == 6 else moved  # other neighbours for all
        for potential in (listed, every):
            potential.fields["x"].set(moved)
        assert_close(listed.gradient("x"), every.gradient("x"), 1e-12)
        assert_close(
            listed.hessian("x").toarray(), every.hessian("x").toarray(), 1e-12
        ) if made is both else None
        seen.append(term.elements)
    assert 1 < len({id(elements) for elements in seen}) < len(seen)


def test_a_parameter_keeps_its_value_when_elements_are_rebuilt() -> None:
    listed, every = both()
    for potential in (listed, every):
        potential.value()
        potential.set_parameter("repulsion.k", 7.0)
        potential.fields["x"].set(1.5 * potential.fields["x"].values[::-1])
    assert_close(listed.gradient("x"), every.gradient("x"), 1e-12)


def test_two_potentials_share_a_term_whose_elements_change() -> None:
    first, every = both()
    second = Potential(first.fields, list(first.terms.values()))
    second.value()
    for potential in (first, every):
        potential.fields["x"].set(potential.fields["x"].values[::-1])
    assert_close(first.gradient("x"), every.gradient("x"), 1e-12)
    assert_close(second.gradient("x"), every.gradient("x"), 1e-12)


def test_an_integrator_does_not_fuse_steps_over_changing_elements() -> None:
    motions, found = [Motion("x", "v", 1.0)], []
    for potential in both():
        integrator = Integrator(System(potential, motions), SCHEMES["leapfrog"], 0.02)
        integrator.advance(100)
        found.append((integrator.fused, potential.fields["x"].values.copy()))
    (fused, x), (of_pairs, right) = found
    assert (fused, of_pairs) == (False, True)
    assert_close(x, right, 1e-11)


def test_a_larger_kernel_refuses_changing_elements() -> None:
    potential, _ = both()
    text = (
        "term 'repulsion': cannot stand in a kernel of several steps, because its elements are rebuilt"
        " between steps, got Neighbours; use fixed elements"
    )
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        FusedCode(potential).gradient({"x": np.zeros((N, 2))})


# Binding --------------------------------------------------------------------------------------------


@local_energy("weighed", over=2, x=X, w=Datum())
def weighed(x, w):
    return w * (x[0] - x[1]).norm_sqr()


@local_energy("bond", over=2, x=X)
def bond(x):
    return (x[0] - x[1]).norm_sqr()


@local_energy("pinned", over="nodes", x=X)
def pinned(x):
    return x[0].norm_sqr()


SPRINGS = NodeTuples.of([[0, 1], [2, 3]], 2, N)
REFUSALS = {
    "not pairs": (
        lambda f: bind(bond, f, elements=AllPairs(np.arange(3, dtype=np.int32))),
        "bond.elements: the energy is declared over tuples of 2 nodes, got AllPairs of 2 nodes each",
    ),
    "other length": (
        lambda f: bind(bond, f, elements=NodeTuples.of([[0, 1, 2]], 3, N)),
        "bond.elements: the energy is declared over tuples of 2 nodes, got NodeTuples of 3 nodes each",
    ),
    "ordered": (
        lambda f: bind(repulsion, f, elements=SPRINGS),
        "repulsion.elements: the energy is declared over unordered pairs, got NodeTuples of 2 nodes each",
    ),
    "beyond the fields": (
        lambda f: bind(repulsion, f, elements=AllPairs(np.array([2, N], np.int32))),
        f"repulsion.elements: a node outside 0..{N - 1}, got 2..{N}",
    ),
    "twice": (
        lambda f: bind(bond, f, elements=SPRINGS, tuples=[[0, 1]]),
        "bond.elements: given together with tuples or bodies; leave those out",
    ),
    "tuples over nodes": (
        lambda f: bind(pinned, f, tuples=[[0], [2]]),
        "pinned: is over nodes, got tuples; leave `tuples` out, or declare it over=1",
    ),
    "tuples over pairs": (
        lambda f: bind(repulsion, f, tuples=[[0, 1]]),
        "repulsion: is over pairs, got tuples; leave `tuples` out, or declare it over=2",
    ),
    "a value each": (
        lambda f: bind(repulsion, f, elements=neighbours(f), parameters={"k": np.ones(N)}),
        f"repulsion.k: takes one value for all elements, got {N}; values of nodes are a Node field",
    ),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_elements_that_do_not_fit_are_refused(refusal: str) -> None:
    make, text = REFUSALS[refusal]
    with pytest.raises(EnergyError, match=f"^{re.escape(text)}$"):
        make(some_fields())


def test_given_tuples_are_the_usual_ones() -> None:
    fields = some_fields()
    given = bind(weighed, fields, elements=SPRINGS, data={"w": [2.0, 3.0]})
    usual = bind(weighed, fields, tuples=SPRINGS.nodes, data={"w": [2.0, 3.0]})
    assert Potential(fields, [given]).value() == Potential(fields, [usual]).value()
    assert references.plain_energy(given) == pytest.approx(references.plain_energy(usual))


def test_bind_is_a_specification_and_the_fields() -> None:
    fields = some_fields()
    spec = TermSpec(bond, tuples=[[0, 1], [2, 3]], renamed={"x": "v"}, name="stretch")
    term = Term.of(spec, fields)
    assert (term.name, term.fields["x"].name, term.elements.count) == ("stretch", "v", 2)
    again = bind(bond, fields, tuples=[[0, 1], [2, 3]], renamed={"x": "v"}, name="stretch")
    assert Potential(fields, [term]).value() == Potential(fields, [again]).value()


# The two of the framework ----------------------------------------------------------------------------


def test_all_pairs() -> None:
    pairs = AllPairs(np.array([4, 2, 7], np.int32))
    assert pairs.tuples().tolist() == [[4, 2], [4, 7], [2, 7]]
    assert (pairs.count, pairs.rows, pairs.arity, pairs.members.tolist()) == (3, 3, 2, [2, 4, 7])
    nodes, counted = pairs.of_row(1)
    assert (nodes.tolist(), counted.tolist()) == ([[2, 4], [2, 7]], [True, False])
    assert pairs.gather(8) is None
    assert pairs.rebuild({}) is pairs


def test_node_tuples() -> None:
    rows = NodeTuples.of([[0, 3], [3, 1]], 2, 5)
    assert (rows.count, rows.rows, rows.arity, rows.members.tolist()) == (2, 2, 2, [0, 1, 3])
    gather = rows.gather(5)
    assert gather is not None
    assert (gather.start.tolist(), gather.slots.tolist()) == ([0, 1, 2, 2, 4, 4], [0, 3, 1, 2])
    assert NodeTuples.of([[2], [0]], 1, 5).gather(5) is None
    assert NodeTuples.of([[2], [2]], 1, 5).gather(5) is not None


def test_every_pair_is_counted_at_one_target_and_read_at_both() -> None:
    """What a kernel's rows visit: the contract of a loop over targets, for both kinds of pairs."""
    fields = some_fields()
    for elements in (AllPairs(np.arange(N, dtype=np.int32)), neighbours(fields)):
        visited = [elements.of_row(row) for row in range(elements.rows)]
        counted = np.sort(np.concatenate([nodes[here] for nodes, here in visited]), axis=1)
        assert sorted(map(tuple, counted.tolist())) == sorted(map(tuple, elements.tuples().tolist()))
        assert sum(len(nodes) for nodes, _ in visited) == 2 * elements.count
