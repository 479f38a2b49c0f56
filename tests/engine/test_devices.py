"""Devices by the driver's own functions: names, numbers and memory."""

import gc

import numpy as np
import pytest

from minusgrad.engine import devices as asked
from minusgrad.engine import runtime, storage
from minusgrad.errors import RuntimeUnavailableError, UserError
from tests.support import devices

pytestmark = devices.needed


def test_a_device_has_a_name_and_memory() -> None:
    with devices.on():
        used = asked.used()
        assert used in asked.devices(devices.ARCH)
        assert used.name
        assert used.memory > 1 << 28
    with devices.on("cpu"):
        assert asked.used() is None


def test_a_number_that_no_device_has_is_refused() -> None:
    count = len(asked.devices(devices.ARCH))
    before = runtime._Running.options
    with pytest.raises(
        RuntimeUnavailableError, match=f"no device {count} of arch '{devices.ARCH}'; there are: 0 "
    ):
        runtime.start(runtime.Options(arch=devices.ARCH, device=count))
    runtime.start(before or runtime.Options())


def test_a_device_is_of_no_use_on_the_cpu() -> None:
    with pytest.raises(
        RuntimeUnavailableError, match="device: needs an arch other than 'cpu', got 0; leave it out"
    ):
        runtime.start(runtime.Options(arch="cpu", device=0))


def test_arrays_are_refused_before_they_are_made() -> None:
    with devices.on():
        gc.collect()
        before = asked.free()
        array = storage.allocate(np.zeros(1 << 20))
        assert asked.free() == before - (8 << 20)
        del array
        gc.collect()
        assert asked.free() == before
        huge = np.broadcast_to(np.zeros(1), (before // 8 + 1,))
        with pytest.raises(
            UserError, match=r"an array of shape \[\d+\]: .* of memory needed, .* free on device '"
        ):
            storage.allocate(huge)
