"""Random numbers of the bodies of a state: those of body k do not depend on how many bodies there are."""

import numpy as np

from minusgrad.plugin import random


class Draws:
    """Numbered random numbers for n bodies, by the scene's seed and a named stream (Philox).

    A number that is drawn twice is the same number.
    """

    def __init__(self, seed: int, stream: str, n: int):
        self.seed, self.stream, self.bodies = seed, random.stream(stream), np.arange(n)

    def uniform(self, number: int, bodies: np.ndarray | None = None) -> np.ndarray:
        """Uniform in (0, 1), of all bodies or of those listed."""
        return random.uniforms(self.seed, self.stream, number, self.bodies if bodies is None else bodies)

    def normal(self, number: int) -> np.ndarray:
        """Of mean 0 and variance 1, (n,)."""
        return random.normals(self.seed, self.stream, number, self.bodies)

    def direction(self, number: int) -> np.ndarray:
        """Isotropic unit vectors (n, 3), by `number` and the next one."""
        return directions(self.uniform(number), self.uniform(number + 1))


def directions(u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Isotropic unit vectors (n, 3) by two numbers each, uniform in (0, 1)."""
    z, phi = 2.0 * u - 1.0, 2.0 * np.pi * w
    s = np.sqrt(1.0 - z * z)
    return np.stack([s * np.cos(phi), s * np.sin(phi), z], axis=1)
