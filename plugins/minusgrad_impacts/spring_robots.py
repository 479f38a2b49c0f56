"""Robots of masses and springs, some of which are muscles, for programs with impacts.

x, v (n, d)          positions [m], at rest
springs (K, 3)       rows (spring, mass, mass), with rest [m], swing [1] and, where the robot has it,
                     stiffness [N/m] of each
edges (K, 2)         the same without the first column, as pictures draw them
members (n, 2)       rows (0, mass), with the fraction [1] of each mass in the whole

A spring with a swing is a muscle: an activation from -1 to 1 changes its length at rest by so much of it.

Decisions 0143.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Body,
    ByForm,
    Record,
    State,
    StateContext,
    UserError,
    at_key,
    node_numbers,
    one_or_each,
    quantities,
)

from .listed_rows import FILE_OR_ROWS, Length, ListedRows, Number, Place, Stiffness

Swing = Annotated[float, Field(ge=0.0, lt=1.0)]
Bodies = dict[str, Annotated[tuple[int, ...], Field(min_length=1)]]


class Spring(Record):
    """A spring between two nodes."""

    nodes: tuple[Number, Number]
    """Numbers of the two nodes."""
    length: Length | None = None
    """Length at rest (default: the distance of the nodes)."""
    stiffness: Stiffness | None = None
    """Stiffness (default: that of the robot)."""
    swing: Swing | None = None
    """Largest change of the length at rest, relative to it (default: that of the robot)."""


Springs = tuple[Annotated[tuple[Number, Number] | Spring, ByForm(one_or_each, ("each", "one"))], ...]


class SpringRobot(Record):
    """Equal masses at given nodes, and springs between pairs of them; those with a swing are muscles.

    In files: `nodes` has the columns x, y and in space z, `springs` the columns a, b (numbers of nodes,
    counted from 0) and, if wanted, length, stiffness and swing, in the run's units.
    """

    nodes: Annotated[tuple[tuple[Place, ...], ...] | str, FILE_OR_ROWS]
    """Places of the masses, two or three coordinates each; or a CSV file beside the scene."""
    springs: Annotated[Springs | str, FILE_OR_ROWS]
    """Pairs of nodes, or tables with `nodes`, `length`, `stiffness`, `swing`; or a CSV file."""
    stiffness: Stiffness | None = None
    """Stiffness of springs that give none (default: as the energy says)."""
    swing: Swing = 0.0
    """Largest relative change of length of springs that give none; 0: those are no muscles."""
    bodies: Bodies = {}  # noqa: RUF012
    """By name: the numbers of the masses of a body."""

    def make(self, context: StateContext) -> State:
        if isinstance(self.nodes, str):
            x = self._read_nodes(self.nodes, context)
            given = quantities(self.model_copy(update={"nodes": ()}), context.units)
        else:
            given = quantities(self, context.units)
            x = np.array(self._of_one_space(given["nodes"]), float)
        springs = self._spring_rows(given["springs"], context)
        edges = springs.numbers_of("node", ("a", "b"), len(x))
        _refuse_twins(x, springs, edges)
        distance = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
        own = [row.get("length") for row in springs.rows]
        rest = np.array([d if one is None else one for d, one in zip(distance, own, strict=True)])
        swing = springs.values_of("swing", self.swing)
        assert swing is not None
        stiffness = springs.values_of("stiffness", given["stiffness"])
        return robot_state(x, edges, rest, swing, stiffness, self.bodies)

    def _read_nodes(self, file: str, context: StateContext) -> np.ndarray:
        """The places in a CSV file."""
        listed = ListedRows.of_file("nodes", file, context, ("x", "y"), ("z",))
        _refuse_one_place(x := np.array([[*row.values()] for row in listed.rows]), listed)
        return x

    def _of_one_space(self, nodes: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
        """The places as written. Raises `UserError` for those of different lengths, and for two at one."""
        if not nodes:
            with at_key("nodes"):
                raise UserError("needs at least one node, got none; give their places")
        for k, node in enumerate(nodes):
            if len(node) not in (2, 3) or len(node) != len(nodes[0]):
                with at_key("nodes", k):
                    raise UserError(f"has {len(node)} numbers; give 2 for each, or 3 for each")
        _refuse_one_place(np.array(nodes, float), ListedRows("nodes", [{} for _ in nodes]))
        return nodes

    def _spring_rows(self, given: Any, context: StateContext) -> ListedRows:
        if isinstance(given, str):
            own, above = ("length", "stiffness", "swing"), ("length", "stiffness")
            listed = ListedRows.of_file("springs", given, context, ("a", "b"), own, above)
            for k, row in enumerate(listed.rows):
                with listed.at_row(k):
                    if not 0.0 <= (swing := row.get("swing", 0.0)) < 1.0:
                        raise UserError(f"column 'swing': needs a number from 0 to below 1, got {swing:g}")
            return listed
        rows = [dict(one) if isinstance(one, Mapping) else {"nodes": one} for one in given]
        return ListedRows("springs", [dict(zip("ab", row["nodes"], strict=True)) | row for row in rows])


def _refuse_one_place(x: np.ndarray, nodes: ListedRows) -> None:
    """Raises `UserError` for a node at the place of another one."""
    seen: dict[tuple[float, ...], int] = {}
    for k, place in enumerate(map(tuple, x.tolist())):
        if (first := seen.setdefault(place, k)) != k:
            with nodes.at_row(k):
                raise UserError(f"is node {first} again, at {list(place)}; leave one of them out")


def _refuse_twins(x: np.ndarray, springs: ListedRows, edges: np.ndarray) -> None:
    """Raises `UserError` for a spring between two nodes that another one joins."""
    seen: dict[frozenset[int], int] = {}
    for k, (a, b) in enumerate(edges.tolist()):
        if (first := seen.setdefault(frozenset((a, b)), k)) != k:
            with springs.at_row(k):
                raise UserError(f"joins nodes {a} and {b}, as spring {first} does; leave one of them out")


def robot_state(
    x: np.ndarray,
    edges: np.ndarray,
    rest: np.ndarray,
    swing: np.ndarray,
    stiffness: np.ndarray | None,
    bodies: Mapping[str, Sequence[int]],
) -> State:
    """The state of a robot of masses at x (n, d) and springs, `edges` (K, 2), at rest.

    rest, swing, stiffness: of each spring, the last None where the energy says it. Raises `UserError` for a
    robot without muscles, and for bodies of masses that there are not.
    """
    n = len(x)
    if not (swing > 0.0).any():
        raise UserError(
            f"a robot needs muscles, got none among its springs ({len(edges)}); give `swing` to those that a"
            " controller moves"
        )
    for name, nodes in bodies.items():
        if strange := [k for k in nodes if not 0 <= k < n]:
            with at_key("bodies", name):
                raise UserError(f"no mass {strange[0]}; there are {n}, counted from 0")
    edges = node_numbers("springs", edges)
    given = {} if stiffness is None else {"stiffness": stiffness}
    return State(
        fields={"x": x, "v": np.zeros_like(x)},
        units={"x": "m", "v": "m s^-1"},
        bodies=tuple(Body(name, sorted(nodes)) for name, nodes in bodies.items()),
        tuples={
            "springs": np.column_stack([np.arange(len(edges)), edges]),
            "edges": edges,
            "members": np.column_stack([np.zeros(n, int), np.arange(n)]),
        },
        data={
            "springs": {"rest": rest, "swing": swing, **given},
            "members": {"fraction": np.full(n, 1.0 / n)},
        },
        labels={"x": "position", "v": "velocity"},
        shown=("edges",),
    )


SPRING_ROBOTS = {"spring_robot": SpringRobot}
