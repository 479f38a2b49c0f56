"""Fits: what scenes may ask and files may hold, least squares against numpy; the same bits however cut."""

import json
import os
import re
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

import minusgrad
from minusgrad import Fields, Parameter, Potential, bind
from minusgrad.adjoint.rollout import Rollout
from minusgrad.adjoint.run_objective import FitParameter, RunObjective
from minusgrad.adjoint.standard_errors import standard_errors
from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, fit, run
from minusgrad.assembly.fits.estimates import Estimate, Estimates, combination, rounded
from minusgrad.assembly.fits.parameters import FitParameters
from minusgrad.assembly.registry import Registry
from minusgrad.energies.misfit import misfit
from minusgrad.engine.memory import bytes_of
from minusgrad.errors import (
    CheckpointError,
    EnergyError,
    InterruptedRunError,
    NonFiniteError,
    SceneError,
    UserError,
)
from minusgrad.files import durable, hdf5_trust
from minusgrad.files.measurements import Wanted, read_measurements
from minusgrad.plot.curves import fit_data
from minusgrad.scene.json_schema import schema_of
from minusgrad.steppers.minimisers.gauss_newton import GaussNewton, solved
from minusgrad.steppers.minimisers.minimiser import Minimiser
from minusgrad.steppers.minimisers.outcomes import Tolerances
from minusgrad.steppers.minimisers.unknowns import Unknown, within_role
from tests.support import oscillators
from tests.support.command import files, last_saved
from tests.support.oscillators import Swing, leapfrog
from tests.support.short_scenes import ctrl_c
from tests.support.tiers import counts

PLUGIN = Path(oscillators.__file__)
X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
V = np.array([[0.1, 0.4], [0.3, 0.0], [0.1, 0.0]])
M = np.array([1.0, 2.0, 0.5])
K = np.array([1.3, 0.8, 2.0])
SIGMA = 0.01
SEEN = range(0, 41, 5)

SCENE = """\
[units]
system = "dimensionless"

[state]
kind = "tethered"
x = [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]
v = [[0.0, 0.5], [0.3, 0.0], [0.1, 0.0]]
m = [1.0, 2.0, 0.5]

[[energy]]
kind = "tether"
k = [1.0, 1.0, 1.0]

[stepper]
kind = "leapfrog"
dt = 0.1

[run]
steps = 40

[fit]
method = "gauss_newton"
iterations = 30

[fit.parameters."tether.k"]

[fit.parameters.v]
body = "left"

[[fit.loss]]
kind = "misfit"
field = "x"
sigma = 0.01
data = "x.csv"
"""


def observed(seed: int = 0, sigma: float = SIGMA) -> dict[int, np.ndarray]:
    """Positions at the steps that are seen, with normal errors."""
    path, rng = leapfrog(X, V, M, K, 0.1, 40), np.random.default_rng(seed)
    return {s: path[s] + sigma * rng.normal(size=X.shape) for s in SEEN}


def table(data: dict[int, np.ndarray]) -> str:
    rows = [
        f"{0.1 * s:.17g}, {n}, {x:.17g}, {y:.17g}" for s, at in data.items() for n, (x, y) in enumerate(at)
    ]
    return "\n".join(["# made by hand", "time, node, x, y", *rows]) + "\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with the scene and its data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swing.toml").write_text(SCENE)
    (tmp_path / "x.csv").write_text(
        table(observed()).replace(", 0, ", ", left, ").replace(", 1, ", ", right, ")
    )
    return tmp_path


def fitted(overrides: dict | None = None, out: str = "run", **more: Any) -> Any:
    return fit("swing.toml", overrides or {}, out, [oscillators], **more)


# Scenes ---------------------------------------------------------------------------------------------


def test_all_mistakes_of_a_fit_at_once(here: Path, invoke) -> None:
    text = SCENE.replace('"gauss_newton"', '"gauss_newtn"').replace(
        "iterations = 30", "iterations = -1\nrat = 1"
    )
    text = text.replace("[fit.parameters.v]\nbody", "[fit.parameters.v]\nscal = 1\nrate = 0\nbody")
    text = text.replace('sigma = 0.01\ndata = "x.csv"', "sgma = 0.01")
    (here / "swing.toml").write_text(text + '[[fit.loss]]\nkind = "rech"\n')
    code, _, err = invoke("fit", "swing.toml", "--plugin", PLUGIN, 'fit.memory="a lot"')
    assert code == 2
    first, *lines, last = err.splitlines()
    assert first == (
        "override 'fit.memory=\"a lot\"': fit.memory: 'a lot' is not a size of memory; write it like"
        " '500 MB', '1 GiB', or in bytes"
    )
    assert lines == [
        "swing.toml:22:10: fit.method: needs 'gauss_newton', 'lbfgs', 'adam' or 'optimality_criteria', not"
        " 'gauss_newtn'; did you mean 'gauss_newton'?",
        "swing.toml:23:14: fit.iterations: needs a whole number of at least 0, not -1",
        "swing.toml:24:1: fit.rat: no key 'rat'; did you mean 'rate'? (keys: change, clip,"
        " constraint, first, gradient, iterations, loss, members, memory, method, move, of, pairs,"
        " parameters, rate, save_every)",
        "swing.toml:29:1: fit.parameters.v.scal: no key 'scal'; did you mean 'scale'? (keys: body, lower,"
        " rate, scale, start, upper)",
        "swing.toml:30:8: fit.parameters.v.rate: needs a number above 0, not 0",
        "swing.toml:33:7: fit.loss.0.data: required, but missing",
        "swing.toml:36:1: fit.loss.0.sgma: no key 'sgma'; did you mean 'sigma'? (keys: body, data, field,"
        " name, sigma, time_unit, unit)",
    ]
    assert last.startswith("swing.toml:38:8: fit.loss.1.kind: no loss named 'rech'; did you mean 'reach'?")
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("fit.rate", 0.1, 'fit.rate: belongs to method = "adam"; "gauss_newton" does not have it'),
        ("fit.pairs", 4, 'fit.pairs: belongs to method = "lbfgs"; "gauss_newton" does not have it'),
        ("fit.memory", "0 kB", "fit.memory: '0 kB' is not a size of memory; write it like '500 MB'"),
        ("fit.memory", True, "fit.memory: needs a whole number or text in quotes, not true"),
        ("fit.parameters", {}, "fit.parameters: needs at least 1 element, not 0"),
        ("fit.loss", [], "fit.loss: needs at least 1 element, not 0"),
        (
            "fit.loss.0",
            {"kind": "reach"},
            'fit.method: needs a loss that is a sum of squares, kind = "misfit", and '
            '\'reach\' is none that it knows; use method = "lbfgs" or "adam"',
        ),
        (
            "stepper",
            {"kind": "lbfgs"},
            "stepper.kind: stepper 'lbfgs': searches for a minimum, so a run of it has no derivative; use a"
            ' splitting scheme, such as leapfrog, or [fit] of = "equilibrium"',
        ),
        (
            "stepper",
            {"kind": "langevin", "dt": 0.1, "friction": 1.0, "temperature": 0.0},
            "stepper.kind: stepper 'langevin': a run in a heat bath has no derivative; use leapfrog",
        ),
        ("fit.parameters.q", {}, "fit.parameters.q: no field named 'q' (there are: x, v, m)"),
        ("fit.parameters", {"spring.k": {}}, "no term named 'spring' (there are: tether)"),
        ("fit.parameters", {"tether.q": {}}, "tether: no parameter named 'q' (there are: k)"),
        (
            "fit.parameters",
            {"tether.k": {"body": "left"}},
            "a parameter of a term has no `body`; leave it out",
        ),
        ("fit.parameters.v.body", "middle", "no body named 'middle' (there are: left, right)"),
        ("fit.parameters.v.start", [1.0, 2.0, 3.0], "start has shape [3], needs [1, 2] or [2]"),
        ("fit.parameters.v.lower", 0.1, "starts at 0, which is not between its bounds 0.1 and inf"),
        ("fit.parameters.v.scale", "1 kg", "'1 kg' is a mass, but 'm s^-1' (speed) is needed"),
        ("fit.parameters.v.scale", -1.0, "'v': scale must be positive and finite, got -1"),
        ("fit.loss.0.field", "q", "fit.loss.0: no field named 'q' (there are: x, v, m)"),
        ("fit.loss.0.body", "middle", "fit.loss.0: no body named 'middle'"),
        ("fit.loss.0.sigma", 0.0, "misfit.sigma: 0.0 is not within (0, inf)"),
        ("fit.loss.0.data", "y.csv", "fit.loss.0: cannot read 'y.csv' (No such file or directory)"),
        ("fit.loss.0.data", "../x.csv", "fit.loss.0: '../x.csv' lies outside the scene's folder"),
        ("run.steps", 39, "time 4 is step 40, and the run ends at 39; needed: [run] steps = 40"),
        ("stepper.dt", 0.3, "lies between two steps of 0.3 1: choose a dt that divides the times of all"),
    ],
)
def test_mistakes_that_have_a_place(key: str, value: Any, message: str, here: Path) -> None:
    with pytest.raises(SceneError) as error:
        fitted({key: value})
    assert message in str(error.value)
    assert not (here / "run").exists()


STEPPED = """
from minusgrad import Node, Parameter, hookimpl, local_energy, ti


@local_energy("stepped", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m", default=1.0))
def stepped(x, k):
    '''A stiffness in whole hundredths.'''
    return 0.5 * ti.floor(100.0 * k) / 100.0 * x[0].norm_sqr()


@hookimpl
def register_energies():
    return [stepped]
"""


def test_what_no_search_would_move_is_refused(here: Path) -> None:
    """The loss changes with a number whose derivative is zero; the initial velocities beside it are fine."""
    (here / "stepped.py").write_text(STEPPED)
    text = SCENE.replace('"tether"\nk = [1.0, 1.0, 1.0]', '"stepped"').replace("tether.k", "stepped.k")
    (here / "swing.toml").write_text(text)
    plugins = [oscillators, here / "stepped.py"]
    with pytest.raises(SceneError) as error:
        fit("swing.toml", {}, "run", plugins)
    line = text[: text.index("[fit.parameters.")].count("\n") + 1
    assert str(error.value).splitlines() == [
        f"swing.toml:{line}:17: fit.parameters.stepped.k: the loss changes with 'stepped.k', and its gradient"
        " is zero all along a step: a value is cast, cut off or frozen on the way, and nothing would move"
        " stepped.k; `minusgrad check` tells the line; [run] allow_dead = true runs all the same"
    ]
    assert not (here / "run").exists()
    allowed = {"run.allow_dead": True, "fit.iterations": 1}
    done = fit("swing.toml", allowed, "run", plugins)
    assert done.parameter_fit.objective.fields["stepped.k"].values == [1.0]


def test_a_smooth_fit_is_not_asked_for_dead_numbers(here: Path) -> None:
    assert build("swing.toml", {}, [oscillators]).suspects == set()


def test_losses_of_other_kinds_look_at_steps(here: Path) -> None:
    adam = {"fit.method": "adam", "fit.rate": 0.01, "fit.iterations": 1}
    for when, steps in (
        ({}, (40,)),
        ({"steps": "last"}, (40,)),
        ({"steps": [7, 0, 7]}, (0, 7)),
        ({"every": 20}, (0, 20, 40)),
    ):
        done = fitted(adam | {"fit.loss.0": {"kind": "reach", **when}}, force=True)
        assert done.parameter_fit.observed.losses[0].steps == steps
    for when, message in (
        ({"every": 20, "steps": "last"}, "fit.loss.0.every: either `steps` or `every`, not both"),
        ({"steps": [41]}, "fit.loss.0: looks at step 41, and the run ends at 40; needed: [run] steps = 41"),
        ({"steps": []}, "fit.loss.0.steps: names no step; leave it out for the last one"),
    ):
        with pytest.raises(SceneError, match=re.escape(message)):
            fitted(adam | {"fit.loss.0": {"kind": "reach", **when}}, force=True)


def test_sigmas_are_given_to_all_misfits_or_to_none(here: Path) -> None:
    first = {"kind": "misfit", "field": "x", "data": "x.csv"}
    with pytest.raises(SceneError, match=r"fit.loss.1: has no sigma, and another misfit has one"):
        fitted({"fit.loss": [first | {"sigma": 0.1}, first]})


def test_a_scene_with_a_fit_runs_and_one_without_cannot_be_fitted(here: Path, invoke) -> None:
    done = run("swing.toml", {}, "plain", [oscillators])
    assert done.simulation.stepper.step == 40
    assert not (here / "plain/inputs").exists()
    (here / "plain.toml").write_text(SCENE.partition("[fit]")[0])
    code, _, err = invoke("fit", "plain.toml", "--plugin", PLUGIN)
    assert (code, err) == (
        2,
        "minusgrad: plain.toml: has no [fit]; add one, or run the scene with `minusgrad run`\n",
    )


def test_the_schema_knows_losses() -> None:
    schema = schema_of(Registry.load(["core"], [oscillators]).models())
    text = json.dumps(schema)
    assert '"loss_misfit"' in text
    assert set(schema["$defs"]["loss_reach"]["properties"]) == {
        "kind", "name", "body", "fields", "steps", "every",
    }  # fmt: skip
    assert schema["$defs"]["fit"]["properties"]["loss"]["minItems"] == 1


def test_sizes_of_memory() -> None:
    assert [bytes_of(s) for s in ("1.5 GB", "1 GiB", "500MB", "12 B", 7)] == [
        1500000000,
        2**30,
        500000000,
        12,
        7,
    ]
    for bad in ("1 Gb", "much", "-1 B", "", 0, "1e3 MB", "9" * 50 + " B"):
        with pytest.raises(ValueError, match="in bytes"):
            bytes_of(bad)


# Files ----------------------------------------------------------------------------------------------

PLANE = Wanted("x", "position", (2,), [0, 1, 2], 3, ("left", "right", "2"))


def test_a_table_of_three_nodes_in_any_order() -> None:
    lines = table(data := observed()).splitlines()
    shuffled = "\n".join([*lines[:2], *reversed(lines[2:])])
    found = read_measurements("x.csv", shuffled.encode(), PLANE)
    np.testing.assert_array_equal(found.times, [0.1 * s for s in SEEN])
    np.testing.assert_array_equal(found.values, list(data.values()))
    assert found.places[0].startswith("x.csv:")


def test_tables_of_one_node_need_no_names() -> None:
    text = "# seen\ntime,m , note\n 0,1.5, a\n\n2.0 , 2.5,b\n"
    found = read_measurements("m.csv", text.encode(), Wanted("m", "m", (), [4], 7))
    np.testing.assert_array_equal(found.times, [0.0, 2.0])
    np.testing.assert_array_equal(found.values, [[1.5], [2.5]])
    found = read_measurements("v.csv", b"time,vx,vy\n0,1,2\n", Wanted("v", "velocity", (2,), [4], 7))
    np.testing.assert_array_equal(found.values, [[[1.0, 2.0]]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,x,y\n", "x.csv: has no rows below the column names; add at least one"),
        ("x,y\n1,2\n", "x.csv: no column named 'time' (there are: x, y)"),
        ("time,x\n1,2\n", "x.csv: no column named 'y' (there are: time, x)"),
        ("time,x,x\n1,2,3\n", "x.csv: 2 columns are named 'x'; give each its own name"),
        ("time,x,y\n1,2\n", "x.csv:2: needs as many values as the first row, 3, got 2"),
        ("time,x,y\n1,2," + "3" * 140_000, "x.csv:2: field larger than field limit (131072)"),
        ("# a\ntime,x,y\n1,2,nan\n", "x.csv:3: column 'y': needs a finite number, got 'nan'"),
        ("time,x,y\nnow,2,3\n", "x.csv:2: column 'time': needs a finite number, got 'now'"),
        ("time,x,y\n1,2,3\n", "x.csv: needs a column 'node' for 3 nodes; add it"),
        (
            "time,node,x,y\n1,9,2,3\n",
            "x.csv:2: column 'node': must be a node of the loss, got '9' (there are: left, right",
        ),
        (
            "time,node,x,y\n1,0,2,3\n1,left,2,3\n",
            "x.csv:3: time 1 appears twice; remove one row",
        ),
        ("time,node,x,y\n1,0,2,3\n1,2,2,3\n", "x.csv:2: node right is missing at time 1; add a row"),
        ("\x00\x01", "x.csv: has no rows"),
    ],
)
def test_tables_with_a_mistake(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_measurements("x.csv", text.encode(), PLANE)
    assert str(error.value).startswith(message)


def trajectory(fill: Callable[[h5py.File], None]) -> bytes:
    return durable.image(fill)


def written(value: Any, time: Any) -> Callable[[h5py.File], None]:
    def fill(file: h5py.File) -> None:
        file["particles/all/position/time"] = time
        file["particles/all/position/value"] = value

    return fill


def test_a_table_tells_vectors_of_three_at_most() -> None:
    message = "q.csv: field 'q': a table has at most 3 components, got 5; write a trajectory in HDF5"
    with pytest.raises(UserError, match=re.escape(message)):
        read_measurements("q.csv", b"time,x,y,z\n0,1,2,3\n", Wanted("q", "q", (5,), [0], 1))


def test_a_trajectory_of_ours_is_measured(here: Path) -> None:
    """The run's own path is fitted exactly by its own parameters; with units it comes back in the run's."""
    (here / "true.toml").write_text(
        SCENE.replace("k = [1.0, 1.0, 1.0]", f"k = {K.tolist()}").replace("[[0.0, 0.5]", "[[0.1, 0.4]")
    )
    done = run("true.toml", {"observe": [{"kind": "frames", "every": 4}]}, "true", [oscillators])
    (segment,) = (done.folder / "traj").glob("*40.*.h5")
    (here / "x.h5").write_bytes(segment.read_bytes())
    found = fitted({"fit.loss.0.data": "x.h5"})
    assert found.parameter_fit.observed.losses[0].steps == tuple(range(4, 41, 4))
    np.testing.assert_allclose(found.estimates.parameters[0].values, K, rtol=1e-8)
    np.testing.assert_allclose(found.estimates.parameters[1].values, V[0], rtol=1e-8)
    assert found.estimates.loss < 1e-12
    assert found.estimates.observations == 60
    two = fitted({"fit.loss.0.data": "x.h5", "fit.loss.0.body": ["right", "left"]}, "two").estimates
    np.testing.assert_allclose(two.parameters[0].values, [K[0], K[1], 1.0], rtol=1e-8)
    assert (two.observations, two.loss < 1e-12) == (40, True)
    assert two.undetermined == ["tether.k[2]"]


def test_units_of_a_file_and_of_the_scene() -> None:
    """A table in days and AU in a run that computes in hours and gigametres; a trajectory tells its own."""
    from minusgrad.assembly.fits.losses import FitLosses, RunSteps
    from minusgrad.scene.units import UnitSystem

    observer = object.__new__(FitLosses)
    observer.simulation = SimpleNamespace(units=UnitSystem.of("Gm", "kg", "h"))
    model = SimpleNamespace(data="x.csv", unit="AU", time_unit="day")
    assert observer._size(model, "unit", None, "m") == pytest.approx(149.5978707, rel=1e-15)
    assert observer._size(model, "time_unit", None, "s") == 24.0
    bare = SimpleNamespace(data="x.h5", unit=None, time_unit=None)
    assert observer._size(bare, "unit", None, "m") == 1.0
    assert observer._size(bare, "time_unit", 86400.0, "s") == 24.0
    with pytest.raises(UserError, match=r"'x.csv': gives its own unit; leave `unit` out"):
        observer._size(model, "unit", 1.0, "m")
    assert RunSteps(0.1, 40, "s").steps(SimpleNamespace(times=np.array([0.3, 0.7]), places=["a", "b"])) == (
        3,
        7,
    )


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (
            written(np.zeros((4, 3, 2)), np.zeros(3)),
            "for each row, got [4, 3, 2] and [3] times",
        ),
        (
            written(np.zeros((3, 2, 2)), np.zeros(3)),
            "needs shape [times, 3, ...], like the field 'x', and",
        ),
        (written(np.zeros((0, 3, 2)), np.zeros(0)), "one time for each row, got [0, 3, 2]"),
        (written(np.full((1, 3, 2), np.inf), np.zeros(1)), "row 0: contains NaN or infinity"),
        (
            lambda f: f.create_group("particles"),
            "has no 'particles/all/position/time' (in '/particles/' there",
        ),
        (lambda f: f.__setitem__("particles", 1.0), "has no 'particles/all/position/time' (in '/particles/'"),
        (
            lambda f: f.__setitem__("particles", h5py.ExternalLink("/etc/passwd", "x")),
            "'/particles' is a link; do not trust it",
        ),
        (
            lambda f: f.__setitem__("particles", h5py.SoftLink("/particles")),
            "'/particles' is a link; do not trust it",
        ),
        (written(np.array([b"a"]), np.zeros(1)), "plain arrays only; do not trust it"),
        (
            lambda f: f.create_dataset("particles/all/position/time", data=np.zeros(9), compression="gzip"),
            "'particles/all/position/time' is stored through a filter",
        ),
    ],
)
def test_trajectories_that_are_not_read(fill: Any, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_measurements("x.h5", trajectory(fill), PLANE)
    assert str(error.value).startswith("'x.h5'")
    assert message in str(error.value)


def test_a_master_or_rubbish_is_not_read(tmp_path: Path) -> None:
    def virtual(file: h5py.File) -> None:
        layout = h5py.VirtualLayout((2,), float)
        layout[:] = h5py.VirtualSource("/etc/passwd", "x", (2,))
        file.create_virtual_dataset("particles/all/position/time", layout)

    with pytest.raises(UserError, match=r"keeps its data in another file; for a run, name a segment"):
        read_measurements("x.h5", trajectory(virtual), PLANE)
    with pytest.raises(UserError, match=r"'x.h5': not a readable HDF5 file: "):
        read_measurements("x.h5", b"\x89HDF\r\n\x1a\n" + bytes(200), PLANE)
    data = trajectory(written(np.zeros((1, 3, 2)), np.zeros(1237)))
    with hdf5_trust.open_bytes(data) as file:
        offset = file["particles/all/position/time"].id.get_offset()
    many = data.replace(struct.pack("<qq", offset, 8 * 1237), struct.pack("<qq", offset, 8 * 10**11))
    many = many.replace(struct.pack("<q", 1237), struct.pack("<q", 10**11))  # 800 GB, it claims
    with pytest.raises(UserError, match=r"claims more bytes than the file has|invalid dataset size"):
        read_measurements("x.h5", many, PLANE)
    for end in range(20, len(data), 97):
        with pytest.raises(UserError):
            read_measurements("x.h5", data[:end], PLANE)


# The misfit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (2,), (3,)])
def test_the_misfit_is_half_the_squared_distance_in_sigmas(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, target, sigma = rng.normal(size=(5, *shape)), rng.normal(size=(5, *shape)), 0.3
    fields = Fields({"q": x}, {"q": "m s^-1"})
    term = bind(
        misfit(fields["q"]), fields, renamed={"x": "q"}, data={"target": target}, parameters={"sigma": sigma}
    )
    potential = Potential(fields, [term])
    assert potential.value() == pytest.approx(0.5 * ((x - target) ** 2).sum() / sigma**2, rel=1e-14)
    np.testing.assert_allclose(potential.gradient("q"), (x - target) / sigma**2, rtol=1e-14)
    assert term.energy.roles["sigma"].unit == "m s^-1"


def test_a_misfit_of_matrices_is_refused() -> None:
    with pytest.raises(EnergyError, match=r"misfit: needs numbers or vectors, got 'F' of shape \[4, 2, 2\]"):
        misfit(Fields({"F": np.zeros((4, 2, 2))})["F"])


# Objectives -----------------------------------------------------------------------------------------


class Squares:
    """The rollout of residuals r(p) with Jacobian J(p), of one sought field "p"."""

    label = "the run of the loss"

    def __init__(self, residuals: Callable, jacobian: Callable, start: Any):
        self.residuals, self.jacobian, self.p = residuals, jacobian, np.array(start, float)
        self.looks, self.trouble, self.writes = 0, "", 0

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass

    def value(self) -> float:
        self.looks += 1
        with np.errstate(invalid="ignore"):
            r = self.residuals(self.p)
        self.trouble = "" if np.isfinite(r).all() else "step 3: field 'x', node 0 is not finite"
        return np.nan if self.trouble else 0.5 * float(r @ r)

    def evaluate(self, names: Any) -> tuple[float, dict[str, np.ndarray]]:
        loss = self.value()
        slope = (
            np.full_like(self.p, np.nan) if self.trouble else self.jacobian(self.p).T @ self.residuals(self.p)
        )
        return loss, {"p": slope}

    def curvature(self, directions: Any) -> np.ndarray:
        J = self.jacobian(self.p) @ np.stack([d["p"] for d in directions], axis=1)
        return J.T @ J

    def objective(self) -> Any:
        def put(p: np.ndarray) -> None:
            self.p = p.copy()

        return RunObjective(self, [FitParameter("p", self.p.copy(), put)])


def line(n: int = 30, seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """A design matrix of a cubic, badly scaled, and data."""
    rng, t = np.random.default_rng(seed), np.linspace(0.0, 3.0, n)
    A = np.stack([np.ones(n), 1e3 * t, t**2, 1e-2 * t**3], axis=1)
    return A, A @ [1.0, -2e-3, 0.5, 30.0] + 0.1 * rng.normal(size=n)


def linear(A: np.ndarray, b: np.ndarray, start: Any = (0.0, 0.0, 0.0, 0.0)) -> Squares:
    return Squares(lambda p: A @ p - b, lambda p: A, start)


def valley(start: Any = (-1.2, 1.0)) -> Squares:
    """Rosenbrock's as residuals."""
    return Squares(
        lambda p: np.sqrt(2.0) * np.array([10.0 * (p[1] - p[0] ** 2), 1.0 - p[0]]),
        lambda p: np.sqrt(2.0) * np.array([[-20.0 * p[0], 10.0], [-1.0, 0.0]]),
        start,
    )


def decay(scale: float = 1.0) -> Squares:
    """y = a exp(-b t), where b is sought in some unit."""
    t = np.linspace(0.0, 4.0, 20)
    y = 3.0 * np.exp(-0.7 * t) + 0.01 * np.cos(40.0 * t)

    def jacobian(p: np.ndarray) -> np.ndarray:
        e = np.exp(-p[1] / scale * t)
        return np.stack([e, -p[0] * t / scale * e], axis=1)

    return Squares(lambda p: p[0] * np.exp(-p[1] / scale * t) - y, jacobian, (1.0, 0.1 * scale))


def test_the_oscillators_are_those_on_paper() -> None:
    path, w, h = leapfrog(X, V, M, K, 0.1, 40), np.sqrt(K / M)[:, None], 0.1
    phase = 40 * np.arccos(1.0 - 0.5 * (w * h) ** 2)
    amplitude = V / (w * np.sqrt(1.0 - 0.25 * (w * h) ** 2))
    np.testing.assert_allclose(path[40], X * np.cos(phase) + amplitude * np.sin(phase), rtol=1e-12)


def test_the_rollout_is_that_in_complex_numbers(here: Path) -> None:
    """Loss, gradients and the Gauss-Newton matrix, of all that may be sought together."""
    overrides = {"fit.parameters": {"tether.k": {}, "x": {}, "v": {}, "m": {"body": "right"}}}
    one = fitted(overrides | {"fit.iterations": 0}).parameter_fit
    rollout, coordinates = one.function, one.search.coordinates
    swing = Swing(one.simulation.stepper, one.observed.losses, 40)
    (loss, slopes), (expected, others) = (
        one.evaluate(["tether.k", "x", "v", "m"]) for one in (rollout, swing)
    )
    assert loss == pytest.approx(expected, rel=1e-13)
    for name, slope in slopes.items():
        np.testing.assert_allclose(slope, others[name], atol=1e-12 * np.abs(others[name]).max())
    matrix = one.objective.curvature(coordinates.directions())
    one.objective.rollout = swing
    best = one.objective.curvature(coordinates.directions())
    np.testing.assert_allclose(matrix, best, atol=1e-12 * np.abs(best).max())
    assert matrix.shape == (16, 16)


def test_an_objective_is_the_loss_of_the_run(here: Path) -> None:
    """Value and gradient where p is not what the scene has, against the formula and its differences."""
    objective = fitted({"fit.iterations": 0}).parameter_fit.objective
    k, v = K + 0.1, V[0] + 0.2

    def loss(k: np.ndarray, v: np.ndarray) -> float:
        path = leapfrog(X, np.array([v, *V[1:]]), M, k, 0.1, 40)
        return sum(0.5 * ((path[s] - x) ** 2).sum() for s, x in observed().items()) / SIGMA**2

    objective.fields["tether.k"].set(k)
    objective.fields["v"].set([v, *V[1:]])
    assert objective.value() == pytest.approx(loss(k, v), rel=1e-12)
    targets = {name: np.zeros(field.shape) for name, field in objective.fields.items()}
    assert objective.evaluate_into(targets) == pytest.approx(loss(k, v), rel=1e-12)
    h = 1e-6
    for i in range(3):
        e = h * np.eye(3)[i]
        assert targets["tether.k"][i] == pytest.approx((loss(k + e, v) - loss(k - e, v)) / (2 * h), rel=1e-6)
    for i in range(2):
        e = h * np.eye(2)[i]
        assert targets["v"][0, i] == pytest.approx((loss(k, v + e) - loss(k, v - e)) / (2 * h), rel=1e-6)


def test_an_objective_looks_once_at_one_place() -> None:
    squares = valley()
    objective = squares.objective()
    assert [objective.value(), objective.magnitude(), objective.by_term()["loss"]] == [squares.value()] * 3
    assert squares.looks == 2
    objective.fields["p"].set([1.0, 2.0])
    assert objective.value() == pytest.approx(100.0)
    assert squares.looks == 3


def test_a_run_that_explodes_is_nan_and_says_why() -> None:
    squares = Squares(lambda p: np.log(p), lambda p: np.diag(1.0 / p), [2.0])
    objective = squares.objective()
    objective.fields["p"].set([-1.0])
    assert np.isnan(objective.value())
    assert np.isnan(objective.evaluate_into({"p": np.zeros(1)}))
    assert (
        objective.first_nonfinite(0.0, ["p"])
        == "the run of the loss: step 3: field 'x', node 0 is not finite"
    )
    objective.fields["p"].set([1.0])
    assert objective.value() == 0.0
    assert objective.first_nonfinite(0.0, ["p"]) is None


# Gauss-Newton ---------------------------------------------------------------------------------------


def found(search: Minimiser) -> np.ndarray:
    return search.objective.fields["p"].values.copy()


def test_linear_least_squares_take_one_step_and_have_numpys_covariance() -> None:
    A, b = line()
    search = GaussNewton(linear(A, b).objective(), [Unknown("p", 0.3)], Tolerances(change=1e-9))
    search.advance(1)
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(found(search), best, rtol=1e-9)
    search.advance(5)
    assert (search.step, search.outcome) == (2, "settled")
    np.testing.assert_allclose(found(search), best, rtol=1e-10)
    curvature = search.objective.curvature(search.coordinates.directions())
    errors = standard_errors(curvature, np.ones(4, bool), np.dtype(float)).errors * search.coordinates.scale
    np.testing.assert_allclose(errors, np.sqrt(np.diag(np.linalg.inv(A.T @ A))), rtol=1e-9)


def test_the_valley_in_a_few_steps() -> None:
    search = GaussNewton(valley().objective(), [Unknown("p")], Tolerances(gradient=1e-12))
    search.advance(60)
    assert search.outcome == "converged"
    assert search.step < 30
    np.testing.assert_allclose(found(search), [1.0, 1.0], rtol=1e-12)


def test_every_step_goes_down_and_damping_fades() -> None:
    search = GaussNewton(valley().objective(), [Unknown("p")])
    energies, dampings = [search.energy], [search.damping]
    while search.outcome is None and search.step < 60:
        search.advance(1)
        energies.append(search.energy)
        dampings.append(search.damping)
    assert (np.diff(energies) < 0.0).all()
    assert max(dampings) > 0.0 == dampings[-1]


def test_units_do_not_matter() -> None:
    """The same iterates for a parameter in other units, though its scale is not given."""
    paths = []
    for unit in (1.0, 1e6):
        search, path = GaussNewton(decay(unit).objective(), [Unknown("p")]), []
        for _ in range(4):
            search.advance(1)
            path.append(found(search) / [1.0, unit])
        paths.append(path)
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-6)
    np.testing.assert_allclose(paths[0][-1], [3.0, 0.7], rtol=0.02)


def test_gauss_newton_keeps_to_bounds() -> None:
    """Against scipy, and by the signs of the slopes: a minimum within the box."""
    optimize = pytest.importorskip("scipy.optimize")
    A, b = line()
    lower, upper = -0.1, 1.05
    search = GaussNewton(
        linear(A, b).objective(), [Unknown("p", lower=lower, upper=upper)], Tolerances(1e-10)
    )
    search.advance(100)
    assert search.outcome == "converged", search.verdict
    best = optimize.lsq_linear(A, b, (lower, upper), tol=1e-14)
    np.testing.assert_allclose(found(search), best.x, rtol=1e-6)
    assert ((found(search) == lower) | (found(search) == upper)).any()


def test_what_cannot_be_told_apart_goes_the_shortest_way() -> None:
    """p0 + p1 alone is seen: undamped there is no solution."""
    A = np.array([[1.0, 1.0], [2.0, 2.0]])
    search = GaussNewton(
        linear(A, np.array([2.0, 4.0]), [0.0, 0.0]).objective(), [Unknown("p")], Tolerances(1e-9)
    )
    search.advance(50)
    assert search.outcome == "converged"
    np.testing.assert_allclose(found(search), [1.0, 1.0], atol=1e-8)


def test_gauss_newton_turns_back_from_where_there_is_no_number() -> None:
    squares = Squares(lambda p: 1.0 + np.log(p), lambda p: np.diag(1.0 / p), [5.0])
    search = GaussNewton(squares.objective(), [Unknown("p")], Tolerances(1e-10))
    search.advance(100)
    assert search.outcome == "converged"
    np.testing.assert_allclose(found(search), np.exp(-1.0), rtol=1e-9)


def test_no_way_down_is_stuck() -> None:
    wrong = Squares(lambda p: p, lambda p: np.diag([-1.0]), [1.0])  # uphill, it says
    search = GaussNewton(wrong.objective(), [Unknown("p")])
    search.advance(5)
    assert (search.outcome, search.step, found(search)[0]) == ("stuck", 0, 1.0)


def test_a_search_that_is_cut_and_restored_takes_the_same_steps() -> None:
    def bits(search: Minimiser) -> dict[str, bytes]:
        return {n: a.tobytes() for n, a in search.state().items()} | {"p": found(search).tobytes()}

    whole = GaussNewton(valley().objective(), [Unknown("p")])
    whole.advance(9)
    for cut in (1, 4, 8):
        first = GaussNewton(valley().objective(), [Unknown("p")])
        first.advance(cut)
        second = GaussNewton(valley((3.0, 3.0)).objective(), [Unknown("p")])
        second.objective.fields["p"].set(found(first))
        second.restore(first.state())
        second.advance(9 - cut)
        assert bits(second) == bits(whole)
        state = first.state()
        del state["damping"]
        with pytest.raises(CheckpointError, match="'stepper/damping' is missing"):
            second.restore(state)


def test_the_solution_of_a_system() -> None:
    rng = np.random.default_rng(3)
    scale = np.array([1.0, 1e8, 1e-8, 1.0, 3.0, 1e4])
    B = rng.normal(size=(9, 6)) * scale
    np.testing.assert_allclose(solved(B.T @ B, B.T @ B @ (1.0 / scale)), 1.0 / scale, rtol=1e-9)
    assert np.isnan(solved(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))).all()
    assert np.isnan(solved(np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones(2))).all()


# Standard errors ------------------------------------------------------------------------------------


def test_directions_that_the_data_do_not_determine() -> None:
    """Of four numbers one is alone, two are seen by their sum (in scaled variables), and one not at all."""
    J = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 4.0, 0.0], [1.0, 2.0, 8.0, 0.0]])
    answer = standard_errors(J.T @ J, np.ones(4, bool), np.dtype(float))
    alone, together = answer.undetermined
    np.testing.assert_array_equal(alone, [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(together * np.sign(together[1]), [0.0, 1.0, -0.25, 0.0], atol=1e-9)
    np.testing.assert_allclose(answer.errors, [np.sqrt(5.0 / 21.0), np.nan, np.nan, np.nan])
    assert answer.determined == 2


def test_what_is_at_a_bound_has_no_error_and_is_known() -> None:
    A, _ = line()
    moving = np.array([True, False, True, True])
    answer = standard_errors(A.T @ A, moving, np.dtype(float))
    B = A[:, moving]
    np.testing.assert_allclose(answer.errors[moving], np.sqrt(np.diag(np.linalg.inv(B.T @ B))), rtol=1e-8)
    assert np.isnan(answer.errors[1])
    assert answer.determined == 3


def test_a_bad_scale_is_no_singular_matrix() -> None:
    scale = np.array([1.0, 1e5, 1e-5])
    B = np.random.default_rng(4).normal(size=(10, 3))
    answer = standard_errors((B.T @ B) * np.outer(scale, scale), np.ones(3, bool), np.dtype(float))
    assert answer.undetermined == []
    np.testing.assert_allclose(answer.errors, np.sqrt(np.diag(np.linalg.inv(B.T @ B))) / scale, rtol=1e-9)


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (2.858345e-4, 1.234e-8, ("0.000285835", "1.2e-08")),
        (0.09992, 0.0099, ("0.0999", "0.0099")),
        (0.09992, 0.01, ("0.100", "0.010")),
        (9.9996, 0.001, ("9.9996", "0.0010")),
        (9.99996, 0.001, ("10.0000", "0.0010")),
        (-1234.5678, 25.0, ("-1235", "25")),
        (0.0, 0.5, ("0.00", "0.50")),
        (3.0, 40.0, ("3", "40")),
        (1.0 / 3.0, np.nan, ("0.3333333333", "")),
        (2.0, 0.0, ("2", "0")),
        (8.0e-7, 1.0e-6, ("8e-07", "1.0e-06")),
    ],
)
def test_values_are_told_to_the_second_digit_of_their_error(value: float, error: float, shown: tuple) -> None:
    assert rounded(value, error) == shown


def test_combinations_in_words() -> None:
    labels = ["m[sun]", "G", "k"]
    assert combination(np.array([1.0, -0.5, 0.0]), labels) == "m[sun] - 0.5 G"
    assert combination(np.array([-0.25, 1.0, 0.0]), labels) == "- 0.25 m[sun] + G"


# Whole fits -----------------------------------------------------------------------------------------


def exact(k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """(n, 5): the derivatives of all that is seen by k and by v of the left one, in complex steps."""
    columns = []
    for i in range(5):
        dk, dv = np.zeros(3, complex), np.zeros((3, 2), complex)
        (dk if i < 3 else dv[0])[i if i < 3 else i - 3] = 1e-30j
        path = leapfrog(X.astype(complex), np.array([v, *V[1:]]) + dv, M, k + dk, 0.1, 40)
        columns.append(np.concatenate([path[s].imag.ravel() / 1e-30 for s in SEEN]))
    return np.stack(columns, axis=1)


def numbers(done: Any) -> tuple[np.ndarray, np.ndarray]:
    parameters = done.estimates.parameters
    return np.concatenate([p.values for p in parameters]), np.concatenate([p.errors for p in parameters])


def test_a_fit_finds_what_made_the_data_with_the_errors_of_theory(here: Path) -> None:
    done = fitted()
    values, errors = numbers(done)
    assert done.outcome == "settled"
    assert (np.abs(values - [*K, *V[0]]) < 4.0 * errors).all()
    J = exact(values[:3], values[3:])
    np.testing.assert_allclose(errors, SIGMA * np.sqrt(np.diag(np.linalg.inv(J.T @ J))), rtol=1e-9)
    path = leapfrog(X, np.array([values[3:], *V[1:]]), M, values[:3], 0.1, 40)
    r = np.concatenate([(path[s] - x).ravel() for s, x in observed().items()])
    assert np.abs(J.T @ r).max() < 1e-8 * np.abs(J).sum()
    assert done.estimates.loss == pytest.approx(0.5 * r @ r / SIGMA**2, rel=1e-10)


@pytest.mark.parametrize("number", counts(14, 40))
def test_errors_are_those_of_many_data(number: int, here: Path) -> None:
    """Pulls of many fits have the mean 0 and the width 1: within four standard errors of each."""
    one, pulls = fitted({"fit.iterations": 0}).parameter_fit, []
    (loss,), objective = one.observed.losses, one.objective
    objective.rollout = Swing(one.simulation.stepper, [loss], 40)
    for seed in range(number):
        loss.data["misfit.target"][...] = list(observed(seed).values())
        search = GaussNewton(objective, one.parameters.unknowns, free=one.parameters.free)
        search.advance(8)
        z = search.coordinates
        errors = standard_errors(
            objective.curvature(z.directions()), np.ones(5, bool), np.dtype(float)
        ).errors
        pulls.append((z.read() - [*K, *V[0]]) / (z.scale * errors))
    pulls = np.array(pulls)
    assert (np.abs(pulls.mean(axis=0)) < 4.0 / np.sqrt(number)).all()
    assert (np.abs(pulls.std(axis=0) - 1.0) < 4.0 / np.sqrt(2.0 * number)).all()


def test_without_sigma_it_is_what_is_left_over(here: Path) -> None:
    given, sought = (
        fitted(),
        fitted({"fit.loss.0": {"kind": "misfit", "field": "x", "data": "x.csv"}}, "other"),
    )
    (values, errors), (others, more) = numbers(given), numbers(sought)
    np.testing.assert_allclose(values, others, rtol=1e-9)
    sigma = SIGMA * np.sqrt(2.0 * given.estimates.loss / (54 - 5))
    assert sought.estimates.sigma == pytest.approx(sigma, rel=1e-9)
    assert abs(sigma - SIGMA) < 4.0 * SIGMA / np.sqrt(2.0 * 49.0)
    np.testing.assert_allclose(more, errors * sigma / SIGMA, rtol=1e-9)
    assert given.estimates.sigma is None


@pytest.mark.parametrize(
    "overrides",
    [
        {"fit.method": "lbfgs", "fit.gradient": 1e-4, "fit.iterations": 200, "fit.pairs": 6},
        {"fit.method": "adam", "fit.rate": 0.02, "fit.gradient": 1e-1, "fit.iterations": 5000},
    ],
)
def test_other_methods_find_the_same(overrides: dict, here: Path) -> None:
    best, done = fitted(), fitted(overrides, "other")
    assert done.outcome == "converged", done.parameter_fit.stepper.verdict
    np.testing.assert_allclose(numbers(done)[0], numbers(best)[0], rtol=1e-5)
    np.testing.assert_allclose(numbers(done)[1], numbers(best)[1], rtol=1e-4)


def test_a_loss_of_ones_own_goes_down_and_has_no_errors(here: Path) -> None:
    """Minus how far the left one gets: its speed grows to the bound."""
    done = fitted(
        {
            "fit.method": "adam",
            "fit.rate": 0.1,
            "fit.iterations": 60,
            "fit.parameters": {"v": {"body": "left", "lower": -2.0, "upper": 2.0, "scale": 1.0}},
            "fit.loss": [{"kind": "reach", "body": "left", "steps": [15]}],
        }
    )
    loss = done.series("observables/loss").value
    assert loss[-1] < loss[0] - 1.5
    np.testing.assert_array_equal(done.estimates.parameters[0].values, [2.0, 0.5])
    assert np.isnan(done.estimates.parameters[0].errors).all()
    assert done.estimates.errors_from == "none, because the loss is not only misfits"
    assert done.estimates.as_dict()["parameters"]["v"]["at_bounds"] == ["v[left].x"]


def test_what_is_not_determined_is_told(here: Path, invoke) -> None:
    """Only k / m is seen of a mass on a tether."""
    overrides = ["fit.parameters={m={body='left'}, \"tether.k\"={}}", "fit.loss.0.sigma=0.01"]
    code, out, err = invoke("fit", "swing.toml", *overrides, "--out", "run", "--plugin", PLUGIN)
    assert (code, err) == (0, "")
    assert re.search(r"not determined by the data: (m\[left\] \+ \S+ tether|.*tether.k\[0\])", out)
    found = json.loads((here / "run/fit.json").read_text())
    assert found["parameters"]["m"]["standard_errors"] == [None]
    assert found["parameters"]["tether.k"]["standard_errors"][0] is None
    assert found["parameters"]["tether.k"]["standard_errors"][1] > 0.0
    assert len(found["undetermined"]) == 1


def test_where_a_search_starts_and_what_it_leaves_alone(here: Path) -> None:
    at_start = fitted({"fit.iterations": 0, "fit.parameters.v.start": [0.7, 0.8]})
    objective, fields = at_start.parameter_fit.objective, at_start.simulation.fields
    np.testing.assert_array_equal(objective.fields["v"].values, [[0.7, 0.8], [0.3, 0.0], [0.1, 0.0]])
    np.testing.assert_array_equal(fields["v"].values, objective.fields["v"].values)
    right = parameters({}, {"v": {"body": "right", "start": [[0.7, 0.8]]}}).listed[0]
    np.testing.assert_array_equal(right.start, [[0.0, 0.5], [0.7, 0.8], [0.1, 0.0]])
    done = fitted({"fit.parameters.v.start": [0.7, 0.8]}, "other")
    np.testing.assert_array_equal(
        done.parameter_fit.objective.fields["v"].values[1:], [[0.3, 0.0], [0.1, 0.0]]
    )


def test_parameters_keep_to_the_bounds_of_their_roles(here: Path) -> None:
    one = fitted({"fit.iterations": 0}).parameter_fit
    np.testing.assert_array_equal(one.search.coordinates.lower, [0.0, 0.0, 0.0, -np.inf, -np.inf])
    np.testing.assert_array_equal(one.search.coordinates.scale, [1.0, 1.0, 1.0, 0.5, 0.5])


def test_a_table_for_some_bodies_in_any_order(here: Path) -> None:
    """The right one's rows are the right one's, though the body is named first."""
    some = "\n".join(line for line in (here / "x.csv").read_text().splitlines() if ", 2, " not in line)
    (here / "two.csv").write_text(some)
    done = fitted({"fit.loss.0.data": "two.csv", "fit.loss.0.body": ["right", "left"]})
    values, errors = numbers(done)
    assert (np.abs(values - [*K, *V[0]]) < 4.0 * errors)[[0, 1, 3, 4]].all()
    assert np.isnan(errors[2])


def parameters(overrides: dict, tables: dict[str, dict]) -> FitParameters:
    plain = {"plugins": ["elastic"], "fit": {"method": "lbfgs", "iterations": 1, "parameters": tables}}
    plain["fit"]["loss"] = [{"kind": "reach"}]
    simulation = build("swing.toml", plain | overrides, [oscillators])
    of_run = Rollout(simulation.stepper, [], 0)
    return FitParameters(simulation, simulation.scene.fit.parameters, of_run)


def test_what_is_held_is_not_sought(here: Path) -> None:
    found = parameters({"hold": [{"body": "left", "axes": "y"}]}, {"x": {}, "v": {"body": ["right"]}})
    np.testing.assert_array_equal(found.free["x"], [[True, False], [True, True], [True, True]])
    np.testing.assert_array_equal(found.free["v"], [[False] * 2, [True] * 2, [False] * 2])


def test_friction_has_parameters_too(here: Path) -> None:
    friction = {"dissipation": [{"kind": "mass_damping", "rate": 2.0}]}
    found = parameters(friction, {"mass_damping.rate": {"start": 3.0, "upper": 4.0, "rate": 7.0}})
    (sought,), (unknown,) = found.listed, found.unknowns
    assert unknown == Unknown("mass_damping.rate", scale=3.0, lower=0.0, upper=4.0, rate=7.0)
    assert found.simulation.dissipation.parameter("mass_damping.rate") == 2.0
    sought.put(np.array(3.5))
    assert found.simulation.dissipation.parameter("mass_damping.rate") == 3.5
    assert found.label("mass_damping.rate", []) == "mass_damping.rate"


def test_an_open_bound_wants_a_closed_one_inside(here: Path) -> None:
    with pytest.raises(EnergyError, match=r"'k' could reach 0, and u.k is only defined within \(0, inf\)"):
        within_role(Unknown("k"), "u.k", Parameter(bounds=(0.0, np.inf), open=True))
    bounded = within_role(Unknown("k", lower=-1.0, upper=9.0), "u.k", Parameter(bounds=(0.0, 5.0)))
    assert (bounded.lower, bounded.upper) == (0.0, 5.0)


# The folder -----------------------------------------------------------------------------------------

SEARCHES = {
    "gauss_newton": {"fit.save_every": 2},
    "lbfgs": {"fit.method": "lbfgs", "fit.iterations": 25, "fit.save_every": 4},
    "adam": {"fit.method": "adam", "fit.rate": 0.02, "fit.iterations": 40, "fit.save_every": 7},
    "gauss_radau": {"stepper.kind": "gauss_radau", "stepper.dt": 0.5, "run.steps": 8, "fit.save_every": 2}
    | {"stepper.tolerance": 1e-2},
}
"""By method; the last of a run whose steps have substeps of lengths that are not stored."""


@pytest.mark.parametrize("method", SEARCHES)
def test_half_a_fit_and_half(method: str, here: Path) -> None:
    """Every file of the folder is the same, bit for bit; also moved, and with the data gone."""
    expected = files(fitted(SEARCHES[method], "whole").folder)
    with ctrl_c(3) as progress, pytest.raises(InterruptedRunError, match="interrupted and saved at step"):
        fitted(SEARCHES[method], "half", progress=progress)
    assert not (here / "half/fit.json").exists()
    assert last_saved(here / "half") >= 3
    (here / "half").rename(here / "moved")
    (here / "x.csv").unlink()
    done = resume("moved", [oscillators])
    assert done.estimates.iterations > 3
    assert files(here / "moved") == expected
    again = resume("moved", [oscillators])
    assert again.estimates.as_dict() == done.estimates.as_dict()
    assert files(here / "moved") == expected


def test_a_changed_fit_is_refused(here: Path) -> None:
    fitted({"fit.iterations": 3})
    text = (here / "run/scene.toml").read_text()
    (here / "run/scene.toml").write_text(text.replace("sigma = 0.01", "sigma = 0.02"))
    with pytest.raises(CheckpointError, match=r"scene.fit.loss.0.sigma: 0.01 then, 0.02 now"):
        resume("run", [oscillators])
    assert resume("run", [oscillators], allow_changed=True).estimates.loss > 0.0


def test_the_command_line(here: Path, invoke) -> None:
    code, out, err = invoke("fit", "swing.toml", "--out", "run", "--plugin", PLUGIN)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("storing all 40 steps (")
    assert re.fullmatch(r"run: \d+ iterations", lines[1])
    assert re.match(r"  settled: gradient .*; last change .*, asked 1e-08 \(step \d+\)", lines[2])
    assert re.fullmatch(r"  loss: 19.9\d+ over 54 observations", lines[3])
    assert re.search(r"^tether.k\[0\] +1.3\d\d\d +0.00\d\d ", out, re.MULTILINE)
    assert re.search(r"^v\[left\].y +0.3\d\d\d +0.00\d\d ", out, re.MULTILINE)
    assert "standard errors: from the Gauss-Newton Hessian of the loss and the sigma given" in out
    code, out, _ = invoke("resume", "run", "--plugin", PLUGIN, "--json")
    facts = json.loads(out)
    assert code == 0
    written = json.loads(Path("run/fit.json").read_text())
    assert facts == {"folder": "run", "remarks": []} | written
    code, out, _ = invoke("fit", "swing.toml", "--plugin", PLUGIN, "--json", "fit.iterations=2")
    assert code == 1  # it was asked to settle, and has not
    assert json.loads(out)["outcome"] == "finished"
    assert json.loads(out)["folder"] == "runs/swing-fit"
    code, out, _ = invoke("plot", "run")
    assert (code, out) == (0, "run/pictures/fit.png\nrun/pictures/fit_data.png\n")
    (one,) = fit_data.read(Path("run/fit.csv")).values()
    assert len(one.measured) == written["observations"]
    squares = ((one.measured - one.model) ** 2).sum()
    assert squares / (2.0 * one.sigma**2) == pytest.approx(written["loss"], rel=1e-9)
    assert Path("run/pictures/fit.png").read_bytes()[:4] == b"\x89PNG"
    assert invoke("fit", "swing.toml", "--out", "run", "--plugin", PLUGIN)[0] == 2
    assert invoke("fit", "swing.toml", "--out", "run", "--force", "--plugin", PLUGIN)[0] == 0


def test_many_components_are_summed_up(here: Path, invoke) -> None:
    overrides = ["fit.parameters={x={}, v={}}"]
    code, out, _ = invoke("fit", "swing.toml", *overrides, "--out", "run", "--plugin", PLUGIN)
    assert code == 0
    assert re.search(r"^x\[2\].y +0.3964 +0.0047", out, re.MULTILINE)
    assert re.search(r"^v\[2\].y +-0.8669 +0.0067", out, re.MULTILINE)
    assert "chi^2 / (n - p) = 1.03e+03 (far from 1: the model is wrong, or sigma too small by a factor" in out
    labels = [f"k[{n}]" for n in range(9)]
    errors = np.array([0.1] * 8 + [np.nan])
    rows = list(Estimate("k", "N m^-1", labels, np.arange(9.0), errors, np.arange(9) == 2).rows())
    assert rows[1:3] == [("k[1]", "1.00", "0.10", "N m⁻¹"), ("k[2]", "2.00", "at its bound", "N m⁻¹")]
    assert rows[6:] == [("... 3 more", "6 to 8", "0.1 to 0.1", "N m⁻¹")]


@pytest.mark.parametrize(
    ("reduced", "said"),
    [(4e-25, "far below 1"), (0.05, "far below 1"), (0.4, "about 1"), (2.0, "about 1"), (9.0, "far from 1")],
)
def test_chi_squared_is_judged_by_its_scatter(reduced: float, said: str) -> None:
    """Of 19 numbers to spare: by ratios below 1, where no difference is larger than 1."""
    one = Estimate("k", "1", ["k"], np.ones(1), np.ones(1), np.zeros(1, bool))
    found = Estimates("settled", "settled", 1, 1.0, 20, [one], "sigma", reduced=reduced)
    assert found.judgement.startswith(said)


def test_a_signal_ends_with_four_and_the_line_to_type(here: Path, invoke, monkeypatch) -> None:
    """The command line's own way: the fit asks itself to stop at its third look."""
    looks, evaluate = [], Rollout.evaluate

    def tired(self, names):
        looks.append(1)
        if len(looks) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return evaluate(self, names)

    monkeypatch.setattr(Rollout, "evaluate", tired)
    code, _, err = invoke("fit", "swing.toml", "--out", "run", "--plugin", PLUGIN)
    assert code == 4
    assert re.search(
        r"interrupted and saved at step \d of 30; continue with: minusgrad resume run --plugin", err
    )
    assert invoke("resume", "run", "--plugin", PLUGIN)[0] == 0
    assert (here / "run/fit.json").is_file()


def test_an_explosion_at_the_start_is_told(here: Path) -> None:
    with pytest.raises(NonFiniteError, match=r"step 0: the run of the loss: step \d: .*not finite"):
        fitted({"fit.parameters": {"tether.k": {"start": 1e200}}})
    assert not (here / "run").exists()


def test_a_budget_that_is_too_small_is_told_at_its_place(here: Path) -> None:
    with pytest.raises(SceneError, match="fit: "):
        fitted({"fit.memory": 100})
    best, lean = fitted(), fitted({"fit.memory": "2.2 kB"}, "lean")
    assert best.parameter_fit.plan != lean.parameter_fit.plan
    np.testing.assert_array_equal(numbers(best)[0], numbers(lean)[0])


def test_the_python_door_is_lazy_and_documented() -> None:
    assert minusgrad.fit is fit
    assert "`[fit]`" in (fit.__doc__ or "")


def test_a_plain_run_and_its_scene_are_as_before(here: Path) -> None:
    assert build("swing.toml", {}, [oscillators]).scene.fit is not None
