"""Values of a parameter for each element, equal or drawn at random: the weights of a network at the start.

value = each + deviation n,  n normal;      value = each + within u,  u uniform in [-1, 1)

Decisions 0297.
"""

from dataclasses import dataclass

import numpy as np

from ...errors import EnergyError


@dataclass(frozen=True)
class DrawnValues:
    """Independent values about `each`, normal with this `deviation`, or uniform `within` a distance.

    Equal values without a deviation and a distance. Raises `EnergyError`, with their `name`, for both.
    """

    name: str
    random: np.random.Generator
    each: float
    deviation: float | None = None
    within: float | None = None

    def __post_init__(self) -> None:
        if self.deviation is not None and self.within is not None:
            raise EnergyError(
                f"{self.name}: values are normal or uniform, got deviation {self.deviation:g} and within"
                f" {self.within:g}; give one of them"
            )

    def of_shape(self, shape: tuple[int, ...]) -> np.ndarray:
        """As many values as the shape has."""
        if self.deviation is not None:
            return self.each + self.deviation * self.random.normal(size=shape)
        return self.each + (self.within or 0.0) * self.random.uniform(-1.0, 1.0, size=shape)
