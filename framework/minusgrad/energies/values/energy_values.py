"""An energy with the values of its block, for scenes that are made in Python.

gravity(G=1.0, softening=0.1)      [[energy]] kind = "gravity", G = 1.0, softening = 0.1
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import EnergyError


@dataclass(frozen=True, eq=False)
class EnergyValues:
    """An energy, a map or another declaration, and what a scene says of it: `values` by key.

    energy: the declaration, or the kind of an installed one.
    """

    energy: Any
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of the block."""
        return self.energy if isinstance(self.energy, str) else self.energy.name

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={_value_text(value)}" for name, value in self.values.items())
        return f"{self.kind}({given})"


class Declaration:
    """What can be given values: calling it with keywords gives the block of a scene in Python."""

    name: str

    def __call__(self, *places: Any, **values: Any) -> EnergyValues:
        """The energy with the keys of its block: parameters, data, `tuples`, `body`, `name`, ...

        Raises `EnergyError` for values without a keyword: inside a kernel call its `function`.
        """
        if places:
            raise EnergyError(
                f"energy '{self.name}': takes values by keyword, got {len(places)} without one; write"
                f" {self.name}(parameter=value), or inside an energy {self.name}.function(...)"
            )
        return EnergyValues(self, values)


def _value_text(value: Any) -> str:
    shape = getattr(value, "shape", ())
    return f"array{shape}" if shape else repr(value)
