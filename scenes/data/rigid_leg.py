"""DiffTaichi's rigid leg (Hu et al. 2020, ICLR) as boxes: python rigid_leg.py writes rigid_leg.toml.

A hip with two legs of thigh, calf and foot. A bone of half length b hangs on a joint at the lower end of the
one above, turned by an angle: its centre lies b below along its axis, the next joint 2 b. A muscle for each
joint joins a point above it with one below.
"""

from math import cos, hypot, radians, sin
from pathlib import Path

HIP, HALF_HIP = (0.3, 0.65), (0.06, 0.08)
JOINT = HALF_HIP[1] - 0.01
"""How far below the centre of the hip its joint is."""
BONE, WIDTH, FOOT = 0.11, 0.02, 0.08
"""Half of the lengths and of the width of thigh and calf; half of the length of a foot."""
THIGH, CALF = radians(10.0), radians(-10.0)
STIFFNESS = {"thigh": 5.0, "calf": 20.0, "foot": 40.0}
GAIN = {"thigh": 0.05, "calf": 0.08, "foot": 0.05}
LENGTH = {"thigh": 0.9 * 4.0 * BONE, "calf": 0.9 * 4.0 * BONE, "foot": 0.7 * hypot(BONE, 2.0 * FOOT)}


def point_below(start: tuple[float, float], length: float, angle: float) -> tuple[float, float]:
    """The point so far along a bone that hangs from `start`."""
    return start[0] + length * sin(angle), start[1] - length * cos(angle)


def leg_boxes() -> list[tuple[tuple[float, float], tuple[float, float], float]]:
    """Thigh, calf and foot: centre, half sizes, angle."""
    hip_joint = HIP[0], HIP[1] - JOINT
    knee = point_below(hip_joint, 2.0 * BONE, THIGH)
    ankle = point_below(knee, 2.0 * BONE, CALF)
    return [
        (point_below(hip_joint, BONE, THIGH), (WIDTH, BONE), THIGH),
        (point_below(knee, BONE, CALF), (WIDTH, BONE), CALF),
        ((ankle[0] + FOOT, ankle[1]), (FOOT, WIDTH), 0.0),
    ]


def leg_links(first: int) -> tuple[list[str], list[str]]:
    """Struts and joints, as rows of TOML, of the leg whose thigh has this number."""
    thigh, calf, foot = first, first + 1, first + 2
    muscles = {
        "thigh": (0, thigh, (0.0, 0.4 * JOINT), (0.0, -BONE)),
        "calf": (thigh, calf, (0.0, BONE), (0.0, -BONE)),
        "foot": (calf, foot, (0.0, 0.0), (FOOT, 0.0)),
    }
    hinges = [
        (0, thigh, (0.0, -JOINT), (0.0, BONE)),
        (thigh, calf, (0.0, -BONE), (0.0, BONE)),
        (calf, foot, (0.0, -BONE), (-FOOT, 0.0)),
    ]
    struts = [
        f"{{ {link_text(*link)}, length = {LENGTH[name]!r},"
        f" stiffness = {STIFFNESS[name]}, gain = {GAIN[name]} }}"
        for name, link in muscles.items()
    ]
    return struts, [f"{{ {link_text(*link)}, stiffness = 200.0 }}" for link in hinges]


def link_text(a: int, b: int, here: tuple[float, float], there: tuple[float, float]) -> str:
    """The boxes and points of a link."""
    return f"boxes = [{a}, {b}], points = [{list(here)}, {list(there)}]"


def robot_text() -> str:
    """The file."""
    boxes = [(HIP, HALF_HIP, 0.0), *leg_boxes(), *leg_boxes()]
    links = [leg_links(1), leg_links(4)]
    lists = {
        "centres": [str(list(centre)) for centre, _, _ in boxes],
        "half_sizes": [str(list(half)) for _, half, _ in boxes],
        "angles": [repr(angle) for _, _, angle in boxes],
        "struts": [row for struts, _ in links for row in struts],
        "joints": [row for _, joints in links for row in joints],
    }
    rows = {key: "".join(f"    {row},\n" for row in given) for key, given in lists.items()}
    return (
        "# DiffTaichi's rigid legs (Hu et al. 2020, ICLR): 7 boxes, 6 muscles, 6 joints; by rigid_leg.py.\n"
        'kind = "boxes"\ndensity = "1 kg m^-2"\n'
        + "".join(f"{key} = [\n{text}]\n" for key, text in rows.items())
        + "bodies = { head = [3] }\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("rigid_leg.toml").write_text(robot_text())
