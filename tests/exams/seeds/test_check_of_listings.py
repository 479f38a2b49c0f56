"""The listings of the documents that began this project, put to `minusgrad check` as they are.

Their kernels are those of the documents, with `ti.ad.Tape` for `ti.Tape`, which Taichi 1.7 no longer has.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from minusgrad.app.plugin_kit import check_process
from minusgrad.check.outcomes import RIGHT, WRONG, outcome
from minusgrad.check.questions import Finding

SINE = """
import taichi as ti
ti.init()
x = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
y = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
@ti.kernel
def compute_y():
    y[None] = ti.sin(x[None])
x[None] = 0.3
with ti.ad.Tape(y):
    compute_y()
"""
GRAVITY = """
import taichi as ti
ti.init()
N = 8
dt = 1e-5
x = ti.Vector.field(2, dtype=ti.f32, shape=N, needs_grad=True)
v = ti.Vector.field(2, dtype=ti.f32, shape=N)
U = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
@ti.kernel
def compute_U():
    for i, j in ti.ndrange(N, N):
        r = x[i] - x[j]
        U[None] += -1 / r.norm(1e-3)
@ti.kernel
def advance():
    for i in x:
        v[i] += dt * -x.grad[i]
    for i in x:
        x[i] += dt * v[i]
def substep():
    with ti.ad.Tape(loss=U):
        compute_U()
    advance()
@ti.kernel
def init():
    for i in x:
        x[i] = [ti.random(), ti.random()]
init()
gui = ti.GUI('Autodiff gravity')
while gui.running:
    for i in range(50):
        substep()
    gui.circles(x.to_numpy(), radius=3)
    gui.show()
"""
TWO_LOSSES = """
import taichi as ti
ti.init()
N = 16
x = ti.field(dtype=ti.f32, shape=N, needs_grad=True)
loss = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
loss2 = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
@ti.kernel
def func():
    for i in x:
       loss[None] += x[i] ** 2
       loss2[None] += x[i]
for i in range(N):
    x[i] = i
loss.grad[None] = 1
loss2.grad[None] = 1
func()
func.grad()
for i in range(N):
    assert x.grad[i] == i * 2 + 1
"""
RULE = """
import taichi as ti
ti.init()
N = 16
x = ti.field(dtype=ti.f32, shape=N, needs_grad=True)
loss = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
b = ti.field(dtype=ti.f32, shape=(), needs_grad=True)
@ti.kernel
def func_broke_rule():
BODY
for i in range(N):
    x[i] = i
b[None] = 10
loss.grad[None] = 1
with ti.ad.Tape(loss):
    func_broke_rule()
"""
TWO_LOOPS = """
import taichi as ti
ti.init()
x = ti.field(ti.f32, shape=20, needs_grad=True)
loss = ti.field(ti.f32, shape=(), needs_grad=True)
for i in range(20):
    x[i] = 0.1 * i + 0.1
@ti.kernel
def differentiable_task3():
    for i in range(10):
        for j in range(20):
            loss[None] += x[i] * x[j]
        for j in range(20):
            loss[None] += ti.sin(x[i]) * x[j]
with ti.ad.Tape(loss):
    differentiable_task3()
"""
CUSTOM = """
import taichi as ti
ti.init()
x = ti.field(ti.f32)
total = ti.field(ti.f32)
n = 128
ti.root.dense(ti.i, n).place(x)
ti.root.place(total)
ti.root.lazy_grad()
@ti.kernel
def func(mul: ti.f32):
    for i in range(n):
        ti.atomic_add(total[None], x[i] * mul)
@ti.ad.grad_replaced
def forward(mul):
    func(mul)
    func(mul)
@ti.ad.grad_for(forward)
def backward(mul):
    func.grad(mul)
with ti.ad.Tape(loss=total):
    forward(4)
assert x.grad[0] == 4
"""
RULE_1 = RULE.replace("BODY", "    loss[None] = x[1] * b[None]\n    b[None] += 100")
RULE_2 = RULE.replace("BODY", "    loss[None] += x[1] ** 2\n    loss[None] *= x[2]")
LISTINGS = [
    pytest.param(SINE, RIGHT, "", id="sine"),
    pytest.param(GRAVITY, RIGHT, "", id="gravity", marks=pytest.mark.long),
    pytest.param(TWO_LOSSES, RIGHT, "", id="two losses", marks=pytest.mark.long),
    pytest.param(RULE_1, WRONG, "b[None] += 100", id="rule 1", marks=pytest.mark.long),
    pytest.param(RULE_2, WRONG, "loss[None] *= x[2]", id="rule 2", marks=pytest.mark.long),
    pytest.param(TWO_LOOPS, RIGHT, "", id="two inner loops", marks=pytest.mark.long),
    pytest.param(CUSTOM, WRONG, "def forward(mul):", id="custom gradient", marks=pytest.mark.long),
]


@pytest.fixture
def asked(tmp_path: Path) -> Callable[[str], list[Finding]]:
    def ask(text: str) -> list[Finding]:
        (tmp_path / "listing.py").write_text(text)
        return list(check_process.findings([str(tmp_path / "listing.py")], seconds=300.0))

    return ask


@pytest.mark.parametrize(("text", "expected", "line"), LISTINGS)
def test_a_listing_has_the_right_verdict_and_the_right_line(
    text: str, expected: int, line: str, asked
) -> None:
    found = asked(text)
    wrong = [f for f in found if not f.passed]
    assert outcome(found) == expected, [f.text for f in wrong]
    if line:
        file, _, number = wrong[0].where.rpartition(":")
        near = Path(file).read_text().splitlines()[int(number) - 1 :][:2]
        assert line in [text.strip() for text in near]
    else:
        assert not any("is frozen" in f.text for f in found)
