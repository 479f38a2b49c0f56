"""Kernels that a device cannot compile or reverse, refused in words: `DeviceError`.

The compilers to SPIR-V lack most elementary functions in f64. Emitted kernels have those of
`device_functions`; kernels that users write do not, and the compilers' own messages name neither the
function nor a cure. Taichi's reverse mode adds to the values of arrays there, in place of their adjoints,
and says nothing.

Decisions 0201.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import DeviceError
from . import runtime
from .device_functions import DEVICES
from .loading import standard_streams

_FROM = re.compile(r"\[(spirv|gfx|vulkan|metal)\w*\.(cpp|h):")
"""In messages of the engines' C++ code for devices; others hold for every architecture."""
_INSTRUCTION = re.compile(r"[Ii]nstruction (\w+)\(\d+\)")
_PYTHON = {"InverseSqrt": "rsqrt"}
"""Functions of `ti` whose instructions have other names than theirs."""
_ON_CPU = 'use arch = "cpu"'


@contextmanager
def in_words(subject: str) -> Iterator[None]:
    """Context manager: kernels of `subject` compiled inside are refused by a `DeviceError`, silently else.

    On the CPU and on CUDA nothing is changed.
    """
    if (arch := runtime.arch()) not in DEVICES:
        yield
        return
    ti = runtime.engine()
    sys.stdout.flush()
    ti.set_logging_level(ti.CRITICAL)
    try:
        with standard_streams.mute_descriptor(1):
            yield
    except RuntimeError as error:
        if not _FROM.search(str(error)):
            raise
        raise DeviceError(
            f"{subject}: {_missing_feature_clause(str(error))}, got arch = '{arch}'; {_ON_CPU}"
        ) from None
    finally:
        ti.set_logging_level(ti.ERROR)


def refuse_reverse(subject: str) -> None:
    """Raise `DeviceError` where the reverse mode of the running engine is wrong on the running device."""
    if (arch := runtime.arch()) in DEVICES and runtime.engine_name() == "taichi":
        raise DeviceError(
            f"{subject}: Taichi reverses no kernel on this device, got arch = '{arch}'; {_ON_CPU},"
            ' or engine = "quadrants", or give the stage a `backward`'
        )


def _missing_feature_clause(message: str) -> str:
    """The clause about a compiler's message."""
    if found := _INSTRUCTION.search(message):
        name = _PYTHON.get(found[1], found[1].lower())
        return f"this device has no ti.{'pow (**)' if name == 'pow' else name} in f64"
    if "loop-carried" in message:
        return "the engine reverses no loop that changes a variable in f64 on this device"
    if "rand only" in message:
        return "this device has no ti.random in f64"
    return "the engine has no translation of this kernel for this device"
