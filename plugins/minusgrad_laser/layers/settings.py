"""Power, speed and passes of a layer, from its table, the drawing's file, the material and the machine.

    H = P / (v d)                           fluence of an area with lines d apart
    H = P / v  sqrt(2 / pi) / w             fluence in the middle of a line, w^2 = w_x w_y of the waists;
                                            of a scored line with a dose its own w, at most the larger one

H [J/m^2], P [W], v [m/s]. Without a speed and a dose an area gets H = 2 T H_full, of which the edge of a
half-plane has the half, the threshold T: it is marked up to its outline.

Decisions 0187.
"""

from dataclasses import dataclass
from math import pi, sqrt
from typing import Literal

from minusgrad.plugin import UnitSystem, UserError, quantities

from ..drawings.drawing import Drawing, Layer, Mode
from ..jobs.moves import keeps_dose
from ..machine.profile import Profile
from ..search.recipe import Exposure
from .choice import Mark
from .layer_table import LayerTable, watts_of
from .lines import open_lines

INTERVAL = 0.5
"""Distance of lines in spots: the dose of an area is even to 1.4 %."""
CRUISE = 0.95
"""Part of the machine's speed that is left to a dose: feeds make up for the levels of the power."""
ORDER: dict[str, float] = {"engrave": 1.0, "score": 2.0, "cut": 3.0}
"""Place of a layer in the job: parts move once they are cut out."""


@dataclass(frozen=True)
class Settings:
    """How a layer is made: power [W], speed [m/s], fluence [J/m^2], interval and overscan [m]."""

    title: str
    mode: Mode
    power: float
    speed: float
    fluence: float
    passes: int
    order: float
    air: str | None
    interval: float
    angle: Literal[0, 90]
    overscan: float
    search: bool
    kerf: float | None = None
    """Of a line of a layer that is cut, as measured [m]."""
    tabs: int = 0
    tab_width: float = 5e-4
    lead: float = 0.0
    even: bool = False
    """Bridges of each part and their width [m]; ways in and out of a cut [m]. even: lines
    of all directions have the fluence, by more power where the spot is wider across them."""


def settle_layer(
    table: LayerTable, marks: list[Mark], drawing: Drawing, machine: Profile, material: Exposure, most: float
) -> Settings:
    """The settings of a layer; what its table leaves out is that of the drawing's file.

    most: the largest power to use [W]. Raises `UserError` for what is missing, and for what the machine does
    not reach.
    """
    title, stated = table.title, _stated_layer(marks, drawing)
    given = quantities(table, UnitSystem.si())
    mode = table.mode or stated.mode
    if mode is None:
        raise UserError(f'{title}: needs a mode, got none; write mode = "cut", "score" or "engrave"')
    if mode == "cut" and table.mode is None and open_lines(drawing, marks):
        mode = "score"  # a file that says "line" of lines that are open
    interval = given["interval"] or stated.interval or INTERVAL * machine.spot[1 - table.angle // 90]
    area = mode == "engrave"
    even = mode == "score" and given["dose"] is not None
    waist = max(machine.waists) if even else sqrt(machine.waists[0] * machine.waists[1])
    width = interval if area else sqrt(0.5 * pi) * waist
    reach = machine.speed[table.angle // 90] if area else min(machine.speed)
    power = _settled_power(title, table, stated, machine, most)
    speed, fluence = given["speed"], given["dose"]
    if speed is None and fluence is None and stated.speed is not None:
        speed = stated.speed
    if speed is None and fluence is None:
        if not area:
            raise UserError(
                f'{title}: needs a speed to {mode}, got none; write speed = "10 mm/s", or a dose; test'
                " squares find it (minusgrad laser --grid)"
            )
        fluence = 2.0 * material.threshold * material.full
    if speed is None:
        assert fluence is not None
        speed = power / (fluence * width)
        if speed > CRUISE * reach and table.power is None:
            speed = CRUISE * reach
            power = fluence * width * speed
    _refuse_speed(title, speed, reach, machine)
    for one in {power, power * (min(machine.waists) / max(machine.waists) if even else 1.0)}:
        _refuse_power(title, one, machine, most)
    overscan = given["overscan"]
    if overscan is None:
        overscan = needed_overscan(machine, speed, table.angle)
    passes = table.passes or stated.passes or 1
    order = ORDER[mode] if table.order is None else table.order
    kerf = given["kerf"] or (2.0 * stated.kerf if stated.kerf and stated.kerf > 0.0 else None)
    air = table.air or ("M8" if stated.air else None)
    return Settings(
        title, mode, power, speed, power / (speed * width), passes, order, air, interval, table.angle,
        overscan, table.search, kerf if mode == "cut" else None,
        table.tabs, given["tab_width"], given["lead"] or 0.0, even,
    )  # fmt: skip


def needed_overscan(machine: Profile, speed: float, angle: int) -> float:
    """The way in which the head reaches a speed, where the power does not follow the speed [m].

    s = v^2 / (2 a) + v max(latency, 0)
    """
    if keeps_dose(machine):
        return 0.0
    return speed * speed / (2.0 * machine.acceleration[angle // 90]) + speed * max(machine.latency, 0.0)


def _stated_layer(marks: list[Mark], drawing: Drawing) -> Layer:
    """What the drawing's file states of the layer in which all marks are; nothing for marks of several."""
    names = {mark.layer for mark in marks}
    found = [layer for layer in drawing.layers if layer.name in names]
    return found[0] if len(names) == 1 and found else Layer("")


def _settled_power(title: str, table: LayerTable, stated: Layer, machine: Profile, most: float) -> float:
    if table.power is not None:
        return watts_of(table.power, machine.power[1])
    return most if stated.power is None else stated.power * machine.power[1]


def _refuse_speed(title: str, speed: float, reach: float, machine: Profile) -> None:
    if speed > reach * (1.0 + 1e-9):
        raise UserError(
            f"{title}: {machine.name} reaches {reach * 1e3:.4g} mm/s, got {speed * 1e3:.4g} mm/s; give less"
            " speed, or with a dose less power"
        )


def _refuse_power(title: str, power: float, machine: Profile, most: float) -> None:
    least, full = machine.power[0], machine.power[1]
    if power > full * (1.0 + 1e-9) or power < least * (1.0 - 1e-9):
        raise UserError(
            f"{title}: {machine.name} has {least:g} to {full:g} W, got {power:.4g} W; give another power"
        )
    if power > most * (1.0 + 1e-9):
        raise UserError(f"{title}: --power allows {most:g} W, got {power:.4g} W; give less power")
