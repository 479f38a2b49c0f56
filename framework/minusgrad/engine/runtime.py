"""The engine: the compiler of all kernels. No other module imports or starts it.

    taichi      Taichi itself
    quadrants   its maintained fork: the same language, a newer LLVM (`pip install "minusgrad[quadrants]"`)

`engine()` is the module; other code uses `from minusgrad import ti`. A process has one engine, chosen at its
first use: the requested one (a scene's `[runtime] engine`, or that of the run to resume), else that of the
variable MINUSGRAD_ENGINE, else Taichi, else Quadrants where Taichi is not installed. "auto" is that variable,
else Quadrants if it is installed. Their results differ in the last bits, so a run is resumed with the engine
that started it. Likewise the architecture: the requested one, else that of the variable MINUSGRAD_ARCH, else
the CPU; there is no fallback.

`start` may be called again for the next scene: kernels are recompiled at their next call; fields keep their
values, because their arrays do not belong to the engine. Fields of the engine itself (`ti.field`) do: a
kernel that reads one after a restart ends the process, in Taichi alone too.

Decisions 0203, 0204, 0205, 0206, 0207, 0214, 0216, 0219, 0340.
"""

import gc
import io
import math
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ..errors import RuntimeUnavailableError, pip_line, unknown
from . import device_functions, device_limits, devices, lane_blocks, memory
from .loading import late_import, source_texts, standard_streams

ARCHS = ("cpu", "cuda", "vulkan", "metal")
AUTO = "auto"
ENGINE = RLock()
"""The engine serves one thread at a time: callers with threads of their own hold this lock."""
VARIABLE, ARCH_VARIABLE = "MINUSGRAD_ENGINE", "MINUSGRAD_ARCH"
PREFIXES = {"taichi": "TI_", "quadrants": "QD_"}
"""The engines, and the prefixes of their environment variables."""
_OWN: dict[str, dict[str, Any]] = {"taichi": {}, "quadrants": {"ad_stack_experimental_enabled": True}}
"""Settings of one engine: without this stack Quadrants cannot reverse nested loops; other kernels are
unaffected."""
_ADDRESSES = 1_200_000_000
"""The bytes of address space that the engines reserve at their start."""
THREADS_A_CORE, FEW_THREADS = 4, 256
"""The most threads for each core; a machine with few cores may have so many, as a scene of another asks."""
_DEEP, PLACES = 1024, 31
"""Size of a deep stack; number of safe pushes on Taichi's own, which has 32 entries."""
_POSITIONS = {
    "taichi": ("ASTTransformerContext", "get_pos_info"),
    "quadrants": ("ASTTransformerFuncContext", "_build_pos_info"),
}
"""Class and method that format the source position of a syntax node."""
_READERS = {
    "taichi": ("lang.kernel_impl", "lang.kernel_impl"),
    "quadrants": ("lang._wrap_inspect", "lang._func_base"),
}
"""The modules that read the text of a function, and that set its lines."""
_FREE = ("OFFLINE_CACHE", "VISIBLE_DEVICE", "LIB_DIR")
"""An engine's variables that change no result: the folder of its cache, and its device."""


@dataclass(frozen=True)
class Options:
    """Options of `start`. `engine`, `arch` None: those of the process. `threads` 0: all cores. `device`: its
    number among those of the architecture; None: the first one.

    A scene's seed is not an option: random numbers are functions of it (`random`), so scenes of different
    seeds share a started engine. `ti.random` in a user's kernel does not depend on it.
    """

    engine: str | None = None
    arch: str | None = None
    threads: int = 0
    fast_math: bool = True
    device: int | None = None


class _Running:
    """The engine of this process: its name, module, options, and number of starts."""

    name: str = ""
    module: ModuleType | None = None
    options: Options | None = None
    starts: int = 0


def engine(name: str | None = None) -> ModuleType:
    """The engine's module, chosen at first use: the named one, or by the rule in this module's docstring.

    It is imported when its first attribute is read.

    Raises `RuntimeUnavailableError` for an unknown engine, one that is not installed, or another one than
    the process has.
    """
    if _Running.module is None or late_import.failed:
        late_import.failed.clear()
        chosen = _choose_engine(name)
        _Running.module = _import_engine(chosen)
        _Running.name = chosen
    elif name not in (None, AUTO) and _known_engine(name) != _Running.name:
        raise RuntimeUnavailableError(
            f"this process computes with engine '{_Running.name}'; '{name}' needs a process of its own"
        )
    return _Running.module


def engine_name() -> str:
    """The name of the engine of this process: "taichi" or "quadrants"."""
    engine()
    return _Running.name


def part(path: str) -> ModuleType:
    """A submodule of the engine, such as "lang.field"."""
    return import_module(f"{engine().__name__}.{path}")


def refusals() -> tuple[type[Exception], ...]:
    """The exceptions of the engine for kernels that it cannot compile."""
    return RuntimeError, getattr(engine(), f"{engine_name().capitalize()}CompilationError")


def _choose_engine(name: str | None) -> str:
    """The engine for this request, in a process that has none yet."""
    if name in (None, AUTO) and (set_ := os.environ.get(VARIABLE)):
        if set_ not in (AUTO, *PREFIXES):
            raise RuntimeUnavailableError(f"{VARIABLE}: {unknown('engine', set_, (*PREFIXES, AUTO))}")
        name = set_
    if name == AUTO:
        return "quadrants" if find_spec("quadrants") else "taichi"
    return _known_engine(name or _default_engine())


def _default_engine() -> str:
    """Taichi, or Quadrants where it alone is installed: Taichi has no wheels for all platforms."""
    return "quadrants" if find_spec("taichi") is None and find_spec("quadrants") else "taichi"


def _default_arch() -> str:
    """The architecture that MINUSGRAD_ARCH names, else the CPU."""
    named = os.environ.get(ARCH_VARIABLE) or "cpu"
    if named not in ARCHS:
        raise RuntimeUnavailableError(f"{ARCH_VARIABLE}: {unknown('architecture', named, ARCHS)}")
    return named


def _known_engine(name: str) -> str:
    if name not in PREFIXES:
        raise RuntimeUnavailableError(unknown("engine", name, PREFIXES))
    return name


def _import_engine(name: str) -> ModuleType:
    os.environ.setdefault(f"ENABLE_{name.upper()}_HEADER_PRINT", "0")
    if "HOME" not in os.environ:  # both engines end the process without it
        import tempfile

        os.environ["HOME"] = os.path.expanduser("~") if _has_home() else tempfile.gettempdir()
    _refuse_small_address_space()  # an import of Quadrants ends the process there
    try:
        return late_import.imported_late(name, _import_of_engine, _set_up)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        line = "pip install 'minusgrad'" if name == "taichi" else pip_line(name)
        raise RuntimeUnavailableError(f"engine '{name}' is not installed; {line}") from None


@contextmanager
def _import_of_engine() -> Iterator[None]:
    """The context of an engine's import.

    Taichi's question for its newest version is left out, which `start` forbids in any case: its modules of
    the network take a sixth of the import. Its sources warn from Python 3.12 on where they are not compiled
    yet, as after an installation by uv.
    """
    unasked = ModuleType("taichi._version_check")
    unasked.start_version_check_thread = lambda: None  # type: ignore[attr-defined]
    sys.modules.setdefault(unasked.__name__, unasked)
    with _muted_streams(), source_texts.lines_of_frames(), warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield


def _set_up(module: ModuleType) -> None:
    """Prepare an engine that was imported."""
    name = module.__name__
    if name == "taichi":
        _arrays_end_with_their_engine(module)
    with source_texts.lines_of_frames(), suppress(ModuleNotFoundError):  # an engine imports it late
        import_module(f"{name}.lang.matrix_ops")
    module.lang.impl.get_runtime().set_default_fp(module.f64)  # for types in files read before `start`
    module.set_logging_level(module.ERROR)  # a search for a driver warns


@contextmanager
def _muted_streams() -> Iterator[None]:
    """In a notebook, whose `sys.stdout` is not the process's, the engines greet it on the descriptor 2."""
    if sys.stdout is sys.__stdout__:
        yield
        return
    with standard_streams.mute_descriptor(2):
        yield


def _has_home() -> bool:
    """True if the user of this process has a folder to write in, although HOME is not set."""
    return os.access(os.path.expanduser("~"), os.W_OK)


def start(options: Options | None = None) -> None:
    """Make the engine run with these options; nothing happens if it already does.

    `force_scalarize_matrix`: without it both engines give wrong values after writes to vector elements in
    an `if`. `default_fp` is f64 always: emitted kernels state every type, so scenes of both precisions
    share a process, and untyped literals in kernels of users keep their digits.

    Raises `RuntimeUnavailableError` if the process has another engine, or if the machine does not have the
    architecture; the process can then start another.
    """
    if options is None and _Running.options is not None:
        return
    options = options or Options()
    ti = engine(options.engine)
    options = replace(options, engine=_Running.name, arch=options.arch or _default_arch())
    if options == _Running.options:
        return
    if options.arch not in ARCHS:
        raise RuntimeUnavailableError(unknown("architecture", str(options.arch), ARCHS))
    assert options.arch
    if options.arch == "cpu" and options.device is not None:
        raise RuntimeUnavailableError(
            f"device: needs an arch other than 'cpu', got {options.device}; leave it out"
        )
    refuse_many_threads(options.threads)
    absent = f"arch '{options.arch}' is not available on this machine"
    if not is_there(options.arch):
        raise RuntimeUnavailableError(f'{absent}; use arch = "cpu"')
    _Running.options = None
    _refuse_small_address_space()
    if _Running.starts:  # what is garbage now, and would be freed in the next engine, ends with its own
        gc.collect()
    try:
        _init_engine(ti, options)
    except RuntimeError as error:
        raise RuntimeUnavailableError(_start_failure_text(options, absent, str(error).strip())) from None
    except (MemoryError, OSError) as error:
        raise RuntimeUnavailableError(
            _start_failure_text(options, absent, str(error).strip() or "no memory")
        ) from None
    _Running.options = options
    _Running.starts += 1
    if options.arch in device_functions.DEVICES:
        try:
            device_limits.refuse_short_loops(ti, options.arch)
        except RuntimeUnavailableError:
            _Running.options = None
            raise


def end() -> None:
    """End the engine, which writes its cache of kernels; nothing happens where none has started."""
    if _Running.options is not None and _Running.module is not None:
        _Running.options = None
        _Running.module.reset()


def refuse_many_threads(count: int) -> None:
    """Raise `RuntimeUnavailableError` for more threads than a few for each core, which gain nothing.

    Tens of thousands take all threads of a machine and wait for one another.
    """
    cores = os.cpu_count() or 1
    most = max(FEW_THREADS, THREADS_A_CORE * cores)
    if count > most:
        raise RuntimeUnavailableError(
            f"needs at most {most} threads on this machine of {cores} cores, got {count}; leave it out, which"
            " takes one for each core"
        )


def _start_failure_text(options: Options, absent: str, error: str) -> str:
    """What to say of an engine that does not start."""
    if options.arch != "cpu":
        return f'{absent} ({error}); use arch = "cpu"'
    return (
        f"the engine does not start: {error}; free memory and processes, or raise their limits (`ulimit -a`)"
    )


def _refuse_small_address_space() -> None:
    """Both engines reserve a GiB of addresses, and their message about it names no limit."""
    left = memory.address_space()
    if left is not None and left.count < _ADDRESSES:
        needed = memory.size(_ADDRESSES)
        raise RuntimeUnavailableError(f"the engine needs {needed} of address space, {left}; raise that limit")


def _init_engine(ti: ModuleType, options: Options) -> None:
    threads = {"cpu_max_num_threads": options.threads} if options.threads else {}
    device = devices.on_device(str(options.arch), PREFIXES[_Running.name], options.device)
    with (
        device,
        _no_settings_from_outside(),
        redirect_stdout(io.StringIO()),
    ):  # it prints the arch in any case
        ti.init(
            arch=getattr(ti, str(options.arch)),
            default_fp=ti.f64,
            fast_math=options.fast_math,
            force_scalarize_matrix=True,
            enable_fallback=False,
            log_level=ti.ERROR,
            **_OWN[_Running.name],
            **threads,
        )


@contextmanager
def _no_settings_from_outside() -> Iterator[None]:
    """Hide the variables TI_ARCH, QD_DEBUG, ... from the engine, which then depends on the scene alone.

    Also keep Taichi from asking a server for its newest version.
    """
    prefix = PREFIXES[_Running.name]
    free = tuple(prefix + name for name in _FREE)
    settings = [k for k in os.environ if k.startswith(prefix) and not k.startswith(free)]
    hidden = {k: os.environ.pop(k) for k in settings}
    os.environ["TI_SKIP_VERSION_CHECK"] = "ON"
    try:
        yield
    finally:
        del os.environ["TI_SKIP_VERSION_CHECK"]
        os.environ.update(hidden)


def lanes(dtype: Any) -> int:
    """Values of this precision in one vector of a kernel; 0: kernels compute without vectors."""
    start()
    assert _Running.options is not None
    return lane_blocks.lanes(dtype) if _Running.options.arch == "cpu" else 0


def is_there(arch: str) -> bool:
    """True if the engine of this process finds a device of the architecture; it need not run."""
    ti = engine()
    return bool(ti.lang.misc.is_arch_supported(getattr(ti, arch)))


def arch() -> str:
    """The architecture that kernels run on: one of `ARCHS`."""
    start()
    assert _Running.options is not None
    assert _Running.options.arch is not None
    return _Running.options.arch


def threads() -> int:
    """The number of threads of kernels: the CPU's cores, or that of `start`; on a GPU a large number."""
    start()
    assert _Running.options is not None
    if _Running.options.arch != "cpu":
        return 1 << 14
    return _Running.options.threads or os.cpu_count() or 1


@contextmanager
def whole_vectors() -> Iterator[None]:
    """Context manager: kernels compiled inside keep vectors whole, as kernels in lanes require.

    With whole vectors both engines give wrong values after writes to a vector's elements in an `if`, and
    crash at operations as simple as a minus, so kernels written by users must not be compiled like this.
    """
    config = engine().lang.impl.current_cfg()
    config.force_scalarize_matrix = config.real_matrix_scalarize = False
    try:
        yield
    finally:
        config.force_scalarize_matrix = config.real_matrix_scalarize = True


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Context manager: kernels compiled inside round every operation as IEEE 754 says, in the order written.

    For compensated sums, which `fast_math` would reduce to plain ones.
    """
    start()
    config = engine().lang.impl.current_cfg()
    before, config.fast_math = config.fast_math, False
    try:
        yield
    finally:
        config.fast_math = before


def function_kernel(function: Any) -> Any:
    """The engine's kernel of a function outside of classes.

    The engine's decorator reads the source text around its caller to know that, which takes 4 ms.
    """
    owner = part("lang.kernel_impl")
    asked = getattr(owner, "_inside_class", None)
    if asked is None:  # another release of the engine
        return engine().kernel(function)
    owner._inside_class = lambda *_, **__: False  # type: ignore[attr-defined]
    try:
        return engine().kernel(function)
    finally:
        owner._inside_class = asked  # type: ignore[attr-defined]


@contextmanager
def no_flow_analysis() -> Iterator[None]:
    """Context manager: kernels compiled inside skip the engine's analysis of the flow of control.

    It forwards stores to loads, which LLVM does again; on the straight-line code of emitted kernels it takes
    a third of the time to compile, and changes neither bits nor speed.
    """
    start()
    config = engine().lang.impl.current_cfg()
    before, config.cfg_optimization = config.cfg_optimization, False
    try:
        yield
    finally:
        config.cfg_optimization = before


@contextmanager
def left_to_llvm() -> Iterator[None]:
    """Context manager: kernels compiled inside are optimised by LLVM alone, not by the engine before.

    Long straight-line code takes a third of the time to compile, and is as fast.
    """
    start()
    config = engine().lang.impl.current_cfg()
    before = config.advanced_optimization, config.opt_level
    config.advanced_optimization, config.opt_level = False, 0
    try:
        yield
    finally:
        config.advanced_optimization, config.opt_level = before


def loses_elements() -> bool:
    """True if an `if` may lose writes to elements of vectors: the engine was started by user code.

    False before it is started; Quadrants' `prog` raises an error then.
    """
    running = part("lang.impl").get_runtime()
    program = running._prog if hasattr(running, "_prog") else running.prog
    return program is not None and not program.config().force_scalarize_matrix


@contextmanager
def short_positions() -> Iterator[None]:
    """Context manager: kernels compiled inside get source positions of one line, without underlining.

    An engine formats the position of every syntax node for its messages: half of the Python time of a
    kernel's set-up. Kernels written by a user keep theirs.
    """
    owner, name = _POSITIONS[engine_name()]
    context = getattr(part("lang.ast.ast_transformer_utils"), owner, None)
    formatted = getattr(context, name, None)
    if context is None or formatted is None:  # another release of the engine
        yield
        return
    setattr(context, name, _source_position)
    try:
        yield
    finally:
        setattr(context, name, formatted)


def texts_at_hand() -> AbstractContextManager[None]:
    """Context manager: kernels compiled inside, and written by the framework, are read from `linecache`."""
    return source_texts.at_hand(*(part(name) for name in _READERS[engine_name()]))


def _source_position(context: Any, node: Any) -> str:
    return f"{context.file}, line {node.lineno}: {context.src[node.lineno - 1].strip()}\n"


@contextmanager
def deep_stacks() -> Iterator[None]:
    """Context manager: reverse kernels compiled inside have a stack of `stack()` earlier values of a local.

    With Taichi's own 32 entries, a sum over 40 elements in an inner loop crashes the process.
    """
    config = engine().lang.impl.current_cfg()
    before = config.ad_stack_size
    config.ad_stack_size = _DEEP if stack() == _DEEP - 1 else before
    try:
        yield
    finally:
        config.ad_stack_size = before


def stack() -> float:
    """The number of times that one loop iteration of a differentiated kernel may change a local.

    Quadrants sizes its stacks itself, and refuses a kernel if it cannot. On a GPU every thread would need a
    stack for each local, so the size there is Taichi's own.
    """
    if _Running.name != "taichi":
        return math.inf
    return _DEEP - 1 if arch() == "cpu" else PLACES


def start_count() -> int:
    """The number of engine starts; kernels compiled under another number are stale."""
    start()
    return _Running.starts


def sync() -> None:
    """Wait until all launched kernels have finished; on the CPU a launch returns when its kernel has."""
    if arch() != "cpu":
        engine().sync()


# Arrays of fields -----------------------------------------------------------------------------------


def _arrays_end_with_their_engine(taichi: ModuleType) -> None:
    """Keep arrays of an earlier engine start from being freed or read in the next one.

    Taichi frees an array by its address, in the engine that runs at that time, where another array may have
    that address. Quadrants releases its arrays when an engine ends; this does the same for Taichi.
    """
    alive: WeakSet = WeakSet()
    array, implementation = taichi.lang._ndarray.Ndarray, taichi.lang.impl
    begin, end = array.__init__, implementation.reset

    def begins(self: Any) -> None:
        begin(self)
        alive.add(self)

    def ends() -> None:
        for left in alive:
            left.arr = None
        alive.clear()
        end()

    array.__init__, implementation.reset = begins, ends
