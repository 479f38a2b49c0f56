"""CustomNonbondedForce: pairs within a cutoff or all pairs, without exclusions, switched, between groups.

    u(r, sigma1, sigma2, ...)       sigma1, sigma2: the parameter sigma of both particles
    Exclusions, cutoff, switch      as those of other pair energies
    InteractionGroups               pairs of a particle of set 1 with one of set 2, once for each group
    ComputedValues                  values of particles, functions of their parameters

The parameters of particles are fields, custom_nonbonded_sigma, ...; U has a gradient with respect to them.
Groups make kinds of particles, those that are in the same sets: u is multiplied by a table of kinds, which
says how many groups a pair is in. The expression has to be symmetric under exchange. A long-range correction
is a term of its own (`pairs_beyond`), in a box and without groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad import bind
from minusgrad.plugin import (
    Body,
    Compound,
    Cutoff,
    EnergyError,
    LinkedPairs,
    Term,
    UnitSystem,
    UserError,
)

from ..forces.force_kind import ForceContext, ForceKind
from ..forces.force_part import ForceList, ForcePart, Numbers
from ..forces.pair_cutoff import METHODS, beyond_all_pairs, pair_cutoff
from ..forces.system_reader import SystemReader
from .custom_force import GROUP, GROUPS, CustomForce, KnownTable, ParticleNumber, particle_number, read_force
from .emission import Symbols
from .listed_forces import INVARIANT, VECTOR, read_values
from .pairs_beyond import bind_correction

KIND = "CustomNonbondedForce"


@dataclass(frozen=True)
class PairForce:
    """A CustomNonbondedForce. method: a place in METHODS. cutoff, switch in nm; switch: None without one.

    groups: the kind of each particle, and how many groups a pair of kinds is in; None without groups. values:
    the parameters of particles by argument. corrected: with a long-range correction.
    """

    force: CustomForce
    method: int
    cutoff: float
    switch: float | None
    groups: tuple[np.ndarray, np.ndarray] | None
    values: Mapping[str, np.ndarray]
    corrected: bool = False

    @property
    def exclusions(self) -> str:
        """The list of the state."""
        return f"{self.force.term}_exclusions"

    def field_of(self, argument: str) -> str:
        """The field of the state of an argument."""
        return f"{self.force.term}_{argument}"


def read_pairs(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """Fields and exclusions of all forces. Raises `UserError`."""
    own: list[PairForce] = []
    fields: dict[str, Numbers] = {}
    lists: dict[str, ForceList] = {}
    for one in forces:
        pair = _read_one(reader, one)
        fields |= {pair.field_of(argument): Numbers(values) for argument, values in pair.values.items()}
        if pair.groups is not None:
            fields[pair.field_of(GROUP)] = Numbers(pair.groups[0].astype(float))
        excluded = reader.tuples_of(KIND, [one], "Exclusions/Exclusion", 2, ()).atoms
        lists[pair.exclusions] = ForceList(excluded)
        own.append(pair)
    return ForcePart(fields=fields, lists=lists, periodic=any(one.force.periodic for one in own), own=own)


def _read_one(reader: SystemReader, one: Element) -> PairForce:
    force = read_force(reader, one, "PerParticleParameters")
    method = reader.number_of(one, "method", KIND, 0.0)
    if method not in range(len(METHODS)):
        raise UserError(
            f"{force.what}: method must be 0 to 2 ({', '.join(METHODS)}), got {method:g}; correct it"
        )
    groups = _read_groups(reader, force.what, one)
    corrected = bool(reader.number_of(one, "useLongRangeCorrection", KIND, 0.0)) and method == 2
    if corrected and groups is not None:
        raise UserError(
            f"{force.what}: a long-range correction of interaction groups is not supported; set"
            " setUseLongRangeCorrection(False)"
        )
    cutoff, begin = (reader.number_of(one, name, KIND, -1.0) for name in ("cutoff", "switchingDistance"))
    if method and not cutoff > 0.0:
        raise UserError(f"{force.what}: cutoff must be above 0, got {cutoff:g}; correct it")
    switched = bool(reader.number_of(one, "useSwitchingFunction", KIND, 0.0)) and bool(method)
    found = one.findall("Particles/Particle")
    if len(found) != reader.n:
        raise UserError(
            f"{force.what}: must have {reader.n} particles, as the System has, got {len(found)}; write the"
            " file again"
        )
    values = {name: numbers.values for name, numbers in read_values(reader, KIND, force, found).items()}
    return PairForce(
        replace(force, periodic=int(method) == 2),
        int(method),
        cutoff,
        begin if switched and 0.0 <= begin < cutoff else None,
        groups,
        values,
        corrected,
    )


def _read_groups(reader: SystemReader, what: str, one: Element) -> tuple[np.ndarray, np.ndarray] | None:
    """The kind of each particle, and in how many groups pairs of kinds are, (kinds, kinds)."""
    found = one.findall("InteractionGroups/InteractionGroup")
    if not found:
        return None
    inside = np.zeros((reader.n, 2 * len(found)), bool)
    for k, group in enumerate(found):
        for side in range(2):
            members = reader.atoms_of(KIND, group.findall(f"Set{side + 1}/Particle"), ["index"])
            inside[members[:, 0], 2 * k + side] = True
    kinds, which = np.unique(inside, axis=0, return_inverse=True)
    first, second = kinds[:, 0::2].astype(float), kinds[:, 1::2].astype(float)
    forward = first[:, None] * second[None]
    counts = np.maximum(forward, forward.transpose(1, 0, 2)).sum(axis=2)
    return which.reshape(-1), counts


def declare_pairs(pair: PairForce, units: UnitSystem, over: Any = "pairs") -> Any:
    """The energy of pairs; over: 2 of listed ones.

    Raises `UserError` for an expression that changes when they are exchanged.
    """
    force, weight, more = pair.force, "", {}
    if pair.groups is not None:
        weight = f"{GROUPS}[ti.cast({GROUP}[0], ti.i32), ti.cast({GROUP}[1], ti.i32)]"
        kinds, counts = pair.groups
        more = {GROUP: particle_number(kinds, True), GROUPS: KnownTable(axes=2, values=counts)}
    try:
        return force.declare_energy(
            over, units, VECTOR,
            lambda scale: [f"d_ = {scale}(x[0] - x[1])", "rr_ = d_.norm_sqr()", "r_ = ti.sqrt(rr_)"],
            Symbols({"r": "r_"}, {"r": "rr_"}), values=pair.values, symmetries=INVARIANT, weight=weight,
            more=more,
        )  # fmt: skip
    except EnergyError as error:
        if "unordered" not in str(error):
            raise
        if "= nan" in str(error):
            raise UserError(
                f"{force.what}: its energy must be a number for particles about a nanometre apart, got nan;"
                " define it there"
            ) from None
        raise UserError(
            f"{force.what}: its energy must be the same where particles 1 and 2 are exchanged, got another"
            " one; write it symmetric"
        ) from None


def pair_terms(context: ForceContext) -> Compound:
    """A term for each force. Raises `UserError` for a box that is too small for the cutoff."""
    return Compound([term for pair in context.part.own for term in _bound_pairs(context, pair)])


def _bound_pairs(context: ForceContext, pair: PairForce) -> list[Term]:
    fields, force = context.fields, pair.force
    energy = declare_pairs(pair, context.units)
    names = {a: pair.field_of(a) for a in energy.of_role(ParticleNumber)}
    tables = force.tables_of(energy)
    options: dict[str, Any] = {}
    if pair.groups is not None:
        kinds, counts = pair.groups
        tables[GROUPS] = counts
        taking = np.flatnonzero(np.any(counts > 0.0, axis=1)[kinds])
        if len(taking) < 2:
            return []
        options["bodies"] = [Body(force.term, taking)]
    excluded = context.state.tuples.get(pair.exclusions)
    if excluded is not None:
        options["exclude"] = LinkedPairs.of(excluded)
    if pair.method or excluded is not None or fields.geometry is not None:
        options["cutoff"] = _cutoff_of(context, pair)
    term = bind(energy, fields, name=force.term, renamed=names, tables=tables, units=context.units, **options)
    if not pair.corrected:
        return [term]
    listed, cutoff, values = declare_pairs(pair, context.units, over=2), options["cutoff"], dict(pair.values)
    return [term, bind_correction(context, force, listed, values, cutoff, tables)]


def _cutoff_of(context: ForceContext, pair: PairForce) -> Cutoff:
    """The cutoff of the force; without one a distance beyond all pairs."""
    cutoff = pair_cutoff(context, pair.force.what, pair.method, pair.cutoff, pair.switch)
    return cutoff or beyond_all_pairs(context.fields, context.units)


KINDS = (ForceKind(KIND, read_pairs, pair_terms),)
