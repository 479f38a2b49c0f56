"""A process window: the loss averaged over errors of dose and focus, so that what is found is robust.

    U = weight / (m k) sum over focus errors z_i and dose errors e_j of  sum_p share_p loss(Z_ij,p - T_p)
    Z_ij = 1 / (1 + exp(-a ((1 + e_j) D(z_i) - t)))        the sigmoid of a (1 + e_j) and t / (1 + e_j)

D(z) is the dose of a Gaussian beam at the defocus z (`dose.gaussian_beam`), Z the developed part by the
sigmoid threshold (`materials.responses`), T the target and share the weights of the cells; loss is the
square (l2) or the absolute value (l1). A mask or a path that is best for one exposure is not the best over
the window of exposures that a machine makes (Cobb & Zakhor 1995, SPIE 2440, 313; Jia & Lam 2010, J. Opt.
12, 045601).

The members are the maps `NAME_dose_i` and `NAME_developed_i_j`, and the energies `NAME_i_j`, counted from 1
in the order of `focus` and of `dose`; the observer "energies" records each.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from minusgrad import bind
from minusgrad.plugin import Compound, CompoundContext, Quantity, Record, UserError, quantities

from .canvas import Length
from .dose.gaussian_beam import gaussian_beam_dose
from .losses.pixel_differences import dose_l1, dose_l2
from .materials.responses import sigmoid_threshold

LOSSES = {"l2": dose_l2, "l1": dose_l1}
OPTICS = ("waists", "angle", "rayleigh", "exponent", "reference", "full")
OF_DOSE, OF_LOSS = ("x", "y", "power", "speed"), ("target", "share")
"""Arguments of the members that are fields."""
RelativeError = Annotated[float, Field(gt=-1.0)]


class ProcessWindow(Record):
    """The loss of the developed map, averaged over errors of dose and focus: a search of it is robust."""

    name: str = "window"
    """Name of the members in reports and for other keys."""
    dose: Annotated[tuple[RelativeError, ...], Field(min_length=1)] = (-0.05, 0.0, 0.05)
    """Relative errors of the dose."""
    focus: Annotated[tuple[Annotated[float | str, Quantity("m")], ...], Field(min_length=1)] = (0.0,)
    """Errors of the focus; the spot is the same on both sides of it."""
    waists: tuple[Length, Length]
    """Waists at the focus along `angle` and across: radii at which the spot has 1/e^2 of its peak."""
    angle: Annotated[float | str, Quantity("rad")] = 0.0
    """Angle of the first waist to the x axis."""
    rayleigh: Length
    """Rayleigh range: defocus at which the waists are sqrt(2) times those at the focus."""
    exponent: Annotated[float, Field(ge=1.0)] = 1.0
    """Exponent of the intensity in the rate of exposure: 1, or 2 of two-photon absorption."""
    reference: Annotated[float | str, Quantity("W m^-2", "positive")] | None = None
    """Intensity at which `full` exposes fully, whatever the exponent (default: 1 W/m^2)."""
    full: Annotated[float | str, Quantity("J m^-2", "positive")]
    """Fluence that counts as dose one."""
    steepness: Annotated[float, Field(gt=0.0)] = 5.0
    """Steepness of the material's response: four times its slope at the threshold."""
    threshold: float = 0.5
    """Dose at which half of the material is developed."""
    loss: Literal["l2", "l1"] = "l2"
    """Difference of developed map and target: squares or absolute values."""
    weight: Annotated[float | str, Quantity("J", "nonnegative")] = 1.0
    """Weight of the average, which makes an energy of it."""
    fields: dict[str, str] = {}  # noqa: RUF012  (pydantic copies it)
    """For an argument whose field has another name, the field: { power = "beam" }."""

    def make(self, context: CompoundContext) -> Compound:
        grid, segments = context.state.grids.get("canvas"), context.state.tuples.get("segments")
        if grid is None or segments is None:
            raise UserError("the state has no canvas; take [state] kind = 'laser_path'")
        if strange := sorted(self.fields.keys() - {*OF_DOSE, *OF_LOSS}):
            known = ", ".join((*OF_DOSE, *OF_LOSS))
            raise UserError(f"fields: needs arguments of its members, got '{strange[0]}'; known are {known}")
        given, fields = quantities(self, context.units), context.fields
        reads = {a: f for a, f in self.fields.items() if a in OF_LOSS}
        spot: dict[str, Any] = {
            "tuples": segments,
            "grid": grid,
            "renamed": {a: f for a, f in self.fields.items() if a in OF_DOSE},
            "units": context.units,
        }
        optics = {a: given[a] for a in OPTICS if given[a] is not None}
        weight = {"weight": given["weight"] / (len(self.focus) * len(self.dose))}
        maps: list[Any] = []
        terms: list[Any] = []
        for i, z in enumerate(given["focus"], 1):
            dose = f"{self.name}_dose_{i}"
            at = optics | {"defocus": z}
            maps.append(bind(gaussian_beam_dose, fields, name=dose, gives=dose, parameters=at, **spot))
            for j, error in enumerate(self.dose, 1):
                made, member = f"{self.name}_developed_{i}_{j}", f"{self.name}_{i}_{j}"
                step = {
                    "steepness": self.steepness * (1.0 + error),
                    "threshold": self.threshold / (1.0 + error),
                }
                renamed = {"dose": dose}
                maps.append(
                    bind(sigmoid_threshold, fields, name=made, gives=made, renamed=renamed, parameters=step)
                )
                renamed = {"dose": made} | reads
                terms.append(bind(LOSSES[self.loss], fields, name=member, renamed=renamed, parameters=weight))
        return Compound(terms, maps)


COMPOUNDS = {"process_window": ProcessWindow}
