"""Loops over all components of an array, as text."""

from typing import Any

import numpy as np

from . import runtime
from .kernels import Code


def at_each(name: str, array: Any, *lines: str) -> str:
    """A loop over the nodes n of an array, with the lines for every component, {at} its index."""
    places = [", ".join(["n", *map(str, c)]) for c in np.ndindex(tuple(array.shape[1:]))]
    body = "".join(f"    {line.format(at=at)}\n" for at in places for line in lines)
    return f"for n in range({name}.shape[0]):\n{body}"


def zeroed(name: str, array: Any) -> Code:
    """Zeros everywhere."""
    return Code(at_each(name, array, f"{name}[{{at}}] = 0.0"), {name: array})


def real(dtype: np.dtype) -> str:
    """The engine's name of a precision."""
    return f"ti.{runtime.ENGINE_DTYPES[dtype.name]}"
