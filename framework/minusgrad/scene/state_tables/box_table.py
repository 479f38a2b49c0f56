"""`[box]`: the periodic box of a scene."""

from typing import Annotated

from pydantic import Field, model_validator

from ..records import Quantity, Record
from ..tagged_unions import ByForm, one_or_each

Length = Annotated[float | str, Quantity("m")]
Edge = Annotated[float | str, Quantity("m", "positive")]


class BoxTable(Record):
    """`[box]`: a box that repeats along its periodic axes.

    edges: the lengths of a cuboid's, or in a plane of a rectangle's edges. vectors: the edge vectors of any
    other box, one in each row. Both are left out where the state gives the box. periodic: for all axes, or
    for each.
    """

    edges: Annotated[tuple[Edge, ...], Field(min_length=1, max_length=3)] | None = None
    """Lengths of the edges of a cuboid, in the plane of a rectangle (default: the state's box)."""
    vectors: Annotated[tuple[tuple[Length, ...], ...], Field(min_length=1, max_length=3)] | None = None
    """Edge vectors of any other box, one in each row (default: the state's box)."""
    periodic: Annotated[bool | tuple[bool, ...], ByForm(one_or_each, ("one", "each"))] = True
    """Whether the box repeats, along all axes or along each (default: as the state says, else all)."""

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "BoxTable":
        if self.edges is not None and self.vectors is not None:
            raise ValueError("either edges or vectors, not both")
        if self.vectors is not None and {len(row) for row in self.vectors} != {len(self.vectors)}:
            raise ValueError(f"needs {len(self.vectors)} vectors of {len(self.vectors)} components")
        return self
