"""Results as bytes without pickle: JSON with the arrays behind it.

8 bytes      length of the JSON text, little-endian
JSON         the value; array k is {"array": k, "dtype": "<f8", "shape": [3, 2]}, bytes are {"bytes": k}
then         the bytes of the arrays, in their order
"""

import json
from math import prod
from typing import Any

import numpy as np

KINDS = "biuf"
"""Of arrays that travel: truth values, integers and floats."""


def encode(value: Any) -> bytes:
    """A value of None, numbers, texts, bytes, arrays, and lists and dictionaries (keys are texts) of these.

    Tuples become lists. Raises TypeError for anything else.
    """
    parts: list[bytes] = []

    def plain(one: Any) -> Any:
        if isinstance(one, dict):
            return {"dict": [[str(key), plain(of)] for key, of in one.items()]}
        if isinstance(one, (list, tuple)):
            return [plain(of) for of in one]
        if isinstance(one, (bytes, bytearray)):
            parts.append(bytes(one))
            return {"bytes": len(parts) - 1, "length": len(one)}
        if isinstance(one, np.generic):
            return one.item()
        if isinstance(one, np.ndarray):
            if one.dtype.kind not in KINDS:
                raise TypeError(f"arrays of {one.dtype} cannot be returned")
            parts.append(np.ascontiguousarray(one).tobytes())
            return {"array": len(parts) - 1, "dtype": one.dtype.str, "shape": list(one.shape)}
        return one

    text = json.dumps(plain(value)).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def decode(data: bytes) -> Any:
    """The value in bytes of `encode`; arrays are new and writable. Raises ValueError for other bytes."""
    size = int.from_bytes(data[:8], "little")
    at = 8 + size

    def taken(length: int) -> bytes:
        nonlocal at
        if not 0 <= length <= len(data) - at:
            raise ValueError("the answer of the reader is incomplete")
        at += length
        return data[at - length : at]

    def value(one: Any) -> Any:
        if isinstance(one, list):
            return [value(of) for of in one]
        if not isinstance(one, dict):
            return one
        if "dict" in one:
            return {str(key): value(of) for key, of in one["dict"]}
        if "bytes" in one:
            return taken(one["length"])
        kind, shape = np.dtype(one["dtype"]), tuple(map(int, one["shape"]))
        if kind.kind not in KINDS or min(shape, default=0) < 0:
            raise ValueError("the answer of the reader is no array of numbers")
        return np.frombuffer(taken(prod(shape) * kind.itemsize), kind).reshape(shape).copy()

    try:
        return value(json.loads(data[8 : 8 + size]))
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"the answer of the reader cannot be read: {error!r}") from None
