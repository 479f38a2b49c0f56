"""Every shipped scene says in its first comment what is true of it; here that is asserted, by number."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.results.run import Run
from minusgrad.app.runs import build
from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import SceneError
from minusgrad.scene.document import claim
from minusgrad.scene.units import UnitSystem
from minusgrad.steppers.schemes import SCHEMES
from minusgrad_gravity.states import PlummerSphere
from tests.support.kepler import orbit
from tests.support.laws import assert_order

TESTS = Path(__file__).parents[1]
SCENES = TESTS.parent / "scenes"

CLAIMED = {
    "argon_liquid": "exams/test_molecular_scenes.py::test_argon_liquid",
    "argon_npt": "steppers/pressure/test_liquid.py::test_argon_npt",
    "bimetal": "plugins/elastic/test_thermal_expansion.py::test_temperatures_of_a_heat_run",
    "bimetal_heating": "plugins/elastic/test_thermal_expansion.py::test_temperatures_of_a_heat_run",
    "billiards": "exams/programs/test_billiards.py::test_the_target_reaches_the_pocket",
    "calibration": "exams/test_fit_scenes.py::test_calibration",
    "cantilever": "exams/test_elastic_scenes.py::test_cantilever",
    "cantilever_damped": "exams/test_elastic_scenes.py::test_cantilever_damped",
    "catenary": "exams/test_constraint_scenes.py::test_catenary",
    "cooks_membrane": "exams/test_element_scenes.py::test_cooks_membrane",
    "chain_of_rods": "exams/test_constraint_scenes.py::test_chain_of_rods",
    "cold_collapse": "plugins/gravity/test_galaxy_scenes.py::test_cold_collapse",
    "copper_constants": "exams/test_crystal_scenes.py::test_copper_constants",
    "crossed_fields": "exams/test_scenes.py::test_crossed_fields",
    "curved_beam": "exams/test_published_scenes.py::test_curved_beam",
    "dam_break": "exams/test_dam_break.py::test_dam_break",
    "diamond_frame": "plugins/rods/test_scenes_of_rods.py::test_diamond_frame",
    "diffmpm": "exams/programs/test_diffmpm.py::test_diffmpm",
    "diffmpm3d": "exams/programs/test_soft_walkers.py::test_diffmpm3d",
    "electric": "exams/programs/test_electric.py::test_a_trained_controller_follows_goals_that_it_never_saw",
    "double_pendulum": "exams/test_lagrangian_scenes.py::test_double_pendulum",
    "fibre_composite": "exams/test_element_scenes.py::test_a_fibre_composite_shears_as_perrins_says",
    "figure_eight": "exams/test_few_body_scenes.py::test_figure_eight",
    "foucault": "exams/test_lagrangian_scenes.py::test_foucault",
    "double_pendulums": "exams/test_ensemble_scenes.py::test_double_pendulums",
    "draped_cloth": "plugins/shells/test_cloth_motion.py::test_draped_cloth",
    "nafems_le1": "exams/test_published_scenes.py::test_nafems_le1",
    "nafems_le11": "exams/test_published_scenes.py::test_nafems_le11",
    "nafems_le10": "exams/test_published_scenes.py::test_nafems_le10",
    "patch_test": "exams/test_published_scenes.py::test_patch_test",
    "plate_with_hole": "exams/test_published_scenes.py::test_plate_with_hole",
    "sheared_square": "exams/test_published_scenes.py::test_sheared_square",
    "stability_map": "exams/test_ensemble_scenes.py::test_stability_map",
    "stacked_cubes": "plugins/elastic/test_contact.py::test_stacked_cubes",
    "elastica": "exams/test_element_scenes.py::test_elastica",
    "elastic_seed": "exams/test_elastic_scenes.py::test_elastic_seed",
    "engraver_text": "exams/test_laser_scenes.py::test_engraver_text",
    "buckling_ring": "plugins/rods/test_scenes_of_rods.py::test_buckling_ring",
    "strip_from_photo": "plugins/rods/test_scenes_of_rods.py::test_strip_from_photo",
    "euler_elastica": "plugins/rods/test_scenes_of_rods.py::test_euler_elastica",
    "hanging_spring": "plugins/rods/test_scenes_of_rods.py::test_hanging_spring",
    "twisted_rod": "plugins/rods/test_scenes_of_rods.py::test_twisted_rod",
    "euler_column": "app/test_buckling.py::test_the_column",
    "galaxy_collision": "plugins/gravity/test_galaxy_scenes.py::test_galaxy_collision",
    "gravity_seed": "exams/test_scenes.py::test_gravity_seed",
    "inflated_tube": "exams/test_element_scenes.py::test_a_tube_of_rubber_is_as_wide_as_on_paper",
    "laser_butterfly": "exams/test_laser_scenes.py::test_laser_butterfly",
    "laser_image": "exams/test_laser_scenes.py::test_laser_image",
    "lj_minima": "exams/test_molecular_scenes.py::test_lj_minima",
    "mass_spring": "exams/programs/test_mass_spring.py::test_the_gradient_of_the_run_is_that_of_a_tape",
    "mercury": "exams/test_few_body_scenes.py::test_mercury",
    "liquid": "exams/programs/test_liquid.py::test_liquid",
    "mpm_lagrangian": "exams/programs/test_mpm_lagrangian.py::test_mpm_lagrangian",
    "outer_solar_system": "exams/test_scenes.py::test_outer_solar_system",
    "peptide_in_water": "exams/test_molecular_scenes.py::test_peptide_in_water",
    "straight_beam": "exams/test_published_scenes.py::test_straight_beam",
    "twisted_beam": "exams/test_published_scenes.py::test_twisted_beam",
    "twisted_cube": "exams/test_published_scenes.py::test_twisted_cube",
    "two_photon": "exams/test_laser_scenes.py::test_two_photon",
    "process_window": "exams/test_laser_scenes.py::test_process_window",
    "plummer": "exams/test_scenes.py::test_plummer",
    "quenched_bar": "plugins/heat/test_heat_scenes.py::test_the_quenched_bar",
    "ringing_bar": "exams/test_vibration_scenes.py::test_ringing_bar",
    "rigid_body": "exams/programs/test_rigid_body.py::test_the_robot_learns_to_walk",
    "rigid_water": "exams/test_molecular_scenes.py::test_rigid_water",
    "rods_from_path": "exams/test_fit_scenes.py::test_rods_from_path",
    "smoke": "exams/programs/test_smoke.py::test_the_heart_appears",
    "silicon_tersoff": "exams/test_crystal_scenes.py::test_silicon_of_tersoff",
    "silicon": "exams/test_crystal_scenes.py::test_silicon",
    "slider_crank": "exams/test_constraint_scenes.py::test_slider_crank",
    "spring_stiffness": "exams/test_elastic_scenes.py::test_spring_stiffness",
    "stiffness_from_shape": "exams/test_fit_scenes.py::test_stiffness_from_shape",
    "stretch": "exams/test_elastic_scenes.py::test_stretch",
    "swing_up": "exams/test_lagrangian_scenes.py::test_swing_up",
    "topology": "exams/test_fit_scenes.py::test_topology",
    "twisted_bar": "exams/test_elastic_scenes.py::test_twisted_bar",
    "tennis_racket": "exams/test_constraint_scenes.py::test_tennis_racket",
    "shell_roof": "steppers/continuation/test_published_paths.py::test_the_roof_of_sabir_and_lock",
    "two_bar_truss": "steppers/continuation/test_arc_length.py::test_the_scene_of_two_bars",
    "two_body": "exams/test_scenes.py::test_two_body",
    "warm_crystal": "steppers/test_heat_bath.py::test_warm_crystal",
    "uncertain_beam": "sweeps/test_uncertain_beam.py::test_the_energy_is_that_of_a_beam_on_paper",
    "volume_renderer": "exams/programs/test_volume_renderer.py::test_volume_renderer",
    "walker": "exams/test_elastic_scenes.py::test_walker",
    "water_renderer": "exams/programs/test_water_renderer.py::test_the_heron_appears",
    "wave": "exams/programs/test_wave.py::test_the_heron_appears",
    "wave_original": "exams/programs/test_wave.py::test_the_wave_of_difftaichi_descends_as_its_program",
    "wave_energy": "exams/programs/test_wave.py::test_the_ring_wave_keeps_its_energy",
    "weigh_a_planet": "exams/test_fit_scenes.py::test_weigh_a_planet",
    "yukawa_cluster": "exams/test_yukawa_cluster.py::test_yukawa_cluster",
}
"""Where the claim of each scene is asserted."""


@pytest.mark.parametrize("path", sorted(SCENES.glob("*.toml")), ids=lambda p: p.stem)
def test_every_scene_claims_something_and_a_test_asserts_it(path):
    assert re.search(r"\d", claim(path)), f"{path.name} opens with no claim that a test can assert"
    assert path.stem in CLAIMED, f"{path.name} has no test of its claim; write one and name it in CLAIMED"
    file, test = CLAIMED[path.stem].split("::")
    assert f"def {test}(" in (TESTS / file).read_text()


def test_no_claim_without_a_scene():
    assert set(CLAIMED) == {path.stem for path in SCENES.glob("*.toml")}


def _largest(run: Run, name: str) -> float:
    """The largest change of an observable from its start."""
    value = run.series(f"observables/{name}").value
    return float(np.abs(value - value[0]).max())


# Eight points -------------------------------------------------------------------------------------------


def test_gravity_seed(tmp_path):
    run = minusgrad.run(SCENES / "gravity_seed.toml", out=tmp_path / "run")
    assert run.simulation.stepper.step == 20_000
    drift = np.abs(run.series("observables/drift").value).max()
    assert 1e-5 < drift < 1e-3
    momenta = _momenta(run)
    assert _largest(run, "momentum") < 1e-13 * momenta
    assert _largest(run, "angular_momentum") < 1e-13 * momenta


def test_gravity_seed_starts_as_it_says():
    """Points in the unit square, at rest, each pair once: U = -sum 1 / sqrt(r^2 + 1e-3)."""
    simulation = build(SCENES / "gravity_seed.toml", {"state.n": 200})
    x, v = (simulation.fields[n].values for n in "xv")
    assert x.shape == (200, 2)
    assert (x >= 0.0).all()
    assert (x < 1.0).all()
    assert (np.abs(np.histogram2d(*x.T, bins=2, range=[(0, 1)] * 2)[0] - 50) < 20).all()
    assert not v.any()
    r2 = np.array([((x[i] - x[j]) ** 2).sum() for i in range(200) for j in range(i)])
    assert simulation.potential.value() == pytest.approx(-(1.0 / np.sqrt(r2 + 1e-3)).sum(), rel=1e-12)


def _momenta(run: Run) -> float:
    """Sum of |m v| at the end, times steps^(1/2): a walk of roundings in the total momentum."""
    fields, steps = run.simulation.fields, run.simulation.stepper.step
    return float(np.sqrt(steps) * (fields["m"].values * np.linalg.norm(fields["v"].values, axis=1)).sum())


# Crossed fields -----------------------------------------------------------------------------------------


def test_crossed_fields(tmp_path):
    run = minusgrad.run(SCENES / "crossed_fields.toml", out=tmp_path / "run")
    units, fields = run.simulation.units, run.simulation.fields
    q = np.array([-1.0, 1.0]) * units.convert("1.602176634e-19 C", "C")
    B = np.array([0.0, 0.0, units.convert("1 T", "T")])
    lever = (fields["m"].values / q)[:, None] / B[2] ** 2
    frames = [run.series(f"particles/all/{name}").value for name in ("position", "velocity")]
    centres = frames[0] + lever * np.cross(frames[1], B)
    time = units.convert("10 ps", "s") * 20_000
    drift = (centres[-1] - centres[0]) / time
    assert run.simulation.stepper.step == 20_000
    expected = units.convert("10 km/s", "m s^-1")
    np.testing.assert_allclose(drift[:, :2], [[0.0, -expected]] * 2, atol=1e-9 * expected)
    turns = abs(q[0]) / fields["m"].values[0] * B[2] * time / (2.0 * np.pi)
    assert turns == pytest.approx(5600, rel=1e-3)
    assert 20_000 / turns == pytest.approx(3.6, rel=0.02)


# Two bodies ---------------------------------------------------------------------------------------------


def _kepler_error(kind: str, steps: int) -> float:
    overrides = {"stepper.kind": kind, "stepper.dt": 5.0 / steps}
    simulation = build(SCENES / "two_body.toml", overrides)
    simulation.stepper.advance(steps)
    x, v = orbit(5.0)
    fields = simulation.fields
    return max(np.abs(fields["x"].values - x).max(), np.abs(fields["v"].values - v).max())


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("symplectic_euler", (1000, 2000, 4000)),
        ("leapfrog", (250, 500, 1000)),
        ("yoshida4", (125, 250, 500)),
        ("yoshida6", (90, 180, 360)),
    ],
)
def test_two_body(kind, steps):
    """The order of each integrator against Kepler's equation, at t = 5."""
    assert_order(partial(_kepler_error, kind), SCHEMES[kind].order, steps)


def test_two_body_as_written(tmp_path):
    run = minusgrad.run(SCENES / "two_body.toml", out=tmp_path / "run")
    x, v = orbit(5.0)
    positions, velocities = (run.series(f"particles/all/{n}") for n in ("position", "velocity"))
    assert (positions.step[-1], positions.time[-1]) == (1000, 5.0)
    assert 1e-5 < np.abs(positions.value[-1] - x).max() < 2e-4
    assert np.abs(velocities.value[-1] - v).max() < 2e-4
    assert _largest(run, "momentum") < 1e-14
    assert _largest(run, "angular_momentum") < 1e-14
    assert run.series("observables/total").value[0] == pytest.approx(-0.75 * 0.25 / 2.0, rel=1e-14)


def test_two_body_in_years_and_astronomical_units():
    """The same orbit with units: the earth around the sun, e = 0.0167, is back after a year."""
    overrides = [
        "units={length='AU', mass='Msun', time='day'}",
        "state={kind='two_body', masses=['1 Msun', '1 Mearth'], semi_major_axis='149597870.7 km',"
        " eccentricity=0.0167, G='6.67430e-11 m^3 kg^-1 s^-2'}",
        "energy.0={kind='gravity'}",
        "stepper={kind='yoshida6', dt='0.1 day'}",
    ]
    simulation = build(SCENES / "two_body.toml", overrides)
    start = simulation.fields["x"].values.copy()
    assert np.linalg.norm(start[1] - start[0]) == pytest.approx(1.0 - 0.0167, rel=1e-12)
    simulation.stepper.advance(3653)
    assert np.abs(simulation.fields["x"].values - start).max() < 2e-3
    simulation.stepper.advance(1826)
    assert np.abs(simulation.fields["x"].values - start).max() > 1.9


# The outer solar system ---------------------------------------------------------------------------------

DAYS = 36525


def _after_a_century() -> np.ndarray:
    """Where REBOUND's IAS15 has the six bodies after 100 years [AU]."""
    path = SCENES / "data" / "outer_solar_system_100yr.csv"
    return np.loadtxt(path, delimiter=",", skiprows=2, usecols=(2, 3, 4))


def _century_error(steps: int) -> float:
    simulation = build(SCENES / "outer_solar_system.toml", {"stepper.dt": DAYS / steps})
    simulation.stepper.advance(steps)
    return float(np.linalg.norm(simulation.fields["x"].values - _after_a_century(), axis=1).max())


def test_outer_solar_system(tmp_path):
    run = minusgrad.run(SCENES / "outer_solar_system.toml", out=tmp_path / "run")
    positions = run.series("particles/all/position")
    assert positions.time[-1] == DAYS
    error = np.linalg.norm(positions.value[-1] - _after_a_century(), axis=1)
    assert (error < 1e-6).all(), dict(zip(run.simulation.state.names, error, strict=True))
    momenta = _momenta(run)
    assert _largest(run, "momentum") < 1e-15 * momenta
    assert _largest(run, "angular_momentum") < 1e-13 * np.linalg.norm(
        run.series("observables/angular_momentum").value[0]
    )
    _centre_of_mass_goes_straight(run)


def _centre_of_mass_goes_straight(run: Run) -> None:
    positions, m = run.series("particles/all/position"), run.simulation.fields["m"].values
    centre = np.einsum("i,tic->tc", m, positions.value) / m.sum()
    velocity = run.series("observables/momentum").value[0] / m.sum()
    np.testing.assert_allclose(centre, centre[0] + positions.time[:, None] * velocity, rtol=0, atol=1e-13)


def test_outer_solar_system_is_of_fourth_order():
    """Steps that divide the century: 25, 15, 7.5 days."""
    assert_order(_century_error, 4, (DAYS // 25, DAYS // 15, 2 * DAYS // 15))


# A Plummer sphere ---------------------------------------------------------------------------------------


def _virial_ratio(run: Run) -> np.ndarray:
    return -2.0 * run.series("observables/kinetic").value / run.series("observables/potential/gravity").value


@pytest.mark.long
def test_plummer(tmp_path):
    run = minusgrad.run(SCENES / "plummer.toml", out=tmp_path / "run")
    assert run.simulation.stepper.time == pytest.approx(3 * 2.0 * np.sqrt(2.0), rel=2e-3)
    assert np.abs(_virial_ratio(run) - 1.0).max() < 0.02
    assert np.abs(run.series("observables/drift").value).max() < 2e-5
    assert _largest(run, "momentum") < 1e-6


def test_a_small_plummer_sphere(tmp_path):
    """1,000 bodies: the ratio's noise is 10^(1/2) times larger, and neighbours are met more closely."""
    run = minusgrad.run(SCENES / "plummer.toml", {"state.n": 1000}, tmp_path / "run")
    assert np.abs(_virial_ratio(run) - 1.0).max() < 0.06
    assert np.abs(run.series("observables/drift").value).max() < 1e-4


def _sphere(n: int, seed: int) -> Mapping[str, np.ndarray]:
    """The fields of a Plummer sphere with G = M = a = 1, as the scene samples it."""
    sphere = PlummerSphere(n=n, mass=1.0, radius=1.0, G=1.0)
    return sphere.make(StateContext(UnitSystem.dimensionless(), seed, SCENES)).fields


@pytest.fixture(scope="module")
def sphere():
    """100,000 bodies: r and the three components of v."""
    fields = _sphere(100_000, seed=3)
    return np.linalg.norm(fields["x"], axis=1), fields["v"]


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.0, 5.0])
def test_plummer_mass_profile(sphere, radius):
    """M(r) / M = r^3 / (1 + r^2)^(3/2), of which 0.999 is sampled; within 3 standard errors."""
    r, _ = sphere
    p = radius**3 / (1.0 + radius**2) ** 1.5 / 0.999
    assert np.mean(r < radius) == pytest.approx(p, abs=3.0 * np.sqrt(p * (1.0 - p) / len(r)))


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.5), (0.5, 1.0), (1.0, 2.0), (2.0, 8.0)])
def test_plummer_velocity_dispersion(sphere, low, high):
    """<v^2> = (1 + r^2)^(-1/2) / 2 in each shell, alike along each axis; within 3 standard errors."""
    r, v = sphere
    inside = (low <= r) & (r < high)
    expected = 0.5 / np.sqrt(1.0 + r[inside] ** 2)
    for axis in range(3):
        excess = v[inside, axis] ** 2 - expected / 3.0
        assert abs(excess.mean()) < 3.0 * excess.std() / np.sqrt(inside.sum())


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.2), (0.2, 0.4), (0.4, 0.55), (0.55, 0.75), (0.75, 1.0)])
def test_plummer_speeds(sphere, low, high):
    """q = v / v_escape has the density q^2 (1 - q^2)^(7/2); within 3 standard errors."""
    r, v = sphere
    q = np.linalg.norm(v, axis=1) / (np.sqrt(2.0) * (1.0 + r**2) ** -0.25)
    grid = (np.arange(100_000) + 0.5) / 100_000
    density = grid**2 * (1.0 - grid**2) ** 3.5
    p = density[(low <= grid) & (grid < high)].sum() / density.sum()
    assert np.mean((low <= q) & (q < high)) == pytest.approx(p, abs=3.0 * np.sqrt(p * (1.0 - p) / len(q)))


def test_plummer_is_at_rest_and_seeded():
    one, again, other = (_sphere(500, seed) for seed in (1, 1, 2))
    for name in "xv":
        np.testing.assert_array_equal(one[name], again[name])
        assert (one[name] != other[name]).all()
        np.testing.assert_allclose(one[name].mean(axis=0), 0.0, atol=1e-15)


def test_each_stream_has_its_own_random_numbers():
    starting = StateContext(UnitSystem.dimensionless(), 0, SCENES)
    one, again, other = (starting.random(stream).uniform(size=10) for stream in ("a", "a", "b"))
    np.testing.assert_array_equal(one, again)
    assert (one != other).all()


# States that are refused --------------------------------------------------------------------------------

HEAD = "# a table\nname,m,x,y,z,vx,vy,vz\n"
SUN = "sun,1,0,0,0,0,0,0\n"
MOON = "moon, 0.1, 1, 0, 0, 0, 1, 0\n"

SCENE = """\
[units]
system = "dimensionless"
[state]
kind = "from_csv"
file = "bodies.csv"
[[energy]]
kind = "gravity"
G = 1.0
[stepper]
kind = "leapfrog"
dt = 0.1
[run]
steps = 1
"""


def _scene(folder: Path, table: str | None, extra: str = "") -> Path:
    path = folder / "scene.toml"
    path.write_text(SCENE.replace('bodies.csv"\n', f'bodies.csv"\n{extra}'))
    if table is not None:
        (folder / "bodies.csv").write_text(table, encoding="utf-8")
    return path


def test_from_csv(tmp_path):
    fields = build(_scene(tmp_path, "\ufeff" + HEAD + SUN + "\n  # more\n" + MOON)).fields
    assert fields["m"].values.tolist() == [1.0, 0.1]
    assert fields["x"].values.tolist() == [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert fields["v"].values.tolist() == [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_table_may_have_other_units_than_the_run():
    """The same solar system in the run's AU, Msun, day and in SI."""
    scene = SCENES / "outer_solar_system.toml"
    here = build(scene)
    there = build(scene, {"units.length": "m", "units.mass": "kg", "units.time": "s", "stepper.dt": "5 day"})
    au, day = 149597870700.0, 86400.0
    assert np.allclose(there.fields["x"].values / au, here.fields["x"].values, rtol=1e-15)
    assert np.allclose(there.fields["v"].values * (day / au), here.fields["v"].values, rtol=1e-15)
    assert there.fields["m"].values[0] / here.fields["m"].values[0] == pytest.approx(1.98841e30, rel=1e-4)
    here.stepper.advance(4)
    there.stepper.advance(4)
    assert np.allclose(there.fields["x"].values / au, here.fields["x"].values, rtol=1e-12)


def test_from_csv_in_the_plane_without_names(tmp_path):
    state = build(_scene(tmp_path, "colour,vy,vx,y,x,m\nred,1,2,3,4,5\nblue,6,7,8,9,1\n")).state
    assert state.fields["x"].tolist() == [[4.0, 3.0], [9.0, 8.0]]
    assert state.fields["v"].tolist() == [[2.0, 1.0], [7.0, 6.0]]
    assert state.names == ("0", "1")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            HEAD.replace("vy,", "") + SUN[:-3] + "\n",
            "bodies.csv: no column named 'vy'; did you mean 'y'? (there are: name, m, x, y, z, vx, vz)",
        ),
        (
            "m,x,y,vx,vy,vz\n1,0,0,0,0,0\n",
            "bodies.csv: no column named 'z'; did you mean 'vz'? (there are: m, x, y, vx, vy, vz)",
        ),
        (HEAD + SUN.replace("1", "one"), "bodies.csv:3: column 'm': needs a finite number, got 'one'"),
        (
            HEAD + SUN + MOON.replace("0.1", "nan"),
            "bodies.csv:4: column 'm': needs a finite number, got 'nan'",
        ),
        (HEAD + SUN + "moon,1\n", "bodies.csv:4: needs as many values as the first row, 8, got 2"),
        (HEAD, "bodies.csv: has no rows below the column names; add at least one"),
        (HEAD + SUN + SUN, "bodies.csv:4: column 'name': a second body 'sun'; rename one"),
        ("m,m\n1,2\n", "bodies.csv: 2 columns are named 'm'; give each its own name"),
        (
            HEAD + SUN + MOON.replace("0.1", "0"),
            "'bodies.csv': body 'moon' has mass 0, so its acceleration -dU/dx / m is undefined;"
            " give it a small one: zero_mass = 1e-20",
        ),
        (HEAD + SUN + MOON.replace("0.1", "-1"), "'bodies.csv': body 'moon' has mass -1; a mass is above 0"),
        (None, "cannot read 'bodies.csv' (No such file or directory); paths start at the scene's folder"),
    ],
)
def test_a_bad_table_is_refused_with_place_and_cure(tmp_path, table, message):
    path = _scene(tmp_path, table)
    with pytest.raises(SceneError) as refused:
        build(path)
    assert str(refused.value) == f"{path}:3:2: state: {message}"


def test_zero_mass_is_cured_and_a_negative_one_is_not(tmp_path):
    cure = "zero_mass = 1e-20\n"
    fields = build(_scene(tmp_path, HEAD + SUN + MOON.replace("0.1", "0"), cure)).fields
    assert fields["m"].values.tolist() == [1.0, 1e-20]
    with pytest.raises(SceneError, match="has mass -1; a mass is above 0"):
        build(_scene(tmp_path, HEAD + SUN + MOON.replace("0.1", "-1"), cure))


@pytest.mark.parametrize(
    ("scene", "override", "message"),
    [
        ("two_body", "state.eccentricity=1.0", "state.eccentricity: "),
        ("two_body", "state.masses=[1.0]", "state.masses"),
        ("two_body", "state.masses=[1.0, 0.0]", "state.masses.1: needs a quantity above 0, not 0.0"),
        ("two_body", "state.semi_major_axis='1 kg'", "state.semi_major_axis: "),
        ("plummer", "state.n=1", "state.n: "),
        ("plummer", "state.radius=0.0", "state.radius: needs a quantity above 0, not 0.0"),
        ("gravity_seed", "state.dimension=4", "state.dimension: "),
        ("gravity_seed", "stepper.dt=0.0", "stepper.dt: needs a quantity above 0, not 0.0"),
        (
            "gravity_seed",
            "energy.0.softening=-1.0",
            "energy.0.softening: needs a quantity of at least 0, not -1.0",
        ),
    ],
)
def test_a_bad_value_is_refused_by_its_key(scene, override, message):
    with pytest.raises(SceneError) as refused:
        build(SCENES / f"{scene}.toml", [override])
    assert str(refused.value).startswith(f"override '{override}': {message}")


def test_an_unknown_field_in_a_frame_is_refused_at_its_place():
    override = 'observe.2.fields=["x", "y"]'
    with pytest.raises(
        SceneError, match=r"two_body\.toml:\d+:\d+: observe\.2: no field named 'y' \(there are: x, v, m\)$"
    ):
        build(SCENES / "two_body.toml", [override])
