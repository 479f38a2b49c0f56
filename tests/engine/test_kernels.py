"""Emitted kernels are set up without formatting source positions, and compiled without the analysis of flow.

Their errors still name a line, and their bits are those that they have with it.
"""

import inspect
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from minusgrad import ti
from minusgrad.engine import kernels, random, runtime, vector_functions
from minusgrad.engine.kernels import GRAIN, BoundKernel, Code, short_loops_serial
from minusgrad.engine.loading import source_texts
from tests.support.engine import restarted
from tests.support.instances import CANONICAL

BOUND = kernels._bind_kernel


@pytest.fixture
def formatted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lines whose source positions the engine formats."""
    owner, name = runtime._POSITIONS[runtime.engine_name()]
    context = getattr(runtime.part("lang.ast.ast_transformer_utils"), owner)
    lines: list[int] = []
    right = getattr(context, name)

    def counted(self, node) -> str:
        lines.append(node.lineno)
        return right(self, node)

    monkeypatch.setattr(context, name, counted)
    return lines


def kernel(line: str) -> BoundKernel:
    """One that is new to the process, over four numbers."""
    return BoundKernel(Code(f"for n in range(x.shape[0]):\n    {line}\n", {"x": np.arange(4.0)}))


def test_set_up_of_an_emitted_kernel_formats_no_positions(formatted: list[int]) -> None:
    launch = kernel("x[n] = ti.f64(0.4142) * x[n]")
    launch()
    assert launch.arrays[0][1] == 0.4142
    assert formatted == []


def test_the_count_sees_them(formatted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "short_positions", nullcontext)
    kernel("x[n] = ti.f64(0.7321) * x[n]")()
    assert len(formatted) >= 3


def test_an_error_in_an_emitted_kernel_shows_its_line() -> None:
    with pytest.raises(runtime.refusals(), match=r"<minusgrad \w+>, line 3: x\[n\] = nothing\[n\]"):
        kernel("x[n] = nothing[n]")()


def test_a_kernel_of_a_user_keeps_its_positions(formatted: list[int]) -> None:
    @ti.kernel
    def wrong(x: ti.types.ndarray(dtype=ti.f64, ndim=1)):
        x[0] = nothing  # type: ignore[name-defined]  # noqa: F821

    kernel("x[n] = ti.f64(0.2361) * x[n]")()
    with pytest.raises(runtime.refusals()) as error:
        wrong(np.zeros(3))
    assert "test_kernels.py" in str(error.value)
    assert "x[0] = nothing" in str(error.value)
    assert "^^^^^^^" in str(error.value)
    assert formatted


@pytest.mark.parametrize(
    ("turns", "statements", "serial"), [(GRAIN, 90, True), (4000, 2, True), (4000, 9, False)]
)
def test_short_loops_do_not_use_the_pool_of_threads(turns: int, statements: int, serial: bool) -> None:
    """Those of few turns, or of little work; others are left as they are."""
    arrays = {"x": np.zeros(turns), "y": np.zeros((9, 2))}
    loop = "for n in range(x.shape[0]):\n" + "    x[n] = x[n] + n\n" * statements
    long = "for n in range((x.shape[0] + 1) * 512):\n    if n == 3:\n        y[n, 0] = 2.0\n"
    code = short_loops_serial(Code("first = 1\n" + loop + long, arrays))
    header = "ti.loop_config(serialize=True)\n" * serial
    assert code.text == "first = 1\n" + header + loop + long
    BoundKernel(code)()
    np.testing.assert_array_equal(arrays["x"], statements * np.arange(turns))
    assert arrays["y"].sum() == 2.0


def test_short_loops_of_blocks_are_counted_by_their_blocks() -> None:
    """Loops with loops inside have much work in few turns."""
    inner = "    for n in range(b * 64, b * 64 + 64):\n        x[n] = 1.0\n"
    text = f"for b in range((x.shape[0] + 63) // 64):\n{inner}"
    header = "ti.loop_config(serialize=True)\n"
    for blocks, serial in ((GRAIN, True), (GRAIN + 1, False)):
        code = short_loops_serial(Code(text, {"x": np.zeros(64 * blocks)}))
        assert code.text == header * serial + text


def test_an_emitted_kernel_reads_no_source_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel("x[n] = ti.f64(0.6457) * x[n]")()  # Quadrants has kernels of its own at its start
    asked: list[str] = []
    owner = runtime.part("lang.kernel_impl")
    before = owner._inside_class
    monkeypatch.setattr(
        owner, "_inside_class", lambda *given, **named: asked.append("") or before(*given, **named)
    )
    kernel("x[n] = ti.f64(0.6458) * x[n]")()
    assert asked == []
    ti.kernel(lambda: None)
    assert asked == [""]


def test_the_text_of_an_emitted_kernel_is_read_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines that `inspect` finds, without its search for the file and for the end of the function."""
    asked, searched = list[Any](), list[Any]()
    written, block = source_texts.is_framework_text, inspect.getblock
    monkeypatch.setattr(source_texts, "is_framework_text", lambda f: asked.append(f) or written(f))
    monkeypatch.setattr(inspect, "getblock", lambda lines: searched.append(lines) or block(lines))
    launch = kernel("x[n] = erf_f64(x[n]) + erfc_f64(x[n])")
    launch()
    np.testing.assert_allclose(launch.arrays[0], 1.0, rtol=1e-12)
    assert searched == []
    made = vector_functions.helpers(ti, "log_f64x8 exp_f32x16") | random.helpers(ti, "random_normal")
    reader = runtime.part(runtime._READERS[runtime.engine_name()][0])
    functions = [*{id(f): f for f in asked}.values(), *(inspect.unwrap(f) for f in made.values())]
    assert len(functions) == 6
    for function in functions:
        lines, first = inspect.getsourcelines(function)
        with runtime.texts_at_hand():
            found = reader.getsourcelines(function)
        assert ("".join(found[0]).rstrip(), found[1]) == ("".join(lines).rstrip(), first)


@pytest.mark.parametrize("name", ["neo_hookean", "gravity", "angle"])
def test_the_analysis_of_flow_changes_no_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked = [], list[bool]()
    config = runtime.part("lang.impl").current_cfg
    for analysed in (False, True):
        if analysed:
            monkeypatch.setattr(runtime, "no_flow_analysis", nullcontext)
        monkeypatch.setattr(
            "minusgrad.engine.kernels._bind_kernel",
            lambda *given: asked.append(config().cfg_optimization) or BOUND(*given),
        )
        restarted()
        potential = CANONICAL[name].potential(np.random.default_rng(5), 3, 9)
        tangent = {"x": np.random.default_rng(6).normal(size=potential.fields["x"].values.shape)}
        found.append([potential.value(), potential.gradient("x"), potential.product(tangent, "x")])
        assert asked
        assert set(asked) == {analysed}
        assert config().cfg_optimization
        asked.clear()
    for short, long in zip(*found, strict=True):
        assert np.array_equal(short, long)
