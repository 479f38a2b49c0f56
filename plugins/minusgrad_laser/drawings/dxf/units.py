"""Units of DXF: the header's $INSUNITS, and the unit that a user names.

Source: DXF reference of AutoCAD 2018, header variable $INSUNITS, 0 (none) to 24.
"""

from minusgrad.plugin import UnitError, UnitSystem, UserError

INCH = 0.0254
SURVEY_FOOT = 1200.0 / 3937.0
METRES: dict[int, tuple[str, float]] = {
    1: ("inch", INCH), 2: ("foot", 12.0 * INCH), 3: ("mile", 63360.0 * INCH), 4: ("mm", 1e-3),
    5: ("cm", 1e-2), 6: ("m", 1.0), 7: ("km", 1e3), 8: ("microinch", 1e-6 * INCH), 9: ("mil", 1e-3 * INCH),
    10: ("yard", 36.0 * INCH), 11: ("angstrom", 1e-10), 12: ("nm", 1e-9), 13: ("um", 1e-6),
    14: ("dm", 0.1), 15: ("dam", 10.0), 16: ("hm", 100.0), 17: ("Gm", 1e9),
    18: ("astronomical unit", 149597870700.0), 19: ("light year", 9.4607304725808e15),
    20: ("parsec", 3.0856775814913673e16), 21: ("survey foot", SURVEY_FOOT),
    22: ("survey inch", SURVEY_FOOT / 12.0), 23: ("survey yard", 3.0 * SURVEY_FOOT),
    24: ("survey mile", 5280.0 * SURVEY_FOOT),
}  # fmt: skip
"""Name and length [m] of a unit by its number."""

NAMED = dict(METRES.values())
SHORT = {"in": "inch", "inches": "inch", "ft": "foot", "feet": "foot", "thou": "mil", "yd": "yard"}
"""Other names of units."""


def unit_metres(
    file: str, number: int, is_metric: bool | None, length: str | None
) -> tuple[float, list[str]]:
    """Metres of a drawing's unit, and remarks. number: $INSUNITS; is_metric: $MEASUREMENT, None if it is not
    there; length: the unit that the user names, which is preferred.

    Raises `UserError` if neither the file nor `length` states the unit.
    """
    name, metres = METRES.get(number, ("", 0.0))
    if length is not None:
        given = parse_unit(length)
        if metres and abs(given - metres) > 1e-9 * metres:
            return given, [f"lengths are in {length}, as asked for; the file says {name}"]
        return given, []
    if metres:
        return metres, []
    hint = {True: " (it says metric, perhaps mm)", False: " (it says imperial, perhaps in)", None: ""}[
        is_metric
    ]
    raise UserError(
        f"'{file}': does not say the unit of its lengths, got $INSUNITS = {number}{hint}; give it, such as"
        " length = 'mm' in a scene, or --length mm"
    )


def parse_unit(length: str) -> float:
    """Metres of a unit such as "mm" or "inch". Raises `UserError` that names the key."""
    if (name := SHORT.get(length.strip(), length.strip())) in NAMED:
        return NAMED[name]
    try:
        metres = UnitSystem.si().convert(f"1 {length}", "m")
    except UnitError as error:
        raise UserError(f"length: {error}; give a unit of length, such as 'mm'") from None
    if not 0.0 < metres < float("inf"):
        raise UserError(f"length: needs a unit of length, such as 'mm', got '{length}'")
    return metres
