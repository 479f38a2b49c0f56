"""Values of varied keys: their distributions, and that a member's do not depend on the number of members."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from minusgrad.assembly.ensembles.points import Points
from minusgrad.assembly.ensembles.varied_keys import KeyPlace, VariedKey
from minusgrad.errors import UserError
from minusgrad.scene.ensemble_table import EnsembleTable
from minusgrad.scene.units import UnitSystem

MANY = 20_000
"""Members of the statistical tests."""
SIGMAS = 5.5
"""A normal deviate is larger once in 26 million draws; the tests below draw fewer than 100."""
KOLMOGOROV = 3.0
"""sqrt(n) D of a correct sample is larger with probability 2 exp(-2 K^2) = 3e-8 (Smirnov 1948)."""
SHAPES = {"a.b": (), "a.c": (3,), "state.x": (8, 3)}
TABLE = b"a.b, u, v, w\n1, 1, 2, 3\n2, 4, 5, 6\n3, 7, 8, 9\n"


def points(vary: dict[str, Any], seed: int = 3, units: str = "si", **more: Any) -> Points:
    table = EnsembleTable.model_validate_json(json.dumps({"vary": vary, **more}))
    system = UnitSystem.si() if units == "si" else UnitSystem.of(*units.split())
    read: Callable[[str], bytes] = {"points.csv": TABLE}.__getitem__
    varied = {
        key: VariedKey(key, how, KeyPlace(key, np.zeros(SHAPES[key]), "m", np.dtype(float)), system, read)
        for key, how in table.vary.items()
    }
    return Points(table, seed, varied)


def refused(vary: dict[str, Any], **more: Any) -> str:
    def drawn() -> list[np.ndarray]:
        found = points(vary, **more)
        return [found.values(key) for key in found.keys]

    with pytest.raises(UserError) as caught:
        drawn()
    return str(caught.value)


@pytest.mark.parametrize(
    ("how", "law"),
    [
        ({"uniform": [2.0, 5.0]}, stats.uniform(2.0, 3.0)),
        ({"normal": [-1.0, 0.1]}, stats.norm(-1.0, 0.1)),
        ({"lognormal": [3.0, 0.5]}, stats.lognorm(0.5, scale=3.0)),
        ({"jitter": 0.2}, stats.norm(0.0, 0.2)),
        ({"sobol": [2.0, 5.0]}, stats.uniform(2.0, 3.0)),
    ],
)
def test_values_have_their_distribution(how: dict[str, Any], law: Any) -> None:
    values = points({"a.c": how}, members=MANY).values("a.c")
    assert values.shape == (MANY, 3)
    for component in values.T:
        assert abs(component.mean() - law.mean()) < SIGMAS * law.std() / np.sqrt(MANY)
        spread = np.sqrt((law.stats("k") + 2.0) / (4.0 * MANY))  # of the standard deviation, in parts
        assert abs(component.std() / law.std() - 1.0) < SIGMAS * spread
        assert np.sqrt(MANY) * stats.kstest(component, law.cdf).statistic < KOLMOGOROV


def test_members_keys_nodes_and_components_are_independent() -> None:
    found = points({key: {"normal": [0, 1]} for key in SHAPES}, members=MANY)
    columns = np.concatenate([found.values(key).reshape(MANY, -1) for key in SHAPES], axis=1)
    after = np.concatenate([columns[:-1], columns[1:]], axis=1)  # each member beside the next
    correlations = np.corrcoef(after, rowvar=False) - np.eye(2 * columns.shape[1])
    assert np.abs(correlations).max() < 6.5 / np.sqrt(MANY)  # 1,540 pairs, each beyond 8e-11 of the time


@pytest.mark.parametrize("kind", ["uniform", "normal", "lognormal", "sobol"])
def test_a_member_has_the_same_bits_in_any_number_and_alone(kind: str) -> None:
    vary = {key: {kind: [1.5, 2.5]} for key in SHAPES}
    large = points(vary, members=4097)
    for count in (1, 2, 16, 1023):
        some = points(vary, members=count)
        for key in SHAPES:
            assert some.values(key).tobytes() == large.values(key)[:count].tobytes()
    for number in (0, 1, 17, 4096):
        alone = points(vary, members=4097, member=number)
        assert list(alone.members) == [number]
        for key in SHAPES:
            assert alone.values(key).tobytes() == large.values(key)[number].tobytes()


def test_a_key_has_the_same_values_beside_others_and_other_values_for_another_seed() -> None:
    normal = {"normal": [0, 1]}
    alone, beside = points({"a.c": normal}, members=9), points({"a.b": normal, "a.c": normal}, members=9)
    assert alone.values("a.c").tobytes() == beside.values("a.c").tobytes()
    other = points({"a.c": normal}, members=9, seed=4)
    assert not (other.values("a.c") == alone.values("a.c")).any()
    assert not (beside.values("a.c")[:, 0] == beside.values("a.b")).any()


def test_sobol_keys_share_one_evenly_spread_sequence() -> None:
    """Each box of area 1/256 whose sides are powers of 2 has one of 256 points (Sobol 1967)."""
    found = points({"a.b": {"sobol": [0, 1]}, "state.x": {"sobol": [0, 1]}}, members=256)
    first, second = found.values("a.b"), found.values("state.x")[:, 0, 0]
    for power in range(9):
        boxes = np.floor(first * 2**power), np.floor(second * 2 ** (8 - power))
        assert len({*zip(*boxes, strict=True)}) == 256
    assert not np.array_equal(first, points({"a.b": {"sobol": [0, 1]}}, members=256, seed=4).values("a.b"))


def test_ranges_and_grids_are_multiplied_out_and_lists_go_by_number() -> None:
    found = points(
        {
            "a.b": {"grid": [10, 20]},
            "state.x": {"list": list(range(6))},
            "a.c": {"range": {"from": 0, "to": 1, "step": 0.5}},
        }
    )
    assert found.count == 6
    assert found.values("a.b").tolist() == [10, 10, 10, 20, 20, 20]
    assert found.values("a.c")[:, 1].tolist() == [0, 0.5, 1, 0, 0.5, 1]
    assert found.values("state.x")[:, 7, 2].tolist() == [0, 1, 2, 3, 4, 5]
    alone = points({"a.b": {"grid": [10, 20]}, "a.c": {"grid": [[1, 2, 3], [4, 5, 6]]}}, member=2)
    assert alone.count == 4
    assert alone.values("a.b").tolist() == [20]
    assert alone.values("a.c").tolist() == [[1, 2, 3]]


def test_a_table_has_columns_and_a_unit() -> None:
    found = points(
        {
            "a.b": {"table": "points.csv", "unit": "km"},
            "a.c": {"table": "points.csv", "column": ["u", "v", "w"]},
        }
    )
    assert found.count == 3
    assert found.values("a.b").tolist() == [1000, 2000, 3000]
    assert found.values("a.c").tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_values_have_units() -> None:
    found = points(
        {"a.b": {"range": {"from": "1 AU", "to": "2 AU", "count": 3}}, "a.c": {"lognormal": ["1 AU", 0]}},
        units="AU Msun day",
    )
    assert found.values("a.b").tolist() == [1, 1.5, 2]
    assert (found.values("a.c") == 1).all()


A, B = {"list": [1, 2, 3]}, {"list": [1, 2]}


@pytest.mark.parametrize(
    ("vary", "more", "message"),
    [
        (
            {"a.b": {"grid": [1, 2]}, "a.c": {"range": {"from": 0, "to": 1, "count": 3}}},
            {"members": 5},
            "members: ranges and grids make 2 ('a.b') x 3 ('a.c') = 6, got 5; leave `members` out",
        ),
        ({"a.b": A}, {"members": 4}, "'a.b': needs a value for each of 4 members, got 3; add more"),
        (
            {"a.b": {"table": "points.csv"}},
            {"members": 4},
            "'a.b': needs a value for each of 4 members, got 3; add more",
        ),
        (
            {"a.b": A, "a.c": B},
            {},
            "members: 'a.b' has 3 values, got 2 of 'a.c'; give as many of each, or say how many `members`"
            " there are",
        ),
        ({"a.b": {"uniform": [0, 1]}}, {}, "members: needs a number, got none; say how many are drawn"),
        (
            {"a.b": A},
            {"member": 3},
            "member: needs a number from 0 to 2, got 3; there are 3 members",
        ),
        ({"a.b": {"uniform": [2, 1]}}, {}, "uniform: needs its lower end first, got 2 and 1; swap them"),
        (
            {"a.b": {"normal": [2, -1]}},
            {},
            "normal: needs a deviation of at least 0, got 2 and -1; correct it",
        ),
        ({"a.b": {"lognormal": [0, 1]}}, {}, "lognormal: needs a median above 0, got 0 and 1; correct it"),
        (
            {"a.b": {"uniform": ["1 m", "1 s"]}},
            {},
            "'1 s' is a time, but 'm' (length) is needed",
        ),
        (
            {"a.b": {"lognormal": ["1 m", "1 m"]}},
            {},
            "'1 m' is a length, but '1' (plain number) is needed",
        ),
        (
            {"state.x": {"jitter": [1, 2]}},
            {"members": 2},
            "needs values of shape [8, 3], [3] or one number, got [2]; reshape it",
        ),
        (
            {"a.b": {"list": [[1, 2]]}},
            {},
            "needs values of shape [] or one number, got [2]; reshape it",
        ),
        (
            {"a.c": {"grid": [[1, [2], 3]]}},
            {},
            "needs lists of one length, got a ragged one; correct it",
        ),
        (
            {"a.b": {"range": {"from": 0, "to": 1, "step": 0.3}}},
            {},
            "range: needs a step that divides it, got 0.3 from 0.0 to 1.0; give a `count`",
        ),
        (
            {"a.b": {"range": {"from": 0, "to": 1, "step": -1}}},
            {},
            "range: needs a step that divides it, got -1.0 from 0.0 to 1.0; give a `count`",
        ),
        (
            {"a.b": {"table": "points.csv", "column": "q"}},
            {},
            "points.csv: no column named 'q' (there are: a.b, u, v, w)",
        ),
        (
            {"a.c": {"table": "points.csv", "column": ["u", "v"]}},
            {},
            "column: needs 1 column or 3, one for each number of 'a.c', got 2; name them",
        ),
        (
            {"a.b": {"sobol": [0, 1]}},
            {"members": 2**31, "member": 2**30},
            "sobol: has at most 21201 components and 2^30 members, got 1 and 1073741825; use uniform",
        ),
    ],
)
def test_a_mistake_has_one_message(vary: dict[str, Any], more: dict[str, Any], message: str) -> None:
    assert refused(vary, **more) == message
