"""Members of an ensemble: ordinary scenes whose varied values are replaced, the same in any number."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.assembly.ensembles.members import Members
from minusgrad.assembly.validation import validate
from minusgrad.scene.document import load

SCENE = """
plugins = ["gravity"]
units = { system = "dimensionless" }
runtime = { seed = 7 }
run = { steps = 10 }
stepper = { kind = "leapfrog", dt = 0.01 }

[state]
kind = "two_body"
masses = [0.75, 0.25]
semi_major_axis = 1.0
eccentricity = 0.3
G = 1.0

[[energy]]
kind = "gravity"

[ensemble]
members = 16

[ensemble.vary]
"gravity.G" = { normal = [1.0, 0.01] }
"state.x" = { jitter = 1e-6 }
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "scene.toml"
    path.write_text(SCENE.replace('"gravity"\n\n[ens', '"gravity"\nG = 1.0\n\n[ens'))
    return path


def members(scene: Path, *overrides: str) -> Members:
    return Members(validate(load(scene, overrides)))


def test_members_are_the_same_alone_and_in_any_number(scene: Path) -> None:
    """And the template, given a member's values, takes the same steps as the member alone."""
    some, alone = members(scene), members(scene, "ensemble.members=40", "ensemble.member=3")
    assert alone.initial("x").tobytes() == some.initial("x")[3].tobytes()
    assert alone.parameters["gravity.G"].tobytes() == some.parameters["gravity.G"][3].tobytes()
    assert len({row.tobytes() for row in some.initial("x")}) == 16
    one = alone.simulation(3)
    one.step(10)
    some.put(3)
    some.template.step(10)
    assert np.array_equal(one.fields["x"].values, some.template.fields["x"].values)
