"""Errors of forces by the tree, no race: `python -m benchmarks.far_pairs_errors` prints, for gravity,
Yukawa's energy and a softened logarithm in a Plummer sphere, at errors of 1e-3 and 1e-6, in both precisions,

the rms error and the 99th percentile of errors beside direct sums in NumPy at 1,000 bodies, both over the rms
of the forces; the opening angle that the start has chosen; CPU seconds of a gradient, tree included.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.energies.pairs.far import Far
from minusgrad.engine import runtime
from minusgrad.potential.far_pairs.force_error import narrowed

from .far_pairs import sphere
from .far_pairs_scaling import timed
from .harness import session
from .harness.session import Settings

N, SHOWN, ERRORS = 30_000, 1000, (1e-3, 1e-6)


@dataclass(frozen=True)
class Found:
    """One row: rms and 99th percentile over the rms force, the opening angle, CPU seconds of a gradient."""

    name: str
    error: float
    precision: str
    rms: float
    most: float
    theta: float
    seconds: float

    def __str__(self) -> str:
        return (
            f"| {self.name} | {self.error:.0e} | {self.precision} | {self.rms:.1e} | {self.most:.1e} |"
            f" {self.theta:.2f} | {self.seconds:.2f} |"
        )


def main() -> None:
    """Measure and print a table in Markdown."""
    session.expect(Settings(threads=session.cores(), quick=False))
    runtime.start(runtime.Options(threads=session.threads()))
    print("| energy | error asked for | precision | rms | 99th percentile | angle | CPU s a gradient |")
    print("|---|---|---|---|---|---|---|")
    for found in rows(N):
        print(found, flush=True)


def rows(n: int) -> Iterator[Found]:
    """All functions, errors and precisions."""
    from tests.support.far_energies import CASES

    for name in CASES:
        for error in ERRORS:
            for precision in ("f64", "f32"):
                yield measured(name, n, error, precision)


def measured(name: str, n: int, error: float, precision: str) -> Found:
    """One function at one error."""
    from tests.support.far_energies import CASES, direct, percentiles

    energy, weight, parameters, slope = CASES[name]
    weights = np.random.default_rng(1).uniform(0.2, 1.0, n)
    fields = Fields({"x": sphere(n).x, weight: weights}, precision=precision)
    term = bind(energy, fields, parameters=parameters, far=Far(error=error))
    narrowed(term)
    potential, shown = Potential(fields, [term]), np.linspace(0, n - 1, SHOWN).astype(int)
    exact = direct(slope, *(fields[f].values.astype(np.float64) for f in ("x", weight)), shown)
    rms, most = percentiles(potential.gradient("x")[shown], exact)

    def call() -> np.ndarray:
        fields["x"].set(fields["x"].values * 1.0000001)  # so that the tree is built again
        return potential.gradient("x")

    return Found(name, error, precision, rms, most, term.elements.choice.theta, timed(call)[0])


if __name__ == "__main__":
    main()
