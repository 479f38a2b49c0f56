"""Questions to a term over a tree that stays as it is, beside those to every energy.

value        the sums of some nodes, near pairs in plain Python and far ones by `taylor_sums`
factors      u(i, j) of far pairs in plain Python is the sum of a(i) b(j) K
translation  the forces sum to zero, as the tree's U depends on differences of positions alone
mixed        each gradient changes along a step of all variables at once as its tangent says
direct       the error of the forces of all nodes against direct sums: a figure, which is not zero

Decisions 0311.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...codegen.expansions.radial_factors import position_of
from ...elements.trees.near_pairs import NearPairs
from ...energies.fields import ordered_sum
from ...energies.local_energy import IMAGES
from ...energies.roles import Image, Node, Time
from ...energies.term import Term
from ...potential.far_pairs.force_error import force_error
from ...potential.far_pairs.tree_kernels import TreeKernels
from ..questions import Finding, curvature, step_inside
from ..term_subject import TermSubject
from ..variables import Variable
from .taylor_sums import FarSums

TARGETS, PARTNERS = 6, 24
"""The nodes whose sums are compared, and the far nodes of each whose u is."""
CLOSE = 1e-11
"""The tolerance of values, relative to sums of |u|."""
BALANCED = 1e-9
"""The tolerance of the sum of forces, relative to the sum of their sizes."""


def at_state(subject: TermSubject, rng: np.random.Generator) -> Iterator[Finding]:
    """The questions at the present state that are not to a variable."""
    term, kernels = subject.term, subject.potential.kernels[subject.term.name]
    assert isinstance(kernels, TreeKernels)
    assert isinstance(term.elements, NearPairs)
    sums = FarSums(term, kernels.far.factors, subject.t)
    rows = rng.permutation(len(term.elements.nodes))[:TARGETS]
    yield _check_value(subject, kernels, sums, rows)
    yield _check_factors(subject, sums, rows, rng)
    yield _check_translation(subject)


def _check_value(subject: TermSubject, kernels: TreeKernels, sums: FarSums, rows: np.ndarray) -> Finding:
    subject.potential.refresh(subject.t)
    compiled = kernels.by_element(subject.t)[rows]
    worst = 0.0, 0.0, 0.0
    for row, found in zip(rows, compiled, strict=True):
        near, far = _near_energy(subject, int(row)), sums.of_row(int(row))
        expected, size = near[0] + far[0], near[1] + far[1] or 1.0
        worst = max(worst, (abs(float(found) - expected) / size, float(found), expected))
    error, found, expected = worst
    text = f"compiled {found:.17g}, node by node {expected:.17g}"
    return subject.finding("", "value", error <= CLOSE, error, text)


def _near_energy(subject: TermSubject, row: int) -> tuple[float, float]:
    """The near pairs that one node counts, in plain Python: their energy, and the sum of |u|."""
    term, evaluate = subject.term, subject.term.energy.evaluator()
    near = term.elements
    assert isinstance(near, NearPairs)
    pairs, counted = near.of_row(row)
    each = []
    for pair, image in zip(pairs[counted], near.images_of_row(row)[counted], strict=True):
        of_images = {IMAGES: image} if term.energy.of_role(Image) else {}
        each.append(float(evaluate(term.arguments(0, list(pair), subject.t) | of_images)))
    return float(np.sum(each)), float(np.abs(each).sum())


def _check_factors(
    subject: TermSubject, sums: FarSums, rows: np.ndarray, rng: np.random.Generator
) -> Finding:
    term, evaluate = subject.term, subject.term.energy.evaluator()
    nodes, worst = term.elements.nodes, (0.0, 0.0, 0.0)
    for row in rows:
        others = rng.permutation(np.delete(nodes, row))[:PARTNERS]
        factored = sums.exact(nodes[row], others)
        plain = [float(evaluate(term.arguments(0, [nodes[row], j], subject.t))) for j in others]
        size = float(np.abs(plain).max()) or 1.0
        for one, right in zip(factored, plain, strict=True):
            worst = max(worst, (abs(float(one) - right) / size, float(one), right))
    error, found, right = worst
    text = f"sum of a(i) b(j) K {found:.17g}, u in plain Python {right:.17g}"
    return subject.finding("", "factors", error <= CLOSE, error, text)


def _check_translation(subject: TermSubject) -> Finding:
    position = position_of(subject.term)
    forces = subject.gradient(subject.term.fields[position].name)
    left = max(abs(ordered_sum(column)) for column in forces.T)
    error = left / (ordered_sum(np.abs(forces)) or 1.0)
    text = f"the sum of forces is {error:.1e} of its parts"
    return subject.finding(position, "translation", error <= BALANCED, error, text)


def mixed_tangents(
    subject: TermSubject, variables: Sequence[Variable], rng: np.random.Generator
) -> Iterator[Finding]:
    """The tangent of every gradient along a step of all variables at once."""
    together = _Together(subject, variables)
    steps = [v.direction(rng) / v.size for v in variables]
    for one in variables:
        joint = together.as_seen_by(one)
        direction = one.size * np.concatenate([np.ravel(step) for step in steps])
        found = curvature(subject, joint, step_inside(subject, joint, direction))
        yield replace(found, question="mixed")


class _Together:
    """All variables of a subject as one, with numbers that are large where theirs are."""

    def __init__(self, subject: TermSubject, variables: Sequence[Variable]):
        self.subject, self.variables = subject, variables
        self.ends = np.cumsum([v.values.size for v in variables])

    def as_seen_by(self, one: Variable) -> Variable:
        """The variables in steps of one of them, with its gradient and the tangent of that."""

        def put(values: np.ndarray) -> None:
            for v, part in zip(self.variables, self._variable_parts(values, one.size), strict=True):
                v.put(part)

        def product(step: np.ndarray) -> np.ndarray:
            parts = self._variable_parts(step, one.size)
            tangents = {self._variable_name(v): p for v, p in zip(self.variables, parts, strict=True)}
            wrt = self._variable_name(one, of_gradient=True)
            return self.subject.potential.product(tangents, wrt, self.subject.t)

        start = np.concatenate([np.ravel(v.values) / v.size for v in self.variables]) * one.size
        return Variable(one.name, start, put, one.gradient, one.size, product=product)

    def _variable_parts(self, values: np.ndarray, size: float) -> list[np.ndarray]:
        """The values of each variable."""
        split = np.split(values, self.ends[:-1])
        return [
            (p * (v.size / size)).reshape(v.values.shape) for v, p in zip(self.variables, split, strict=True)
        ]

    def _variable_name(self, variable: Variable, of_gradient: bool = False) -> str:
        """The name of a variable for the potential; time has one of its own as a tangent."""
        term, role = self.subject.term, self.subject.term.energy.roles[variable.name]
        if isinstance(role, Node):
            return term.fields[variable.name].name
        return "t" if isinstance(role, Time) and not of_gradient else f"{term.name}.{variable.name}"


def direct(term: Term, t: float) -> Finding:
    """The error of the forces against direct sums; a warning if it is larger than was asked for."""
    found = force_error(term, t)
    assert isinstance(term.elements, NearPairs)
    asked = term.elements.choice.error
    too_large = asked is not None and found.rms > asked
    return Finding(term.name, "", "direct", True, found.rms, found.remark, warning=too_large)
