"""Sobol indices: those of functions whose indices are known, at the points that a sweep would run."""

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad.scene.ensemble_table import VaryTable
from minusgrad.sweeps import sensitivity
from minusgrad.sweeps.scene_keys import SceneKey

pytest.importorskip("SALib")
pytestmark = pytest.mark.unit


def keys(**how: dict) -> dict[str, SceneKey]:
    import json

    return {
        name: SceneKey(VaryTable.model_validate_json(json.dumps(one)), lambda _: b"")
        for name, one in how.items()
    }


def test_ishigami() -> None:
    """sin x + 7 sin^2 y + 0.1 z^4 sin x (Ishigami and Homma 1990): S1 = 0.3139, 0.4424, 0; ST_z = 0.2437."""
    bounds = {"uniform": [-np.pi, np.pi]}
    found = sensitivity.points(keys(x=bounds, y=bounds, z=bounds), 2048, None, seed=1)
    x, y, z = found.values()
    assert len(x) == 5 * 2048
    values = {"f": np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)}
    indices = sensitivity.indices(["x", "y", "z"], values, seed=1)["f"]
    first, total = ([indices[n][kind] for n in "xyz"] for kind in ("S1", "ST"))
    assert first == pytest.approx([0.3139, 0.4424, 0.0], abs=0.03)
    assert total == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.03)
    assert 0.0 < indices["x"]["S1_conf"] < 0.1


def test_a_sum_of_other_distributions() -> None:
    """Of a + b their variances: 4^2 of normal, exp(0.04) (exp(0.04) - 1) 10^2 of lognormal numbers."""
    of = keys(a={"normal": [1.0, 4.0]}, b={"lognormal": [10.0, 0.2]})
    found = sensitivity.points(of, 4096, None, seed=3)
    indices = sensitivity.indices(["a", "b"], {"sum": found["a"] + found["b"]}, seed=3)["sum"]
    parts = np.array([16.0, 100.0 * np.exp(0.04) * (np.exp(0.04) - 1.0)])
    assert [indices[n]["S1"] for n in "ab"] == pytest.approx(parts / parts.sum(), abs=0.02)


def test_an_output_that_does_not_vary_has_no_indices() -> None:
    assert sensitivity.indices(["a", "b"], {"flat": np.full(4 * 16, 2.0)}, seed=0) == {}


@pytest.mark.parametrize(
    ("samples", "count", "of", "text"),
    [
        (100, None, {}, "samples: needs a power of 2, got 100; give 128"),
        (64, 10, {}, "points: follow from `samples`"),
        (64, None, {"b": {"list": [1.0, 2.0]}}, "'b': sensitivity needs a distribution, got a list"),
    ],
)
def test_bad_requests(samples: int, count: int | None, of: dict, text: str) -> None:
    with pytest.raises(UserError) as error:
        sensitivity.points(
            keys(**{"a": {"uniform": [0.0, 1.0]}, "b": {"uniform": [0.0, 1.0]}} | of), samples, count, 0
        )
    assert str(error.value).startswith(text)
