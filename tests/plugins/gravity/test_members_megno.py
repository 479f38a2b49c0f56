"""MEGNO of members in lanes: that of runs one by one; the same bits alone, in any number, and resumed."""

import numpy as np
import pytest

from minusgrad.app.jobs.job_runs import resume
from tests.support.command import files
from tests.support.ensembles import TWO_BODIES, ensemble, unlike, written
from tests.support.short_scenes import cut

MEGNO = '[[observe]]\nkind = "megno"\nevery = 5\n[ensemble]'


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Eccentric orbits of different strengths, which have room for three looks and one aside."""
    folder = tmp_path_factory.mktemp("megno")
    text = TWO_BODIES.replace("[ensemble]", MEGNO).replace("steps = 12", "steps = 18")
    return written(folder, text.replace("dt = 0.01", "dt = 0.1"))


@pytest.fixture(scope="module")
def whole(scene, tmp_path_factory):
    return ensemble(scene, tmp_path_factory.mktemp("whole") / "run").folder


def test_one_by_one(scene, whole, tmp_path):
    """The tangents are those of single runs, up to the rounding of members in lanes."""
    from minusgrad.files import trajectory

    single = ensemble(scene, tmp_path / "single", "ensemble.lanes=false", "ensemble.shard=[0, 3]").folder
    for name in ("observables/megno", "observables/lyapunov_time"):
        of_lanes, ordinary = trajectory.series(whole, name), trajectory.series(single, name)
        assert np.array_equal(of_lanes.step, [0, 5, 10, 15, 18])
        np.testing.assert_allclose(of_lanes.value[:, :3], ordinary.value, rtol=1e-9)


def test_a_member_alone_has_the_same_bits(scene, whole, tmp_path):
    alone = ensemble(scene, tmp_path / "alone", "ensemble.member=11").folder
    assert not unlike(alone, whole, 16, 11)


def test_a_resumed_run_has_the_same_bits(scene, whole, tmp_path):
    """Cut between two looks, where the tangents are those of earlier states."""
    out = cut(tmp_path / "half", scene, {}, 8)
    resume(out)
    assert files(out) == files(whole)
