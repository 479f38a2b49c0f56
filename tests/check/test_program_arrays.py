"""Arrays of any kind in a checked file: 0-D, offset, sparse, struct members, aliases, attributes of objects.

One file declares a kernel for each kind, right or wrong in a way that only a model of its arrays shows.
"""

from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from minusgrad.app.plugin_kit import check_process
from minusgrad.check.outcomes import RIGHT, WRONG, outcome
from minusgrad.check.questions import Finding
from minusgrad.interpreter.program_arrays import of_program

HEAD = """
import taichi as ti
from minusgrad import checked

ti.init(arch=ti.cpu, default_fp=ti.f64)
U = ti.field(ti.f64, (), needs_grad=True)
zero = ti.field(ti.f64, (), needs_grad=True)
shifted = ti.field(ti.f64, shape=(3, 2), offset=(-2, 5), needs_grad=True)
weight = ti.field(ti.f64, shape=(3, 2), offset=(-2, 5))
masked = ti.field(ti.f64)
ti.root.bitmasked(ti.i, 8).place(masked, masked.grad)
blocks = ti.field(ti.f64)
ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(blocks, blocks.grad)
grown = ti.field(ti.f64)
ti.root.bitmasked(ti.i, 8).place(grown, grown.grad)
Ball = ti.types.struct(x=ti.types.vector(2, ti.f64), m=ti.f64)
balls = Ball.field(shape=3, needs_grad=True)
v = ti.Vector.field(2, ti.f64, 3, needs_grad=True)
zero[None] = 0.3
shifted.fill(0.3)
weight.fill(2.0)
masked[1], masked[5] = 0.3, 0.4
blocks[1], blocks[13] = 0.3, 0.4
grown[2] = 0.5
for k in range(3):
    balls[k].x, balls[k].m = [0.2 + k, 0.5], 1.0 + k
v.fill(0.4)
first = v.get_scalar_field(0)


class Holder:
    def __init__(self):
        self.zero, self.U = zero, U


holder = Holder()
"""
TEXTS = """
right_zero_d zero
    U[None] += ti.sin(zero[None])
wrong_zero_d zero
    U[None] += zero[None] * ti.floor(zero[None] * 10.0)
right_offset shifted
    for i, j in shifted:
        U[None] += weight[i, j] * i * j * shifted[i, j] ** 2
wrong_offset shifted
    for i, j in ti.ndrange(3, 2):
        U[None] += shifted[i, j + 5] ** 2
right_bitmasked masked
    for i in masked:
        U[None] += 1.0 + masked[i] ** 2
wrong_bitmasked masked
    for i in masked:
        U[None] += ti.cast(9 * masked[i], ti.i32)
right_pointer blocks
    for i in blocks:
        U[None] += ti.exp(blocks[i])
right_activating grown
    for i in range(8):
        grown[i] += 0.1 * i
    for i in grown:
        U[None] += grown[i] ** 2
right_struct balls.x
    for i in balls:
        b = balls[i]
        b.m += 1.0
        U[None] += b.m * balls[i].x.norm_sqr()
wrong_struct balls.m
    for i in balls:
        balls[i].m *= balls[i].m
    for i in balls:
        U[None] += balls[i].m
right_alias v
    for i in first:
        U[None] += first[i] ** 2 * i
wrong_alias v
    for i in first:
        first[i] = ti.sin(first[i])
    for i in first:
        U[None] += first[i]
"""
"""Each case: its name, its input, and the lines of its kernel."""


def _parsed() -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for line in TEXTS.strip().splitlines():
        if line.startswith(" "):
            name = list(found)[-1]
            found[name] = (found[name][0], f"{found[name][1]}{line}\n")
        else:
            name, given = line.split()
            found[name] = (given, "")
    return found


CASES = _parsed()
REPLAYED = sorted(set(CASES) - {"right_activating"})


@cache
def asked(folder: Path) -> dict[str, list[Finding]]:
    text = HEAD
    for name, (given, body) in CASES.items():
        declared = f"@checked(loss='U', inputs={{'{given}': {{'step': 0.1}}}})"
        text += f"\n\n{declared}\n@ti.kernel\ndef {name}():\n{body}"
    file = folder / "kinds.py"
    file.write_text(text)
    found: dict[str, list[Finding]] = {name: [] for name in CASES}
    for finding in check_process.findings([str(file)], seconds=120.0):
        found[finding.term].append(finding)
    return found


@pytest.fixture(scope="module")
def findings(tmp_path_factory) -> dict[str, list[Finding]]:
    return asked(tmp_path_factory.mktemp("kinds"))


@pytest.mark.parametrize("name", CASES)
def test_a_right_kernel_is_right_and_a_wrong_one_is_found(findings, name: str) -> None:
    found = [f.text for f in findings[name] if not f.passed]
    assert outcome(findings[name]) == (RIGHT if name.startswith("right") else WRONG), found


@pytest.mark.parametrize("name", [n for n in REPLAYED if n.startswith("right")])
def test_its_value_and_reverse_are_compared_with_plain_python(findings, name: str) -> None:
    answered = {f.question for f in findings[name] if not f.unasked}
    assert {"value", "reverse", "taylor", "path"} <= answered


def test_a_loop_over_cells_that_the_kernel_activates_is_not_replayed(findings) -> None:
    reasons = [f.text for f in findings["right_activating"] if f.unasked]
    assert len(reasons) == 1
    assert reasons[0].endswith("grown: the kernel activates cells, and loops over active ones")


def test_an_index_before_the_offset_is_outside(findings) -> None:
    found = next(f for f in findings["wrong_offset"] if f.question == "value" and not f.passed)
    assert "shifted[1, 5] is outside of the array, which is 3 x 2 and begins at -2, 5" in found.text


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_a_package_of_another_environment_is_not_the_programs_own(folder: str) -> None:
    """A .pth file may add the packages of one environment to another."""
    module = ModuleType("other")
    module.__file__ = f"/opt/other/lib/{folder}/other/__init__.py"
    assert not of_program(module)
    module.__file__ = "/home/someone/other.py"
    assert of_program(module)
