"""The terms of a NonbondedForce, as OpenMM sums them.

    method                 charges                                            cutoff of both
    NoCutoff               coulomb                                            beyond all pairs
    CutoffNonPeriodic      coulomb_reaction_field, sharp                      that of the force
    CutoffPeriodic         the same, of nearest images                        that of the force
    PME                    particle-mesh Ewald, splines of order 5            that of the force

    lennard_jones          pairs of atoms with wells, switched or cut sharply
    lennard_jones_14       exceptions with wells, at any distance
    coulomb_14             exceptions with charges, at any distance
    dispersion_correction  wells beyond the cutoff, at uniform density

Exceptions are no pairs of `lennard_jones` and `coulomb`. Parts without charges, or without wells, are left
out. OpenMM User Guide 8, chapter 19, "NonbondedForce".
"""

from typing import Any

import numpy as np

from minusgrad import bind
from minusgrad.plugin import Body, Compound, Cutoff, LinkedPairs, Term, UserError
from minusgrad_electrostatics.dispersion import coefficient, dispersion_correction
from minusgrad_electrostatics.pme import particle_mesh_ewald

from ..electrostatics import coulomb, coulomb_14, coulomb_reaction_field
from ..lennard_jones import lennard_jones_14, lennard_jones_mixture
from ..nonbonded_settings import EWALD, NAMES, NO_CUTOFF, PERIODIC, PME, NonbondedSettings
from .force_kind import ForceContext

BEYOND = 1000.0
"""The cutoff of pairs without one, in extents of the molecule or nanometres, whichever is more."""
SKIN = 0.1
"""The skin of a list, in parts of the cutoff, where the box has room for it."""
PAIRS14, EXCLUSIONS = "pairs14", "exclusions"


def nonbonded_terms(context: ForceContext) -> Compound:
    """The terms and maps of the force. Raises `UserError` for a box that is too small for the cutoff."""
    return _Nonbonded(context).compound()


class _Nonbonded:
    """The settings of the force beside the fields of the scene."""

    def __init__(self, context: ForceContext):
        self.context, self.fields, self.units = context, context.fields, context.units
        self.settings: NonbondedSettings = context.system.settings
        self.nanometre = self.units.convert("1 nm", "m")
        self.charges = self.fields["charge"].values.astype(float)
        self.wells = np.flatnonzero(self.fields["epsilon"].values > 0.0)
        self.exceptions = context.state.tuples.get(EXCLUSIONS)

    def compound(self) -> Compound:
        pairs: list[Term] = []
        charged = Compound([])
        if len(self.wells):
            pairs += self._well_terms()
        if self.charges.any():
            charged = self._charge_terms()
        if PAIRS14 in self.context.state.tuples:
            pairs += self._terms_of_exceptions()
        return Compound([*pairs, *charged.terms], charged.maps)

    def _cutoff(self, switch: float | None = None) -> Cutoff:
        """The cutoff of the force with a switch that begins there, in OpenMM's units."""
        if self.settings.method == NO_CUTOFF:
            extent = float(np.linalg.norm(np.ptp(self.fields["x"].values.astype(float), axis=0)))
            return Cutoff(BEYOND * max(extent, self.nanometre), sharp=True)
        radius = self.settings.cutoff * self.nanometre
        begin = None if switch is None else switch * self.nanometre
        return Cutoff(radius, begin, self._skin(radius), sharp=switch is None)

    def _skin(self, radius: float) -> float:
        """The skin for which the box has room. Raises `UserError` for a box narrower than two cutoffs."""
        box = self.fields.geometry
        if box is None:
            return SKIN * radius
        room = 0.5 * float(box.least_height) - radius
        if room < -1e-9 * radius:
            raise UserError(
                f"'{self.context.file}': NonbondedForce: its cutoff must be at most half the least distance"
                f" between opposite faces of the box, {(room + radius) / self.nanometre:.6g} nm, got"
                f" {self.settings.cutoff:g} nm; use a larger box or a smaller cutoff"
            )
        return min(SKIN * radius, max(room, 0.0) * (1.0 - 1e-9))

    def _exclusions(self) -> Any:
        """The pairs of exceptions, of nearest images; None without any."""
        return None if self.exceptions is None else LinkedPairs.of(self.exceptions)

    def _well_terms(self) -> list[Term]:
        """Lennard-Jones pairs, and their correction beyond the cutoff."""
        cutoff, name = self._cutoff(self.settings.switch), "lennard_jones"
        found = []
        if len(self.wells) > 1 or self.fields.geometry is not None:
            found.append(
                bind(
                    lennard_jones_mixture, self.fields, name=name, bodies=[Body(name, self.wells)],
                    cutoff=cutoff, exclude=self._exclusions(), units=self.units,
                )
            )  # fmt: skip
        if self.settings.dispersion and self.settings.method in PERIODIC:
            epsilon, sigma = (self.fields[a].values.astype(float) for a in ("epsilon", "sigma"))
            numbers = {"coefficient": coefficient(epsilon, sigma, cutoff)}
            label = "dispersion_correction"
            found.append(
                bind(dispersion_correction, self.fields, name=label, sizes={"box": 1}, parameters=numbers)
            )
        return found

    def _charge_terms(self) -> Compound:
        """Coulomb's energy by the method of the force."""
        method = self.settings.method
        if method in (EWALD, PME):
            return self._ewald_sum()
        if len(self.charges) < 2:
            return Compound([])
        options: dict[str, Any] = {
            "cutoff": self._cutoff(),
            "exclude": self._exclusions(),
            "units": self.units,
        }
        if method == NO_CUTOFF:
            return Compound([bind(coulomb, self.fields, **options)])
        field = {"radius": self.settings.cutoff * self.nanometre, "eps_rf": self.settings.permittivity}
        return Compound(
            [bind(coulomb_reaction_field, self.fields, name="coulomb", parameters=field, **options)]
        )

    def _ewald_sum(self) -> Compound:
        """Particle-mesh Ewald with OpenMM's splitting and mesh."""
        if self.settings.method == EWALD:
            raise UserError(
                f"'{self.context.file}': NonbondedForce with the method {NAMES[EWALD]} is not supported;"
                " make the System with PME"
            )
        box = self.fields["box"].values[0].astype(float) / self.nanometre
        alpha, mesh = self.settings.splitting_and_mesh(box)
        total, largest = float(self.charges.sum()), float(np.abs(self.charges).max())
        return particle_mesh_ewald(
            self.fields,
            cutoff=self._cutoff(),
            alpha=alpha / self.nanometre,
            mesh=mesh,
            exclude=self._exclusions(),
            background=abs(total) > 1e-6 * largest,
            units=self.units,
            name="pme",
        )

    def _terms_of_exceptions(self) -> list[Term]:
        """Exceptions with an energy of their own."""
        data = self.context.state.data[PAIRS14]
        rows, found = self.context.state.tuples[PAIRS14], []
        images = self.context.images_of(rows, self.settings.boxed)
        for energy, name, needs in (
            (lennard_jones_14, "lennard_jones_14", "epsilon"),
            (coulomb_14, "coulomb_14", "charge_product"),
        ):
            if data[needs].any():
                own = {a: values for a, values in data.items() if a in energy.roles}
                found.append(
                    bind(
                        energy, self.fields, name=name, tuples=rows, data=own, images=images, units=self.units
                    )
                )
        return found
