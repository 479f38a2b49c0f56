"""Arrays that kernels read and write: allocation, copies to and from the host, memory lent by a caller.

Decisions 0200, 0207, 0210, 0212.
"""

from copy import deepcopy
from ctypes import c_char
from math import prod
from typing import Any
from weakref import finalize

import numpy as np

from ..errors import DeviceError
from . import devices, memory, runtime

_LARGE = 1 << 20
"""Bytes: for arrays of at least this size the device is asked whether it has room."""
CURE = 'use fewer nodes, precision = "f32" or arch = "cpu"'


def allocate(values: np.ndarray) -> Any:
    """An array for kernels with these values: NumPy memory on the CPU, else memory of the device.

    Raises `UserError` if the device has too little free memory, and `DeviceError` for an empty array, which
    the engines cannot allocate on a device.
    """
    if runtime.arch() == "cpu":
        return np.array(values, order="C")
    if not values.size:
        raise DeviceError(
            f"an array of shape {list(values.shape)}: needs at least one number, got arch ="
            f" '{runtime.arch()}'; leave a term without elements out, or use arch = \"cpu\""
        )
    if values.nbytes >= _LARGE:
        memory.require(values.nbytes, f"an array of shape {list(values.shape)}", CURE)
    made = ndarray(getattr(runtime.engine(), ENGINE_DTYPES[values.dtype.name]), values.shape)
    devices.count_bytes(values.nbytes)
    finalize(made, devices.count_bytes, -values.nbytes)
    made.from_numpy(np.ascontiguousarray(values))
    return made


def allocate_vectors(values: np.ndarray) -> Any:
    """An array of vectors (n, lanes) for kernels, in the device's memory; these index it by one number."""
    kind = getattr(runtime.engine(), ENGINE_DTYPES[values.dtype.name])
    made = ndarray(runtime.engine().types.vector(values.shape[1], kind), values.shape[:1])
    devices.count_bytes(values.nbytes)
    finalize(made, devices.count_bytes, -values.nbytes)
    made.from_numpy(np.ascontiguousarray(values))
    return made


def ndarray(kind: Any, shape: tuple[int, ...], needs_grad: bool = False) -> Any:
    """An array in the engine's own memory; the next `start` ends its use."""
    return runtime.engine().ndarray(kind, shape, needs_grad=needs_grad)


def view(array: Any) -> np.ndarray | None:
    """The memory of an engine's array as NumPy's, components last; None on a device.

    Copies by the engine launch a kernel each, which takes ten times as long. The view is valid as long as the
    array is.
    """
    if runtime.arch() != "cpu":
        return None
    program = runtime.engine().lang.impl.get_runtime().prog
    shape = (*array.shape, *getattr(array, "element_shape", ()))
    dtype = np.dtype(NUMPY_DTYPES[array.dtype.to_string()])
    size = prod(shape) * dtype.itemsize
    memory = (c_char * size).from_address(program.get_ndarray_data_ptr_as_int(array.arr))
    return np.frombuffer(memory, dtype).reshape(shape)


class ArraySlot:
    """A field's array; an external array of equal shape and dtype can stand in for it temporarily.

    The external array may be a PyTorch tensor. Kernels and readers use the array that is `at` the slot when
    they run. `address`: that of its first number; None on a device. `writes` counts the writes by other means
    than a kernel; it only grows, so that whoever computed something from the array can see that it is stale.
    """

    __slots__ = ("_copied", "_home", "address", "at", "dtype", "own", "shape", "writes")

    def __init__(self, own: Any):
        self.own, self.shape, self.dtype = own, tuple(own.shape), own.dtype
        self._home = own.ctypes.data if isinstance(own, np.ndarray) else None
        self.writes = 0
        self._copied: tuple[int, np.ndarray] | None = None
        self.leave()

    def __len__(self) -> int:
        return self.shape[0]

    def __deepcopy__(self, memo: Any) -> "ArraySlot":
        return ArraySlot(deepcopy(self.own, memo))

    def lend(self, array: Any, address: int | None = None) -> None:
        """Use an external array: NumPy's, or on a device one that kernels take."""
        self.at, self.writes = array, self.writes + 1
        self.address = array.ctypes.data if address is None and isinstance(array, np.ndarray) else address

    @property
    def memory(self) -> tuple[Any, int | None]:
        """The array in use and its address, as `lend` takes them."""
        return self.at, self.address

    def exchange(self, other: "ArraySlot") -> None:
        """Take the array that another slot of equal shape and dtype uses, and give it the present one."""
        mine = self.memory
        self.lend(*other.memory)
        other.lend(*mine)

    def leave(self) -> None:
        """Use the slot's own array again."""
        self.at, self.address, self.writes = self.own, self._home, self.writes + 1

    def replace(self, values: np.ndarray) -> None:
        """Use new memory with these values; the number of rows may be another one."""
        self.own, self.shape = allocate(values), values.shape
        self._home = self.own.ctypes.data if isinstance(self.own, np.ndarray) else None
        self.leave()

    @property
    def last_stored(self) -> np.ndarray:
        """The values of a slot that no kernel writes: copied from a device once after each write."""
        if isinstance(self.at, np.ndarray):
            return self.at
        if self._copied is None or self._copied[0] != self.writes:
            self._copied = self.writes, host(self)
        return self._copied[1]

    def fill(self, value: float) -> None:
        """Set every number of the array in use."""
        self.writes += 1
        self.at.fill(value) if hasattr(self.at, "fill") else self.at.fill_(value)


def vacant(shape: tuple[int, ...], dtype: Any) -> ArraySlot:
    """A slot for external arrays only; its own memory is never written."""
    own = np.empty(shape, dtype)
    return ArraySlot(own if runtime.arch() == "cpu" else allocate(own))


class Crossings:
    """The numbers of copies between host and device since the process began, for tests."""

    to_host = to_device = 0

    @classmethod
    def count(cls) -> tuple[int, int]:
        """To the host, and to the device."""
        return cls.to_host, cls.to_device


def host(array: Any) -> np.ndarray:
    """The values: the array itself on the CPU (a view, do not write), a copy from a device."""
    array = array.at if isinstance(array, ArraySlot) else array
    if isinstance(array, np.ndarray):
        return array
    Crossings.to_host += 1
    return array.to_numpy() if hasattr(array, "to_numpy") else array.numpy(force=True)


def host_copy(array: Any) -> np.ndarray:
    """The values in memory of their own; NumPy's, whatever memory the array has."""
    return host(array).copy()


def store(array: Any, values: Any) -> None:
    """Overwrite an array's values, also those of a `locked` one; a slot counts the write.

    values: NumPy's of any precision, or an array or slot of kernels, which is copied where it is.
    """
    values = values.at if isinstance(values, ArraySlot) else values
    if isinstance(array, ArraySlot):
        array.writes += 1
        array = array.at
    if array is values:
        return
    if isinstance(array, np.ndarray):
        _overwrite_array(array, values)
    elif hasattr(array, "from_numpy"):
        if hasattr(values, "from_numpy"):
            array.copy_from(values)
            return
        Crossings.to_device += 1
        values = values if isinstance(values, np.ndarray) else host(values)
        array.from_numpy(np.ascontiguousarray(values, numpy_dtype(array)))
    elif hasattr(values, "data_ptr"):
        array.copy_(values)
    else:
        Crossings.to_device += 1
        array.copy_(array.new_tensor(values if isinstance(values, np.ndarray) else host(values)))


def duplicate(array: Any) -> Any:
    """An array of its own with the same values; on the device where the array is on one."""
    array = array.at if isinstance(array, ArraySlot) else array
    if hasattr(array, "from_numpy"):
        made = ndarray(array.dtype, tuple(array.shape))
        made.copy_from(array)
        return made
    return array.clone() if hasattr(array, "clone") else array.copy()


def numpy_dtype(array: Any) -> np.dtype:
    """The type of the numbers of an array; of NumPy's or a device's memory."""
    kind = array.dtype
    return np.dtype(NUMPY_DTYPES[kind.to_string()] if hasattr(kind, "to_string") else kind)


def locked(array: Any) -> Any:
    """The same array; on the CPU it can be written by `store` alone, since writes elsewhere go unnoticed."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def _overwrite_array(array: np.ndarray, values: Any) -> None:
    if array.flags.writeable:
        array[...] = values
        return
    array.flags.writeable = True
    try:
        array[...] = values
    finally:
        array.flags.writeable = False


ENGINE_DTYPES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}
"""Names of types: NumPy's to the engine's."""
NUMPY_DTYPES = {engine: numpy for numpy, engine in ENGINE_DTYPES.items()}
"""The inverse."""
