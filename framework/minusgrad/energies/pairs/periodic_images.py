"""Elements within a cutoff and in a periodic box: which image of each node an element reads.

    x_k  ->  x_k + image_k . box

The images of listed tuples are those nearest to their first nodes at the start, and stay, because positions
are not wrapped. Lists of neighbours have images of their own, and are rebuilt.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...elements.elements import Elements
from ...elements.excluded_pairs import Excluded
from ...elements.list_reference import refuse_unlistable
from ...elements.neighbours.directed_pairs import DirectedPairs, DirectedTriples
from ...elements.neighbours.pair_list import PairChoice, PairList
from ...elements.neighbours.pair_tuples import PairTuples, require_nodes
from ...elements.neighbours.triple_list import TripleList
from ...elements.trees.near_pairs import NearPairs, TreeChoice
from ...engine import runtime
from ...errors import EnergyError
from ..fields import POSITIONS, Field, Fields
from ..local_energy import IMAGE_BOX, IMAGES
from ..local_map import LocalMap
from ..roles import Box, Datum, Image
from ..term_spec import TermSpec
from .cutoff import Cutoff
from .far import Far

LISTED: dict[str, type[PairTuples]] = {
    "triples": TripleList,
    "directed_pairs": DirectedPairs,
    "directed_triples": DirectedTriples,
}
"""Lists that follow from a list of pairs, by the `over` of an energy."""


def among_images(
    spec: TermSpec, elements: Elements, kept: np.ndarray, bound: Mapping[str, Field], fields: Fields
) -> tuple[TermSpec, Elements]:
    """The specification and its elements with cutoff and images; both unchanged where there are none.

    `kept`: the listed elements that take part; `bound`: the fields by argument. Raises `EnergyError` for
    a cutoff of other elements than pairs, for pairs in a periodic box without one, and without positions.
    """
    energy = spec.energy
    _refuse_unfit(spec, bound, fields)
    positions = tuple(a for a, f in bound.items() if f.name == POSITIONS and len(f.shape) == 2)
    kind = energy.element_kind
    plain = (kind.several and not kind.directed) or kind.cells or spec.grid is not None
    if spec.far is not None:
        return _of_images(spec, positions, fields), _in_tree(spec, spec.far, elements, positions, fields)
    if spec.cutoff is not None:
        return _within(spec, spec.cutoff, elements, positions, fields)
    if not any(fields.periodic) or plain or not positions or elements.arity < 2:
        return spec, elements
    if kind.limited and spec.elements is None:
        over = str(energy.over).replace("_", " ")
        raise EnergyError(
            f"{spec.label}: is over all {over} of a periodic box, which have no end; give it a `cutoff`"
        )
    return _nearest(spec, elements, kept, positions, fields), elements


def _refuse_unfit(spec: TermSpec, bound: Mapping[str, Field], fields: Fields) -> None:
    if read := [argument for argument, field in bound.items() if field is fields.box]:
        raise EnergyError(
            f"{spec.label}.{read[0]}: reads the periodic box, which all elements share, got the role Node;"
            " give it the role Box"
        )
    if spec.energy.of_role(Box) and fields.box is None:
        raise EnergyError(f"{spec.label}: reads the periodic box, got none; give the scene a [box]")
    if spec.cutoff is None and spec.exclude is not None:
        raise EnergyError(f"{spec.label}.exclude: needs a list of neighbours, got no cutoff; give a `cutoff`")
    if spec.cutoff is not None and not (spec.energy.element_kind.limited and spec.elements is None):
        raise EnergyError(f"{spec.label}.cutoff: is of pairs, got other elements; leave `cutoff` out")


def _in_tree(
    spec: TermSpec, far: Far, elements: Elements, positions: tuple[str, ...], fields: Fields
) -> NearPairs:
    """The near pairs of a tree. Raises `EnergyError` where there is none."""
    name = spec.label
    if spec.cutoff is not None:
        raise EnergyError(f"{name}.far: is of pairs at any distance, got a cutoff; leave one of them out")
    if not (spec.energy.element_kind.unordered and spec.elements is None) or isinstance(
        spec.energy, LocalMap
    ):
        raise EnergyError(f"{name}.far: is of energies over pairs, got another kind; leave `far` out")
    if len(positions) != 1:
        raise EnergyError(
            f"{name}.far: needs the positions of nodes, got {len(positions)} arguments bound to"
            f" '{POSITIONS}'; leave `far` out"
        )
    if fields[POSITIONS].shape[1] not in (2, 3):
        raise EnergyError(
            f"{name}.far: needs the plane or space, got {fields[POSITIONS].shape[1]} dimensions; leave `far`"
            " out"
        )
    if not runtime.lanes(fields.dtype):
        raise EnergyError(f"{name}.far: needs the CPU, got arch = '{runtime.arch()}'; leave `far` out")
    nodes = np.unique(elements.nodes)
    refuse_unlistable(f"{name}.far", fields[POSITIONS].values)
    order, theta = far.chosen
    choice = TreeChoice(nodes, theta, order, far.skin, name, far.error)
    return NearPairs.of(choice, fields.lists)


def _of_images(spec: TermSpec, positions: tuple[str, ...], fields: Fields) -> TermSpec:
    """The specification with the images of nodes, in a periodic box."""
    if not any(fields.periodic):
        return spec
    roles = {**spec.energy.roles, IMAGES: Image(), IMAGE_BOX: Box()}
    return replace(spec, energy=replace(spec.energy, roles=roles, positions=positions))


def _within(
    spec: TermSpec, cutoff: Cutoff, elements: Elements, positions: tuple[str, ...], fields: Fields
) -> tuple[TermSpec, Elements]:
    """The pairs within a cutoff."""
    if not positions:
        raise EnergyError(
            f"{spec.label}.cutoff: needs the positions of nodes, got no argument bound to '{POSITIONS}';"
            " leave `cutoff` out"
        )
    excluded, x = None, fields[POSITIONS].values
    refuse_unlistable(f"{spec.label}.cutoff", x)
    if spec.exclude is not None:
        excluded = Excluded.of(spec.exclude, x, fields.geometry)
    nodes = np.unique(elements.nodes)
    if not any(fields.periodic):
        require_nodes(2, nodes, spec.label)
    pairs = fields.lists.shared(PairChoice(nodes, cutoff.reach, excluded, spec.label), PairList)
    listed = LISTED.get(str(spec.energy.over))
    found: Elements = pairs if listed is None else listed(pairs)
    roles = dict(spec.energy.roles)
    if fields.periodic:
        roles |= {IMAGES: Image() if found is pairs else Datum(shape=("k", "d")), IMAGE_BOX: Box()}
    energy = replace(spec.energy, roles=roles, positions=positions, cutoff=cutoff)
    return replace(spec, energy=energy), found


def _nearest(
    spec: TermSpec, elements: Elements, kept: np.ndarray, positions: tuple[str, ...], fields: Fields
) -> TermSpec:
    """The tuples with the images nearest to their first nodes, if there are any but the nodes themselves."""
    box, x = fields.geometry, fields[POSITIONS].values.astype(np.float64)
    assert box is not None
    refuse_unlistable(spec.label, x)
    found = box.nearest(x[elements.nodes] - x[elements.nodes[:, :1]])
    if not found.any():
        return spec
    images = np.zeros((len(kept), *found.shape[1:]))
    images[kept] = found
    roles = {**spec.energy.roles, IMAGES: Datum(shape=("k", "d")), IMAGE_BOX: Box()}
    energy = replace(spec.energy, roles=roles, positions=positions)
    return replace(spec, energy=energy, data={**spec.data, IMAGES: images})
