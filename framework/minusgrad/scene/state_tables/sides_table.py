"""`[state.sides]`: sides of a body by their place, by numbers of nodes, or made of others.

    [state.sides]
    left = { x = "0 mm" }
    hole = { near = ["10 mm", "5 mm"], radius = "2 mm" }
    top = { normal = [0, 0, 1], angle = "10 deg" }
    held = { union = ["left", "hole"], minus = ["top"], of = "nodes" }

The keys of one table are rules that all hold. `assembly.building.sides` finds the facets and nodes.

Decisions 0159.
"""

from functools import cache
from typing import Annotated, Literal

from pydantic import BaseModel, Field, create_model, model_validator

from ..records import Quantity, Record
from ..tagged_unions import ByForm, one_or_each

Place = Annotated[float | str, Quantity("m")]
Length = Annotated[float | str, Quantity("m", "positive")]
Point = Annotated[tuple[Place, ...], Field(min_length=1, max_length=3)]
Direction = Annotated[tuple[float, ...], Field(min_length=1, max_length=3)]
Names = tuple[str, ...]
Number = Annotated[int, Field(ge=0)]
Nodes = Annotated[Number | tuple[Number, Number], ByForm(one_or_each, ("one", "each"))]

RULES = ("x", "y", "z", "near", "normal", "within", "edge", "nodes", "union", "intersection", "minus")
"""The keys that choose; the others say how."""
PLACED = ("x", "y", "z", "near", "within")
"""The rules about places, which have a tolerance."""


class SphereTable(Record):
    """`within.sphere`: a ball; in the plane a disc."""

    centre: Point
    """The centre, one number for each axis."""
    radius: Length
    """The radius."""


class CylinderTable(Record):
    """`within.cylinder`: all around an axis, or a piece of it of some `length`."""

    centre: Point
    """A point of the axis, with which a cylinder of some length begins."""
    axis: Direction
    """Direction of the axis."""
    radius: Length
    """The radius."""
    length: Length | None = None
    """Length along the axis, from `centre` on (default: without end)."""


class WithinTable(Record):
    """`within`: inside of a box, a sphere or a cylinder, or on its surface."""

    box: Annotated[tuple[Point, ...], Field(min_length=2, max_length=2)] | None = None
    """Two opposite corners of a box (default: none)."""
    sphere: SphereTable | None = None
    """A ball, in the plane a disc (default: none)."""
    cylinder: CylinderTable | None = None
    """A cylinder in space (default: none)."""

    @model_validator(mode="after")
    def _one_of_three(self) -> "WithinTable":
        if len(self.model_fields_set) != 1:
            raise ValueError("needs one of box, sphere and cylinder")
        return self


class EdgeTable(Record):
    """`edge`: nodes where the surface is sharp, or that two sides have in common."""

    angle: Annotated[float | str, Quantity("rad", "positive")] | None = None
    """The least angle between the normals of two facets at a node (default: none)."""
    between: Annotated[Names, Field(min_length=2)] | None = None
    """Sides or bodies that all have the nodes (default: none)."""

    @model_validator(mode="after")
    def _one_of_two(self) -> "EdgeTable":
        if len(self.model_fields_set) != 1:
            raise ValueError('needs either an angle, such as "30 deg", or between = ["left", "top"]')
        return self


class SideTable(Record):
    """`[state.sides]`: facets or nodes of a body under a name; several keys all hold at once.

    A side of facets has those all of whose nodes are at the place, and their nodes; `of` says which.
    """

    x: Place | None = None
    """Nodes with this x (default: any)."""
    y: Place | None = None
    """Nodes with this y (default: any)."""
    z: Place | None = None
    """Nodes with this z (default: any)."""
    near: Point | None = None
    """A point: nodes there, or with `radius` at that distance from it (default: none)."""
    radius: Length | None = None
    """Distance from the point `near`, or from the axis through it (default: 0)."""
    axis: Direction | None = None
    """Direction of an axis through `near`, from which the distance counts (default: none)."""
    normal: Direction | None = None
    """Outward direction of facets (default: any)."""
    angle: Annotated[float | str, Quantity("rad", "positive")] | None = None
    """Largest angle between a facet's normal and `normal` (default: 10 deg)."""
    within: WithinTable | None = None
    """A box, sphere or cylinder that has the nodes inside (default: none)."""
    edge: EdgeTable | None = None
    """Nodes on sharp edges of the surface, or common to sides (default: any)."""
    nodes: Annotated[tuple[Nodes, ...], Field(min_length=1)] | None = None
    """Numbers of nodes, from 0, and [first, last] of ranges (default: any)."""
    union: Annotated[Names, Field(min_length=1)] | None = None
    """Sides or bodies, one of which has them at least (default: none)."""
    intersection: Annotated[Names, Field(min_length=1)] | None = None
    """Sides or bodies, each of which has them (default: none)."""
    minus: Annotated[Names, Field(min_length=1)] | None = None
    """Sides or bodies, none of which has them (default: none)."""
    of: Literal["facets", "nodes"] | None = None
    """What the side has (default: facets where the state and the rules have some, else nodes)."""
    tolerance: Annotated[float | str, Quantity("m", "nonnegative")] | None = None
    """Distance by which nodes may miss a place (default: 1e-6 of the state's diagonal)."""

    @model_validator(mode="after")
    def _rules_that_fit(self) -> "SideTable":
        given = self.model_fields_set
        if not given & set(RULES):
            raise ValueError(f"needs a rule, one of {', '.join(RULES)}")
        for key, rules in {
            "radius": ("near",), "axis": ("near",), "angle": ("normal",), "tolerance": PLACED
        }.items():  # fmt: skip
            if key in given and not given & set(rules):
                raise ValueError(f"`{key}` belongs to {' or '.join(rules)}; add it, or leave {key} out")
        for key in ("axis", "normal"):
            if (direction := getattr(self, key)) is not None and not any(direction):
                raise ValueError(f"`{key}` needs a direction that is not zero")
        return self


class StateWithSides(Record):
    """The keys that the core adds to every state."""

    sides: dict[str, SideTable] = {}  # noqa: RUF012  (pydantic copies it)
    """Sides by their place, by name: `{ x = "0 mm" }`; their keys are those of [state.sides]."""


@cache
def with_sides(model: type[BaseModel]) -> type[BaseModel]:
    """The model of a state that takes `sides`, too; one that has such a key of its own stays as it is."""
    if "sides" in model.model_fields:
        return model
    return create_model(
        model.__name__, __base__=(model, StateWithSides), __module__=model.__module__, __doc__=model.__doc__
    )


def declared_model(model: type[BaseModel]) -> type[BaseModel]:
    """The model as its plugin has declared it, of one with `sides`."""
    return model.__bases__[0] if StateWithSides in model.__bases__ else model
