"""The scene against the exact frequency of a Morse oscillator, omega = a sqrt(2 (D - E) / mu)."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad

SCENE = Path(__file__).parents[1] / "scenes" / "my_plugin.toml"


def test_two_atoms_vibrate_with_the_exact_frequency(tmp_path: Path) -> None:
    a, depth, stretched, mu = 2.0, 1.0, 0.2, 0.5
    energy = depth * (1.0 - np.exp(-a * stretched)) ** 2
    omega = a * np.sqrt(2.0 * (depth - energy) / mu)

    run = minusgrad.run(SCENE, out=tmp_path / "run")
    length = run.series("observables/length")
    t, r = length.time, length.value
    peaks = [k for k in range(1, len(r) - 1) if r[k - 1] < r[k] >= r[k + 1]]
    bend = [0.5 * (r[k - 1] - r[k + 1]) / (r[k - 1] - 2.0 * r[k] + r[k + 1]) for k in peaks]
    tops = t[peaks] + (t[1] - t[0]) * np.array(bend)
    assert len(tops) > 5
    period = (tops[-1] - tops[0]) / (len(tops) - 1)
    assert 2.0 * np.pi / period == pytest.approx(omega, rel=1e-4)
