"""Limits by construction: every iterate of a search obeys them; and the checker finds each broken one."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from minusgrad.app.runs import build
from minusgrad_laser.jobs.toolpath import Toolpath
from minusgrad_laser.machine.limits import violations
from minusgrad_laser.machine.profile import Profile
from tests.support.slow_planner import planned

TIGHT = Profile(
    "tight", field=(2.4e-3, 2.0e-3), speed=(0.05, 0.04), acceleration=(0.4, 0.5), junction_deviation=5e-6,
    power=(0.2, 1.0), power_slew=60.0, minimum_dwell=4e-3, planner_blocks=4, lines_per_second=400.0,
)  # fmt: skip
"""A machine so tight that every one of its limits is active somewhere on the path."""

SCENE = """
plugins = ["laser"]
[state]
kind = "laser_path"
canvas = { size = [61, 51], pixel = "40 um" }
target = { kind = "disc", radius = "0.6 mm" }
path = { kind = "file", file = "path.csv" }

[[map]]
kind = "planned_motion"
axis_speed = ["50 mm/s", "40 mm/s"]
axis_acceleration = ["400 mm/s^2", "500 mm/s^2"]
junction_deviation = "5 um"
line_time = "2.5 ms"
lit_time = "4 ms"
planner_blocks = 4

[[map]]
kind = "power_slew"
slew = "60 W/s"

[[map]]
kind = "blanking"
fields = { power = "drive" }

[[map]]
kind = "gaussian_dose"
fields = { power = "beam", speed = "nominal" }
waist = "100 um"
full = "2e5 J/m^2"

[[energy]]
kind = "dose_l2"

[stepper]
kind = "adam"
rate = 0.1

[stepper.fields]
x = { scale = "100 um", lower = 0.0, upper = "2.4 mm" }
y = { scale = "100 um", lower = 0.0, upper = "2 mm" }
power = { scale = "0.3 W", lower = "0.2 W", upper = "1 W" }
speed = { scale = "10 mm/s", lower = "1 mm/s", upper = "64 mm/s" }

[run]
steps = 40
"""


def lines(folder) -> None:
    """A zigzag with long and short moves."""
    rng = np.random.default_rng(3)
    x = np.tile(np.linspace(3e-4, 2.1e-3, 12), (8, 1))
    x[1::2] = x[1::2, ::-1]
    y = np.repeat(np.linspace(3e-4, 1.7e-3, 8), 12)
    rows = np.stack([x.ravel(), y, rng.uniform(0.2, 1.0, 96), rng.uniform(0.005, 0.06, 96)], axis=1)
    np.savetxt(folder / "path.csv", rows, delimiter=",", header="x,y,power,speed", comments="")


@pytest.mark.exam
def test_every_iterate_of_a_search_is_within_the_limits(tmp_path):
    """Power and feed, of all iterates, planned once more in plain Python; the loss still falls."""
    lines(tmp_path)
    (tmp_path / "scene.toml").write_text(SCENE)
    simulation = build(tmp_path / "scene.toml")
    losses, active = [], set()
    for _ in range(40):
        simulation.stepper.advance(1)
        simulation.potential.refresh(0.0)
        f = {name: np.array(simulation.fields[name].values) for name in simulation.fields}
        again = planned(
            f["x"], f["y"], f["speed"], f["lit"], TIGHT.speed, TIGHT.acceleration, 2.5e-3, 4e-3, 4, 5e-6
        )
        for name in ("feed", "duration", "nominal"):
            np.testing.assert_allclose(f[name], again[name], rtol=1e-9)
        path = Toolpath(f["x"], f["y"], f["drive"], f["nominal"], f["lit"] > 0.5)
        assert violations(path, TIGHT, f["duration"], 1e-9) == []
        active |= met(path, f, again)
        losses.append(simulation.potential.value(0.0))
    assert active == {"speed", "dwell", "slew", "least power", "most power", "acceleration"}
    assert losses[-1] < 0.6 * losses[0]


def met(path: Toolpath, f: dict[str, Any], plan: dict[str, Any]) -> set[str]:
    """The limits that this iterate meets with equality, so that the test would see them broken."""
    length = path.lengths
    time = length / path.speed[1:]
    change = np.abs(np.diff(path.power))[1:]
    pairs = 0.5 * TIGHT.power_slew * (f["duration"][2:] + f["duration"][1:-1])
    gain = np.abs(np.diff(plan["v"] ** 2)) / (2.0 * length)
    tests = {
        "speed": np.isclose(path.speed[1:], 0.05) | (path.speed[1:] < f["speed"][1:] - 1e-9),
        "dwell": np.isclose(time, 4e-3, rtol=1e-9),
        "slew": np.isclose(change, pairs, rtol=1e-9),
        "least power": path.power[1:] == 0.2,
        "most power": path.power[1:] == 1.0,
        "acceleration": gain > 0.399,
    }
    return {name for name, hit in tests.items() if hit.any()}


# The checker ----------------------------------------------------------------------------------------


def legal() -> tuple[Toolpath, np.ndarray]:
    """A lit square with a travel to it, within all limits of `TIGHT`, and planned durations."""
    x = np.array([0.1, 0.5, 1.5, 1.5, 0.5, 0.5]) * 1e-3
    y = np.array([0.1, 0.5, 0.5, 1.5, 1.5, 0.5]) * 1e-3
    lit = np.array([0, 0, 1, 1, 1, 1], bool)
    speed, power = np.full(6, 0.02), np.full(6, 0.5)
    limits = (TIGHT.speed, TIGHT.acceleration, TIGHT.line_time, TIGHT.minimum_dwell, 4, 5e-6)
    return Toolpath(x, y, power, speed, lit), planned(x, y, speed, lit * 1.0, *limits)["duration"]


def changed(field: str, point: int, value: Any) -> Toolpath:
    path, _ = legal()
    values = np.array(getattr(path, field), dtype=float)
    values[point] = value
    return replace(path, **{field: values})


@pytest.mark.unit
def test_a_legal_path_breaks_nothing():
    path, duration = legal()
    assert violations(path, TIGHT) == violations(path, TIGHT, duration) == []


@pytest.mark.unit
@pytest.mark.parametrize(("field", "point", "value", "kind", "got", "limit"), [
    ("x", 2, 2.5e-3, "field", 2.5, 2.4),
    ("y", 3, -1e-4, "field", -0.1, 0.0),
    ("speed", 2, 0.051, "speed", 51.0, 50.0),
    ("speed", 3, 0.041, "speed", 41.0, 40.0),
    ("power", 4, 1.1, "power", 1.1, 1.0),
    ("power", 4, 0.1, "power", 0.1, 0.2),
    ("power", 4, np.nan, "power", np.nan, 1.0),
])  # fmt: skip
def test_each_limit_is_found_with_place_and_amount(field, point, value, kind, got, limit):
    found = [v for v in violations(changed(field, point, value), TIGHT) if v.kind == kind]
    assert found
    assert found[-1].point == point
    assert [found[-1].got, found[-1].limit] == pytest.approx([got, limit], nan_ok=True)


@pytest.mark.unit
def test_dwell_line_rate_slew_and_blanking():
    path, _ = legal()
    quick = replace(TIGHT, minimum_dwell=0.06, lines_per_second=1.0 / 0.04)
    assert [(v.kind, v.point) for v in violations(path, quick)] == [
        *(("dwell", k) for k in (2, 3, 4, 5)),
        ("line rate", 1),
    ]
    steep = [v for v in violations(changed("power", 3, 0.9), replace(TIGHT, power_slew=7.0)) if v.kind]
    assert [(v.kind, v.point) for v in steep] == [("slew", 3), ("slew", 4)]
    assert steep[0].got == pytest.approx(0.4)
    assert steep[0].limit == pytest.approx(0.35)
    (dark,) = violations(path, replace(TIGHT, blanking=False))
    assert (dark.kind, dark.point) == ("blanking", 1)
    assert str(dark) == "blanking: got 0.565685 mm at point 1 (x = 0.5 mm, y = 0.5 mm); the limit is 0"


@pytest.mark.unit
def test_durations_that_no_acceleration_allows():
    """From rest to rest 1 mm at 0.4 m/s^2 takes 2 sqrt(l / a) = 100 ms at least; 50 ms are too few."""
    path = Toolpath(np.array([0.0, 1e-3]), np.zeros(2), np.ones(2), np.full(2, 0.04), np.array([False, True]))
    least = 2.0 * np.sqrt(1e-3 / 0.4)
    assert violations(path, TIGHT, np.array([0.0, least])) == []
    kinds = [v.kind for v in violations(path, TIGHT, np.array([0.0, 0.5 * least]))]
    assert kinds == ["acceleration", "acceleration"]
