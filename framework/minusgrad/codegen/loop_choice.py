"""Which loops a term takes: in vector lanes where it has enough elements, and operations of vectors.

The choice depends on the term alone, so that bits depend neither on the other terms nor on how a run is cut.

Decisions 0261.
"""

from collections.abc import Mapping
from math import inf

from ..elements.loops import Loop
from ..elements.trees.near_pairs import NearPairs
from ..energies.fields import Field
from ..energies.local_map import LocalMap
from ..energies.term import Term
from ..engine import lane_blocks, runtime
from .element_lanes import lane_loops, part_lanes
from .element_lanes.lane_loops import Lanes
from .element_lanes.part_lanes import PartLanes
from .expansions import image_sums
from .kept_traces import KEPT
from .lane_statements import serve
from .map_loops import MapLoops
from .neighbours import listed_lanes
from .neighbours.leaf_lanes import LeafLanes
from .neighbours.listed_lanes import ListedLanes
from .neighbours.listed_map_lanes import ListedMapLanes
from .node_lanes import stencil_lane_loops, sum_lanes
from .node_lanes.node_lane_loops import NodeLanes, one_of_each
from .node_lanes.stencil_lane_loops import StencilLanes
from .node_lanes.sum_lanes import SumLanes
from .term_loops import Emitter
from .windows import scatter_lane_loops
from .windows.gather_loops import GatherLoops
from .windows.scatter_lane_loops import WindowLanes
from .windows.scatter_loops import WindowLoops


def loops_of_energy(term: Term) -> Emitter:
    """The loops of an energy. From here on a tree in a periodic box has the images that it reaches."""
    KEPT.hold(term)
    if isinstance(term.elements, NearPairs):
        image_sums.settle(term)
    if listed_lanes.suits(term):
        return LeafLanes(term) if isinstance(term.elements, NearPairs) else ListedLanes(term)
    if not runtime.lanes(term.dtype) or term.elements.rows < _least_rows(term.elements.loop):
        return Emitter(term)
    single = term.arity == 1
    if (single and not one_of_each(term)) or not serve(KEPT.of_term(term, "value").value):
        return Emitter(term)
    if single:
        return NodeLanes(term)
    parts = part_lanes.parts_of(term, lane_blocks.lanes(term.dtype))
    return PartLanes(term, parts) if parts else Lanes(term)


def loops_of_map(term: Term, adjoints: Mapping[str, Field]) -> MapLoops:
    """The loops of a map; `adjoints`: fields like its outputs, by the names of these."""
    KEPT.hold(term)
    if not term.grid:
        if stencil_lane_loops.suits(term):
            return StencilLanes(term, adjoints)
        if _sums_in_lanes(term):
            return SumLanes(term, adjoints)
        return (ListedMapLanes if listed_lanes.suits(term) else MapLoops)(term, adjoints)
    assert isinstance(term.energy, LocalMap)
    if term.energy.from_cells:
        return GatherLoops(term, adjoints)
    return (WindowLanes if scatter_lane_loops.suits(term) else WindowLoops)(term, adjoints)


def _sums_in_lanes(term: Term) -> bool:
    """True if a map is a sum over many nodes that lanes suit."""
    many = runtime.lanes(term.dtype) and term.elements.rows >= lane_loops.LEAST_TUPLES
    return bool(many) and sum_lanes.suits(term) and all(map(serve, KEPT.of_term(term, "forward").given))


def _least_rows(loop: Loop) -> float:
    """From how many iterations on a loop is run in lanes; infinity where there are no such loops."""
    if loop.per_target:
        return lane_loops.LEAST_TARGETS if loop.dense else inf
    return lane_loops.LEAST_TUPLES
