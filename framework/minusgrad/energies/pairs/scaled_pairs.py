"""Listed pairs of a pair energy that interact at any distance, with a factor: 1-4 pairs of molecules.

They are terms of their own over lists of two nodes, and share the parameters of the term within the cutoff.

Decisions 0288.
"""

from dataclasses import replace

from ...elements.periodic.linked_pairs import LinkedPairs
from ...errors import EnergyError
from ..fields import Fields
from ..local_map import LocalMap
from ..term import Term
from ..term_spec import TermSpec


def with_scaled_pairs(spec: TermSpec, fields: Fields) -> list[Term]:
    """The terms of each scaled list, then the term within the cutoff, from which their pairs are excluded.

    Raises `EnergyError` for scaled pairs without a cutoff, of a map, and of triples and directed pairs.
    """
    if not spec.scaled:
        return [Term.of(spec, fields)]
    of_pairs = spec.energy.element_kind.unordered
    if spec.cutoff is None or isinstance(spec.energy, LocalMap) or not of_pairs:
        got = "no cutoff" if spec.cutoff is None else "a map"
        if not of_pairs:
            got = f"one over {spec.energy.over}".replace("_", " ")
        raise EnergyError(
            f"{spec.label}.scale: is of energies of pairs within a cutoff, got {got}; leave `scale` out"
        )
    lists = [rows for rows, _ in spec.scaled.values()] + [spec.exclude] * (spec.exclude is not None)
    excluded = LinkedPairs.joined(map(LinkedPairs.of, lists))
    whole = replace(Term.of(replace(spec, exclude=excluded, scaled={}), fields), owner=spec.label)
    listed = replace(spec, cutoff=None, exclude=None, scaled={}, bodies=())
    made = []
    for name, (rows, factor) in spec.scaled.items():
        energy, pairs = replace(spec.energy, over=2, factor=float(factor)), LinkedPairs.of(rows)
        term = Term.of(replace(listed, energy=energy, tuples=pairs, name=f"{spec.label}_{name}"), fields)
        made.append(replace(term, owner=spec.label).sharing(whole))
    return [*made, whole]
