"""A scene that both engines run: in processes of their own, since a process has one engine."""

from pathlib import Path

import numpy as np

import minusgrad as mg

from .command import minusgrad


def assert_engines_agree(scene: Path, folder: Path) -> None:
    """The last positions of the runs of Taichi and Quadrants, which are written below `folder`, agree."""
    last = {}
    for engine in ("taichi", "quadrants"):
        done = minusgrad("run", scene, "--out", folder / engine, MINUSGRAD_ENGINE=engine)
        assert done.returncode == 0, done.stderr
        last[engine] = mg.open(folder / engine)["position"][-1]
    np.testing.assert_allclose(last["quadrants"], last["taichi"], rtol=1e-10)
