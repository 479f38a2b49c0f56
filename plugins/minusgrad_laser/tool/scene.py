"""The scene of a job: the text of an ordinary scene file, with the numbers of the profile in it."""

from ..machine.profile import Profile
from .request import Request

STEPS = {"draft": 60, "usual": 200, "fine": 600}


def text(request: Request, image: str) -> str:
    """The scene file of a request; `image` is the name of the image beside it."""
    m, material = request.machine, request.material
    steps = request.steps or STEPS[request.quality]
    speed = min(m.speed)
    slow, step, fast = (f"{1e3 * part * speed:.6g} mm/s" for part in (0.02, 0.2, 1.0))
    power = min(0.5 * material.full * pitch(m) * speed, 0.8 * request.power)
    return f"""# {image} marked by {m.name}, from `minusgrad laser`.
title = "{image}"
plugins = ["laser"]

[units] # so powers are in mW, and speeds in mm/s
length = "um"
mass = "kg"
time = "ms"

[runtime]
precision = "f32"
seed = {request.seed}

[state]
kind = "laser_path"
canvas = {{ pixel = "{request.pixel * 1e6:.9g} um" }}
target = {{ kind = "image", file = "{image}", invert = {str(request.invert).lower()} }}
path = {{ kind = "{request.start or "hatch"}", pitch = "{pitch(m) * 1e6:g} um" }}
power = "{power:.6g} W"
speed = "{speed * 1e3:.6g} mm/s"

[[map]]
kind = "blanking"

[[map]]
kind = "gaussian_dose"
fields = {{ power = "beam" }}
waist = "{m.waist * 1e6:.9g} um"
full = "{material.full:.9g} J/m^2"

[[map]]
kind = "sigmoid_threshold"
steepness = {material.steepness}
threshold = {material.threshold}

[[energy]]
kind = "dose_l2"
fields = {{ dose = "developed" }}

[stepper]
kind = "adam"
rate = 0.1

[stepper.fields]
power = {{ scale = "{0.2 * request.power:.6g} W", lower = "0 W", upper = "{request.power:.6g} W" }}
speed = {{ scale = "{step}", lower = "{slow}", upper = "{fast}" }}

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


def pitch(m: Profile) -> float:
    """The distance of the lines of a hatch [m]: half a spot."""
    return 0.5 * m.spot


def slowest(m: Profile) -> float:
    """The least speed that a search uses [m/s]."""
    return 0.02 * min(m.speed)
