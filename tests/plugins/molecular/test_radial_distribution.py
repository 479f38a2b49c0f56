"""The radial distribution function: against all images by hand, of a crystal, in a run and its picture."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import SceneError
from minusgrad.plot import pictures
from minusgrad_molecular.radial_distribution import distribution
from tests.support.command import SCENES

FEW = {"run.steps": 4, "observe.0.begin": 2, "observe.0.every": 2}


@pytest.mark.unit
@pytest.mark.parametrize("d", [2, 3])
def test_it_is_the_sum_over_all_images(d: int) -> None:
    """In a skewed box, with atoms outside of it, a radius beyond its edges, and two sets that overlap."""
    rng = np.random.default_rng(d)
    box = np.diag([0.97, 1.31, 0.93][:d]) + np.tril(rng.uniform(-0.4, 0.4, (d, d)), -1)
    x = rng.uniform(-1.5, 1.5, (12, d))
    first, second, edges = np.arange(8), np.arange(5, 12), np.linspace(0.0, 1.6, 9)
    counts = np.zeros(8)
    for i, j in product(first, second):
        for shift in product(range(-8, 9), repeat=d):
            r = float(np.linalg.norm(x[j] - x[i] + np.array(shift) @ box))
            if r < 1.6 and not (i == j and not any(shift)):
                counts[int(r / 0.2)] += 1
    shells = np.diff(np.pi * edges**2 if d == 2 else 4.0 / 3.0 * np.pi * edges**3)
    expected = counts / (8 * 7 - 3) * abs(np.linalg.det(box)) / shells
    assert expected.max() > 0.5
    found = distribution(x[first], x[second], box, edges, both=3)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.unit
def test_independent_atoms_have_one() -> None:
    x = np.random.default_rng(1).uniform(0.0, 10.0, (3000, 3))
    found = distribution(x, x, 10.0 * np.eye(3), np.linspace(0.0, 4.0, 5), both=3000)
    np.testing.assert_allclose(found[1:], 1.0, atol=0.02)


def test_a_run_records_it_from_its_first_step_on_and_draws_it(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "argon_liquid.toml", FEW, out=tmp_path / "run")
    seen = run.series("observables/radial_distribution/g")
    assert seen.step.tolist() == [2, 4]
    r = run.series("observables/radial_distribution/r").value
    np.testing.assert_allclose(r[1], 0.05 + 0.1 * np.arange(110), rtol=1e-12)
    published = run.series("observables/radial_distribution/published").value[0]
    assert published[36] == pytest.approx(0.5 * (2.898 + 3.043), rel=1e-12)
    assert np.isnan(published[:29]).all()
    drawn = pictures.plot(tmp_path / "run")
    assert "radial_distribution.png" in [path.name for path in drawn]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"observe.0.between": ["argon", "neon"]}, "between: no body named 'argon' (there are: none)"),
        ({"box": {"periodic": [True, True, False]}},
         "radial_distribution: needs a box that is periodic along 2 or 3 axes, got none; give the scene a"
         " [box]"),
        ({"observe.0.published": "data/none.csv"},
         "cannot read 'data/none.csv' (No such file or directory); paths start at the scene's folder"),
    ],
)  # fmt: skip
def test_observers_that_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(SceneError) as refusal:
        minusgrad.build(SCENES / "argon_liquid.toml", changes)
    assert str(refusal.value).endswith(message)
