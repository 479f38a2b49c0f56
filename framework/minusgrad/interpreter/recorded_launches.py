"""Recording of kernel launches of a file: arrays are reset, launches recorded, and reversed last to first.

    forward     the file's function or kernels, from the same start every time
    reverse     adjoints cleared, that of the loss set to 1, `kernel.grad()` of every launch, last to first
                (what `ti.ad.Tape` does, which however clears those of fields only), or the file's own way

Arrays are all fields and `ti.ndarray`s that are alive once the file is loaded and `before` has run.
"""

import gc
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import ModuleType
from typing import Any

import numpy as np

from ..engine import runtime
from ..errors import UserError, suggestion, unknown
from .case import ArrayTable, Case, InputTable


@dataclass(eq=False)
class Handle:
    """An array of the file, or an argument: a field or a `ti.ndarray`."""

    name: str
    array: Any
    start: np.ndarray = field(repr=False, default_factory=lambda: np.zeros(0))
    """Its values at the start of every run."""

    @property
    def values(self) -> np.ndarray:
        return np.array(self.array.to_numpy())

    def put(self, values: np.ndarray) -> None:
        self.array.from_numpy(np.array(values, self.start.dtype, order="C"))

    @cached_property
    def adjoint(self) -> Any:
        """The array of its adjoint, or None. (A field without one has a `grad` that is no array.)"""
        snode = getattr(self.array, "snode", None)
        return None if snode is not None and not snode.ptr.has_adjoint() else self.array.grad

    @property
    def gradient(self) -> np.ndarray | None:
        """Its adjoint's numbers, if it has one."""
        return None if self.adjoint is None else np.array(self.adjoint.to_numpy())

    def seed(self, values: Any) -> None:
        """Give its adjoint these numbers. (`fill` compiles a kernel at every call.)"""
        shape = np.broadcast_shapes(self.start.shape, np.shape(values))
        self.adjoint.from_numpy(np.full(shape, values, self.start.dtype))

    @property
    def element(self) -> tuple[int, ...]:
        """The shape of an element: () of numbers."""
        return self.start.shape[len(self.array.shape) :]

    @property
    def real(self) -> bool:
        return self.start.dtype.kind == "f"


@dataclass(frozen=True)
class RecordedLaunch:
    """A recorded launch: the engine's kernel, its Python function and its arguments."""

    kernel: Any
    arguments: tuple[Any, ...]
    before: dict[int, np.ndarray] = field(repr=False)
    after: dict[int, np.ndarray] = field(repr=False)
    """Values of arrays before and after it, by their handles' `id`."""
    surroundings: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = field(default=(), repr=False)
    """Scopes of the file (globals, attributes of objects), and their numbers at the launch."""
    own_reverse: Callable[[], None] | None = None
    """The reverse that replaces the engine's."""
    where: str = ""
    """The line of its file that launched it, file:line; "" for another file."""

    @property
    def moved(self) -> dict[str, Any]:
        """The names whose numbers have changed since."""
        return {n: v for place, kept in self.surroundings for n, v in kept.items() if place.get(n) != v}

    @contextmanager
    def as_it_was(self) -> Iterator[None]:
        """Restore the numbers of its surroundings within the block."""
        now = [(place, {n: place[n] for n in kept if n in place}) for place, kept in self.surroundings]
        for place, kept in self.surroundings:
            place.update(kept)
        try:
            yield
        finally:
            for place, there in now:
                place.update(there)

    @property
    def function(self) -> Callable:
        return inspect.unwrap(self.kernel.func)

    def reverse(self) -> None:
        """Run the reverse from the present adjoints."""
        if self.own_reverse is None:
            self.kernel.grad(*self.arguments)
        else:
            self.own_reverse()

    @property
    def name(self) -> str:
        return self.function.__name__


class Arrays:
    """Arrays that kernels work on, and their adjoints."""

    def __init__(self, handles: Sequence[Handle]):
        self.handles = list(handles)

    def alone(self, launch: RecordedLaunch, weights: dict[int, np.ndarray]) -> None:
        """Run one kernel forward and reverse, from adjoints of its outputs, by handle."""
        for handle in self.handles:
            handle.put(launch.before[id(handle)])
        self.clear()
        for handle in self.handles:
            if id(handle) in weights:
                handle.seed(weights[id(handle)])
        launch.kernel(*launch.arguments)
        launch.reverse()

    def clear(self) -> None:
        """Set all adjoints to zero."""
        for handle in self.handles:
            if handle.adjoint is not None:
                handle.seed(0.0)


class Recording(Arrays):
    """A case of a file, bound to the file's arrays.

    Raises `UserError` for names that the file does not have, and for arguments without a shape.
    """

    def __init__(self, module: ModuleType, case: Case, rng: np.random.Generator):
        self.module, self.case, self.table = module, case, case.table
        self.steps = [case.function] if case.function is not None else []
        self.steps += [self._named(name, "forward") for name in self.table.forward]
        self.own_gradient = self._named(self.table.gradient, "gradient") if self.table.gradient else None
        if not self.steps and self.own_gradient is None:
            raise UserError(f"{case.name}: has no functions to run; give it `forward`, a list of functions")
        self.arguments: dict[str, Any] = {}
        self.reversing: Any = None
        """The kernel whose reverse is being run."""
        super().__init__(_alive(module))
        self._found = [(handle, handle.values) for handle in self.handles]
        for name in self.table.before:
            self._named(name, "before")()
        self._made_arguments()
        self._filled(rng)
        self.loss = self._loss()
        self.inputs = [self.handle(name, "inputs") for name in self._wanted()]
        for handle in self.handles:
            handle.start = handle.values
        self.tables = {h.name: self.table.inputs.get(h.name, InputTable()) for h in self.inputs}

    # Arrays and functions of the file

    def handle(self, name: str, what: str) -> Handle:
        """An argument, or a field of the file, by its name."""
        for handle in self.handles:
            if handle.name == name:
                return handle
        known = [h.name for h in self.handles if h.name]
        raise UserError(f"{self.case.name}: {what}: {unknown('array', name, known)}")

    def _named(self, name: str, what: str) -> Callable:
        found: Any = self.module
        for part in name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            known = [n for n, v in vars(self.module).items() if callable(v) and not n.startswith("_")]
            raise UserError(f"{self.case.name}: {what}: no function named '{name}'{suggestion(name, known)}")
        return found

    def _made_arguments(self) -> None:
        """Arrays for the arguments of a decorated kernel."""
        ti = runtime.engine()
        function = self.case.function
        if function is None:
            return
        tables: dict[str, ArrayTable] = {**self.table.arrays, **self.table.inputs}
        for name, parameter in inspect.signature(inspect.unwrap(function)).parameters.items():
            kind = parameter.annotation
            if name in self.table.numbers:
                self.arguments[name] = self.table.numbers[name]
            elif isinstance(kind, ti.types.ndarray):
                table = tables.get(name, ArrayTable(shape=()) if name == self.table.loss else None)
                made = self._made(name, kind, table)
                self.arguments[name] = made
                self.handles.append(Handle(name, made))
            elif parameter.default is inspect.Parameter.empty:
                raise UserError(f"{self.case.name}: argument '{name}' has no value; give it in `numbers`")

    def _made(self, name: str, kind: Any, table: ArrayTable | None) -> Any:
        if table is None or (table.shape is None and table.start is None):
            raise UserError(f"{self.case.name}: array '{name}' has no shape; give it in `inputs` or `arrays`")
        shape = table.shape if table.shape is not None else np.asarray(table.start).shape
        dtype = kind.dtype or (runtime.engine().f64)
        element = tuple(dtype.get_shape()) if hasattr(dtype, "get_shape") else ()
        axes = shape[: len(shape) - len(element)]
        if axes == () and kind.ndim == 1 and name == self.table.loss:
            axes = (1,)
        if (element and shape[len(axes) :] != element) or kind.ndim not in (None, len(axes)):
            wants = f"{kind.ndim} axes" + (f" of elements {list(element)}" if element else "")
            raise UserError(
                f"{self.case.name}: array '{name}' must have {wants}, got shape {list(shape)}; change it in"
                " `inputs` or `arrays`"
            )
        base = dtype.dtype if element else dtype
        real = base.to_string() in ("f16", "f32", "f64") if hasattr(base, "to_string") else True
        return runtime.engine().ndarray(dtype, axes, needs_grad=real and kind.needs_grad is not False)

    def _filled(self, rng: np.random.Generator) -> None:
        """Set initial values of arrays by their tables; an input of zeros gets random numbers."""
        tables: dict[str, ArrayTable] = {**self.table.arrays, **self.table.inputs}
        for name, table in tables.items():
            handle = self.handle(name, "inputs" if name in self.table.inputs else "arrays")
            handle.start = handle.values
            if table.start is not None:
                handle.put(np.broadcast_to(np.asarray(table.start), handle.start.shape))
            elif isinstance(table, InputTable) and not handle.start.any():
                handle.put(table.scale * rng.normal(size=handle.start.shape))

    def _loss(self) -> Handle:
        if self.table.loss is not None:
            found = self.handle(self.table.loss, "loss")
        else:
            single = [h for h in self.handles if h.values.size == 1 and h.adjoint is not None]
            if len(single) != 1:
                names = ", ".join(h.name for h in single) or "none"
                raise UserError(
                    f"{self.case.name}: the loss must be the only array of one number with a gradient, got"
                    f" {names}; name it in `loss`"
                )
            found = single[0]
        if found.values.size != 1:
            raise UserError(
                f"{self.case.name}: the loss '{found.name}' must be one number, got shape"
                f" {list(found.values.shape)}; sum it in a kernel"
            )
        return found

    def _wanted(self) -> Sequence[str]:
        """The inputs: those named, else every array with a gradient that holds numbers at the start."""
        if self.table.inputs:
            return tuple(self.table.inputs)
        found = [h.name for h in self.handles if h.adjoint is not None and h.values.any()]
        found = [name for name in found if name and name != self.loss.name]
        if not found:
            raise UserError(f"{self.case.name}: has no inputs to differentiate; name them in `inputs`")
        return found

    # Running

    def set(self, handle: Handle, values: np.ndarray) -> None:
        """Set the initial values of an input."""
        handle.start = np.array(values, handle.start.dtype)

    def begin(self) -> None:
        """Reset all arrays to their start; inputs to the values that were set."""
        for handle in self.handles:
            handle.put(handle.start)

    def leave(self) -> None:
        """Restore the arrays of the file, for the next case."""
        for handle, values in self._found:
            handle.array.from_numpy(values)

    def value(self) -> float:
        """The loss, after a run forward from the start."""
        self.begin()
        self.run()
        return self._seen()

    def second_value(self) -> float:
        """The loss after a second call; only the inputs and the loss are reset between the calls."""
        for handle in (*self.inputs, self.loss):
            handle.put(handle.start)
        for name in self.table.before:
            self._named(name, "before")()
        self.run()
        return self._seen()

    @property
    def overwrites_loss(self) -> bool:
        """True if a call overwrites its loss, so that it may be called again."""
        if self.case.guessed:
            return False
        first = self.value()
        self.begin()
        self.loss.put(self.loss.start + 1.0)
        self.run()
        return self._seen() == first

    def _seen(self) -> float:
        runtime.sync()
        return float(self.loss.values.reshape(-1)[0])

    def run(self) -> None:
        """Run forward from the present values of the arrays."""
        if not self.steps:
            assert self.own_gradient is not None
            self.own_gradient()
        for step in self.steps:
            names = inspect.signature(inspect.unwrap(step)).parameters
            step(*(self.arguments[n] for n in names if n in self.arguments))

    def recorded(self) -> tuple[list[RecordedLaunch], list[tuple[Any, tuple]]]:
        """Run forward; returns every launch, and the calls that a tape would reverse."""
        with launch_log(self.handles) as launches:
            taken = self._taken()
        return launches, taken

    def _taken(self) -> list[tuple[Any, tuple]]:
        """Run forward; returns the calls that a tape would reverse."""
        self.begin()
        taken: list[tuple[Any, tuple]] = []
        with _taped(taken):
            self.run()
        return taken

    def gradients(self, taken: Sequence[tuple[Any, tuple]] | None = None) -> dict[str, np.ndarray | None]:
        """The gradient of the loss with respect to each input, computed by the file's kernels."""
        if self.own_gradient is not None:
            self.begin()
            self.own_gradient()
        else:
            taken = self._taken() if taken is None else taken
            self.clear()
            self.loss.seed(1.0)
            for kernel, arguments in reversed(taken):
                self.reversing = kernel if hasattr(kernel, "func") else None
                kernel.grad(*arguments)
            self.reversing = None
        runtime.sync()
        return {handle.name: handle.gradient for handle in self.inputs}


def _alive(module: ModuleType) -> list[Handle]:
    """Every array that is alive, except adjoints, with its name in the file if it has one."""
    kinds = (runtime.part("lang.field").Field, runtime.part("lang._ndarray").Ndarray)
    found = [one for one in gc.get_objects() if isinstance(one, kinds)]
    adjoints = {id(one.grad) for one in found if one.grad is not None}
    adjoints |= {id(dual) for one in found if (dual := getattr(one, "dual", None)) is not None}
    primal = [one for one in found if id(one) not in adjoints and _readable(one)]
    names = _names(vars(module))
    return [Handle(names.get(id(one), ""), one) for one in primal]


def _readable(array: Any) -> bool:
    """True for an array of numbers of the running engine that is not an adjoint."""
    try:
        array.to_numpy()
        return hasattr(array, "grad")
    except Exception:  # of an engine that has ended, never placed, or sparse
        return False


def _names(scope: dict[str, Any], prefix: str = "") -> dict[int, str]:
    """Names of arrays, including those of objects of the file."""
    found: dict[int, str] = {}
    for name, value in scope.items():
        if not name.startswith("__"):
            found.setdefault(id(value), prefix + name)
            inside = getattr(value, "__dict__", None)
            home = type(value).__module__.split(".")[0]
            if not prefix and isinstance(inside, dict) and home == scope.get("__name__"):
                found |= _names(inside, f"{name}.")
    return found


@contextmanager
def launch_log(handles: Sequence[Handle]) -> Iterator[list[RecordedLaunch]]:
    """Record every kernel launched forward within the block, with the values of arrays before it."""
    launches: list[RecordedLaunch] = []

    def intercepted(kernel: Any, run: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
        if kernel.autodiff_mode.name != "NONE":
            return run()
        before = {id(h): h.values for h in handles}
        function = inspect.unwrap(kernel.func)
        around = tuple(_around(function.__globals__, arguments))
        found = run()
        after = {id(h): h.values for h in handles}
        launches.append(RecordedLaunch(kernel, arguments, before, after, around, where=line_in(function)))
        return found

    with around_kernels(intercepted):
        yield launches


@contextmanager
def around_kernels(intercepted: Callable[[Any, Callable[[], Any], tuple[Any, ...]], Any]) -> Iterator[None]:
    """Replace the launch of a kernel, or of its reverse, by `intercepted(kernel, run, arguments)`."""
    kernels = runtime.part("lang.kernel_impl").Kernel
    called = kernels.__call__

    def call(kernel: Any, *arguments: Any, **named: Any) -> Any:
        run = partial(called, kernel, *arguments, **named)
        return run() if _internal(kernel) else intercepted(kernel, run, arguments)

    kernels.__call__ = call
    try:
        yield
    finally:
        kernels.__call__ = called


def line_in(function: Callable) -> str:
    """The line of the function's file that runs now, file:line; "" for another file."""
    file, frame = function.__code__.co_filename, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return "" if frame is None else f"{file}:{frame.f_lineno}"


def _around(scope: dict[str, Any], arguments: Sequence[Any]) -> Iterator[tuple[dict, dict]]:
    """The global numbers of a file, and those in its objects."""
    objects = {id(o): o for o in (*arguments, *scope.values()) if type(o).__module__ == scope.get("__name__")}
    for place in (scope, *(vars(o) for o in objects.values() if hasattr(o, "__dict__"))):
        yield place, {n: v for n, v in place.items() if isinstance(v, (int, float)) and n[:2] != "__"}


COPIES = ("tensor_to_tensor", "ndarray_to_ndarray")
"""Kernels of the engine that copy one array to another; their launches are reversed, too."""


def _internal(kernel: Any) -> bool:
    """True for a kernel of the engine, such as those that copy fields to NumPy."""
    return (
        kernel.func.__name__ not in COPIES
        and (getattr(kernel.func, "__module__", "") or "").split(".")[0] in runtime.PREFIXES
    )


@contextmanager
def _taped(taken: list[tuple[Any, tuple]]) -> Iterator[None]:
    """The calls that a tape would record, custom gradients (`ti.ad.grad_replaced`) included."""
    state = runtime.part("lang.impl").get_runtime()

    class Taker:
        grad_checker = None  # read when Python writes to a field

        def insert(self, function: Any, arguments: tuple) -> None:
            if not (hasattr(function, "func") and _internal(function)):
                taken.append((function, arguments))

    state.target_tape = Taker()
    try:
        yield
    finally:
        state.target_tape = None
