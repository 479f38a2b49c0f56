"""One side from the rules of its table, which all hold at once; a side without anything says what is near.

A side of facets has the facets of the boundary all of whose nodes meet the rules, and their nodes; one of
nodes has every node that meets them, those inside of the body, too. It is of facets where the state has some,
unless `of` says otherwise or a rule is about nodes: `nodes`, `edge`, `intersection`, two coordinates, a
point, and sides that are of nodes themselves.

Decisions 0159.
"""

from collections.abc import Sequence

import numpy as np

from ....errors import UserError, at_key
from ....scene.records import quantities
from ....scene.state_tables.sides_table import RULES, SideTable
from .boundary_facets import BoundaryFacets
from .found_side import Side, SideContext, count_words
from .place_rules import PlaceRules, length_words

TOLERANCE = 1e-6
"""The usual tolerance, in diagonals of the state."""
ANGLE = np.radians(10.0)
"""The usual angle between a facet's normal and the one that is asked for."""
FACETS, NODES = "facets", "nodes"


class SideRules:
    """The rules of a table. Raises `UserError` for those that do not fit the state, and for an empty side."""

    def __init__(self, around: SideContext, name: str, table: SideTable):
        self.around, self.name, self.table = around, name, table
        self.values = quantities(table, around.units)
        self.places = PlaceRules(table, self.values, around.x, around.units)
        diagonal = float(np.linalg.norm(np.ptp(around.x, axis=0)))
        given = self.values["tolerance"]
        self.tolerance = TOLERANCE * diagonal if given is None else given
        self.masks: dict[str, np.ndarray] = {}
        """By rule, in words, the facets or nodes that meet it."""

    def side(self) -> Side:
        """The side."""
        facets = self._facets_asked()
        return self._of_nodes() if facets is None else self._of_facets(facets)

    def _facets_asked(self) -> BoundaryFacets | None:
        """The facets to choose from; None for a side of nodes."""
        table, facets = self.table, self.around.facets
        if table.of == FACETS and facets is None:
            with at_key("of"):
                raise UserError('the state has no facets, got of = "facets"; leave it out')
        of_nodes = [key for key in ("nodes", "edge", "intersection") if getattr(table, key) is not None]
        bare = any(
            side.facets is None or not side.whole for side in map(self.around.named, needed_sides(table))
        )
        usual = NODES if of_nodes or bare or self.places.points else FACETS
        if table.of == FACETS and table.edge is not None:
            with at_key("of"):
                raise UserError('edges have nodes alone, got of = "facets"; leave it out')
        return facets if (table.of or usual) == FACETS else None

    # Facets

    def _of_facets(self, facets: BoundaryFacets) -> Side:
        table, masks = self.table, self.masks
        meets = {rule.words: rule.miss <= self.tolerance for rule in self.places.rules}
        meets |= self._numbered()
        within = np.ones(len(self.around.x), bool)
        for mask in meets.values():
            within &= mask
        if meets:
            masks[" and ".join(meets)] = facets.all_within(within)
        if table.normal is not None:
            masks["normal"] = self._facing(facets)
        for key in ("union", "intersection", "minus"):
            if (names := getattr(table, key)) is not None:
                masks[key] = self._combined(key, [self._facet_mask(key, name, facets) for name in names])
        chosen = self._all_of(len(facets))
        if not chosen.any():
            raise UserError(self._nothing("facet of the boundary", within if meets else None))
        numbers, areas = np.flatnonzero(chosen), facets.areas
        area = None if areas is None else float(areas[numbers].sum())
        return Side(self.name, facets.nodes(chosen), numbers, area)

    def _facet_mask(self, key: str, name: str, facets: BoundaryFacets) -> np.ndarray:
        side, mask = self.around.named(name), np.zeros(len(facets), bool)
        if side.inner:
            with at_key(key):
                raise UserError(
                    f"body '{name}' has {count_words(side.inner, 'facet')} inside of the mesh, which no side"
                    ' of facets can have; give of = "nodes", or name its part on the boundary'
                )
        if side.facets is None:
            return facets.all_within(self.around.node_mask(side.nodes))
        mask[side.facets] = True
        return mask

    def _facing(self, facets: BoundaryFacets) -> np.ndarray:
        """The facets whose normal is within the angle of the one that is asked for."""
        asked, d = self.table.normal, self.around.x.shape[1]
        assert asked is not None
        with at_key("normal"):
            if len(asked) != d:
                raise UserError(f"normal: needs {d} numbers, one for each axis, got {len(asked)}; correct it")
            cosine = facets.normals @ (np.array(asked) / np.linalg.norm(asked))
        angle = ANGLE if self.values["angle"] is None else self.values["angle"]
        self._turned = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)).min()))
        return np.arccos(np.clip(cosine, -1.0, 1.0)) <= angle + 1e-9

    # Nodes

    def _of_nodes(self) -> Side:
        table, masks = self.table, self.masks
        masks |= {rule.words: rule.miss <= self.tolerance for rule in self.places.rules} | self._numbered()
        if table.normal is not None:
            facets = self._with_facets("normal")
            masks["normal"] = self.around.node_mask(facets.nodes(self._facing(facets)))
        if table.edge is not None:
            masks["edge"] = self._on_edges()
        for key in ("union", "intersection", "minus"):
            if (names := getattr(table, key)) is not None:
                found = [self.around.node_mask(self.around.named(name).nodes) for name in names]
                masks[key] = self._combined(key, found)
        chosen = self._all_of(len(self.around.x))
        if not chosen.any():
            raise UserError(self._nothing("node", None))
        return Side(self.name, np.flatnonzero(chosen))

    def _numbered(self) -> dict[str, np.ndarray]:
        """The nodes that are listed. Raises `UserError` for a number that no node has."""
        numbers, n = self.table.nodes, len(self.around.x)
        if numbers is None:
            return {}
        found = np.zeros(n, bool)
        for one in numbers:
            first, last = one if isinstance(one, tuple) else (one, one)
            if not first <= last < n:
                with at_key("nodes"):
                    raise UserError(
                        f"nodes: needs numbers from 0 to {n - 1}, and ranges [first, last], got"
                        f" {last if first == last else [first, last]}; correct it"
                    )
            found[first : last + 1] = True
        return {"nodes": found}

    def _on_edges(self) -> np.ndarray:
        edge = self.table.edge
        assert edge is not None
        if edge.between is not None:
            found = [self.around.node_mask(self.around.named(name).nodes) for name in edge.between]
            return np.logical_and.reduce(found)
        return self._with_facets("edge").sharp_nodes(self.values["edge"]["angle"])

    def _with_facets(self, key: str) -> BoundaryFacets:
        """The facets, for a rule that needs some. Raises `UserError` for a state without them."""
        if self.around.facets is None:
            with at_key(key):
                raise UserError(f"{key}: is of facets, got a state without; choose nodes by place or number")
        return self.around.facets

    # Both

    def _combined(self, key: str, masks: Sequence[np.ndarray]) -> np.ndarray:
        joined = np.logical_and if key == "intersection" else np.logical_or
        found = joined.reduce(masks)
        return ~found if key == "minus" else found

    def _all_of(self, count: int) -> np.ndarray:
        chosen = np.ones(count, bool)
        for mask in self.masks.values():
            chosen &= mask
        return chosen

    def _nothing(self, noun: str, within: np.ndarray | None) -> str:
        """Why the side is empty: what is nearest to a place, else how many meet each rule."""
        for rule in self.places.rules:
            if not (rule.miss <= self.tolerance).any():
                off = length_words(self.tolerance, self._like(), self.around.units, 3)
                return f"no node is {rule.words}, to {off}; {rule.nearest}; correct the place"
        if within is not None and not within.any():
            return f"no node is {' and '.join(self._words())} at once; correct the places"
        if self.table.normal is not None and not self.masks["normal"].any():
            return f"no facet has this normal, the nearest is {self._turned:.3g} deg off; give another angle"
        if within is not None and not next(iter(self.masks.values())).any():
            there = count_words(int(within.sum()), "node")
            return (
                f"no {noun} has all of its nodes {' and '.join(self._words())}, where {there} are;"
                ' of = "nodes" gives these'
            )
        met = ", ".join(f"{words}: {int(mask.sum())}" for words, mask in self.masks.items())
        cure = '; of = "nodes" gives common nodes' if self.table.of is None and noun != "node" else ""
        return f"no {noun} meets all of its rules, got by rule {met}{cure or '; leave one out'}"

    def _words(self) -> list[str]:
        listed = ["among the listed ones"] * (self.table.nodes is not None)
        return [rule.words for rule in self.places.rules] + listed

    def _like(self) -> object:
        """A length of the table with a unit, whose unit messages have."""
        flat = [getattr(self.table, key) for key in RULES[:3]] + [self.table.radius, *(self.table.near or ())]
        return next((one for one in flat if isinstance(one, str)), 0.0)


def needed_sides(table: SideTable) -> list[str]:
    """The names of other sides, or bodies, in a table."""
    between = () if table.edge is None else table.edge.between or ()
    return [*(table.union or ()), *(table.intersection or ()), *(table.minus or ()), *between]
