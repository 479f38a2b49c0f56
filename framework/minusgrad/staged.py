"""Staged energies: Taichi kernels one after another, differentiated by Taichi's reverse mode.

    y_1 = f_1(inputs),  y_2 = f_2(inputs, y_1),  ...        U = sum of the outputs
    dU/d(input) = sum over stages, last to first, of  (df_s / d input)^T  dU/dy_s

This is the way for what cannot be traced: scatter, runtime loops, intermediate arrays. One place clears,
runs forward, clears adjoints, seeds and reverses: this one. Kernels take arrays by their arguments' names.

    @ti.kernel
    def deposit(x: ti.types.ndarray(ndim=1), grid: ti.types.ndarray(ndim=1)): ...      # grid[...] += ...
    @ti.kernel
    def add_up(grid: ti.types.ndarray(ndim=1), U: ti.types.ndarray(ndim=0)): ...       # U[None] += ...

    energy = staged_energy("clumping", x=Node("m"), between={"grid": Between(("cells",))},
                           stages=[Stage(deposit, writes=("grid",)), Stage(add_up, writes=("U",))])
    term = bind_staged(energy, fields, sizes={"cells": 64})

What Taichi's reverse mode needs and does not enforce is asked of every kernel at its first use: it leaves
alone what it only reads, and either overwrites or adds to what it writes. Products in place, and two shapes
of loops that Taichi 1.7.4 reverses wrongly, are refused by their text. Whether a gradient is true is a
question for `check`.

Same bits at any number of threads: a parallel loop that adds to shared elements adds in any order. Write
`ti.loop_config(serialize=True)` before it (its reverse obeys, too), and before a loop whose iterations read
one element together, because its reverse adds to the adjoint of that. Such a loop must be flat, over a
`ti.ndrange` if need be. `StagedTerm.unsteady` looks for what was forgotten.
"""

import ast
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

import numpy as np

from . import runtime
from .energy import Datum, Node, Parameter, Role, Shape, Time, identifier
from .errors import EnergyError, UnitError, suggestion
from .fields import Field, Fields, ordered_sum
from .units import UnitSystem, parse_unit

Version = tuple[str, int]
"""An array between two of its fillings: its name, and how often it was filled before."""

Act = tuple[str, Any]
"""What is done next: "clear" or "forget" (the adjoint of) an array, "run" or "reverse" a stage."""

NEITHER = (
    "neither overwrites nor adds to '{}', so its reverse would be wrong; from the second write on `+=` is the"
    " only way, and what is read is not written"
)

REALS, WHOLE = ("f32", "f64"), ("i32",)


# Declarations ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """One launch of a kernel. Its array arguments are read, but for those that it `writes`.

    `rename`: an argument takes another array than that of its own name, {"x": "x3"}.
    `numbers`: values of its arguments that are plain numbers; they are constants.
    `recompute`: what it writes need not be kept: another stage may fill the array anew, and the reverse pass
    runs this stage again just before it needs what was there.
    `backward`: a kernel, or a Python function, in the place of Taichi's reverse. It takes any arguments of
    the stage, and as `d_x` the derivative of U with respect to argument `x`: it reads those of what the
    stage writes and adds to those of what it reads. With it the stage may be a Python function, too.
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
    """An intermediate array of real numbers.

    In its shape "n" is the number of nodes ("n_x" that of field argument x, where they differ), "d" the
    dimension of space; other names are known from the shapes of data and parameters, or given when bound.
    """

    shape: Shape


@dataclass(frozen=True)
class Staged:
    """A named energy in stages; made by `staged_energy`. U is the sum of its `outputs`."""

    name: str
    stages: tuple[Stage, ...]
    between: Mapping[str, Between] = field(hash=False)
    outputs: tuple[str, ...]
    roles: Mapping[str, Role] = field(hash=False)
    schedule: "Schedule" = field(hash=False, compare=False)

    def of_role(self, role: type[Role]) -> dict[str, Any]:
        """The arguments of one role."""
        return {name: r for name, r in self.roles.items() if isinstance(r, role)}

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The arguments that a gradient exists for."""
        return tuple(n for n, r in self.roles.items() if not isinstance(r, Datum) or r.differentiable)


def staged_energy(
    name: str,
    *,
    stages: Sequence[Stage],
    between: Mapping[str, Between] | None = None,
    outputs: tuple[str, ...] = ("U",),
    **roles: Role,
) -> Staged:
    """An energy from kernels, one after another. `roles` say what the inputs are, as in a local energy.

    A Node is the whole field, shape (n, ...), a Datum an array given when the energy is bound. One number (a
    scalar parameter, the time, an output that is not `between`) is an array of shape () or (1,), as the
    kernels' annotations say.

    Raises `EnergyError` where the stages do not fit together, and where one overwrites what the reverse pass
    needs and cannot recompute.
    """
    what = f"energy '{identifier(name, 'an energy')}'"
    between = between or {}
    for stage in stages:
        _check_stage(f"{what}, stage '{stage.name}'", stage, {*roles, *between, *outputs})
    for argument, role in roles.items():
        parse_unit(role.unit)
        if isinstance(role, Datum) and role.integer and role.differentiable:
            raise EnergyError(f"{what}: {argument} holds integers, and those have no derivative")
    if both := [a for a in roles if a in between or a in outputs]:
        raise EnergyError(f"{what}: {', '.join(both)} cannot be an input and be made by stages")
    if sum(isinstance(role, Time) for role in roles.values()) > 1:
        raise EnergyError(f"{what}: two arguments are the Time; there is one")
    schedule = Schedule(what, tuple(stages), tuple(roles), outputs)
    used = {array for stage in stages for array in stage.arrays.values()}
    if idle := [a for a in (*roles, *between) if a not in used]:
        raise EnergyError(f"{what}: no stage takes {', '.join(idle)}")
    return Staged(name, tuple(stages), dict(between), outputs, dict(roles), schedule)


def arguments(function: Callable) -> tuple[str, ...]:
    """The names of a kernel's or a function's arguments."""
    return tuple(inspect.signature(function).parameters)


def _check_stage(what: str, stage: Stage, known: set[str]) -> None:
    taken = arguments(stage.kernel)
    for said in (*stage.writes, *stage.rename, *stage.numbers):
        if said not in taken:
            raise EnergyError(f"{what}: has no argument '{said}' (it takes {', '.join(taken)})")
    if not stage.writes:
        raise EnergyError(f"{what}: writes nothing; say which arguments it `writes`")
    for argument, array in stage.arrays.items():
        if array not in known:
            near = suggestion(array, sorted(known))
            raise EnergyError(
                f"{what}: nothing says what its argument '{argument}' is{near}; give it a role, or name the"
                " array in `between`, `rename` or `numbers`"
            )
        if array in stage.written and list(stage.arrays.values()).count(array) > 1:
            raise EnergyError(
                f"{what}: takes '{array}' twice and writes it; its reverse would need what was there before:"
                " write into an array of its own"
            )
    if stage.backward is None:
        if not hasattr(stage.kernel, "grad"):
            raise EnergyError(f"{what}: is no Taichi kernel and has no reverse; give it a `backward`")
        _check_text(what, stage)
    else:
        offered = [*taken, *(f"d_{a}" for a in stage.arrays)]
        if unknown := [a for a in arguments(stage.backward) if a not in offered]:
            raise EnergyError(
                f"{what}: its backward takes {', '.join(unknown)}; there are {', '.join(offered)}"
            )


def _check_text(what: str, stage: Stage) -> None:
    """Refuse what Taichi 1.7.4 reverses wrongly in silence: products in place, and two shapes of loops."""
    (function,) = ast.parse(dedent(inspect.getsource(inspect.unwrap(stage.kernel)))).body
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
            array = ast.unparse(node.target.value)
            if array in stage.writes and not isinstance(node.op, ast.Add | ast.Sub):
                raise EnergyError(f"{what}: {NEITHER.format(stage.arrays[array])}")
    before = ""
    for statement in ast.iter_child_nodes(function):
        serialised = "serialize=True" in before or "parallelize=1" in before
        if serialised and any(loop is not statement for loop in _loops(statement)):
            raise EnergyError(
                f"{what}: has a loop within a serialised loop, whose reverse Taichi gets wrong; write one"
                " flat loop over ti.ndrange, or unroll the inner one by ti.static"
            )
        before = ast.unparse(statement)
    for outer in _loops(function):
        made: set[str] = set()
        for statement in outer.body:
            for inner in _loops(statement):
                if carried := made & {n.id for part in inner.body for n in _names(part, ast.Load)}:
                    raise EnergyError(
                        f"{what}: '{min(carried)}' is made before an inner loop and used in it, whose reverse"
                        " Taichi gets wrong; make it in the inner loop, or keep it in an array between stages"
                    )
            made |= _made(statement)


def _loops(node: ast.AST) -> list[ast.For]:
    """The node, if it is a loop, and the loops in it; but for those that are unrolled."""
    found = (n for n in ast.walk(node) if isinstance(n, ast.For))
    return [loop for loop in found if "static(" not in ast.unparse(loop.iter)]


def _made(statement: ast.stmt) -> set[str]:
    """The names that get a value, unless it is a constant."""
    found = (n for n in ast.walk(statement) if isinstance(n, ast.Assign | ast.AugAssign))
    return {n.id for a in found if not isinstance(a.value, ast.Constant) for n in _names(a, ast.Store)}


def _names(node: ast.AST, context: type) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]


# Order ----------------------------------------------------------------------------------------------


class Schedule:
    """What is done, in which order: forward, and in reverse.

    An array that is written after it has been read is filled anew: cleared first, and another version of
    itself. The reverse of a stage needs the versions that the stage saw. Where the array holds another by
    then, the stages that made it run again, if they all may; else the order is refused.
    """

    def __init__(
        self, what: str, stages: tuple[Stage, ...], inputs: tuple[str, ...], outputs: tuple[str, ...]
    ):
        self.what, self.stages = what, stages
        self.forward: list[Act] = []
        self.backward: list[Act] = []
        self._makers: dict[Version, list[int]] = {}
        self._reads: list[set[Version]] = []
        self._makes: list[set[Version]] = []
        self._live = dict.fromkeys(inputs, 0)
        self._plan_forward(inputs, outputs)
        self._plan_backward()
        if missing := [o for o in outputs if o not in self._live]:
            raise EnergyError(f"{what}: no stage writes {', '.join(missing)}")

    def first(self, k: int, array: str) -> bool:
        """Whether stage k is the first to write into an array since that was cleared."""
        return any(self._makers[v][0] == k for v in self._makes[k] if v[0] == array)

    def _plan_forward(self, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        readers: dict[str, int] = {}  # of what the arrays hold now
        for k, stage in enumerate(self.stages):
            for array in stage.read:
                if array not in self._live:
                    raise EnergyError(f"{self._stage(k)} reads '{array}', which no stage before it writes")
                readers[array] = k
            self._reads.append({(array, self._live[array]) for array in stage.read})
            for array in stage.written:
                if array in inputs:
                    raise EnergyError(f"{self._stage(k)} writes '{array}', which is an input")
                if array in outputs and array in readers:
                    by = self._stage(readers[array], False)
                    raise EnergyError(f"{self._stage(k)} writes the output '{array}' after {by} has read it")
                if array not in self._live or array in readers:
                    self._live[array] = self._live.get(array, -1) + 1
                    readers.pop(array, None)
                    self.forward.append(("clear", array))
                self._makers.setdefault((array, self._live[array]), []).append(k)
            self._makes.append({(array, self._live[array]) for array in stage.written})
            self.forward.append(("run", k))

    def _plan_backward(self) -> None:
        for k in reversed(range(len(self.stages))):
            needed = sorted(self._reads[k] | self._makes[k])
            for version in needed:
                self._restore(version, k)
            self._all_live(needed, k)
            self.backward.append(("reverse", k))
            self.backward += [("forget", v[0]) for v in sorted(self._makes[k]) if self._makers[v][0] == k]

    def _restore(self, version: Version, k: int) -> None:
        """Make an array hold a version again, by running all stages that made it, and what else they make."""
        array, filled = version
        if self._live[array] == filled:
            return
        group, makers = self._made_together(version)
        for maker in makers:
            if not self.stages[maker].recompute:
                later = self._makers[(array, filled + 1)][0]
                raise EnergyError(
                    f"{self._stage(later)} overwrites '{array}', which the reverse of {self._stage(k, False)}"
                    f" needs as {self._stage(maker, False)} left it; give one of them an array of its own"
                    " (`rename`), or let the latter be recomputed (`recompute=True`)"
                )
        needed = sorted({v for maker in makers for v in self._reads[maker]} - group)
        for other in needed:
            self._restore(other, k)
        self.backward += [("clear", made) for made, _ in sorted(group)]
        self._live.update(group)
        self._all_live(needed, k)
        self.backward += [("run", maker) for maker in makers]

    def _made_together(self, version: Version) -> tuple[set[Version], list[int]]:
        """The versions that running the makers of one fills, and all their makers in order."""
        group, makers = {version}, set(self._makers[version])
        while not (more := {v for m in makers for v in self._makes[m]}) <= group:
            group |= more
            makers |= {m for v in group for m in self._makers[v]}
        return group, sorted(makers)

    def _all_live(self, needed: Sequence[Version], k: int) -> None:
        for array, filled in needed:
            if self._live[array] != filled:
                raise EnergyError(
                    f"{self.what}: to reverse {self._stage(k, False)}, '{array}' would have to hold two"
                    " things at once; give one of them an array of its own (`rename`)"
                )

    def _stage(self, k: int, full: bool = True) -> str:
        one = f"stage {k + 1} '{self.stages[k].name}'"
        return f"{self.what}: {one}" if full else one


# Binding --------------------------------------------------------------------------------------------


def bind_staged(
    energy: Staged,
    fields: Fields,
    *,
    name: str | None = None,
    renamed: Mapping[str, str] | None = None,
    data: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    units: UnitSystem | None = None,
) -> "StagedTerm":
    """Bind the inputs of a staged energy to the fields, data and parameter values of a scene.

    `sizes` gives numbers to names in shapes. Raises `EnergyError` naming the term and argument.
    """
    name = identifier(name or energy.name, "a term")
    given, known = {**(data or {}), **(parameters or {})}, dict(sizes or {})
    if unknown := [a for a in given if not isinstance(energy.roles.get(a), Datum | Parameter)]:
        raise EnergyError(f"{name}: no datum or parameter named {', '.join(unknown)}")
    bound: dict[str, Field] = {}
    inputs: dict[str, np.ndarray] = {}
    for argument, role in energy.roles.items():
        what = f"{name}.{argument}"
        if isinstance(role, Node):
            bound[argument] = found = fields[(renamed or {}).get(argument, argument)]
            if found.unit != "1" and parse_unit(found.unit).dimension != parse_unit(role.unit).dimension:
                raise EnergyError(f"{what}: field '{found.name}' is in {found.unit}, not {role.unit}")
            _learn(what, (f"n_{argument}", *role.shape), found.shape, known)
        elif not isinstance(role, Time):
            value = given[argument] if argument in given else _default(what, role, units)
            inputs[argument] = _checked(what, value, role)
            _learn(what, role.shape, inputs[argument].shape, known)
    if len(lengths := {len(found) for found in bound.values()}) == 1:
        known.setdefault("n", lengths.pop())
    for array, made in energy.between.items():
        if missing := [axis for axis in made.shape if isinstance(axis, str) and axis not in known]:
            raise EnergyError(
                f"{name}.{array}: nothing says how many '{missing[0]}' is; give it in `sizes`"
                f" (known: {', '.join(f'{axis} = {size}' for axis, size in known.items())})"
            )
    return StagedTerm(name, energy, bound, inputs, known, fields.dtype)


def _learn(what: str, axes: Shape, shape: tuple[int, ...], known: dict[str, int]) -> None:
    """Match a role's axes with the shape found; names that are new are known from now on."""
    for axis, size in zip(axes, shape, strict=False):
        if isinstance(axis, str):
            known.setdefault(axis, size)
    needed = [known.get(axis, axis) if isinstance(axis, str) else axis for axis in axes]
    if list(shape) != needed:
        raise EnergyError(f"{what}: has shape {list(shape)}, needs [{', '.join(map(str, needed))}]")


def _default(what: str, role: Role, units: UnitSystem | None) -> float:
    if not isinstance(role, Parameter) or role.default is None:
        raise EnergyError(f"{what}: has no default; give it a value [{role.unit}]")
    try:
        return (units or UnitSystem.si()).convert(role.default, role.unit)
    except UnitError as error:
        raise EnergyError(f"{what}: its default cannot be used: {error}") from None


def _checked(what: str, value: Any, role: Role) -> np.ndarray:
    found = np.asarray(value)
    if found.dtype.kind not in "iuf" or not found.size or not np.isfinite(found).all():
        raise EnergyError(f"{what}: needs finite numbers")
    if isinstance(role, Parameter) and not role.admits(found.astype(np.float64)):
        low, high = role.bounds
        limits = f"({low:g}, {high:g})" if role.open else f"[{low:g}, {high:g}]"
        raise EnergyError(f"{what}: {value} is not within {limits}{role.reason and f'; {role.reason}'}")
    if not (isinstance(role, Datum) and role.integer):
        return found.astype(np.float64)
    if (np.abs(found) >= 2**31).any() or (found != np.trunc(found)).any():
        raise EnergyError(f"{what}: needs whole numbers below 2^31")
    return found.astype(np.int32)


# Running --------------------------------------------------------------------------------------------


@dataclass
class StagedTerm:
    """A staged energy with its inputs, and the one owner of the arrays that Taichi differentiates.

    `fields` by argument; `inputs`: data and parameters, by argument. Their values are copied in at each call,
    so the fields may live where they like.
    """

    name: str
    energy: Staged
    fields: dict[str, Field]
    inputs: dict[str, np.ndarray]
    sizes: dict[str, int]
    dtype: np.dtype
    _arrays: dict[str, Any] = field(default_factory=dict)
    _engine: int = 0
    _leave: Callable[[], Any] | None = None
    _probed: bool = False

    @property
    def uses_time(self) -> bool:
        """Whether the energy depends on the time explicitly."""
        return bool(self.energy.of_role(Time))

    def value(self, t: float = 0.0) -> float:
        """U: the sum of all outputs."""
        return sum(ordered_sum(values) for values in self.outputs(t).values())

    def outputs(self, t: float = 0.0) -> dict[str, np.ndarray]:
        """The values of each output."""
        self._forward(t)
        return {name: self._values(name) for name in self.energy.outputs}

    def gradient(self, argument: str, t: float = 0.0) -> np.ndarray:
        """dU/d(argument), in its shape: of a field, a parameter, a differentiable datum, or the time."""
        return self.gradients((argument,), t)[argument]

    def gradient_into(self, targets: Mapping[str, Any], t: float = 0.0) -> None:
        """Add dU/d(argument) to each array of `targets`: one forward and one reverse pass for all."""
        for argument, found in self.gradients(tuple(targets), t).items():
            runtime.store(targets[argument], runtime.host(targets[argument]) + found)

    def gradients(
        self, wanted: Sequence[str], t: float = 0.0, seeds: Mapping[str, Any] | None = None
    ) -> dict[str, np.ndarray]:
        """Sum over outputs of seed . d(output)/d(argument), for each argument wanted.

        `seeds`: the derivative of something with respect to each output; left out, that of U, which is 1.
        """
        self._known(wanted, self.energy.differentiable, "derivative with respect to")
        seeds = dict.fromkeys(self.energy.outputs, 1.0) if seeds is None else seeds
        self._known(seeds, self.energy.outputs, "output")
        self._forward(t)
        self._reverse(seeds)
        return {argument: self._values(argument, adjoint=True) for argument in wanted}

    def rate(self, t: float = 0.0) -> float:
        """dU/dt at fixed fields."""
        return sum(float(self.gradient(clock, t)) for clock in self.energy.of_role(Time))

    def set_input(self, argument: str, value: Any) -> None:
        """Give a parameter or datum other values of the same shape."""
        self._known((argument,), tuple(self.inputs), "datum or parameter")
        old = self.inputs[argument]
        self.inputs[argument] = np.broadcast_to(np.asarray(value, old.dtype), old.shape).copy()

    def unsteady(self, t: float = 0.0, repeats: int = 8) -> list[str]:
        """Outputs, and arguments with a gradient, whose bits differ between runs on the same inputs.

        A name here comes from a kernel that adds in parallel: see the head of this file. An empty list is no
        proof, it may be luck in `repeats` runs; on one thread it says nothing.
        """
        runs = [self._bits(t) for _ in range(repeats)]
        return [name for name, bits in runs[0].items() if any(run[name] != bits for run in runs)]

    @property
    def arrays(self) -> dict[str, Any]:
        """All arrays that it holds in the engine, by name; real ones have an adjoint beside them."""
        if self._engine != runtime.started():
            if self._leave:
                self._leave()
            names = dict.fromkeys(a for stage in self.energy.stages for a in stage.arrays.values())
            self._arrays = {name: self._allocated(name) for name in names}
            self._engine = runtime.started()
            self._leave = weakref.finalize(self, _leave, self._arrays, weakref.ref(_engine_now()))
        return self._arrays

    def _known(self, asked: Iterator[str] | Sequence[str] | Mapping, known: Sequence[str], what: str) -> None:
        if unknown := [name for name in asked if name not in known]:
            there = ", ".join(known) or "none"
            raise EnergyError(f"{self.name} has no {what} '{unknown[0]}' (there are: {there})")

    def _bits(self, t: float) -> dict[str, bytes]:
        found = self.gradients(self.energy.differentiable, t)
        found.update({name: self._values(name) for name in self.energy.outputs})
        return {name: values.tobytes() for name, values in found.items()}

    # Forward and reverse

    def _forward(self, t: float) -> None:
        for argument, found in self.fields.items():
            self._put(argument, found.values)
        for argument, values in (self.inputs | dict.fromkeys(self.energy.of_role(Time), np.array(t))).items():
            self._put(argument, values)
        for act, what in self.energy.schedule.forward:
            if act == "run" and not self._probed:
                self._probe(what)
            self._do(act, what)
        self._probed = True

    def _reverse(self, seeds: Mapping[str, Any]) -> None:
        for array in self.arrays.values():
            if array.grad is not None:
                array.grad.fill(0)
        for output, seed in seeds.items():
            _fill(self.arrays[output].grad, np.broadcast_to(seed, self._shape(output)))
        for act, what in self.energy.schedule.backward:
            self._do(act, what)

    def _do(self, act: str, what: Any) -> None:
        match act:
            case "clear":
                self.arrays[what].fill(0)
            case "forget":
                self.arrays[what].grad.fill(0)
            case "run":
                self._run(self.energy.stages[what])
            case "reverse":
                self._run_back(self.energy.stages[what])

    def _run(self, stage: Stage) -> None:
        stage.kernel(*self._passed(stage, stage.kernel))

    def _run_back(self, stage: Stage) -> None:
        if stage.backward is not None:
            stage.backward(*self._passed(stage, stage.backward))
            return
        try:
            stage.kernel.grad(*self._passed(stage, stage.kernel))
        except (RuntimeError, runtime.engine().TaichiCompilationError) as error:
            raise EnergyError(
                f"{self._where(stage)}: Taichi cannot reverse this kernel ({_reason(error)}); split it into"
                " several stages, or give it a `backward`"
            ) from None

    def _passed(self, stage: Stage, function: Callable) -> Iterator[Any]:
        """What a kernel or backward is called with: arrays, their adjoints (`d_x`), numbers."""
        held = {a: self.arrays[array] for a, array in stage.arrays.items()}
        offered = {**{f"d_{a}": array.grad for a, array in held.items()}, **held, **stage.numbers}
        return (offered[argument] for argument in arguments(function))

    # The rules, at first use

    def _probe(self, k: int) -> None:
        """Ask a stage, on the arrays as they are, whether it keeps the rules of reverse mode.

        It runs with what it writes at zero, and with each of these arrays at other numbers, above and below.
        """
        stage = self.energy.stages[k]
        before = {array: self._values(array) for array in (*stage.read, *stage.written)}
        at_zero = self._tried(stage, {}, before)
        for array in stage.written:
            start = _other_numbers(at_zero[array])
            for numbers in (start, -start):
                found = self._tried(stage, {array: numbers}, before)
                self._check_written(k, array, numbers, found, at_zero)
        for array, values in before.items():
            self._put(array, values)

    def _tried(
        self, stage: Stage, starts: Mapping[str, np.ndarray], before: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """What the stage writes, from `starts` (else zero). It must leave alone what it only reads."""
        for array in stage.written:
            self._put(array, starts.get(array, np.zeros_like(before[array])))
        self._run(stage)
        for array in stage.read:
            if self._values(array).tobytes() != before[array].tobytes():
                raise EnergyError(
                    f"{self._where(stage)}: changes '{array}', which it is not declared to write; its reverse"
                    " would work with the changed values: write into an array of its own, and declare it"
                )
        return {array: self._values(array) for array in stage.written}

    def _check_written(
        self,
        k: int,
        array: str,
        start: np.ndarray,
        found: Mapping[str, np.ndarray],
        at_zero: Mapping[str, np.ndarray],
    ) -> None:
        """From `start` in one array, the stage writes what it writes from zero, or that much more."""
        stage, rounding = self.energy.stages[k], np.sqrt(np.finfo(start.dtype).eps)
        for other in stage.written:
            size = float(np.abs(at_zero[other]).max())
            if other != array and not _near(found[other], at_zero[other], rounding * size).all():
                raise EnergyError(
                    f"{self._where(stage)}: what it writes to '{other}' depends on what was in '{array}'"
                    " before, and it writes that, too; make two stages of it"
                )
        rounding *= float(np.abs(start).max())
        overwritten = _near(found[array], at_zero[array], rounding)
        if not (overwritten | _near(found[array], at_zero[array] + start, rounding)).all():
            raise EnergyError(f"{self._where(stage)}: {NEITHER.format(array)}")
        if overwritten.any() and not self.energy.schedule.first(k, array):
            raise EnergyError(
                f"{self._where(stage)}: overwrites '{array}', which a stage before it has written; from the"
                " second write on `+=` is the only way"
            )

    def _where(self, stage: Stage) -> str:
        return f"{self.name}, stage '{stage.name}'"

    # Arrays

    def _shape(self, name: str) -> tuple[int, ...]:
        if name in self.fields:
            return self.fields[name].shape
        if name in self.inputs:
            return self.inputs[name].shape
        axes = self.energy.between[name].shape if name in self.energy.between else ()
        return tuple(self.sizes[axis] if isinstance(axis, str) else axis for axis in axes)

    def _allocated(self, name: str) -> Any:
        """An array as the kernels' annotations want it: type of an element, and number of axes."""
        stated = list(self._annotations(name))
        whole = name in self.inputs and self.inputs[name].dtype.kind == "i"
        kind = self._kind(name, [a.dtype for a in stated if a.dtype is not None], whole)
        element = tuple(kind.get_shape()) if hasattr(kind, "get_shape") else ()
        shape = self._shape(name)
        axes = shape[: len(shape) - len(element)]
        if shape == () and any(a.ndim == 1 for a in stated):
            axes = shape = (1,)
        if axes + element != shape or any(a.ndim not in (None, len(axes)) for a in stated):
            wants = [f"{_described(kind)} on {a.ndim} axes" for a in stated]
            raise EnergyError(
                f"{self.name}: '{name}' has shape {list(shape)}; kernels take it as {', '.join(wants)}"
            )
        return runtime.engine().ndarray(kind, axes, needs_grad=not whole)

    def _kind(self, name: str, stated: Sequence[Any], whole: bool) -> Any:
        """The type of an array's elements: the kernels', else the run's precision."""
        kinds = dict.fromkeys(map(_described, stated))
        if len(kinds) > 1:
            raise EnergyError(f"{self.name}: kernels differ in what '{name}' is: {', '.join(kinds)}")
        ours = "i32" if whole else runtime.ENGINE_DTYPES[self.dtype.name]
        if next(iter(kinds), ours).split()[0] not in (WHOLE if whole else REALS):
            holds = "whole numbers (i32)" if whole else "real numbers, as all that has a derivative"
            raise EnergyError(
                f"{self.name}: a kernel takes '{name}' as {next(iter(kinds))}; it holds {holds}"
            )
        return stated[0] if stated else getattr(runtime.engine(), ours)

    def _annotations(self, name: str) -> Iterator[Any]:
        """How kernels annotate an array; plain Python functions need not say."""
        for stage in self.energy.stages:
            parameters = inspect.signature(stage.kernel).parameters
            for argument in (a for a, array in stage.arrays.items() if array == name):
                annotation = parameters[argument].annotation
                if isinstance(annotation, runtime.engine().types.ndarray):
                    yield annotation
                elif hasattr(stage.kernel, "grad"):
                    raise EnergyError(
                        f"{self._where(stage)}: '{argument}' is to be a ti.types.ndarray, also where it is"
                        " one number: plain numbers and templates have no derivative"
                    )

    def _put(self, name: str, values: np.ndarray) -> None:
        _fill(self.arrays[name], values)

    def _values(self, name: str, adjoint: bool = False) -> np.ndarray:
        array = self.arrays[name].grad if adjoint else self.arrays[name]
        return np.array(array.to_numpy()).reshape(self._shape(name))


def _engine_now() -> Any:
    return runtime.engine().lang.impl.get_runtime()


def _leave(arrays: Mapping[str, Any], engine: Callable[[], Any]) -> None:
    """Forget arrays of an engine that has been started anew since.

    Taichi frees an array by its address, in the engine that runs now: there another may live at that address.
    """
    if engine() is not _engine_now():
        for array in arrays.values():
            for one in (array, array.grad):
                if one is not None:
                    one.arr = None


def _fill(array: Any, values: np.ndarray) -> None:
    """Overwrite an engine's array, whose elements may be vectors."""
    shape = (*array.shape, *getattr(array, "element_shape", ()))
    dtype = next(ours for ours, name in runtime.ENGINE_DTYPES.items() if name == array.dtype.to_string())
    array.from_numpy(np.array(values, dtype, order="C").reshape(shape))


def _described(kind: Any) -> str:
    """An element's type in words: "f64", "f64 (3,)"."""
    if hasattr(kind, "get_shape"):
        return f"{_described(kind.dtype)} {tuple(kind.get_shape())}"
    return kind.to_string() if hasattr(kind, "to_string") else kind.__name__


def _other_numbers(values: np.ndarray) -> np.ndarray:
    """Random numbers larger than all of these, the same at every call."""
    finite = np.abs(values[np.isfinite(values)])
    size = float(finite.max(initial=0.0)) or 1.0
    return (size * np.random.default_rng(0).uniform(1.25, 2.0, values.shape)).astype(values.dtype)


def _near(found: np.ndarray, expected: np.ndarray, rounding: float) -> np.ndarray:
    """Equal but for rounding; what is not finite is somebody else's trouble."""
    with np.errstate(invalid="ignore"):
        return (np.abs(found - expected) <= rounding) | ~np.isfinite(found) | ~np.isfinite(expected)


def _reason(error: BaseException) -> str:
    """The compiler's own words, without its file and line."""
    return str(error).strip().split("\n")[0].split("] ", 1)[-1].strip().rstrip(".")
