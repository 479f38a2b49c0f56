"""`python -m benchmarks.mosaic.gradient_error`: the errors of our gradients in Mosaic's two cases.

Each gradient of the output squared, as in Mosaic's check, is compared along six random directions with
differences: by Mosaic's own (central, the best of its steps), and by Richardson's extrapolation of central
differences, of order 6, whose own error is near 1e-11.
"""

from collections.abc import Callable

import numpy as np

from .cases import cantilever, random_density, slab

DIRECTIONS = 6
STEPS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)


def central(f: Callable[[float], float], h: float) -> float:
    return (f(h) - f(-h)) / (2.0 * h)


def sixth_order(f: Callable[[float], float], h: float) -> float:
    """Central differences at h, h / 2, h / 4, extrapolated."""
    one, two, four = (central(f, h / k) for k in (1.0, 2.0, 4.0))
    fourth, finer = (4.0 * two - one) / 3.0, (4.0 * four - two) / 3.0
    return (16.0 * finer - fourth) / 15.0


def errors(value: Callable[[np.ndarray], float], gradient: np.ndarray, at: np.ndarray) -> tuple[float, float]:
    """The largest relative error along the directions: by Mosaic's differences, and of order 6."""
    scale, rng = float(np.sqrt(np.mean(at**2))) or 1.0, np.random.default_rng(7)
    plain, precise = [], []
    for _ in range(DIRECTIONS):
        v = rng.normal(size=at.shape)
        v /= np.linalg.norm(v)
        ours = 2.0 * value(at) * float(gradient @ v)

        def along(s: float, v: np.ndarray = v) -> float:
            return value(at + s * v) ** 2

        best = min(abs(central(along, e * scale) / ours - 1.0) for e in STEPS)
        plain.append(best)
        precise.append(abs(sixth_order(along, 0.02 * scale) / ours - 1.0))
    return max(plain), max(precise)


def table() -> dict[str, tuple[float, float]]:
    """By output and input: the two errors."""
    found = {}
    beam = cantilever(corner=True)
    rho = random_density(beam.body.mesh.count)
    found["compliance by rho"] = errors(beam.compliance, beam.gradient(rho), rho)
    heated = slab()
    rho = random_density(heated.body.mesh.count)
    source = np.random.default_rng(3).normal(size=len(rho))
    for name in ("thermal_compliance", "identification_error"):
        slopes = heated.gradient(name, rho, source)
        by_rho = errors(lambda r, n=name: heated.value(n, r, source), slopes["rho"], rho)
        by_source = errors(lambda s, n=name: heated.value(n, rho, s), slopes["source"], source)
        found |= {f"{name} by rho": by_rho, f"{name} by source": by_source}
    return found


def main() -> None:
    """Print the table."""
    print("output by input                  central differences   of order 6")
    for name, (plain, precise) in table().items():
        print(f"{name:32} {plain:19.1e} {precise:12.1e}")


if __name__ == "__main__":
    main()
