"""Published values of estimates, which belong to no plugin's physics: sensitivities, coverage of errors."""

from math import erf, pi, sqrt
from pathlib import Path

import numpy as np

from ..scene.ensemble_table import VaryTable
from ..scripting.energies_at_hand import energy
from ..scripting.simulation import Simulation
from ..sweeps import sensitivity
from ..sweeps.scene_keys import SceneKey
from .published_value import PublishedValue, Workplace, published_value

SAMPLES = 2**14
SPRINGS, FITS = 100, 20
MILLIMETRE = 1e-3


@published_value(
    "Ishigami function",
    area="inference",
    value=[0.3139, 0.4424, 0.0, 0.5576, 0.4424, 0.2437],
    tolerance=0.005,
    why="three standard errors of Saltelli's estimates from 16,384 base points",
    source="Ishigami & Homma 1990, for a = 7, b = 0.1: V = a^2 / 8 + b pi^4 / 5 + b^2 pi^8 / 18 + 1/2",
    needs=["SALib"],
    quick=True,
)
def indices_of_ishigami(place: Workplace) -> list[float]:
    """First-order, then total Sobol indices of sin x + 7 sin^2 y + 0.1 z^4 sin x on (-pi, pi)^3."""
    table = VaryTable.model_validate({"uniform": (-pi, pi)})
    keys = {name: SceneKey(table, lambda _: b"") for name in "xyz"}
    x, y, z = sensitivity.points(keys, SAMPLES, None, seed=1).values()
    values = {"f": np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)}
    found = sensitivity.indices([*keys], values, seed=1)["f"]
    return [found[name][kind] for kind in ("S1", "ST") for name in keys]


def _springs(stiffness: np.ndarray) -> Simulation:
    """Masses of 1 kg on springs of their own, extended by 0.2 m; dt is 20 ms."""
    nails = np.stack([np.zeros(SPRINGS), np.arange(SPRINGS) * 1.0], axis=1)
    bobs = nails + np.array([1.2, 0.0])
    rows = np.stack([np.arange(SPRINGS), SPRINGS + np.arange(SPRINGS)], axis=1)
    return Simulation(
        fields={"x": np.concatenate([nails, bobs])},
        bodies={"nails": rows[:, 0], "bobs": rows[:, 1]},
        energies=[energy("spring", stiffness=stiffness, rest=1.0, tuples=rows)],
        holds=[{"body": "nails"}],
        stepper={"kind": "leapfrog", "dt": 0.02},
        fit={"method": "gauss_newton", "iterations": 20},
    )


def _errors_in_standard_errors(folder: Path, truth: np.ndarray, x: tuple, seed: int) -> np.ndarray:
    """Of the stiffnesses that a fit to noisy places finds."""
    times, places = x
    noisy = places + MILLIMETRE * np.random.default_rng(seed).normal(size=places.shape)
    fit = _springs(1.05 * truth).fit(
        data={"x": (times, noisy, "bobs")}, sigma=MILLIMETRE, parameters=["spring.stiffness"], out=folder
    )
    found = fit.estimates.parameters[0]
    return (np.ravel(found.values) - truth) / np.ravel(found.errors)


@published_value(
    "coverage of standard errors",
    area="inference",
    value=[erf(sqrt(0.5)), erf(sqrt(2.0))],
    tolerance=[0.031, 0.014],
    why="three standard errors sqrt(p (1 - p) / n) of 2,000 independent estimates",
    source="normal distribution: 0.6827 within one standard deviation, 0.9545 within two",
)
def coverage_of_standard_errors(place: Workplace) -> list[float]:
    """Parts of the stiffnesses that Gauss-Newton fits find within one and two standard errors."""
    truth = np.random.default_rng(0).uniform(2.0, 4.0, SPRINGS)
    run = _springs(truth).run(steps=200, out=place.folder / "truth", record=20)
    x = run.series("position").time[1:], run["position"][1:, SPRINGS:]
    off = [_errors_in_standard_errors(place.folder / f"fit{k}", truth, x, k) for k in range(FITS)]
    return [float(np.mean(np.abs(off) < width)) for width in (1.0, 2.0)]


ROWS: list[PublishedValue] = [indices_of_ishigami, coverage_of_standard_errors]
