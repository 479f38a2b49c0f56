"""Local maps: sums over elements that write a field, which energies then read.

    y_p = sum over the elements e that reach p of f(node fields at e's nodes, data of e, parameters, t)
    U   = sum over p of u(y_p, ...)

over "nodes"    each node adds to itself
over "pairs"    every node adds to every other: f(receiver, giver), in this order
over tuples     each tuple adds to its first node; the output is over the set of that node
over "directed_pairs" or "directed_triples"     each element adds to its directed pair
over "cells"    each cell of a grid adds to itself, from its neighbours at constant offsets
with a `Cell`   each element adds to the cells of a grid within its window
with `At`       each element sums over the cells of its window, and reads fields there

Examples: the dose of a moving spot, particles on a grid, the electron density around atoms. A sum inside a
function becomes a map and an energy of its output. The derivative of U with respect to the arguments of f is
the gradient of the local energy lambda_p f with lambda = dU/dy.

Decisions 0152, 0293, 0294.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np

from ..elements.element_kind import Over
from ..elements.periodic.tuple_images import CHAIN, Follow
from ..errors import EnergyError
from ..scene.units import parse_unit
from ..symbolic.plain_python import Lookup, evaluator
from ..symbolic.sources.snapshots import snapshot
from .declaration import (
    MAP_KEYS,
    check_declaration,
    declared_edges,
    identifier,
    refuse_bare_decorator,
    refuse_block_keys,
)
from .local_energy import LocalEnergy, image_parents
from .roles import Linear, Node, Parameter, Role, Shape, Table
from .written.plain_function import plain_function

OUTSIDE = ("cut", "refuse")
"""Treatments of windows that leave the grid: they are cut off, or the run ends with an error."""


@dataclass(frozen=True)
class Cell(Role):
    """Role of a map's argument that is a cell of a grid: `at[0]` is its row, `at[1]` its column.

        at=Cell(window=reached, spacing="pixel")

    `window(...)` takes some of the map's arguments, by their names, and returns the lowest and the highest
    cell that the element reaches, one number for each axis: `return [low, low], [high, high]`; they are
    rounded outward. Values of f outside are cut off, or
    refused (`outside` of `bind`). Each element adds to the cells of its window; or reads
    fields there (`At`), and sums over them. What lies beyond the rim of the grid, `edges` of the map say;
    `at` goes on counting there. `spacing`: the parameter that receives the grid's spacing [m].

    Without a window, and `over` "cells", it is the cell that is the element:

        here=Cell()
    """

    window: Callable | None = None
    spacing: str = ""


@dataclass(frozen=True)
class At(Node):
    """Role of an argument that is a field over the cells of a grid, read at the cell `at` of a window.

        q=At("m/s", ("d",)), at=Cell(window=reached)

    The map then sums f over the cells of each element's window: interpolation from a grid to particles, or
    from a grid to places between its cells. unit, shape, scale, bounds and reason are those of `Node`.
    """

    in_window: ClassVar[bool] = True


@dataclass(frozen=True)
class Output:
    """An output field of a map: its unit, and the shape of one value.

        gives={"dv": Output("m/s", ("d",)), "dx": Output("m", ("d",))}

    unit: an SI unit. shape: () for a number; ("d",) for a vector, where "d" is the dimension of the scene's
    space; ("d", "d"), (3, 2), ... for a matrix. places: its values are positions, as those of the field "x":
    in a periodic box they have images, and cutoffs measure between them. Until the map has run they are NaN,
    and energies that need lists or images of them are refused.
    """

    unit: str = "1"
    shape: Shape = ()
    places: bool = False


@dataclass(frozen=True, repr=False)
class LocalMap(LocalEnergy):
    """A named local map; made by `local_map`. `outputs`: its results, by the declared names of fields."""

    outputs: Mapping[str, Output] = field(hash=False, default_factory=dict)

    def frozen(self) -> Self:
        """The same with snapshots of its function and of its window."""
        roles = {
            name: replace(role, window=snapshot(role.window))
            if isinstance(role, Cell) and role.window
            else role
            for name, role in self.roles.items()
        }
        return replace(super().frozen(), roles=roles)

    @property
    def gives(self) -> str:
        """The declared names of the outputs, in order."""
        return ", ".join(self.outputs)

    @property
    def several(self) -> bool:
        """True if the function returns more than one number."""
        return len(self.outputs) > 1 or any(output.shape for output in self.outputs.values())

    @property
    def cell(self) -> str | None:
        """The argument that is the cell of a window, if elements have windows."""
        return next((a for a, role in self.of_role(Cell).items() if role.window), None)

    @property
    def from_cells(self) -> bool:
        """True if elements read the cells of their windows, and give to nodes; else they add to them."""
        return bool(self.of_role(At))

    @property
    def window(self) -> FunctionType | None:
        """The function that returns the cells that an element reaches."""
        return self.roles[self.cell].window if self.cell else None  # type: ignore[attr-defined]

    @property
    def spacing(self) -> str:
        """The argument that is the grid's spacing; empty if there is none."""
        return next((role.spacing for role in self.of_role(Cell).values() if role.spacing), "")

    @property
    def spacings(self) -> tuple[str, ...]:
        """The arguments that are the spacing of the grid, which no scene sets."""
        return *super().spacings, *([self.spacing] if self.spacing else [])

    def reach(self) -> Callable[[Mapping[str, Any]], list[range]]:
        """The cells that an element reaches along each axis, in plain Python, from its values by name."""
        assert self.window is not None
        corners, tables = evaluator(self.window, several=True), self.of_role(Table)

        def ranges(values: Mapping[str, Any]) -> list[range]:
            around = {a: self.received(a, values) for a in self.of_role(Node) if a in values}
            low, high = corners({**values, **around, **{a: Lookup(values[a]) for a in tables}})
            return [range(floor(a), ceil(b) + 1) for a, b in zip(low, high, strict=True)]

        return ranges


def numbers_of(returned: Any) -> np.ndarray:
    """All numbers that a map's function returned in plain Python, (n,), in the order of its outputs."""
    parts = returned if isinstance(returned, tuple) else (returned,)
    return np.concatenate([np.asarray(part, float).reshape(-1) for part in parts])


def local_map(
    name: str,
    *,
    gives: str | Mapping[str, Output],
    over: Over = "",
    unit: str = "1",
    shape: Shape = (),
    edges: str | Sequence[str] = "",
    images: Follow = CHAIN,
    **roles: Role | Linear,
) -> Callable[[Callable], LocalMap]:
    """Make a function of one element a map to the field `gives` [`unit`].

        @local_map("density", gives="rho", over="pairs", x=Node("m", ("d",)), reach=Parameter("m"))
        def density(x, reach):
            r = x[0] - x[1]
            return ti.exp(-r.dot(r) / (reach * reach))

    shape: of one value that the function returns: () a number, ("d",) a vector, ("d", "d") a matrix. Of
    several fields, `gives` has an `Output` by the name of each, and the function returns a tuple of their
    values in that order:

        @local_map("impact", over="pairs", gives={"dv": Output("m/s", ("d",)), "hits": Output()}, ...)

    Between two sets of nodes, a layer of a network is a map to the first of them, here over all combinations:

        @local_map("weigh", gives="z", over=("hidden", "input"), s=Node(of="input"), w=Parameter())
        def weigh(s, w):
            return w * s[1]

    Over "cells", `q[i, j]` is the value at the cell that lies i, j cells away; `edges` and `images` as in
    `local_energy`.

        @local_map("smooth", gives="mean", over="cells", edges="periodic", q=Node())
        def smooth(q):
            return 0.25 * (q[1, 0] + q[-1, 0] + q[0, 1] + q[0, -1])

    With a window (`Cell`) `edges` say what an element reaches beyond the rim of the grid: no cell ("zero",
    the default unless over "cells"), the cell at the rim ("clamped"), or that at the other rim ("periodic").

    Raises `EnergyError` if the roles do not match the function's arguments or the window's, and for outputs
    that are no such fields.
    """
    refuse_bare_decorator("local_map", name)

    def declare(function: Callable) -> LocalMap:
        outputs = _declared_outputs(f"map '{name}'", gives, Output(unit, shape))
        windowed = any(isinstance(role, Cell) and role.window for role in roles.values())
        known_edges = declared_edges(f"map '{name}'", over, edges, windowed)
        plain = {argument: _with_plain_window(name, role) for argument, role in roles.items()}
        own, follow = (
            check_declaration(name, function, over, plain, "map"),
            image_parents(f"map '{name}'", over, images),
        )
        made = LocalMap(*own, outputs=outputs, edges=known_edges, images=follow)
        refuse_block_keys(f"map '{name}'", made.roles, MAP_KEYS)
        _check_cells(made)
        return made

    return declare


def _with_plain_window(name: str, role: Any) -> Any:
    """The role with its window as a plain function."""
    if not isinstance(role, Cell) or not callable(role.window):
        return role
    return replace(role, window=plain_function(role.window, f"map '{name}': its window"))


def _declared_outputs(what: str, gives: Any, one: Output) -> dict[str, Output]:
    """The declared outputs; `one`: that of a map to one field."""
    several = isinstance(gives, Mapping)
    found: dict[str, Any] = dict(gives) if several else {gives: one}
    if several and one != Output():
        raise EnergyError(f"{what}: has `unit` or `shape` beside outputs; give them to each `Output`")
    if not found:
        raise EnergyError(f"{what}: gives no field; name at least one")
    for name, output in found.items():
        identifier(name, "a field")
        if not isinstance(output, Output):
            raise EnergyError(
                f"{what}: '{name}' needs an Output, got a {type(output).__name__}; write"
                ' Output("m/s", ("d",))'
            )
        parse_unit(output.unit)
        _check_shape(f"{what}: '{name}'", output.shape)
        if output.places and (output.shape != ("d",) or parse_unit(output.unit) != parse_unit("m")):
            raise EnergyError(
                f"{what}: '{name}' gives places, which need the unit m and the shape (\"d\",), got"
                f" '{output.unit}' and {output.shape!r}; correct them"
            )
    return found


def _check_shape(what: str, shape: Any) -> None:
    fits = isinstance(shape, tuple) and len(shape) <= 2
    if not fits or not all(n in ("d", "k") or (type(n) is int and n > 0) for n in shape):
        raise EnergyError(
            f'{what} needs the shape () of a number, ("d",) of a vector or ("d", "d") of a matrix, got'
            f" {shape!r}; correct it"
        )


def _check_cells(made: LocalMap) -> None:
    """Refuse Cells and Ats that do not fit the elements, or each other."""
    what, kind, fields = f"map '{made.name}'", made.element_kind, list(made.of_role(At))
    windows = [a for a, role in made.of_role(Cell).items() if role.window]
    own = [a for a in made.of_role(Cell) if a not in windows]
    if own and not kind.cells:
        raise EnergyError(
            f"{what}: {own[0]} has no window; give it a function that returns the cells reached"
        )
    for cells in (windows, own):
        if len(cells) > 1:
            raise EnergyError(f"{what}: has the Cells {', '.join(cells)}; use one")
    if fields and not windows:
        raise EnergyError(f"{what}: {fields[0]} is read in a window, got none; add at=Cell(window=...)")
    if made.spacing and not isinstance(made.roles.get(made.spacing), Parameter):
        raise EnergyError(f"{what}: its spacing must be a Parameter, got '{made.spacing}'; give it that role")
    if not windows:
        return
    if kind.unordered or (kind.cells and not fields):
        raise EnergyError(f"{what}: {made.over} cannot add to cells; sum over nodes or tuples")
    if fields and kind.several:
        raise EnergyError(f"{what}: {fields[0]} is read in windows, got several sets of nodes; use one set")
    assert made.window is not None
    taken = inspect.signature(made.window).parameters
    if strange := [a for a in taken if a not in made.roles or a in (*windows, *fields)]:
        raise EnergyError(
            f"{what}: its window must take arguments of the map, got {', '.join(strange)}; rename them"
        )
