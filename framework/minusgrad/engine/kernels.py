"""Source text to compiled kernels: written once, compiled once for all sizes, called with arrays.

A `Code` is a piece of a kernel: loops as text, and the arrays they name. Pieces can be concatenated or put
inside a loop. Kernels are cached by their text, which states every type, and by the running engine.

Decisions 0200, 0207, 0208, 0219, 0220, 0264.
"""

import hashlib
import linecache
import math
import re
import symtable
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from logging import getLogger
from textwrap import indent
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import DeviceError, EnergyError
from . import (
    device_functions,
    device_refusals,
    random,
    runtime,
    slices,
    special_functions,
    storage,
    vector_functions,
)
from .lane_blocks import Blocks, kernel_view
from .slices import SlicePace, Slices
from .storage import ArraySlot

logger = getLogger("minusgrad")

MOST_ARRAYS = 59
"""Taichi kernels have at most 64 arguments; up to five are scalars."""
MOST_IN_A_LOOP = 32
"""Arrays of a loop on Vulkan: the buffers of a shader on software devices, which end the process beyond."""
GRAIN = 512
"""The least number of iterations of a parallel loop that one thread takes at once."""
GROUP = 8
"""Short jobs, each a microsecond or two, that one thread takes at once."""
SHORT = 1 << 14
"""Statements of a flat loop that one thread executes in the time that it takes to wake others."""

SCALARS = {
    "t": "ti.f64",
    "t0": "ti.f64",
    "dt": "ti.f64",
    "h": "ti.f64",
    "first": "ti.f64",
    "number": "ti.f64",
    "begun": "ti.f64",
    "ended": "ti.f64",
    "steps": "ti.i32",
    "at": "ti.i32",
    "iteration": "ti.i32",
    slices.BEGIN: "ti.i32",
    slices.END: "ti.i32",
}
"""Scalar arguments a kernel may take."""


@dataclass(frozen=True)
class Code:
    """Loops as text, and the arrays that the text names; `slices`: how a launch of it can be divided.

    `aliases`: the names of arrays in a kernel of this code alone, so that equal loops are compiled once.
    `alone`: the names of arrays that hold the numbers of these loops after the launch of a larger kernel.
    """

    text: str
    arrays: Mapping[str, Any] = field(default_factory=dict)
    slices: Slices | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)
    alone: frozenset[str] = frozenset()

    @classmethod
    def joined(cls, pieces: "Iterable[Code]") -> "Code":
        """The pieces one after another; equal names must mean the same array."""
        text: list[str] = []
        arrays: dict[str, Any] = {}
        divided: list[Slices | None] = []
        for piece in pieces:
            divided += [piece.slices] * bool(piece.text)
            text.append(piece.text)
            for name, array in piece.arrays.items():
                held = arrays.setdefault(name, array)
                assert held is array, f"two arrays named {name}"
        return cls("".join(text), arrays, divided[0] if len(divided) == 1 else None)

    @classmethod
    def merged(
        cls, pieces: "Iterable[Code]", known: Mapping[str, Any] = MappingProxyType({}), prefix: str = "a"
    ) -> "Code":
        """The pieces one after another, with one name for each array, whatever the pieces call it.

        The engines take two arguments of a kernel for different memory: of one array under two names they
        may read what it was before a write. known: arrays that have names already, in a larger kernel;
        prefix: begins the names of the others there.
        """
        text: list[str] = []
        arrays: dict[str, Any] = {}
        names = {id(array): name for name, array in known.items()}
        count = len(names)
        for piece in pieces:
            used = {name: array for name, array in piece.arrays.items() if name in words(piece.text)}
            new = {
                name: names.setdefault(id(a), f"{prefix}{len(names) - count}_{name}")
                for name, a in used.items()
            }
            arrays |= {new[name]: array for name, array in used.items()}
            parts = re.split(r"(\w+)", piece.text)
            text += [new.get(part, part) for part in parts]
        return cls("".join(text), arrays)

    def naming(self, **arrays: Any) -> "Code":
        """The same loops, with additional named arrays."""
        return Code(self.text, {**self.arrays, **arrays}, self.slices, self.aliases)

    def aliased(self) -> "Code":
        """The same loops under the names of `aliases`."""
        if not self.aliases:
            return self
        text = re.sub(r"\w+", lambda word: self.aliases.get(word[0], word[0]), self.text)
        arrays = {self.aliases.get(name, name): array for name, array in self.arrays.items()}
        assert len(arrays) == len(self.arrays), f"two arrays of one name: {self.aliases}"
        return Code(text, arrays, self.slices)

    def inside(self, header: str) -> "Code":
        """The same loops as the body of `header`."""
        return Code(f"{header}\n{indent(self.text, '    ')}", self.arrays)


class BoundKernel:
    """A kernel made from a Code, with its arrays: call it with the scalars it takes.

    A long one is launched in slices (`slices`), between which Ctrl-C is heard. exact: without `fast_math`.
    straight: long code without branches, which LLVM alone optimises.
    """

    def __init__(self, code: Code, *scalars: str, exact: bool = False, straight: bool = False):
        if len(code.arrays) > MOST_ARRAYS:
            raise EnergyError(
                f"kernel: needs at most {MOST_ARRAYS} arrays, got {len(code.arrays)}; put several numbers"
                " of an element into one Datum of shape (k,)"
            )
        code = code.aliased()
        if runtime.arch() == "vulkan":
            _refuse_wide_loops(code)
        self._pace: SlicePace | None = None
        if code.slices is not None and code.slices.long(code.text):
            self._pace = SlicePace(code.slices.jobs, 4 * runtime.threads())
            code = Code(code.slices.of(code.text), code.arrays)
            scalars = (*scalars, slices.BEGIN, slices.END)
        self.arrays, self.scalars = tuple(map(kernel_view, code.arrays.values())), scalars
        self.source, self._exact, self._straight = _kernel_source(code, scalars), exact, straight
        self._bound: Callable[..., None] | None = None
        self._life: Any = None

    def __call__(self, *scalars: float) -> None:
        if self._pace is None:
            self._launch(*scalars)
        else:
            self._pace.run(partial(self._launch_slice, scalars))

    def seconds(self, *scalars: float) -> float:
        """The time of a launch, from slices of a fifth of a second; 0 if it is not launched in slices.

        It leaves the output incomplete.
        """
        if self._pace is None:
            return 0.0
        self._pace.run(partial(self._launch_slice, scalars), 0.0)  # compiles
        began = time.perf_counter()
        part = self._pace.run(partial(self._launch_slice, scalars), 0.2)
        return (time.perf_counter() - began) / part

    def _launch_slice(self, scalars: tuple[float, ...], begin: int, end: int) -> None:
        self._launch(*scalars, begin, end)
        if runtime.arch() != "cpu":
            runtime.sync()  # so that the time is that of the slice

    def _launch(self, *scalars: float) -> None:
        if self._bound is None or self._life is not _engine_life():
            logger.debug("compiling kernels ...")
            cpu = runtime.arch() == "cpu"
            vectors = runtime.whole_vectors() if cpu and "ti.Vector(" in self.source else nullcontext()
            arithmetic = runtime.exact_arithmetic() if self._exact else nullcontext()
            whole = runtime.left_to_llvm() if cpu and self._straight else nullcontext()
            positions, texts = runtime.short_positions(), runtime.texts_at_hand()
            refused = device_refusals.in_words("kernel")
            with vectors, arithmetic, whole, positions, texts, refused, runtime.no_flow_analysis():
                self._bound = _bind_kernel(_compiled_kernel(self.source), self.arrays, self.scalars)
                self._bound(*scalars)  # compiles at the first call
            logger.debug("")
            self._life = _engine_life()
        else:
            self._bound(*scalars)


class KernelCache:
    """Kernels by name, each made from its Code at the first launch; exact: without `fast_math`."""

    def __init__(self, exact: bool = False) -> None:
        self._made: dict[str, BoundKernel | None] = {}
        self._exact = exact

    def __call__(self, name: str, code: Callable[[], Code], *scalars: Any) -> None:
        """Launch a kernel: names of its scalars, then their values; does nothing without loops."""
        half = len(scalars) // 2
        if name not in self._made:
            made = code()
            self._made[name] = BoundKernel(made, *scalars[:half], exact=self._exact) if made.text else None
        if launch := self._made[name]:
            launch(*scalars[half:])


def dealt(job: str, count: str, lines: Iterable[str]) -> list[str]:
    """A parallel loop over jobs, one thread each."""
    if runtime.arch() != "cpu":
        return [f"for {job} in range({count}):", *(f"    {line}" for line in lines)]
    return [
        f"for turn in range(({count}) * {GRAIN}):",
        f"    if turn & {GRAIN - 1} == 0:",
        f"        {job} = turn // {GRAIN}",
        *(f"        {line}" for line in lines),
    ]


def dealt_in_groups(job: str, count: str, lines: Iterable[str]) -> list[str]:
    """`dealt` with `GROUP` jobs at a time, for short jobs: the empty turns of one take 130 ns."""
    if runtime.arch() != "cpu":
        return dealt(job, count, lines)
    first = f"turn // {GRAIN} * {GROUP}"
    return [
        f"for turn in range(({count} + {GROUP - 1}) // {GROUP} * {GRAIN}):",
        f"    if turn & {GRAIN - 1} == 0:",
        f"        for {job} in range({first}, ti.min({first} + {GROUP}, {count})):",
        *(f"            {line}" for line in lines),
    ]


def _kernel_source(code: Code, scalars: tuple[str, ...]) -> str:
    arguments = [f"{name}: {_array_annotation(kernel_view(array))}" for name, array in code.arrays.items()]
    arguments += [f"{name}: {SCALARS[name]}" for name in scalars]
    return f"def kernel({', '.join(arguments)}):\n{indent(code.text, '    ')}"


@lru_cache(maxsize=256)
def words(text: str) -> frozenset[str]:
    """The names in a text, and its keywords and numbers."""
    return frozenset(re.findall(r"\w+", text))


def _array_annotation(array: Any) -> str:
    array = array.own if isinstance(array, ArraySlot) else array
    if isinstance(array, Blocks):
        vector = f"ti.types.vector({array.shape[-1]}, ti.{storage.ENGINE_DTYPES[array.dtype.name]})"
        return f"ti.types.ndarray(dtype={vector}, ndim={array.ndim - 1})"
    if isinstance(array, np.ndarray):
        dtype, ndim = storage.ENGINE_DTYPES[array.dtype.name], array.ndim
    else:
        dtype, ndim = array.dtype.to_string(), len(array.shape)
        if lanes := getattr(array, "element_shape", ()):
            return f"ti.types.ndarray(dtype=ti.types.vector({lanes[0]}, ti.{dtype}), ndim={ndim})"
    return f"ti.types.ndarray(dtype=ti.{dtype}, ndim={ndim})"


_compiled: dict[tuple[str, int], Callable] = {}


def _compiled_kernel(source: str) -> Callable:
    """The kernel of this source for the running engine; compiled at its first call."""
    key = (source, runtime.start_count())
    if key not in _compiled:
        for stale in [k for k in _compiled if k[1] != key[1]]:
            del _compiled[stale]
        ti = device_functions.language(runtime.engine(), runtime.arch())
        if runtime.arch() != "cpu":
            source = _with_shifts(source)
        file = f"<minusgrad {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        scope: dict[str, Any] = {
            "ti": ti,
            **special_functions.helpers(ti, source),
            **vector_functions.helpers(ti, source),
        }
        scope |= random.helpers(ti, source)
        names = shadowed_arguments(source)
        assert not names, f"locals and arguments of a kernel share names: {names}"
        exec(compile(source, file, "exec"), scope)
        _compiled[key] = runtime.function_kernel(scope["kernel"])
    return _compiled[key]


def _with_shifts(source: str) -> str:
    """The source with shifts in place of divisions by powers of two in the bounds of parallel loops.

    The compilers to SPIR-V have no division of whole numbers there.
    """

    def shifted(header: re.Match[str]) -> str:
        return re.sub(r"// (\d+)", _shift_division, header[0])

    return re.sub(r"^    for .*:$", shifted, source, flags=re.M)


def _shift_division(division: re.Match[str]) -> str:
    divisor = int(division[1])
    return division[0] if divisor & (divisor - 1) else f">> {divisor.bit_length() - 1}"


def shadowed_arguments(source: str) -> list[str]:
    """The arguments of kernels that their own statements assign to: none, or two names would be one."""
    tables = symtable.symtable(source, "<kernel>", "exec").get_children()
    kernels = [table for table in tables if isinstance(table, symtable.Function)]
    return sorted(a for kernel in kernels for a in kernel.get_parameters() if kernel.lookup(a).is_assigned())


def _engine_life() -> Any:
    """An object that every start of the engine replaces: kernels bound under another one are stale."""
    return runtime.engine().lang.impl.get_runtime()


def _bind_kernel(kernel: Callable, arrays: tuple[Any, ...], scalars: tuple[str, ...]) -> Callable[..., None]:
    """The kernel with its arrays, to be called with the scalars.

    The engines check every argument at every call, which takes 10 us or more per array. NumPy arrays keep
    their memory, so they are passed to the engine once; the array of a slot is passed again when it changes.
    """
    if runtime.arch() != "cpu" or not all(_memory_stays(array) for array in arrays):
        return _bound_on_device(kernel, arrays, scalars)
    newer, program = runtime.engine_name() == "quadrants", _engine_life().prog
    made = _engine_kernel(kernel._primal, newer, [_array_in_use(a) for a in arrays], scalars)  # type: ignore[attr-defined]
    context = made.make_launch_context()
    code = program.compile_kernel(program.config(), program.get_device_caps(), made)
    code = code.compiled_kernel_data if newer else code
    places: list[Any] = [place if newer else (place,) for place in range(len(arrays) + len(scalars))]
    show = context.set_arg_external_array_with_shape
    for place, array in zip(places, map(_array_in_use, arrays), strict=False):
        shape = array.shape[:-1] if isinstance(array, Blocks) else array.shape
        show(place, array.ctypes.data, array.nbytes, shape, 0)
    seats = [(k, seat, places[k]) for k, seat in enumerate(arrays) if type(seat) is ArraySlot]
    shown = [(getattr(array, "address", None), array.shape) for array in arrays]
    put = [
        partial(context.set_arg_int if SCALARS[name] == "ti.i32" else context.set_arg_float, place)
        for name, place in zip(scalars, places[len(arrays) :], strict=True)
    ]

    def launch(*values: float) -> None:
        for one, value in zip(put, values, strict=True):
            one(value)
        for k, seat, place in seats:
            address, shape = shown[k]
            if address != seat.address or shape is not seat.shape:
                size = math.prod(seat.shape) * seat.own.itemsize
                show(place, seat.address, size, seat.shape, 0)
                shown[k] = seat.address, seat.shape
        program.launch_kernel(code, context)

    return launch


def _bound_on_device(
    kernel: Callable, arrays: tuple[Any, ...], scalars: tuple[str, ...]
) -> Callable[..., None]:
    """As `_bind_kernel`, for arrays of the engine on Vulkan and Metal; others are passed at every call.

    So are those of CPU and CUDA, whose launches overwrite the arguments of a context.
    """

    def passed(*values: float) -> None:
        present = [_array_in_use(array) for array in arrays]
        _refuse_host_memory(present)
        kernel(*present, *values)

    shown = [_array_in_use(array) for array in arrays]
    _refuse_host_memory(shown)
    if runtime.arch() not in device_functions.DEVICES or not all(_is_engines(array) for array in shown):
        return passed
    newer, program = runtime.engine_name() == "quadrants", _engine_life().prog
    made = _engine_kernel(kernel._primal, newer, shown, scalars)  # type: ignore[attr-defined]
    context = made.make_launch_context()
    code = program.compile_kernel(program.config(), program.get_device_caps(), made)
    code = code.compiled_kernel_data if newer else code
    places: list[Any] = [place if newer else (place,) for place in range(len(arrays) + len(scalars))]

    def show(place: Any, array: Any) -> None:
        if newer:
            context.set_args_ndarray((place,), (array,))
        else:
            context.set_arg_ndarray(place, array)

    for place, array in zip(places, shown, strict=False):
        show(place, array.arr)
    seats = [(k, seat) for k, seat in enumerate(arrays) if type(seat) is ArraySlot]
    put = [
        partial(context.set_arg_int if SCALARS[name] == "ti.i32" else context.set_arg_float, place)
        for place, name in zip(places[len(arrays) :], scalars, strict=True)
    ]

    def launch(*values: float) -> None:
        for k, seat in seats:
            if seat.at is not shown[k]:
                _refuse_host_memory([seat.at])
                if not _is_engines(seat.at):
                    passed(*values)
                    return
                show(places[k], seat.at.arr)
                shown[k] = seat.at
        for one, value in zip(put, values, strict=True):
            one(value)
        program.launch_kernel(code, context)

    return launch


def _refuse_host_memory(arrays: Iterable[Any]) -> None:
    """Raise `DeviceError` for a NumPy array on a device, which the engines would copy at each launch."""
    if runtime.arch() == "cpu":
        return
    if host := [array for array in arrays if isinstance(array, np.ndarray)]:
        shapes = ", ".join(str(list(array.shape)) for array in host)
        raise DeviceError(
            f"kernel: takes arrays of the device alone on arch = '{runtime.arch()}', got NumPy's of shape"
            f" {shapes}; make them by `storage.allocate`"
        )


def _is_engines(array: Any) -> bool:
    """True for an array in the engine's own memory, without a gradient of its own."""
    return hasattr(array, "arr") and getattr(array, "grad", None) is None


def _refuse_wide_loops(code: Code) -> None:
    """Raise `EnergyError` for a loop, which is a shader of its own, of more arrays than Vulkan may take."""
    for loop in re.split(r"^(?=\S)", code.text, flags=re.M):
        if (count := len(words(loop) & code.arrays.keys())) > MOST_IN_A_LOOP:
            raise EnergyError(
                f"kernel: a loop on Vulkan takes at most {MOST_IN_A_LOOP} arrays, got {count}; put several"
                ' numbers of an element into one Datum of shape (k,), or use arch = "cpu"'
            )


def _engine_kernel(primal: Any, newer: bool, arrays: Sequence[Any], scalars: tuple[str, ...]) -> Any:
    """The engine's own kernel, compiled for arrays of these types."""
    if newer:
        primal.raise_on_templated_floats = _engine_life().prog.config().raise_on_templated_floats
    key = primal.ensure_compiled(*arrays, *[0 for _ in scalars])
    return (primal.materialized_kernels if newer else primal.compiled_kernels)[key]


def _array_in_use(array: Any) -> Any:
    """The array itself; for a slot, the array in use."""
    return array.at if isinstance(array, ArraySlot) else array


def _memory_stays(array: Any) -> bool:
    """True if its memory, or that of the array in use, is NumPy's."""
    array = array.own if isinstance(array, ArraySlot) else array
    return isinstance(array, np.ndarray) and array.flags.c_contiguous


def compiled_count() -> int:
    """The number of compiled kernels, for tests that no size causes a recompilation."""
    return sum(started == runtime.start_count() for _, started in _compiled)


def short_loops_serial(code: Code) -> Code:
    """The code, whose short loops do not use the pool of threads, and compute the same numbers.

    Waking the pool takes 10 us, in which one thread executes some `SHORT` statements. Loops of up to `GRAIN`
    turns are left to one thread in any case.
    """
    if runtime.arch() != "cpu" or (code.slices is not None and code.slices.long(code.text)):
        return code
    shapes = {name: kernel_view(array) for name, array in code.arrays.items()}
    text = ""
    for loop in re.split(r"^(?=\S)", code.text, flags=re.M):
        header = re.match(r"for \w+ in range\(((?:\w+\.shape\[0\]|[-+*/ ()\d])+)\):\n", loop)
        turns = eval(header[1], {}, shapes) if header else math.inf
        flat = loop.count("for ") == 1
        short = turns <= GRAIN or (flat and turns * loop.count("\n") <= SHORT)
        text += f"ti.loop_config(serialize=True)\n{loop}" if short else loop
    return replace(code, text=text, slices=None)


def on_one_thread(code: Code, work: int, most: int = 1 << 17) -> Code:
    """The code, whose loops one thread executes if there is little work: so many statements, or fewer.

    For loops that `short_loops_serial` cannot count. The numbers are the same.
    """
    if runtime.arch() != "cpu" or work > most:
        return code
    return replace(code, text=re.sub(r"^(?=for )", "ti.loop_config(serialize=True)\n", code.text, flags=re.M))


def at_each(name: str, array: Any, *lines: str) -> str:
    """A loop over the nodes n of an array, with the lines for every component, {at} its index."""
    places = [", ".join(["n", *map(str, c)]) for c in np.ndindex(tuple(array.shape[1:]))]
    body = "".join(f"    {line.format(at=at)}\n" for at in places for line in lines)
    return f"for n in range({name}.shape[0]):\n{body}"


def copy_loops(into: Any, array: Any) -> Code:
    """Loops that overwrite an array with another of its shape."""
    return Code(at_each("into", into, "into[{at}] = source[{at}]"), {"into": into, "source": array})


def add_loops(into: Any, array: Any) -> Code:
    """Loops that add an array to another of its shape."""
    return Code(at_each("into", into, "into[{at}] = into[{at}] + part[{at}]"), {"into": into, "part": array})


def zero_loops(name: str, array: Any) -> Code:
    """Loops that set an array to zero."""
    return Code(at_each(name, array, f"{name}[{{at}}] = 0.0"), {name: array})


def real(dtype: np.dtype) -> str:
    """The engine's name of a precision, such as "ti.f32"; for the text of kernels."""
    return f"ti.{storage.ENGINE_DTYPES[dtype.name]}"
