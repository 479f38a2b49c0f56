"""Which members have finite numbers only; on a device by a kernel, and a copy of a number for each member."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import runtime, storage
from ..finite_numbers import EXPONENT
from ..kernels import BoundKernel, Code, real
from .member_kernels import MemberArrays


class FiniteMembers:
    """Asked by a call: whether all numbers of some arrays are finite, (count,), by member."""

    def __init__(self, members: MemberArrays, arrays: Sequence[Any]):
        self._members, self._arrays = members, list(arrays)
        self._kernel: BoundKernel | None = None
        if runtime.arch() == "cpu":
            return
        self._flags = storage.allocate(np.zeros(members.count, np.int32))
        text = "for member in range(flags.shape[0]):\n    flags[member] = 0\n"
        for k, array in enumerate(arrays):
            whole, mask = EXPONENT[real(members.of(array).dtype)]
            size = members.of(array).shape[1]
            text += f"    for k in range({size}):\n"
            text += f"        bits = ti.bit_cast(a{k}[member * {size} + k][0], {whole}) & {whole}({mask})\n"
            text += f"        if bits == {whole}({mask}):\n            flags[member] = 1\n"
        named = {f"a{k}": members.for_kernels(array) for k, array in enumerate(arrays)}
        self._kernel = BoundKernel(Code(text, named | {"flags": self._flags}))

    def __call__(self) -> np.ndarray:
        if self._kernel is None:
            whole = np.ones(self._members.count, bool)
            for array in self._arrays:
                whole &= np.isfinite(self._members.rows(array).reshape(len(whole), -1)).all(axis=1)
            return whole
        for array in self._arrays:
            self._members.load(array)
        self._kernel()
        return storage.host(self._flags) == 0
