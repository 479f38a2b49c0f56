"""Run Taichi's installed example mpm_lagrangian_forces without its window, in double precision, and save x.

    python -m tests.exams.programs.taichi_mpm_lagrangian STEPS HEIGHT FILE

HEIGHT: of the lowest row of particles (0.7 in the example). `references/mpm_lagrangian.npy`, places
(800, 2) after 200 steps, was made so with Taichi 1.7.4: 200 0.7.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
import taichi as ti

CHANGES = (
    ("ti.init(arch=ti.gpu)", "ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1)"),
    ("gui = ti.GUI", "gui = dict  # "),
    ("0.7 + j * dx * 0.5", "HEIGHT + j * dx * 0.5"),
)


def places(steps: int, height: float) -> np.ndarray:
    """The places (800, 2) of its particles after so many steps."""
    path = Path(ti.__file__).parent / "examples" / "simulation" / "mpm_lagrangian_forces.py"
    text = path.read_text()
    for old, new in CHANGES:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "example.py"
        copy.write_text(f"HEIGHT = {height!r}\n{text}")
        spec = importlib.util.spec_from_file_location("example", copy)
        assert spec
        assert spec.loader
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        example.initialize()
        for _ in range(steps):
            example.grid_m.fill(0)
            example.grid_v.fill(0)
            with ti.ad.Tape(example.total_energy):
                example.compute_total_energy()
            example.p2g()
            example.grid_op()
            example.g2p()
        return example.x.to_numpy()


if __name__ == "__main__":
    np.save(sys.argv[3], places(int(sys.argv[1]), float(sys.argv[2])))
