"""The scene `water_renderer` on a few cells."""

import numpy as np

from minusgrad.app.runs import build
from minusgrad.assembly.built_scene import BuiltScene
from tests.support.command import SCENES


def pond(n: int = 16, steps: int = 12) -> BuiltScene:
    """The scene on a few cells, with a random height that is smooth enough for its ground."""
    flat = {"kind": "constant", "unit": "m"}
    sizes = {"state.size": [n, n], "run.steps": steps, "map.1.depth": 6.0, "state.fields.height": flat}
    made = build(SCENES / "water_renderer.toml", sizes)
    made.fields["height"].set(np.random.default_rng(3).normal(size=n * n))
    return made
