"""The claims of the scenes of finite elements: Cook's membrane, the elastica, an inflated tube."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.results.run import Run
from minusgrad_elastic.published.solids import MATTIASSON, elastica

SCENES = Path(__file__).parents[2] / "scenes"
COOK = 23.96
"""Vertical displacement of the middle of the loaded edge in the limit of fine meshes."""


def moved(run: Run, body: str) -> np.ndarray:
    """The mean displacement (T, d) of a body's nodes in the recorded frames."""
    x = run.series("particles/all/position").value
    nodes = next(b.nodes for b in run.simulation.state.bodies if b.name == body)
    return (x[:, nodes] - x[0, nodes]).mean(axis=1)


def test_cooks_membrane(tmp_path: Path) -> None:
    run = minusgrad.run(SCENES / "cooks_membrane.toml", out=tmp_path / "run")
    assert run.outcome == "converged"
    rise = moved(run, "middle")[-1, 1]
    assert rise == pytest.approx(COOK, rel=0.01)
    assert f"{rise:.2f}" == "23.88", "as the scene says"
    energy = run.series("observables/potential/linear").value[-1]
    load = run.series("observables/potential/traction").value
    assert energy == pytest.approx(-0.5 * (load[-1] - load[0]), rel=1e-8), "Clapeyron's theorem"


def test_the_table_of_mattiasson_is_that_of_elliptic_integrals() -> None:
    for load, values in MATTIASSON.items():
        np.testing.assert_allclose(elastica(load), values, rtol=0.0, atol=6e-6)


def test_elastica(tmp_path: Path) -> None:
    """Ten equilibria within 0.5 % (0.1 % is seen), those of the published table among them."""
    run = minusgrad.run(SCENES / "elastica.toml", out=tmp_path / "run")
    found = -moved(run, "right")[:, ::-1]
    assert len(found) == 11
    for load in range(1, 11):
        np.testing.assert_allclose(found[load], elastica(load), rtol=1e-3)
    for load, values in MATTIASSON.items():
        np.testing.assert_allclose(found[load], values, rtol=5e-3)


# A tube under pressure in its bore -------------------------------------------------------------------------


INNER, OUTER = 0.01, 0.02


def tube(tmp_path: Path, overrides: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frames of nodes (T, n, 2); of each cell (E, 3) the inner, middle and outer radius at rest; the
    stress along r, theta, z at the end."""
    run = minusgrad.run(SCENES / "inflated_tube.toml", out=tmp_path / "run", overrides=overrides)
    assert run.outcome == "converged"
    x = run.series("particles/all/position").value
    rows = run.simulation.state.tuples["cells"]
    radii = np.linalg.norm(x[0][rows], axis=2)
    of_cell = np.stack(
        [radii.min(axis=1), 0.5 * (radii.min(axis=1) + radii.max(axis=1)), radii.max(axis=1)], 1
    )
    centre = x[-1][rows].mean(axis=1)
    c, s = (centre / np.linalg.norm(centre, axis=1)[:, None]).T
    turn = np.zeros((len(rows), 3, 3))
    turn[:, 0, 0], turn[:, 0, 1], turn[:, 1, 0], turn[:, 1, 1], turn[:, 2, 2] = c, s, -s, c, 1.0
    stress = run.series("cells/cells/cauchy_stress").value[-1]
    return x, of_cell, np.diagonal(turn @ stress @ turn.transpose(0, 2, 1), axis1=1, axis2=2)


def on_wall(x: np.ndarray, radius: float) -> np.ndarray:
    """The radii at the end of the nodes that begin at a radius."""
    return np.linalg.norm(x[-1][np.abs(np.linalg.norm(x[0], axis=1) - radius) < 1e-9], axis=1)


def test_a_tube_of_rubber_is_as_wide_as_on_paper(tmp_path: Path) -> None:
    """Rivlin 1949: sigma_rr(l) = -p + mu [ln(l_a / l) + (l^-2 - l_a^-2) / 2], l the stretch around."""
    pressure, mu = 428.26e3, 1e6
    x, radii, stress = tube(tmp_path, {})
    a, b = on_wall(x, INNER), on_wall(x, OUTER)
    assert np.abs(a / (1.5 * INNER) - 1.0).max() < 2e-3  # 1.0e-3 is seen
    outer = np.sqrt(OUTER**2 - INNER**2 + (1.5 * INNER) ** 2)
    assert np.abs(b / outer - 1.0).max() < 1e-3
    la, lb = 1.5, outer / OUTER
    assert mu * (np.log(la / lb) + 0.5 * (lb**-2 - la**-2)) == pytest.approx(pressure, rel=1e-4)
    middle = np.sqrt(radii[:, 1] ** 2 - INNER**2 + (1.5 * INNER) ** 2) / radii[:, 1]
    radial = -pressure + mu * (np.log(la / middle) + 0.5 * (middle**-2 - la**-2))
    around = radial + mu * (middle**2 - middle**-2)
    across = radial + mu * (1.0 - middle**-2)
    for found, expected in zip(stress.T, (radial, around, across), strict=True):
        assert np.abs(found - expected).max() < 0.04 * pressure  # means over cells, at their middle


def test_a_stiff_tube_has_the_stress_of_lame(tmp_path: Path) -> None:
    """sigma_rr, theta = A (1 -+ b^2 / r^2), A = p a^2 / (b^2 - a^2), sigma_z = 2 nu A; u(a)."""
    E, nu, p = 200e9, 0.3, 10e6
    material = {"kind": "linear", "youngs_modulus": E, "poissons_ratio": nu}
    x, radii, stress = tube(tmp_path, {"energy.0": material, "energy.1.pressure": p, "stepper.load_steps": 1})
    A = p * INNER**2 / (OUTER**2 - INNER**2)
    moved = (1.0 + nu) / E * A * ((1.0 - 2.0 * nu) * INNER + OUTER**2 / INNER)
    assert np.abs((on_wall(x, INNER) - INNER) / moved - 1.0).max() < 5e-3
    inner, _, outer = radii.T
    means = 2.0 * OUTER**2 * np.log(outer / inner) / (outer**2 - inner**2)  # of b^2 / r^2 over the cell
    for found, expected in zip(
        stress.T, (A * (1.0 - means), A * (1.0 + means), 2.0 * nu * A + 0.0 * means), strict=True
    ):
        assert np.abs(found - expected).max() < 0.02 * p


# A composite ------------------------------------------------------------------------------------------------

PERRINS = 54.38e9
"""Shear modulus [Pa] along fibres in a square array, as of conduction through it (Perrins et al. 1979)."""


def test_a_fibre_composite_shears_as_perrins_says(tmp_path: Path) -> None:
    """By its constants, and by the stress that it bears at a shear of a thousandth."""
    run = minusgrad.run(SCENES / "fibre_composite.toml", out=tmp_path / "run")
    constants = run.series("observables/elastic_constants/relaxed").value[-1]
    assert constants[3, 3] * 1e9 == pytest.approx(PERRINS, rel=5e-4)
    stress = run.series("observables/elastic_constants/stress").value[-1] * 1e9
    assert stress[1, 2] / 2e-3 == pytest.approx(PERRINS, rel=1e-3)
