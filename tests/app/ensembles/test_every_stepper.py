"""Members by every family of steppers: each has the bits that it has alone."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad.app.results.ensemble_run import EnsembleRun
from minusgrad.app.runs import run
from minusgrad.files import trajectory
from minusgrad.files.h5md import EDGES
from tests.app.test_resume_matrix import CASES
from tests.support.command import own_files
from tests.support.ensembles import rows_of
from tests.support.short_scenes import path_of

VARIED = {
    "two_body run leapfrog f64": {"state.x": 1e-4, "state.m": 1e-3},
    "two_body run langevin f64": {"state.v": 1e-4, "state.m": 1e-3},
    "two_body run gauss_radau f64": {"state.x": 1e-4, "state.m": 1e-3},
    "two_body run wisdom_holman f64": {"state.v": 1e-4, "state.m": 1e-3},
    "chain_of_rods run leapfrog f64": {"state.m": 1e-3},
    "double_pendulum run variational by order 4 f64": {"state.q": 1e-3},
    "quenched_bar run gradient_flow by bdf2 f64": {"state.T": 1e-2},
    "argon_npt run npt f64": {"state.m": 1e-3},
    "stretch run newton f64": {"state.x": 1e-3},
    "billiards run evolution f64": {"state.x": 1e-3},
    "elastica run newton f64": {"state.x": 1e-5},
    "two_bar_truss run newton f64": {"state.x": 1e-3},
}
"""Fields that differ by so much of their largest value, by the case of the resume matrix."""
LONG = ("chain_of_rods run leapfrog f64", "argon_npt run npt f64", "two_body run wisdom_holman f64")
LONG += ("elastica run newton f64",)
"""Cases whose kernels take long to compile."""
NAMES = [pytest.param(n, marks=pytest.mark.long if n in LONG else ()) for n in VARIED]


@pytest.mark.parametrize("name", NAMES)
def test_a_member_has_the_bits_that_it_has_alone(name: str, tmp_path: Path) -> None:
    case, own = CASES[name], own_files(CASES[name].scene)
    vary = {field: {"jitter": size} for field, size in VARIED[name].items()}
    scene, given = path_of(case.scene), case.by(1) | {"ensemble": {"members": 3, "vary": vary}}
    all_ = run(scene, given, tmp_path / "all", own)
    assert isinstance(all_, EnsembleRun)
    assert not all_.failures
    given["ensemble"] |= {"member": 1}
    alone = run(scene, given, tmp_path / "alone", own)
    for series in trajectory.names(alone.folder):
        among = "observables/box/edges" if series == EDGES else series
        found = rows_of(all_.folder, among, 3, 1)
        assert alone.series(series).value.tobytes() == found.tobytes(), series
    assert np.array_equal(
        all_.ensemble.values(alone.simulation.stepper.moving[0].name)[1],
        alone.simulation.stepper.moving[0].values,
    )


def test_minimisers_stop_one_by_one(tmp_path: Path) -> None:
    """Each after the iterations that it takes alone; its rows end there, and it is exported so."""
    from minusgrad.app.compare import compare
    from minusgrad.app.ensembles.member_folder import write_member

    scene, vary = path_of("stretch"), {"neo_hookean.youngs_modulus": {"list": ["2 MPa", "3 MPa", "1 MPa"]}}
    given = {"ensemble": {"vary": vary}, "runtime.threads": 1, "stepper.gradient": "1e-6 J"}
    all_ = run(scene, given, tmp_path / "all")
    assert isinstance(all_, EnsembleRun)
    ends = {number: end.step for number, end in all_.ensemble.stepper.ends.items()}
    assert len(set(ends.values())) > 1
    assert all_.outcome == "converged"
    given["ensemble"] |= {"member": 2}
    alone = run(scene, given, tmp_path / "alone")
    assert alone.simulation.stepper.step == ends[2] < all_.ensemble.stepper.step
    assert compare(write_member(all_.folder, 2, tmp_path / "own"), alone.folder).differences == []
