"""Kernels that a device cannot compile or reverse are refused in words, and nothing else is written."""

import logging
from collections.abc import Iterator

import numpy as np
import pytest

from minusgrad import Fields, Node, Stage, bind_staged, staged_energy, ti
from minusgrad.engine import device_limits, device_refusals, runtime, storage
from minusgrad.engine.kernels import BoundKernel, Code
from minusgrad.errors import DeviceError, RuntimeUnavailableError
from minusgrad.potential.staged.staged_term import StagedTerm
from tests.support import devices

pytestmark = devices.needed
A = ti.types.ndarray


@pytest.fixture(autouse=True, scope="module")
def device() -> Iterator[None]:
    with devices.on():
        yield


@ti.kernel
def logarithms(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        U[None] += ti.log(x[i])


@ti.kernel
def powers(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        U[None] += x[i] ** 0.3


@ti.kernel
def noise(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        U[None] += ti.random(ti.f64) * x[i]


@ti.kernel
def thirds(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0] // 3):
        U[None] += x[i]


@ti.kernel
def squares(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        U[None] += x[i] ** 2


def term(kernel, backward=None) -> StagedTerm:
    fields = Fields({"x": np.array([0.3, 0.7, 1.9])})
    stage = Stage(kernel, ("U",), backward=backward)
    return bind_staged(staged_energy("e", stages=[stage], x=Node()), fields)


@pytest.mark.parametrize(
    ("kernel", "lacks"),
    [
        (logarithms, "this device has no ti.log in f64"),
        (powers, "this device has no ti.pow (**) in f64"),
        (noise, "this device has no ti.random in f64"),
        (thirds, "the engine has no translation of this kernel for this device"),
    ],
)
def test_a_kernel_with_a_function_that_the_device_lacks(kernel, lacks: str, capfd) -> None:
    with pytest.raises(DeviceError) as refused:
        term(kernel).value()
    stage = f"e, stage '{kernel.__name__}'"
    assert str(refused.value) == f"{stage}: {lacks}, got arch = 'vulkan'; use arch = \"cpu\""
    assert refused.value.exit_code == 2
    assert capfd.readouterr() == ("", "")


def test_an_emitted_kernel_that_the_engine_cannot_translate() -> None:
    y = storage.allocate(np.zeros(6))
    kernel = BoundKernel(Code("for i in range(y.shape[0] // 3):\n    y[i] = ti.f64(1.0)\n", {"y": y}))
    with pytest.raises(DeviceError, match=r"^kernel: the engine has no translation .* 'vulkan'; use arch"):
        kernel()


def test_the_reverse_mode_is_right_or_refused() -> None:
    """That of Taichi would change x, and leave the gradient at zero."""
    one = term(squares)
    assert one.value() == pytest.approx(0.09 + 0.49 + 3.61, rel=1e-15)
    if runtime.engine_name() == "quadrants":
        assert one.gradient("x") == pytest.approx([0.6, 1.4, 3.8], rel=1e-15)
        return
    with pytest.raises(DeviceError) as refused:
        one.gradient("x")
    assert str(refused.value) == (
        "e, stage 'squares': Taichi reverses no kernel on this device, got arch = 'vulkan';"
        ' use arch = "cpu", or engine = "quadrants", or give the stage a `backward`'
    )


def test_a_backward_of_its_own() -> None:
    @ti.kernel
    def doubled(x: A(ndim=1), d_x: A(ndim=1), d_U: A(ndim=0)):
        for i in range(x.shape[0]):
            d_x[i] += 2.0 * x[i] * d_U[None]

    assert term(squares, doubled).gradient("x") == pytest.approx([0.6, 1.4, 3.8], rel=1e-15)


def test_a_loop_that_quadrants_cannot_reverse() -> None:
    text = (
        "[spirv_codegen.cpp:visit@2975] Reverse-mode AD on the SPIR-V backend supports only f32, i32, and u1"
    )
    with pytest.raises(DeviceError) as refused, device_refusals.in_words("e"):
        raise RuntimeError(f"{text} loop-carried variables. Got f64 - cast to qd.f32")
    assert str(refused.value) == (
        "e: the engine reverses no loop that changes a variable in f64 on this device, got arch = 'vulkan';"
        ' use arch = "cpu"'
    )


def test_other_errors_keep_their_text() -> None:
    with pytest.raises(RuntimeError, match="another thing"), device_refusals.in_words("e"):
        raise RuntimeError("[auto_diff.cpp:visit@1] another thing")


def test_a_device_that_ends_loops(caplog, monkeypatch) -> None:
    monkeypatch.setattr(device_limits, "_TURNS", 1000)
    assert not device_limits.ends_loops(runtime.engine())
    monkeypatch.setattr(device_limits, "ends_loops", lambda _: True)
    with caplog.at_level(logging.WARNING, "minusgrad"):
        device_limits.refuse_short_loops(runtime.engine(), "vulkan")
    assert "arch 'vulkan': this device ends the loops of a thread after 65,535 turns" in caplog.text
    monkeypatch.delenv(device_limits.VARIABLE)
    with pytest.raises(RuntimeUnavailableError) as refused:
        device_limits.refuse_short_loops(runtime.engine(), "vulkan")
    assert str(refused.value) == (
        "arch 'vulkan': this device ends the loops of a thread after 65,535 turns, as software devices do,"
        ' and values of larger systems would be wrong; use a GPU or arch = "cpu",'
        " or set MINUSGRAD_SHORT_LOOPS=1 to try small ones"
    )
