"""The element of each node of a run: as its state says, by bodies, or by the names of nodes.

    1. `--element Ar` for all nodes, `--element core=Fe` for those of a body
    2. the labels of atoms that the state gives (`AtomLabels`)
    3. bodies whose names are chemical symbols; 4. names of nodes that are

X is the symbol of a node of no known element. Nothing is guessed from masses.

Decisions 0147.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ....energies.values.atom_labels import SYMBOLS, AtomLabels
from ....errors import EnergyError, UserError, unknown

UNKNOWN = "X"
"""The symbol of no element."""


def atom_labels(facts: Mapping[str, Any], count: int) -> AtomLabels | None:
    """The labels of `count` atoms in the facts of a checkpoint; None without them.

    Raises `UserError` for labels that cannot be read, or of another number of atoms.
    """
    if not facts.get("atoms"):
        return None
    try:
        found = AtomLabels.of_facts(facts["atoms"])
    except EnergyError as error:
        raise UserError(str(error)) from None
    if len(found) != count:
        raise UserError(f"atoms: the run has labels of {len(found)} atoms, got {count} positions; run again")
    return found


def node_elements(facts: Mapping[str, Any], count: int, given: Sequence[str] = ()) -> list[str]:
    """The chemical symbol of each of `count` nodes. facts: those of a checkpoint. given: see `--element`.

    Raises `UserError` for a node with two elements, and for a body or a symbol that does not exist.
    """
    labels = atom_labels(facts, count)
    if labels is not None:
        found = [symbol or UNKNOWN for symbol in labels.elements]
    elif of_bodies := [name for name in facts.get("bodies") or {} if name in SYMBOLS]:
        found = _elements_of_bodies(facts["bodies"], of_bodies, count)
    else:
        names = [*(facts.get("names") or ())][:count]
        found = [name if name in SYMBOLS else UNKNOWN for name in names]
        found += [UNKNOWN] * (count - len(found))
    for text in given:
        body, _, symbol = text.rpartition("=")
        if symbol not in SYMBOLS:
            raise UserError(f"--element: must be a chemical symbol like Ar, or BODY=Ar, got '{text}'")
        if body and body not in (bodies := facts.get("bodies") or {}):
            raise UserError(f"--element: {unknown('body', body, bodies)}")
        ranges = facts["bodies"][body] if body else [[0, count]]
        for begin, end in ranges:
            found[begin:end] = [symbol] * (min(end, count) - begin)
    return found


def _elements_of_bodies(
    bodies: Mapping[str, Sequence[Sequence[int]]], names: Sequence[str], count: int
) -> list[str]:
    found = [""] * count
    for name in names:
        for begin, end in bodies[name]:
            for node in range(begin, min(end, count)):
                if found[node]:
                    raise UserError(
                        f"node {node}: is in the bodies '{found[node]}' and '{name}', which are both chemical"
                        f" symbols; say its element with --element {found[node]}={found[node]}"
                    )
                found[node] = name
    return [name or UNKNOWN for name in found]
