"""Forces of a System that have no energy: they are left out with a remark."""

from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

from .force_kind import ForceKind
from .force_part import ForcePart
from .system_reader import SystemReader

TEMPERATURE = "the stepper of the scene keeps the temperature, or no one does"
PRESSURE = "the stepper of the scene keeps the pressure, or no one does"
REASONS = {
    "CMMotionRemover": "steppers here keep the momentum",
    "AndersenThermostat": TEMPERATURE,
    "MonteCarloBarostat": PRESSURE,
    "MonteCarloAnisotropicBarostat": PRESSURE,
    "MonteCarloMembraneBarostat": PRESSURE,
    "MonteCarloFlexibleBarostat": PRESSURE,
    "RPMDMonteCarloBarostat": PRESSURE,
}
"""By class: why a scene does without."""


def _remark_of(kind: str) -> Callable[[SystemReader, Sequence[Element]], ForcePart]:
    """How a force without energy is read."""

    def read_nothing(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
        return ForcePart(remarks=(f"'{reader.file}': {kind} is left out: {REASONS[kind]}",))

    return read_nothing


KINDS = tuple(ForceKind(kind, _remark_of(kind)) for kind in REASONS)
