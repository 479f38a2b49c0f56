"""The arc tangent of whole vectors: accurate in all octants and sizes, with signs of zeros and NaN kept."""

import numpy as np
import pytest

from minusgrad.engine import lane_blocks, storage
from minusgrad.engine.kernels import BoundKernel, Code


def arc_tangents(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """atan2 of vectors, in as many lanes as kernels have."""
    wide, real = lane_blocks.lanes(x.dtype), {"float32": "f32", "float64": "f64"}[x.dtype.name]
    arrays = {"y": y, "x": x, "out": np.zeros_like(x)}
    loaded = {n: f"ti.Vector([{', '.join(f'{n}[b * {wide} + {k}]' for k in range(wide))}])" for n in "yx"}
    text = f"for b in range(x.shape[0] // {wide}):\n"
    text += f"    found = atan2_{real}x{wide}({loaded['y']}, {loaded['x']})\n"
    text += "".join(f"    out[b * {wide} + {k}] = found[{k}]\n" for k in range(wide))
    made = {name: storage.allocate(array) for name, array in arrays.items()}
    BoundKernel(Code(text, made))()
    return storage.host(made["out"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arc_tangents_of_vectors(dtype: type) -> None:
    rng = np.random.default_rng(0)
    most = 10.0 if dtype is np.float32 else 100.0
    y, x = rng.normal(size=(2, 4096)) * 10.0 ** rng.uniform(-most, most, (2, 4096))
    y[::2] = x[::2] * rng.normal(size=2048)
    y, x = y.astype(dtype), x.astype(dtype)
    expected = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    off = np.abs(arc_tangents(y, x) - expected) / np.abs(expected)
    assert off.max() < 3.0 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_are_those_of_numpy(dtype: type) -> None:
    """Zeros with their signs beside numbers, infinite numbers, and NaN, which stays one."""
    least = float(np.finfo(dtype).tiny)
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, least]
    y, x = np.array([(a, b) for a in values for b in values if a != 0.0 or b != 0.0], dtype).T
    y, x = np.tile(y, 4)[:224].copy(), np.tile(x, 4)[:224].copy()
    found, expected = arc_tangents(y, x), np.arctan2(y, x)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    assert np.abs(found - expected)[known].max() < 4.0 * np.finfo(dtype).eps
    assert np.array_equal(np.signbit(found[known]), np.signbit(expected[known]))
