"""Values that a precision cannot hold: f32 has numbers from 1.2e-38 to 3.4e+38, and zero."""

import numpy as np

from ..errors import RangeError


def require_range(what: str, values: np.ndarray, dtype: np.dtype) -> None:
    """Raise `RangeError` for values that become infinite in this precision, or all zero or subnormal.

    Small values beside larger ones are harmless.
    """
    limits, sizes = np.finfo(dtype), np.abs(np.asarray(values, np.float64))
    finite = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    if not finite.size or (float(limits.tiny) <= finite.max() <= float(limits.max)):
        return
    least, most = f"{float(limits.tiny):.1e}", f"{float(limits.max):.1e}"
    raise RangeError(
        f"{what}: must lie in the range of f{8 * dtype.itemsize}, {least} to {most}, got {finite.max():g};"
        ' use units in which it is nearer to 1, or precision = "f64"'
    )
