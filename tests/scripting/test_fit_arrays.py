"""Fits from arrays: the same bits as from files, a folder that is complete, mistakes in words."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.app.results.fit import Fit
from minusgrad.errors import InterruptedRunError, SceneError, UserError
from minusgrad.scene import toml_text

TIMES = np.arange(1, 6) * 0.2


def swing(stiffness: float | str = 1.0, **tables: Any) -> mg.Simulation:
    """A mass on a spring of 1 m, which was extended by 20 cm."""
    return mg.Simulation(
        fields={"x": np.array([[0.0, 0.0], [1.2, 0.0]]), "m": np.ones(2)},
        bodies={"nail": [0], "bob": [1]},
        energies=[mg.energy("spring", stiffness=stiffness, rest=1.0, tuples=np.array([[0, 1]]))],
        holds=[{"body": "nail"}],
        stepper=mg.Leapfrog(dt="10 ms"),
        plugins=["elastic"],
        **tables,
    )


def positions(stiffness: float) -> np.ndarray:
    """Those of the bob at TIMES, (T, 2)."""
    sim, found = swing(stiffness), []
    for _ in TIMES:
        sim.step(20)
        found.append(sim.fields["x"].values[1].copy())
    return np.array(found)


@pytest.fixture(scope="module")
def measured() -> np.ndarray:
    return positions(2.5) + 1e-3 * np.random.default_rng(0).normal(size=(len(TIMES), 2))


@pytest.fixture
def fitted(tmp_path: Path) -> Callable[..., Fit]:
    """Fits the stiffness into a new folder."""
    number = itertools.count()

    def fit(sim: mg.Simulation, **options: Any) -> Fit:
        options = {"parameters": ["spring.stiffness"]} | options
        return sim.fit(tmp_path / str(next(number)), **options)

    return fit


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_arrays_and_a_table_give_the_same_estimate(
    precision: str, measured: np.ndarray, fitted: Callable, tmp_path: Path
) -> None:
    runtime = {"precision": precision}
    of_arrays = fitted(swing(runtime=runtime), data={"x": (TIMES, measured, "bob")}, sigma="1 mm")
    rows = [f"{t!r},{x!r},{y!r}" for t, (x, y) in zip(TIMES.tolist(), measured.tolist(), strict=True)]
    (tmp_path / "swing.csv").write_text("\n".join(["time,x,y", *rows]))
    loss = {"kind": "misfit", "field": "x", "body": "bob", "sigma": "1 mm", "data": "swing.csv"}
    table = {
        "method": "gauss_newton",
        "iterations": 50,
        "loss": [loss],
        "parameters": {"spring.stiffness": {}},
    }
    scene = tmp_path / "swing.toml"
    swing(runtime=runtime, run={"steps": 100}, fit=table | {"loss": []}).to_toml(scene)
    text = (
        scene.read_text()
        + "\n[fit]\n"
        + "".join(f"{k} = {toml_text.value(k, v)}\n" for k, v in table.items())
    )
    scene.write_text(text)
    of_table = mg.fit(scene, out=tmp_path / "table")
    assert of_arrays.estimates.as_dict() == of_table.estimates.as_dict()
    [found] = of_arrays.estimates.parameters
    assert abs(found.values[0] - 2.5) < 4.0 * found.errors[0] < 0.1


def test_units_bodies_and_the_order_of_times(measured: np.ndarray, fitted: Callable) -> None:
    """Centimetres in any order of times are metres; all nodes are those of a body, and the nail at rest."""
    plain = fitted(swing(), data={"x": (TIMES, measured, "bob")}, sigma="1 mm").estimates.parameters[0]
    back = slice(None, None, -1)
    given = ((TIMES[back] * 1e3, "ms"), (measured[back] * 100, "cm"), ["bob"])
    in_cm = fitted(swing(), data={"x": given}, sigma={"x": "0.1 cm"}).estimates.parameters[0]
    assert in_cm.values == pytest.approx(plain.values, rel=1e-12)
    every = np.stack([np.zeros_like(measured), measured], axis=1)
    whole = fitted(swing(), data={"x": (TIMES, every)}, sigma=1e-3).estimates
    assert whole.observations == 20
    assert whole.parameters[0].values == pytest.approx(plain.values, rel=1e-12)


def test_the_folder_is_complete_and_resumed_by_the_command_line(
    measured: np.ndarray, fitted: Callable, invoke: Callable, tmp_path: Path
) -> None:
    """After a cut, elsewhere: the same bits as uncut, by a verb that knows the folder alone."""
    asked: dict[str, Any] = {"data": {"x": (TIMES, measured, "bob")}, "sigma": "1 mm"}
    whole = fitted(swing(), **asked)
    with pytest.raises(InterruptedRunError):
        fitted(swing(), **asked, max_hours=1e-9)
    os.rename(tmp_path / "1", tmp_path / "moved")
    code, _, err = invoke("resume", str(tmp_path / "moved"))
    assert code == 0, err
    assert (tmp_path / "moved/fit.json").read_bytes() == (whole.folder / "fit.json").read_bytes()
    assert str(mg.open(tmp_path / "moved")).count("spring.stiffness") == 1
    code, _, err = invoke("fit", str(tmp_path / "moved/scene.toml"), "--out", str(tmp_path / "again"))
    assert code == 0, err
    assert (tmp_path / "again/fit.json").read_bytes() == (whole.folder / "fit.json").read_bytes()


def test_a_loaded_scene_takes_arrays_in_place_of_its_fit(
    measured: np.ndarray, fitted: Callable, tmp_path: Path
) -> None:
    swing(run={"steps": 100}).to_toml(tmp_path / "swing.toml")
    asked: dict[str, Any] = {"data": {"x": (TIMES, measured, "bob")}, "sigma": "1 mm"}
    of_scene = fitted(mg.load(tmp_path / "swing.toml"), **asked)
    assert of_scene.estimates.as_dict() == fitted(swing(), **asked).estimates.as_dict()
    assert [one[:4] for one in of_scene.overrides] == ["fit="]
    assert of_scene.read_input("measured_x.h5")


@pytest.mark.parametrize("members", ["experiments", "starts"])
def test_members_have_arrays_of_their_own(members: str, fitted: Callable) -> None:
    """Experiments of one stiffness from two starts; starts are fits of the same data."""
    vary = {"state.v": {"list": [[[0, 0], [0, 0]], [[0, 0], [0, 0.3]]]}}
    if members == "starts":
        vary = {"spring.stiffness": {"list": [1.0, 4.0]}}
    data: Any = []
    for row in range(2):
        sim = swing(2.5)
        if members == "experiments":
            sim.fields["v"].set(np.array(vary["state.v"]["list"][row], float))
        rows = []
        for _ in TIMES:
            sim.step(20)
            rows.append(sim.fields["x"].values[1].copy())
        data.append((TIMES, np.array(rows), "bob"))
    given = data if members == "experiments" else data[0]
    sim = swing(ensemble={"vary": vary}, fit={"members": members})
    fit = fitted(sim, data={"x": given}, sigma="1 mm")
    assert fit.estimates.parameters[0].values == pytest.approx([2.5], rel=1e-6)
    assert fit.estimates.observations == (20 if members == "experiments" else 10)
    names = ["measured_x_0.h5", "measured_x_1.h5"] if members == "experiments" else ["measured_x.h5"]
    assert all(fit.read_input(name) for name in names)


def test_an_equilibrium_takes_values_alone(fitted: Callable) -> None:
    """Two springs of 1 and 3 N/m between walls 3 m apart, a rest length of 1 m: the node is at 1.75 m."""
    sim = mg.Simulation(
        fields={"x": np.array([[0.0, 0.0], [1.4, 0.0], [3.0, 0.0]]), "m": np.ones(3)},
        bodies={"walls": [0, 2], "node": [1]},
        energies=[
            mg.energy("spring", name="left", stiffness=2.0, rest=1.0, tuples=np.array([[0, 1]])),
            mg.energy("spring", name="right", stiffness=3.0, rest=1.0, tuples=np.array([[1, 2]])),
        ],
        holds=[{"body": "walls"}],
        stepper=mg.Newton(gradient=1e-12),
        plugins=["elastic"],
    )
    at_rest = np.array([[0.0, 0.0], [1.75, 0.0], [3.0, 0.0]])
    fit = fitted(sim, data={"x": at_rest}, sigma=1e-3, parameters=["left.stiffness"])
    assert fit.estimates.parameters[0].values == pytest.approx([1.0], rel=1e-6)


def test_a_fit_prints_its_table_in_the_units_that_were_given(measured: np.ndarray, fitted: Callable) -> None:
    """Of a bound, else of the value in the scene, else the declared one; fit.json has the run's."""
    asked: dict[str, Any] = {"data": {"x": (TIMES, measured, "bob")}, "sigma": "1 mm"}
    fit = fitted(swing(), **asked, parameters={"spring.stiffness": {"lower": "1e-3 N/cm"}})
    lines = str(fit).split("\n")
    [row] = [line for line in lines if line.startswith("spring.stiffness")]
    assert row.split()[-1] == "N/cm"
    assert float(row.split()[1]) == pytest.approx(0.025, rel=0.05)
    assert lines[0] == f"{fit.folder}: {fit.estimates.iterations} iterations"
    assert str(fit.estimates) == repr(fit.estimates) == "\n".join(lines[1:])
    assert str(mg.open(fit.folder)).split("\n")[2:] == lines[2:]
    assert fit.estimates.as_dict()["parameters"]["spring.stiffness"]["unit"] == "kg s^-2"
    for stiffness, unit in (("1000 mN/m", "mN/m"), (1.0, "N/m")):
        shown = str(fitted(swing(stiffness), **asked).estimates)
        assert next(line for line in shown.split("\n") if line.startswith("spring")).split()[-1] == unit


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, r"^fit: needs measurements, got none; write sim.fit\(data="),
        ({"sigma": 1.0}, r"^sigma: is that of data, got none"),
        ({"data": [1, 2]}, r"^data: needs measurements by field, got a list; write data="),
        ({"data": {"X": (TIMES, 0)}}, r"^data: no field named 'X'; did you mean 'x'\?"),
        (
            {"data": {"x": np.zeros(3)}},
            r"^data\['x'\]: needs a tuple \(times, values\), got an array of shape",
        ),
        (
            {"data": {"x": [TIMES, 0]}},
            r"^data\['x'\]: a list has measurements of each member .*; give a tuple",
        ),
        (
            {"data": {"x": (TIMES, np.zeros((5, 2)))}},
            r"values of all nodes, shape \(T, 2, 2\), got \(5,\) and",
        ),
        ({"data": {"x": (TIMES, np.zeros((4, 2)), "bob")}}, r"of the nodes of 'bob', shape \(T, 1, 2\), got"),
        ({"data": {"x": (TIMES, np.zeros((5, 2)), "bop")}}, r"no body named 'bop'; did you mean 'bob'\?"),
        (
            {"data": {"x": (TIMES, np.full((5, 2), np.nan), "bob")}},
            r"values: needs finite numbers, got nan at",
        ),
        (
            {"data": {"x": (TIMES, np.zeros((5, 2)), "bob")}, "sigma": np.ones(5)},
            r"^sigma: needs one number for a field, got an array of shape \(5,\)",
        ),
        (
            {"data": {"x": (TIMES, np.zeros((5, 2)), "bob")}, "sigma": {"v": 1}},
            r"^sigma: no field of the data named 'v'",
        ),
        ({"data": {"x": (TIMES + 1e-3, np.zeros((5, 2)), "bob")}}, r"lies between two steps of 0.01 s"),
        (
            {"data": {"x": (TIMES, np.zeros((5, 2)), "bob")}, "parameters": []},
            r"^fit: needs the names of what",
        ),
        (
            {"data": {"x": (TIMES, np.zeros((5, 2)), "bob")}, "parameters": ["spring.k"]},
            r"spring: no parameter named 'k'",
        ),
    ],
)
def test_what_does_not_fit_is_said(
    options: dict[str, Any], said: str, fitted: Callable, tmp_path: Path
) -> None:
    with pytest.raises((UserError, SceneError), match=said):
        fitted(swing(), **options)
    assert not (tmp_path / "0").exists()
