"""Networks with nodes and springs, or rods, listed in the scene; chains. x (n, d), v (n, d), m (n,).

list        rows          data of its elements
edges       (K, 2)        rest [m], their length where they begin; length, the same, for rods
"""

from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from minusgrad.plugin import (
    Body,
    ByForm,
    Motion,
    Quantity,
    Record,
    State,
    StateContext,
    UserError,
    node_numbers,
    one_or_each,
    quantities,
)

from .states import Place, Speed

Mass = Annotated[float | str, Quantity("kg", "positive")]
Masses = Annotated[Mass | tuple[Mass, ...], ByForm(one_or_each, ("one", "each"))]
Number = Annotated[int, Field(ge=0)]
Rate = Annotated[float | str, Quantity("rad/s")]
Angle = Annotated[float | str, Quantity("rad")]


def same_space(nodes: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    """All nodes have 2, or all have 3 numbers."""
    for k, node in enumerate(nodes):
        if len(node) not in (2, 3) or len(node) != len(nodes[0]):
            raise ValueError(f"node {k} has {len(node)} numbers; give 2 for each, or 3 for each")
    return nodes


def no_twins(springs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """No two springs join the same nodes, and none a node with itself."""
    seen: dict[frozenset[int], int] = {}
    for k, pair in enumerate(springs):
        if (first := seen.setdefault(frozenset(pair), k)) != k:
            raise ValueError(f"springs {first} and {k} both join the nodes {pair[0]} and {pair[1]}; name one")
        if pair[0] == pair[1]:
            raise ValueError(f"spring {k} joins node {pair[0]} with itself")
    return springs


class Network(Record):
    """Nodes at given positions, and springs between pairs of them (counted from 0), initially at rest length.

    `mass` of every node, or one for each; `bodies`: their nodes by name. All nodes have one velocity and,
    where `spin` is given, that of a rotation about the centre of mass: three numbers in space, one in a
    plane.
    """

    nodes: Annotated[tuple[tuple[Place, ...], ...], Field(min_length=1), AfterValidator(same_space)]
    """Positions of the nodes, two or three coordinates each."""
    springs: Annotated[tuple[tuple[Number, Number], ...], Field(min_length=1), AfterValidator(no_twins)]
    """Pairs of nodes, counted from 0, that springs or rods join."""
    mass: Masses
    """Mass of every node, or one for each."""
    bodies: dict[str, Annotated[tuple[Number, ...], Field(min_length=1)]] = {}  # noqa: RUF012
    """By name: the numbers of the nodes of a body."""
    origin: tuple[Place, ...] = ()
    """Where the origin of the nodes' coordinates is put; empty: at 0."""
    velocity: tuple[Speed, ...] = ()
    """Velocity of all nodes; empty: at rest."""
    spin: tuple[Rate, ...] = ()
    """Angular velocity about the centre of mass: three numbers, in the plane one; empty: none."""

    def make(self, context: StateContext) -> State:
        values = quantities(self, context.units)
        x = np.array(values["nodes"], float)
        self._refuse_misfits(*x.shape)
        edges = node_numbers("springs", self.springs)
        rest = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        if (short := np.flatnonzero(rest == 0.0)).size:
            i, j = self.springs[short[0]]
            raise UserError(
                f"springs.{short[0]}: nodes {i} and {j} are at one place, and a spring has a length"
            )
        moved = x + np.array(values["origin"] or np.zeros(x.shape[1]), float)
        v = np.tile(np.array(values["velocity"] or np.zeros(x.shape[1]), float), (len(x), 1))
        m = np.broadcast_to(np.array(values["mass"], float), len(x)).copy()
        if values["spin"]:
            v += _spin_velocity(x - m @ x / m.sum(), np.array(values["spin"], float))
        bodies = tuple(Body(name, sorted(nodes)) for name, nodes in self.bodies.items())
        return linked_state(moved, v, m, edges, rest, bodies)

    def _refuse_misfits(self, n: int, d: int) -> None:
        """Raises `UserError` for lists of another length, and for missing nodes."""
        for key in ("origin", "velocity"):
            if len(getattr(self, key)) not in (0, d):
                raise UserError(f"{key}: {len(getattr(self, key))} numbers for {d} axes")
        if len(self.spin) not in (0, 2 * d - 3):
            raise UserError(f"spin: needs {2 * d - 3} in {d} axes, got {len(self.spin)}; correct it")
        if isinstance(self.mass, tuple) and len(self.mass) != n:
            raise UserError(f"mass: {len(self.mass)} numbers for {n} nodes")
        named = {f"springs.{k}": pair for k, pair in enumerate(self.springs)}
        for key, nodes in (named | {f"bodies.{name}": nodes for name, nodes in self.bodies.items()}).items():
            if max(nodes) >= n:
                raise UserError(f"{key}: no node {max(nodes)}; there are {n}, counted from 0")
            if len(set(nodes)) < len(nodes):
                raise UserError(f"{key}: names a node twice")


class Chain(Record):
    """A chain of equal `links`, springs or rods, from its first node on; initially at rest.

    `length` of the whole chain; `direction`: two or three numbers, of any size; `mass` of every node. It is
    straight, or in the plane each link is turned from the direction by its own of `angles`, anticlockwise.
    The bodies are `first` and `last`.
    """

    links: Annotated[int, Field(ge=1)]
    """Number of links, springs or rods."""
    length: Annotated[float | str, Quantity("m", "positive")]
    """Length of the whole chain."""
    direction: Annotated[tuple[float, ...], Field(min_length=2, max_length=3)]
    """Direction of the chain, two or three numbers of any size."""
    mass: Mass
    """Mass of every node."""
    origin: tuple[Place, ...] = ()
    """Position of the first node; empty: at 0."""
    angles: tuple[Angle, ...] = ()
    """Angle of each link from the direction, anticlockwise, in the plane; empty: straight."""

    def make(self, context: StateContext) -> State:
        values, along = quantities(self, context.units), np.array(self.direction)
        if not (size := np.linalg.norm(along)) > 0.0:
            raise UserError("direction: needs a length above zero, got zeros; give another one")
        if len(self.origin) not in (0, len(along)):
            raise UserError(f"origin: needs {len(along)} numbers, as direction has, got {len(self.origin)}")
        if self.angles and (len(self.angles), len(along)) != (self.links, 2):
            wrong = f"{len(self.angles)} in {len(along)} axes"
            raise UserError(f"angles: needs one for each of {self.links} links in a plane, got {wrong}")
        place = np.arange(self.links + 1) / self.links * values["length"]
        x = place[:, None] * along / size
        if self.angles:
            x = _turn_links(along / size * values["length"] / self.links, np.array(values["angles"], float))
        edges = node_numbers("links", np.stack([np.arange(self.links), np.arange(1, self.links + 1)], axis=1))
        rest = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        x = x + np.array(values["origin"] or np.zeros(len(along)), float)
        bodies = (Body("first", [0]), Body("last", [self.links]))
        return linked_state(x, 0.0 * x, np.full(len(x), values["mass"]), edges, rest, bodies)


def linked_state(
    x: np.ndarray, v: np.ndarray, m: np.ndarray, edges: np.ndarray, length: np.ndarray, bodies: tuple
) -> State:
    """The state of nodes whose `edges` have these lengths."""
    return State(
        fields={"x": x, "v": v, "m": m},
        units={"x": "m", "v": "m s^-1", "m": "kg"},
        motions=(Motion("x", "v", "m"),),
        bodies=bodies,
        tuples={"edges": edges},
        data={"edges": {"rest": length, "length": length}},
        labels={"x": "position", "v": "velocity", "m": "mass"},
        shown=("edges",),
    )


def _turn_links(link: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """The nodes (n + 1, 2) of a chain in the plane, whose links are turned by these angles (n,)."""
    c, s = np.cos(angles), np.sin(angles)
    links = np.stack([c * link[0] - s * link[1], s * link[0] + c * link[1]], axis=1)
    return np.concatenate([np.zeros((1, 2)), np.cumsum(links, axis=0)])


def _spin_velocity(r: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """spin x r, in space or in the plane."""
    if r.shape[1] == 3:
        return np.cross(spin, r)
    return spin[0] * np.stack([-r[:, 1], r[:, 0]], axis=1)


NETWORKS = {"network": Network, "chain": Chain}
