"""Recording of kernel launches of a file: arrays are reset, launches recorded, and reversed last to first.

    forward     the file's function or kernels, from the same start every time
    reverse     adjoints cleared, that of the loss set to 1, `kernel.grad()` of every launch, last to first
                (what `ti.ad.Tape` does, which however clears those of fields only), or the file's own way

Arrays are all fields and `ti.ndarray`s that are alive once the file is loaded and `before` has run, or when
its tape was entered (`program_arrays`), and the NumPy arrays and tensors that its kernels are given.

Decisions 0084.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from ..engine import runtime
from ..errors import UserError, suggestion, unknown
from . import sparse_cells
from .case import ArrayTable, Case, InputTable
from .program_arrays import HostArray, ProgramArray, alive, host_memory, is_host_array, unwrap_tensor


@dataclass(frozen=True)
class RecordedLaunch:
    """A recorded launch: the engine's kernel, its Python function and its arguments."""

    kernel: Any
    arguments: tuple[Any, ...]
    before: dict[int, np.ndarray] = field(repr=False)
    after: dict[int, np.ndarray] = field(repr=False)
    """Values of arrays before and after it, by their handles' `id`; empty where `unread`."""
    active: dict[int, np.ndarray] = field(default_factory=dict, repr=False)
    """The active cells of sparse fields before it, by their handles' `id`."""
    activated: tuple[int, ...] = ()
    """The handles, by `id`, of sparse fields whose active cells it changed."""
    surroundings: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = field(default=(), repr=False)
    """Scopes of the file (globals, attributes of objects), and their numbers at the launch."""
    own_reverse: Callable[[], None] | None = None
    """The reverse that replaces the engine's."""
    inside: str = ""
    """The function of `ti.ad.no_grad` that launched it; "" for none."""
    where: str = ""
    """The line of its file that launched it, file:line; "" for another file."""
    unread: bool = False
    """True if the arrays were not read, because there are too many launches, or numbers."""

    @property
    def changed_names(self) -> dict[str, Any]:
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

    def __init__(self, handles: Sequence[ProgramArray], aliases: Sequence[ProgramArray] = ()):
        self.handles, self.aliases = list(handles), list(aliases)
        self.intended: frozenset[str] = frozenset()
        """Functions and arrays whose derivative the file leaves out, or replaces, on purpose."""

    def of(self, array: Any) -> ProgramArray | None:
        """The array of the file with the memory of this one; None if it is unknown."""
        array = unwrap_tensor(array)
        for handle in (*self.handles, *self.aliases):
            if handle.array is array:
                return self._memory_owner(handle)
        if is_host_array(array):
            place = host_memory(array)
            return next((h for h in self.handles if place in h.places), None)
        return None

    def _memory_owner(self, alias: ProgramArray) -> ProgramArray:
        """The array that owns all of the memory of another one; itself if there is none."""
        return next((h for h in self.handles if h.places == alias.places), alias)

    def take(self, arguments: Sequence[Any]) -> None:
        """Add the NumPy arrays and tensors among the arguments of a kernel, at their present values."""
        for value in arguments:
            if is_host_array(value) and all(h.array is not value for h in (*self.handles, *self.aliases)):
                shared = self.of(value) is not None
                made = HostArray("", value)
                made.settle()
                (self.aliases if shared else self.handles).append(made)

    def reset(self, values: dict[int, np.ndarray] | None = None) -> None:
        """Give all arrays these values, by handle (None: those at the start); cells active since are not."""
        moved = [h for h in self.handles if h.sparse and not _same_cells(h.active, h.start_active)]
        for handle in moved:
            handle.erase()  # an inactive cell keeps its number, and has it again when it is activated
        for node in {sparse_cells.top(h.snode)._id: sparse_cells.top(h.snode) for h in moved}.values():
            node.deactivate_all()
        for handle in self.handles:
            handle.write_values(handle.start if values is None else values.get(id(handle), handle.start))

    def run_alone(self, launch: RecordedLaunch, weights: dict[int, np.ndarray]) -> None:
        """Run one kernel forward and reverse, from adjoints of its outputs, by handle."""
        self.reset(launch.before)
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
        self.steps += [self._array_named(name, "forward") for name in self.table.forward]
        self.own_gradient = (
            self._array_named(self.table.gradient, "gradient") if self.table.gradient else case.own
        )
        if not self.steps and self.own_gradient is None:
            raise UserError(f"{case.name}: has no functions to run; give it `forward`, a list of functions")
        self.arguments: dict[str, Any] = {}
        self.reversing: Any = None
        """The kernel whose reverse is being run."""
        self.narrow = "float64"
        """The type of fewest digits that a kernel casts a number to."""
        self.unfollowed: Exception | None = None
        """Why the run cannot be replayed, once that is known."""
        here = alive(vars(module)) if case.found is None else case.found
        super().__init__(here.owners, here.aliases)
        self.intended = frozenset(self.table.intended)
        if case.found is None:
            for handle in self.handles:
                handle.settle()
        else:
            self.reset()
        self._found = [(handle, handle.start, handle.start_active) for handle in self.handles]
        for name in self.table.before:
            self._array_named(name, "before")()
        self._made_arguments()
        self._fill_arrays(rng)
        self.loss = self._loss_array()
        self.inputs = [self.handle(name, "inputs") for name in self._wanted_inputs()]
        for handle in self.handles:
            handle.settle()
        self.tables = {h.name: self.table.inputs.get(h.name, InputTable()) for h in self.inputs}

    # Arrays and functions of the file

    def handle(self, name: str, what: str) -> ProgramArray:
        """An argument, or a field of the file, by its name."""
        for handle in self.handles:
            if name == handle.name or name in handle.names:
                return handle
        for alias in self.aliases:
            if name in alias.names:
                owners = (h.name for h in self.handles if set(alias.places) <= set(h.places))
                owner = next(owners, "") or "another array"
                raise UserError(f"{self.case.name}: {what}: '{name}' is part of '{owner}'; name that one")
        known = [h.name for h in self.handles if h.name]
        raise UserError(f"{self.case.name}: {what}: {unknown('array', name, known)}")

    def _array_named(self, name: str, what: str) -> Callable:
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
                made = self._make_array(name, kind, table)
                self.arguments[name] = made
                self.handles.append(ProgramArray(name, made))
            elif parameter.default is inspect.Parameter.empty:
                raise UserError(f"{self.case.name}: argument '{name}' has no value; give it in `numbers`")

    def _make_array(self, name: str, kind: Any, table: ArrayTable | None) -> Any:
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

    def _fill_arrays(self, rng: np.random.Generator) -> None:
        """Set initial values of arrays by their tables; an input of zeros gets random numbers."""
        tables: dict[str, ArrayTable] = {**self.table.arrays, **self.table.inputs}
        for name, table in tables.items():
            handle = self.handle(name, "inputs" if name in self.table.inputs else "arrays")
            handle.start = handle.values
            if table.start is not None:
                handle.write_values(np.broadcast_to(np.asarray(table.start), handle.start.shape))
            elif isinstance(table, InputTable) and not handle.start.any():
                handle.write_values(table.scale * rng.normal(size=handle.start.shape))

    def _loss_array(self) -> ProgramArray:
        if self.case.loss is not None:
            taped = self.of(self.case.loss)
            if taped is None:
                raise UserError(f"{self.case.name}: the loss of the tape is no array that can be read")
            found = taped
        elif self.table.loss is not None:
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

    def _wanted_inputs(self) -> Sequence[str]:
        """The inputs: those named, else every array with a name and a gradient that may reach the loss."""
        if self.table.inputs:
            return tuple(self.table.inputs)
        found = [h for h in self.handles if h.name and h is not self.loss and h.adjoint is not None]
        return [h.name for h in found]

    # Running

    def set(self, handle: ProgramArray, values: np.ndarray) -> None:
        """Set the initial values of an input: those that a run reads before it overwrites them."""
        values = np.array(values, handle.start.dtype)
        handle.start = values if handle.read is None else np.where(handle.read, values, handle.start)

    def begin(self) -> None:
        """Reset all arrays to their start; inputs to the values that were set."""
        self.reset()

    def leave(self) -> None:
        """Restore the arrays of the file, for the next case."""
        for handle, start, start_active in self._found:
            handle.start, handle.start_active, handle.read = start, start_active, None
        self.reset()

    def value(self) -> float:
        """The loss, after a run forward from the start."""
        self.begin()
        self.run()
        return self._observed_loss()

    def second_value(self) -> float:
        """The loss after a second call; only the inputs and the loss are reset between the calls.

        An inferred input of zeros is no input here: it may be a sum that each call must begin anew.
        """
        given = [h for h in self.inputs if self.table.inputs or h.start.any()]
        for handle in (*given, self.loss):
            handle.write_values(handle.start)
        for name in self.table.before:
            self._array_named(name, "before")()
        self.run()
        return self._observed_loss()

    @property
    def overwrites_loss(self) -> bool:
        """True if a call overwrites its loss, so that it may be called again."""
        if self.case.guessed:
            return False
        first = self.value()
        self.begin()
        self.loss.write_values(self.loss.start + 1.0)
        self.run()
        return self._observed_loss() == first

    def _observed_loss(self) -> float:
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

    def recorded_run(self) -> tuple[list[RecordedLaunch], list[tuple[Any, tuple]]]:
        """Run forward; returns every launch, and the calls that a tape would reverse."""
        with launch_log(self, read=self.unfollowed is None) as launches:
            taken = self._run_taped()
        return launches, taken

    def _run_taped(self) -> list[tuple[Any, tuple]]:
        """Run forward; returns the calls that a tape would reverse."""
        self.begin()
        taken: list[tuple[Any, tuple]] = []
        with _calls_on_tape(taken):
            self.run()
        return taken

    def gradients(self, taken: Sequence[tuple[Any, tuple]] | None = None) -> dict[str, np.ndarray | None]:
        """The gradient of the loss with respect to each input, computed by the file's kernels."""
        if self.own_gradient is not None:
            self.begin()
            self.own_gradient()
        else:
            taken = self._run_taped() if taken is None else taken
            self.clear()
            self.loss.seed(1.0)
            for kernel, arguments in reversed(taken):
                self.reversing = kernel if hasattr(kernel, "func") else None
                kernel.grad(*arguments)
            self.reversing = None
        runtime.sync()
        return {handle.name: _of_read(handle) for handle in self.inputs}


MOST_ARRAYS, MOST_NUMBERS = 8_000, 100_000_000
"""The arrays, and the numbers in them, that are read before and after launches: a few seconds."""


def _same_cells(now: np.ndarray, before: np.ndarray | None) -> bool:
    return before is not None and bool((now == before).all())


def _of_read(handle: ProgramArray) -> np.ndarray | None:
    """The gradient of an input, zero where its values are overwritten before they are read."""
    found = handle.gradient
    return found if found is None or handle.read is None else np.where(handle.read, found, 0.0)


@contextmanager
def launch_log(
    arrays: Arrays, modes: Sequence[str] = ("NONE",), read: bool = True
) -> Iterator[list[RecordedLaunch]]:
    """Record every kernel launched forward within the block, with the values of arrays before and after.

    After `MOST_ARRAYS` arrays, or `MOST_NUMBERS` numbers, launches are `unread`; all are, if not `read`.
    """
    launches: list[RecordedLaunch] = []
    count, numbers = 0, 0 if read else MOST_NUMBERS

    def intercepted(kernel: Any, run: Callable[[], Any], arguments: tuple[Any, ...]) -> Any:
        if kernel.autodiff_mode.name not in modes:
            return run()
        nonlocal count, numbers
        function = inspect.unwrap(kernel.func)
        with unobserved():
            arrays.take(arguments)
        handles = list(arrays.handles)
        if count >= MOST_ARRAYS or numbers >= MOST_NUMBERS:
            where = line_in(function)
            launches.append(RecordedLaunch(kernel, arguments, {}, {}, where=where, unread=True))
            return run()
        with unobserved():
            before = {id(h): h.values for h in handles}
            count, numbers = count + len(handles), numbers + sum(v.size for v in before.values())
            sparse = [h for h in (*handles, *arrays.aliases) if h.sparse]
            active = {id(h): h.active for h in sparse}
        around = tuple(_surrounding_numbers(function.__globals__, arguments))
        found = run()
        with unobserved():
            after = {id(h): h.values for h in handles}
            changed = tuple(id(h) for h in sparse if not _same_cells(h.active, active[id(h)]))
        made = RecordedLaunch(
            kernel,
            arguments,
            before,
            after,
            active,
            (),
            around,
            inside=_skipping_function(),
            where=line_in(function),
        )
        launches.append(replace(made, activated=changed))
        return found

    with around_kernels(intercepted):
        yield launches


@contextmanager
def unobserved() -> Iterator[None]:
    """Hide the kernels that run within the block from forward mode, which would differentiate them."""
    state = runtime.part("lang.impl").get_runtime()
    manager, state.fwd_mode_manager = state.fwd_mode_manager, None
    try:
        yield
    finally:
        state.fwd_mode_manager = manager


@contextmanager
def around_kernels(intercepted: Callable[[Any, Callable[[], Any], tuple[Any, ...]], Any]) -> Iterator[None]:
    """Replace the launch of a kernel, or of its reverse, by `intercepted(kernel, run, arguments)`."""
    kernels = runtime.part("lang.kernel_impl").Kernel
    called = kernels.__call__

    def call(kernel: Any, *arguments: Any, **named: Any) -> Any:
        run = partial(called, kernel, *arguments, **named)
        return (
            run() if _is_internal(kernel) else intercepted(kernel, run, _in_order(kernel, arguments, named))
        )

    kernels.__call__ = call
    try:
        yield
    finally:
        kernels.__call__ = called


def _skipping_function() -> str:
    """The name of the `ti.ad.no_grad` function that runs now; "" for none."""
    tape = runtime.part("lang.impl").get_runtime()
    if not tape.grad_replaced or not isinstance(tape.target_tape, _Taker) or not tape.target_tape.taken:
        return ""
    wrapper = tape.target_tape.taken[-1][0]
    return custom_name(wrapper) if is_skipped(wrapper) else ""


def is_skipped(wrapper: Any) -> bool:
    """True for a function wrapped in `ti.ad.no_grad`."""
    return "no_grad" in getattr(wrapper, "__qualname__", "")


def custom_function(wrapper: Any) -> Callable:
    """The function under `ti.ad.grad_replaced` or `ti.ad.no_grad`."""
    return inspect.unwrap(inspect.getclosurevars(wrapper).nonlocals.get("func", wrapper))


def custom_name(wrapper: Any) -> str:
    return custom_function(wrapper).__name__


def _in_order(kernel: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of a call by position: keywords and defaults, too."""
    try:
        call = inspect.signature(inspect.unwrap(kernel.func)).bind(*arguments, **named)
    except TypeError:  # the engine says it better
        return arguments
    call.apply_defaults()
    return call.args


def line_in(function: Callable) -> str:
    """The line of the function's file that runs now, file:line; "" for another file."""
    file, frame = function.__code__.co_filename, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return "" if frame is None else f"{file}:{frame.f_lineno}"


def _surrounding_numbers(scope: dict[str, Any], arguments: Sequence[Any]) -> Iterator[tuple[dict, dict]]:
    """The global numbers of a file, and those in its objects."""
    objects = {id(o): o for o in (*arguments, *scope.values()) if type(o).__module__ == scope.get("__name__")}
    for place in (scope, *(vars(o) for o in objects.values() if hasattr(o, "__dict__"))):
        yield place, {n: v for n, v in place.items() if isinstance(v, (int, float)) and n[:2] != "__"}


COPIES = ("tensor_to_tensor", "ndarray_to_ndarray")
"""Kernels of the engine that copy one array to another; their launches are reversed, too."""


def _is_internal(kernel: Any) -> bool:
    """True for a kernel of the engine, such as those that copy fields to NumPy."""
    home = getattr(kernel.func, "__module__", "") or ""
    of_engine = home.split(".")[0] in runtime.PREFIXES and kernel.func.__name__ not in COPIES
    return of_engine or home == sparse_cells.__name__


class _Taker:
    """What the engine takes for a tape."""

    grad_checker = None  # read when Python writes to a field

    def __init__(self, taken: list[tuple[Any, tuple]]):
        self.taken = taken

    def insert(self, function: Any, arguments: tuple) -> None:
        if not (hasattr(function, "func") and _is_internal(function)):
            self.taken.append((function, arguments))


@contextmanager
def _calls_on_tape(taken: list[tuple[Any, tuple]]) -> Iterator[None]:
    """The calls that a tape would record, custom gradients (`ti.ad.grad_replaced`) included."""
    state = runtime.part("lang.impl").get_runtime()
    state.target_tape = _Taker(taken)
    try:
        yield
    finally:
        state.target_tape = None
