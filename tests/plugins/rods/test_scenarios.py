"""Scenarios of rods as the adapter of CosseratBench reads them, stated without that package."""

import subprocess
import sys
from dataclasses import dataclass, field, replace
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minusgrad_rods.cosserat_bench import runs
from tests.plugins.rods.test_statics import elastica
from tests.support.laws import fitted_order
from tests.support.rods import EI


class End(Enum):
    FREE = "free"
    CLAMPED = "clamped"
    PINNED = "pinned"
    END = "end"


SOFT = SimpleNamespace(youngs_modulus=1e6, shear_modulus=1e6 / 3.0, density=1000.0)


@dataclass(frozen=True)
class StatedRod:
    """A straight rod as a scenario has it, without the benchmark's classes."""

    centerline: tuple = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    radius: float = 0.02
    length: float = 1.0
    friction: float = 0.0
    normal: tuple = (0.0, 0.0, 1.0)
    start: End = End.CLAMPED
    end: End = End.FREE
    loads: tuple = ()
    start_motion: Any = None
    end_motion: Any = None
    material: Any = field(default_factory=lambda: SOFT)

    def nodes(self, elements: int) -> np.ndarray:
        return np.linspace(*np.array(self.centerline), elements + 1)


def stated(rod: StatedRod, **more: Any) -> Any:
    given = {"gravity": (0.0, 0.0, 0.0), "obstacles": (), "duration": 1.0, "quasi_static": True}
    return SimpleNamespace(rods=(rod,), **given | more)


def cantilever(force: float) -> Any:
    return stated(StatedRod(loads=(SimpleNamespace(force=(0.0, 0.0, -force), at=End.END),)))


def test_the_cantilever() -> None:
    """F L^3 / 3 EI within 1e-3 at 20 elements; to the elastica of the same load with order 2."""
    force, errors = 7.5e-3, []
    exact = elastica(force / EI)[0]
    for n in (10, 20, 40):
        frames = runs.follow_scenario(cantilever(force), n, 3)
        assert frames.times.tolist() == [0.0, 0.5, 1.0]
        tip = -frames.positions[0][-1, -1, 2]
        errors.append(abs(tip / exact - 1.0))
        if n == 20:
            assert abs(tip / (force / (3.0 * EI)) - 1.0) < 9e-4
    assert abs(fitted_order(errors, (10, 20, 40)) - 2.0) < 0.1


def test_directors_start_as_given_and_stay_across() -> None:
    frames = runs.follow_scenario(cantilever(0.1), 8, 2)
    d1, tangents = frames.directors[0], np.diff(frames.positions[0], axis=1)
    np.testing.assert_allclose(d1[0], np.tile([0.0, 0.0, 1.0], (8, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(d1, axis=2), 1.0, atol=1e-12)
    assert np.abs((d1 * tangents).sum(axis=2)).max() < 1e-12
    assert d1[1, -1, 0] > 0.05  # it leans with the rod


def test_rods_need_no_benchmark() -> None:
    """The plugin, its scenes and the runs of scenarios import nothing of it."""
    code = "import sys, minusgrad_rods.cosserat_bench.runs; assert 'cosseratbench' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rods_of_several_materials() -> None:
    """Two cantilevers of different moduli side by side deflect as alone."""
    soft = cantilever(1e-3).rods[0]
    stiff = replace(soft, material=SimpleNamespace(youngs_modulus=2e6, shear_modulus=1e6, density=1000.0))
    both = SimpleNamespace(**vars(stated(soft)) | {"rods": (soft, stiff)})
    tips = [line[-1, -1, 2] for line in runs.follow_scenario(both, 6, 2).positions]
    alone = [runs.follow_scenario(stated(one), 6, 2).positions[0][-1, -1, 2] for one in (soft, stiff)]
    np.testing.assert_allclose(tips, alone, rtol=1e-9)


def turning(displacement: Any, *turns: Any, slides: Any = None) -> Any:
    """A motion of an end: one second for each turn (3,) after the first, none."""
    rotation = ((0.0,) * 3, *turns)
    axis = None if slides is None else np.array(slides, float) / np.linalg.norm(slides)
    moved = ((0.0,) * 3, *(displacement,) * len(turns))
    times = tuple(float(k) for k in range(len(rotation)))
    return SimpleNamespace(times=times, displacement=moved, rotation=rotation, slides_along=slides, axis=axis)


STILL = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        (turning((0.1, 0.0, 0.0), STILL), "an end that is moved"),
        (turning(STILL, STILL, slides=(1.0, 1.0, 0.0)), "slides along a direction that is no axis"),
        (turning(STILL, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "turns about more than one axis"),
    ],
)
def test_motions_that_the_model_does_not_have(motion, words) -> None:
    with pytest.raises(NotImplementedError, match=words):
        runs.follow_scenario(stated(StatedRod(end=End.CLAMPED, end_motion=motion)), 6, 3)


def test_a_clamp_turns_as_its_motion_says() -> None:
    """Slowly: the twist is even, as far as the end has turned."""
    motion = turning(STILL, (2.0, 0.0, 0.0), slides=(1.0, 0.0, 0.0))
    scenario = stated(StatedRod(end=End.CLAMPED, end_motion=motion), slowest_frequency=lambda: 1.0)
    d1 = runs.follow_scenario(scenario, 6, 3).directors[0]
    angles = -np.arctan2(d1[..., 1], d1[..., 2])
    np.testing.assert_allclose(angles[1], (np.arange(6) + 0.5) / 6.0, atol=0.06)
    np.testing.assert_allclose(angles[2], (np.arange(6) + 0.5) / 3.0, atol=0.06)
