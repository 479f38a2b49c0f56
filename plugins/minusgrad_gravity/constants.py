"""Newton's constant G, with its unit and its one default (CODATA 2018 and 2022)."""

from typing import Any

from minusgrad.plugin import Record, UnitError, UnitSystem, quantities

G_UNIT = "m^3 kg^-1 s^-2"
NEWTONS_CONSTANT = f"6.67430e-11 {G_UNIT}"


def gravity_quantities(record: Record, units: UnitSystem) -> dict[str, Any]:
    """The quantities of a record that has a key G, in the run's units.

    Raises `UnitError` that names G where its default has no value, as in a dimensionless scene.
    """
    try:
        return quantities(record, units)
    except UnitError as error:
        if "G" in record.model_fields_set:
            raise
        raise UnitError(f"G: its default cannot be used: {error}") from None
