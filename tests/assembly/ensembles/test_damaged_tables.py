"""Damaged `[ensemble.vary]` tables: each is accepted, with finite values, or refused at its place."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad.app.run_options import as_overrides
from minusgrad.assembly.ensembles.members import Members
from minusgrad.assembly.validation import validate
from minusgrad.errors import SceneError
from minusgrad.scene.document import load
from minusgrad.scene.ensemble_table import KINDS
from tests.support.tiers import counts

from .test_members import NET, ORBIT

SOUND: dict[str, dict[str, list[dict[str, Any]]]] = {
    "orbit.toml": {
        "gravity.G": [{"normal": [1, 0.1]}, {"grid": [1, 2, 3]}, {"table": "points.csv"}],
        "gravity.softening": [{"sobol": [0, 1]}, {"range": {"from": 1, "to": 2, "count": 3}}],
        "state.x": [{"jitter": 1e-6}, {"normal": [[0, 1], 0.1]}, {"list": [1, 2, 3]}],
        "state.m": [{"lognormal": [1, 0.1]}],
        "state.eccentricity": [{"grid": [0, 0.1, 0.2]}, {"uniform": [0, 0.5]}, {"jitter": 0.01}],
        "state.masses.1": [{"range": {"from": 1, "to": 3, "step": 1}}],
        "runtime.seed": [{"list": [1, 2, 3]}],
    },
    "net.toml": {
        "spring.stiffness": [{"uniform": [1, 2], "body": "right"}, {"list": [[1, 2, 3], 4, 5]}],
        "spring.rest": [{"uniform": [1, 2]}],
        "state.nodes.3": [{"normal": [[3, 0], 0.1]}],
        "state.v": [{"jitter": 0.1, "body": "right"}, {"table": "points.csv", "column": "u"}],
        "state.x": [{"sobol": [0, 1]}],
        "grip.velocity": [{"grid": [[1, 0], [2, 0], [3, 0]]}],
    },
}
VALUES: list[Any] = [
    *(0, 1, -1, 1.5, 1e300, -1e-300, 5e-324, 2**53, True, {}, [], [1, 2], [[1, 2], [3, 4]], [1, [2]], [1, 0]),
    *("1 m", "2 km", "3 s", "x", "", "nan", ["1 m", "2 m"], ["1 deg", "2 deg"], [-1e308, 1e308]),
    *("points.csv", "damaged.csv", "../net.toml", "net.toml", "left", ["left", "right"], ["u", "v"]),
    *({"from": 0, "to": 0, "count": 3}, {"from": 1, "to": 0, "step": -0.25}, {"from": 0, "to": 1}),
    *({"from": 0, "to": 1, "count": 10**15}, {"from": 0, "to": 1e300, "step": 1e-300}),
    {"from": "1 m", "to": "2 m", "step": "0.5 m"},
]  # fmt: skip
KEYS = [
    *("gravity", "G", "spring.x", "a.b.c", "state", "state.", "state.x.1", "state.masses.-1", ".", "", "é.x"),
    *("state.springs", "state.bodies", "state.bodies.left", "grip.angle", "runtime.x", "stepper.dt", "title"),
]


def damaged(rng: random.Random, how: dict[str, Any]) -> dict[str, Any]:
    """A table with one of its values or keys exchanged."""
    how = json.loads(json.dumps(how))
    kind = next(iter(how))
    inside = how[kind] if isinstance(how[kind], (list, dict)) else how
    places = list(range(len(inside)) if isinstance(inside, list) else inside)
    match rng.randrange(4):
        case 0:
            inside[rng.choice(places)] = rng.choice(VALUES)
        case 1:
            how[kind] = rng.choice(VALUES)
        case 2:
            how[rng.choice([*KINDS, "body", "column", "unit"])] = rng.choice(VALUES)
        case 3:
            how = {rng.choice(KINDS): how[kind]}
    return how


def table(rng: random.Random, file: str) -> dict[str, Any]:
    """An `[ensemble]` with up to three keys, most of them sound."""
    vary = {}
    for _ in range(rng.choice([1, 1, 2, 3])):
        key = rng.choice(list(SOUND[file]))
        how = rng.choice(SOUND[file][key])
        how = damaged(rng, how) if rng.random() < 0.5 else how
        vary[key if rng.random() < 0.9 else rng.choice(KEYS)] = how
    members = {} if rng.random() < 0.3 else {"members": rng.choice([3, 3, 3, 3, 1, 10**15])}
    return {"vary": vary} | members


@pytest.mark.parametrize("count", counts(60, 3000))
def test_a_damaged_table_is_refused_at_its_place_or_has_finite_values(tmp_path: Path, count: int) -> None:
    (tmp_path / "orbit.toml").write_text(ORBIT)
    (tmp_path / "net.toml").write_text(NET)
    (tmp_path / "points.csv").write_text("gravity.G,u,v\n1,2,3\n4,5,6\n7,8,9\n")
    (tmp_path / "damaged.csv").write_text("gravity.G,u,v\n1,2,nan\n")
    rng, accepted, elsewhere = random.Random(26), 0, list[str]()
    for _ in range(count):
        file = rng.choice(list(SOUND))
        ensemble = table(rng, file)
        try:
            found = Members(validate(load(tmp_path / file, as_overrides({"ensemble": ensemble}))))
        except SceneError as error:
            elsewhere += [f"{ensemble}: {error}"] * any(one.key[:8] != "ensemble" for one in error.problems)
            continue
        accepted += 1
        stacks = [*map(found.initial, found.fields), *found.parameters.values()]
        assert all(np.isfinite(stack).all() and len(stack) == len(found) for stack in stacks)
    assert elsewhere == []
    assert 0.2 * count < accepted < 0.8 * count
