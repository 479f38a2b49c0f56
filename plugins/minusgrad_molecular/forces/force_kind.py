"""A class of forces: how the elements of a file are read, and the terms of U that they make.

To support another class of forces, write a `ForceKind` and add it to `kinds`.

Decisions 0150.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad import bind
from minusgrad.plugin import Compound, CompoundContext, Fields, State, Term, UnitSystem

from .force_part import ForcePart
from .system_reader import SystemReader

if TYPE_CHECKING:
    from ..openmm_system import System


@dataclass(frozen=True)
class ForceContext:
    """What the terms of a class of forces are bound to.

    scene: units, fields and state of the run. system: the whole System. part: what was read of the class.
    file: the name of the System's file, for messages.
    """

    scene: CompoundContext
    system: System
    part: ForcePart

    @property
    def units(self) -> UnitSystem:
        """The run's units."""
        return self.scene.units

    @property
    def fields(self) -> Fields:
        """The fields of the state."""
        return self.scene.fields

    @property
    def state(self) -> State:
        """The initial state."""
        return self.scene.state

    @property
    def file(self) -> str:
        """The name of the System's file."""
        return self.system.file

    def listed_terms(self, energy: Any, name: str, listed: str = "", **options: Any) -> list[Term]:
        """The term `name` of an energy over a list of the state, by default of that name; none without it.

        Its data are those of the list. The images of its atoms are OpenMM's (`images_of`).
        """
        listed = listed or name
        if listed not in self.state.tuples:
            return []
        rows, data = self.state.tuples[listed], self.state.data.get(listed, {})
        given = {argument: values for argument, values in data.items() if argument in energy.roles}
        return [
            bind(
                energy, self.fields, name=name, tuples=rows, data=given, units=self.units,
                images=self.images_of(rows), **options,
            )
        ]  # fmt: skip

    def images_of(self, rows: np.ndarray, boxed: bool | None = None) -> Any:
        """The images of tuples (K, k): the nearest along the chain where they are in the box, else none.

        boxed: whether they are; default: as the force says.
        """
        if self.fields.geometry is None:
            return None
        chained = self.part.periodic if boxed is None else boxed
        return "chain" if chained else np.zeros((*rows.shape, len(self.fields.periodic)), np.int32)


@dataclass(frozen=True)
class ForceKind:
    """A row of `kinds`: the class of forces `name`.

    read_part: called once for a file that has the class, with the reader and the elements of its forces;
    raises `UserError`, by name, for what has no counterpart. terms: the energies and maps of what was read;
    None for a class without energy.
    """

    name: str
    read_part: Callable[[SystemReader, Sequence[Element]], ForcePart]
    terms: Callable[[ForceContext], Compound | Sequence[Term]] | None = None
