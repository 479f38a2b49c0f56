"""CustomGBForce of a System: particles with parameters, stages with expressions, exclusions, functions.

    PerParticleParameters, Particles     names; of each particle param1, param2, ...
    GlobalParameters, Functions          as those of other Custom forces
    ComputedValues, EnergyTerms          expression, and type: 0 of particles, 1 of pairs, 2 of all pairs
    Exclusions                           pairs that stages of type 1 leave out
    attributes                           method, cutoff

The parameters of particles are fields of the state, custom_gb_charge, ...; computed values are fields, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import Compound, UserError, printable

from ..custom.custom_force import read_force
from ..forces.force_kind import ForceContext, ForceKind
from ..forces.force_part import ForcePart, Numbers
from ..forces.pair_cutoff import METHODS, pair_cutoff
from ..forces.system_reader import SystemReader
from .custom_stages import ALL_PAIRS, SINGLE, CustomBorn, Stage, custom_solvent

KIND = "CustomGBForce"


@dataclass(frozen=True)
class BornForce:
    """A force and how its pairs end. cutoff: in nanometres."""

    born: CustomBorn
    method: int
    cutoff: float


def read_solvents(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """The fields of all forces. Raises `UserError`."""
    own = [_read_one(reader, one) for one in forces]
    fields = {
        force.born.field_of(name): Numbers(values)
        for force in own
        for name, values in force.born.parameters.items()
    }
    return ForcePart(
        fields=fields, periodic=any(METHODS[one.method] == "CutoffPeriodic" for one in own), own=own
    )


def _read_one(reader: SystemReader, one: Element) -> BornForce:
    force = read_force(reader, one, "PerParticleParameters", staged=True)
    found = one.findall("Particles/Particle")
    if len(found) != reader.n:
        raise UserError(
            f"{force.what}: must have {reader.n} particles, as the System has, got {len(found)}; write the"
            " file again"
        )
    method, cutoff = (reader.number_of(one, name, KIND, 0.0) for name in ("method", "cutoff"))
    if method not in range(len(METHODS)):
        raise UserError(
            f"{force.what}: method must be 0 to 2 ({', '.join(METHODS)}), got {method:g}; correct it"
        )
    if method and not cutoff > 0.0:
        raise UserError(f"{force.what}: cutoff must be above 0, got {cutoff:g}; correct it")
    values = [_read_stage(force.what, value, True) for value in one.iterfind("ComputedValues/Value")]
    names = [*force.own, *force.constants, *force.functions, *(value.name for value in values)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(
            f"{force.what}: parameters and computed values need names of their own, got two"
            f" '{printable(twice[0])}'; rename one"
        )
    born = CustomBorn(
        force.what,
        force.term,
        {name: reader.numbers_of(found, f"param{k + 1}", KIND) for k, name in enumerate(force.own)},
        values,
        [_read_stage(force.what, term, False) for term in one.iterfind("EnergyTerms/Term")],
        force.constants,
        force.functions,
        np.asarray(reader.tuples_of(KIND, [one], "Exclusions/Exclusion", 2, ()).atoms),
    )
    return BornForce(born, int(method), cutoff)


def _read_stage(what: str, one: Element, named: bool) -> Stage:
    """A computed value or an energy term."""
    kind, text, name = one.get("type", ""), one.get("expression", ""), one.get("name", "")
    if kind not in map(str, range(SINGLE, ALL_PAIRS + 1)) or not text or (named and not name):
        raise UserError(
            f"{what}: its stages need an expression, a type from 0 to 2 and, if they are computed values, a"
            f" name, got '{printable(text, 40)}', '{printable(kind, 10)}' and '{printable(name, 40)}'; write"
            " the file again"
        )
    return Stage(text, int(kind), name)


def solvent_terms(context: ForceContext) -> Compound:
    """The maps and energies of all forces. Raises `UserError`."""
    made = [
        custom_solvent(
            one.born, context.fields, pair_cutoff(context, one.born.what, one.method, one.cutoff),
            context.units,
        )
        for one in context.part.own
    ]  # fmt: skip
    return Compound([term for one in made for term in one.terms], [a for one in made for a in one.maps])


KINDS = (ForceKind(KIND, read_solvents, solvent_terms),)
