"""Wisdom and Holman's splitting about a dominant mass, as scenes name it.

Decisions 0115.
"""

from typing import Annotated, Literal

from pydantic import Field

from minusgrad.plugin import Integrator, Quantity, Record, StepperContext, quantities

from .central_mass import about
from .corrected_integrator import CorrectedIntegrator
from .near_integrable import NEAR_INTEGRABLE


class WisdomHolman(Record):
    """Wisdom and Holman's splitting about a dominant mass: exact Kepler orbits, and kicks by the rest of U.

    central: the node of that mass. energy: the name of the energy -G m_i m_j / r, where several are. scheme:
    of drifts and kicks; the last two are for high accuracy where the rest is small. corrector: the order of a
    symplectic corrector around the steps of leapfrog. coordinates: those of the Kepler orbits; with
    heliocentric ones the bodies have no order, and the scheme is leapfrog without a corrector.
    """

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    central: Annotated[int, Field(ge=0)] = 0
    """Number of the node with the dominant mass."""
    energy: str | None = None
    """Name of the energy -G m_i m_j / r of the Kepler orbits (default: the only one)."""
    scheme: Literal["leapfrog", "aba_8_6_4", "aba_10_6_4"] = "leapfrog"
    """Order of drifts and kicks; the last two are for high accuracy where kicks are small."""
    corrector: Literal[3, 5, 7, 11, 17] | None = None
    """Order of a symplectic corrector around the steps of leapfrog (default: none)."""
    coordinates: Literal["jacobi", "democratic_heliocentric"] = "jacobi"
    """Coordinates of the Kepler orbits; heliocentric ones need no order of the bodies."""

    def make(self, context: StepperContext) -> Integrator:
        dt, system = quantities(self, context.units)["dt"], context.system
        orbits = about(context.potential, context.motions, self.central, self.energy, self.coordinates)
        scheme = NEAR_INTEGRABLE[self.scheme]
        if self.corrector:
            return CorrectedIntegrator(system, scheme, dt, self.corrector, orbits)
        return Integrator(system, scheme, dt, part_flow=orbits)
