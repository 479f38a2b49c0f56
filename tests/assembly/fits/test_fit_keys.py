"""What a scene may ask of a fit: every mistake at its place; the schema knows losses."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from minusgrad.app.runs import build, fit, run
from minusgrad.assembly.registry import Registry
from minusgrad.engine.memory import bytes_of
from minusgrad.errors import (
    SceneError,
)
from minusgrad.scene.json_schema import schema_of
from tests.support import oscillators
from tests.support.swing_fits import PLUGIN, SCENE, fitted


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
        "swing.toml:22:10: fit.method: needs 'gauss_newton', 'lbfgs', 'adam', 'gradient_descent' or"
        " 'optimality_criteria', not 'gauss_newtn'; did you mean 'gauss_newton'?",
        "swing.toml:23:14: fit.iterations: needs a whole number of at least 0, not -1",
        "swing.toml:24:1: fit.rat: no key 'rat'; did you mean 'rate'? (keys: batch, change, clip,"
        " constraint, first, gradient, held_out, iterations, loss, members, memory, method, move, of, pairs,"
        " parameters, rate, save_every, vary)",
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
        (
            "fit.rate",
            0.1,
            'fit.rate: belongs to method = "adam" and "gradient_descent"; "gauss_newton" does not have it',
        ),
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
        ("fit.loss.0.field", "q", "fit.loss.0.field: no field named 'q' (there are: x, v, m)"),
        ("fit.loss.0.body", "middle", "fit.loss.0.body: no body named 'middle'"),
        ("fit.loss.0.sigma", 0.0, "misfit.sigma: 0.0 is not within (0, inf)"),
        ("fit.loss.0.data", "y.csv", "fit.loss.0.data: cannot read 'y.csv' (No such file or directory)"),
        ("fit.loss.0.data", "../x.csv", "fit.loss.0.data: '../x.csv' lies outside the scene's folder"),
        ("run.steps", 39, "time 4 is step 40, and the run ends at 39; needed: [run] steps = 40"),
        ("stepper.dt", 0.3, "lies between two steps of 0.3 1: choose a dt that divides the times of all"),
    ],
)
def test_mistakes_that_have_a_place(key: str, value: Any, message: str, here: Path) -> None:
    with pytest.raises(SceneError) as error:
        fitted({key: value})
    assert message in str(error.value)
    assert not (here / "run").exists()


V = "[fit.parameters.v]"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('field = "x"', 'field = "q"', "32:9: fit.loss.0.field: no field named 'q'"),
        ('data = "x.csv"', 'data = "y.csv"', "34:8: fit.loss.0.data: cannot read 'y.csv'"),
        ("sigma = 0.01", 'sigma = "1 kg"', "33:9: fit.loss.0.sigma: '1 kg' is a mass"),
        ("sigma = 0.01", "sigma = -1.0", "33:9: fit.loss.0: misfit.sigma: -1"),
        ("sigma = 0.01", 'sigma = 0.01\nunit = "kg"', "34:8: fit.loss.0.unit: '1 kg' is a mass"),
        (V, V + '\nlower = "1 kg"', "28:9: fit.parameters.v.lower: '1 kg'"),
        (V, V + "\nlower = 1.0", "28:9: fit.parameters.v.lower: starts at"),
        (V, V + "\nstart = [1.0]", "28:9: fit.parameters.v.start: start has"),
        (V, "[fit.parameters.k]\n" + V, "27:17: fit.parameters.k: no field named 'k'; did you mean 'tether"),
    ],
)  # fmt: skip
def test_they_are_at_the_line_of_their_key(old: str, new: str, place: str, here: Path) -> None:
    text = SCENE.replace(old, new)
    assert text != SCENE
    (here / "swing.toml").write_text(text)
    with pytest.raises(SceneError) as error:
        fitted({})
    assert f"swing.toml:{place}" in str(error.value)


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
