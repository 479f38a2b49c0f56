"""Devices by the driver's own functions: names, numbers and memory."""

import gc
import os
from collections.abc import Iterator

import numpy as np
import pytest

from minusgrad import build
from minusgrad.engine import devices as asked
from minusgrad.engine import runtime, storage
from minusgrad.errors import RuntimeUnavailableError, UserError
from tests.support import devices
from tests.support.command import SCENES

pytestmark = devices.needed


def test_a_device_has_a_name_and_memory() -> None:
    with devices.on():
        used = asked.device_in_use()
        assert used in asked.devices(devices.ARCH)
        assert used.name
        assert used.memory > 1 << 28
    with devices.on("cpu"):
        assert asked.device_in_use() is None


def test_a_number_that_no_device_has_is_refused() -> None:
    count = len(asked.devices(devices.ARCH))
    before = runtime._Running.options
    with pytest.raises(
        RuntimeUnavailableError, match=f"no device {count} of arch '{devices.ARCH}'; there are: 0 "
    ):
        runtime.start(runtime.Options(arch=devices.ARCH, device=count))
    runtime.start(before or runtime.Options())


def test_where_nobody_names_one_of_several_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    (first, *_) = asked.devices(devices.ARCH)
    two = {devices.ARCH: (first, asked.Device(1, "another", 1 << 30))}
    monkeypatch.setattr(asked, "devices", lambda arch: two.get(arch, ()))
    before = runtime._Running.options
    runtime.start(runtime.Options(arch="cpu"))
    with devices.on():
        assert asked.remark() == f"device 0 of 2: {first.name}; name one by [runtime] device"
    runtime.start(runtime.Options(arch=devices.ARCH, device=0))
    assert asked.remark() == ""
    runtime.start(runtime.Options(arch="cpu"))
    assert asked.remark() == ""
    runtime.start(before or runtime.Options())


def test_a_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "remark", lambda: "device 0 of 2: one")
    assert "device 0 of 2: one" in build(SCENES / "two_body.toml").remarks


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A driver of CUDA with two devices, which shows what its variable names when it is first asked."""
    shown: list[asked.Device] = []

    def driver(_: str) -> tuple[asked.Device, ...]:
        if not shown:
            names = os.environ.get(asked.CUDA_VARIABLE, "0,1").split(",")
            every = [f"GPU {name}" for name in names if int(name) < 2]
            shown[:] = [asked.Device(k, name, 1 << 30) for k, name in enumerate(every)]
            asked._Used.asked_cuda = True
        return tuple(shown)

    monkeypatch.setattr(asked, "devices", driver)
    monkeypatch.delenv(asked.CUDA_VARIABLE, raising=False)
    for name in ("device", "arch", "first_of", "cuda", "asked_cuda"):
        monkeypatch.setattr(asked._Used, name, getattr(asked._Used, name))
    asked._Used.cuda, asked._Used.asked_cuda = None, False
    yield monkeypatch
    os.environ.pop(asked.CUDA_VARIABLE, None)


def taken(number: int | None) -> str:
    """The device of CUDA that an engine takes which asks for this number: the first that its driver shows."""
    with asked.on_device("cuda", "TI_", number):
        device = asked.device_in_use()
    assert device is not None
    return device.name


def test_a_device_of_cuda_by_its_number(gpus: pytest.MonkeyPatch) -> None:
    assert [taken(1), taken(1)] == 2 * ["GPU 1"]
    assert asked.remark() == ""
    with pytest.raises(RuntimeUnavailableError, match="on device 1 of arch 'cuda'; 0 needs a process of its"):
        taken(0)


def test_the_first_device_of_cuda_is_the_default(gpus: pytest.MonkeyPatch) -> None:
    assert [taken(None), taken(0)] == 2 * ["GPU 0"]
    with pytest.raises(RuntimeUnavailableError, match="on device 0 of arch 'cuda'; 1 needs a process of its"):
        taken(1)


def test_a_number_that_cuda_does_not_show(gpus: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeUnavailableError, match="no device 7 of arch 'cuda'; there are: none"):
        taken(7)


def test_the_variable_of_cuda_goes_before(gpus: pytest.MonkeyPatch) -> None:
    gpus.setenv(asked.CUDA_VARIABLE, "1")
    assert [taken(None), taken(0)] == 2 * ["GPU 1"]
    assert asked.remark() == ""


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
