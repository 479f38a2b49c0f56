"""A number of a hold as an input of functions of tensors."""

import numpy as np

import torch

from ..errors import TensorError
from ..steppers.supports.hold_numbers import HoldNumbers
from . import tensors as guests


class HoldInput:
    """A number of a hold; copied into the hold if it differs. `start`: its value in the scene."""

    def __init__(self, numbers: HoldNumbers, name: str):
        self.numbers, self.name, self.start = numbers, name, numbers.parameter(name)

    def put(self, given: torch.Tensor | None, overwrite: bool = False) -> None:
        """Set the number, or its initial value. Raises `TensorError` for NaN and infinity."""
        values = self.start if given is None else np.asarray(guests.numbers(given), np.float64)
        if not np.isfinite(values).all():
            raise TensorError(f"'{self.name}': needs finite values; check how it was computed")
        if overwrite or not np.array_equal(values, self.numbers.parameter(self.name)):
            self.numbers.set_parameter(self.name, values)
