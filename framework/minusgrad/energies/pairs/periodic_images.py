"""Elements within a cutoff and in a periodic box: which image of each node an element reads.

    x_k  ->  x_k + image_k . box

The images of listed tuples follow from node to node (`elements.periodic.tuple_images`) at the start, and
stay, because positions are not wrapped. Lists of neighbours have images of their own, and are rebuilt.

Decisions 0020, 0052, 0152, 0282.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ...elements.elements import Elements
from ...elements.excluded_pairs import Excluded
from ...elements.list_reference import refuse_unlistable
from ...elements.neighbours.directed_pairs import DirectedPairs, DirectedTriples
from ...elements.neighbours.pair_list import PairChoice, PairList
from ...elements.neighbours.pair_tuples import PairTuples, require_nodes
from ...elements.neighbours.triple_list import TripleList
from ...elements.periodic.linked_pairs import LinkedPairs
from ...elements.periodic.tuple_images import FIRST, TupleImages, declared_images, parents_of
from ...elements.trees.near_pairs import NearPairs, TreeChoice
from ...engine import runtime
from ...errors import EnergyError
from ..fields import POSITIONS, Field, Fields
from ..local_energy import IMAGE_BOX, IMAGES
from ..local_map import LocalMap
from ..roles import Box, Datum, Image
from ..term_spec import TermSpec
from ..written.rest_shape import REST
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
) -> tuple[TermSpec, Elements, Any]:
    """The specification and its elements with cutoff and images; both unchanged where there are none.

    The third is the rule that images of listed tuples follow, if they are in a periodic box. `kept`: the
    listed elements that take part; `bound`: the fields by argument. Raises `EnergyError` for a cutoff of
    other elements than pairs, for pairs in a periodic box without one, and without positions.
    """
    energy = spec.energy
    _refuse_unfit(spec, bound, fields)
    positions = positions_of(bound)
    places = _field_of_places(spec, bound, positions, fields)
    kind = energy.element_kind
    if spec.images is not None and not kind.listed:
        raise EnergyError(f"{spec.label}.images: are of listed tuples, got other elements; leave them out")
    if spec.far is not None:
        near = _in_tree(spec, spec.far, elements, positions, places, fields)
        return _of_images(spec, positions, fields), near, None
    if spec.cutoff is not None:
        return *_pairs_within(spec, spec.cutoff, elements, positions, places, fields), None
    plain = kind.cells or spec.grid is not None or not positions or elements.arity < 2
    if not any(fields.periodic) or plain:
        if isinstance(spec.images, (list, tuple, np.ndarray)) and np.ndim(spec.images) > 1:
            raise EnergyError(
                f"{spec.label}.images: are copies of nodes in a periodic box, got none; give the box, or"
                " leave them out"
            )
        return spec, elements, None
    if kind.can_be_limited and spec.elements is None:
        over = str(energy.over).replace("_", " ")
        raise EnergyError(
            f"{spec.label}: is over all {over} of a periodic box, which have no end; give it a `cutoff`"
        )
    slots = sorted({slot for a in positions for slot in spec.energy.slots(a, elements.arity)})
    if len(slots) < 2:
        return spec, elements, None
    assert places is not None
    _refuse_unlistable(spec.label, places)
    x = places.values.astype(np.float64)
    rule = _image_rule(spec, elements, kept, slots, x, fields)
    if any(made.field == REST for made in spec.energy.linear.values()):
        raise EnergyError(
            f"{spec.label}: reads '{REST}', the nodes at rest, which have no images, got a periodic box;"
            " leave `rest_shape` out"
        )
    return _with_rule_images(spec, rule, kept, positions, x, fields), elements, rule


def _field_of_places(
    spec: TermSpec, bound: Mapping[str, Field], positions: tuple[str, ...], fields: Fields
) -> Field | None:
    """The one field of positions that lists and images are at, if there is one.

    Raises `EnergyError` for two of them, where images or a cutoff would need both.
    """
    found = {bound[a].name: bound[a] for a in positions}
    if len(found) > 1 and (any(fields.periodic) or spec.cutoff is not None):
        raise EnergyError(
            f"{spec.label}: needs positions of one field for images and cutoffs, got {' and '.join(found)};"
            " give both arguments the same"
        )
    return next(iter(found.values()), None)


def _refuse_unlistable(what: str, places: Field) -> None:
    """Raise `EnergyError` for positions at which there are neither lists nor images."""
    if places.computed_places and np.isnan(places.values).all():
        raise EnergyError(
            f"{what}: needs values of '{places.name}', which a map computes that has not run, got NaN; run it"
            " before: Potential(fields, [], [the_map]).refresh()"
        )
    refuse_unlistable(what, places.values)


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
    if spec.cutoff is not None and not (spec.energy.element_kind.can_be_limited and spec.elements is None):
        raise EnergyError(f"{spec.label}.cutoff: is of pairs, got other elements; leave `cutoff` out")


def _in_tree(
    spec: TermSpec,
    far: Far,
    elements: Elements,
    positions: tuple[str, ...],
    places: Field | None,
    fields: Fields,
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
    assert places is not None
    if places.computed_places:
        raise EnergyError(
            f"{name}.far: is of the positions '{POSITIONS}', got '{places.name}', which a map computes; leave"
            " `far` out"
        )
    if places.shape[1] not in (2, 3):
        raise EnergyError(
            f"{name}.far: needs the plane or space, got {places.shape[1]} dimensions; leave `far` out"
        )
    if not runtime.lanes(fields.dtype):
        raise EnergyError(f"{name}.far: needs the CPU, got arch = '{runtime.arch()}'; leave `far` out")
    nodes = np.unique(elements.nodes)
    _refuse_unlistable(f"{name}.far", places)
    order, theta = far.chosen
    choice = TreeChoice(nodes, theta, order, far.skin, name, far.error)
    return NearPairs.of(choice, fields.lists)


def _of_images(spec: TermSpec, positions: tuple[str, ...], fields: Fields) -> TermSpec:
    """The specification with the images of nodes, in a periodic box."""
    if not any(fields.periodic):
        return spec
    roles = {**spec.energy.roles, IMAGES: Image(), IMAGE_BOX: Box()}
    return replace(spec, energy=replace(spec.energy, roles=roles, positions=positions))


def _pairs_within(
    spec: TermSpec,
    cutoff: Cutoff,
    elements: Elements,
    positions: tuple[str, ...],
    places: Field | None,
    fields: Fields,
) -> tuple[TermSpec, Elements]:
    """The pairs within a cutoff."""
    if not positions:
        raise EnergyError(
            f"{spec.label}.cutoff: needs the positions of nodes, got no argument bound to '{POSITIONS}';"
            " leave `cutoff` out"
        )
    assert places is not None
    _refuse_unlistable(f"{spec.label}.cutoff", places)
    excluded, x = None, places.values
    if spec.exclude is not None:
        excluded = Excluded.of(spec.exclude, x, fields.geometry)
    nodes = np.unique(elements.nodes)
    if not any(fields.periodic):
        require_nodes(2, nodes, spec.label)
    lists = fields.lists_at(places.name)
    pairs = lists.shared_list(PairChoice(nodes, cutoff.reach, excluded, spec.label), PairList)
    listed = LISTED.get(str(spec.energy.over))
    found: Elements = pairs if listed is None else listed(pairs)
    roles = dict(spec.energy.roles)
    if fields.periodic:
        roles |= {IMAGES: Image() if found is pairs else Datum(shape=("k", "d")), IMAGE_BOX: Box()}
    energy = replace(spec.energy, roles=roles, positions=positions, cutoff=cutoff)
    return replace(spec, energy=energy), found


def _image_rule(
    spec: TermSpec, elements: Elements, kept: np.ndarray, slots: list[int], x: np.ndarray, fields: Fields
) -> TupleImages | LinkedPairs:
    """How the images of listed tuples follow. Raises `EnergyError` for images of another shape."""
    box = fields.geometry
    assert box is not None
    if isinstance(spec.tuples, LinkedPairs) and spec.images is None:
        return spec.tuples.of_rows(kept).placed(x, box)
    what, arity, follow, given = spec.label, elements.arity, spec.energy.images, None
    if isinstance(spec.images, str) or np.ndim(spec.images) == 1:
        follow = declared_images(what, spec.images, True, arity)
    elif spec.images is not None:
        given = given_images(f"{what}.images", spec.images, (len(kept), arity, x.shape[1]), fields.periodic)
    parents = parents_of(follow, arity, slots)
    if spec.parents is not None:
        parents = np.asarray(spec.parents)[kept]
    given = None if given is None else given[kept]
    at = (None, None) if given is None else (x, box)
    nodes = elements.nodes.copy()
    nodes[:, np.setdiff1d(range(arity), slots)] = nodes[:, slots[:1]]  # those of other sets have no place
    rule = TupleImages(nodes, parents, given, *at)
    if follow != FIRST and not spec.energy.linear:
        _refuse_themselves(what, rule, rule.at(x, box), slots)
    return rule


def given_images(
    what: str, images: Any, shape: tuple[int, int, int], periodic: tuple[bool, ...]
) -> np.ndarray:
    """Images of a list as (E, k, d), of pairs also those of second nodes, (E, d). Raises `EnergyError`."""
    found, (count, arity, d) = np.asarray(images), shape
    if found.dtype.kind == "f" and np.array_equal(found, np.rint(found)):
        found = found.astype(np.int64)
    if arity == 2 and found.shape == (count, d):
        found = np.stack([np.zeros_like(found), found], axis=1)
    if found.shape != shape or found.dtype.kind not in "iu":
        or_else = f", or [{count}, {d}] of second nodes," if arity == 2 else ""
        raise EnergyError(
            f"{what}: needs whole numbers of shape {list(shape)}{or_else} got {found.dtype} of shape"
            f" {list(found.shape)}; give a copy of each node"
        )
    if (along := np.flatnonzero(found.any(axis=(0, 1)) & ~np.array(periodic))).size:
        raise EnergyError(f"{what}: axis {along[0]} is not periodic, got images along it; write 0 there")
    return found.astype(np.int32)


def _refuse_themselves(what: str, rule: TupleImages, images: np.ndarray, slots: list[int]) -> None:
    """Refuse tuples that have a node twice in the same image: the edge between has no length."""
    for one, other in combinations(slots, 2):
        same = rule.nodes[:, one] == rule.nodes[:, other]
        same &= (images[:, one] == images[:, other]).all(axis=1)
        if same.any():
            row = int(np.argmax(same))
            raise EnergyError(
                f"{what}.tuples: row {row} = {rule.nodes[row].tolist()} has node {rule.nodes[row, one]}"
                " twice, in the same image; give the `images` of its nodes, or leave the row out"
            )


def _with_rule_images(
    spec: TermSpec,
    rule: TupleImages | LinkedPairs,
    kept: np.ndarray,
    positions: tuple[str, ...],
    x: np.ndarray,
    fields: Fields,
) -> TermSpec:
    """The specification with the images of a rule, if there are any but the nodes themselves."""
    assert fields.geometry is not None
    found = rule.at(x, fields.geometry)
    if fields.images_stay and not found.any():
        return spec  # its kernels need none
    images = np.zeros((len(kept), *found.shape[1:]))
    images[kept] = found
    return replace(spec, energy=with_images(spec.energy, positions), data={**spec.data, IMAGES: images})


def positions_of(bound: Mapping[str, Field]) -> tuple[str, ...]:
    """The arguments that are positions of nodes."""
    return tuple(a for a, f in bound.items() if f.places)


def remark_of(what: str, rule: Any, elements: Elements, places: str, fields: Fields) -> str:
    """A sentence about images that are a matter of choice; "" if there are none.

    rule: of listed tuples. elements: neighbours, whose images are chosen only of excluded pairs. places: the
    field of positions.
    """
    excluded, key = getattr(elements, "excluded", None), "tuples"
    if excluded is not None:
        rule, key = excluded.links, "exclude"
    if rule is None or fields.geometry is None:
        return ""
    found = rule.remark(fields[places].values.astype(np.float64), fields.geometry)
    return f"{what}.{key}: {found}" if found else ""


def with_images(energy: Any, positions: tuple[str, ...]) -> Any:
    """An energy over listed tuples whose nodes have images, as a datum."""
    roles = {**energy.roles, IMAGES: Datum(shape=("k", "d")), IMAGE_BOX: Box()}
    return replace(energy, roles=roles, positions=positions)
