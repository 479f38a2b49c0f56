"""The recipe: the scene that searches for the path of a job, as the text of a scene file.

    U = (1 - soft intersection over union)  +  TIME job time / T  +  CHAR mean of relu(dose - CHARRING)^2
    T = area / (pitch v)
    v = min(speed, sqrt(acceleration sqrt(area))) / 2

T is about the time of the job, so that the weight of time does not depend on the size of the picture: v is
half of what the machine reaches, which in a small picture is its speed after half the way across. The
limits of the machine hold by construction: bounds of power, speed and field, and the planned motion, whose
`nominal` is the speed that is programmed; where the laser's power has a slew rate, `power_slew` gives the
power. The dose is that of these two; with constant power (M3) it is that of the speed that is attained along
each move. A sharper and sharper threshold makes the soft overlap the overlap of the cut maps; the rate falls
at the end.
"""

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np

from ..machine.profile import Profile

Start = Literal["contours", "raster"]
TIME = 0.025
"""Weight of the job's time, in parts of the loss of an empty picture."""
CHARRING, CHAR = 4.0, 0.03
"""The dose above which a material chars, and the weight of the mean square of what is above it."""
SHARP = 20.0
"""Steepness of the threshold at the end of the search."""
PITCH = 1.1
"""Distance of contours, in smaller diameters of the spot, so that no direction leaves gaps.

Lines of a raster, along x, are one diameter along y apart."""
OVER = 5.0
"""The most exposure of a move, in parts of that by which lines a pitch apart reach the threshold."""


@dataclass(frozen=True, eq=False)
class Picture:
    """The table `target` of a scene, as text, and the target (rows, columns) that it gives.

    Picture('{ kind = "image", file = "heron.png" }', target)
    """

    table: str
    target: np.ndarray


@dataclass(frozen=True)
class Exposure:
    """`full` [J/m^2] is dose one; at the dose `threshold` half is developed, with this steepness."""

    full: float = 2.5e5
    threshold: float = 0.5
    steepness: float = 5.0


USUAL = Exposure()
"""That of a usual material."""


def text(
    picture: Picture,
    profile: Profile,
    exposure: Exposure = USUAL,
    *,
    start: Start = "contours",
    steps: int = 150,
    pixel: float | None = None,
    power: float | None = None,
    pitch: float | None = None,
    time: float = TIME,
    seed: int = 0,
    title: str = "Laser job",
    heading: str = "",
) -> str:
    """The scene file. pixel, pitch [m] and power [W], the most to use, are the profile's where left out.

    heading: lines of comment at the top, each with its "#".
    """
    h, most = pixel or profile.pixel, power or profile.power[1]
    spot = min(profile.spot)
    apart = pitch or (PITCH * spot if start == "contours" else profile.spot[1])
    rows, columns = picture.target.shape
    fastest = min(profile.speed)
    needed = exposure.threshold * apart * exposure.full
    slowest = min(0.5 * fastest, most / (OVER * needed))
    begun = min(2.0 * needed, most / slowest)
    speed = min(fastest, most / begun)
    area = float(np.count_nonzero(picture.target > 0.5)) * h * h
    mean = 0.5 * min(fastest, sqrt(min(profile.acceleration) * sqrt(area)))
    weight = time * apart * mean / area
    width, height = (min((columns - 1) * h, profile.field[0]), min((rows - 1) * h, profile.field[1]))
    step = f"{0.2e6 * spot:.6g}"
    slow = [f"{1e3 * value:.6g} mm/s" for value in (0.05 * fastest, slowest, fastest)]
    points = int(2.0 * area / (apart * 3.0 * spot)) + 200
    slews, jerk = profile.power_slew < inf, profile.corner_jerk
    corner = (
        f"axis_jerk = {_quantity_by_axis(jerk, 1e3, 'mm/s')}"
        if jerk is not None
        else f'junction_deviation = "{1e6 * (profile.junction_deviation or 0.0):.9g} um"'
    )
    return f"""{heading}title = "{title}"
plugins = ["laser"]

[units] # powers are in mW, and speeds in mm/s
length = "um"
mass = "kg"
time = "ms"

[runtime]
precision = "f32"
seed = {seed}

[state]
kind = "laser_path"
canvas = {{ size = [{columns}, {rows}], pixel = "{1e6 * h:.9g} um" }}
target = {picture.table}
path = {{ kind = "{start}", pitch = "{1e6 * apart:.9g} um", {_point_spacing(start, spot)} }}
power = "{begun * speed:.6g} W"
speed = "{1e3 * speed:.6g} mm/s"
spare = {points}
{"" if profile.dynamic_power else "ramps = 8" + chr(10)}
[[map]]
kind = "planned_motion{"_by_jerk" if jerk is not None else ""}"
axis_speed = {_quantity_by_axis(profile.speed, 1e3, "mm/s")}
axis_acceleration = {_quantity_by_axis(profile.acceleration, 1e3, "mm/s^2")}
{corner}
line_time = "{1e3 * profile.line_time:.9g} ms"
lit_time = "{1e3 * profile.minimum_dwell:.9g} ms"
planner_blocks = {profile.planner_blocks}

{_slew_map(profile.power_slew) if slews else ""}[[map]] # the laser is off on travels
kind = "blanking"
{'fields = { power = "drive" }' + chr(10) if slews else ""}
[[map]]
kind = "{"gaussian_dose" if profile.dynamic_power else "constant_power_dose"}"
fields = {{ power = "beam", speed = "nominal" }}
waist = "{1e6 * profile.waists[0]:.9g} um"
{_aspect_line(profile)}full = "{exposure.full:.9g} J/m^2"

[[map]]
kind = "sigmoid_threshold"
steepness = {exposure.steepness:.9g}
threshold = {exposure.threshold:.9g}

[[map]]
kind = "overlap"
sizes = {{ picture = 1 }}

[[energy]]
kind = "soft_overlap"
weight = "1 J"

[[energy]]
kind = "job_time"
weight = "{weight:.6g} W"

[[energy]] # less charring; the threshold does not mind
kind = "over_dose"
most = {CHARRING:.9g}
weight = "{CHAR:.9g} J"

[stepper]
kind = "path_search"
rate = 0.15

[stepper.fields]
x = {{ scale = "{step} um", lower = "0 um", upper = "{1e6 * width:.9g} um" }}
y = {{ scale = "{step} um", lower = "0 um", upper = "{1e6 * height:.9g} um" }}
power = {{ scale = "{0.1 * most:.6g} W", lower = "{profile.power[0]:.6g} W", upper = "{most:.6g} W" }}
speed = {{ scale = "{slow[0]}", lower = "{slow[1]}", upper = "{slow[2]}" }}

[[stepper.schedule]] # from a soft threshold to a sharp one
parameter = "sigmoid_threshold.steepness"
steps = [0, {steps}]
values = [{exposure.steepness:.9g}, {max(SHARP, exposure.steepness):.9g}]
geometric = true

[[stepper.schedule]]
parameter = "rate"
steps = [{steps // 2}, {steps}]
values = [0.15, 0.01]

[stepper.editing]
every = {max(steps // 6, 1)}
until = {steps * 2 // 3}
longest = "{6e6 * spot:.9g} um"
shortest = "{1e6 * spot:.9g} um"
straight = "{0.01e6 * spot:.9g} um"
dark = "{max(1.02 * profile.power[0], 0.02 * most):.6g} W"
gap = "{0.1e6 * spot:.9g} um"
slack = "0.0005 J"
size = [{columns}, {rows}]
pixel = "{1e6 * h:.9g} um"
beside = "{0.4e6 * apart:.9g} um"

[run]
steps = {steps}

[[observe]]
kind = "energies"
every = 2

[[observe]]
kind = "deposition"
every = {max(steps // 4, 1)}

[checkpoint]
every = {max(steps // 4, 1)}
"""


def _point_spacing(start: Start, spot: float) -> str:
    """Points along strokes; the lines of a raster come one after another, contours by short travels."""
    order = "given" if start == "raster" else "nearest"
    return f'spacing = "{4e6 * spot:.9g} um", order = "{order}"'


def _aspect_line(profile: Profile) -> str:
    """The key of a spot that is not round, or nothing."""
    along, up = profile.waists
    return "" if along == up else f"aspect = {up / along:.9g}\n"


def _slew_map(rate: float) -> str:
    """The map of the power that the laser can follow; rate [W/s]."""
    return f'[[map]]\nkind = "power_slew"\nslew = "{rate:.9g} W/s"\n\n'


def _quantity_by_axis(axes: tuple[float, float] | None, factor: float, unit: str) -> str:
    """A quantity of both axes."""
    assert axes is not None
    return "[" + ", ".join(f'"{factor * value:.9g} {unit}"' for value in axes) + "]"
