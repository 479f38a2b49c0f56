"""Observers of crystals: stress and elastic constants, along a search or a run.

Decisions 0331.
"""

from typing import Annotated

from pydantic import Field

from minusgrad.plugin import EnergyError, Observer, ObserverContext, Record, UnitSystem, elastic_constants

FIGURES = ("stress", "relaxed", "unrelaxed")


class ElasticConstants(Observer):
    """Records elastic_constants/stress (d, d), /relaxed and /unrelaxed (Voigt matrices).

    They are in GPa, in the plane in N/m, and plain numbers where the scene is dimensionless. `relaxed` is NaN
    where the atoms are at no minimum, as on the way of a search.
    """

    def __init__(self, context: ObserverContext, every: int):
        super().__init__(context.stepper, context.recorder, every)
        # refuses a scene without a box, and what acts besides its energies
        elastic_constants(self.potential, self.stepper.time, relax=False, stepper=self.stepper)
        symbol, in_si, self.factor = _report_unit(context.units, self.fields["box"].shape[-1])
        for figure in FIGURES:
            context.recorder.unit(f"elastic_constants/{figure}", symbol, in_si)

    def observe(self) -> None:
        stepper = self.stepper
        try:
            found = elastic_constants(self.potential, stepper.time, stepper=stepper)
        except EnergyError:
            found = elastic_constants(self.potential, stepper.time, relax=False, stepper=stepper)
        values = {figure: self.factor * getattr(found, figure) for figure in FIGURES}
        named = {f"elastic_constants/{figure}": value for figure, value in values.items()}
        self.recorder.record_observables(stepper.step, stepper.time, named)


class ElasticConstantsBlock(Record):
    """Stress and elastic constants (Birch), with internal relaxation and without."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""

    def make(self, context: ObserverContext) -> Observer:
        return ElasticConstants(context, self.every)


def _report_unit(units: UnitSystem, dimension: int) -> tuple[str, float, float]:
    """The symbol, its size in SI, and the factor from the run's units."""
    if not units.names:
        return "1", 1.0, 1.0
    symbol, unit, in_si = ("GPa", "Pa", 1e9) if dimension == 3 else ("N/m", "N/m", 1.0)
    return symbol, in_si, units.in_si(unit) / in_si


OBSERVERS = {"elastic_constants": ElasticConstantsBlock}
