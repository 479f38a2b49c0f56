"""Kerfs of lines against quadrature of the spot, the dose at points, and samples of outlines."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from minusgrad import Fields, Potential, bind
from minusgrad_laser.cutting.edge_dose import edge_displacement, edge_dose
from minusgrad_laser.cutting.kerf import density_for, half_kerfs, reach_beyond
from minusgrad_laser.cutting.rings import rings_of
from minusgrad_laser.cutting.samples import sample_rings
from minusgrad_laser.cutting.solve import near_moves
from minusgrad_laser.drawings.drawing import Outline
from minusgrad_laser.drawings.polygons import holds_point

WAISTS, FLUENCE, DENSITY = (3e-5, 7.5e-5), 1e6, 376.0


def line_fluence(place: np.ndarray, begin: np.ndarray, end: np.ndarray) -> float:
    """Of a move of 1 J/m at a place (2,), by SciPy."""
    way = end - begin
    size = float(np.hypot(*way))

    def spot(s: float) -> float:
        u = (place - begin - s * way) / WAISTS
        return 2.0 / (np.pi * WAISTS[0] * WAISTS[1]) * np.exp(-2.0 * float(u @ u))

    nearest = float(np.clip((place - begin) @ way / size**2, 0.0, 1.0))
    return size * quad(spot, 0.0, 1.0, points=[nearest], epsabs=1e-9, epsrel=1e-11, limit=400)[0]


@pytest.mark.parametrize("angle", [0.0, 0.5, 1.2, np.pi / 2.0])
def test_half_a_kerf_is_where_a_line_leaves_the_fluence_that_cuts(angle: float) -> None:
    way, normal = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    half = float(half_kerfs(DENSITY, WAISTS, normal, FLUENCE))
    there = DENSITY * line_fluence(half * normal, -1e-3 * way, 1e-3 * way)
    assert there == pytest.approx(FLUENCE, rel=1e-8)
    assert float(density_for(np.array(half), WAISTS, normal, FLUENCE)) == pytest.approx(DENSITY, rel=1e-12)
    beyond = brentq(lambda s: DENSITY * line_fluence(s * way, -1e-3 * way, 0.0 * way) - FLUENCE, -1e-4, 2e-4)
    assert reach_beyond(DENSITY, WAISTS, way, FLUENCE) == pytest.approx(beyond, abs=1e-10)
    assert float(half_kerfs(0.05 * DENSITY, WAISTS, normal, FLUENCE)) == 0.0


def test_the_dose_at_points_is_that_of_all_moves_against_quadrature() -> None:
    """Of a bent path with a move of no length; the pairs within reach leave out less than 1e-7."""
    path = 1e-5 * np.array([[0.0, 0.0], [9.0, 3.0], [9.0, 3.0], [12.0, 14.0], [2.0, 15.0]])
    points = 1e-5 * np.array([[3.0, 2.0], [10.0, 8.0], [-2.0, 4.0], [6.0, 20.0]])
    density = np.array([0.0, 300.0, 200.0, 150.0, 400.0, 0.0, 0.0, 0.0, 0.0])
    places = np.concatenate([path, points])
    moves = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    fields = Fields({"x": places[:, 0], "y": places[:, 1], "density": density})
    spot = {"waist": WAISTS[0], "aspect": WAISTS[1] / WAISTS[0], "fluence": FLUENCE}
    bound = bind(edge_dose, fields, tuples=near_moves(places, moves, WAISTS), parameters=spot)
    Potential(fields, [], [bound]).refresh()
    found = fields["edge_dose"].values[5:]
    for place, dose in zip(points, found, strict=True):
        each = [
            density[b] * line_fluence(place, path[a], path[b]) for a, b in moves if (path[a] != path[b]).any()
        ]
        assert dose == pytest.approx(sum(each) / FLUENCE, abs=1e-6)


def test_the_energy_of_an_edge_is_that_of_its_displacement() -> None:
    """Points 1 and 3 um beyond the edge of a straight line, and 2 um within: to first order."""
    half = float(half_kerfs(DENSITY, WAISTS, np.array([0.0, 1.0]), FLUENCE))
    lever = WAISTS[1] ** 2 / (4.0 * half)
    for away in (1e-6, 3e-6, -2e-6):
        dose = np.exp(-2.0 * ((half - away) ** 2 - half**2) / WAISTS[1] ** 2)
        fields = Fields({"edge_dose": np.array([dose]), "edge_share": np.ones(1), "lever": np.array([lever])})
        energy = Potential(fields, [bind(edge_displacement, fields, parameters={"soft": 1e-5})]).value()
        assert energy == pytest.approx(np.sqrt(1.0 + (away / 1e-5) ** 2) - 1.0, rel=0.06)


def test_samples_stand_for_the_whole_outline_and_are_dense_at_corners() -> None:
    corners = 1e-3 * np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [0.5, 1.0], [0.0, 0.4]])
    rings, _ = rings_of(
        [Outline(corners, True), Outline(1e-4 * corners[::-1] + 1e-3 * np.array([1.0, 0.3]), True)]
    )
    unit = np.array([3.2e-5, 6.2e-5])
    samples = sample_rings(rings, unit)
    for k, ring in enumerate(rings):
        assert samples.pieces[samples.ring == k].sum() == pytest.approx(
            np.hypot(*ring.edges.T).sum(), rel=1e-9
        )
    beside = np.hypot(*(samples.points - corners[1]).T)
    assert np.count_nonzero(beside < 5e-5) >= 6
    assert np.count_nonzero(np.abs(samples.points[:, 0] - 2e-3) < 1e-4) <= 6
    outwards = samples.points[samples.ring == 0] + 1e-6 * samples.normals[samples.ring == 0]
    assert not [place for place in outwards if holds_point(corners, place)]
