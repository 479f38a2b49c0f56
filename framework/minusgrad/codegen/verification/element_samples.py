"""Some elements of a term, and the numbers that its graphs have there: the reference for compiled kernels.

The reference is computed in a wider type than the kernel's, so that it neither underflows nor overflows where
the kernel does. Beside it stands how far rounding may move each number: the graph is evaluated again with
every argument and the result of every operation off by an eps (Monte Carlo arithmetic, Parker 1997). Where
digits cancel, numbers move by as much as they are.

Decisions 0257.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ...energies.local_energy import IMAGES
from ...energies.roles import Box, Datum, Image, Node, Time
from ...energies.term import Term
from ...engine import storage
from ...symbolic.graph import inputs
from ...symbolic.numpy_values import After, numbers
from ...symbolic.scalar import Scalar
from ..derivative_request import Place
from ..statements import is_tangent

SAMPLES = 8
"""How many elements are compared; of a loop over targets two targets with all their sources."""
DRAWS = (1, 16) * 6
"""Perturbations, in eps, one after another: rounding within a function may be larger."""
MOST = 16_384
"""Numbers of one node that are computed together; with more elements, few perturbations are drawn."""
FEW = 4
LONG = 1 << 16
"""Elements whose perturbations, `FACTORS` sets of them, are in memory together."""
FACTORS = 61
"""Different sets of perturbations: node n has set n modulo this prime."""
WIDER: Mapping[str, Any] = {"float32": np.float64, "float64": np.longdouble}
"""The type that the reference is computed in. Where `longdouble` is f64, f64 is its own reference."""


@dataclass(frozen=True)
class Number:
    """A number that a kernel computes at each place; `once`: its sum takes each element at one place only."""

    name: str
    graph: Scalar
    once: bool = False

    @classmethod
    def at(cls, place: Place, graph: Scalar) -> "Number":
        """The number at a place of a sweep."""
        name = {
            "value": "u",
            "total": "the sum of u up to here",
            "d": f"du/d{place.argument}",
            "dd": f"the change of du/d{place.argument}",
        }
        return cls(name[place.order], graph, once=place.is_summed)


@dataclass(frozen=True)
class Sample:
    """Some elements of a term, or those of one target: their rows, and the nodes in each slot.

    `counted`: those that sums of energies take here; None: all. `images`: of the nodes of listed pairs.
    """

    term: Term
    rows: np.ndarray
    nodes: Sequence[np.ndarray]
    t: float
    tangents: Mapping[str, Any] = field(default_factory=dict)
    counted: np.ndarray | None = None
    images: np.ndarray | None = None

    @classmethod
    def of_elements(
        cls, term: Term, rows: np.ndarray, t: float, tangents: Mapping[str, Any] | None = None
    ) -> "Sample":
        """Elements of a term by their numbers, in the order of `Elements.tuples`."""
        elements: Any = term.elements
        images = elements.images()[rows] if _has_images(term) else None
        return cls(term, rows, list(elements.tuples()[rows].T), t, tangents or {}, images=images)

    def arguments(self, k: int) -> dict[str, Any]:
        """The arguments of the function for the k-th of them."""
        images = {} if self.images is None else {IMAGES: self.images[k]}
        return images | self.term.arguments(self.rows[k], [n[k] for n in self.nodes], self.t)

    def leaf(self, leaf: Scalar) -> np.ndarray:
        """The value of a leaf for each element."""
        argument, slot, component = leaf.value[:3]
        role, term = self.term.energy.roles[argument], self.term
        if isinstance(role, Node):
            array = self.tangents[argument] if is_tangent(leaf) else term.fields[argument].array
            found = storage.host(array)[(self.nodes[slot], *component)]
        elif isinstance(role, Box):
            array = self.tangents[argument] if is_tangent(leaf) else term.uniform[argument].array
            found = storage.host(array)[(0, *component)]
        elif isinstance(role, Image):
            assert self.images is not None
            found = self.images[(slice(None), slot, *component)]
        elif isinstance(role, Time):
            found = np.asarray(self.tangents[argument] if is_tangent(leaf) else self.t)
        elif isinstance(role, Datum):
            array = storage.host(term.data[argument])
            found = self._tangent_values(leaf, array)[(self.rows, *component)]
        else:
            values = term.parameters[argument]
            rows = np.zeros_like(self.rows) if values.index is None else values.index[self.rows]
            found = self._tangent_values(leaf, values.rows)[(rows, *component)]
        return np.broadcast_to(np.asarray(found, np.float64), self.rows.shape)

    def _tangent_values(self, leaf: Scalar, array: np.ndarray) -> np.ndarray:
        if not is_tangent(leaf):
            return array
        tangent = np.asarray(self.tangents[leaf.value[0]])
        tangent = tangent.reshape(array.shape) if tangent.size == array.size else tangent  # from a matrix
        return np.broadcast_to(tangent, array.shape)

    def known_values(self) -> dict[int, np.ndarray]:
        """The values of inner nodes of the graph (by serial) that kernels have stored."""
        return {}

    def exact(self, graphs: Sequence[Scalar], after: After | None = None) -> list[np.ndarray]:
        """The graphs' numbers for each element, in the wider type; `after` may change results on the way."""
        wide = WIDER[self.term.dtype.name]
        leaves = {
            leaf.serial: self.leaf(leaf).astype(wide) for leaf in inputs(list(graphs))
        } | self.known_values()
        found = numbers(graphs, leaves, self.term.tables, self.term.dtype.type, after, wide)
        return [np.broadcast_to(one, self.rows.shape) for one in found]

    def numbers_with_rounding(self, graphs: Sequence[Scalar]) -> tuple[np.ndarray, np.ndarray]:
        """The graphs' numbers for each element, and how far an eps moves them: two (graphs, elements).

        Signs are random, and the largest of several draws counts, because one draw may miss a tie. The moves
        by larger perturbations are divided by their size.
        """
        if len(self.rows) > LONG:
            parts = [part.numbers_with_rounding(graphs) for part in self._in_parts()]
            return np.concatenate([e for e, _ in parts], axis=1), np.concatenate(
                [m for _, m in parts], axis=1
            )
        dtype = self.term.dtype
        rng, wide, eps = np.random.default_rng(0), WIDER[dtype.name], float(np.finfo(dtype).eps)
        leaves = {leaf.serial: (self.leaf(leaf), leaf.integer) for leaf in inputs(list(graphs))}
        size = max(len(self.rows), 1)
        steps = [0, *(DRAWS if size <= MOST // 4 else DRAWS[:FEW])]
        together, exact, moved = max(MOST // size, 2), np.zeros(0), np.zeros(0)
        for begin in range(0, len(steps), together):
            part = np.array(steps[begin : begin + together], np.float64)[:, None]
            factors = 1.0 + part * eps * rng.choice([-1.0, 1.0], (FACTORS, len(part), size))
            drawn = {s: v if whole else v * factors[s % FACTORS] for s, (v, whole) in leaves.items()}
            found = self._draw_numbers(
                graphs, drawn | self.known_values(), factors, np.float64 if begin else wide
            )
            if not begin:
                exact, moved = found[:, 0], np.zeros(found[:, 0].shape)
            off = np.abs(found - exact[:, None]) / np.maximum(part, 1.0)
            moved = np.maximum(moved, off.max(axis=1, initial=0.0))
        return exact, moved

    def _in_parts(self) -> Iterator["Sample"]:
        """The same elements, in samples of at most `LONG`."""
        for begin in range(0, len(self.rows), LONG):
            part = slice(begin, begin + LONG)
            images = None if self.images is None else self.images[part]
            counted = None if self.counted is None else self.counted[part]
            nodes = [of_slot[part] for of_slot in self.nodes]
            yield replace(self, rows=self.rows[part], nodes=nodes, counted=counted, images=images)

    def _draw_numbers(
        self,
        graphs: Sequence[Scalar],
        leaves: Mapping[int, np.ndarray],
        factors: np.ndarray,
        wide: Any,
    ) -> np.ndarray:
        """The graphs' numbers, (graphs, draws, elements), with the results of operations times factors."""

        def after(node: Scalar, found: Any) -> Any:
            return found * factors[node.serial % FACTORS]

        found = numbers(graphs, leaves, self.term.tables, self.term.dtype.type, after, wide)
        return np.array([np.broadcast_to(one, (factors.shape[1], len(self.rows))) for one in found])


@dataclass(frozen=True)
class Places:
    """Where a kernel's numbers are compared, with labels for messages.

    `sums`: each place has the sum over a sample; else there is one sample, whose elements are the places.
    `largest`: tolerances are relative to the largest number of all places; else to that of the place.
    """

    labels: Sequence[int] | np.ndarray
    samples: Sequence[Sample]
    sums: bool = False
    largest: bool = True
    noun: ClassVar[str] = "element"
    """Of a place, for messages."""

    @property
    def term(self) -> Term:
        """The term of all samples."""
        return self.samples[0].term

    def reference(self, wanted: Sequence[Number]) -> tuple[np.ndarray, np.ndarray]:
        """The numbers, and sums of their absolute values: (numbers, places)."""
        graphs = [number.graph for number in wanted]
        found = [np.array(some.exact(graphs)) for some in self.samples]
        return self._collect_places(wanted, found), self._collect_places(wanted, [*map(np.abs, found)])

    def rounding_reach(self, wanted: Sequence[Number]) -> np.ndarray:
        """How far an eps in every operation moves the numbers: (numbers, places)."""
        graphs = [number.graph for number in wanted]
        return self._collect_places(wanted, [some.numbers_with_rounding(graphs)[1] for some in self.samples])

    def number_with_change(self, number: Number, after: After) -> np.ndarray:
        """A number at all places, with the results of operations changed by `after`."""
        return self._collect_places(
            [number], [np.array(s.exact([number.graph], after)) for s in self.samples]
        )[0]

    def _collect_places(self, wanted: Sequence[Number], found: Sequence[np.ndarray]) -> np.ndarray:
        if not self.sums:
            return found[0]
        return np.array(
            [
                [
                    one[n][some.counted if number.once and some.counted is not None else slice(None)].sum()
                    for some, one in zip(self.samples, found, strict=True)
                ]
                for n, number in enumerate(wanted)
            ]
        )


def rows_of(term: Term) -> np.ndarray:
    """The rows that are compared: elements, or targets."""
    last = term.elements.rows - 1
    if term.elements.loop.per_target:
        return np.unique([min(last // 2 + 1, last), last])
    return np.unique(np.linspace(0, last, SAMPLES).astype(int))


def at_rows(term: Term, t: float, tangents: Mapping[str, Any]) -> Places:
    """Some elements; or some targets, with the sums over their sources."""
    rows = rows_of(term)
    if not term.elements.loop.per_target:
        return Places(rows, [Sample(term, rows, list(term.elements.nodes[rows].T), t, tangents)])
    samples = []
    for target in rows:
        elements: Any = term.elements
        tuples, counted = elements.of_row(target)
        images = elements.images_of_row(target) if _has_images(term) else None
        rows_of_target = np.full(len(tuples), target)
        samples.append(Sample(term, rows_of_target, list(tuples.T), t, tangents, counted, images))
    return Places(rows, samples, sums=True, largest=False)


def _has_images(term: Term) -> bool:
    """True if the nodes of listed pairs have periodic images."""
    return bool(term.energy.of_role(Image))


def in_blocks_of(
    term: Term, blocks: Sequence[range], t: float, tangents: Mapping[str, Any] | None = None
) -> Places:
    """The sums over blocks of elements; each is labelled by its last."""
    nodes, known = term.elements.nodes, tangents or {}
    samples = [Sample(term, np.array(b), list(nodes[b.start : b.stop].T), t, known) for b in blocks]
    return Places([b[-1] for b in blocks], samples, sums=True, largest=False)
