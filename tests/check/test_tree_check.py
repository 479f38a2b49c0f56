"""`check` asks far pairs with the tree as it is, and damaged expansions are found."""

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, Time, bind, local_energy
from minusgrad.app.tables import print_findings
from minusgrad.check.questions import Finding
from minusgrad.check.single_precision import of_single
from minusgrad.check.term_check import of_potential
from minusgrad.codegen.expansions.expansion_loops import ExpansionLoops
from minusgrad.codegen.expansions.radial_factors import RadialFactors
from minusgrad.energies.pairs.far import Far
from minusgrad.engine.kernels import Code
from minusgrad.plugin import ti
from minusgrad.potential.far_pairs.expansions import Expansions
from minusgrad.potential.far_pairs.tree_kernels import FarPairs

PLACES = {"x": Node("m", ("d",)), "m": Node("kg"), "q": Node("1")}


@local_energy("pulsing", over="pairs", **PLACES, k=Parameter("J"), t=Time())
def pulsing(x, m, q, k, t):
    """Products that are not symmetric each, a parameter in K, the mass in both, and the time."""
    r = x[0] - x[1]
    s = r.dot(r) + 0.3 * k * k
    wave = 1.0 + 0.5 * ti.sin(t)
    return -k * m[0] * m[1] / ti.sqrt(s) + wave * (
        q[0] * m[0] ** 2 * m[1] + q[1] * m[1] ** 2 * m[0]
    ) * ti.log(s)


def cluster(n: int = 400, d: int = 2, precision: str = "f64", far: Far | None = None) -> Potential:
    """Two clusters apart from each other."""
    rng = np.random.default_rng(1)
    x = 0.4 * rng.normal(size=(n, d))
    x[: n // 2, 0] += 3.0
    values = {"x": x, "m": rng.uniform(0.5, 1.0, n), "q": rng.normal(size=n)}
    fields = Fields(values, precision=precision)
    far = far or Far(opening_angle=0.7, order=2)
    return Potential(fields, [bind(pulsing, fields, parameters={"k": 0.7}, far=far)])


def first_wrong(potential: Potential) -> Finding | None:
    """The first finding that does not pass; the questions behind it are not asked."""
    return next((f for f in of_potential(potential) if not f.passed), None)


@pytest.mark.long
@pytest.mark.parametrize("d", [2, 3])
def test_the_frozen_tree_is_one_function(d, capsys):
    found = print_findings(of_potential(cluster(600, d, far=Far(opening_angle=0.6, order=3))))
    assert [f for f in found if not f.passed or f.warning] == []
    asked = {(f.argument, f.question) for f in found}
    assert asked >= {(a, q) for a in ("x", "m", "q", "k", "t") for q in ("taylor", "product", "mixed")}
    assert asked >= {("", q) for q in ("far cells", "direct", "value", "factors")}
    (cells,) = (f for f in found if f.question == "far cells")
    assert cells.figure >= 16
    text = r"\d+ pairs of far cells, over (256|512) of 600 nodes, by expansions of order 3"
    assert re.fullmatch(text, cells.text)
    assert re.search(rf"far cells +f64 +{cells.figure:.0f} ", capsys.readouterr().out)


@pytest.mark.long
def test_single_precision_is_asked_with_the_tree():
    potential = cluster(precision="f32")
    found = [*of_single(potential)]
    assert all(f.passed for f in found)
    assert not any(f.question == "hessian" for f in found)


def test_differences_in_single_precision_are_no_orders(capsys):
    print_findings([Finding("u", "x", "product", True, 3e-7, "", precision="f32")])
    assert re.search(r"product +f32 +3\.0e-07 ", capsys.readouterr().out)


def test_a_state_without_far_cells_is_named():
    found = next(of_potential(cluster(12)))
    assert (found.question, found.figure, found.warning) == ("far cells", 0.0, True)
    assert found.text.startswith("pulsing: of 12 nodes no cells are far from one another")


# Damaged expansions

Lines = Sequence[str]


def in_text(begin: str, old: str, new: str) -> Callable[[pytest.MonkeyPatch], None]:
    """Replace `old` in the first line of a loop that matches `begin`."""

    def changed(lines: Lines) -> Iterator[str]:
        done = False
        for line in lines:
            here = not done and re.match(begin, line.strip()) and re.search(old, line)
            yield re.sub(old, new, line, count=1) if here else line
            done = done or bool(here)

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        before = ExpansionLoops._code_with_arrays

        def coded(self: ExpansionLoops, lines: Lines, **arrays: object) -> Code:
            return before(self, [*changed(lines)], **arrays)

        monkeypatch.setattr(ExpansionLoops, "_code_with_arrays", coded)

    return patch


def method(of: type, name: str, make: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Replace a method by one that is made of it."""
    return lambda monkeypatch: monkeypatch.setattr(of, name, make(getattr(of, name)))


def without_last(kernels: Callable) -> Callable:
    return lambda self, kernel, order: [*kernels(self, kernel, order)[:-1], 0.0 * kernel]


MUTANTS = {
    "a moment of another power": in_text(r"s1 \+= w", "m1", "m2"),
    "a shift of moments without a term": in_text(r"s4 \+= q", r" \+ q\d+ \* m\d+$", ""),
    "a transfer without a term": in_text(r"s0 \+= m0", r" \+ m1 \* t0_1", ""),
    "a transfer without a symmetric term": in_text(r"s1 \+= m0", r" \+ m1 \* t0_3", ""),
    "a derivative of K with another sign": in_text("t0_3 = ", r" \+ ", " - "),
    "a shift of expansions without a term": in_text(r"local\[b, 0\] \+=", r" \+ q1 \* m1", ""),
    "a potential with another sign": in_text("p0 = ", r"l0 \* m0 \+ ", "l0 * m0 - "),
    "a force without a term": in_text("p1 = ", r" \+ l\d+ \* m\d+$", ""),
    "a product without a term": in_text("w0 = ", r" \+ h01 \* v1", ""),
    "the last derivative of K is zero": method(RadialFactors, "radial", without_last),
    "moments that do not move": method(
        Expansions, "change_of_moments", lambda f: lambda s, n, c, w, moving: f(s, n, c, w, None)
    ),
    "K that does not change": method(FarPairs, "_kernel_change", lambda f: lambda s, k, t: None),
    "factors that do not change": method(
        FarPairs, "_number_tangent", lambda f: lambda s, g, t: 0.0 * f(s, g, t)
    ),
    "half of a slope": method(
        FarPairs, "_by_argument", lambda f: lambda s, a, n, k: 0.5 * f(s, a, n, k)
    ),
}  # fmt: skip
CHEAP = ("a transfer without a term", "a force without a term")


@pytest.mark.parametrize(
    "name", [n if n in CHEAP else pytest.param(n, marks=pytest.mark.long) for n in MUTANTS]
)
def test_damaged_expansions_are_found(name, monkeypatch):
    MUTANTS[name](monkeypatch)
    assert first_wrong(cluster()) is not None
