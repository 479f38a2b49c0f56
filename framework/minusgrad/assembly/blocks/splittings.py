"""Steppers of the core by a row of coefficients, and those in a bath: leapfrog, yoshida4, ..., langevin, npt.

A class is made when it is asked for: `Leapfrog` for the row "leapfrog" of `SCHEMES`.
"""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import create_model

from ...errors import EnergyError
from ...scene.records import Quantity, Record, quantities
from ...steppers.schemes import SCHEMES, Scheme

if TYPE_CHECKING:
    from ...steppers.integrator import Integrator
    from ..contexts import StepperContext


class Splitting(Record):
    """A symplectic integrator by its row of coefficients; `dt` is the time step."""

    scheme: ClassVar[str]
    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""

    def make(self, context: "StepperContext") -> "Integrator":
        from ...steppers.integrator import Integrator

        dt = quantities(self, context.units)["dt"]
        return Integrator(context.system, SCHEMES[self.scheme], dt)


@cache
def splitting(kind: str, scheme: Scheme) -> type[Splitting]:
    """The block of a scheme: one row in `SCHEMES` makes a kind of stepper."""
    model = create_model(_class_name(kind), __base__=Splitting, __doc__=scheme.summary, __module__=__name__)
    model.scheme = kind
    return model


def _class_name(kind: str) -> str:
    return "".join(word.capitalize() for word in kind.split("_"))


def __getattr__(name: str) -> type[Splitting]:
    """The block of the scheme of that name."""
    kind = next((kind for kind in SCHEMES if _class_name(kind) == name), None)
    if kind is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return splitting(kind, SCHEMES[kind])


class Langevin(Record):
    """BAOAB: leapfrog in a heat bath, at `friction` (a rate) and `temperature` (in units of energy where the
    scene is dimensionless: k_B = 1)."""

    dt: Annotated[float | str, Quantity("s", "positive")]
    """Time step."""
    friction: Annotated[float | str, Quantity("s^-1", "nonnegative")]
    """Rate at which the heat bath damps velocities."""
    temperature: Annotated[float | str, Quantity("K", "nonnegative", absolute=True)]
    """Temperature of the heat bath; an energy k_B T where the scene is dimensionless."""

    def make(self, context: "StepperContext") -> "Integrator":
        from ...steppers.integrator import Integrator
        from ...steppers.timed.heat_bath import Bath
        from ..observers import boltzmann

        given = quantities(self, context.units)
        bath = Bath(given["friction"], boltzmann(context.units) * given["temperature"], context.seed)
        return Integrator(replace(context.system, bath=bath), SCHEMES["leapfrog"], given["dt"])


class NPT(Langevin):
    """BAOAB at constant temperature and pressure: leapfrog in a heat bath, and a box that moves.

    `relaxation` sets the inertia of the box: about the time that its volume takes to follow. `cell_friction`
    is the rate of the box's own heat bath (1 / relaxation, where it is not given), `cell` how its edges may
    change: all by one factor, each axis by its own, or in any way but by a rotation.
    """

    pressure: float | str
    """External pressure: an SI unit of Pa in space, of N/m in the plane."""
    relaxation: Annotated[float | str, Quantity("s", "positive")]
    """About the time in which the volume follows the pressure; it sets the inertia of the box."""
    cell_friction: Annotated[float | str, Quantity("s^-1", "nonnegative")] | None = None
    """Rate of the heat bath of the box (default: 1 / relaxation)."""
    cell: Literal["isotropic", "orthorhombic", "flexible"] = "isotropic"
    """How the edges may change: by one factor, each axis by its own, or in any way but a rotation."""

    def make(self, context: "StepperContext") -> "Integrator":
        from ...steppers.integrator import Integrator
        from ...steppers.pressure.barostat import Barostat
        from ...steppers.pressure.stress import PRESSURE, box_of
        from ...steppers.timed.heat_bath import Bath
        from ..observers import boltzmann

        given, units = quantities(self, context.units), context.units
        box = box_of(context.potential)
        with_unit = units.convert(self.pressure, PRESSURE[box.shape[-1]])
        kT = boltzmann(units) * given["temperature"]
        if kT <= 0.0:
            raise EnergyError(
                "temperature: must be above 0 at constant pressure, because it sets the inertia of the box,"
                f" got {self.temperature}; for a cold box use a low temperature with a high friction"
            )
        own = given["cell_friction"]
        friction = 1.0 / given["relaxation"] if own is None else own
        barostat = Barostat(with_unit, kT, given["relaxation"], friction, context.seed, self.cell)
        bath = Bath(given["friction"], kT, context.seed)
        system = replace(context.system, bath=bath, barostat=barostat)
        return Integrator(system, SCHEMES["leapfrog"], given["dt"])
