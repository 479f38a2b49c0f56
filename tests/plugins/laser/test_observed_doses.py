"""What observers see of a deposition: scores, units, times."""

import dataclasses
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from minusgrad import Fields, hookimpl
from minusgrad.app.runs import build
from minusgrad.assembly.contexts import ObserverContext, StateContext
from minusgrad.energies.fields import State
from minusgrad.errors import EnergyError, UserError
from minusgrad.files.h5md import Raster
from minusgrad.files.trajectory import Recorder
from minusgrad_laser.observers import OBSERVERS, travel
from minusgrad_laser.scores import edge_placement
from minusgrad_laser.states import LaserPath
from tests.plugins.laser.starts import register_energies


class WithDose(LaserPath):
    """A state with a dose of its own, which nobody maintains."""

    def make(self, context: StateContext) -> State:
        state = super().make(context)
        dose = np.linspace(0.0, 2.0, len(state.fields["target"]))
        return dataclasses.replace(
            state, fields=dict(state.fields) | {"dose": dose}, units=dict(state.units) | {"dose": "1"}
        )


dosed = ModuleType("dosed")


@hookimpl
def register_states():
    return {"laser_path": WithDose}


dosed.register_states, dosed.register_energies = register_states, register_energies  # type: ignore[attr-defined]


@pytest.fixture
def looking(scene) -> Callable[..., ObserverContext]:
    def look(recorder: Recorder) -> ObserverContext:
        s = build(scene(), plugins=[dosed])
        return ObserverContext(s.units, s.stepper, recorder, s.state.labels, s.state, s.stepper.system)

    return look


def seen(observer) -> dict[str, np.ndarray]:
    """The values of what an observer has recorded, by series."""
    state = observer.recorder.state()
    return {name.removesuffix("/value"): rows for name, rows in state.items() if name.endswith("/value")}


def recorder() -> Recorder:
    return Recorder({}, ("s", 1.0), grids={"canvas": Raster((30, 40), 1.0, ("m", 1.0))})


SCORES = (
    "intersection_over_union",
    "edge_error_mean",
    "edge_error_95_percent",
    "edge_error_max",
    "over_exposed_area",
    "under_exposed_area",
)


def test_a_deposition_is_seen(looking) -> None:
    raster = Raster((30, 40), 1.0, ("m", 1.0))
    context = looking(recorder())
    noted = Recorder({}, ("s", 1.0), context.state.tuples, grids={"canvas": raster})
    context = dataclasses.replace(context, recorder=noted)
    fields = context.stepper.potential.fields
    block = OBSERVERS["deposition"].model_validate({"every": 3})
    observer = block.make(context)
    late = np.random.default_rng(0).uniform(0.0, 1.5, 1200)
    context.stepper.potential.refresh = lambda t: fields["dose"].set(late)
    rng = np.random.default_rng(1)
    n = len(fields["x"])
    for name in ("x", "y", "power", "speed"):
        fields[name].set(rng.uniform(0.5, 3.0, n))
    before = {name: f.values.copy() for name, f in fields.items() if name != "dose"}
    observer.observe()
    assert all(np.array_equal(fields[name].values, values) for name, values in before.items())
    assert observer.trigger.n == 3
    found, aim = seen(observer), before["target"]
    np.testing.assert_array_equal(found["grids/canvas/dose"][0], late.reshape(30, 40))
    np.testing.assert_array_equal(found["grids/canvas/error"][0], (late - aim).reshape(30, 40))
    xy = np.column_stack([before["x"], before["y"]])
    np.testing.assert_array_equal(found["particles/all/position"][0], xy)
    for name in ("power", "speed"):
        np.testing.assert_array_equal(found[f"cells/segments/{name}"][0], before[name][1:])
    assert found["observables/mean_square_error"][0] == pytest.approx(np.mean((late - aim) ** 2), rel=1e-13)
    assert found["observables/peak_dose"][0] == late.max()
    length = np.linalg.norm(np.diff(xy, axis=0), axis=1)
    assert found["observables/path_length"][0] == pytest.approx(length.sum(), rel=1e-13)
    assert found["observables/job_time"][0] == pytest.approx((length / before["speed"][1:]).sum(), rel=1e-13)
    assert set(found) == {
        "grids/canvas/dose", "grids/canvas/error", "particles/all/position", "cells/segments/power",
        "cells/segments/speed", "observables/mean_square_error", "observables/peak_dose",
        "observables/path_length", "observables/job_time", *(f"observables/{name}" for name in SCORES),
    }  # fmt: skip
    cut, wanted = late > 0.5, aim > 0.5
    overlap = (cut & wanted).sum() / (cut | wanted).sum()
    assert found["observables/intersection_over_union"][0] == pytest.approx(overlap, rel=1e-13)
    assert found["observables/over_exposed_area"][0] == (cut & ~wanted).sum()
    assert found["observables/under_exposed_area"][0] == (wanted & ~cut).sum()
    placed = edge_placement(late.reshape(30, 40), aim.reshape(30, 40), 1.0)
    for name, value in zip(
        SCORES[1:4], (placed.mean, placed.quantile(0.95), placed.largest_error), strict=True
    ):
        assert found[f"observables/{name}"][0] == pytest.approx(value, rel=1e-12)


def test_a_developed_map_is_scored_in_place_of_the_dose(looking) -> None:
    """And the time of planned motion stands in place of length over speed."""
    context = looking(recorder())
    fields = context.stepper.potential.fields
    noted = Recorder(
        {}, ("s", 1.0), context.state.tuples, grids={"canvas": Raster((30, 40), 1.0, ("m", 1.0))}
    )
    aim = fields["target"].values.astype(float)
    more = {"developed": aim, "duration": np.full(len(fields["x"]), 0.25)}
    both = Fields({name: f.values for name, f in fields.items()} | more)
    context.stepper.potential.fields = both
    context.stepper.fields = both
    context.stepper.potential.refresh = lambda t: None
    context = dataclasses.replace(context, recorder=noted)
    observer = OBSERVERS["deposition"].model_validate({"every": 1}).make(context)
    observer.observe()
    found = seen(observer)
    assert found["observables/intersection_over_union"][0] == 1.0
    assert found["observables/edge_error_max"][0] < 1e-12
    assert found["observables/job_time"][0] == 0.25 * len(both["x"])
    np.testing.assert_array_equal(found["grids/canvas/developed"][0], aim.reshape(30, 40))


def test_units_of_what_is_seen(looking) -> None:
    notes = recorder()
    OBSERVERS["deposition"].model_validate({"every": 1, "dose": "power"})
    OBSERVERS["deposition"].model_validate({"every": 1}).make(looking(notes))
    assert notes._units == {
        "dose": ("1", 1.0), "error": ("1", 1.0), "peak_dose": ("1", 1.0), "mean_square_error": ("1", 1.0),
        "job_time": ("s", 1.0), "path_length": ("m", 1.0), "position": ("m", 1.0),
        "power": ("m^2 kg s^-3", 1.0), "speed": ("m s^-1", 1.0), "intersection_over_union": ("1", 1.0),
        "edge_error_mean": ("m", 1.0), "edge_error_95_percent": ("m", 1.0), "edge_error_max": ("m", 1.0),
        "over_exposed_area": ("m^2", 1.0), "under_exposed_area": ("m^2", 1.0),
    }  # fmt: skip


def test_a_hatch_takes_so_long(start) -> None:
    """5 lines of 35 m and 4 steps of 6 m, at 2 m/s."""
    state = start(path={"kind": "hatch", "pitch": 6.0, "spacing": 1.0, "margin": 2.0})
    found = travel(Fields(state.fields), state.tuples["segments"])
    assert found == pytest.approx({"path_length": 199.0, "job_time": 99.5}, rel=1e-13)


def test_an_observer_that_has_no_dose(looking) -> None:
    context = looking(recorder())
    n = len(context.state.fields["x"])
    for name, message in (
        (
            "dosis",
            "no field named 'dosis'; did you mean 'dose'?"
            " (there are: x, y, power, speed, lit, target, share, dose)",
        ),
        ("power", f"dose: field 'power' has shape ({n},); the canvas has 1200 cells"),
    ):
        with pytest.raises((EnergyError, UserError)) as refused:
            OBSERVERS["deposition"].model_validate({"every": 1, "dose": name}).make(context)
        assert str(refused.value) == message
    bare = dataclasses.replace(context, state=dataclasses.replace(context.state, grids={}))
    with pytest.raises(UserError, match=r"^the state has no canvas; take \[state\] kind = 'laser_path'$"):
        OBSERVERS["deposition"].model_validate({"every": 1}).make(bare)
