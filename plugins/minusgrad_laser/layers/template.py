"""A table of layers for a drawing, to be filled in: one for each of its colours, or of its layers.

Fills are engraved, strokes are scored, and the strokes of red, as many shops have it, are cut. What the
drawing's file states is a comment, since it holds without being repeated.

Decisions 0186.
"""

from collections import Counter
from collections.abc import Iterator

from ..drawings.drawing import Drawing, Layer
from ..machine.profile import Profile
from .choice import Mark, marks_of

RED = "#ff0000"
PAPER = "#ffffff"


def describe_marks(drawing: Drawing) -> list[tuple[str, str]]:
    """What a table of layers can take of a drawing: its words, and how many outlines they are."""
    named = any(mark.layer for mark in marks_of(drawing))
    counts: Counter[tuple[str, str]] = Counter((mark.text, mark.layer) for mark in marks_of(drawing))
    return [
        (text, f"{count} outline{'s'[: count > 1]}" + (f" in layer '{layer}'" if named else ""))
        for (text, layer), count in counts.items()
    ]


def write_template(drawing: Drawing, name: str, machine: Profile) -> str:
    """The text of a table that takes all of a drawing, each mark once."""
    marks = list(marks_of(drawing))
    stated = {
        layer.name: layer for layer in drawing.layers if layer.mode is not None or layer.speed is not None
    }
    lines = [
        f"# Layers of {name}: give each its power and speed; output = false leaves one out.",
        f"# {machine.name}: up to {machine.power[1]:g} W and {min(machine.speed) * 1e3:g} mm/s.",
    ]
    seen: set[str] = set()
    for mark in marks:
        layer = stated.get(mark.layer)
        key = f'layer = "{mark.layer}"' if layer else mark.text
        if key in seen:
            continue
        seen.add(key)
        lines += ["", "[[layer]]", key, *(_stated_lines(layer) if layer else _usual_lines(mark, machine))]
    return "\n".join(lines) + "\n"


def _stated_lines(layer: Layer) -> Iterator[str]:
    """What the file states of a layer, as comments."""
    rows = (
        ("mode", layer.mode and f'"{layer.mode}"'),
        ("power", layer.power is not None and f'"{100.0 * (layer.power or 0.0):.4g} %"'),
        ("speed", layer.speed is not None and f'"{1e3 * (layer.speed or 0.0):.4g} mm/s"'),
        ("passes", layer.passes),
    )
    yield from (f"# {key} = {value}    as the file has it" for key, value in rows if value)


def _usual_lines(mark: Mark, machine: Profile) -> Iterator[str]:
    fast = min(machine.speed) * 1e3
    if mark.colour == PAPER:
        yield "output = false                 # white"
    elif mark.kind == "fill":
        yield 'mode = "engrave"'
    elif mark.colour == RED:
        yield 'mode = "cut"'
        yield f'speed = "{fast / 10.0:.3g} mm/s"'
    else:
        yield 'mode = "score"'
        yield f'speed = "{fast / 2.0:.3g} mm/s"'
        yield 'power = "20 %"'
