"""Files in NumPy's formats .npy and .npz, without pickles: sizes are checked before allocation.

NumPy's own reader allocates what a header claims, and raises whatever the tokenizer of Python, zlib and
zipfile raise. Format: NEP 1; versions 1.0 and 2.0, which numbers have.
"""

import io
import warnings
import zipfile
from math import prod

import numpy as np
from numpy.lib import format as npy_format

from ...engine import memory
from ...errors import unknown

NPY, NPZ = b"\x93NUMPY", b"PK\x03\x04"
_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def array(data: bytes) -> np.ndarray:
    """The array in the bytes of a .npy file, of whatever type has a fixed size; objects are refused.

    Raises ValueError, with the reason, for any other bytes.
    """
    stream = io.BytesIO(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the parser of headers
            version = npy_format.read_magic(stream)
            if version not in _HEADERS:
                raise ValueError(f"version {version[0]}.{version[1]} of the format")
            shape, is_fortran, kind = _HEADERS[version](stream)
    except (Exception, MemoryError) as error:  # the parser of headers raises anything
        raise ValueError(f"no header of an array of numbers: {_error_text(error)}") from None
    if kind.hasobject:
        raise ValueError(f"an array of {kind}, which are no numbers")
    there, needed = len(data) - stream.tell(), prod(shape) * kind.itemsize
    if min(shape, default=0) < 0 or needed > there:
        raise ValueError(f"its header announces {needed} bytes, and {there} follow")
    values = np.frombuffer(data, kind, prod(shape), stream.tell())
    return (values.reshape(shape[::-1]).T if is_fortran else values.reshape(shape)).copy()


def member(data: bytes, name: str, what: str) -> np.ndarray:
    """The array of that name in the bytes of an .npz file. what: the beginning of a message about memory.

    Raises KeyError, with a message, where it is not there; ValueError for other bytes; `UserError` for one
    that does not fit into the memory.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
    except Exception as error:
        raise ValueError(f"no archive: {_error_text(error)}") from None
    if name not in entries:
        raise KeyError(unknown("array", name, entries))
    size = entries[name].file_size
    memory.require(size, what, "initial values are read as a whole")
    try:
        with archive.open(entries[name]) as stream:
            found = stream.read(size + 1)
    except Exception as error:  # zipfile, zlib and others
        raise ValueError(f"array '{name}' cannot be unpacked: {_error_text(error)}") from None
    if len(found) > size:
        raise ValueError(f"array '{name}' has more than the {size} bytes that are announced")
    return array(found)


def _error_text(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
