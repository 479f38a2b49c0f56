"""Arguments of a built scene by name, for fits, members, fitted values and checkpoints alike.

    gravity.G, rod.length      a parameter or datum of a term, or a parameter that terms of a block share
    grip.angle                 a number of a hold

Decisions 0109.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ...errors import EnergyError, unknown
from ...potential.potential import Potential
from ...scene.document import SKELETON_KEYS
from ...steppers.supports.hold_numbers import HoldNumbers


class Owners(Protocol):
    """What has terms and holds: a built scene, or a function of its run."""

    @property
    def potentials(self) -> Sequence[Potential]: ...
    @property
    def holds(self) -> Any: ...


def has_owner(owners: Owners, name: str) -> bool:
    """True for a field, and for "term.argument" and "hold.number" of what there is."""
    term, _, argument = name.partition(".")
    known = {part for potential in owners.potentials for part in potential.owners}
    return not argument or name in owners.holds.numbers or term in known


def owner_of(owners: Owners, name: str, more: str = "") -> Potential | HoldNumbers:
    """U, L, the dissipation, the constraints or the flows of magnetic fields; or the numbers of holds.

    name: "term.argument" or "hold.number". more: ends the message about an unknown term. Raises
    `EnergyError` for a term that there is not, or twice.
    """
    term, numbers = name.partition(".")[0], owners.holds.numbers
    if name in numbers:
        return numbers
    known = [part for potential in owners.potentials for part in potential.owners]
    if term not in known:
        numbers.refuse(name)
        if term in SKELETON_KEYS:
            able = addresses_of(owners, name.rpartition(".")[2])
            cure = f"write {' or '.join(able)}" if able else f"there are the terms {', '.join(known)}"
            raise EnergyError(f"'{name}': needs a term and its argument, got a path in the scene; {cure}")
        raise EnergyError(unknown("term", term, known) + more)
    if known.count(term) > 1:
        raise EnergyError(f"two terms are named '{term}'; rename one")
    found = next(potential for potential in owners.potentials if term in potential.owners)
    found.common.refuse_part(name)
    return found


def addresses_of(owners: Owners, argument: str) -> list[str]:
    """The addresses of all parameters, data and numbers of holds that are called so: "magnets.strength"."""
    parts = [part for potential in owners.potentials for part in potential.parts.values()]
    of_terms = dict.fromkeys(part.address(argument) for part in parts if argument in part.energy.roles)
    return [*of_terms] + [name for name in owners.holds.numbers.names if name.rpartition(".")[2] == argument]
