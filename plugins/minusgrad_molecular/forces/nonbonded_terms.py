"""The terms of a NonbondedForce, as OpenMM sums them.

    method                 charges                                            cutoff of both
    NoCutoff               coulomb                                            beyond all pairs
    CutoffNonPeriodic      coulomb_reaction_field, sharp                      that of the force
    CutoffPeriodic         the same, of nearest images                        that of the force
    Ewald                  the same, its modes alone, of a fine mesh          that of the force
    PME                    particle-mesh Ewald, splines of order 5            that of the force
    LJPME                  the same, and for dispersion (`dispersion_pme`)    that of the force

    lennard_jones          pairs of atoms with wells, switched or cut sharply
    lennard_jones_14       exceptions with wells, at any distance
    coulomb_14             exceptions with charges, at any distance
    dispersion_correction  wells beyond the cutoff, at uniform density

Exceptions are no pairs of `lennard_jones` and `coulomb`. Parts without charges, or without wells, are left
out. OpenMM User Guide 8, chapter 19, "NonbondedForce".
"""

from math import prod
from typing import Any

import numpy as np
from scipy.fft import next_fast_len

from minusgrad import bind
from minusgrad.plugin import Body, Compound, Cutoff, LinkedPairs, Term, UserError
from minusgrad_electrostatics.dispersion import coefficient, dispersion_correction
from minusgrad_electrostatics.dispersion_pme import dispersion_mesh_ewald
from minusgrad_electrostatics.pme import particle_mesh_ewald

from ..electrostatics import coulomb, coulomb_14, coulomb_reaction_field
from ..lennard_jones import lennard_jones_14, lennard_jones_mixture
from ..nonbonded_settings import EWALD, LJPME, NO_CUTOFF, PERIODIC, PME, NonbondedSettings
from .force_kind import ForceContext
from .pair_cutoff import beyond_all_pairs, pair_cutoff

COULOMB = "138.93545764438198 kJ nm mol^-1 e^-2"
"""1 / (4 pi eps0) as OpenMM has it."""
FEW = 1 << 20
"""Charges times waves up to which Ewald's sum is taken wave by wave."""
FINE = 16
"""Cells of the mesh for each mode of Ewald's sum: splines of order 5 then have errors of some 1e-8."""
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
        self.coulomb = self.units.convert(COULOMB, "N m^2 C^-2")
        self.charges = self.fields["charge"].values.astype(float)
        self.wells = np.flatnonzero(self.fields["epsilon"].values > 0.0)
        self.exceptions = context.state.tuples.get(EXCLUSIONS)

    def compound(self) -> Compound:
        wells = charged = Compound([])
        if len(self.wells):
            wells = self._dispersion_sum() if self.settings.method == LJPME else Compound(self._well_terms())
        if self.charges.any():
            charged = self._charge_terms()
        listed = self._terms_of_exceptions() if PAIRS14 in self.context.state.tuples else []
        return Compound([*wells.terms, *listed, *charged.terms], [*wells.maps, *charged.maps])

    def _cutoff(self, switch: float | None = None) -> Cutoff:
        """The cutoff of the force with a switch that begins there, in OpenMM's units."""
        what, boxed = f"'{self.context.file}': NonbondedForce", min(self.settings.method, 2)
        cutoff = pair_cutoff(self.context, what, boxed, self.settings.cutoff, switch)
        return cutoff or beyond_all_pairs(self.fields, self.units)

    def _exclusions(self) -> Any:
        """The pairs of exceptions with their images; None without any.

        Raises `UserError` for a pair of which another image is within the cutoff: a molecule that is cut.
        """
        rows, box = self.exceptions, self.fields.geometry
        if rows is None or box is None or self.settings.boxed:
            return None if rows is None else LinkedPairs.of(rows)
        x = self.fields["x"].values.astype(float)
        off = x[rows[:, 1]] - x[rows[:, 0]]
        images = box.nearest(off)
        near = off + images @ box.vectors
        cut = images.any(axis=1) & (np.linalg.norm(near, axis=1) < self.settings.cutoff * self.nanometre)
        if cut.any():
            pair = rows[int(np.argmax(cut))].tolist()
            raise UserError(
                f"'{self.context.file}': NonbondedForce: its exception of atoms {pair[0]} and {pair[1]} is"
                " not periodic, got atoms that are nearer across the box; give whole molecules, or"
                " setExceptionsUsePeriodicBoundaryConditions(True)"
            )
        return LinkedPairs.of(rows, np.zeros((len(rows), 2, len(self.fields.periodic)), np.int32))

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

    def _dispersion_sum(self) -> Compound:
        """Lennard-Jones pairs, whose attraction goes on beyond the cutoff by its own Ewald sum."""
        box = self.fields["box"].values[0].astype(float) / self.nanometre
        beta, mesh = self.settings.splitting_and_mesh(box, of_dispersion=True)
        return dispersion_mesh_ewald(
            self.fields,
            cutoff=self._cutoff(),
            beta=beta / self.nanometre,
            mesh=mesh,
            nodes=self.wells,
            exclude=self._exclusions(),
            units=self.units,
        )

    def _charge_terms(self) -> Compound:
        """Coulomb's energy by the method of the force."""
        method = self.settings.method
        if method in (EWALD, PME, LJPME):
            return self._ewald_sum()
        if len(self.charges) < 2:
            return Compound([])
        options: dict[str, Any] = {
            "cutoff": self._cutoff(),
            "exclude": self._exclusions(),
            "units": self.units,
        }
        own = {"coulomb_constant": self.coulomb}
        if method == NO_CUTOFF:
            return Compound([bind(coulomb, self.fields, parameters=own, **options)])
        field = own | {
            "radius": self.settings.cutoff * self.nanometre,
            "eps_rf": self.settings.permittivity,
        }
        return Compound(
            [bind(coulomb_reaction_field, self.fields, name="coulomb", parameters=field, **options)]
        )

    def _ewald_sum(self) -> Compound:
        """Particle-mesh Ewald with OpenMM's mesh; Ewald's sum on a mesh that is fine beside its modes."""
        mesh: tuple[int, ...]
        below: tuple[int, ...] | None = None
        box = self.fields["box"].values[0].astype(float) / self.nanometre
        if self.settings.method == EWALD:
            if (box != np.diag(np.diag(box))).any():
                raise UserError(
                    f"'{self.context.file}': NonbondedForce: Ewald's sum needs a rectangular box, got another"
                    " one; make the System with PME"
                )
            alpha, below = self.settings.splitting_and_waves(box)
            few = len(self.charges) * prod(2 * m - 1 for m in below) < 2 * FEW
            mesh = () if few else tuple(next_fast_len(FINE * m, real=True) for m in below)
        else:
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
            below=below,
            coulomb_constant=self.coulomb,
        )

    def _terms_of_exceptions(self) -> list[Term]:
        """Exceptions with an energy of their own."""
        rows, data = self.context.state.tuples[PAIRS14], self.context.state.data[PAIRS14]
        given: dict[str, Any] = {
            "tuples": rows,
            "images": self.context.images_of(rows, self.settings.boxed),
            "units": self.units,
        }
        found = []
        if data["epsilon"].any():
            own = {a: values for a, values in data.items() if a in lennard_jones_14.roles}
            found.append(bind(lennard_jones_14, self.fields, data=own, **given))
        if data["charge_product"].any():
            own = {"charge_product": data["charge_product"]}
            constant = {"coulomb_constant": self.coulomb}
            found.append(bind(coulomb_14, self.fields, data=own, parameters=constant, **given))
        return found
