"""Staged energies: Taichi kernels one after another, differentiated by Taichi's reverse mode.

    y_1 = f_1(inputs),  y_2 = f_2(inputs, y_1),  ...        U = sum of the outputs
    dU/d(input) = sum over stages, last to first, of  (df_s / d input)^T  dU/dy_s

For energies that cannot be traced: scatter, runtime loops, intermediate arrays. Outputs may also be fields,
which energies read (`energies.staged_map`). Kernels take arrays by their arguments' names.

    @ti.kernel
    def deposit(x: ti.types.ndarray(ndim=1), grid: ti.types.ndarray(ndim=1)): ...      # grid[...] += ...
    @ti.kernel
    def add_up(grid: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)): ...       # U[None] += ...

    energy = staged_energy("clumping", x=Node("m"), between={"grid": Between(("cells",))},
                           stages=[Stage(deposit, writes=("grid",)), Stage(add_up, writes=("U",))])
    term = bind_staged(energy, fields, sizes={"cells": 64})

Taichi's reverse mode has conditions that it does not enforce; each kernel is tested for them at its first
use: it does not change arrays that it only reads, and it overwrites or adds to each array that it writes. The
text of a kernel is refused for products in place, for arrays written after they were read, for numbers that
several iterations overwrite, and for patterns that Taichi 1.7.4 reverses wrongly in nested loops
(`lint.kernel_remarks`): exp, max and the like beside other statements, loops in an `if`, more changes of a
local than its stack holds. `check` tests whether a gradient is right.

Same bits at any number of threads: a parallel loop that adds to shared elements adds in any order. Write
`ti.loop_config(serialize=True)` before it (its reverse obeys, too), and before a loop whose iterations read
one element together, because its reverse adds to the adjoint of that. Such a loop must be flat, over a
`ti.ndrange` if need be. `StagedTerm.unsteady` finds loops where this was forgotten.

A nested loop that changes a local ends at a constant, a shape or a stage's number, because the size of the
stack for the reverse pass must be known. Quadrants requires it of all loops, and takes constants and shapes
alone.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import EnergyError, TraceError, suggestion
from ..lint.stage_rules import check_text
from ..scene.units import parse_unit
from ..symbolic.sources.function_sources import names_read
from ..symbolic.sources.snapshots import compiled_function
from .declaration import identifier, known_symmetries, refuse_block_keys
from .roles import Datum, Node, Parameter, Role, Shape, Time, listed_roles
from .stage_order import Schedule
from .values.energy_values import Declaration

Example = Callable[[np.random.Generator], Mapping[str, Any]]
"""Random values of fields, data and parameters, and numbers for names in shapes."""


@dataclass(frozen=True)
class Stage:
    """One launch of a kernel in a staged energy. Its array arguments are read, except those that it `writes`.

        Stage(deposit, writes=("grid",))

    `rename`: an argument takes another array than that of its own name, {"x": "x3"}. `numbers`: values of
    its arguments that are plain numbers; they are constants. `recompute`: its output need not be kept:
    another stage may overwrite the array, and the reverse pass runs this stage again just before it needs
    the old values. `backward`: a kernel, or a Python function, in place of Taichi's reverse. It takes any
    arguments of the stage, and as `d_x` the derivative of U with respect to argument `x`: it reads `d_x`
    of the arrays that the stage writes, and adds to `d_x` of those that it reads. With a `backward` the
    stage may be a Python function, too.
    """

    kernel: Any
    writes: tuple[str, ...]
    rename: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    recompute: bool = False
    backward: Callable | None = None

    @property
    def name(self) -> str:
        return getattr(self.kernel, "__name__", "a stage")

    @property
    def arrays(self) -> dict[str, str]:
        """The array of each argument, in the kernel's order."""
        return {a: self.rename.get(a, a) for a in arguments(self.kernel) if a not in self.numbers}

    @property
    def read(self) -> tuple[str, ...]:
        """The arrays that it reads."""
        return tuple(dict.fromkeys(array for a, array in self.arrays.items() if a not in self.writes))

    @property
    def written(self) -> tuple[str, ...]:
        """The arrays that it writes."""
        return tuple(self.arrays[a] for a in self.writes)


@dataclass(frozen=True)
class Between:
    """An intermediate array of real numbers in a staged energy: Between(("cells",)).

    shape: numbers and names. In it "n" is the number of nodes ("n_x" that of field argument x, where they
    differ), "d" the dimension of space; other names are known from the shapes of data and parameters, or
    given when bound.
    """

    shape: Shape


@dataclass(frozen=True)
class Staged(Declaration):
    """A named energy made of kernels, as `staged_energy` returns it: U is the sum of its `outputs`.

    `bind_staged` binds it to fields. stages: the kernels in order. between: the intermediate arrays by name.
    roles: its inputs by name. claim: a one-line description. symmetries: those that it is declared to
    have.
    """

    name: str
    stages: tuple[Stage, ...]
    between: Mapping[str, Between] = field(hash=False)
    outputs: tuple[str, ...]
    roles: Mapping[str, Role] = field(hash=False)
    claim: str
    schedule: Schedule = field(hash=False, compare=False)
    example: Example | None = field(default=None, hash=False, compare=False)
    symmetries: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """`Staged('pme', 4 stages: x [m], q [C])`."""
        return f"{type(self).__name__}('{self.name}', {len(self.stages)} stages: {listed_roles(self.roles)})"

    def of_role(self, role: type[Role]) -> dict[str, Any]:
        """The arguments of one role."""
        return {name: r for name, r in self.roles.items() if isinstance(r, role)}

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments that have a gradient."""
        return tuple(n for n, r in self.roles.items() if not isinstance(r, Datum) or r.differentiable)


def staged_energy(
    name: str,
    *,
    stages: Sequence[Stage],
    between: Mapping[str, Between] | None = None,
    outputs: tuple[str, ...] = ("U",),
    claim: str = "",
    example: Example | None = None,
    symmetries: Sequence[str] = (),
    **roles: Role,
) -> Staged:
    """Make an energy from Taichi kernels, launched one after another; `roles` describe its inputs.

    `claim`: a one-line description. `example`: a function that draws inputs for `minusgrad check NAME`,
    by argument, and numbers for the names in shapes. `symmetries`: see `local_energy`.

    A Node is the whole field, shape (n, ...), a Datum an array given when the energy is bound. One number (a
    scalar parameter, the time, an output that is not `between`) is an array of shape () or (1,), as the
    kernels' annotations say.

    Raises `EnergyError` where the stages do not fit together, and where one overwrites values that the
    reverse pass needs and cannot recompute.
    """
    what = f"energy '{identifier(name, 'an energy')}'"
    kept = known_symmetries(what, symmetries)
    schedule = checked_schedule(what, stages, between or {}, outputs, roles)
    return Staged(
        name, tuple(stages), dict(between or {}), outputs, dict(roles), claim, schedule, example, kept
    )


def checked_schedule(
    what: str,
    stages: Sequence[Stage],
    between: Mapping[str, Between],
    outputs: tuple[str, ...],
    roles: Mapping[str, Role],
) -> Schedule:
    """The order of stages that fit together and their arrays; `what` begins messages.

    Raises `EnergyError` as `staged_energy` does.
    """
    refuse_block_keys(what, roles)
    for stage in stages:
        _check_stage(f"{what}, stage '{stage.name}'", stage, {*roles, *between, *outputs})
    for argument, role in roles.items():
        if not isinstance(role, (Node, Datum, Parameter, Time)):
            kind = type(role).__name__
            raise EnergyError(f"{what}: {argument} is a {kind}; kernels take arrays: make it a Datum")
        parse_unit(role.unit)
        if isinstance(role, Datum) and role.integer and role.differentiable:
            raise EnergyError(
                f"{what}: {argument} holds integers, which have no derivative; leave `differentiable` out"
            )
    if both := [a for a in roles if a in between or a in outputs]:
        raise EnergyError(
            f"{what}: {', '.join(both)} cannot be both an input and an output of stages; rename one"
        )
    if sum(isinstance(role, Time) for role in roles.values()) > 1:
        raise EnergyError(f"{what}: has two Time arguments; use one for both")
    schedule = Schedule(what, tuple(stages), tuple(roles), outputs)
    used = {array for stage in stages for array in stage.arrays.values()}
    if idle := [a for a in (*roles, *between) if a not in used]:
        raise EnergyError(f"{what}: no stage takes {', '.join(idle)}; leave them out")
    return schedule


def arguments(function: Callable) -> tuple[str, ...]:
    """The names of a kernel's or a function's arguments."""
    return tuple(inspect.signature(function).parameters)


def decorated_functions(kernel: Any) -> Iterator[str]:
    """The names of functions of a kernel, itself among them, whose decorators Taichi leaves out."""
    waiting, seen = [kernel] if compiled_function(kernel) is not kernel else [], set[Any]()
    while waiting:
        function = compiled_function(waiting.pop())
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        if hasattr(function, "__wrapped__"):
            yield function.__name__
            continue
        with suppress(TraceError):  # of a function without a source, which Taichi cannot read, either
            read = [function.__globals__.get(n) for n in names_read(function)[0]]
            read += inspect.getclosurevars(function).nonlocals.values()
            waiting += [one for one in read if compiled_function(one) is not one]


def _check_stage(what: str, stage: Stage, known: set[str]) -> None:
    if dropped := next(decorated_functions(stage.kernel), None):
        raise EnergyError(
            f"{what}: Taichi compiles '{dropped}' without its decorators; write what they do into it"
        )
    taken = arguments(stage.kernel)
    for said in (*stage.writes, *stage.rename, *stage.numbers):
        if said not in taken:
            raise EnergyError(f"{what}: has no argument '{said}' (it takes {', '.join(taken)})")
    if not stage.writes:
        raise EnergyError(f"{what}: writes no array; name its output arguments in `writes`")
    for argument, array in stage.arrays.items():
        if array not in known:
            near = suggestion(array, sorted(known))
            raise EnergyError(
                f"{what}: its argument '{argument}' is no known array{near}; give it a role, or name the"
                " array in `between`, `rename` or `numbers`"
            )
        if array in stage.written and list(stage.arrays.values()).count(array) > 1:
            raise EnergyError(
                f"{what}: takes '{array}' twice and writes it, and its reverse would need the overwritten"
                " values; write into another array"
            )
    if stage.backward is None:
        if not hasattr(stage.kernel, "grad"):
            raise EnergyError(f"{what}: is no Taichi kernel, so it has no reverse; give it a `backward`")
        if compiled_function(stage.kernel) is stage.kernel and hasattr(stage.kernel, "__wrapped__"):
            raise EnergyError(
                f"{what}: is decorated above `@ti.kernel`, and its reverse would leave the decorator out;"
                " write what that does into the kernel, or give it a `backward`"
            )
        check_text(what, stage)
    else:
        offered = [*taken, *(f"d_{a}" for a in stage.arrays)]
        if unknown := [a for a in arguments(stage.backward) if a not in offered]:
            raise EnergyError(
                f"{what}: its backward takes unknown arguments, got {', '.join(unknown)};"
                f" use {', '.join(offered)}"
            )
