"""Roles of the arguments of local energies and maps: unit, shape of one value, size of a physical change.

Decisions 0148, 0276, 0293, 0295, 0298.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from ..errors import EnergyError

Shape = tuple[int | str, ...]
"""The shape of one value: () a scalar, ("d",) a vector in the space of the scene, (3, 3), ...; "k" stands for
the nodes of a tuple, "d-1" for the axes along a surface."""
SURFACE = "d-1"


@dataclass(frozen=True)
class Role:
    """The role of an argument of a local energy: unit, shape of one value, size of a physical change.

    about: a sentence that says what the argument is, shown where keys of scenes are listed.
    """

    unit: str = "1"
    shape: Shape = ()
    scale: float = 1.0
    about: str = field(default="", kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        """A shape "d" is ("d",). Raises `EnergyError` for a unit that is no text, or no tuple as shape."""
        role = type(self).__name__
        if not isinstance(self.unit, str):
            raise EnergyError(
                f'{role}: its unit is a text, got {self.unit!r}; write {role}("N/m"), or {role}() of a plain'
                " number"
            )
        if isinstance(self.shape, str):
            object.__setattr__(self, "shape", (self.shape,))
        if not isinstance(self.shape, tuple):
            raise EnergyError(
                f'{role}: the shape of one value is a tuple, got {self.shape!r}; write ("d",) for a vector,'
                " () for a number"
            )

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Random values of this role, of a physical size; `shape`: of one value, or of an array of values.

        All random states are made of these draws; only tests of independent references make their own.
        """
        return rng.uniform(0.5, 1.5, size=shape) * self.scale


@dataclass(frozen=True)
class Bounded(Role):
    """Values within `bounds`, inclusive unless `open` (both, or "below": the lower one alone).

    `reason` ends the message of a violation.
    """

    bounds: tuple[float, float] = (-math.inf, math.inf)
    open: bool | Literal["below"] = False
    reason: str = ""

    def admits(self, values: np.ndarray) -> bool:
        """True if all values are finite and within the bounds."""
        return bool((self._is_inside(values) & np.isfinite(values)).all())

    @property
    def excluded(self) -> tuple[bool, bool]:
        """Whether the lower and the upper bound are no values themselves."""
        return bool(self.open), self.open is True

    def limits(self) -> str:
        """The bounds in words, with the reason."""
        low, high = self.bounds
        left, right = self.excluded
        text = f"{'(' if left else '['}{low:g}, {high:g}{')' if right else ']'}"
        return f"within {text}{self.reason and f'; {self.reason}'}"

    def _is_inside(self, values: np.ndarray) -> np.ndarray:
        (low, high), (left, right) = self.bounds, self.excluded
        above = low < values if left else low <= values
        return above & (values < high if right else values <= high)


@dataclass(frozen=True)
class Node(Bounded):
    """Role of an argument that is a field over nodes: `x[0]`, `x[1]`, ... are the element's nodes.

        x=Node("m", ("d",))                  positions; "d" is the dimension of the scene's space
        T=Node("K", bounds=(0.0, inf))       one number for each node
        s=Node(of="input")                   a field over the nodes of one of several sets
        kind=Node(integer=True)              a whole number for each node, such as that of its species

    unit: an SI unit. shape: that of one value, () for a number. scale: the size of a physically meaningful
    change, in `unit`; checks draw values of this size. bounds: the values that the function is defined for,
    inclusive unless `open`; minimisers stay within them. reason: why, for the message. of: where elements
    are over several sets of nodes, the one that the field is over; it may be read at the slots of its set
    alone. Over "nodes" there is `x[0]` alone. integer: the values are whole numbers, which nothing moves. U
    has a gradient with respect to it, unless it holds integers.
    """

    of: str = ""
    integer: bool = field(default=False, kw_only=True)
    in_window: ClassVar[bool] = False
    """True if the field is over the cells of windows; elements have no slot for it."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Normal deviates of the role's scale, mirrored into its bounds; uniform between two bounds.

        Square matrices without a unit are near the identity, as deformation gradients are. Integers are 0, 1
        or 2.
        """
        if self.integer:
            return rng.integers(0, 3, size=shape).astype(np.float64)
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
class Velocity(Node):
    """Role of an argument of a Lagrangian that is the rate of a coordinate, its Node.

        v=Velocity("rad/s", (2,))
        w=Velocity("m/s", rate_of="s")       where there are several coordinates: which one

    unit, shape and the rest are those of `Node`; the shape is that of the coordinate.
    """

    rate_of: str = ""


@dataclass(frozen=True)
class Datum(Role):
    """Role of an argument with one value for each element, such as a spring's length at rest.

        rest=Datum("m", about="Length at rest.")

    unit, shape and scale are those of `Node`. differentiable: U has a gradient with respect to it. integer:
    the values are whole numbers, such as a charge number. derived: where nobody gives it, `derive` of the
    energy does. place: of the first node field, so that U is the same where both are translated alike.
    """

    differentiable: bool = False
    integer: bool = False
    derived: bool = field(default=False, kw_only=True)
    place: bool = field(default=False, kw_only=True)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """0, 1 or 2 where it holds integers; else values near the scale."""
        return rng.integers(0, 3, size=shape) if self.integer else super().draw(rng, shape)


@dataclass(frozen=True)
class Parameter(Bounded):
    """Role of an argument that a scene sets: one value for all elements, or one for each body or element.

        G=Parameter("m^3 kg^-1 s^-2", default="6.67430e-11 m^3 kg^-1 s^-2", about="Newton's constant.")

    unit, shape, scale, bounds, open and reason are those of `Node`. default: a number in `unit`, or a
    quantity as text; without a default every scene must set it. listed: where a scene leaves it out, a list
    of the state that has values for each element gives them. absolute: it is a temperature, no difference of
    two, so that scenes may give it in degC. U has a gradient with respect to it.
    """

    default: float | str | None = None
    listed: bool = field(default=False, kw_only=True)
    absolute: bool = field(default=False, kw_only=True)

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


def concrete(shape: Shape, d: int | None, k: int | None = None) -> tuple[int, ...]:
    """The shape with "d" and "d-1" replaced by axes of space and of a surface, "k" by nodes of a tuple."""
    if d is None and {"d", SURFACE} & {*shape}:
        raise EnergyError("the dimension of space is unknown; bind a node field of shape ('d',)")
    if k is None and "k" in shape:
        raise EnergyError("a parameter cannot have a value for each node of a tuple; use a Datum")
    known: dict[int | str, int | None] = {"d": d, SURFACE: (d or 0) - 1, "k": k}
    return tuple(known.get(s, s) for s in shape)  # type: ignore[arg-type,misc]


def listed_roles(roles: Mapping[str, Role]) -> str:
    """Arguments in one line: `x [m], q [C], sharpness`."""
    units = {name: getattr(role, "unit", "") for name, role in roles.items()}
    return ", ".join(f"{name} [{unit}]" if unit else name for name, unit in units.items())
