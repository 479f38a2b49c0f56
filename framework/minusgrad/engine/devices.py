"""The devices of this machine, by the driver's own functions: number, name and memory.

The engines choose a device by environment variables at their start, which `on_device` sets: TI_VISIBLE_DEVICE
or QD_VISIBLE_DEVICE of Vulkan, CUDA_VISIBLE_DEVICES of CUDA. Vulkan (`libvulkan`) and CUDA (`libcuda`) are
asked through ctypes, because the engines tell neither names nor memory. An architecture whose driver is not
installed has no devices here.

Decisions 0206.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

from ..errors import RuntimeUnavailableError

CUDA_VARIABLE = "CUDA_VISIBLE_DEVICES"
_SOFTWARE, _LOCAL = 4, 1
"""Vulkan's type of a device that is the CPU; the flag of memory that belongs to the device."""


@dataclass(frozen=True)
class Device:
    """A device. memory: in bytes, all that it has. software: the CPU computes for it."""

    number: int
    name: str
    memory: int
    software: bool = False


class _Used:
    """The device that the running engine computes on; None on the CPU, or where none is known.

    first_of: the number of devices if the first was taken because none was named; else 0. cuda: the number
    that CUDA_VISIBLE_DEVICES was set to here. asked_cuda: its driver has read that variable.
    """

    device: Device | None = None
    arch: str = "cpu"
    bytes: int = 0
    first_of: int = 0
    cuda: int | None = None
    asked_cuda: bool = False


@cache
def devices(arch: str) -> tuple[Device, ...]:
    """The devices of an architecture, in the order of their numbers."""
    asked = {"vulkan": _of_vulkan, "cuda": _of_cuda}.get(arch)
    try:
        return tuple(asked()) if asked else ()
    except (OSError, AttributeError):  # no driver, or one without these functions
        return ()


def device_in_use() -> Device | None:
    """The device that kernels run on; None on the CPU, or where the driver tells none."""
    return _Used.device


def remark() -> str:
    """A remark that other devices exist, if none was named and several exist; otherwise empty."""
    device, count = _Used.device, _Used.first_of
    if device is None or count < 2:
        return ""
    return f"device {device.number} of {count}: {device.name}; name one by [runtime] device"


@contextmanager
def on_device(arch: str, prefix: str, number: int | None) -> Iterator[None]:
    """Context manager: the engine that starts inside takes the device of this number, else the first one.

    A variable of the engine that is set already goes before. prefix: of the engine's variables. Raises
    `RuntimeUnavailableError` for a number that no device has, and for another device of CUDA than the process
    has.
    """
    name = f"{prefix}VISIBLE_DEVICE"
    if arch == "cuda":
        _show_to_cuda(number)
        there, place, named = devices(arch), 0, CUDA_VARIABLE in os.environ
    else:
        there, named = devices(arch), name in os.environ or number is not None
        wanted = os.environ.get(name, str(number)) if arch == "vulkan" else ""
        place = int(wanted) if wanted.isdigit() else 0
    if place >= len(there) > 0 or (number is not None and not there):
        asked = number if _Used.cuda is not None and arch == "cuda" else place
        listed = ", ".join(f"{one.number} ({one.name})" for one in there) or "none"
        raise RuntimeUnavailableError(
            f"no device {asked} of arch '{arch}'; there are: {listed}; `minusgrad devices` lists them"
        )
    _Used.arch, _Used.device = arch, there[place] if there else None
    _Used.first_of = 0 if named else len(there)
    if arch != "vulkan" or not there or name in os.environ:
        yield
        return
    os.environ[name] = str(place)
    try:
        yield
    finally:
        del os.environ[name]


def _show_to_cuda(number: int | None) -> None:
    """Let CUDA's driver see one device alone: it reads its variable once, when it is first asked.

    Raises `RuntimeUnavailableError` where it was asked before, and shows another device.
    """
    if number is None or (_Used.cuda is None and CUDA_VARIABLE in os.environ):
        return
    shown = _Used.cuda if _Used.cuda is not None or not _Used.asked_cuda else 0
    if shown is None:
        os.environ[CUDA_VARIABLE], _Used.cuda = str(number), number
    elif number != shown:
        raise RuntimeUnavailableError(
            f"this process computes on device {shown} of arch 'cuda'; {number} needs a process of its own"
        )


def free() -> int | None:
    """The bytes that the device in use has left; None on the CPU, or where the driver does not tell.

    Vulkan: all that it has, less the arrays of this process.
    """
    if _Used.device is None:
        return None
    if _Used.arch == "cuda":
        with suppress(OSError, AttributeError):
            return _free_of_cuda()
    return max(_Used.device.memory - _Used.bytes, 0)


def count_bytes(count: int) -> None:
    """Count the bytes of an array that was made; less than zero, of one that was freed."""
    _Used.bytes += count


# Vulkan ----------------------------------------------------------------------------------------------


class _InstanceInfo(ctypes.Structure):
    """VkInstanceCreateInfo."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.c_void_p),
        ("layers", ctypes.c_uint32),
        ("layer_names", ctypes.c_void_p),
        ("extensions", ctypes.c_uint32),
        ("extension_names", ctypes.c_void_p),
    )


class _Heap(ctypes.Structure):
    """VkMemoryHeap."""

    _fields_ = (("size", ctypes.c_uint64), ("flags", ctypes.c_uint32))


class _Memory(ctypes.Structure):
    """VkPhysicalDeviceMemoryProperties."""

    _fields_ = (
        ("type_count", ctypes.c_uint32),
        ("types", ctypes.c_uint32 * 64),
        ("heap_count", ctypes.c_uint32),
        ("heaps", _Heap * 16),
    )


class _Properties(ctypes.Structure):
    """The beginning of VkPhysicalDeviceProperties, which has less than a thousand bytes."""

    _fields_ = (
        ("versions", ctypes.c_uint32 * 4),
        ("type", ctypes.c_uint32),
        ("name", ctypes.c_char * 256),
        ("more", ctypes.c_char * 2048),
    )


def _load_library(*names: str) -> ctypes.CDLL:
    """The first of these libraries that is installed. Raises OSError."""
    for name in names:
        with suppress(OSError):
            return ctypes.CDLL(name)
    raise OSError(f"none of {names}")


def _of_vulkan() -> Iterator[Device]:
    from ctypes.util import find_library

    found = find_library("vulkan")
    vulkan = _load_library(*([found] if found else []), "libvulkan.so.1", "vulkan-1.dll", "libvulkan.dylib")
    instance, count = ctypes.c_void_p(), ctypes.c_uint32()
    if vulkan.vkCreateInstance(ctypes.byref(_InstanceInfo(type=1)), None, ctypes.byref(instance)) != 0:
        return
    try:
        vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), None)
        handles = (ctypes.c_void_p * count.value)()
        vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), handles)
        for number, handle in enumerate(handles):
            properties, memory = _Properties(), _Memory()
            vulkan.vkGetPhysicalDeviceProperties(ctypes.c_void_p(handle), ctypes.byref(properties))
            vulkan.vkGetPhysicalDeviceMemoryProperties(ctypes.c_void_p(handle), ctypes.byref(memory))
            heaps = [memory.heaps[k] for k in range(memory.heap_count)]
            size = max((heap.size for heap in heaps if heap.flags & _LOCAL), default=0)
            yield Device(number, properties.name.decode(errors="replace"), size, properties.type == _SOFTWARE)
    finally:
        vulkan.vkDestroyInstance(instance, None)


# CUDA ------------------------------------------------------------------------------------------------


def _cuda_driver() -> ctypes.CDLL:
    driver = _load_library("libcuda.so.1", "nvcuda.dll")
    _Used.asked_cuda = True
    if driver.cuInit(0) != 0:
        raise OSError("no CUDA device")
    return driver


def _of_cuda() -> Iterator[Device]:
    driver, count = _cuda_driver(), ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    for number in range(count.value):
        handle, name, size = ctypes.c_int(), ctypes.create_string_buffer(256), ctypes.c_size_t()
        driver.cuDeviceGet(ctypes.byref(handle), number)
        driver.cuDeviceGetName(name, 256, handle)
        driver.cuDeviceTotalMem_v2(ctypes.byref(size), handle)
        yield Device(number, name.value.decode(errors="replace"), size.value)


def _free_of_cuda() -> int:
    """Of the first device that the driver shows, which is the one that the engines take."""
    driver, handle, context = _cuda_driver(), ctypes.c_int(), ctypes.c_void_p()
    driver.cuDeviceGet(ctypes.byref(handle), 0)
    if driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle) != 0:
        raise OSError("no context")
    try:
        driver.cuCtxPushCurrent_v2(context)
        left, all_ = ctypes.c_size_t(), ctypes.c_size_t()
        driver.cuMemGetInfo_v2(ctypes.byref(left), ctypes.byref(all_))
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        return left.value
    finally:
        driver.cuDevicePrimaryCtxRelease(handle)
