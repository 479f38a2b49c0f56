"""Dwell, arrival and warmth of moves against loops in NumPy and quadrature of the heat kernel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad

from minusgrad import Fields, Node, Potential, bind, bind_staged, local_energy
from minusgrad.app.runs import build
from minusgrad.assembly.built_scene import BuiltScene
from minusgrad_laser.dose.dwell import clock, dwell
from minusgrad_laser.materials.earlier_moves import earlier_moves
from minusgrad_laser.materials.thermal_memory import thermal_memory, warm_power

X = np.array([0.0, 3.0, 3.0, 3.5, 7.5, 7.0])
Y = np.array([0.0, 4.0, 4.0, 4.0, 7.0, 7.0])
SPEED = np.array([9.0, 2.0, 1.0, 4.0, 2.5, 8.0])
LIT = np.array([0.0, 1.0, 1.0, 1.0, 0.0, 0.0])
"""Moves of the lengths 5, 0, 0.5, 5 and 0.5, the last two not lit."""


@local_energy("timing", over="nodes", duration=Node("s"), feed=Node("m s^-1"))
def timing(duration, feed):
    """An energy that weighs both outputs."""
    return duration[0] * duration[0] + 0.3 * duration[0] * feed[0] + 0.1 * feed[0] * feed[0]


def timed(minimum: float, precision: str = "f64", **changes: np.ndarray) -> Potential:
    fields = Fields({"x": X, "y": Y, "speed": SPEED, "lit": LIT} | changes, precision=precision)
    maps = [bind_staged(dwell, fields, parameters={"minimum": minimum}), bind_staged(clock, fields)]
    potential = Potential(fields, [bind(timing, fields)], maps)
    potential.refresh()
    return potential


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_lit_move_takes_the_minimum_at_least(precision: str):
    fields = timed(0.25, precision).fields
    near = {"abs": 1e-15 if precision == "f64" else 1e-6}
    assert fields["duration"].values == pytest.approx([0.0, 2.5, 0.25, 0.25, 2.0, 0.0625], **near)
    assert fields["feed"].values == pytest.approx([9.0, 2.0, 1.0, 2.0, 2.5, 8.0], **near)
    assert fields["arrival"].values == pytest.approx([0.0, 2.5, 2.75, 3.0, 5.0, 5.0625], **near)
    fields = timed(0.0, precision).fields
    assert fields["feed"].values.tolist() == SPEED.tolist()
    assert fields["duration"].values == pytest.approx([0.0, 2.5, 0.0, 0.125, 2.0, 0.0625], **near)


def test_the_derivatives_of_a_dwell_are_those_of_its_values():
    rng, potential = np.random.default_rng(1), timed(0.25)
    h = 1e-6
    for name, start in {"x": X, "y": Y, "speed": SPEED}.items():
        way = np.where(np.arange(6) == 2, 0.0, rng.normal(size=6))  # point 2 lies on point 1: a kink
        way[1] *= name == "speed"
        ahead, behind = (timed(0.25, **{name: start + s * h * way}).value() for s in (1.0, -1.0))
        found = potential.gradient(name)
        assert np.isfinite(found).all()
        assert found @ way == pytest.approx((ahead - behind) / (2.0 * h), rel=1e-7), name
    slope = (timed(0.25 + h).value() - timed(0.25 - h).value()) / (2.0 * h)
    assert float(potential.gradient("dwell.minimum")) == pytest.approx(slope, rel=1e-7)


def test_a_clock_is_linear_and_its_transpose_the_sum_of_what_comes_later():
    fields = Fields({"duration": np.array([0.0, 1.0, 0.5, 2.0]), "feed": np.ones(4)})
    term = bind_staged(clock, fields)
    seed = np.array([1.0, 0.1, 0.01, 0.001])
    back = term.back(("duration",), 0.0, {"arrival": seed})["duration"]
    assert back == pytest.approx([1.111, 0.111, 0.011, 0.001])


# Warmth ------------------------------------------------------------------------------------------------

W, K, G = 0.8, 0.3, 1.7
MOVED = {
    "x": np.array([0.0, 1.0, 1.5, 0.5, 0.25]),
    "y": np.array([0.0, 0.0, 0.5, 0.75, 0.25]),
    "power": np.array([5.0, 1.0, 0.0, 2.0, 3.0]),
    "speed": np.array([5.0, 2.0, 1.0, 4.0, 2.0]),
}


def pulse(r: float, tau: float) -> float:
    """The surface's energy per volume after a unit pulse with a Gaussian profile, by quadrature.

    Green's function of a half space, doubled at the insulated surface (Carslaw & Jaeger 1959, sec. 14.9).
    """

    def heat(y: float, x: float) -> float:
        profile = 2.0 / (np.pi * W**2) * np.exp(-2.0 * (x * x + y * y) / W**2)
        far = (x - r) ** 2 + y**2
        return profile * 2.0 / (4.0 * np.pi * K * tau) ** 1.5 * np.exp(-far / (4.0 * K * tau))

    return dblquad(heat, -4.0, 4.0, -4.0, 4.0, epsabs=1e-10, epsrel=1e-9)[0]


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_warmth_is_the_heat_that_earlier_moves_left(precision: str):
    fields = Fields(MOVED | {"lit": np.ones(5)}, precision=precision)
    rows = earlier_moves(5, 2)
    assert rows.tolist() == [[2, 1, 1, 0], [3, 2, 2, 1], [3, 2, 1, 0], [4, 3, 3, 2], [4, 3, 2, 1]]
    parameters = {"waist": W, "diffusivity": K, "gain": G}
    maps: list[Any] = [bind_staged(dwell, fields), bind_staged(clock, fields)]
    maps += [bind(thermal_memory, fields, tuples=rows, parameters=parameters), bind(warm_power, fields)]
    Potential(fields, [], maps).refresh()
    points = np.stack([MOVED["x"], MOVED["y"]], axis=1)
    length = np.append(0.0, np.hypot(*np.diff(points, axis=0).T))
    time = length / MOVED["speed"]
    middle = np.cumsum(time) - 0.5 * time
    expected = np.zeros(5)
    for i, before, j, earlier in rows:
        r = np.hypot(*(0.5 * (points[i] + points[before] - points[j] - points[earlier])))
        energy = MOVED["power"][j] * time[j]
        expected[i] += G * energy * pulse(float(r), float(middle[i] - middle[j])) if energy else 0.0
    assert expected[3] > 0.1
    near = 1e-7 if precision == "f64" else 1e-5
    assert fields["warmth"].values == pytest.approx(expected, rel=near, abs=1e-12)
    warm = MOVED["power"] * (1.0 + expected)
    assert fields["warm_beam"].values == pytest.approx(warm, rel=near)


WARM = """
[units]
length = "um"
mass = "kg"
time = "ms"

[state]
kind = "laser_path"
canvas = { size = [24, 20], pixel = "10 um" }
target = { kind = "disc", radius = "60 um" }
path = { kind = "hatch", pitch = "50 um", spacing = "25 um" }
power = "1 mW"
speed = "100 mm/s"
recent = 60

[[map]]
kind = "blanking"

[[map]]
kind = "dwell"
minimum = "1 ms"

[[map]]
kind = "clock"

[[map]]
kind = "thermal_memory"
fields = { power = "beam" }
tuples = "recent"
waist = "15 um"
diffusivity = "1e-7 m^2/s"
gain = "GAIN m^3/J"

[[map]]
kind = "warm_power"
fields = { power = "beam" }

[[map]]
kind = "gaussian_dose"
fields = { power = "warm_beam", speed = "feed" }
waist = "15 um"
full = "500 J/m^2"

[[map]]
kind = "blur"
width = "8 um"

[[energy]]
kind = "dose_l2"
fields = { dose = "blurred" }

[stepper]
kind = "adam"

[stepper.fields]
x = { scale = "50 um" }

[run]
steps = 2
"""


def test_a_scene_of_warm_moves_and_a_resist_that_diffuses(tmp_path: Path):
    """Heat adds dose where moves follow others; blur keeps the sum; a search goes through all maps."""

    def made(gain: str) -> BuiltScene:
        path = tmp_path / f"warm{len(gain)}.toml"
        path.write_text(WARM.replace("GAIN", gain))
        simulation = build(path)
        simulation.potential.refresh()
        return simulation

    warm, cold = made("1e-8"), made("0")
    warmth = warm.fields["warmth"].values
    assert warmth[0] == warmth[1] == 0.0
    assert (warmth[2:] > 0.0).all()
    assert not cold.fields["warmth"].values.any()
    gained = warm.fields["dose"].values - cold.fields["dose"].values
    assert gained.min() >= 0.0
    assert gained.sum() > 0.01 * cold.fields["dose"].values.sum()
    assert warm.fields["blurred"].values.sum() == pytest.approx(warm.fields["dose"].values.sum(), rel=1e-12)
    assert (warm.fields["feed"].values[1:] <= 50.0).all()  # 25 um in 1 ms, and shorter between the lines
    before = warm.potential.value()
    warm.step(2)
    assert warm.potential.value() < before
