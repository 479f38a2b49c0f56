"""Forms of derivatives in a checked file: forward mode, reverses by hand, tensors, intended omissions."""

from pathlib import Path

import pytest

from minusgrad.app.plugin_kit import check_process
from minusgrad.check.outcomes import NOT_ASKED, RIGHT, WRONG, exit_code

HEAD = """import taichi as ti
ti.init(arch=ti.cpu, default_fp=ti.f64)
"""
FORWARD = """
x = ti.field(ti.f64, 4, needs_dual=True)
y = ti.field(ti.f64, 4, needs_dual=DUAL)
loss = ti.field(ti.f64, 4, needs_dual=True)
x.fill(0.7)

@ti.kernel
def f():
    for i in x:
        y[i] = ti.sin(x[i])

@ti.kernel
def g():
    for i in x:
        loss[i] += y[i] * x[i]

with ti.ad.FwdMode(loss=loss, param=x, seed=[1.0, 0.0, 2.0, 0.0]):
    f()
    g()
"""
BY_HAND = """
x = ti.field(ti.f64, 4, needs_grad=True)
y = ti.field(ti.f64, 4, needs_grad=True)
z = ti.field(ti.f64, 4, needs_grad=True)
x.fill(0.7)

@ti.kernel
def first():
    for i in x:
        y[i] = ti.sin(x[i])

@ti.kernel
def second():
    for i in x:
        z[i] = y[i] * x[i]

first()
second()
z.grad.fill(2.0)
y.grad.fill(0.5)
ORDER
"""
CHECKPOINTS = """
T, K = 12, 4
x = ti.field(ti.f64, K + 1, needs_grad=True)
a = ti.field(ti.f64, (), needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)
kept = ti.field(ti.f64, T // K)
a[None] = 0.3
x[0] = 0.7

@ti.kernel
def step(k: ti.i32):
    x[k + 1] = x[k] + 0.1 * ti.sin(a[None] * x[k])

@ti.kernel
def save(s: ti.i32):
    kept[s] = x[0]

@ti.kernel
def restore(s: ti.i32):
    x[0] = kept[s]

@ti.kernel
def shift():
    x[0] = x[K]

@ti.kernel
def measure():
    loss[None] = x[K] ** 2

@ti.kernel
def carry():
    g = x.grad[0]
    for k in range(K + 1):
        x.grad[k] = 0.0
    x.grad[K] = g

for s in range(T // K):
    save(s)
    for k in range(K):
        step(k)
    if s < T // K - 1:
        shift()
measure()
loss.grad[None] = 1.0
measure.grad()
for s in reversed(range(T // K)):
    restore(s)
    for k in range(K):
        step(k)
    if s < T // K - 1:
        CARRY
    for k in reversed(range(REVERSED)):
        step.grad(k)
"""
LONG = """
T = 60
x = ti.field(ti.f64, T + 1, needs_grad=True)
a = ti.field(ti.f64, (), needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)
x[0], a[None] = 0.7, 0.3

@ti.kernel
def step(t: ti.i32):
    x[t + 1] = x[t] + 0.05 * ti.sin(a[None] * x[t])

@ti.kernel
def measure():
    loss[None] = x[T] ** 2

for epoch in range(2):
    for t in range(T):
        step(t)
    measure()
    x.grad.fill(0)
    a.grad[None] = 0
    loss.grad[None] = 1
    measure.grad()
    for t in reversed(range(REVERSED)):
        step.grad(t)
    a[None] -= 0.1 * a.grad[None]
"""
JACOBIAN = """
x = ti.field(ti.f64, 4, needs_grad=True)
y = ti.Vector.field(2, ti.f64, 4, needs_grad=True)
for i in range(4):
    x[i] = 0.3 * i + 0.2

@ti.kernel
def f():
    for i in x:
        y[i] = ti.Vector([ti.sin(x[i]), x[i] ** 2])

f()
for k in range(2):
    x.grad.fill(0.0)
    y.grad.fill(0.0)
    for i in range(4):
        y.grad[i][k] = 1.0
    f.grad()
"""
CLEARED = """
w = ti.field(ti.f64, 4, needs_grad=True)
sums = ti.field(ti.f64, 4, needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)
w.fill(0.4)

@ti.kernel
def add():
    for i in w:
        sums[i] += ti.sin(w[i])

@ti.kernel
def measure():
    for i in w:
        loss[None] += sums[i] ** 2

with ti.ad.Tape(loss):
    sums.fill(0.0)
    add()
    measure()
"""
DECAY = """
x = ti.field(ti.f64, 4, needs_grad=True)
mid = ti.field(ti.f64, 4, needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)
for i in range(4):
    x[i] = 0.1 + 0.2 * i

@ti.kernel
def encode():
    for i in x:
        mid[i] = ti.tanh(2.0 * x[i])

@ti.kernel
def decode():
    for i in mid:
        loss[None] += (mid[i] - 0.3 * i) ** 2

@ti.kernel
def decay():
    for i in mid:
        mid.grad[i] += 0.02 * mid[i]

encode()
decode()
loss.grad[None] = 1.0
decode.grad()
decay()
encode.grad()
"""
BY_PYTHON = "g = x.grad[0]; x.grad.fill(0); x.grad[K] = g"
EPOCHS = """
x = ti.field(ti.f64, 4, needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)
x.fill(0.7)

@ti.kernel
def f():
    for i in x:
        loss[None] += ti.sin(x[i])

for epoch in range(3):
    loss[None] = 0.0
    x.grad.fill(0.0)
    f()
    loss.grad[None] = 1.0
    f.grad()
    for i in range(4):
        x[i] -= 0.1 * x.grad[i]
"""


def checkpoints(carry: str, reversed: str = "K") -> str:
    return CHECKPOINTS.replace("CARRY", carry).replace("REVERSED", reversed)


STOPPED = """
from minusgrad import checked
x = ti.field(ti.f64, 4, needs_grad=True)
w = ti.field(ti.f64, 4, needs_grad=True)
loss = ti.field(ti.f64, (), needs_grad=True)
x.fill(0.7)
w.fill(0.3)

@checked(loss="loss", inputs={"x": {"step": 0.1}, "w": {"step": 0.1}}INTENDED)
@ti.kernel
def f():
    ti.stop_grad(w)
    for i in x:
        loss[None] += w[i] * x[i] ** 2
"""
TENSORS = """
import torch
x = torch.linspace(0.1, 1.0, 5, dtype=torch.float64, requires_grad=True)
w = torch.linspace(1.0, 2.0, 5, dtype=torch.float64)
loss = torch.zeros(1, dtype=torch.float64, requires_grad=True)

@ti.kernel
def f(x: ti.types.ndarray(), w: ti.types.ndarray(), loss: ti.types.ndarray()):
    for i in range(5):
        loss[0] += w[i] * VALUE

with ti.ad.Tape(loss):
    f(x, w, loss)
"""
LAMBDAS = """
functions = [lambda a: ti.sin(a), lambda a: VALUE, lambda a: ti.cos(a)]
chosen = functions[1]
x = ti.field(ti.f64, (), needs_grad=True)
y = ti.field(ti.f64, (), needs_grad=True)
x[None] = 0.234

@ti.kernel
def f():
    for i in ti.grouped(x):
        y[i] = chosen(x[i])

with ti.ad.Tape(y):
    f()
"""
FUNCTION = """
import torch

@ti.kernel
def f(x: ti.types.ndarray(dtype=ti.f64, ndim=1), y: ti.types.ndarray(dtype=ti.f64, ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i]
    for i in range(x.shape[0]):
        y[i] = ti.sin(ARRAY[i]) * x[i]

class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.zeros_like(x, requires_grad=True)
        f(x, y)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensors
        y.grad = gradient.contiguous()
        x.grad = torch.zeros_like(x)
        f.grad(x, y)
        return x.grad

x = torch.linspace(0.1, 2.0, 10, dtype=torch.float64, requires_grad=True)
Layer.apply(2.0 * x).sum().backward()
"""
SINGLE = """
x = ti.Vector.field(2, ti.f32, 20, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)
x.from_numpy(np.random.default_rng(3).uniform(0.0, 1.0, (20, 2)).astype(np.float32))

@ti.kernel
def f():
    for i, j in ti.ndrange(20, 20):
        if i != j:
            s = ti.cast((x[i] - x[j]).norm_sqr(), ti.f32)
            loss[None] += ti.cast(0.01, ti.f32) / ti.sqrt(VALUE + ti.cast(0.01, ti.f32))

with ti.ad.Tape(loss):
    f()
"""
FORMS = {
    "single precision": ("import numpy as np\n" + SINGLE.replace("VALUE", "s"), RIGHT, "x"),
    "single precision, rounded": (
        "import numpy as np\n" + SINGLE.replace("VALUE", "ti.floor(s * 32) / 32"),
        WRONG,
        "x",
    ),
    "forward mode": (FORWARD.replace("DUAL", "True"), RIGHT, "loss"),
    "forward mode through an array without a dual": (FORWARD.replace("DUAL", "False"), WRONG, "loss"),
    "reverses by hand": (BY_HAND.replace("ORDER", "second.grad()\nfirst.grad()"), RIGHT, "x"),
    "reverses in the wrong order": (BY_HAND.replace("ORDER", "first.grad()\nsecond.grad()"), WRONG, "x"),
    "checkpoints": (checkpoints("carry()"), RIGHT, "a"),
    "checkpoints without the adjoint of a segment": (checkpoints("pass"), WRONG, "a"),
    "checkpoints carried by Python": (checkpoints(BY_PYTHON), RIGHT, "a"),
    "checkpoints carried by Python, doubled": (checkpoints(BY_PYTHON.replace("= g", "= 2 * g")), WRONG, "a"),
    "checkpoints with a step left out": (checkpoints("carry()", "1, K"), NOT_ASKED, ""),
    "epochs": (EPOCHS, RIGHT, "x"),
    "many steps by hand": (LONG.replace("REVERSED", "T"), RIGHT, "a"),
    "many steps by hand, one left out": (LONG.replace("REVERSED", "1, T"), NOT_ASKED, ""),
    "sums that Python clears in the tape": (CLEARED, RIGHT, "w"),
    "rows of a Jacobian": (JACOBIAN, RIGHT, "x"),
    "an adjoint that a kernel changes between reverses": (DECAY, RIGHT, "loss"),
    "stop_grad, as intended": (STOPPED.replace("INTENDED", ', intended=["w"]'), RIGHT, "w"),
    "stop_grad": (STOPPED.replace("INTENDED", ""), WRONG, "w"),
    "tensors": (TENSORS.replace("VALUE", "ti.sin(x[i])"), RIGHT, "x"),
    "tensors that are cast": (TENSORS.replace("VALUE", "ti.floor(4 * x[i])"), WRONG, "x"),
    "a lambda over one number": (LAMBDAS.replace("VALUE", "ti.max(a, 0.1) / (a - 1)"), RIGHT, "x"),
    "a lambda that rounds": (LAMBDAS.replace("VALUE", "ti.floor(9 * a) * a"), WRONG, "x"),
    "a function of PyTorch": (FUNCTION.replace("ARRAY", "x"), RIGHT, "x"),
    "a function of PyTorch that writes in place": (FUNCTION.replace("ARRAY", "y"), WRONG, "x"),
}
PUSHED = ("forward mode", "reverses by hand", "checkpoints", "single precision, rounded")


@pytest.mark.parametrize(
    "form", [pytest.param(n, marks=[] if n in PUSHED else [pytest.mark.long]) for n in FORMS]
)
def test_a_form_is_asked_and_its_outcome_is_right(form: str, tmp_path: Path) -> None:
    text, code, argument = FORMS[form]
    file = tmp_path / "form.py"
    file.write_text(HEAD + text)
    found = list(check_process.findings([str(file)], seconds=120.0))
    assert exit_code(found) == code, [f.text for f in found]
    assert form != "sums that Python clears in the tape" or "sums" not in {f.argument for f in found}
    assert not argument or argument in {
        f.argument for f in found if not f.unasked and f.passed == (code == RIGHT)
    }
    if form == "stop_grad":
        assert any("ti.stop_grad" in f.text for f in found if not f.passed)
