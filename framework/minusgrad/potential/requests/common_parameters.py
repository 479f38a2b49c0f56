"""Parameters that several terms have in common, such as a rod's modulus, under one name "block.argument".

    dU/dp = sum over the terms that read p of dU_k/dp

Decisions 0195.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...energies.term import Term
from ...errors import EnergyError


class CommonParameters:
    """The common parameters of the terms of a potential, by address; `blocks`: the names of their blocks.

    Raises `EnergyError` for a block with the name of one of `parts`, and for values that differ.
    """

    def __init__(self, terms: Mapping[str, Any], parts: Mapping[str, Any]):
        self._places: dict[str, list[tuple[str, str]]] = {}
        self._address: dict[str, str] = {}
        for name, term in terms.items():
            for argument in term.common if isinstance(term, Term) else ():
                self._places.setdefault(term.address(argument), []).append((name, argument))
                self._address[f"{name}.{argument}"] = term.address(argument)
        self.blocks = list(dict.fromkeys(address.partition(".")[0] for address in self._places))
        if twice := [block for block in self.blocks if block in parts]:
            raise EnergyError(f"two terms have one name: {twice[0]}; give them a `name` each")
        for address, places in self._places.items():
            first, *others = values = [terms[name].parameters[argument] for name, argument in places]
            if any(one.index is not None for one in values):
                raise EnergyError(
                    f"'{address}': is common to several terms, got values of elements; give one"
                )
            if any(not np.array_equal(first.rows, one.rows) for one in others):
                raise EnergyError(f"'{address}': is common to several terms, got different values; give one")

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def of_block(self, block: str) -> list[str]:
        """The common parameters of a block."""
        return [address.partition(".")[2] for address in self._places if address.partition(".")[0] == block]

    def places_of(self, name: str) -> list[tuple[str, str]]:
        """The terms that an address means, each with its argument; of one that is not common, one."""
        term, _, argument = name.partition(".")
        return self._places.get(name) or [(term, argument)]

    def refuse_part(self, name: str) -> None:
        """Raise `EnergyError` for the parameter of one term that has it in common with others."""
        if name in self._address:
            address = self._address[name]
            raise EnergyError(f"'{name}': is common to several terms, got one of them; write '{address}'")
