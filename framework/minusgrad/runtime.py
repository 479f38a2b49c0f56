"""The engine: which compiler turns kernels into machine code, and the only place that starts it.

`engine()` is Taichi itself; everything else says `from minusgrad import ti`. One engine serves a process.
`start` may be called again for the next scene: kernels are recompiled when they are next called, fields
are untouched, because they live in arrays of their own and not in the engine.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np

from .errors import RuntimeUnavailableError

ARCHS = ("cpu", "cuda", "vulkan", "metal")
_FREE = ("TI_OFFLINE_CACHE", "TI_VISIBLE_DEVICE", "TI_LIB_DIR")
"""Taichi's variables that change no result: where its cache is, which device it takes."""


@dataclass(frozen=True)
class Options:
    """What `start` was asked for. `threads` 0: all cores. `seed`: for randomness, all counter-based."""

    engine: str = "taichi"
    arch: str = "cpu"
    threads: int = 0
    fast_math: bool = True
    seed: int = 0


class _Running:
    """The engine of this process: the module, the options in force, and how often it was started."""

    module: ModuleType | None = None
    options: Options | None = None
    starts: int = 0
    arrays: ClassVar[WeakSet] = WeakSet()


def engine(name: str = "taichi") -> ModuleType:
    """The engine's module; imported on first use.

    Raises `RuntimeUnavailableError` for any engine but Taichi.
    """
    if name != "taichi":
        raise RuntimeUnavailableError(f"engine '{name}' is not supported yet; use engine = \"taichi\"")
    if _Running.module is None:
        os.environ.setdefault("ENABLE_TAICHI_HEADER_PRINT", "0")
        import taichi

        _Running.module = taichi
    return _Running.module


def start(options: Options | None = None) -> None:
    """Make the engine run with these options; nothing happens if it already does.

    `force_scalarize_matrix`: without it Taichi 1.7.4 gives wrong values after writes to vector elements in
    an `if`. `default_fp` is f64 always: emitted kernels state every type, so scenes of both precisions
    share a process, and nobody's untyped literal loses digits.

    Raises `RuntimeUnavailableError` if the machine does not have the architecture; the process can go on with
    another.
    """
    options = options or _Running.options or Options()
    if options == _Running.options:
        return
    ti = engine(options.engine)
    if options.arch not in ARCHS:
        raise RuntimeUnavailableError(f"no architecture '{options.arch}'; there are {', '.join(ARCHS)}")
    absent = f"arch '{options.arch}' is not available on this machine"
    if not ti.lang.misc.is_arch_supported(getattr(ti, options.arch)):
        raise RuntimeUnavailableError(f'{absent}; use arch = "cpu"')
    _Running.options = None
    _leave_arrays()
    try:
        _init(ti, options)
    except RuntimeError as error:
        raise RuntimeUnavailableError(f'{absent} ({str(error).strip()}); use arch = "cpu"') from None
    _Running.options = options
    _Running.starts += 1


def _init(ti: ModuleType, options: Options) -> None:
    threads = {"cpu_max_num_threads": options.threads} if options.threads else {}
    with _no_settings_from_outside(), redirect_stdout(io.StringIO()):  # it prints the arch at any log level
        ti.init(
            arch=getattr(ti, options.arch),
            default_fp=ti.f64,
            fast_math=options.fast_math,
            random_seed=options.seed,
            force_scalarize_matrix=True,
            enable_fallback=False,
            log_level=ti.ERROR,
            **threads,
        )


@contextmanager
def _no_settings_from_outside() -> Iterator[None]:
    """Hide the variables TI_ARCH, TI_DEBUG, ... from Taichi: the scene alone says how it is computed.

    And Taichi asks no server for its newest version.
    """
    hidden = {
        k: os.environ.pop(k) for k in list(os.environ) if k.startswith("TI_") and not k.startswith(_FREE)
    }
    os.environ["TI_SKIP_VERSION_CHECK"] = "ON"
    try:
        yield
    finally:
        del os.environ["TI_SKIP_VERSION_CHECK"]
        os.environ.update(hidden)


def started() -> int:
    """How often the engine was started: kernels compiled under another number are stale."""
    start()
    return _Running.starts


def sync() -> None:
    """Wait until all launched kernels have finished."""
    engine().sync()


# Arrays: where fields live --------------------------------------------------------------------------


def allocate(values: np.ndarray) -> Any:
    """An array that kernels take and that holds `values`: NumPy's memory on the CPU, else the device's."""
    start()
    assert _Running.options is not None
    if _Running.options.arch == "cpu":
        return np.array(values, order="C")
    made = ndarray(getattr(engine(), ENGINE_DTYPES[values.dtype.name]), values.shape)
    made.from_numpy(np.ascontiguousarray(values))
    return made


def ndarray(kind: Any, shape: tuple[int, ...], needs_grad: bool = False) -> Any:
    """An array in the engine's own memory; the next `start` ends its use."""
    made = engine().ndarray(kind, shape, needs_grad=needs_grad)
    _Running.arrays.add(made)
    return made


def _leave_arrays() -> None:
    """Keep arrays of the engine that ends from being freed in the next.

    Taichi frees an array by its address, in the engine that runs then: another may live there.
    """
    for left in _Running.arrays:
        for one in (left, left.grad):
            if one is not None:
                one.arr = None
    _Running.arrays.clear()


def host(array: Any) -> np.ndarray:
    """The values: the array itself on the CPU (a view, do not write), a copy from a device."""
    return array if isinstance(array, np.ndarray) else array.to_numpy()


def store(array: Any, values: np.ndarray) -> None:
    """Overwrite an array's values."""
    if isinstance(array, np.ndarray):
        array[...] = values
    else:
        array.from_numpy(np.ascontiguousarray(values))


ENGINE_DTYPES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
"""NumPy's names to the engine's."""
