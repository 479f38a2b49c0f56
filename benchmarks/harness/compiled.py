"""The C references: built here, for the machine they run on, into a folder of this process."""

import atexit
import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .cases import MissingColumnError
from .process import ROOT

REFERENCE = Path(__file__).parents[1] / "reference"
FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fopenmp", "-shared", "-fPIC")
CXXFLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fopenmp", "-shared", "-fPIC")
REAL = {
    "f32": ("-DREAL=float", "-DSQRT=sqrtf", "-DFLOOR=floorf", "-DSINGLE"),
    "f64": ("-DREAL=double", "-DSQRT=sqrt", "-DFLOOR=floor"),
}
NUMBER = {"f32": ctypes.c_float, "f64": ctypes.c_double}
DTYPE = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
ALIGNMENT = 64


@functools.cache
def library(source: str, precision: str) -> ctypes.CDLL:
    """A source of `reference/` as a library.

    Raises `MissingColumnError` without gcc; a source that does not compile is a mistake of ours.
    """
    if shutil.which("gcc") is None:
        raise MissingColumnError("gcc is not on the PATH")
    made = folder() / f"{Path(source).stem}-{precision}.so"
    command = ["gcc", *FLAGS, *REAL[precision], str(REFERENCE / source), "-o", str(made), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(made))


@functools.cache
def with_tinyad(source: str) -> ctypes.CDLL:
    """A source of `reference/` in C++ that includes TinyAD and Eigen, as a library.

    Raises `MissingColumnError` where TinyAD, Eigen or a compiler is missing.
    """
    tinyad = Path(os.environ.get("TINYAD", ROOT / "runs" / "peers" / "TinyAD")) / "include"
    eigen = Path(os.environ.get("EIGEN", "/usr/include/eigen3"))
    for what, there in (("TinyAD", tinyad / "TinyAD"), ("Eigen", eigen / "Eigen")):
        if not there.is_dir():
            raise MissingColumnError(f"{what} is not installed; name its folder in {what.upper()}")
    if shutil.which("g++") is None:
        raise MissingColumnError("g++ is not on the PATH")
    made = folder() / f"{Path(source).stem}.so"
    includes = [f"-I{tinyad}", "-isystem", str(eigen)]
    command = ["g++", *CXXFLAGS, *includes, str(REFERENCE / source), "-o", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    return ctypes.CDLL(str(made))


@functools.cache
def with_falcon(source: str) -> ctypes.CDLL:
    """A source of `reference/` in C++ that calls falcON, as a library.

    Raises `MissingColumnError` where FALCON does not name NEMO's folder of falcON, built, or without g++.
    """
    home = Path(os.environ.get("FALCON", ROOT / "runs" / "peers" / "falcON"))
    utils = home.parent / "utils"
    archives = [home / "lib" / "libfalcON.a", utils / "lib" / "libWDutils.a"]
    for archive in archives:
        if not archive.is_file():
            raise MissingColumnError(f"{archive} is missing; name NEMO's usr/dehnen/falcON, built, in FALCON")
    if shutil.which("g++") is None:
        raise MissingColumnError("g++ is not on the PATH")
    made = folder() / f"{Path(source).stem}.so"
    includes = ["-isystem", str(home / "inc"), "-isystem", str(utils / "inc"), "-DfalcON_SINGLE"]
    command = ["g++", *CXXFLAGS, "-std=c++11", *includes, str(REFERENCE / source), *map(str, archives)]
    subprocess.run([*command, "-o", str(made)], check=True, capture_output=True)
    return ctypes.CDLL(str(made))


@functools.cache
def folder() -> Path:
    """Of what this process has built; it goes when the process ends."""
    made = tempfile.mkdtemp(prefix="minusgrad-bench-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def width(source: str, precision: str) -> int:
    """W of `lanes.h`: how many numbers a register holds, for a source that includes it."""
    return int(library(source, precision).numbers_in_a_register())


def aligned(values: Any, dtype: Any) -> np.ndarray:
    """The values in an array that begins where a cache line begins."""
    values = np.asarray(values, dtype)
    raw = np.zeros(values.nbytes + ALIGNMENT, np.uint8)
    began = -raw.ctypes.data % ALIGNMENT
    made = raw[began : began + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def pointers(arrays: Iterable[np.ndarray]) -> list[ctypes.c_void_p]:
    """The arrays as C takes them; keep them alive."""
    return [ctypes.c_void_p(array.ctypes.data) for array in arrays]


class Bound:
    """A function of C with its arguments: arrays, whole numbers, numbers of the library's precision."""

    def __init__(self, function: Any, *arguments: Any):
        self._function, self._arguments = function, arguments  # which keeps the arrays
        self._passed = [_passed(argument) for argument in arguments]

    def __call__(self) -> Any:
        return self._function(*self._passed)


def _passed(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return ctypes.c_void_p(argument.ctypes.data)
    return ctypes.c_int(argument) if isinstance(argument, int) else argument
