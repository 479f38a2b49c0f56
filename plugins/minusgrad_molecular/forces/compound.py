"""The compound `force_field`: all energies of the System of the state `molecule`, as OpenMM sums them.

Decisions 0150.
"""

from dataclasses import replace
from typing import Any

from minusgrad.plugin import Compound, CompoundContext, Record, UserError

from ..openmm_system import System
from ..virtual_sites import PLACES, SITES, site_maps
from .force_kind import ForceContext
from .kinds import KINDS


class ForceField(Record):
    """All energies of the OpenMM System of the state `molecule`, with its cutoffs, switch and Ewald sum.

    Terms are called as the lists of the state (bonds, angles, torsions, impropers, urey_bradley) and
    lennard_jones, lennard_jones_14, coulomb, coulomb_14, pme_direct, ..., dispersion_correction.
    """

    def make(self, context: CompoundContext) -> Compound:
        """The terms and maps. Raises `UserError` for another state, and by name for what is not obeyed."""
        system = context.state.brings
        if not isinstance(system, System):
            raise UserError(
                "force_field: needs the System of a molecule, got a state without one; write [state] kind ="
                ' "molecule"'
            )
        maps, around = _with_places(context)
        made = [
            kind.terms(ForceContext(around, system, system.parts[name]))
            for name, kind in KINDS.items()
            if kind.terms is not None and name in system.parts
        ]
        compounds = [one if isinstance(one, Compound) else Compound(one) for one in made]
        maps += [one for compound in compounds for one in compound.maps]
        return Compound([term for one in compounds for term in one.terms], maps)


def _with_places(context: CompoundContext) -> tuple[list[Any], CompoundContext]:
    """The maps to virtual sites, and a context in whose fields "x" stands for the places of all particles.

    There are no maps where the scene has them already.
    """
    if SITES not in context.state.tuples:
        return [], context
    maps = [] if PLACES in context.fields else site_maps(context.fields, context.state, context.units)
    return maps, replace(context, fields=context.fields.renamed({"x": PLACES}))


COMPOUNDS = {"force_field": ForceField}
