"""The scene against the known minima of Thomson's problem (Wales and Ulker 2006, Phys. Rev. B 74, 212101)."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad

SCENE = Path(__file__).parents[1] / "scenes" / "thomson_problem.toml"
KNOWN = {4: 3.674234614, 6: 9.985281374, 12: 49.165253058}
"""The least energy by the number of charges: a tetrahedron, an octahedron, an icosahedron."""


@pytest.mark.parametrize("n", KNOWN)
def test_charges_come_to_rest_where_their_energy_is_least(n: int, tmp_path: Path) -> None:
    run = minusgrad.run(SCENE, {"state.n": n}, out=tmp_path / "run")
    assert run.simulation.potential.value() == pytest.approx(KNOWN[n], abs=2e-9)
    x = run.simulation.fields["x"].values
    assert np.abs(np.linalg.norm(x, axis=1) - 1.0).max() < 1e-12
    assert np.linalg.norm(x.sum(axis=0)) < 1e-6
