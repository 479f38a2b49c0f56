"""What is read of all forces of one class of a System: lists of atoms, numbers with units, remarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minusgrad.plugin import UnitSystem


@dataclass(frozen=True)
class Interactions:
    """Listed tuples (K, k) of atoms, and numbers (K,) of each by the attribute of the file."""

    atoms: np.ndarray
    numbers: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.atoms)

    def of(self, chosen: np.ndarray) -> "Interactions":
        """Those that a mask (K,) chooses."""
        return Interactions(self.atoms[chosen], {name: n[chosen] for name, n in self.numbers.items()})

    @classmethod
    def none_of(cls, arity: int, *names: str) -> "Interactions":
        """No tuples of so many atoms, with these numbers."""
        return cls(np.zeros((0, arity), np.int32), {name: np.zeros(0) for name in names})


@dataclass(frozen=True)
class Numbers:
    """Numbers of a file, (K, ...), in OpenMM's unit `given`; of an argument in the SI unit `unit`.

    whole: they are integers.
    """

    values: np.ndarray
    given: str = "1"
    unit: str = "1"
    whole: bool = False

    def in_units(self, units: UnitSystem) -> np.ndarray:
        """The numbers in the run's units."""
        if self.whole:
            return np.rint(self.values).astype(np.int32)
        return np.asarray(self.values, float) * units.convert(f"1 {self.given}", self.unit)


@dataclass(frozen=True)
class ForceList:
    """A list of the state: atoms (K, k), and the data of each tuple by the argument of an energy."""

    atoms: np.ndarray
    data: Mapping[str, Numbers] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ForcePart:
    """What was read of all forces of one class.

    listed: the tuples of classes that `topology` sorts. lists, fields, tables: those that the state has of
    the force, by name; fields (n, ...) are of all particles. periodic: whether it uses the periodic box. own:
    anything that the terms of the force need beside. remarks: for the user.
    """

    listed: Interactions | None = None
    lists: Mapping[str, ForceList] = field(default_factory=dict)
    fields: Mapping[str, Numbers] = field(default_factory=dict)
    tables: Mapping[str, Numbers] = field(default_factory=dict)
    periodic: bool = False
    own: Any = None
    remarks: tuple[str, ...] = ()
