"""Types that a user's file names before the engine starts: `ti.math.vec3` and `float` are f64 there, too.

Taichi's default is f32 until `ti.init`, and a file is read before a scene or a call starts the engine.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minusgrad.engine import runtime
from tests.support.tiers import sampled

TYPES = """
import sys
from minusgrad import ti

of_math = [ti.math.vec2, ti.math.vec3, ti.math.vec4, ti.math.mat2, ti.math.mat3, ti.math.mat4]
made = [ti.types.vector(3, float), ti.types.matrix(2, 2, float)]
fields = ti.types.struct(a=float, b=ti.math.vec3).members
early = [*map(str, (t.dtype for t in [*of_math, *made])), str(fields["a"]), str(fields["b"].dtype)]
g = ti.Vector([0.0, 0.0, -0.1])

@ti.kernel
def fall(x: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), v: made[0], s: float) -> float:
    y = x[0] + v + g * s
    return y[2]

from minusgrad.engine import runtime
runtime.start()
x = ti.Vector.ndarray(3, ti.f64, 1)
x.fill(0.1)
late = str(ti.types.vector(3, float).dtype)
print(set(early), late, fall(x, made[0](0.0, 0.0, 0.3), 0.7) == 0.1 + 0.3 + -0.1 * 0.7)
"""


def ran(engine: str, *words: str, cwd: Path) -> str:
    env = {**os.environ, runtime.VARIABLE: engine}
    done = subprocess.run([sys.executable, *words], env=env, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", sampled(runtime.PREFIXES, ["taichi"]))
def test_types_at_the_head_of_a_file_are_f64(engine: str, tmp_path: Path) -> None:
    (tmp_path / "early.py").write_text(TYPES)
    assert ran(engine, "early.py", cwd=tmp_path) == "{'f64'} f64 True\n"
