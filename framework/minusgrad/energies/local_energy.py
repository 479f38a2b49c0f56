"""Local energies: one scalar function of one element, and the roles of its arguments.

    U = sum over elements e of  u(node fields at e's nodes, data of e, parameters, t)

An element is a single node, an unordered pair of nodes, or a tuple of nodes from a list (`elements`).
The function is ordinary Taichi; the decorator gives each argument, by name, its role, its unit and the
size of a physically meaningful change.

A continuum is written in two levels: `Linear` makes F = sum_a x_a (x) w_a of an element's nodes, and the
function is a density of F alone.

    @local_energy("neo_hookean", over="tuples", x=Node("m", ("d",)), gradients=Datum("m^-1", ("k", "d")),
                  F=Linear("x", "gradients"), volume=Datum("m^3"), mu=Parameter("Pa"), lam=Parameter("Pa"))
    def neo_hookean(F, volume, mu, lam): ...
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from ..elements.element_kind import ElementKind, Over, kind_of
from ..errors import EnergyError, unknown
from ..scene.units import parse_unit
from ..symbolic.neighbours import Neighbours, Offset
from ..symbolic.plain_python import Lookup, evaluator
from .cutoff import Cutoff

BLOCK_KEYS = ("kind", "name", "tuples", "body", "fields", "gives", "grid", "sizes")
"""Keys that blocks of a scene have themselves, so that no parameter or datum may have such a name."""
PAIR_KEYS = ("cutoff", "switch", "skin", "images", "exclude", "scale")
"""The same of blocks of energies over pairs."""
CELL_KEYS, MAP_KEYS = ("edges",), ("repeat", "begin", "outside", "adds", "copies")
"""The same of blocks of energies over cells, and of maps."""
Shape = tuple[int | str, ...]
"""The shape of one value: () a scalar, ("d",) a vector in the space of the scene, (3, 3), ...; "k" stands for
the nodes of a tuple."""
INSIDE = "_inside"
"""The datum that tells of each neighbour of a cell whether it lies in the grid: 1, else 0."""
IMAGES, IMAGE_BOX = "_images", "_box"
"""The periodic images of an element's nodes, and the box that they are displaced by."""
WINDOW = "cells of windows"
"""The set that fields read in windows are over; no name, so that no declared set is called like this."""
EDGES = ("clamped", "zero", "periodic")
"""What lies beyond an edge of a grid: the value of the cell at the edge, 0, or the grid once more."""
SYMMETRIES = ("translation", "rotation", "permutation")
"""Symmetries that an energy may be declared to have."""


@dataclass(frozen=True)
class Role:
    """The role of an argument of a local energy: unit, shape of one value, size of a physical change."""

    unit: str = "1"
    shape: Shape = ()
    scale: float = 1.0

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Random values of this role, of a physical size; `shape`: of one value, or of an array of values.

        All random states are made of these draws; only tests of independent references make their own.
        """
        return rng.uniform(0.5, 1.5, size=shape) * self.scale


@dataclass(frozen=True)
class Bounded(Role):
    """Values within `bounds`, inclusive unless `open`; `reason` ends the message of a violation."""

    bounds: tuple[float, float] = (-math.inf, math.inf)
    open: bool = False
    reason: str = ""

    def admits(self, values: np.ndarray) -> bool:
        """True if all values are finite and within the bounds."""
        return bool((self._inside(values) & np.isfinite(values)).all())

    def limits(self) -> str:
        """The bounds in words, with the reason."""
        low, high = self.bounds
        text = f"({low:g}, {high:g})" if self.open else f"[{low:g}, {high:g}]"
        return f"within {text}{self.reason and f'; {self.reason}'}"

    def _inside(self, values: np.ndarray) -> np.ndarray:
        low, high = self.bounds
        return (low < values) & (values < high) if self.open else (low <= values) & (values <= high)


@dataclass(frozen=True)
class Node(Bounded):
    """Role of an argument that is a field over nodes: `x[0]`, `x[1]`, ... are the element's nodes.

        x=Node("m", ("d",))                  positions; "d" is the dimension of the scene's space
        T=Node("K", bounds=(0.0, inf))       one number for each node
        s=Node(of="input")                   a field over the nodes of one of several sets

    unit: an SI unit. shape: that of one value, () for a number. scale: the size of a physically meaningful
    change, in `unit`; checks draw values of this size. bounds: the values that the function is defined for,
    inclusive unless `open`; minimisers stay within them. reason: why, for the message. of: where elements
    are over several sets of nodes, the one that the field is over; it may be read at the slots of its set
    alone. Over "nodes" there is `x[0]` alone. U has a gradient with respect to it.
    """

    of: str = ""
    in_window: ClassVar[bool] = False
    """True if the field is over the cells of windows; elements have no slot for it."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Normal deviates of the role's scale, mirrored into its bounds; uniform between two bounds.

        Square matrices without a unit are near the identity, as deformation gradients are.
        """
        drawn = rng.normal(size=shape) * self.scale
        if self.unit == "1" and len(self.shape) == 2 and self.shape[0] == self.shape[1]:
            drawn = np.eye(shape[-1]) + 0.2 * drawn
        low, high = self.bounds
        if math.isfinite(low) and math.isfinite(high):
            return rng.uniform(low, high, size=shape)
        if math.isfinite(low):
            return low + np.abs(drawn - low)
        return high - np.abs(high - drawn) if math.isfinite(high) else drawn


@dataclass(frozen=True)
class Datum(Role):
    """Role of an argument with one value for each element, such as a spring's length at rest.

        rest=Datum("m")

    unit, shape and scale are those of `Node`. differentiable: U has a gradient with respect to it. integer:
    the values are whole numbers, such as a charge number.
    """

    differentiable: bool = False
    integer: bool = False

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """0, 1 or 2 where it holds integers; else values near the scale."""
        return rng.integers(0, 3, size=shape) if self.integer else super().draw(rng, shape)


@dataclass(frozen=True)
class Parameter(Bounded):
    """Role of an argument that a scene sets: one value for all elements, or one for each body or element.

        G=Parameter("m^3 kg^-1 s^-2", default="6.67430e-11 m^3 kg^-1 s^-2")

    unit, shape, scale, bounds, open and reason are those of `Node`. default: a number in `unit`, or a
    quantity as text; without a default every scene must set it. U has a gradient with respect to it.
    """

    default: float | str | None = None

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Values near the default (near the scale, if there is none or it is zero), within the bounds."""
        base = self.default if isinstance(self.default, (int, float)) and self.default else self.scale
        drawn = np.clip(base * rng.uniform(0.5, 1.5, size=shape), *self.bounds)
        return drawn if self.admits(drawn) else np.broadcast_to(base, shape).astype(float)


@dataclass(frozen=True)
class TimeStep(Parameter):
    """Role of an argument that is the step dt of a program, for maps that carry a state over one step.

        dt=TimeStep()

    The stepper `evolution` sets it (`steppers.programs`); scenes do not. The unit is the run's unit of time.
    It is NaN until a stepper has set it.
    """

    unit: str = "s"


@dataclass(frozen=True)
class Spacing(Parameter):
    """Role of an argument that is the side of a cell, for functions over the cells of a grid.

        h=Spacing()

    The grid of the term has it; scenes do not set it. The unit is the run's unit of length.
    """

    unit: str = "m"


@dataclass(frozen=True)
class Time(Role):
    """Role of an argument that is the time t of the step, for energies that depend on it explicitly.

    The unit is the run's unit of time. A run reports the work dU/dt that such an energy does.
    """

    unit: str = "s"


@dataclass(frozen=True)
class Box(Role):
    """Role of an argument that is the periodic box: `box[a, b]` is component b of its edge vector a.

        box=Box()

    The field "box" of the run holds it, shape (1, d, d). U has a gradient with respect to it, at fixed
    positions.
    """

    unit: str = "m"
    shape: Shape = ("d", "d")

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """A box that is nearly a cube of the role's scale."""
        return self.scale * (np.eye(shape[-1]) + 0.1 * rng.uniform(-1.0, 1.0, size=shape))


@dataclass(frozen=True)
class Image(Role):
    """Role of the periodic images of the nodes of a listed pair: whole numbers by slot, `x + image . box`.

    Lists of neighbours have it, no function of a user.
    """

    shape: Shape = ("d",)


@dataclass(frozen=True)
class Table(Role):
    """Role of an argument that is an array of constants, looked up as `table[k, l]`; zero outside its shape.

        stencil=Table(axes=2)

    axes: the number of indices, which are whole numbers. The function may read `table.shape`; interpolation
    between the entries is up to it. The state provides the array under the argument's name.
    """

    axes: int = 1

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
        """A table of 7 by 9 by ... numbers near the scale; `shape` is not used."""
        return rng.uniform(0.5, 1.5, size=range(7, 7 + 2 * self.axes, 2)) * self.scale


@dataclass(frozen=True)
class Linear:
    """Argument that is computed from others: F = sum_a x_a (x) w_a over an element's nodes a.

        F=Linear("x", "gradients")           the deformation gradient of a simplex

    field: the name of the node field x. weights: the name of the datum w, shape (k, ...) for k nodes. The
    weights of an element sum to zero, so that F is invariant under translation: with w_a the
    gradients of shape functions F is the deformation gradient. F has the shape of x_a followed by that of
    w_a. Field and weights have roles of their own beside it, and need not be arguments of the function.
    """

    field: str
    weights: str


@dataclass(frozen=True)
class LocalEnergy:
    """A named local energy; made by `local_energy`.

    `over`: "nodes", "pairs", "tuples" of any one length, the number of nodes of a tuple, the names of the
    sets that they are of, or "cells". `arguments` are the function's, in its order; `linear` are those
    computed from others. `symmetries`: those that it is declared to have. Over cells: `edges`, one of EDGES
    for all axes or for each; `offsets` of the neighbours that the function reads, the cell itself first,
    known once it is bound to a grid. Once it is bound to fields with a box or within a cutoff: `positions`,
    the arguments that are positions of nodes, and the `cutoff`; `factor`: of scaled pairs.
    """

    name: str
    function: FunctionType
    over: Over
    roles: Mapping[str, Role] = field(hash=False)
    linear: Mapping[str, Linear] = field(hash=False, default_factory=dict)
    symmetries: tuple[str, ...] = field(default=(), kw_only=True)
    edges: str | tuple[str, ...] = field(default="", kw_only=True)
    offsets: tuple[Offset, ...] = field(default=(), kw_only=True)
    positions: tuple[str, ...] = field(default=(), kw_only=True)
    cutoff: Cutoff | None = field(default=None, kw_only=True)
    factor: float = field(default=1.0, kw_only=True)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the function, in its order."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def element_kind(self) -> ElementKind:
        """The kind of elements that `over` declares."""
        return kind_of(self.over)

    @property
    def listed(self) -> bool:
        """True if the elements come from a list of tuples."""
        return self.element_kind.listed

    def set_of(self, argument: str) -> str:
        """The name of the set of nodes that a field is over; '' where the only set has no name."""
        role = self.roles[argument]
        if _in_window(role):
            return WINDOW
        return getattr(role, "of", "") or self.element_kind.names[0]

    def slots(self, argument: str, arity: int) -> Sequence[int]:
        """The slots of an element of so many nodes at which a node field may be read."""
        if _in_window(self.roles[argument]):
            return ()
        return self.element_kind.slots(self.set_of(argument), arity)

    @property
    def shaping(self) -> list[Linear]:
        """Linear arguments that are the unit matrix at rest: of vectors, by vectors; one per weights."""
        square = [m for m in self.linear.values() if self._square(m)]
        return list({m.weights: m for m in reversed(square)}.values())

    def _square(self, made: Linear) -> bool:
        of_field, of_weights = self.roles[made.field].shape, self.roles[made.weights].shape
        return len(of_field) == 1 and of_weights[1:] == of_field

    @property
    def claim(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    def of_role(self, role: type[Role]) -> dict[str, Any]:
        """The arguments of one role, in the function's order."""
        return {name: r for name, r in self.roles.items() if isinstance(r, role)}

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments that have a gradient, in the function's order."""
        varying = (Node, Parameter, Time, Box)
        return tuple(n for n, r in self.roles.items() if isinstance(r, varying) or _differentiable(r))

    @property
    def spacings(self) -> tuple[str, ...]:
        """The arguments that are the spacing of the grid, which no scene sets."""
        return tuple(self.of_role(Spacing))

    @property
    def several(self) -> bool:
        """True if the function returns more than one number, as that of a map may."""
        return False

    def evaluator(self) -> Callable[[Mapping[str, Any]], Any]:
        """The energy of one element in plain Python, from the values of its roles by name.

        Of a map what its function returns: a number, an array, or a tuple of these.
        """
        of_arguments, tables = evaluator(self.function, self.several), self.of_role(Table)
        nodal = self.of_role(Node)

        def energy(values: Mapping[str, Any]) -> Any:
            made = {a: _sum_of_products(values[m.field], values[m.weights]) for a, m in self.linear.items()}
            made |= {a: self.received(a, values) for a in nodal}
            found = of_arguments({**values, **made, **{a: Lookup(values[a]) for a in tables}})
            if self.cutoff is None:
                return found if self.factor == 1.0 else self.factor * found
            centre, *others = made[self.positions[0]]
            return self.cutoff.of_numbers(found, [float((x - centre) @ (x - centre)) for x in others])

        return energy

    def around(self, name: str, rows: Sequence[Any], or_zero: Callable[[int, Any], Any]) -> Any:
        """A node field as the function receives it: its values by slot, or over cells by offset.

        or_zero(slot, value): the value at a neighbour that may lie beyond an edge where it is 0.
        """
        if not self.offsets:
            return rows
        slots = {offset: slot for slot, offset in enumerate(self.offsets)}

        def at(offset: Offset) -> Any:
            slot = slots[offset]
            return or_zero(slot, rows[slot]) if slot and INSIDE in self.roles else rows[slot]

        return Neighbours(name, len(self.offsets[0]), at)

    def received(self, name: str, values: Mapping[str, Any]) -> Any:
        """The same of numbers by argument."""
        if _in_window(self.roles[name]):
            return values[name]
        if IMAGES in values and name in self.positions:
            return [
                x + image @ values[IMAGE_BOX] for x, image in zip(values[name], values[IMAGES], strict=True)
            ]
        inside = values.get(INSIDE, ())
        return self.around(name, values[name], lambda s, v: v if inside[s] > 0.5 else 0.0 * v)

    def sample(self, rng: np.random.Generator, d: int = 3) -> dict[str, Any]:
        """Node fields, data, parameters of one element at a random, unsymmetric state of the declared scales.

        Parameters are drawn within their bounds around their default; vectors get d components, tuples of
        any length d + 1 nodes, weights sum to zero and make F near the unit matrix where it can be that.
        """
        k = len(self.offsets) or self.element_kind.arity or d + 1
        values = {name: self._draw(name, rng, d, k) for name in self.roles}
        for made in self.linear.values():
            values[made.weights][0] = -values[made.weights][1:].sum(axis=0)
        for made in self.shaping:
            x = np.array(values[made.field])
            spread = self.roles[made.field].scale
            values[made.weights] = weights_at_rest(x + 0.1 * spread * rng.normal(size=x.shape))
        return values

    def _draw(self, name: str, rng: np.random.Generator, d: int, k: int) -> Any:
        role = self.roles[name]
        shape = concrete(role.shape, d, k)
        if isinstance(role, Node) and not role.in_window:
            own = self.slots(name, k)
            return [_one(role.draw(rng, shape)) if slot in own else None for slot in range(k)]
        return _one(role.draw(rng, shape))


def _in_window(role: Role) -> bool:
    return isinstance(role, Node) and role.in_window


def _differentiable(role: Role) -> bool:
    return isinstance(role, Datum) and role.differentiable


def _one(value: np.ndarray) -> Any:
    return value.item() if np.ndim(value) == 0 else value


def _sum_of_products(x: list, weights: np.ndarray) -> np.ndarray:
    return sum(np.multiply.outer(np.asarray(one), w) for one, w in zip(x, weights, strict=True))


def weights_at_rest(x: np.ndarray) -> np.ndarray:
    """Weights (k, d) for which the nodes x (k, d) have F = I: rows of the pseudo-inverse, which sum to zero.

    For d + 1 nodes they are the gradients of the linear shape functions. In double precision, whatever x has.
    """
    x = x.astype(np.float64)
    rows = np.linalg.pinv(x - x.mean(axis=0)).T
    return rows - rows.mean(axis=0)  # so that they sum to zero also if x is nearly flat


def concrete(shape: Shape, d: int | None, k: int | None = None) -> tuple[int, ...]:
    """The shape with "d" replaced by the dimension of space, and "k" by the nodes of a tuple."""
    if d is None and "d" in shape:
        raise EnergyError("the dimension of space is unknown; bind a node field of shape ('d',)")
    if k is None and "k" in shape:
        raise EnergyError("a parameter cannot have a value for each node of a tuple; use a Datum")
    return tuple(d if s == "d" else k if s == "k" else s for s in shape)  # type: ignore[misc]


def local_energy(
    name: str,
    *,
    over: Over,
    symmetries: Sequence[str] = (),
    edges: str | Sequence[str] = "",
    **roles: Role | Linear,
) -> Callable[[Callable], LocalEnergy]:
    """Make a function of one element an energy.

        @local_energy("spring", over=2, x=Node("m", ("d",)), k=Parameter("N/m"), rest=Datum("m"))
        def spring(x, k, rest):
            stretch = (x[0] - x[1]).norm() - rest
            return 0.5 * k * stretch * stretch

    Nodes may be of several sets, which are named for each slot: `over=("spring", "mass", "mass")`; then a
    node field says whose it is, `x=Node("m", ("d",), of="mass")`, and is read at x[1] and x[2].

    `symmetries` that U has: "translation" of each field of vectors, "rotation" of all of them,
    "permutation" of nodes; `check` tests the declared ones, and finds those of a given state.

    Over "cells" `x[i, j]` is the value at the cell of the grid that lies i, j cells away, and `edges` says
    what lies beyond an edge, along all axes or along each: the value of the cell at the edge ("clamped", the
    default), 0 ("zero"), or the grid once more ("periodic").

    Raises `EnergyError` if the roles do not match the function's arguments, a unit or a symmetry is unknown,
    or a pair energy changes when its two nodes are exchanged.
    """

    def declare(function: Callable) -> LocalEnergy:
        kept = known_symmetries(f"energy '{name}'", symmetries)
        known_edges = declared_edges(f"energy '{name}'", over, edges)
        energy = LocalEnergy(*declared(name, function, over, roles), symmetries=kept, edges=known_edges)
        known = (Node, Datum, Parameter, Time, Table, Box)
        if strange := [a for a, role in energy.roles.items() if not isinstance(role, known)]:
            raise EnergyError(
                f"energy '{name}': {strange[0]} is a Cell, but only maps add to cells; declare a local_map"
            )
        if energy.element_kind.limited:
            _check_exchange_anywhere(energy)
        return energy

    return declare


def refuse_block_keys(what: str, roles: Mapping[str, Role], more: tuple[str, ...] = ()) -> None:
    """Raise `EnergyError` for a parameter or datum that a block of a scene could not have as a key.

    more: keys besides BLOCK_KEYS.
    """
    taken = BLOCK_KEYS + more
    keys = [a for a, role in roles.items() if isinstance(role, (Parameter, Datum))]
    if unfit := [key for key in keys if key in taken or key.startswith("_")]:
        raise EnergyError(
            f"{what}: an argument cannot be called '{unfit[0]}': a block in a scene has the keys"
            f" {', '.join(taken)}, and none that begin with _; use another name"
        )


def known_symmetries(what: str, symmetries: Sequence[str]) -> tuple[str, ...]:
    """The declared symmetries. Raises `EnergyError` for an unknown one."""
    if strange := [one for one in symmetries if one not in SYMMETRIES]:
        raise EnergyError(f"{what}: {unknown('symmetry', strange[0], SYMMETRIES)}")
    return tuple(symmetries)


def declared_edges(
    what: str, over: Over, edges: str | Sequence[str], window: bool = False
) -> str | tuple[str, ...]:
    """The edges of cells as declared. Raises `EnergyError` for unknown ones, and without cells.

    window: elements have windows of cells.
    """
    if over != "cells" and not window:
        if edges:
            raise EnergyError(f"{what}: has edges, but is not over 'cells', got {over!r}; leave `edges` out")
        return ""
    if strange := [one for one in ([edges] if isinstance(edges, str) else edges) if one not in ("", *EDGES)]:
        raise EnergyError(f"{what}: {unknown('kind of edge', strange[0], EDGES)}")
    return edges if isinstance(edges, str) else tuple(edges)


def declared(
    name: str, function: Callable, over: Over, roles: Mapping[str, Role | Linear], what: str = "energy"
) -> tuple[str, FunctionType, Over, dict[str, Role], dict[str, Linear]]:
    """A checked declaration: the first five fields of a `LocalEnergy`."""
    plain = inspect.unwrap(function)
    arguments = list(inspect.signature(plain).parameters)
    if strange := [a for a, role in roles.items() if not isinstance(role, Role | Linear)]:
        kind = type(roles[strange[0]]).__name__
        raise EnergyError(
            f"{what} '{name}': {strange[0]} needs a role, got a {kind}; give it Node, Datum, Parameter, Time,"
            " Table or Box, or leave it out"
        )
    linear = {a: role for a, role in roles.items() if isinstance(role, Linear)}
    own = {a: role for a, role in roles.items() if isinstance(role, Role)}
    _check_linear(f"{what} '{name}'", linear, own)
    _check_declaration(f"{what} '{name}'", over, arguments, own, linear, what)
    identifier(name, f"{'an' if what[0] in 'aeiou' else 'a'} {what}")
    return name, plain, over, _in_order(own, arguments), _in_order(linear, arguments)


def _in_order(roles: Mapping[str, Any], arguments: list[str]) -> dict[str, Any]:
    """The function's arguments first, in its order."""
    return {a: roles[a] for a in dict.fromkeys([*(a for a in arguments if a in roles), *roles])}


def _check_linear(name: str, linear: Mapping[str, Linear], roles: Mapping[str, Role]) -> None:
    for argument, made in linear.items():
        what = f"{name}: {argument} is Linear of"
        if not isinstance(roles.get(made.field), Node):
            raise EnergyError(f"{what} '{made.field}', which is no Node field; give it the role Node")
        weights = roles.get(made.weights)
        if not isinstance(weights, Datum) or weights.shape[:1] != ("k",) or weights.differentiable:
            raise EnergyError(
                f"{what} weights '{made.weights}', which need to be a constant Datum of shape ('k', ...)"
            )
        if (axes := len(roles[made.field].shape) + len(weights.shape) - 1) > 2:
            raise EnergyError(
                f"{what} '{made.field}' and would have {axes} axes; it can be a number, a vector or a matrix"
            )


def _check_declaration(
    name: str,
    over: Over,
    arguments: list[str],
    roles: Mapping[str, Role],
    linear: Mapping[str, Linear],
    what: str,
) -> None:
    kind = kind_of(over, name)
    if missing := [a for a in arguments if a not in roles and a not in linear]:
        raise EnergyError(
            f"{name}: argument {', '.join(missing)} has no role; make it a Node, Datum or Parameter"
        )
    used = {*arguments, *(m.field for m in linear.values()), *(m.weights for m in linear.values())}
    if extra := [r for r in (*roles, *linear) if r not in used]:
        raise EnergyError(
            f"{name}: {', '.join(extra)} has a role, but is no argument of the function; leave the role out"
        )
    nodal = [role for role in roles.values() if isinstance(role, Node)]
    own = [role for role in nodal if kind.cells or not role.in_window]
    whole = what == "map" or any(isinstance(role, Box) for role in roles.values())
    if not own and not (kind.combined and whole):
        raise EnergyError(f"{name}: has no Node field; give one argument the role Node")
    _check_sets(name, kind, {a: role for a, role in roles.items() if isinstance(role, Node)}, linear)
    if kind.cells:
        _check_cells(name, roles, linear)
    elif sides := [a for a, role in roles.items() if isinstance(role, Spacing)]:
        raise EnergyError(
            f"{name}: {sides[0]} is a Spacing, but not over 'cells', got {over!r}; make it a Parameter"
        )
    if not kind.own_values and any(isinstance(role, Datum) for role in roles.values()):
        one = "pair" if kind.unordered else "triple"
        raise EnergyError(f"{name}: a {one} has no data; use Node fields or Parameters")
    if sum(isinstance(role, Time) for role in roles.values()) > 1:
        raise EnergyError(f"{name}: has two Time arguments; use one for both")
    refuse_block_keys(name, roles, CELL_KEYS if kind.cells else PAIR_KEYS if kind.limited else ())
    for argument, role in roles.items():
        parse_unit(role.unit)
        if isinstance(role, Datum) and role.integer and role.differentiable:
            raise EnergyError(
                f"{name}: {argument} holds integers, which have no derivative; leave `differentiable` out"
            )


def _check_sets(
    name: str, kind: ElementKind, nodal: Mapping[str, Node], linear: Mapping[str, Linear]
) -> None:
    """Refuse node fields over sets that `over` does not name, or over none where it names several."""
    sets = kind.names
    for argument, role in nodal.items():
        if role.in_window:
            continue
        if role.of and sets == [""]:
            raise EnergyError(
                f"{name}: {argument} is a field of '{role.of}', but `over` names no sets of nodes; leave `of`"
                " out, or name the set of each slot"
            )
        if role.of and role.of not in sets:
            raise EnergyError(f"{name}: {argument}: {unknown('set of nodes', role.of, sets)}")
        if not role.of and kind.several:
            raise EnergyError(
                f"{name}: {argument} needs the set of nodes that it is a field of, got none; give Node"
                f" of={' or of='.join(repr(one) for one in sets)}"
            )
    if linear and kind.several:
        raise EnergyError(
            f"{name}: {next(iter(linear))} is Linear in the nodes of an element, got nodes of several sets"
            f" ({', '.join(sets)}); write the sum in the function"
        )


def _check_cells(name: str, roles: Mapping[str, Role], linear: Mapping[str, Linear]) -> None:
    if linear:
        raise EnergyError(
            f"{name}: {next(iter(linear))} is Linear, got elements that are cells; write differences of"
            " neighbours"
        )
    if by_node := [a for a, role in roles.items() if "k" in role.shape]:
        raise EnergyError(
            f"{name}: {by_node[0]} has a value for each node of a tuple, got elements that are cells; use a"
            " Node field"
        )


def identifier(name: str, what: str) -> str:
    """The name, if it can stand in "term.argument" and in a file's paths; else `EnergyError`."""
    if not name.isidentifier():
        raise EnergyError(f"{what} cannot be called '{name}'; use letters, digits and _")
    return name


def _check_exchange_anywhere(energy: LocalEnergy) -> None:
    """`check_exchange` at random states of the declared scale, far below and far above it."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-3, 1e3) * 3:
        sample = energy.sample(rng)
        for argument in energy.of_role(Node):
            sample[argument] = [scale * value for value in sample[argument]]
        check_exchange(energy, sample, finite=scale == 1.0)


def check_exchange(energy: LocalEnergy, arguments: Mapping[str, Any], finite: bool = False) -> None:
    """A pair, or the arms of a triple, are unordered: u(a, b) = u(b, a), u(c, a, b) = u(c, b, a).

    Raises `EnergyError` if not (or, if `finite`, if u is not).
    """
    swapped = {
        n: [*v[:-2], v[-1], v[-2]] if isinstance(energy.roles[n], Node) else v for n, v in arguments.items()
    }
    here, there = map(energy.evaluator(), (arguments, swapped))
    if not (finite or math.isfinite(here) or math.isfinite(there)):
        return
    if not abs(here - there) <= 1e-9 * max(abs(here), abs(there)):
        one, first, second = "a pair is", "u(a, b)", "u(b, a)"
        if energy.element_kind.triples:
            one, first, second = "the arms of a triple are", "u(c, a, b)", "u(c, b, a)"
        raise EnergyError(
            f"energy '{energy.name}': {one} unordered, but {first} = {here:.6g} and {second} = {there:.6g};"
            " write it symmetric under exchange, or sum over a list of tuples"
        )
