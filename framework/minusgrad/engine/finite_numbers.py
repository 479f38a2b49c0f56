"""Whether arrays hold finite numbers only; on a device by a kernel, and a copy of one number to the host.

Decisions 0210.
"""

from collections.abc import Sequence

import numpy as np

from . import runtime, storage
from .kernels import BoundKernel, Code, at_each, real

EXPONENT = {"ti.f32": ("ti.i32", 0x7F800000), "ti.f64": ("ti.i64", 0x7FF0000000000000)}
"""By precision: whole numbers of its size, and the bits that all stand in infinities and NaN."""


class FiniteNumbers:
    """Asked by a call: True if all numbers of the arrays (slots of fields) are finite.

    It reads the bits, because compilers with fast math take comparisons with NaN for known.
    """

    def __init__(self, arrays: Sequence[storage.ArraySlot]):
        self._arrays = arrays
        if runtime.arch() == "cpu":
            return
        self._flag = storage.allocate(np.zeros(1, np.int32))
        text = "for one in range(1):\n    flag[0] = 0\n"
        for k, array in enumerate(arrays):
            whole, mask = EXPONENT[real(np.dtype(storage.NUMPY_DTYPES.get(str(array.dtype), array.dtype)))]
            bits = f"ti.bit_cast(a{k}[{{at}}], {whole}) & {whole}({mask})"
            text += at_each(f"a{k}", array, f"if ({bits}) == {whole}({mask}):", "    flag[0] = 1")
        named = {f"a{k}": array for k, array in enumerate(arrays)}
        self._kernel = BoundKernel(Code(text, named | {"flag": self._flag}))

    def __call__(self) -> bool:
        if runtime.arch() == "cpu":
            return all(np.isfinite(storage.host(array)).all() for array in self._arrays)
        self._kernel()
        return not storage.host(self._flag)[0]
