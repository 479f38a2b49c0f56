"""Launches in slices: the bits of one launch, at any size of a slice, in scalar and in lane loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minusgrad.engine import slices
from minusgrad.engine.kernels import BoundKernel
from minusgrad.engine.slices import SlicePace
from tests.support.instances import CANONICAL, MAPS
from tests.support.layouts import everything, in_lanes
from tests.support.tiers import sampled

PAIRS = [
    *(name for name, instance in CANONICAL.items() if instance.energy.over == "pairs"),
    "electron_density",
]
KEPT = ("gravity", "electron_density")


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The slices that are launched; they get 1, 2, 3, ... jobs."""
    found: list[tuple[int, int]] = []
    run = SlicePace.run

    def seen(self, launch: Callable[[int, int], None], seconds: float = float("inf")) -> float:
        def note(begin: int, end: int) -> None:
            found.append((begin, end))
            self.size += 1
            launch(begin, end)

        self.size = 1
        return run(self, note, seconds)

    monkeypatch.setattr(SlicePace, "_adapt_size", lambda *_: None)
    monkeypatch.setattr(SlicePace, "run", seen)
    return found


@pytest.mark.parametrize("precision", sampled(["f64", "f32"], ["f64"]))
@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("name", sampled(PAIRS, KEPT))
def test_slices_leave_the_bits(
    name: str,
    lanes: bool,
    precision: str,
    launched: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    engine: None,
) -> None:
    instance: Any = (CANONICAL | MAPS)[name]
    in_lanes(monkeypatch, lanes)
    found = []
    for least in (float("inf"), 0):
        monkeypatch.setattr(slices, "LEAST_WORK", least)
        rng = np.random.default_rng(7)
        potential = instance.potential(rng, 2, n=61, e=37, precision=precision)
        found.append(everything(potential))
        assert bool(launched) == (least == 0)
    assert len({begin for begin, _ in launched}) > 2
    for what, expected in found[0].items():
        assert found[1][what].tobytes() == expected.tobytes(), what


def test_small_kernels_are_launched_at_once(engine: None) -> None:
    """Their text is as it was."""
    potential = CANONICAL["gravity"].potential(np.random.default_rng(7), 3, n=300)
    code, _ = potential.kernels["gravity"].emitter.value()
    assert code.slices is not None
    assert not code.slices.long(code.text)
    assert slices.BEGIN not in BoundKernel(code, "t").source


@pytest.mark.parametrize("lanes", [False, True])
def test_forces_that_are_added_are_added_once(
    lanes: bool, launched: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    """Of two terms the second adds to what the first has left."""
    in_lanes(monkeypatch, lanes)
    found = []
    for least in (float("inf"), 0):
        monkeypatch.setattr(slices, "LEAST_WORK", least)
        potential = CANONICAL["gravity"].potential(np.random.default_rng(7), 2, n=61)
        forces = np.ones_like(potential.fields["x"].values)
        potential.kernels["gravity"].gradient_into({"x": forces}, 0.0)
        found.append(forces)
    assert len(launched) > 2
    assert found[0].tobytes() == found[1].tobytes()
