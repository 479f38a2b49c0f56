"""Variables of a checked function: values, their gradient, and steps of physical size."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Variable:
    """A variable of U: its name, its values, how to set them, its gradient, the size of a step."""

    name: str
    values: np.ndarray
    put: Callable[[np.ndarray], None]
    gradient: Callable[[], np.ndarray]
    size: float
    inward: float = 0.0
    product: Callable[[np.ndarray], np.ndarray] | None = None
    """How the gradient changes along a step: H w; None without second derivatives."""
    admits: Callable[[np.ndarray], bool] | None = None
    """True for values within the bounds of the argument; None without bounds."""
    bounds: tuple[float, float] = (-np.inf, np.inf)
    sides: Callable[[np.ndarray | None], np.ndarray] | None = None
    """The sides of switches that elements (None: all) are on, (switches, elements), if known."""
    rows: np.ndarray | None = None
    """The rows of the values that each element reads, (elements, k), if these have rows."""
    free_part: Callable[[np.ndarray], float] | None = None
    """The part of a step on which U is finite, where that is not seen at its ends; None: all of it."""
    free: np.ndarray | None = None
    """The numbers that may be moved; None for all."""

    def direction(self, rng: np.random.Generator) -> np.ndarray:
        """A random step of physical size, (shape of the values); inward for a parameter at its bound."""
        step = rng.normal(size=self.values.shape) * self.size
        step = step if self.free is None else step * self.free
        return np.abs(step) * self.inward if self.inward else mirror_at_bounds(self.values, step, self.bounds)


def mirror_at_bounds(values: np.ndarray, step: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    """The step, with the sign reversed where it would leave the bounds."""
    low, high = bounds
    return np.where((values + step < low) | (values + step > high), -step, step)
