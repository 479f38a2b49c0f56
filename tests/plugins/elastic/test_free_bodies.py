"""A body that nothing holds and a load moves: refused by name in both precisions, by the command line."""

from pathlib import Path

import pytest

from tests.support.command import minusgrad
from tests.support.tiers import sampled

SCENE = """
title = "Pulled and not held"
plugins = ["elastic"]
[state]
kind = "rectangle"
size = ["1 m", "1 m"]
cells = [2, 2]
density = "1000 kg/m^3"
[[energy]]
kind = "neo_hookean"
youngs_modulus = "1 MPa"
poissons_ratio = 0.3
[[energy]]
kind = "traction"
body = "right"
traction = ["1 kPa", "0 Pa"]
[stepper]
kind = "newton"
fields = {{ x = {{ scale = "1 cm" }} }}
[run]
steps = 20
[runtime]
precision = "{precision}"
"""


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f32"]))
def test_a_load_along_a_free_motion_is_refused_with_its_name(tmp_path: Path, precision: str) -> None:
    (tmp_path / "scene.toml").write_text(SCENE.format(precision=precision))
    ended = minusgrad("run", tmp_path / "scene.toml", "--out", tmp_path / "run")
    assert ended.returncode == 3
    assert "nothing resists a translation along x, and U falls along it; hold a part" in ended.stderr
    assert "the data saved up to step 0 is intact" in ended.stderr
