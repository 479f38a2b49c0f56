"""The species of atoms: from bodies that are called by chemical symbols, or as a scene says.

A map gives every atom the number of its species, by which energies of several species find their rows in
tables. It is a constant: nothing has a derivative by it.

Decisions 0148.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minusgrad import Fields, bind
from minusgrad.plugin import Datum, Node, State, Term, UserError, choices, local_map, ti

POSITION = Node("m", ("d",))
SPECIES = Node(integer=True)
"""The number of the species of an atom."""
MOST_NAMES = 8
"""Names that a message lists."""


@ti.func
def directed_row(a, b, count):
    """The row of a table of `count` x `count` pairs, of the species a and b in this order."""
    return ti.cast(a * count + b, ti.i32)


@ti.func
def pair_row(a, b):
    """The row of a table of pairs 00, 10, 11, 20, ... of the species a and b in any order."""
    high, low = ti.max(a, b), ti.min(a, b)
    return ti.cast(0.5 * high * (high + 1.0) + low, ti.i32)


def rows_of_pairs(values: np.ndarray) -> np.ndarray:
    """The rows of pairs 00, 10, 11, 20, ... of symmetric values (..., S, S, k): (..., pairs, k)."""
    high, low = np.tril_indices(values.shape[-2])
    return values[..., high, low, :]


@local_map("species", gives="species", over="nodes", x=Node("m", ("d",)), number=Datum(integer=True))
def species(x, number):
    """The number of the species of an atom, from 0."""
    return 1.0 * number


@dataclass(frozen=True, eq=False)
class Species:
    """The species that atoms have: `names` (S), `numbers` (n,), that of each atom among them from 0."""

    names: tuple[str, ...]
    numbers: np.ndarray

    @classmethod
    def of(
        cls,
        given: str | Mapping[str, str] | None,
        known: Sequence[str],
        state: State | None,
        count: int,
        source: str,
    ) -> "Species":
        """The species of `count` atoms, as `given` says: one for all, or one for each body by its name.

        Without `given`, bodies of the state whose names are in `known` are species; a file of one species
        gives it to all atoms of a state without such bodies. known: the species of the file `source`.

        Raises `UserError` for a species that is not known, and for atoms with none or with two of them.
        """
        bodies = {body.name: body.nodes for body in (state.bodies if state else ())}
        if given is None and len(known) == 1 and not bodies:
            given = known[0]
        if isinstance(given, str):
            _refuse_strange({"": given}, known, source)
            return cls((given,), np.zeros(count, np.int32))
        by_body = {name: name for name in bodies if name in known} if given is None else given
        if strange := [name for name in by_body if name not in bodies]:
            raise UserError(f"species: no body named '{strange[0]}'{choices(strange[0], bodies)}")
        _refuse_strange(by_body, known, source)
        names = tuple(name for name in known if name in by_body.values())
        numbers = np.full(count, -1, np.int32)
        for body, name in by_body.items():
            number, nodes = names.index(name), bodies[body]
            if (twice := (numbers[nodes] >= 0) & (numbers[nodes] != number)).any():
                atom = nodes[twice][0]
                both = f"{names[numbers[atom]]} and {name}"
                raise UserError(
                    f"species: an atom is of one species, got {both} for atom {atom}; correct the bodies"
                )
            numbers[nodes] = number
        _refuse_none(numbers, known, bodies, source)
        return cls(names, numbers)

    def __len__(self) -> int:
        return len(self.names)

    def numbered(self, fields: Fields, name: str) -> Term:
        """The map that gives the field `name`, with the number of the species of each atom."""
        return bind(species, fields, name=name, gives=name, data={"number": self.numbers})

    def mass_remarks(self, masses: Mapping[str, float], m: np.ndarray, source: str) -> list[str]:
        """A remark for each species whose atoms have other masses m (n,) than the file says, by 1 %."""
        found = []
        for number, name in enumerate(self.names):
            own, wanted = float(np.mean(m[self.numbers == number])), masses[name]
            if wanted and abs(own - wanted) > 0.01 * wanted:
                found.append(
                    f"{source}: {name} has the mass {wanted:.6g} u there, and {own:.6g} u in the state,"
                    " which is used; forces do not depend on it"
                )
        return found


def _refuse_strange(given: Mapping[str, str], known: Sequence[str], source: str) -> None:
    """Raise `UserError` for a species that the file does not have."""
    for body, name in given.items():
        if name not in known:
            where = f"species.{body}" if body else "species"
            raise UserError(f"{where}: {source} has no '{name}'{choices(name, known)}")


def _refuse_none(
    numbers: np.ndarray, known: Sequence[str], bodies: Mapping[str, np.ndarray], source: str
) -> None:
    """Raise `UserError` for atoms without a species, with the bodies that they are in."""
    if not (without := np.flatnonzero(numbers < 0)).size:
        return
    around = [name for name, nodes in bodies.items() if np.isin(without[0], nodes)]
    place = f"in {', '.join(map(repr, around[:MOST_NAMES]))}" if around else "in no body"
    raise UserError(
        f"species: every atom needs one of {source} ({', '.join(known[:MOST_NAMES])}), got none for"
        f" {without.size} atoms, such as {without[0]}, {place}; write"
        f' species = {{ BODY = "{known[0]}" }}, or for all atoms species = "{known[0]}"'
    )
