"""Staged energies at work: bound to fields, run forward and in reverse.

One place clears, runs forward, clears adjoints, seeds and reverses: this one.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..codegen.derivative_request import DerivativeRequest, Derivatives
from ..energies.fields import Field, Fields, ordered_sum
from ..energies.local_energy import Datum, Node, Parameter, Role, Shape, Time, identifier
from ..energies.node_fields import check_unit
from ..energies.parameter_values import default_of
from ..energies.staged_energy import Stage, Staged, arguments
from ..energies.term_spec import refuse_strange
from ..engine import runtime, storage
from ..errors import EnergyError
from ..lint.stage_rules import NEITHER, check_stacks
from ..scene.units import UnitSystem

REALS, WHOLE = ("f32", "f64"), ("i32",)


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
    refuse_strange(name, renamed or {}, energy.of_role(Node))
    given, known = {**(data or {}), **(parameters or {})}, dict(sizes or {})
    if unknown := [a for a in given if not isinstance(energy.roles.get(a), Datum | Parameter)]:
        raise EnergyError(f"{name}: no datum or parameter named {', '.join(unknown)}")
    bound: dict[str, Field] = {}
    inputs: dict[str, np.ndarray] = {}
    for argument, role in energy.roles.items():
        what = f"{name}.{argument}"
        if isinstance(role, Node):
            bound[argument] = found = fields[(renamed or {}).get(argument, argument)]
            check_unit(what, found, role)
            _learn(what, (f"n_{argument}", *role.shape), found.shape, known)
        elif not isinstance(role, Time):
            value = given[argument] if argument in given else default_of(what, role, units)
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


def _checked(what: str, value: Any, role: Role) -> np.ndarray:
    found = np.asarray(value)
    if found.dtype.kind not in "iuf" or not found.size or not np.isfinite(found).all():
        raise EnergyError(f"{what}: needs finite numbers")
    if isinstance(role, Parameter) and not role.admits(found.astype(np.float64)):
        raise EnergyError(f"{what}: {value} is not {role.limits()}")
    if not (isinstance(role, Datum) and role.integer):
        return found.astype(np.float64)
    if (np.abs(found) >= 2**31).any() or (found != np.trunc(found)).any():
        raise EnergyError(f"{what}: needs whole numbers below 2^31")
    return found.astype(np.int32)


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
    writes_every_node: ClassVar[bool] = False
    """A sweep adds to the arrays of gradients, and never begins them anew."""
    _arrays: dict[str, Any] = field(default_factory=dict)
    _engine: int = 0
    _probed: bool = False

    def twin(self, fields: Fields) -> "StagedTerm":
        """The same term over other fields of the same names; data and parameters copied as they are now."""
        bound = {a: fields[f.name] for a, f in self.fields.items()}
        inputs = {a: values.copy() for a, values in self.inputs.items()}
        return StagedTerm(self.name, self.energy, bound, inputs, self.sizes, self.dtype)

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

    def sweep(self, wanted: DerivativeRequest, t: float = 0.0) -> Derivatives:
        """All that is wanted of the term. Raises `EnergyError` for changes: it has no second derivatives."""
        if wanted.product or wanted.changes:
            raise EnergyError(
                f"{self.name}: a staged energy has first derivatives only, because Taichi reverses its"
                " kernels once; for second ones write it as a local energy, or as maps and one"
            )
        found = (
            self.gradients((*wanted.gradient, *wanted.slopes), t) if wanted.gradient or wanted.slopes else {}
        )
        for argument, target in wanted.gradient.items():
            storage.store(target, storage.host(target) + found[argument])
        value = self.value(t) if wanted.value else 0.0
        return Derivatives(value, {a: found[a] for a in wanted.slopes})

    def gradient(self, argument: str, t: float = 0.0) -> np.ndarray:
        """dU/d(argument), in its shape: of a field, a parameter, a differentiable datum, or the time."""
        return self.gradients((argument,), t)[argument]

    def gradient_into(self, targets: Mapping[str, Any], t: float = 0.0) -> None:
        """Add dU/d(argument) to each array of `targets`: one forward and one reverse pass for all."""
        for argument, found in self.gradients(tuple(targets), t).items():
            storage.store(targets[argument], storage.host(targets[argument]) + found)

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

    def magnitude(self, t: float = 0.0) -> float:
        """Sum of |output|: the scale of the rounding in U, as far as it is known."""
        return sum(ordered_sum(np.abs(values)) for values in self.outputs(t).values())

    def shape(self, argument: str) -> tuple[int, ...]:
        """Of a datum or parameter."""
        return self.inputs[argument].shape

    def parameter(self, argument: str) -> np.ndarray:
        """The values of a parameter."""
        self._known((argument,), tuple(self.energy.of_role(Parameter)), "parameter")
        return self.inputs[argument].copy()

    def set_parameter(self, argument: str, value: Any) -> None:
        """Give a parameter other values of the same shape."""
        self.set_input(argument, value)

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
            names = dict.fromkeys(a for stage in self.energy.stages for a in stage.arrays.values())
            self._arrays = {name: self._allocated(name) for name in names}
            self._engine = runtime.started()
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
                _clear(array.grad)
        for output, seed in seeds.items():
            _fill(self.arrays[output].grad, np.broadcast_to(seed, self._shape(output)))
        for act, what in self.energy.schedule.backward:
            self._do(act, what)

    def _do(self, act: str, what: Any) -> None:
        match act:
            case "clear":
                _clear(self.arrays[what])
            case "forget":
                _clear(self.arrays[what].grad)
            case "run":
                self._run(self.energy.stages[what])
            case "reverse":
                self.run_back(self.energy.stages[what])

    def _run(self, stage: Stage) -> None:
        stage.kernel(*self._passed(stage, stage.kernel))

    def run_back(self, stage: Stage) -> None:
        """One stage in reverse, from the adjoints as they are."""
        if stage.backward is not None:
            stage.backward(*self._passed(stage, stage.backward))
            return
        try:
            with runtime.deep_stacks():
                stage.kernel.grad(*self._passed(stage, stage.kernel))
        except runtime.refusals() as error:
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
        if stage.backward is None:
            check_stacks(self._where(stage), stage, {a: self.arrays[n] for a, n in stage.arrays.items()})
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
        return storage.ndarray(kind, axes, needs_grad=not whole)

    def _kind(self, name: str, stated: Sequence[Any], whole: bool) -> Any:
        """The type of an array's elements: the kernels', else the run's precision."""
        kinds = dict.fromkeys(map(_described, stated))
        if len(kinds) > 1:
            raise EnergyError(f"{self.name}: kernels differ in what '{name}' is: {', '.join(kinds)}")
        ours = "i32" if whole else storage.ENGINE_DTYPES[self.dtype.name]
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


def _fill(array: Any, values: np.ndarray) -> None:
    """Overwrite an engine's array, whose elements may be vectors."""
    shape = (*array.shape, *getattr(array, "element_shape", ()))
    dtype = next(ours for ours, name in storage.ENGINE_DTYPES.items() if name == array.dtype.to_string())
    array.from_numpy(np.array(values, dtype, order="C").reshape(shape))


def _clear(array: Any) -> None:
    """Zeros everywhere. The engine's own `fill` compiles a kernel at each call, if elements are vectors."""
    if getattr(array, "element_shape", ()):
        _fill(array, np.zeros((*array.shape, *array.element_shape)))
    else:
        array.fill(0)


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
    """The compiler's own words, without file and line: the first, or the last where a trace comes first."""
    lines = str(error).strip().split("\n")
    return lines[-1 if lines[0].endswith(":") else 0].split("] ", 1)[-1].strip().rstrip(".")
