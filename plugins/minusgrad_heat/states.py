"""The state of a body that conducts heat: its mesh, with a temperature and a capacity at every node.

    field    shape     unit
    x        (n, d)    m       the nodes, which stay
    T        (n,)      K
    C        (n,)      J/K     capacity: c m, with the masses m lumped to nodes
    share    (n,)      m^3     the volume that belongs to a node

The mesh and its lists are those of an elastic state (`minusgrad_elastic.solids`).
"""

from typing import Annotated, Literal

import numpy as np

from minusgrad.plugin import ByKind, Quantity, Record, State, StateContext, UserError
from minusgrad_elastic import states as elastic

Temperature = Annotated[float | str, Quantity("K", "nonnegative", absolute=True)]


class Rectangle(elastic.Rectangle):
    """A rectangle, as the state of this name."""

    kind: Literal["rectangle"] = "rectangle"


class Box(elastic.Box):
    """A box, as the state of this name."""

    kind: Literal["box"] = "box"


class Beam(elastic.Beam):
    """A beam, as the state of this name."""

    kind: Literal["beam"] = "beam"


class Disc(elastic.Disc):
    """A disc, as the state of this name."""

    kind: Literal["disc"] = "disc"


class FromGmsh(elastic.FromGmsh):
    """A mesh from a Gmsh file, as the state of this name."""

    kind: Literal["gmsh"] = "gmsh"


class FromMesh(elastic.FromMesh):
    """A mesh from a file of another format, as the state of this name."""

    kind: Literal["mesh"] = "mesh"


AnyMesh = Annotated[Rectangle | Box | Beam | Disc | FromGmsh | FromMesh, ByKind()]


class Heat(Record):
    """A body at one `temperature`, some of its `bodies` at others, and with a `specific_heat`.

    mesh: a table like the state of an elastic body: `{ kind = "rectangle", size = ..., density = ... }`.
    """

    mesh: AnyMesh
    """The mesh of the body, as the state of an elastic body."""
    temperature: Temperature
    """Temperature of the body at the start."""
    bodies: dict[str, Temperature] = {}  # noqa: RUF012  (pydantic copies it)
    """By body: its temperature at the start, where it is another one."""
    specific_heat: Annotated[float | str, Quantity("J kg^-1 K^-1", "positive")]
    """Heat capacity per mass."""

    def make(self, context: StateContext) -> State:
        if self.mesh.temperature is not None:
            raise UserError("mesh: has no temperature of its own, got one; give `temperature` of the state")
        units, body = context.units, context.with_sides(self.mesh.make(context))
        known = {part.name: part.nodes for part in body.bodies}
        temperature = units.convert(self.temperature, "K", absolute=True)
        mass, density = body.fields["m"], units.convert(self.mesh.density, "kg m^-3")
        values = 0.0 * mass + temperature
        owner = np.full(len(mass), -1)
        for number, (name, given) in enumerate(self.bodies.items()):
            if name not in known:
                there = ", ".join(known) or "none"
                raise UserError(f"bodies: the mesh has no body '{name}' (there are: {there}); name one")
            own, nodes = units.convert(given, "K", absolute=True), known[name]
            if (twice := nodes[(owner[nodes] >= 0) & (values[nodes] != own)]).size:
                other = list(self.bodies)[owner[twice[0]]]
                raise UserError(
                    f"bodies: node {twice[0]} is in '{other}' and '{name}', which have other temperatures;"
                    f' name a side without it: [state.sides] rest = {{ union = ["{name}"], minus ='
                    f' ["{other}"], of = "nodes" }}'
                )
            values[nodes], owner[nodes] = own, number
        capacity = units.convert(self.specific_heat, "J kg^-1 K^-1") * mass
        return State(
            fields={"x": body.fields["x"], "T": values, "C": capacity, "share": mass / density},
            units={"x": "m", "T": "K", "C": "J K^-1", "share": "m^3"},
            bodies=body.bodies,
            tuples=body.tuples,
            data=body.data,
            labels={"x": "position", "T": "temperature", "C": "capacity", "share": "volume"},
            shown=body.shown,
            quadratures=body.quadratures,
            groups=body.groups,
            inner=body.inner,
            absolute=frozenset({"T"}),
            facets=body.facets,
        )


STATES = {"heat": Heat}
