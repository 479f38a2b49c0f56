"""Cut settings of a LightBurn project: one for each layer, with its index, name and colour.

Powers are in percent of the laser's, speeds in mm/s, lengths in mm. What a setting leaves out is at its
default, and is None here. Colours are LightBurn's palette of C00 to C29; T1 and T2 are tool layers, which are
never marked.

Decisions 0177.
"""

from dataclasses import dataclass
from typing import Any

from minusgrad.plugin import UserError, printable

from ..drawing import Layer, Mode

PALETTE = (
    "#000000", "#0000ff", "#ff0000", "#00e000", "#d0d000", "#ff8000", "#00e0e0", "#ff00ff",
    "#b4b4b4", "#0000a0", "#a00000", "#00a000", "#a0a000", "#c08000", "#00a0ff", "#a000a0",
    "#808080", "#7d87b9", "#bb7784", "#4a6fe3", "#d33f6a", "#8cd78c", "#f0b98d", "#f6c4e1",
    "#fa9ed4", "#500a78", "#b45a00", "#004754", "#86fa88", "#ffdb66", "#f36926", "#0c96d9",
)  # fmt: skip
"""Of the layers 0 to 29, then of T1 and T2."""
TOOLS = {30: "T1", 31: "T2"}
MODES: dict[str, Mode] = {"Cut": "cut", "Scan": "engrave", "Image": "engrave", "Scan+Cut": "engrave"}
"""What the types of settings do; of "Scan+Cut" the first of both."""
QUIET = {
    "perforate": "perforation", "dotMode": "dots", "overcut": "overcut", "tabsEnabled": "tabs",
    "rampLength": "a ramp", "zOffset": "an offset of z", "zPerPass": "steps of z", "kerf": "a kerf offset",
    "startDelay": "a delay", "endDelay": "a delay", "crossHatch": "cross hatch", "floodFill": "flood fill",
    "enablePPI": "pulses an inch", "enableLaser2": "a second laser",
}  # fmt: skip
"""Settings that change what is marked where they are not 0, and are said, as they are not carried out."""


@dataclass(frozen=True)
class Setting:
    """A layer, and what its file says about it beyond that."""

    index: int
    layer: Layer
    kind: str
    merged: bool
    """True where all shapes of the layer are filled together."""
    remarks: tuple[str, ...]


def default_setting(index: int) -> Setting:
    """Of a layer of which the file has none."""
    return Setting(
        index, Layer(layer_name(index), layer_colour(index), output=index not in TOOLS), "", True, ()
    )


def layer_name(index: int) -> str:
    return TOOLS.get(index, f"C{index:02d}")


def layer_colour(index: int) -> str | None:
    return PALETTE[index] if 0 <= index < len(PALETTE) else None


def read_setting(file: str, element: Any) -> Setting:
    """The setting of an element <CutSetting> or <CutSetting_Img>. Raises `UserError` for a wrong number."""
    found = {child.tag: child.get("Value", "") for child in element}
    index = _read_number(file, "index", found, -1.0)
    if not 0 <= index < 1000 or index != int(index):
        raise UserError(f"'{file}': a cut setting needs an index of 0 to 31, got '{found.get('index', '')}'")
    kind = element.get("type") or element.get("Type") or "Cut"
    name = printable(found.get("name") or layer_name(int(index)), 60)
    power, least = (_read_share(file, key, found) for key in ("maxPower", "minPower"))
    speed, interval = (_read_length(file, key, found) for key in ("speed", "interval"))
    passes = _read_number(file, "numPasses", found, 0.0)
    is_tool = kind == "Tool" or int(index) in TOOLS
    layer = Layer(
        name=name,
        colour=layer_colour(int(index)),
        mode=None if is_tool else MODES.get(kind),
        power=power,
        speed=speed,
        passes=int(passes) if passes >= 1.0 else None,
        least_power=least,
        interval=interval,
        order=_read_order(file, found),
        output=not is_tool and found.get("doOutput", "1") != "0",
        air=_read_flag(found, "runBlower"),
        kerf=_read_length(file, "kerf", found, signed=True),
    )
    remarks = []
    if kind not in MODES and not is_tool:
        remarks.append(f"layer '{name}' has the type '{printable(kind, 40)}', which is not known")
    if kind == "Scan+Cut":
        remarks.append(f"layer '{name}' is engraved and cut in LightBurn, and is engraved alone here")
    if found.get("hide", "0") == "1":
        remarks.append(f"layer '{name}' is hidden in LightBurn")
    said = [text for key, text in QUIET.items() if _is_set(found.get(key, "0"))]
    if said:
        remarks.append(f"layer '{name}' has {', '.join(dict.fromkeys(said))}, which the drawing does not")
    subs = [child.tag for child in element if len(child)]
    if subs:
        remarks.append(f"layer '{name}' has {len(subs)} settings more ({printable(subs[0], 40)}), left out")
    return Setting(int(index), layer, kind, found.get("scanOpt", "mergeAll") == "mergeAll", tuple(remarks))


def _is_set(text: str) -> bool:
    try:
        return float(text) != 0.0
    except ValueError:
        return text.strip().casefold() not in ("", "false")


def _read_flag(found: dict[str, str], key: str) -> bool | None:
    return _is_set(found[key]) if key in found else None


def _read_order(file: str, found: dict[str, str]) -> int | None:
    order = _read_number(file, "priority", found, -1.0)
    return int(order) if order >= 0.0 else None


def _read_share(file: str, key: str, found: dict[str, str]) -> float | None:
    """A percentage as a part of 1."""
    if key not in found:
        return None
    value = _read_number(file, key, found, 0.0)
    if not 0.0 <= value <= 100.0:
        raise UserError(f"'{file}': {key} of a cut setting must be 0 to 100 percent, got {value:g}")
    return value / 100.0


def _read_length(file: str, key: str, found: dict[str, str], signed: bool = False) -> float | None:
    """A length [m], or a speed [m/s], of mm."""
    if key not in found:
        return None
    value = _read_number(file, key, found, 0.0)
    if not signed and value < 0.0:
        raise UserError(f"'{file}': {key} of a cut setting must be at least 0, got {value:g}")
    return 1e-3 * value if value else None


def _read_number(file: str, key: str, found: dict[str, str], default: float) -> float:
    text = found.get(key, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < 1e12:
        raise UserError(f"'{file}': {key} of a cut setting must be a number, got '{printable(text, 40)}'")
    return value
