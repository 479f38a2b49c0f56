"""Parameters in scenes whose values for each element are equal, normal or uniform, drawn by the seed."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad import build
from minusgrad.energies.values.drawn_values import DrawnValues
from minusgrad.errors import SceneError

SCENE = """
plugins = ["control", "elastic"]

[state]
kind = "network"
nodes = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
springs = [[0, 1], [1, 2]]
mass = 1.0

[[map]]
kind = "dense_vectors"
name = "layer"
fields = { s = "x" }
sizes = { neuron = 400 }
w = { each = 0.5, deviation = 0.1 }

[[map]]
kind = "neuron"
b = { each = 0.25 }

[[map]]
kind = "dense"
name = "second"
fields = { s = "h" }
gives = "z2"
sizes = { neuron = 5 }
w = { each = 0.0, within = 0.3 }

[[energy]]
kind = "spring"
stiffness = { each = "2 N/m", within = "1 N/m" }

[stepper]
kind = "evolution"
next = { m = "m" }

[run]
steps = 1
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "net.toml"
    text = SCENE.replace('fields = { s = "x" }', 'fields = { s = "offset" }')
    sensor = """[[map]]
kind = "centre"
sizes = { body = 1 }
fraction = 0.3333333333333333

[[map]]
kind = "offset"

"""
    path.write_text(text.replace("[[map]]", sensor + "[[map]]", 1))
    return path


def test_each_element_has_a_value_of_its_own(scene: Path) -> None:
    potential = build(scene).potential
    w, b, v, k = (potential.parameter(n) for n in ("layer.w", "neuron.b", "second.w", "spring.stiffness"))
    assert w.shape == (400, 3, 2)
    assert b.tolist() == [0.25] * 400
    assert v.shape == (5, 400)
    assert k.shape == (2,)
    assert w.mean() == pytest.approx(0.5, abs=0.01)
    assert w.std() == pytest.approx(0.1, rel=0.1)
    assert -0.3 <= v.min() < -0.29
    assert 0.29 < v.max() < 0.3
    assert v.std() == pytest.approx(0.3 / np.sqrt(3.0), rel=0.05)
    assert ((k >= 1.0) & (k < 3.0)).all()
    assert len({*w.ravel(), *v.ravel(), *k}) == w.size + v.size + k.size


def test_values_depend_on_the_seed_and_the_name_alone(scene: Path) -> None:
    one, again, other = (build(scene, [f"runtime.seed={seed}"]).potential for seed in (3, 3, 4))
    for name in ("layer.w", "second.w", "spring.stiffness"):
        assert one.parameter(name).tobytes() == again.parameter(name).tobytes()
        assert (one.parameter(name) != other.parameter(name)).all()
    scene.write_text(scene.read_text().replace('name = "second"', 'name = "third"'))
    renamed = build(scene, ["runtime.seed=3"]).potential
    assert (renamed.parameter("third.w") != one.parameter("second.w")).all()
    assert renamed.parameter("layer.w").tobytes() == one.parameter("layer.w").tobytes()


def test_the_formula() -> None:
    """By the generator alone."""
    rng = np.random.default_rng(5)
    normal, uniform = rng.normal(size=(2, 3)), rng.uniform(-1.0, 1.0, size=4)
    rng = np.random.default_rng(5)
    assert (
        DrawnValues("w", rng, 2.0, deviation=0.5).of_shape((2, 3)).tolist() == (2.0 + 0.5 * normal).tolist()
    )
    assert DrawnValues("w", rng, -1.0, within=3.0).of_shape((4,)).tolist() == (-1.0 + 3.0 * uniform).tolist()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "deviation = 0.1",
            "deviation = 0.1, within = 0.2",
            "map.2: layer.w: values are normal or uniform, got deviation 0.1 and within 0.2; give one",
        ),
        (
            "deviation = 0.1",
            "deviation = -0.1",
            "map.2.w.deviation: needs a quantity of at least 0, not -0.1",
        ),
        ("deviation = 0.1", "spread = 0.1", "map.2.w.spread: no key 'spread'"),
        ("within = 0.3", 'within = "3 m"', "map.4.w.within: "),
        ('each = "2 N/m"', 'each = "-20 N/m"', "energy.0: spring.stiffness: "),
        ("b = { each = 0.25 }", "b = { deviation = 0.25 }", "map.3: no body named 'deviation'"),
    ],
)
def test_mistakes_have_their_place(scene: Path, old: str, new: str, message: str) -> None:
    text = scene.read_text()
    assert old in text
    scene.write_text(text.replace(old, new, 1))
    with pytest.raises(SceneError) as error:
        build(scene, ["runtime.seed=1"])
    assert f": {message}" in str(error.value).splitlines()[0]
