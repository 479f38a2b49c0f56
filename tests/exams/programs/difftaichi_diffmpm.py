"""Run DiffTaichi's own diffmpm.py without its window, in double precision: losses and gradients.

    python -m tests.exams.programs.difftaichi_diffmpm DIFFMPM.PY STEPS THREADS ITERATIONS FILE

DIFFMPM.PY: examples/diffmpm.py of https://github.com/taichi-dev/difftaichi. STEPS: those that it takes. The
weights are 0.01 times standard normal numbers of NumPy's default_rng(0), which `scenes/diffmpm.toml` has,
too; ITERATIONS of its descent follow, w -= 0.1 dL/dw.

`references/diffmpm.npz` was made so with Taichi 1.7.4, two cores: 100 steps; 1,023 steps with 1 thread and
twice with 2 (`spread_*`: the largest difference of any two of these), the last with 100 iterations.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np

CHANGES = (
    ("real = ti.f32", "real = ti.f64"),
    (
        "ti.init(default_fp=real, arch=ti.gpu, flatten_if=True)",
        "ti.init(default_fp=real, arch=ti.cpu, flatten_if=True, cpu_max_num_threads=THREADS)",
    ),
    ("import matplotlib.pyplot as plt\n", ""),
    ("\nsteps = 1024", "\nsteps = STEPS"),
    ('gui = ti.GUI("Differentiable MPM", (640, 640), background_color=0xFFFFFF)\n', ""),
)


def descend(source: Path, steps: int, threads: int, iterations: int) -> dict[str, np.ndarray]:
    """The first loss and gradient, and the losses of all iterations."""
    text = source.read_text().split("def main():")[0]
    for old, new in CHANGES:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    text = text.replace("STEPS", f"{steps + 1}").replace("THREADS", f"{threads}")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "original.py"
        copy.write_text(text)
        spec = importlib.util.spec_from_file_location("original", copy)
        assert spec
        assert spec.loader
        original = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(original)
        return _descended(original, steps, iterations)


def _descended(original, steps: int, iterations: int) -> dict[str, np.ndarray]:
    scene = original.Scene()
    original.robot(scene)
    scene.finalize()
    original.allocate_fields()
    for i in range(scene.n_particles):
        original.x[0, i], original.F[0, i] = scene.x[i], [[1, 0], [0, 1]]
        original.actuator_id[i], original.particle_type[i] = scene.actuator_id[i], scene.particle_type[i]
    w, b = 0.01 * np.random.default_rng(0).normal(size=(4, 4)), np.zeros(4)
    found: dict[str, np.ndarray] = {}
    losses = []
    for _ in range(iterations + 1):
        original.weights.from_numpy(w)
        original.bias.from_numpy(b)
        with original.ti.ad.Tape(original.loss):
            original.forward(steps + 1)
        losses.append(original.loss[None])
        dw, db = original.weights.grad.to_numpy(), original.bias.grad.to_numpy()
        found = found or {"loss": np.array(losses[0]), "dw": dw, "db": db}
        w, b = w - 0.1 * dw, b - 0.1 * db
    return found | {"losses": np.array(losses)}


if __name__ == "__main__":
    np.savez(sys.argv[5], **descend(Path(sys.argv[1]), *map(int, sys.argv[2:5])))
