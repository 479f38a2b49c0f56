"""Lanes over lists of neighbours: a block of targets that are near each other shares its sources.

    for each block        a target in each lane, and the numbers of targets
    for each source       broadcast to all lanes; a target beyond the cutoff takes zero

The sources of a block are those within reach of any of its targets (`elements.neighbours.block_list`), so
that no lane loads anything of its own in the inner loop. Sources that are targets of the block itself come
last, where each lane leaves out its own. So do sources that are excluded for some target, with a bit for
each lane (`elements.neighbours.block_masks`). A sum over pairs counts each at the target whose order is the
higher one.

Decisions 0261, 0271, 0272.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from ...elements.neighbours.pair_list import PairList
from ...elements.trees.near_pairs import NearPairs
from ...energies.roles import Image
from ...energies.term import Term
from ...engine import lane_blocks, runtime
from ...engine.kernels import dealt_in_groups
from ...engine.slices import Slices
from ...symbolic.graph import inputs
from ...symbolic.scalar import Scalar
from ..derivative_request import Place, outputs
from ..element_lanes import lane_loops
from ..element_lanes.lane_loops import STRETCH, Lanes
from ..kept_traces import KEPT
from ..lane_statements import MOST_BY_LANE, serve
from ..statements import indented, leaf_name
from ..term_loops import Emitter
from .collected_products import CollectedProducts, is_difference

MOST_TARGETS = {4: 1 << 23, 8: 1 << 30}
"""Most targets whose orders are exact numbers, by the bytes of a number."""
LISTED_PART = 0.2
"""From this part of `LEAST_TARGETS` on lanes pay for listed pairs: kernels make the lists of blocks."""
PACKED = 128
"""Rows that are packed with the numbers that all of them read, such as the box, loaded once."""
AXES = 3
"""Images of rows have so many numbers; in fewer dimensions zeros come first."""
COUNTED = "own_order > order"
"""Where a pair is counted: at one of its two targets."""


def suits(term: Term) -> bool:
    """True if lanes suit an energy or a map: many pairs within a cutoff, and operations of vectors.

    Maps have operations of vectors alone. Others are computed lane by lane for all listed sources, most of
    them beyond the cutoff, so that scalar loops are as fast.
    """
    elements = term.elements
    if not isinstance(elements, (PairList, NearPairs)) or not runtime.lanes(term.dtype):
        return False
    least = LISTED_PART * lane_loops.LEAST_TARGETS
    many = least <= elements.rows <= MOST_TARGETS[term.dtype.itemsize]
    return many and serve(reduce(add, KEPT.of_term(term, "sum").values), 0 if term.outputs else MOST_BY_LANE)


class ListedLanes(Lanes):
    """The loops of a term over pairs within a cutoff, a block of targets at a time."""

    def __init__(self, term: Term, arrays: Mapping[str, Any] | None = None):
        assert isinstance(term.elements, (PairList, NearPairs))
        self.blocks: Any = term.elements.in_blocks(lane_blocks.lanes(term.dtype))
        super().__init__(term, {**(arrays or {}), **self.blocks.arrays()})

    def _of_elements(self) -> dict[str, Any]:
        return {"nodes": self.term.elements.nodes}

    def _nodes_in_blocks(self) -> dict[str, Any]:
        return {}

    def _slice_plan(self) -> Slices | None:
        return None

    # Numbers of targets

    def stored_values(self, place: Place, rows: np.ndarray) -> np.ndarray | None:
        return super().stored_values(place, self._arrays["lane_of"][rows])

    def rows(self, buffer: Any) -> np.ndarray:
        return super().rows(buffer)[self._arrays["lane_of"]]

    def row(self, buffer: str, column: int, element: str = "e") -> str:
        return super().row(buffer, column, f"{self.prefix}lane_of[{element}]")

    def _load_statement(self, leaf: Scalar) -> str:
        argument, _, component = leaf.value[:3]
        if not isinstance(self.term.energy.roles[argument], Image):
            return super()._load_statement(leaf)
        image = f"{self.type}({self.prefix}row_images[r0_{{lane}}, {_image_axis(self.term, component)}])"
        return f"{leaf_name(leaf)} = {self._by_lane(image)}"

    def _in_lane(self, text: str) -> str:
        return text.replace("[n0", "[n0_{lane}")

    # Loops

    def _by_target(self, value: Scalar, places: Sequence[Place], along: Mapping[int, Scalar]) -> list[str]:
        """A block of targets over its listed sources, then over its own rows."""
        nodal = [k for k, place in enumerate(places) if not place.is_summed]
        self._targets = [places[k] for k in nodal]
        once = [place.is_summed for place in places]
        kept = [self._store_block_sums(k, place, nodal) for k, place in enumerate(places)]
        loops = self._source_loops(outputs(value, places, along), once, kept)
        return [*loops, *self._added_to_targets(self._targets)]

    def _source_loops(self, wanted: list[Scalar], once: Sequence[bool], kept: list[str]) -> list[str]:
        """Loops that sum numbers of pairs over the sources of each target, s0, s1, ..., and keep them.

        `once`: of the numbers that are of the pair, and are counted at one of its targets.
        """
        wide, numbers = self.wide, range(len(wanted))
        wanted = _chosen_once(CollectedProducts(wanted, self.term.dtype == np.float32).numbers())
        pack, fetch, names = self._packed_rows(wanted, any(once))
        leaves = [leaf for leaf in inputs(wanted) if leaf.value[1] != 1]
        early, lines, texts = self._hoist_statements(wanted, set(names), dict(names))
        zeros = [self._to_all(f"{self.type}(0.0)")] * len(wanted)
        begin = [f"a{k} = {zeros[k]}" for k in numbers]
        end = [f"s{k} += {self._in_f64(f'a{k}') if once[k] else f'a{k}'}" for k in numbers]

        def summed(other: str, counted: str = COUNTED) -> list[str]:
            held = [counted if once[k] else other for k in numbers]
            chosen = [
                f"ti.select({held[k]}, {texts[k]}, {zeros[k]})" if held[k] else texts[k] for k in numbers
            ]
            return [*fetch, *lines, *(f"a{k} += {chosen[k]}" for k in numbers)]

        targets = [self._load_statement(leaf) for leaf in leaves]
        block = [
            f"base = block * {wide}",
            *self._of_lanes("n0", "block_nodes", targets),
            *self._of_lanes("r0", "block_rows", targets),
            *targets,
            *early,
            *self._own_order(any(once)),
            *(f"s{k} = {self._to_all('ti.f64(0.0)') if once[k] else zeros[k]}" for k in numbers),
            *self._sources_of_block(begin, summed(""), end),
            *begin,
            *(self._masked_loops(summed) if self.blocks.excluded else self._own_rows(summed)),
            *end,
            *kept,
        ]
        return [*pack, *dealt_in_groups("block", self._block_count, block)]

    def _sources_of_block(self, begin: list[str], summed: list[str], end: list[str]) -> list[str]:
        """A loop over the listed sources of a block, in stretches; each begins and ends a partial sum."""
        p = self.prefix
        part = f"range(begin + part * {STRETCH}, ti.min(begin + (part + 1) * {STRETCH}, begin + count))"
        return [
            f"begin = block * ({p}block_sources.shape[0] // {p}block_lengths.shape[0])",
            f"count = {p}block_lengths[block]",
            f"for part in range((count + {STRETCH - 1}) // {STRETCH}):",
            *indented([*begin, f"for q in {part}:"]),
            *indented(indented([f"j = {p}block_sources[q]", *summed])),
            *indented(end),
        ]

    def _added_to_targets(self, places: Sequence[Place]) -> list[str]:
        """Sums of lanes to the nodes of targets: all are read before the first is written."""
        if not places:
            return []
        p, count = self.prefix, len(places)
        flat, wide = f"{p}flat_{self._sums_name(count)}", self.wide
        read = [f"q{k} = {flat}[base + {k * wide}]" for k in range(count)]
        begin = f"base = (place >> {wide.bit_length() - 1}) * {count * wide} + (place & {wide - 1})"
        adds = [self._add_to_gradient(place, "n0", f"q{k}") for k, place in enumerate(places)]
        lines = [f"n0 = {p}nodes[i]", f"place = {p}lane_of[i]", begin, *read, *adds]
        return [f"for i in range({p}nodes.shape[0]):", *indented(lines)]

    def _own_rows(self, summed: Callable[..., list[str]]) -> list[str]:
        """The loop over the rows of a block's targets; `summed` are the statements under a condition."""
        p = self.prefix
        return [
            f"own = {self._lane_numbers()}",
            f"for lane in range(ti.min({self.wide}, {p}nodes.shape[0] - base)):",
            *indented([f"j = {p}block_rows[base + lane]", f"other = {self._to_all(f'{self.type}(lane)')}"]),
            *indented(summed("own != other")),
        ]

    def _masked_loops(self, summed: Callable[..., list[str]]) -> list[str]:
        """The same with sources that some lanes leave out: bit l of a mask is digit -l - 1 of a fraction."""
        p = self.prefix
        digits = [f"{self.type}({0.5 ** (lane + 1)!r})" for lane in range(self.wide)]
        row = f"block * ({p}masked_rows.shape[0] // {p}masked_lengths.shape[0]) + q"
        mask = [
            f"row = {row}",
            f"j = {p}masked_rows[row]",
            f"mask = {self._to_all(f'{self.type}({p}masked_bits[row])')} * digits",
            "mask = mask - ti.floor(mask)",
        ]
        return [
            f"digits = ti.Vector([{', '.join(digits)}])",
            f"half = {self._to_all(f'{self.type}(0.5)')}",
            f"for q in range({p}masked_lengths[block]):",
            *indented([*mask, *summed("mask < half", f"(mask < half) & ({COUNTED})")]),
        ]

    def _of_lanes(self, name: str, array: str, targets: list[str]) -> list[str]:
        """The numbers of a block's lanes, if the statements of targets name them."""
        if not any(f"[{name}_0" in line for line in targets):
            return []
        return [f"{name}_{lane} = {self.prefix}{array}[base + {lane}]" for lane in range(self.wide)]

    def _own_order(self, counting: bool) -> list[str]:
        order = self._by_lane(f"{self.type}({self.prefix}block_order[base + {{lane}}])")
        return [f"own_order = {order}"] * counting

    def _packed_rows(
        self, wanted: list[Scalar], counting: bool
    ) -> tuple[list[str], list[str], dict[int, str]]:
        """A loop that packs the numbers of rows, statements that give row j to all lanes, and their names.

        All numbers that depend on no target are computed once. A row has them side by side, in a line of the
        cache.
        """
        p, plain = self.prefix, _LaneRows(self.term, self._arrays)
        plain.prefix = p
        kept = plain._of_sources(wanted)
        lines, texts = plain._output_statements(kept)
        names = {one.serial: f"of_source{k}" for k, one in enumerate(kept)}
        values = [*texts, f"{self.type}({p}row_order[j])"] if counting else texts
        given = [*names.values(), "order"]
        size = len(values) + (len(values) == AXES)
        self._own_array(
            packed := f"packed_{size}", np.zeros((len(self._arrays["row_nodes"]), size), self.term.dtype)
        )
        store = [f"{p}{packed}[j, {k}] = {text}" for k, text in enumerate(values)]
        fetch = [f"{given[k]} = {self._to_all(f'{p}{packed}[j, {k}]')}" for k in range(len(values))]
        leaves = list(inputs(kept))
        once = [plain._load_statement(leaf) for leaf in leaves if self._is_uniform(leaf)]
        loads = [
            f"n1 = {p}row_nodes[j]",
            *(plain._load_statement(leaf) for leaf in leaves if not self._is_uniform(leaf)),
        ]
        count = f"{p}row_counts[0]"
        rows = [
            *once,
            f"for j in range(part * {PACKED}, ti.min((part + 1) * {PACKED}, {count})):",
            *indented([*loads, *lines, *store]),
        ]
        return dealt_in_groups("part", f"({count} + {PACKED - 1}) // {PACKED}", rows), fetch, names


def _chosen_once(wanted: Sequence[Scalar]) -> list[Scalar]:
    """The same numbers with factors that are differences of positions taken out of the choices of a cutoff.

        select(r < r_c, f (x_a - x_b), 0)  ->  select(r < r_c, f, 0) (x_a - x_b)

    The components of a vector then share one choice. Only sums of leaves are taken out: what multiplies them
    must not be infinite where the choice is zero.
    """
    return [_factor_choice(one) if one.op == "select" and one.args[2].number == 0 else one for one in wanted]


def _factor_choice(choice: Scalar) -> Scalar:
    """A choice between a number and zero, as a sum of products of choices and differences."""
    condition, number, zero = choice.args
    factors: dict[int, tuple[Scalar, Scalar]] = {}
    for factor, last in _difference_products(number) or []:
        before = factors.get(last.serial)
        factors[last.serial] = (factor if before is None else before[0] + factor), last
    select = partial(choice.graph.apply, "select")
    parts = [select(condition, factor, zero) * last for factor, last in factors.values()]
    return reduce(add, parts) if parts else choice


def _difference_products(node: Scalar) -> list[tuple[Scalar, Scalar]] | None:
    """A number as a sum of products whose last factors are differences of leaves; None if it is none."""
    if node.op == "add":
        every = [_difference_products(arg) for arg in node.args]
        return None if None in every else [one for some in every for one in some or []]
    if node.op != "mul":
        return None
    for here, there in (node.args, node.args[::-1]):
        if is_difference(there):
            return [(here, there)]
    for here, there in (node.args, node.args[::-1]):
        if (found := _difference_products(there)) is not None:
            return [(factor * here, last) for factor, last in found]
    return None


class _LaneRows(Emitter):
    """Statements of one row, with the arrays of lanes."""

    def _of_elements(self) -> dict[str, Any]:
        return {}

    def _load_statement(self, leaf: Scalar) -> str:
        argument, _, component = leaf.value[:3]
        if not isinstance(self.term.energy.roles[argument], Image):
            return super()._load_statement(leaf)
        image = f"{self.prefix}row_images[j, {_image_axis(self.term, component)}]"
        return f"{leaf_name(leaf)} = {self.type}({image})"


def _image_axis(term: Term, component: tuple[int, ...]) -> int:
    """Which of the three numbers of an image a component is."""
    return AXES - int(term.dimension or AXES) + component[0]
