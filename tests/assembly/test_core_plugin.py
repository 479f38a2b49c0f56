"""The core's own kinds: a row among the schemes is a kind of stepper."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.assembly.kinds import kind_index
from minusgrad.assembly.registry import Registry
from minusgrad.scene.json_schema import schema_of
from minusgrad.steppers.schemes import SCHEMES, composed, mirrored

SCENE = Path(__file__).parents[2] / "scenes" / "two_body.toml"
WEIGHTS = mirrored(0.3)


@pytest.fixture
def thirds(monkeypatch: pytest.MonkeyPatch) -> str:
    """One row more, which the index of kinds does not have."""
    monkeypatch.setattr(kind_index, "may_be_behind", lambda: True)
    scheme = composed(2, WEIGHTS, "Three leapfrogs, all forwards: order 2.")
    monkeypatch.setitem(SCHEMES, "three_leapfrogs", scheme)
    return "three_leapfrogs"


def test_every_scheme_is_a_kind_of_stepper() -> None:
    models = Registry.load(["core"], []).models()["stepper"]
    assert set(SCHEMES) < set(models)
    for kind, scheme in SCHEMES.items():
        assert models[kind].__doc__ == scheme.summary


def test_a_row_is_enough_for_a_new_kind(thirds: str) -> None:
    models = Registry.load(["core"], []).models()
    assert models["stepper"][thirds].__name__ == "ThreeLeapfrogs"
    block = schema_of(models)["$defs"][f"stepper_{thirds}"]
    assert block["description"] == "Three leapfrogs, all forwards: order 2."
    assert set(block["required"]) == {"kind", "dt"}


def test_a_row_steps_a_scene_by_its_name(thirds: str) -> None:
    one = minusgrad.build(SCENE, overrides={"stepper.kind": thirds})
    assert (one.stepper.kind, one.stepper.scheme) == (thirds, SCHEMES[thirds])
    start = {n: f.values.copy() for n, f in one.fields.items()}
    dt = one.stepper.dt
    one.stepper.advance(10)
    leaps = minusgrad.build(SCENE)
    assert leaps.stepper.kind == "leapfrog"
    for name, values in start.items():
        np.testing.assert_array_equal(leaps.fields[name].values, values)
    for _ in range(10):
        for weight in WEIGHTS:
            leaps.stepper.dt = weight * dt
            leaps.stepper.advance(1)
    for name, field in one.fields.items():
        np.testing.assert_allclose(field.values, leaps.fields[name].values, rtol=1e-11)
