"""The shipped observations are what the recipe in `inverse` makes, and tell what is to be found."""

import re

import h5py
import numpy as np
import pytest

from minusgrad.app.runs import build
from minusgrad.files import h5md
from tests.support import inverse_scenes

SEEN = inverse_scenes.JUPITER.read_text()


def net() -> tuple[np.ndarray, np.ndarray]:
    """Steps and positions as shipped."""
    with h5py.File(inverse_scenes.NETWORK) as file:
        position = file[h5md.POSITION]
        return position["step"][()], position["value"][()]


def table() -> np.ndarray:
    """Days and coordinates as shipped."""
    return np.loadtxt(SEEN.splitlines(), delimiter=",", skiprows=4)


# A net --------------------------------------------------------------------------------------------------


def test_the_net_moves_as_its_recipe_says() -> None:
    step, value = inverse_scenes.net_motion()
    shipped_step, shipped = net()
    np.testing.assert_array_equal(shipped_step, step)
    assert shipped.shape == value.shape == (20, 23, 2)
    np.testing.assert_allclose(shipped, value, rtol=0.0, atol=1e-13)


def test_the_nets_file_reads_as_h5md() -> None:
    with h5py.File(inverse_scenes.NETWORK) as file:
        assert h5md.series_in(file) == [h5md.POSITION]
        assert file["h5md"].attrs["version"].tolist() == [1, 1]
        assert file["particles/all/box"].attrs["dimension"] == 2
        position = file[h5md.POSITION]
        assert [h5md.unit_of(position[leaf]) for leaf in ("time", "value")] == [("s", 1.0), ("m", 1.0)]
        np.testing.assert_allclose(position["time"][()], np.arange(1, 21) * 0.02, rtol=1e-15)
        assert position["value"].dtype == np.float64


def test_no_two_springs_are_alike_and_all_lie_within_a_factor_of_two() -> None:
    k = inverse_scenes.stiffnesses()
    assert (
        len(set(k))
        == len(k)
        == len(build(inverse_scenes.SCENES / "spring_stiffness.toml").state.tuples["edges"])
    )
    assert 200.0 <= k.min() < 230.0
    assert 700.0 < k.max() <= 800.0
    assert k[0] == pytest.approx(249.5477325342278, rel=1e-14), "the generator has changed"


def test_the_nets_file_is_another_motion_than_that_of_equal_springs() -> None:
    """Millimetres apart, and not by chance: the truth fits to rounding, any spring 1 % off does not."""
    simulation = build(inverse_scenes.SCENES / "spring_stiffness.toml")
    simulation.stepper.advance(400)
    _, shipped = net()
    assert np.abs(simulation.fields["x"].values - shipped[-1]).max() > 1e-3
    truth = inverse_scenes.stiffnesses()
    for spring in (0, 17, 49):
        off = truth.copy()
        off[spring] *= 1.01
        simulation = build(
            inverse_scenes.SCENES / "spring_stiffness.toml", {"energy.0.stiffness": off.tolist()}
        )
        simulation.stepper.advance(400)
        assert np.abs(simulation.fields["x"].values - shipped[-1]).max() > 1e-6


# Jupiter ------------------------------------------------------------------------------------------------


def test_jupiter_was_seen_where_the_recipe_says(tmp_path) -> None:
    inverse_scenes.write_jupiter(tmp_path / "again.csv")
    again = (tmp_path / "again.csv").read_text()
    assert SEEN.splitlines()[:4] == again.splitlines()[:4]
    rows, made = table(), inverse_scenes.sightings()
    assert rows.shape == (405, 4)
    np.testing.assert_array_equal(rows[:, 0], 90.0 * np.arange(1, 406))
    np.testing.assert_allclose(rows, made, rtol=0.0, atol=1e-9)


def test_the_noise_is_as_large_as_the_file_says() -> None:
    """The residuals' spread, of 1215 numbers, within 3 standard errors; and no mean."""
    sigma = float(re.search(r"sigma = (\S+) AU", SEEN)[1])
    noise = (table() - inverse_scenes.jupiter())[:, 1:].ravel()
    assert sigma == inverse_scenes.SIGMA
    assert noise.std() == pytest.approx(sigma, abs=3.0 * sigma / np.sqrt(2.0 * noise.size))
    assert abs(noise.mean()) < 3.0 * sigma / np.sqrt(noise.size)


def test_what_jupiter_tells_of_saturn() -> None:
    """One standard error of Saturn's mass, were it all that is not known: sigma / |dx/d ln m| = 7e-6."""
    moved = []
    for factor in (1.001, 0.999):
        simulation = build(inverse_scenes.SCENES / "outer_solar_system.toml")
        m = simulation.fields["m"].values.copy()
        m[simulation.state.names.index("saturn")] *= factor
        simulation.fields["m"].set(m)
        simulation.stepper.evaluate()
        places = []
        for _ in range(inverse_scenes.SIGHTINGS):
            simulation.stepper.advance(inverse_scenes.STEPS)
            places.append(simulation.fields["x"].values[simulation.state.names.index("jupiter")].copy())
        moved.append(np.array(places))
    slope = (moved[0] - moved[1]) / 0.002
    bar = inverse_scenes.SIGMA / np.linalg.norm(slope)
    assert 6e-6 < bar < 8e-6
    residual = (table()[:, 1:] - inverse_scenes.jupiter()[:, 1:]).ravel()
    found = (slope.ravel() @ residual) / np.linalg.norm(slope) ** 2
    assert abs(found) < 3.0 * bar
