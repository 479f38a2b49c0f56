"""U and dU/dx of many members of one small system, one member to a vector lane.

The code is that of the potential's terms, with loops for one thread (`FusedCode.energies`), rewritten so
that each lane is a member (`engine.members`). A call computes some of the members, whose numbers are
put into the first lanes; the bits of a member depend neither on its lane nor on the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...engine import storage
from ...engine.kernels import Code, zero_loops
from ...engine.members.member_kernels import MemberArrays, MemberKernel
from ...engine.members.text_survey import NotWideError
from ...errors import EnergyError
from ...potential.fused_code import FusedCode
from ...potential.potential import Potential

ROOM = 512
"""The most members of one call."""
SCALARS = ("steps", "t")
"""The number of blocks of members, and the time."""


class MemberEnergies:
    """U and its derivatives by some fields of a potential, for the members of an ensemble.

    unknowns: the names of the fields. own: the arrays of the template in which members differ, besides those
    fields, each with the numbers of all members, (M, ...). Raises `NotWideError` where there is no such code.
    """

    def __init__(
        self, potential: Potential, unknowns: Sequence[str], own: Iterable[tuple[Any, np.ndarray]], t: float
    ):
        self.potential, self.unknowns, self.t = potential, unknowns, t
        self.arrays = MemberArrays(ROOM, potential.fields.dtype)
        self._fields = [potential.fields[name].array for name in unknowns]
        self._slopes = [storage.allocate(np.zeros_like(potential.fields[name].values)) for name in unknowns]
        self._own = [(array, rows) for array, rows in own if all(array is not one for one in self._fields)]
        code, self._totals = self._coded(lambda fused: fused.energies(self._targets))
        clear = [zero_loops(f"zeros_{k}", array) for k, array in enumerate(self._slopes)]
        self._launch = self._kernel(Code.joined([*clear, code]))
        self._loaded = np.zeros(0, np.int64)

    @property
    def _targets(self) -> Mapping[str, Any]:
        return dict(zip(self.unknowns, self._slopes, strict=True))

    def _coded(self, made: Any) -> tuple[Code, list[Any]]:
        with self.potential.scattering():
            try:
                return made(FusedCode(self.potential))
            except EnergyError as error:
                raise NotWideError(str(error)) from None

    def _kernel(self, code: Code) -> MemberKernel:
        own = [*self._fields, *self._slopes, *(array for array, _ in self._own)]
        return MemberKernel(code, SCALARS, self.arrays, own, blocks="steps")

    def __call__(self, x: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """U (A,) and dU/dx (A, n) of some members (A,), at most `ROOM`.

        x: their whole unknown fields, one after another, (A, n).
        """
        self._put(x, members)
        self._run(self._launch, len(x))
        parts = [self.arrays.first_rows(array, len(x))[:, 0, 0] for array in self._totals]
        energy = parts[0]
        for part in parts[1:]:
            energy = energy + part
        slopes = [self.arrays.first_rows(array, len(x)).reshape(len(x), -1) for array in self._slopes]
        return energy, slopes[0] if len(slopes) == 1 else np.concatenate(slopes, axis=1)

    def magnitude(self, x: np.ndarray, members: np.ndarray) -> np.ndarray:
        """Sum of |u| over the elements, (A,)."""
        launch, buffers = self._of_elements
        self._put(x, members)
        self._run(launch, len(x))
        found = np.zeros(len(x))
        for array in buffers:
            found += np.abs(self.arrays.first_rows(array, len(x)).reshape(len(x), -1)).sum(axis=1)
        return found

    @cached_property
    def _of_elements(self) -> tuple[MemberKernel, list[Any]]:
        code, buffers = self._coded(lambda fused: fused.by_element())
        return self._kernel(code), buffers

    def _run(self, launch: MemberKernel, count: int) -> None:
        launch(-(-count // self.arrays.wide), self.t)

    def _put(self, x: np.ndarray, members: np.ndarray) -> None:
        """Put the numbers of these members into the first lanes."""
        start = 0
        for array in self._fields:
            size = int(np.prod(array.shape, dtype=int))
            self.arrays.put_first(array, x[:, start : start + size])
            start += size
        if self._own and not np.array_equal(members, self._loaded):
            for array, rows in self._own:
                self.arrays.put_first(array, rows[members])
            self._loaded = members.copy()
