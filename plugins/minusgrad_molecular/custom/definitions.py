"""Definitions of an expression in the order in which they are computed, and messages about places in it.

As in Lepton a definition uses the next one of a name after it, and the value the first; where there is none
the name is a variable. Beyond Lepton a name that is neither is a definition before it. Circles are refused.
"""

from collections.abc import Collection, Iterator, Sequence

from minusgrad.plugin import UserError, choices, printable

from .trees import Name


def begin_message(what: str, place: int) -> str:
    """Where a mistake is."""
    return f"{what}: expression, character {place + 1}"


def mistake_at(what: str, text: str, place: int, wrong: str, cure: str) -> UserError:
    """The message of a mistake at a character."""
    near = text[place : place + 20].strip()
    got = f"got '{printable(near)}'" if near else "got its end"
    return UserError(f"{begin_message(what, place)}: {wrong}, {got}; {cure}")


def unknown_name(what: str, noun: str, name: str, place: int, known: Sequence[str]) -> UserError:
    """The message of a name that means nothing."""
    return UserError(
        f"{begin_message(what, place)}: no {noun} named '{printable(name)}'{choices(name, known)}"
    )


class Links:
    """What each name means: a definition, or a variable.

    names: of the parts, "" of the value. read: the names that each part reads.
    """

    def __init__(
        self, what: str, names: Sequence[str], read: Sequence[Sequence[Name]], variables: Collection[str]
    ):
        self._what, self._names, self._read, self._variables = what, names, read, variables
        self._places: dict[str, list[int]] = {}
        for k, name in enumerate(names):
            self._places.setdefault(name, []).append(k)

    def ordered_definitions(self) -> tuple[list[int], list[str]]:
        """The definitions that the value needs, each after its own, and the variables that are read."""
        order: list[int] = []
        variables: dict[str, None] = {}
        open_ones: dict[int, Iterator[Name]] = {0: iter(self._read[0])}
        done: set[int] = set()
        while open_ones:
            k, names = next(reversed(open_ones.items()))
            one = next(names, None)
            if one is None:
                open_ones.pop(k)
                done.add(k)
                if k:
                    order.append(k)
                continue
            one.definition = self._find_definition(k, one)
            if one.definition is None:
                variables[one.name] = None
            elif one.definition in open_ones:
                raise UserError(
                    f"{begin_message(self._what, one.place)}: must not be defined by itself, got"
                    f" '{printable(one.name)}' in a circle; define it by others"
                )
            elif one.definition not in done:
                open_ones[one.definition] = iter(self._read[one.definition])
        return order, [*variables]

    def _find_definition(self, k: int, one: Name) -> int | None:
        """The place of the definition that a name in part k means, None of a variable."""
        places = self._places.get(one.name, [])
        if (after := next((place for place in places if place > k), None)) is not None:
            return after
        if one.name in self._variables:
            return None
        if places:
            return places[-1]
        known = sorted({*self._variables, *self._places} - {""})
        raise unknown_name(self._what, "variable", one.name, one.place, known)
