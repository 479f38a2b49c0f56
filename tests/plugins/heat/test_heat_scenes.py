"""Heat by scenes: the claim of `quenched_bar`, the balance of heat, steady states, gradients by conductivity.

Reference of the bar: Newman 1936, Ind. Eng. Chem. 28, 545: the product of the series of two slabs, with the
roots of z tan z = Bi (Carslaw & Jaeger 1959, section 3.11).
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import minusgrad
from minusgrad.errors import SceneError
from tests.support.tiers import sampled

SCENES = Path(__file__).parents[3] / "scenes"
BAR = SCENES / "quenched_bar.toml"
STEADY = """
plugins = ["elastic", "heat"]

[state]
kind = "heat"
temperature = "300 K"
bodies = { left = "400 K" }
specific_heat = "500 J kg^-1 K^-1"
mesh = { kind = "box", size = ["30 cm", "10 cm", "20 cm"], cells = [6, 2, 2], density = "2 g/cm^3" }

[[energy]]
kind = "heat_conduction"
conductivity = "1.7 W m^-1 K^-1"

[[energy]]
kind = "convection"
body = "right"
coefficient = "11 W m^-2 K^-1"
ambient = "280 K"

[[hold]]
body = "left"
field = "T"

[stepper]
kind = "newton"
fields = { T = { scale = "1 K" } }

[run]
steps = 10

[[observe]]
kind = "heat"
every = 10
"""


def slab(biot: float, fourier: float, x: float) -> float:
    """(T - T_e) / (T_0 - T_e) at x / L of a slab, insulated at x = 0."""
    found = 0.0
    for k in range(40):
        z = brentq(lambda z: z * np.sin(z) - biot * np.cos(z), k * np.pi + 1e-12, (k + 0.5) * np.pi)
        share = 4.0 * np.sin(z) / (2.0 * z + np.sin(2.0 * z))
        found += share * np.exp(-z * z * fourier) * np.cos(z * x)
    return found


def newman(x: float, y: float, t: float) -> float:
    k, h, diffusivity, sides = 40.0, 400.0, 40.0 / (7800.0 * 500.0), (0.05, 0.03)
    parts = [slab(h * s / k, diffusivity * t / s**2, at) for s, at in zip(sides, (x, y), strict=True)]
    return 300.0 + 800.0 * parts[0] * parts[1]


def corners(run: Any) -> tuple[float, float]:
    """The temperatures of the axis and of the edge."""
    fields = run.simulation.fields
    x, T = fields["x"].values, fields["T"].values
    return float(T[np.argmin(x.sum(axis=1))]), float(T[np.argmax(x.sum(axis=1))])


def test_the_quenched_bar(tmp_path: Path) -> None:
    run = minusgrad.run(BAR, out=tmp_path / "bar")
    axis, edge = corners(run)
    assert (round(axis, 1), round(edge, 1)) == (508.6, 443.6)
    assert axis == pytest.approx(newman(0.0, 0.0, 300.0), abs=0.06)
    assert edge == pytest.approx(newman(1.0, 1.0, 300.0), abs=0.06)


def test_errors_of_the_bar_fall_by_four(tmp_path: Path) -> None:
    """Cells and steps are halved."""
    exact, errors = newman(0.0, 0.0, 300.0), []
    for k in (1, 2):
        finer = {"state.mesh.cells": [10 * k, 6 * k], "stepper.dt": 8.0 / k, "run.steps": 38 * k}
        finer |= {"stepper.dt": 300.0 / (38 * k), "observe.1.every": 38}
        errors.append(abs(corners(minusgrad.run(BAR, finer, tmp_path / str(k)))[0] - exact))
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.6)


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_balance_of_heat(precision: str, tmp_path: Path) -> None:
    """Of implicit Euler the heat grows by dt times the powers at the end of each step, supports included."""
    held = {"hold": [{"body": "left", "field": "T"}], "runtime.precision": precision}
    coarse = {"state.mesh.cells": [8, 5], "run.steps": 30, "stepper.scheme": "implicit_euler"}
    run = minusgrad.run(BAR, held | coarse, tmp_path / "bar")
    stored = run.series("observables/heat/stored").value
    names = ("supports", "heat_conduction", "side", "lid")
    powers = [run.series(f"observables/heat/{name}").value for name in names]
    exact = 1e-11 if precision == "f64" else 2e-5
    assert np.diff(stored) == pytest.approx(2.0 * sum(powers)[1:], abs=exact * stored[0])
    assert np.abs(powers[1]).max() < exact * np.abs(powers[2]).max()
    assert (powers[0] > 0.0)[1:].all()
    assert (powers[2] < 0.0).all()


def test_a_steady_state_by_newton(tmp_path: Path) -> None:
    (tmp_path / "steady.toml").write_text(STEADY)
    run = minusgrad.run(tmp_path / "steady.toml", out=tmp_path / "run")
    x, T = (run.simulation.fields[name].values for name in ("x", "T"))
    flow = 120.0 / (0.3 / 1.7 + 1.0 / 11.0)
    assert pytest.approx(400.0 - flow / 1.7 * x[:, 0], abs=1e-6) == T
    assert run.series("observables/heat/supports").value[-1] == pytest.approx(0.02 * flow, rel=1e-6)
    assert run.series("observables/heat/convection").value[-1] == pytest.approx(-0.02 * flow, rel=1e-6)
    C = run.simulation.fields["C"].values
    assert C.sum() == pytest.approx(500.0 * 2000.0 * 0.3 * 0.1 * 0.2, rel=1e-12)


FIT = """
[fit]
of = "equilibrium"
method = "gauss_newton"
iterations = 20

[fit.parameters."heat_conduction.conductivity"]
start = "3 W m^-1 K^-1"
scale = "1 W m^-1 K^-1"
lower = "0.1 W m^-1 K^-1"

[[fit.loss]]
kind = "misfit"
field = "T"
sigma = "0.1 K"
data = "measured.csv"
"""


def test_the_conductivity_is_found_from_steady_temperatures(tmp_path: Path) -> None:
    """By the gradient through the equilibrium, from a guess that is 1.8 times too large."""
    (tmp_path / "steady.toml").write_text(STEADY)
    run = minusgrad.run(tmp_path / "steady.toml", out=tmp_path / "run")
    T = run.simulation.fields["T"].values
    lines = ["time, node, T", *(f"0, {n}, {float(t)!r}" for n, t in enumerate(T))]
    (tmp_path / "measured.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "fit.toml").write_text(STEADY + FIT)
    found = minusgrad.fit(tmp_path / "fit.toml", out=tmp_path / "fit")
    (estimate,) = found.estimates.parameters
    assert estimate.values == pytest.approx(1.7, rel=1e-6)


@pytest.mark.parametrize("scheme", sampled(["crank_nicolson", "bdf2"], ["bdf2"]))
def test_conductivity_and_coefficient_are_found_from_a_quenching(scheme: str, tmp_path: Path) -> None:
    """From the temperatures at two times; by the gradient through all steps."""
    coarse = {"state.mesh.cells": [5, 3], "run.steps": 20, "stepper.scheme": scheme, "stepper.dt": "10 s"}
    run = minusgrad.run(BAR, coarse | {"observe.1.every": 10}, tmp_path / "bar")
    series = run.series("particles/all/temperature")
    rows = [
        f"{t}, {n}, {float(T)!r}"
        for t, values in zip(series.time[1:], series.value[1:], strict=True)
        for n, T in enumerate(values)
    ]
    (tmp_path / "measured.csv").write_text("\n".join(["time, node, T", *rows]) + "\n")
    table = FIT.replace('of = "equilibrium"\n', "").replace("3 W m", "60 W m").replace('"1 W m', '"40 W m')
    table = table.replace('lower = "0.1 W m^-1 K^-1"', 'lower = "1 W m^-1 K^-1"')
    table += '\n[fit.parameters."side.coefficient"]\nstart = "250 W m^-2 K^-1"\nscale = "100 W m^-2 K^-1"\n'
    (tmp_path / "fit.toml").write_text(BAR.read_text() + table)
    found = minusgrad.fit(tmp_path / "fit.toml", coarse, tmp_path / "fit")
    assert {e.name: e.values.item() for e in found.estimates.parameters} == {
        "heat_conduction.conductivity": pytest.approx(40.0, rel=1e-6),
        "side.coefficient": pytest.approx(400.0, rel=1e-6),
    }


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            'left = "400 K"',
            'lft = "400 K"',
            "bodies: the mesh has no body 'lft' (there are: left, right, front, back, bottom, top); name one",
        ),
        (
            'kind = "box"',
            'kind = "ball"',
            "mesh.kind: needs 'rectangle', 'box', 'beam', 'disc', 'gmsh' or 'mesh', not 'ball'",
        ),
        ("1.7 W m^-1", "-1.7 W m^-1", "conductivity"),
        ('"heat"\nevery', '"heet"\nevery', "heet"),
    ],
)
def test_mistakes(old: str, new: str, text: str, tmp_path: Path) -> None:
    assert old in STEADY
    (tmp_path / "scene.toml").write_text(STEADY.replace(old, new))
    with pytest.raises(SceneError) as error:
        minusgrad.build(tmp_path / "scene.toml")
    assert text in str(error.value)


IN_DEGREES = {
    "state.temperature": "26.85 degC",
    "state.bodies.left": "260.33 degF",
    "energy.1.ambient": "6.85 °C",
}


def test_temperatures_in_degrees_are_those_in_kelvins(tmp_path: Path) -> None:
    """Those of the state, of bodies, of the surroundings, and of a file; bit for bit where K are the same."""
    (tmp_path / "steady.toml").write_text(STEADY)
    plain = minusgrad.run(tmp_path / "steady.toml", out=tmp_path / "K")
    from_file = {"initial.fields.T": {"file": "T.csv", "unit": "degC", "body": "right"}}
    (tmp_path / "T.csv").write_text("\n".join(["T", *["26.85"] * 9]))
    scaled = minusgrad.run(tmp_path / "steady.toml", IN_DEGREES | from_file, tmp_path / "degC")
    expected, found = (run.simulation.fields["T"].values for run in (plain, scaled))
    assert np.abs(found - expected).max() < 1e-9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stepper.fields.T.scale": "1 degC"}, "for a difference of 1 degC"),
        ({"energy.1.coefficient": "11 W/m^2/degC"}, "a step of 1 degC is 1 K"),
        ({"state.temperature": "-300 degC"}, "below absolute zero"),
        ({"state.temperature": "-3 K"}, "at least 0"),
        ({"initial.fields.x": {"file": "T.csv", "unit": "degC"}}, "is a temperature, but 'm'"),
        ({"initial.fields.C": {"file": "T.csv", "unit": "J/degC"}}, "a step of 1 degC is 1 K"),
    ],
)
def test_degrees_are_refused_elsewhere(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "steady.toml").write_text(STEADY)
    (tmp_path / "T.csv").write_text("\n".join(["x,y,z,C", *["1,2,3,4"] * 63]))
    with pytest.raises(SceneError) as error:
        minusgrad.load(tmp_path / "steady.toml", given)
    assert message in str(error.value)


def test_steps_through_many_cells_are_solved_in_any_units(tmp_path: Path) -> None:
    """Heat crosses 200 cells within a step: rounding of conduction moves temperatures by more than theirs."""
    found = []
    for length in ("m", "mm", "um"):
        scene = SCENES / "bimetal_heating.toml"
        given = {"units.length": length, "run.steps": 3, "checkpoint.every": 3, "checkpoint.keep_every": 3}
        run = minusgrad.run(scene, given, tmp_path / length)
        found.append(run.simulation.fields["T"].values)
    assert np.ptp(found[0]) < 1.0
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-10)
