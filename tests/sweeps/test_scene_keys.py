"""Keys of a scene that a sweep varies: their values as a scene writes them."""

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad.scene.ensemble_table import VaryTable
from minusgrad.sweeps.scene_keys import SceneKey

pytestmark = pytest.mark.unit
CSV = b"seed,k\n3,1.5\n4,2.5\n"


def key(**how: object) -> SceneKey:
    return SceneKey(VaryTable.model_validate_json(__import__("json").dumps(how)), lambda name: CSV)


@pytest.mark.parametrize(
    ("how", "values", "first"),
    [
        ({"list": [1, 2]}, [1, 2], 1),
        ({"list": [1, 2.5]}, [1.0, 2.5], 1.0),
        ({"grid": ["2 N/m", "10 N/m"]}, [2.0, 10.0], "2.0 N/m"),
        ({"grid": ["1 kg", "500 g"]}, [1.0, 0.5], "1.0 kg"),
        ({"list": ["leapfrog", "yoshida4"]}, ["leapfrog", "yoshida4"], "leapfrog"),
        ({"range": {"from": 0, "to": 4, "count": 5}}, [0, 1, 2, 3, 4], 0),
        ({"range": {"from": "1 s", "to": "2 s", "step": "500 ms"}}, [1.0, 1.5, 2.0], "1.0 s"),
        ({"table": "t.csv", "column": "seed"}, [3, 4], 3),
        ({"table": "t.csv", "column": "k"}, [1.5, 2.5], 1.5),
    ],
)
def test_values_keep_their_unit_and_whole_numbers_stay_whole(how: dict, values: list, first: object) -> None:
    found = key(**how)
    assert found.listed is not None
    assert found.listed.tolist() == values
    assert found.value_as_written(found.listed[0]) == first
    assert type(found.value_as_written(found.listed[0])) is type(first)


@pytest.mark.parametrize(
    ("how", "part", "value"),
    [
        ({"uniform": [2.0, 4.0]}, 0.25, 2.5),
        ({"normal": ["1 m", "10 cm"]}, 0.8413447460685429, 1.1),
        ({"lognormal": [3.0, 0.5]}, 0.8413447460685429, 3.0 * np.exp(0.5)),
    ],
)
def test_quantiles(how: dict, part: float, value: float) -> None:
    assert key(**how).quantile(np.array([part])) == pytest.approx([value], rel=1e-12)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"uniform": [2.0, 1.0]}, "uniform: needs its lower end first, got 2.0 and 1.0; swap them"),
        ({"normal": ["1 m", "1 s"]}, "needs units of one dimension, got 'm' and 's'"),
        ({"normal": ["1 m", 0.1]}, "needs units of one dimension, got 'm' and none"),
        ({"normal": [1.0, -0.1]}, "normal: needs a deviation of at least 0"),
        ({"lognormal": [0.0, 0.1]}, "lognormal: needs a median above 0"),
        ({"jitter": 0.1}, "jitter: belongs to the initial fields of"),
        ({"range": {"from": 0.0, "to": 1.0, "step": 0.3}}, "range: needs a step that divides it"),
        ({"table": "t.csv"}, "column: needs the name of one column"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(how: dict, text: str) -> None:
    with pytest.raises(UserError) as error:
        key(**how)
    assert str(error.value).startswith(text)
