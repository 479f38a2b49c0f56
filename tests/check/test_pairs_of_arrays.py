"""Traps and twins in arrays of every kind: members of structs, offsets, sparse fields, aliases, objects.

Each way of being wrong is written for each kind of array, beside a twin that looks alike and is right.
`make test` asks each kind and each way once, `make long` all pairs.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from minusgrad.app.plugin_kit import check_process
from minusgrad.check.outcomes import RIGHT, WRONG, outcome
from minusgrad.check.questions import Finding


class Kind(NamedTuple):
    """A kind of array: a loop, an element of the input, of another array, and of one without adjoint."""

    loop: str
    x: str
    y: str
    z: str
    given: str
    owned: bool = False
    arguments: str = ""
    """The arguments of the kernel, where it has any, and how it is called."""
    called: str = ""


KINDS = {
    "struct_number": Kind("for i in range(3):", "ball[i].m", "other[i].m", "plain[i].m", "ball.m"),
    "struct_vector": Kind("for i in range(3):", "ball[i].x[0]", "other[i].x[0]", "plain[i].x[0]", "ball.x"),
    "offset": Kind("for i in range(-2, 1):", "off[i]", "off_y[i]", "off_z[i]", "off"),
    "bitmasked": Kind("for i in masked:", "masked[i]", "dense_y[i]", "dense_z[i]", "masked"),
    "pointer": Kind("for i in blocks:", "blocks[i]", "dense_y[i]", "dense_z[i]", "blocks"),
    "alias": Kind("for i in range(3):", "first[i]", "second[i]", "third[i]", "v"),
    "object": Kind("for i in range(self.n):", "self.x[i]", "self.y[i]", "self.z[i]", "model.x", owned=True),
    "tensor": Kind(
        "for i in range(3):",
        "x[i]",
        "y[i]",
        "z[i]",
        "tensor_x",
        arguments="x: ti.types.ndarray(), y: ti.types.ndarray(), z: ti.types.ndarray()",
        called="tensor_x, tensor_y, host_z",
    ),
}
WAYS = {
    "in_place": (
        "{L}\n{y} = {x}\n{L}\n{y} = ti.sin({y})\n{L}\nU[None] += {y}",
        "{L}\n{y} = ti.sin({x})\n{L}\nU[None] += {y}",
    ),
    "no_adjoint": (
        "{L}\n{z} = ti.sin({x})\n{L}\nU[None] += {z} * {z}",
        "{L}\n{y} = ti.sin({x})\n{L}\nU[None] += {y} * {y}",
    ),
    "cast": ("{L}\nU[None] += ti.cast(9.0 * {x}, ti.i32) * {x}", "{L}\nU[None] += 9.0 * {x} * {x}"),
    "maximum": ("{L}\nti.atomic_max(U[None], {x} * {x})", "{L}\nti.atomic_add(U[None], {x} * {x})"),
    "added_later": (
        "{L}\n{y} = 2.0 * {x}\n{L}\nU[None] += {x} * {y}\n{L}\n{y} += 1.0",
        "{L}\n{y} = 2.0 * {x} + 1.0\n{L}\nU[None] += {x} * {y}",
    ),
    "before_a_loop": (
        "{L}\ns = ti.sin({x})\nfor j in range(3):\n    U[None] += s * {x} * (j + 1) * s",
        "{L}\nfor j in range(3):\n    U[None] += ti.sin({x}) * {x} * (j + 1)",
    ),
}
PAIRS = [(kind, way) for kind in KINDS for way in WAYS]
FEW = [(kind, list(WAYS)[k % len(WAYS)]) for k, kind in enumerate(KINDS)]
HEAD = """
import numpy as np
import taichi as ti
import torch
from minusgrad import checked

ti.init(arch=ti.cpu, default_fp=ti.f64)
U = ti.field(ti.f64, (), needs_grad=True)
Ball = ti.types.struct(x=ti.types.vector(2, ti.f64), m=ti.f64)
ball, other = Ball.field(shape=3, needs_grad=True), Ball.field(shape=3, needs_grad=True)
plain = Ball.field(shape=3)
off = ti.field(ti.f64, shape=3, offset=-2, needs_grad=True)
off_y = ti.field(ti.f64, shape=3, offset=-2, needs_grad=True)
off_z = ti.field(ti.f64, shape=3, offset=-2)
masked, blocks = ti.field(ti.f64), ti.field(ti.f64)
ti.root.bitmasked(ti.i, 16).place(masked, masked.grad)
ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(blocks, blocks.grad)
dense_y = ti.field(ti.f64, shape=16, needs_grad=True)
dense_z = ti.field(ti.f64, shape=16)
v, w = ti.Vector.field(2, ti.f64, 3, needs_grad=True), ti.Vector.field(2, ti.f64, 3, needs_grad=True)
bare = ti.Vector.field(2, ti.f64, 3)
for k in range(3):
    ball[k].x, ball[k].m = [0.3 + 0.2 * k, 0.5], 0.9 + 0.3 * k
    off[k - 2], v[k] = 0.4 + 0.3 * k, [0.5 + 0.2 * k, 0.7]
tensor_x = torch.tensor([0.4, 0.7, 1.1], dtype=torch.float64, requires_grad=True)
tensor_y = torch.zeros(3, dtype=torch.float64, requires_grad=True)
host_z = np.zeros(3)
masked[1], masked[5], masked[9] = 0.3, 0.7, 0.9
blocks[1], blocks[6], blocks[13] = 0.4, 0.6, 1.1
first, second, third = v.get_scalar_field(0), w.get_scalar_field(1), bare.get_scalar_field(0)


@ti.data_oriented
class Model:
    def __init__(self):
        self.n = 3
        self.x = ti.field(ti.f64, 3, needs_grad=True)
        self.y = ti.field(ti.f64, 3, needs_grad=True)
        self.z = ti.field(ti.f64, 3)
        for k in range(3):
            self.x[k] = 0.4 + 0.25 * k
"""


def body(kind: Kind, text: str, deep: int) -> str:
    """The lines of a kernel: what follows a loop stands in it."""
    lines, outer = [], " " * deep
    for line in text.split("\n"):
        if line == "{L}":
            lines.append(outer + kind.loop)
        else:
            lines.append(outer + "    " + line.format(x=kind.x, y=kind.y, z=kind.z))
    return "\n".join(lines)


def program(pairs: list[tuple[str, str]]) -> str:
    """A file that declares these traps and twins."""
    methods, functions = "", ""
    for kind_name, way in pairs:
        kind = KINDS[kind_name]
        for which, text in zip(("trap", "twin"), WAYS[way], strict=True):
            name = f"{kind_name}_{way}_{which}"
            declared = f"@checked(loss='U', inputs={{'{kind.given}': {{'step': 0.1}}}})\n"
            if kind.owned:
                methods += f"\n    @ti.kernel\n    def {name}(self):\n{body(kind, text, 8)}\n"
                functions += f"\n\n{declared}def {name}():\n    model.{name}()\n"
            elif kind.arguments:
                functions += f"\n\n@ti.kernel\ndef of_{name}({kind.arguments}):\n{body(kind, text, 4)}\n"
                functions += f"\n\n{declared}def {name}():\n    of_{name}({kind.called})\n"
            else:
                functions += f"\n\n{declared}@ti.kernel\ndef {name}():\n{body(kind, text, 4)}\n"
    return f"{HEAD}{methods}\n\nmodel = Model()\n{functions}"


def asked(folder: Path, pairs: list[tuple[str, str]]) -> dict[str, list[Finding]]:
    file = folder / "pairs.py"
    file.write_text(program(pairs))
    found: dict[str, list[Finding]] = {}
    for finding in check_process.findings([str(file)], seconds=300.0):
        found.setdefault(finding.term, []).append(finding)
    return found


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> dict[str, list[Finding]]:
    return asked(tmp_path_factory.mktemp("few"), FEW)


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> dict[str, list[Finding]]:
    return asked(tmp_path_factory.mktemp("all"), PAIRS)


def judge(found: dict[str, list[Finding]], pair: tuple[str, str]) -> None:
    trap, twin = (found["_".join([*pair, which])] for which in ("trap", "twin"))
    assert outcome(trap) == WRONG
    assert any(f.where for f in trap if not f.passed)
    assert outcome(twin) == RIGHT, [f.text for f in twin if not f.passed]


@pytest.mark.parametrize("pair", FEW, ids="-".join)
def test_a_trap_in_an_array_of_this_kind_is_found_and_its_twin_is_right(few, pair: tuple[str, str]) -> None:
    judge(few, pair)


@pytest.mark.long
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_trap_in_every_kind_of_array_is_found(everything, pair: tuple[str, str]) -> None:
    judge(everything, pair)
