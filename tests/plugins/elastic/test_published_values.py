"""Rows of `minusgrad validate` for solids: meshes of the benchmarks, stresses at nodes; damaged rows miss."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.verbs.shipped import places
from minusgrad.plugin import PublishedValue, Workplace
from minusgrad_elastic import generators
from minusgrad_elastic.materials.linear import linear, linear_plane_stress
from minusgrad_elastic.published import macneal_harder, nafems, solids
from minusgrad_elastic.published.linear_statics import LinearBody, holding, mapped, node_at

STEEL = nafems.STEEL


def misses(row: PublishedValue, folder: Path) -> float:
    """By how much the row misses what is published: at most 1 where it passes."""
    found = np.ravel(row.compute(Workplace(folder, None, places.scenes())))
    return max(row.misses([float(one) for one in found]))


@pytest.mark.unit
def test_the_wall_of_le11_goes_through_the_points_of_its_drawing() -> None:
    """Radius and height of the corners of the section, by the place along the wall."""
    inner = {0.0: (1.0, 0.0), 4.0: (0.92388, 0.38268), 5.0: (0.70711, 0.70711), 7.0: (0.70711, 1.79)}
    outer = {0.0: (1.4, 0.0), 4.0: (1.2124, 0.7), 5.0: (1.1062, 1.045), 6.0: (1.0, 1.39), 7.0: (1.0, 1.79)}
    for s, wall in ((0.0, inner), (1.0, outer)):
        for h, section in wall.items():
            x, y, z = nafems.revolved(np.array([s]), np.array([0.7]), np.array([h]))
            np.testing.assert_allclose([np.hypot(x, y)[0], z[0]], section, atol=5e-5)


@pytest.mark.parametrize(
    ("d", "cell"), [(2, "quadrilaterals"), (3, "hexahedra"), (2, "triangles"), (3, "tetrahedra")]
)
def test_stress_at_a_node_is_that_of_a_homogeneous_strain(d: int, cell: str) -> None:
    """Also where cells are curved: u = A X, P by Hooke's law."""
    make = {2: generators.rectangle, 3: generators.box}[d]
    mesh = mapped(
        make((1.0,) * d, (3,) * d, cell, 2),
        lambda *X: (X[0] + 0.1 * X[0] * X[1], X[1] + 0.05 * X[0] ** 2, *X[2:]),
    )
    body = LinearBody(mesh, linear, STEEL)
    A = np.array([[1e-3, 2e-4, 0.0], [-3e-4, 5e-4, 1e-4], [0.0, 2e-4, -4e-4]])[:d, :d]
    body.fields["x"].set(mesh.points @ (np.eye(d) + A).T)
    e, mu = 0.5 * (A + A.T), 210e9 / 2.6
    expected = 2.0 * mu * (e + 0.3 / 0.4 * np.trace(e) * np.eye(d))
    for node in (0, len(mesh.points) // 2):
        np.testing.assert_allclose(body.stress_at(node), expected, rtol=1e-9, atol=1.0)


def test_loads_of_a_curved_edge_are_its_normal_times_its_length() -> None:
    """A quarter of a circle: the pull has the resultant of its chords, 1 along each axis."""
    mesh = mapped(
        generators.rectangle((1.0, np.pi / 2), (2, 12), "quadrilaterals", 2),
        lambda s, t: (0.5 * (1.0 + s) * np.cos(t), 0.5 * (1.0 + s) * np.sin(t)),
    )
    load = LinearBody(mesh, linear, STEEL).facet_load("right")
    np.testing.assert_allclose(load.sum(axis=0), [1.0, 1.0], rtol=1e-12)


@pytest.mark.unit
def test_places_without_a_node_are_refused() -> None:
    mesh = generators.rectangle((1.0, 1.0), (2, 2))
    assert holding(mesh, left="x").sum() == 3
    with pytest.raises(ValueError, match=r"no node lies at \(0.3, 0.0\), got one at a distance of 0.2"):
        node_at(mesh, 0.3, 0.0)


LOADED = [nafems.stress_of_an_elliptic_membrane, solids.rise_of_cooks_membrane, solids.stress_of_a_tube]


@pytest.mark.parametrize("row", LOADED, ids=lambda row: row.name)
def test_loads_that_are_one_percent_too_large_are_seen(
    row: PublishedValue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = LinearBody.facet_load
    monkeypatch.setattr(LinearBody, "facet_load", lambda *given: 1.01 * true(*given))
    assert misses(row, tmp_path) > 1.0


def test_another_material_of_a_tube_or_a_beam_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Poisson's ratio 0.31 in place of 0.3, and 0.1 in place of 0."""
    true = LinearBody.__init__

    def other(self, mesh, energy, moduli, **more) -> None:
        nu = moduli["poissons_ratio"]
        true(self, mesh, energy, {**moduli, "poissons_ratio": nu + (0.01 if nu else 0.1)}, **more)

    monkeypatch.setattr(LinearBody, "__init__", other)
    for row in (solids.stress_of_a_tube, solids.deflection_of_a_beam):
        assert misses(row, tmp_path) > 1.0, row.name


@pytest.mark.parametrize("row", macneal_harder.ROWS, ids=lambda row: row.name)
def test_a_stiffness_that_is_one_percent_too_small_is_seen(
    row: PublishedValue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = LinearBody.__init__

    def other(self, mesh, energy, moduli, **more) -> None:
        true(self, mesh, energy, {**moduli, "youngs_modulus": 0.99 * moduli["youngs_modulus"]}, **more)

    monkeypatch.setattr(LinearBody, "__init__", other)
    assert misses(row, tmp_path) > 1.0


@pytest.mark.unit
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("d", "volume"), [(2, 0.24 * 0.12), (3, 1.0)])
def test_patches_are_distorted_and_fill_their_boxes(d: int, volume: float, order: int) -> None:
    volumes = macneal_harder.patch(d, order).volumes()
    assert volumes.sum() == pytest.approx(volume, rel=1e-12)
    assert volumes.max() > 1.3 * volumes.min() > 0.0


def test_recovered_stress_and_its_estimate_are_those_of_the_observer(tmp_path: Path) -> None:
    run = minusgrad.run(places.scenes()["nafems_le1"], out=tmp_path / "run")
    mesh = mapped(generators.rectangle((1.0, np.pi / 2), (16, 16), "quadrilaterals", 2), nafems.elliptic)
    body = LinearBody(mesh, linear_plane_stress, STEEL)
    body.displaced(holding(mesh, bottom="y", top="x"), 10e6 * body.facet_load("right"))
    node = node_at(mesh, 2.0, 0.0)
    stress, error = body.recovered_at(node)
    recorded = run.series("particles/all/cauchy_stress_at_nodes").value[-1][node]
    np.testing.assert_allclose(stress, recorded[:2, :2], rtol=0.0, atol=2e-4 * np.abs(stress).max())
    assert error == pytest.approx(float(run.series("observables/stress_error").value[-1]), rel=1e-2)
