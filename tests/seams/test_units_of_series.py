"""Every recorded series has a unit, or says that it is a plain number: all observers of small scenes."""

import h5py
import numpy as np
import pytest

import minusgrad as mg
from minusgrad import ti

RNG = np.random.default_rng(4)


@mg.constraint("rod", over=2, x=mg.Node("m", ("d",)), length=mg.Parameter("m"))
def rod(x, length):
    """A rigid rod."""
    return (x[0] - x[1]).norm() - length


@mg.local_energy("anchors", over="nodes", x=mg.Node("m", ("d",)), k=mg.Parameter("N/m"))
def anchors(x, k):
    """Springs to the origin."""
    return 0.5 * k * x[0].dot(x[0]) + 0.0 * ti.sin(k)


def looks(*kinds: str, **given) -> list[dict]:
    return [{"kind": kind, "every": 1} | given.get(kind, {}) for kind in kinds]


def gravity() -> mg.Simulation:
    x = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.1]])
    v = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-0.7, 0.0, 0.0]])
    observers = looks(
        *("energies", "momenta", "temperatures", "frames", "megno", "orbital_elements", "closest_approach"),
        *("virial_ratio", "lagrangian_radii", "density_profile"),
        temperatures={"configurational": True},
        orbital_elements={"G": 1.0},
        density_profile={"inner": 0.1, "outer": 3.0, "shells": 4},
    )
    return mg.Simulation(
        fields={"x": x, "v": v, "m": np.array([1.0, 1e-3, 1e-3])},
        energies=[mg.energy("gravity", G=1.0)],
        stepper=mg.Leapfrog(dt=0.01),
        plugins=["gravity"],
        observe=observers,
    )


def liquid() -> mg.Simulation:
    x = 4.0 * np.stack(np.meshgrid(*[np.arange(3.0)] * 3), axis=-1).reshape(-1, 3)
    observers = looks(
        *("energies", "momenta", "temperatures", "pressure", "radial_distribution", "frames"),
        pressure={"tensor": True, "parts": True},
        radial_distribution={"radius": 5.0, "bins": 5},
        temperatures={"configurational": True},
    )
    return mg.Simulation(
        fields={"x": x, "v": RNG.normal(size=x.shape), "m": np.full(27, 40.0)},
        energies=[mg.energy("lennard_jones", epsilon=1.0, sigma=3.4, cutoff=5.0)],
        box={"edges": [12.0, 12.0, 12.0]},
        units="molecular",
        plugins=["molecular"],
        stepper={
            "kind": "npt",
            "dt": 0.001,
            "temperature": 100.0,
            "pressure": "1 bar",
            "friction": 1.0,
            "relaxation": 1.0,
        },
        observe=observers,
    )


def rods() -> mg.Simulation:
    return mg.Simulation(
        fields={"x": np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), "v": np.zeros((3, 2)), "m": np.ones(3)},
        energies=[anchors(k=1.0)],
        constraints=[rod(length=1.0)],
        tuples={"rods": [[0, 1]]},
        bodies={"end": [2]},
        holds=[{"name": "wall", "body": "end"}],
        stepper=mg.Leapfrog(dt=0.01),
        observe=looks("energies", "momenta", "constraints", "reactions", "temperatures", "frames"),
    )


def search() -> mg.Simulation:
    return mg.Simulation(
        fields={"x": np.array([[1.0, 0.0], [2.0, 0.0]])},
        energies=[anchors(k=1.0)],
        stepper=mg.LBFGS(fields={"x": {}}, gradient=1e-9),
        observe=looks("energies", "frames"),
    )


SCENES = {one.__name__: one for one in (gravity, liquid, rods, search)}


@pytest.mark.parametrize("name", SCENES)
def test_every_series_has_a_unit(name, tmp_path):
    SCENES[name]().run(steps=2, out=tmp_path / "run")
    lacking = []
    with h5py.File(tmp_path / "run" / "trajectory.h5") as file:

        def look(path: str, item: object) -> None:
            recorded = path.endswith("/value") and not path.startswith("VTKHDF") and "multiplier/" not in path
            # the unit of a multiplier is that of energy over that of its g, which no constraint declares
            if recorded and "unit_symbol" not in item.attrs:
                lacking.append(path)

        file.visititems(look)
    assert not lacking


def test_the_temperature_of_forces_is_the_ratio_of_series_with_units(tmp_path):
    run = liquid().run(steps=1, out=tmp_path / "run")
    squares, laplacian = run["force_squared"], run["laplacian"]
    size = {}
    with h5py.File(tmp_path / "run" / "trajectory.h5") as file:
        for label in ("force_squared", "laplacian"):
            size[label] = file[f"observables/{label}/value"].attrs["unit_si"]
    kelvin = squares * size["force_squared"] / (laplacian * size["laplacian"]) / 1.380649e-23
    np.testing.assert_allclose(kelvin, run["temperature/configurational"], rtol=1e-9)


def stretched(units: dict, scale: str | None, gradient: str | float) -> mg.Simulation:
    """Two masses on springs of 1 N/m, in a run of these units."""
    size = {"m": 1.0, "mm": 1e3, "km": 1e-3}[units["length"]]
    return mg.Simulation(
        fields={"x": np.array([[1.0, 0.0], [2.0, 0.5]]) * size},
        energies=[anchors(k="1 N/m")],
        stepper=mg.GradientDescent(
            fields={"x": {} if scale is None else {"scale": scale}},
            gradient=gradient,
            first=0.01 * (size if scale is None else 1.0),
        ),
        units=units | {"mass": "kg", "time": "s"},
        observe=looks("energies"),
    )


@pytest.mark.parametrize(("scale", "gradient"), [(None, "0.6 N"), ("1 m", "0.6 J")])
def test_the_end_of_a_search_does_not_depend_on_units(scale, gradient, tmp_path):
    ends, residuals = [], []
    for length in ("m", "mm", "km"):
        out = tmp_path / length
        sim = stretched({"length": length}, scale, gradient)
        sim.run(steps=500, out=out)
        with h5py.File(out / "trajectory.h5") as file:
            residual = file["observables/residual/value"]
            residuals.append(residual[-1] * residual.attrs["unit_si"])
        ends.append(sim.fields["x"].values / {"m": 1.0, "mm": 1e3, "km": 1e-3}[length])
    assert max(residuals) <= 0.6
    if scale is None:
        np.testing.assert_allclose(residuals, [np.abs(x).max() for x in ends], rtol=1e-9)


@pytest.mark.parametrize("length", ["mm", "km"])
def test_an_energy_without_a_scale_is_refused_where_it_would_depend_on_units(length):
    with pytest.raises(mg.UserError, match=f"needs the `scale` of 'x', which by default is 1 {length}"):
        stretched({"length": length}, None, "1e-10 J")
    stretched({"length": "m"}, None, "1e-10 J")
    with pytest.raises(mg.UserError, match="gradient: must be finite and not negative, got -1"):
        stretched({"length": length}, None, "-1 N")
