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

Decisions 0154, 0280.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any, Self

import numpy as np

from ..elements.element_kind import ElementKind, Over, kind_of
from ..elements.periodic.tuple_images import CHAIN, Follow, declared_images
from ..errors import EnergyError
from ..scene.shapes import Shape
from ..scene.units import parse_unit
from ..symbolic.neighbours import Neighbours, Offset
from ..symbolic.plain_python import Lookup, evaluator
from ..symbolic.sources.snapshots import snapshot
from .declaration import check_declaration, declared_edges, known_symmetries, refuse_bare_decorator
from .fields import Hold
from .pairs.cutoff import Cutoff
from .roles import Box, Datum, Linear, Node, Parameter, Role, Spacing, Table, Time, concrete, listed_roles
from .values.energy_values import Declaration

INSIDE = "_inside"
"""The datum that tells of each neighbour of a cell whether it lies in the grid: 1, else 0."""
IMAGES, IMAGE_BOX = "_images", "_box"
"""The periodic images of an element's nodes, and the box that they are displaced by."""
Looks = Callable[..., Sequence[Shape]]
"""A function of parameters, by their names, and of `d`, the number of components of a position."""


@dataclass(frozen=True)
class TermElements:
    """The elements of a term that is being bound, for data that follow from all of them.

    label: the name of the term in messages. nodes (E, k). fields: the values of its node fields, and names
    those of the fields, by argument. data: those that are given. holds: what supports hold. dtype: that of
    the run. planes: those in which constraints keep nodes.
    """

    label: str
    nodes: np.ndarray
    fields: Mapping[str, np.ndarray]
    names: Mapping[str, str]
    data: Mapping[str, np.ndarray]
    holds: Sequence[Hold]
    dtype: np.dtype
    planes: Sequence[Any] = ()


Derive = Callable[[TermElements], Mapping[str, np.ndarray]]
"""Gives the derived data (E, ...) of the elements, by argument. Raises `EnergyError` where there are none."""
Borne = Callable[[np.ndarray, Mapping[str, np.ndarray], Mapping[str, np.ndarray]], np.ndarray]
"""Forces (E, k, d), as derivatives by x (E, k, d), that supports bear; of data and parameters (E, ...)."""
WINDOW = "cells of windows"
"""The set that fields read in windows are over; no name, so that no declared set is called like this."""


@dataclass(frozen=True)
class LocalEnergy(Declaration):
    """A named local energy; made by `local_energy`.

    `over`: "nodes", "pairs", "tuples" of any one length, the number of nodes of a tuple, the names of the
    sets that they are of, or "cells". `arguments` are the function's, in its order; `linear` are those
    computed from others. `symmetries`: those that it is declared to have. Over cells: `edges`, one of EDGES
    for all axes or for each; `offsets` of the neighbours that the function reads, the cell itself first,
    known once it is bound to a grid. Over listed tuples: how `images` follow in a periodic box
    (`elements.periodic.tuple_images`). Once it is bound to fields with a box or within a cutoff: `positions`,
    the arguments that are positions of nodes, and the `cutoff`; `factor`: of scaled pairs. `looks`: gives
    the shapes that pictures draw, from values of parameters. `beyond_cutoff`: it stands for the pairs beyond
    the cutoffs of other energies, at uniform density. derive: gives data
    that are declared `derived`. plane_stress: its form for
    plates that are free across. borne: gives the forces at held components, where they are not those of U.
    unit: that of U; "" where any will do, as of constraints.
    """

    name: str
    function: FunctionType
    over: Over
    roles: Mapping[str, Role] = field(hash=False)
    linear: Mapping[str, Linear] = field(hash=False, default_factory=dict)
    symmetries: tuple[str, ...] = field(default=(), kw_only=True)
    edges: str | tuple[str, ...] = field(default="", kw_only=True)
    offsets: tuple[Offset, ...] = field(default=(), kw_only=True)
    images: Follow = field(default=CHAIN, kw_only=True)
    positions: tuple[str, ...] = field(default=(), kw_only=True)
    cutoff: Cutoff | None = field(default=None, kw_only=True)
    factor: float = field(default=1.0, kw_only=True)
    looks: Looks | None = field(default=None, kw_only=True, compare=False)
    beyond_cutoff: bool = field(default=False, kw_only=True)
    derive: Derive | None = field(default=None, kw_only=True, compare=False)
    borne: Borne | None = field(default=None, kw_only=True, compare=False)
    plane_stress: "LocalEnergy | None" = field(default=None, kw_only=True, compare=False, repr=False)
    unit: str = field(default="J", kw_only=True)

    def __repr__(self) -> str:
        """`LocalEnergy('gravity', over 'pairs': x [m], m [kg], G [m^3 kg^-1 s^-2])`."""
        return f"{type(self).__name__}('{self.name}', over {self.over!r}: {listed_roles(self.roles)})"

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
        return getattr(role, "of", "") or self.element_kind.usual_set

    def slots(self, argument: str, arity: int) -> Sequence[int]:
        """The slots of an element of so many nodes at which a node field may be read."""
        if _in_window(self.roles[argument]):
            return ()
        return self.element_kind.slots(self.set_of(argument), arity)

    @property
    def shaping(self) -> list[Linear]:
        """Linear arguments that are the unit matrix at rest: of vectors, by vectors; one per weights."""
        square = [m for m in self.linear.values() if self._is_square(m)]
        return list({m.weights: m for m in reversed(square)}.values())

    def _is_square(self, made: Linear) -> bool:
        of_field, of_weights = self.roles[made.field].shape, self.roles[made.weights].shape
        return len(of_field) == 1 and of_weights[1:] == of_field

    @property
    def dimension(self) -> int | None:
        """The number of axes of the only space in which it is declared, 2 for plane stress; None: of any."""
        axes = [self.roles[made.field].shape[0] for made in self.shaping]
        return next((n for n in axes if isinstance(n, int)), None)

    @property
    def claim(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    def frozen(self) -> Self:
        """The same with a snapshot of its function: the values that it reads stay as they are now."""
        return replace(self, function=snapshot(vars(self)["function"]))

    def of_role(self, role: type[Role]) -> dict[str, Any]:
        """The arguments of one role, in the function's order."""
        return {name: r for name, r in self.roles.items() if isinstance(r, role)}

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments that have a gradient, in the function's order."""
        varying = (Node, Parameter, Time, Box)
        return tuple(n for n, r in self.roles.items() if _varies(r, varying))

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
            made = {a: self.received(a, values) for a in nodal}
            placed = {a: made[a] for a in self.positions if IMAGES in values}
            made |= {
                a: _sum_of_products(placed.get(m.field, values[m.field]), values[m.weights])
                for a, m in self.linear.items()
            }
            found = of_arguments({**values, **made, **{a: Lookup(values[a]) for a in tables}})
            if self.cutoff is None:
                return found if self.factor == 1.0 else self.factor * found
            centre, *others = [x for x in made[self.positions[0]] if x is not None]
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
                None if x is None else x + image @ values[IMAGE_BOX]
                for x, image in zip(values[name], values[IMAGES], strict=True)
            ]
        inside = values.get(INSIDE, ())
        return self.around(name, values[name], lambda s, v: v if inside[s] > 0.5 else 0.0 * v)

    def sample(self, rng: np.random.Generator, d: int = 3) -> dict[str, Any]:
        """Node fields, data, parameters of one element at a random, unsymmetric state of the declared scales.

        Parameters are drawn within their bounds around their default; vectors get d components, tuples of
        any length d + 1 nodes, weights sum to zero and make F near the unit matrix where it can be that.
        """
        d = self.dimension or d
        k = len(self.offsets) or self.element_kind.arity or d + 1
        values = {name: self._draw_values(name, rng, d, k) for name in self.roles}
        for made in self.linear.values():
            values[made.weights][0] = -values[made.weights][1:].sum(axis=0)
        for made in self.shaping:
            x = np.array(values[made.field])
            spread = self.roles[made.field].scale
            values[made.weights] = weights_at_rest(x + 0.1 * spread * rng.normal(size=x.shape))
        return values

    def _draw_values(self, name: str, rng: np.random.Generator, d: int, k: int) -> Any:
        role = self.roles[name]
        shape = concrete(role.shape, d, k)
        if isinstance(role, Node) and not role.in_window:
            own = self.slots(name, k)
            return [_scalar_or_array(role.draw(rng, shape)) if slot in own else None for slot in range(k)]
        return _scalar_or_array(role.draw(rng, shape))


def image_parents(what: str, over: Over, images: Follow) -> Follow:
    """How images of declared elements follow. Raises `EnergyError` for what is no tree of their slots."""
    kind = kind_of(over, what)
    return declared_images(what, images, kind.listed, kind.arity)


def _in_window(role: Role) -> bool:
    return isinstance(role, Node) and role.in_window


def _varies(role: Role, varying: tuple[type[Role], ...]) -> bool:
    """True for roles of these types, and differentiable data; not for those that hold integers."""
    if isinstance(role, Datum):
        return role.differentiable
    return isinstance(role, varying) and not (isinstance(role, Node) and role.integer)


def _scalar_or_array(value: np.ndarray) -> Any:
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


def local_energy(
    name: str,
    *,
    over: Over = "",
    symmetries: Sequence[str] = (),
    edges: str | Sequence[str] = "",
    images: Follow = CHAIN,
    looks: Looks | None = None,
    beyond_cutoff: bool = False,
    derive: Derive | None = None,
    borne: Borne | None = None,
    unit: str = "J",
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

    Over "directed_pairs" and "directed_triples" a field over directed pairs is `zeta=Node(of="pair")`, read
    at zeta[0]; fields of nodes are read at x[1], x[2] (and x[3]), and need no `of`.

    Over "cells" `x[i, j]` is the value at the cell of the grid that lies i, j cells away, and `edges` says
    what lies beyond an edge, along all axes or along each: the value of the cell at the edge ("clamped", the
    default), 0 ("zero"), or the grid once more ("periodic").

    `images` says how the images of a listed tuple follow in a periodic box: each node's is the one nearest to
    the node before it ("chain", the default), to the first node ("first", as for cells), or to the node in
    the slot that is given for each slot after the first: `images=(2, 0, 2)` of an improper torsion around
    slot 2.

    `looks` gives what pictures draw of an obstacle or a load, `Plane`, `Sphere`, `Cuboid`, `Facets`, `Force`,
    `Pressure` or `Acceleration`, from values of parameters and, if it asks for `d`, the number of axes:

        @local_energy("ball", ..., looks=lambda centre, radius: [Sphere(centre, radius)])

    `beyond_cutoff` says that it stands for the pairs beyond cutoffs, at uniform density, as the correction of
    dispersion does: pressure and barostats then count the jumps of sharp cutoffs at this density, too.

    `derive` gives the data that are declared as `derived`, from all elements and what is held. `borne` gives
    the forces that reactions of supports are made of, where U has other ones at held components. `unit` is
    that of U, which `check` compares with those of the arguments: "1" of a loss, "W K" of a functional of
    heat.

    Raises `EnergyError` without a name or `over`, if the roles do not match the function's arguments, a unit
    or a symmetry is unknown, or a pair energy changes when its two nodes are exchanged.
    """
    refuse_bare_decorator("local_energy", name)

    def declare(function: Callable) -> LocalEnergy:
        kept = known_symmetries(f"energy '{name}'", symmetries)
        known_edges = declared_edges(f"energy '{name}'", over, edges)
        made = check_declaration(name, function, over, roles)
        follow = image_parents(f"energy '{name}'", over, images)
        more: dict[str, Any] = {"images": follow, "looks": looks, "beyond_cutoff": beyond_cutoff}
        parse_unit(unit)
        more |= {"derive": derive, "borne": borne, "unit": unit}
        energy = LocalEnergy(*made, symmetries=kept, edges=known_edges, **more)
        known = (Node, Datum, Parameter, Time, Table, Box)
        if strange := [a for a, role in energy.roles.items() if not isinstance(role, known)]:
            raise EnergyError(
                f"energy '{name}': {strange[0]} is a Cell, but only maps add to cells; declare a local_map"
            )
        if looks is not None:
            _check_looks(energy)
        if energy.element_kind.symmetric:
            _check_exchange_anywhere(energy)
        return energy

    return declare


def _check_looks(energy: LocalEnergy) -> None:
    """Raise `EnergyError` if `looks` takes something else than parameters and `d`."""
    known = ["d", *energy.of_role(Parameter)]
    for argument in inspect.signature(energy.looks).parameters if energy.looks else ():
        if argument not in known:
            text = f"takes parameters and d ({', '.join(known)}), got {argument}; leave it out"
            raise EnergyError(f"energy '{energy.name}': looks {text}")


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
