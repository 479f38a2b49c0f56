"""The scene against the report of 1955 and its history.

After about 157 periods of the first mode (N = 32, alpha = 1/4, dt^2 = 1/8) it has 97 % of the energy again:
Fermi, Pasta, Ulam and Tsingou 1955, LA-1940, figure 1; Ford 1992, Phys. Rep. 213, 271. (Their step is large:
with steps of 0.05 the same happens after 147 periods.)
"""

from pathlib import Path

import numpy as np

import minusgrad

SCENE = Path(__file__).parents[1] / "scenes" / "fput_chain.toml"


def test_the_energy_of_the_first_mode_returns(tmp_path: Path) -> None:
    run = minusgrad.run(SCENE, out=tmp_path / "run")
    first = run.series("observables/mode/1")
    total = run.series("observables/total").value[0]
    period = np.pi / np.sin(0.5 * np.pi / 32)
    t, part = first.time / period, first.value / total
    assert part[0] > 0.99
    assert part[(t > 20) & (t < 140)].min() < 0.1
    late = (t > 140) & (t < 170)
    assert part[late].max() > 0.97
    assert abs(t[late][part[late].argmax()] - 157.0) < 1.0
    assert np.ptp(run.series("observables/total").value) < 0.02 * total
    modes = sum(run.series(f"observables/mode/{q}").value for q in range(1, 6))
    assert modes.min() > 0.9 * total  # a few modes share it: there is no equipartition
