"""The scene against the exact order parameter of infinitely many oscillators.

r = sqrt(1 - 2 gamma / K) above the critical coupling 2 gamma, else 0: Kuramoto 1975; Strogatz 2000, Physica D
143, 1, equation 4.7.
"""

from pathlib import Path

import numpy as np
import pytest

import minusgrad

SCENE = Path(__file__).parents[1] / "scenes" / "kuramoto_rotors.toml"


@pytest.mark.parametrize(("coupling", "order"), [(2.0, np.sqrt(0.5)), (0.5, 0.0)])
def test_oscillators_synchronise_above_the_critical_coupling(
    coupling: float, order: float, tmp_path: Path
) -> None:
    run = minusgrad.run(SCENE, {"map.1.K": coupling}, out=tmp_path / "run")
    r = run.series("observables/order").value
    assert r[len(r) // 2 :].mean() == pytest.approx(order, abs=0.02 if order else 0.1)
