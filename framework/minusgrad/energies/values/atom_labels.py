"""What files of atoms say of each atom beside numbers: its element, its name, its residue, its chain.

    AtomLabels(elements=("O", "H", "H"), names=("OW", "HW1", "HW2"), residues=("HOH",) * 3,
               residue_numbers=(7, 7, 7), chains=("A",) * 3)

They stand in the facts of checkpoints, where exports find them, each column as its words and a number for
each atom. Symbols of the elements: IUPAC, 2016.

Decisions 0147.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from ...errors import EnergyError

_TABLE = """
H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y
Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os
Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn
Nh Fl Mc Lv Ts Og
"""
ELEMENTS = tuple(_TABLE.split())
"""Chemical symbols in the order of their atomic numbers, from 1 on."""
SYMBOLS = frozenset({*ELEMENTS, "X"})
"""Chemical symbols, and X of no element."""


@dataclass(frozen=True, kw_only=True)
class AtomLabels:
    """Labels of the nodes of a state that are atoms, (n,) each; a column that is not known is empty.

    elements: chemical symbols, "" of an atom whose element is not known, or of none. names: those within a
    residue, such as CA or HW1. residues: names such as ALA. residue_numbers: as counted in the file. chains:
    their letters. Raises `EnergyError` for a word that is no chemical symbol, and for columns of different
    lengths.
    """

    elements: tuple[str, ...]
    names: tuple[str, ...] = ()
    residues: tuple[str, ...] = ()
    residue_numbers: tuple[int, ...] = ()
    chains: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in fields(self):
            object.__setattr__(self, column.name, tuple(getattr(self, column.name)))
            if (count := len(getattr(self, column.name))) not in (0, len(self.elements)):
                raise EnergyError(
                    f"atoms: must have as many {column.name} as elements, {len(self.elements)}, got {count};"
                    " give one for each atom"
                )
        if bad := next((e for e in self.elements if e and e not in SYMBOLS), None):
            raise EnergyError(f"atoms: elements must be chemical symbols like 'Ar', got '{bad}'; correct it")

    def __len__(self) -> int:
        return len(self.elements)

    @staticmethod
    def symbol_of(text: str) -> str:
        """The chemical symbol that a text is, in any case: Cl of "CL"; "" where it is none."""
        symbol = text.strip().capitalize()
        return symbol if symbol in SYMBOLS else ""

    def as_facts(self) -> dict[str, Any]:
        """The columns as plain data: of texts {"words": [...], "atoms": [k, ...]}, of numbers the numbers."""
        found: dict[str, Any] = {}
        for column in fields(self):
            values = getattr(self, column.name)
            if not values:
                continue
            if column.name == "residue_numbers":
                found[column.name] = list(values)
            else:
                place = {word: k for k, word in enumerate(dict.fromkeys(values))}
                found[column.name] = {"words": [*place], "atoms": [place[word] for word in values]}
        return found

    @classmethod
    def of_facts(cls, facts: Mapping[str, Any]) -> Self:
        """The labels that `as_facts` gave. Raises `EnergyError` for facts that are none."""
        try:
            known = {column.name for column in fields(cls)} & facts.keys()
            return cls(**{name: _column_of_facts(facts[name]) for name in known})
        except (TypeError, KeyError, IndexError, ValueError) as error:
            raise EnergyError(f"atoms: the saved labels cannot be read, got {error!r}; run again") from None


def _column_of_facts(saved: Mapping[str, Any] | Sequence[int]) -> tuple[Any, ...]:
    if not isinstance(saved, Mapping):
        return tuple(int(number) for number in saved)
    words = [str(word) for word in saved["words"]]
    places = [int(k) for k in saved["atoms"]]
    if places and min(places) < 0:
        raise ValueError(f"place {min(places)}")
    return tuple(words[k] for k in places)
