"""Derivatives of rods: the tip at rest by moduli, in PyTorch, beside differences; `check` of scenes."""

import numpy as np
import pytest

from tests.support.command import minusgrad
from tests.support.rods import rod_scene
from tests.support.tiers import sampled
from tests.support.toml_scenes import toml_text

torch = pytest.importorskip("torch")
BENT = {"kind": "rod_circle", "elements": 12, "radius": 0.5, "angle": np.pi / 2.0}
BY = [
    "rod.youngs_modulus",
    "rod.shear_modulus",
    "rod_bends.rest",
    "rod_bends.second_moments",
]


@pytest.mark.parametrize("shear", [True, False])
def test_tip_by_stiffness(shear):
    """A quarter of a circle, pulled aside: by EI, GJ, natural curvature and sections, as differences are."""
    import minusgrad.torch

    rest = minusgrad.torch.equilibrium(rod_scene(BENT, {"shear": shear}, tip=[0.01, 0.02, 0.05]))
    start = {name: rest.start(name).requires_grad_() for name in BY}
    rest(start)["x"][-1, 2].backward()
    generator = np.random.default_rng(1)
    for name in BY:
        value = start[name].detach()
        along = value * torch.tensor(generator.uniform(0.5, 1.5, value.shape))
        parts = start[name].grad * along
        exact, scale = float(parts.sum()), float(parts.abs().sum())

        def tip(size: float, name: str = name, along: torch.Tensor = along) -> float:
            moved = {key: one.detach().clone() for key, one in start.items()}
            moved[name] = moved[name] + size * along
            return rest(moved)["x"][-1, 2].item()

        h = 2e-2 if name == "rod_bends.rest" else 1e-2
        slopes = [(tip(k * h) - tip(-k * h)) / (2.0 * k * h) for k in (1, 2, 3)]
        found = (15.0 * slopes[0] - 6.0 * slopes[1] + slopes[2]) / 10.0
        assert abs(exact - found) < 1e-8 * scale, (name, exact, found, scale)


STEPPERS = {
    "leapfrog": ({"kind": "leapfrog", "dt": 2e-4}, 20),
    "implicit": ({"kind": "implicit_midpoint", "dt": 4e-3}, 3),
    "equilibrium": ({"kind": "newton"}, 40),
}


@pytest.mark.parametrize("name", sampled(STEPPERS, ["implicit"]))
def test_check_finds_nothing(tmp_path, name):
    stepper, steps = STEPPERS[name]
    scene = rod_scene(
        BENT, {"shear": True}, stepper, tip=[0.01, 0.02, 0.05], run={"steps": steps}, title=name
    )
    path = tmp_path / "rod.toml"
    path.write_text(toml_text(dict(scene)))
    done = minusgrad("check", path)
    assert done.returncode == 0, done.stdout + done.stderr
