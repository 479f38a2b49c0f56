"""Fits of equilibria: what a scene may say, what is refused and how, estimates by each method, `check`."""

import json
from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.errors import NonFiniteError, SceneError
from tests.support.command import SCENES
from tests.support.command import minusgrad as command
from tests.support.tiers import sampled

SHAPE = SCENES / "stiffness_from_shape.toml"


def refused(overrides: dict[str, object], tmp_path: Path) -> str:
    with pytest.raises(SceneError) as message:
        minusgrad.fit(SHAPE, overrides, tmp_path / "fit")
    assert not (tmp_path / "fit").exists()
    return str(message.value)


@pytest.mark.parametrize("method", sampled(["lbfgs", "adam"], []))
def test_each_method_lowers_the_misfit_of_the_shape(method: str, tmp_path: Path) -> None:
    own = {"fit.iterations": 30, "fit.rate": 0.1} if method == "adam" else {"fit.iterations": 12}
    fit = minusgrad.fit(SHAPE, own | {"fit.method": method}, tmp_path / "fit")
    loss = fit.series("observables/loss").value
    assert loss[-1] < 0.05 * loss[0]


@pytest.mark.long
def test_the_places_of_supports_are_found_from_the_shape_below_them(tmp_path: Path) -> None:
    """Held components are inputs of an equilibrium: here 22 of them, a millimetre off at the start."""
    truth = minusgrad.build(SHAPE).fields["x"].values
    top = minusgrad.build(SHAPE).bodies("top")[0].nodes
    start = truth[top] + 1e-3 * np.sin(np.arange(22.0)).reshape(11, 2)
    moduli = {"energy.0.youngs_modulus": "8 kPa", "energy.0.poissons_ratio": 0.35}
    table = {"x": {"body": "top", "start": start.tolist()}}
    fit = minusgrad.fit(SHAPE, moduli | {"fit.parameters": table}, tmp_path / "fit")
    (found,) = fit.estimates.parameters
    assert len(found.values) == 22
    assert np.abs(found.values - truth[top].ravel()).max() < 4.0 * found.errors.max() < 4e-4


def test_a_stepper_in_time_has_no_equilibrium(tmp_path: Path) -> None:
    text = refused({"stepper": {"kind": "leapfrog", "dt": 1e-3}}, tmp_path)
    assert text.endswith(
        "stepper.kind: stepper 'leapfrog': moves in time, and finds no equilibrium; use a minimiser, such as"
        ' "newton", or [fit] of = "run"'
    )


def test_a_minimiser_has_no_run_to_fit(tmp_path: Path) -> None:
    text = refused({"fit.of": "run"}, tmp_path)
    assert "stepper 'newton': searches for a minimum, so a run of it has no derivative" in text
    assert text.endswith("""use a splitting scheme, such as leapfrog, or [fit] of = "equilibrium\"""")


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"x": {"body": "bottom"}}, "'x': is sought on all of these nodes; fit nodes that are held"),
        (
            {"v": {}},
            "an equilibrium has no derivative with respect to 'v' (there are: m, x, neo_hookean.youngs",
        ),
    ],
)
def test_what_an_equilibrium_does_not_depend_on(table: dict, text: str, tmp_path: Path) -> None:
    assert text in refused({"fit.parameters": table}, tmp_path)


def test_losses_look_at_the_one_state_there_is(tmp_path: Path) -> None:
    text = refused({"stepper.time": "2 s"}, tmp_path)
    assert "time 0 is not that of the equilibrium, 2 s; give the measurements of one equilibrium, at" in text
    loss = [{"kind": "body_force", "acceleration": [0.0, -9.81], "steps": [3]}]
    text = refused({"fit.loss": loss, "fit.method": "lbfgs"}, tmp_path)
    assert "an equilibrium has one state and no steps; leave `steps` and `every` out" in text


def test_an_equilibrium_that_is_not_found_is_named(tmp_path: Path) -> None:
    with pytest.raises(NonFiniteError) as message:
        minusgrad.fit(SHAPE, {"run.steps": 1}, tmp_path / "fit")
    text = str(message.value)
    assert text.startswith("step 0: the equilibrium of the loss: not converged: gradient ")
    assert text.endswith("of the largest, asked 1e-09 (step 1)")


@pytest.mark.long
def test_check_asks_for_the_sensitivities_too(tmp_path: Path) -> None:
    done = command("check", SHAPE, "state.cells=[3, 3]", "--json")
    assert done.returncode == 0, done.stdout
    asked = [f for f in json.loads(done.stdout) if f["term"] == "newton"]
    assert {(f["question"], f["argument"]) for f in asked} == {
        ("transpose", ""),
        ("taylor", "neo_hookean.youngs_modulus"),
        ("taylor", "neo_hookean.poissons_ratio"),
    }
    assert all(f["passed"] for f in asked)
    assert all(1.9 < f["figure"] < 2.1 for f in asked if f["question"] == "taylor")
