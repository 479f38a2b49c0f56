"""Counter-based random numbers: functions of a seed, a stream, a step and an index, without a state.

    uniform(seed, stream, step, index)    in (0, 1), 52 bits
    normal(seed, stream, step, index)     of mean 0 and variance 1

A resumed run draws the same numbers as an uninterrupted one, with any number of threads, and leaving out one
draw changes no other. `uniforms` and `normals` are NumPy's, for arrays; `uniform` and `normal` are the same
as Taichi functions, for kernels of users: seed, step and index as integers (or whole numbers in f64),
stream as `stream("name")` gives it. Equal arguments give equal numbers: another purpose needs another stream.

Philox 4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw 2011, SC '11): counter (index, stream, low and high
half of step), key (low and high half of seed); normals by Box and Muller (1958, Ann. Math. Stat. 29, 610).

Decisions 0218.
"""

import hashlib
import linecache
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = 0xFFFFFFFF
NAMES = ("uniform", "normal")
PREFIX = "random_"
"""Emitted kernels call them `random_uniform` and `random_normal`."""


def stream(name: str) -> int:
    """The number of a stream from its name: the first 32 bits of SHA-256."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")


def philox(counter: Any, key: Any) -> np.ndarray:
    """Philox 4x32-10 of counters (..., 4) and keys (..., 2), numbers of 32 bits as uint64; shape (..., 4)."""
    c = [np.asarray(counter, np.uint64)[..., k] for k in range(4)]
    k = [np.asarray(key, np.uint64)[..., j] for j in range(2)]
    low, half = np.uint64(_LOW), np.uint64(32)
    for number in range(_ROUNDS):
        first, second = (np.uint64(m) * c[2 * j] for j, m in enumerate(_MULTIPLIERS))
        keys = [(k[j] + np.uint64(number * _WEYL[j] & _LOW)) & low for j in range(2)]
        c = [(second >> half) ^ c[1] ^ keys[0], second & low, (first >> half) ^ c[3] ^ keys[1], first & low]
    return np.stack(np.broadcast_arrays(*c), axis=-1)


def _random_words(seed: int, stream: int, step: Any, index: Any) -> np.ndarray:
    index = np.asarray(index, np.uint64)
    parts = [index, stream, step & _LOW, step >> 32 & _LOW]
    counter = np.stack(np.broadcast_arrays(*(np.asarray(p, np.uint64) for p in parts)), axis=-1)
    return philox(counter, np.array([seed & _LOW, seed >> 32 & _LOW], np.uint64))


def _open_interval(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Two words as a number in (0, 1): the middle of one of 2^52 intervals."""
    six = np.uint64(6)
    return ((high >> six) * 2.0**26 + (low >> six) + 0.5) * 2.0**-52


def uniforms(seed: int, stream: int, step: Any, index: Any) -> np.ndarray:
    """Numbers uniform in (0, 1), as an array of the shape of `index`.

    seed, step: integers below 2^64. stream: an integer, see `stream`. index: an integer below 2^32, or an
    array of them; each gets its own number. step may be an array, too; the two are broadcast.
    """
    words = _random_words(seed, stream, step, index)
    return _open_interval(words[..., 0], words[..., 1])


def normals(seed: int, stream: int, step: Any, index: Any) -> np.ndarray:
    """Numbers of the standard normal distribution (mean 0, variance 1), as an array of the shape of `index`.

    The arguments are those of `uniforms`. Box and Muller 1958.
    """
    words = _random_words(seed, stream, step, index)
    radius = np.sqrt(-2.0 * np.log(_open_interval(words[..., 0], words[..., 1])))
    return radius * np.cos(2.0 * np.pi * _open_interval(words[..., 2], words[..., 3]))


# In kernels ----------------------------------------------------------------------------------------


def helpers(ti: ModuleType, text: str) -> dict[str, Callable]:
    """The Taichi functions that a kernel's text calls, by their names: for `codegen`."""
    return {PREFIX + name: _random_function(ti, name) for name in NAMES if PREFIX + name in text}


def __getattr__(name: str) -> Any:
    """`uniform` and `normal` of the engine that runs."""
    if name in NAMES:
        from . import device_functions, runtime

        return _random_function(device_functions.language(runtime.engine(), runtime.arch()), name)
    raise AttributeError(f"module 'minusgrad.engine.random' has no attribute '{name}'")


_made: dict[tuple[str, str], Callable] = {}


def _random_function(ti: ModuleType, name: str) -> Callable:
    key = (ti.__name__, name)
    if key not in _made:
        source, file, scope = _philox_text(name), f"<minusgrad {key[0]} random {name}>", {"ti": ti}
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), scope)
        _made[key] = ti.func(scope[name])
    return _made[key]


def _whole_literal(number: int) -> str:
    """A 32-bit number as source text: the engines' literals have 31 bits."""
    return f"((ti.u64({number >> 16}) << ti.u64(16)) | ti.u64({number & 0xFFFF}))"


def _philox_text(name: str) -> str:
    """Source text of ten unrolled rounds in 64-bit arithmetic."""
    lines = [
        f"low = {_whole_literal(_LOW)}",
        "n = ti.cast(ti.cast(step, ti.i64), ti.u64)",
        "s = ti.cast(ti.cast(seed, ti.i64), ti.u64)",
        "k0, k1 = s & low, s >> ti.u64(32)",
        "a = ti.cast(ti.cast(index, ti.i64), ti.u64) & low",
        "b = ti.cast(ti.cast(stream, ti.i64), ti.u64) & low",
        "c, d = n & low, n >> ti.u64(32)",
    ]
    for number in range(_ROUNDS):
        first, second = (_whole_literal(m) for m in _MULTIPLIERS)
        keys = [f"((k{j} + {_whole_literal(number * w & _LOW)}) & low)" for j, w in enumerate(_WEYL)]
        lines += [
            f"p, q = {first} * a, {second} * c",
            f"a, b, c, d = (q >> ti.u64(32)) ^ b ^ {keys[0]}, q & low,"
            f" (p >> ti.u64(32)) ^ d ^ {keys[1]}, p & low",
        ]
    first, second = (
        f"(ti.cast({x} >> ti.u64(6), ti.f64) * ti.f64({2.0**26})"
        f" + ti.cast({y} >> ti.u64(6), ti.f64) + ti.f64(0.5)) * ti.f64({2.0**-52!r})"
        for x, y in ("ab", "cd")
    )
    if name == "uniform":
        lines.append(f"return {first}")
    else:
        lines += [
            f"u, v = {first}, {second}",
            f"return ti.sqrt(ti.f64(-2.0) * ti.log(u)) * ti.cos(ti.f64({2.0 * np.pi!r}) * v)",
        ]
    body = "".join(f"    {line}\n" for line in lines)
    return f"def {name}(seed, stream, step, index):\n{body}"
