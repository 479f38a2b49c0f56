"""What a run is judged by: an energy over its states at some steps.

L = sum over observed steps k of  l(fields at step k, data at step k)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from . import runtime
from .errors import EnergyError
from .potential import Potential


@dataclass
class Loss:
    """A potential over the fields of a run, looked at after each of `steps`.

    `data`: "term.argument" to the values (steps, elements, ...) that a datum has at those steps; other data
    are constant.
    """

    potential: Potential
    steps: tuple[int, ...]
    data: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, rows in self.data.items():
            if len(rows) != len(self.steps):
                raise EnergyError(f"'{name}' has {len(rows)} rows of data, for {len(self.steps)} steps")

    def look(self, step: int) -> None:
        """Give the data their values at an observed step."""
        row = self.steps.index(step)
        for name, rows in self.data.items():
            term, _, argument = name.partition(".")
            array = self.potential.parts[term].data[argument]
            runtime.store(array, np.asarray(rows[row], runtime.host(array).dtype))
