"""Transfer between particles and a grid: what it conserves, and the gather by two ways."""

import numpy as np
import pytest

from minusgrad import Fields, Potential, bind
from minusgrad.codegen.derivative_request import DerivativeRequest
from minusgrad.engine import runtime, storage
from minusgrad.plugin import Grid, Slope
from minusgrad_mpm.transfer import to_grid, to_particles

H = 0.125


def particles(d: int) -> Fields:
    runtime.start()
    rng = np.random.default_rng(0)
    shape = {"x": (d,), "q": (d,), "A": (d, d), "m": ()}
    values = {name: rng.normal(size=(9, *one)) for name, one in shape.items()}
    values |= {"x": H * rng.uniform(1.5, 5.5, (9, d)), "m": rng.uniform(1.0, 2.0, 9)}
    units = {"x": "m", "q": "kg m s^-1", "A": "kg s^-1", "m": "kg", "V": "m s^-1"}
    return Fields(values | {"V": rng.normal(size=(8**d, d))}, units)


@pytest.mark.parametrize("d", [2, 3])
def test_mass_momentum_and_angular_momentum_are_conserved(d: int) -> None:
    fields = particles(d)
    Potential(fields, [], [bind(to_grid, fields, grid=Grid((8,) * d, H))]).refresh()
    x, q, A, m, p, mass = (fields[n].values for n in ("x", "q", "A", "m", "p", "mass"))
    places = H * np.indices((8,) * d).reshape(d, -1)[::-1].T
    assert mass.sum() == pytest.approx(m.sum(), rel=1e-14)
    np.testing.assert_allclose(p.sum(axis=0), q.sum(axis=0), atol=1e-13)
    np.testing.assert_allclose(mass @ places, m @ x, atol=1e-13)
    around = (places[:, :, None] * p[:, None, :]).sum(axis=0)
    moment = H * H / 4.0
    expected = (x[:, :, None] * q[:, None, :]).sum(axis=0) + moment * A.sum(axis=0).T
    np.testing.assert_allclose(around, expected, atol=1e-13)


@pytest.mark.parametrize("d", [2, 3])
def test_the_gather_is_the_transpose_of_the_scatter(d: int) -> None:
    """Written as a map, and derived: the same numbers, and the same derivative by places and velocities."""
    found, scale = [], {"q": "v_next", "A": "C_next"}
    for derived in (True, False):
        fields, grid = particles(d), Grid((8,) * d, H)
        scatter = bind(to_grid, fields, grid=grid)
        paired = Potential(fields, [], [scatter], frozen=True)
        slope = Slope("gather", paired, scale, {"q": 1.0, "A": 4.0 / H**2}, {"p": "V"}) if derived else None
        parts = [scatter, slope] if slope else [bind(to_particles, fields, grid=grid)]
        potential = Potential(fields, [], parts, frozen=True)
        potential.refresh()
        rng = np.random.default_rng(1)
        seeds = {"v_next": rng.normal(size=(9, d)), "C_next": rng.normal(size=(9, d, d))}
        stored = {n: storage.allocate(s) for n, s in seeds.items()}
        into = {n: storage.allocate(np.zeros(fields[n].shape)) for n in ("x", "V")}
        potential.sweep(DerivativeRequest(gradient=into, seeds=stored))
        arrays = {n: storage.host(a).copy() for n, a in into.items()}
        found.append(arrays | {n: fields[n].values.copy() for n in seeds})
    for name, expected in found[0].items():
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(found[1][name], expected, atol=1e-12 * np.abs(expected).max())


def test_the_first_sweep_is_the_second() -> None:
    """The kernel is verified after its first launch, on other arrays: what it adds to keeps its values."""
    rng = np.random.default_rng(0)
    fields = Fields(
        {"x": rng.uniform(2.5, 5.5, (6, 2)) / 8, "V": rng.normal(size=(64, 2))}, {"x": "m", "V": "m s^-1"}
    )
    potential = Potential(fields, [], [bind(to_particles, fields, grid=Grid((8, 8), 0.125))], frozen=True)
    seeds = {n: storage.allocate(rng.normal(size=fields[n].shape)) for n in ("v_next", "C_next")}
    found = []
    for _ in range(2):
        into = {n: storage.allocate(np.ones(fields[n].shape)) for n in ("x", "V")}
        potential.sweep(DerivativeRequest(gradient=into, seeds=seeds, adds=True))
        found.append({n: storage.host(a).copy() for n, a in into.items()})
    for n in ("x", "V"):
        assert np.abs(found[0][n] - 1.0).max() > 0.1
        assert found[0][n].tobytes() == found[1][n].tobytes(), n
