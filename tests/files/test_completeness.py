"""Nothing that a run depends on is left out of a checkpoint: each stored number matters, none may be missing.

A moment of each kind of run is taken up again and run to its end, whole and with one stored array changed.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from minusgrad.app.run_options import as_overrides
from minusgrad.app.runs import build
from minusgrad.assembly.fits.fit import ParameterFit
from minusgrad.assembly.job import Job
from minusgrad.assembly.validation import validate
from minusgrad.errors import CheckpointError
from minusgrad.files import checkpoint, durable, hdf5_trust
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.run_folder import RECORDER
from minusgrad.scene.document import load
from minusgrad.steppers import scheduler
from tests.support.short_scenes import FITTERS, IN_TIME, SEARCHES, fitted, moved, path_of, searched
from tests.support.tiers import sampled

SPLIT = {
    "two_body": "leapfrog",
    "walker": "yoshida4",
    "warm_crystal": "langevin",
    "plummer": "symplectic_euler",
    "weigh_a_planet": "bdf2",
}
CASES = (
    [("run", scene, kind) for scene, kind in SPLIT.items()]
    + [("run", "stretch", kind) for kind in SEARCHES]
    + [("run", "laser_butterfly", "lbfgs")]
    + [("fit", "spring_stiffness", kind) for kind in FITTERS]
)
"""Every integrator's body, every minimiser, every fitter; every observer and every observed thing."""


UNHEARD = {"stepper/energy", "stepper/change", "stepper/growth"}
"""What a search says of its last step, and by how much it would damp more after a failure: some searches end
without asking for it."""

UNREAD = {"bdf2": {"stepper/gradient/x"}}
"""Forces that only observers read: an implicit step computes its own."""


def made(do: str, scene: str, kind: str) -> Job:
    if do == "fit":
        return ParameterFit(validate(load(path_of(scene), as_overrides(fitted(scene, kind)))))
    of = moved if scene in IN_TIME else searched
    return build(path_of(scene), of(scene, kind))


class Never:
    """A checkpoint that is never due."""

    class trigger:  # noqa: N801
        @staticmethod
        def due(step: int) -> bool:
            return False

        @staticmethod
        def after(step: int) -> None:
            return None

    @staticmethod
    def observe() -> None:
        """Nothing is saved."""


def whole_moment(one: Job) -> Snapshot:
    """A moment as a run folder saves it: with the rows that no segment has yet."""
    moment = one.snapshot()
    rows = {f"{RECORDER}/{name}": array for name, array in one.recorder.state().items()}
    return replace(moment, arrays=moment.arrays | rows)


def run_on(one: Job, steps: int) -> None:
    scheduler.run(one.stepper, steps, one.observers, Never())


def resumed(one: Job, moment: Snapshot, steps: int) -> dict[str, bytes]:
    """The hashes of the last moment of a run that goes on from this one."""
    one.restore(moment)
    run_on(one, steps)
    return checkpoint.sums(whole_moment(one))


def changed(array: np.ndarray) -> Iterator[np.ndarray]:
    """The same but for a little in all numbers (what is held is put back); then all zero."""
    if array.dtype.kind == "b":
        yield ~array
        return
    if array.dtype.kind in "iu":
        yield array + 1
        yield array * 0
        return
    finite = np.where(np.isfinite(array), array, 0.125).astype(array.dtype)
    yield (finite * array.dtype.type(1.001) + (finite == 0) * array.dtype.type(1e-3)).astype(array.dtype)
    yield np.zeros_like(array)


def matters(one: Job, moment: Snapshot, name: str, steps: int, uncut: dict[str, bytes]) -> bool:
    """Whether any change of an array changes how the run ends; that it fails is another end."""
    for array in changed(moment.arrays[name]):
        if np.array_equal(array, moment.arrays[name], equal_nan=True):
            continue
        try:
            if resumed(one, replace(moment, arrays=moment.arrays | {name: array}), steps) != uncut:
                return True
        except Exception:
            return True
    return False


@pytest.mark.parametrize("case", sampled(CASES, [c for c in CASES if c[2] != "gauss_newton"]), ids=" ".join)
def test_each_stored_number_matters_and_none_may_be_missing(case: tuple[str, str, str]) -> None:
    one = made(*case)
    steps = one.last
    for observer in one.observers:
        observer.observe()
    run_on(one, steps // 2 - 1)
    moment = whole_moment(one)
    run_on(one, steps)
    uncut = checkpoint.sums(whole_moment(one))
    assert resumed(one, moment, steps) == uncut, "the same objects go back and on"
    assert resumed(made(*case), moment, steps) == uncut, "and so do new ones"

    stored = [name for name, array in moment.arrays.items() if array.size]
    silent = [name for name in stored if not matters(one, moment, name, steps, uncut)]
    assert set(silent) <= UNHEARD | UNREAD.get(case[2], set())
    for name in silent:
        other = replace(moment, arrays=moment.arrays | {name: next(changed(moment.arrays[name]))})
        one.restore(other)
        assert checkpoint.sums(whole_moment(one)) == checkpoint.sums(other), "it is taken up all the same"

    for name in moment.arrays:
        other = replace(moment, arrays={n: a for n, a in moment.arrays.items() if n != name})
        with pytest.raises(CheckpointError, match=r"the checkpoint lacks '|are incomplete"):
            one.restore(other)
    foreign = replace(moment, arrays=moment.arrays | {"stepper/something": np.zeros(1)})
    with pytest.raises(CheckpointError, match="unexpected array 'stepper/something' in the checkpoint"):
        one.restore(foreign)


def test_dropping_a_whole_series_from_a_file_is_refused(tmp_path: Path) -> None:
    """What the recorder's rows are is known to the file alone: its hashes tell."""
    moment = Snapshot(3, 0.3, 0.1, {f"recorder/observables/total/{leaf}": np.zeros(2) for leaf in "abc"})
    path = checkpoint.save(tmp_path, moment)

    def fill(file: h5py.File) -> None:
        with hdf5_trust.open_bytes(path.read_bytes()) as whole:
            for name in whole:
                whole.copy(name, file)
            file.attrs.update(whole.attrs)
        del file["arrays/recorder"]

    bad = durable.write_new(tmp_path, "000000000004", durable.image(fill))
    with pytest.raises(CheckpointError, match="needs one SHA-256 for each array and one for the rest"):
        checkpoint.load(bad)


def test_a_moment_is_a_copy_even_of_what_a_plugin_works_with() -> None:
    """It is written while the run goes on."""
    one = made("run", "two_body", "leapfrog")
    live = np.zeros(3)
    for owner in (one.stepper, one.observers[0]):
        state = owner.state()
        owner.state = lambda state=state: state | {"live": live}
    moment = one.snapshot()
    live += 1.0
    assert moment.arrays["stepper/live"].tolist() == [0.0] * 3
    assert moment.arrays["observers/0/live"].tolist() == [0.0] * 3
    assert not any(np.shares_memory(a, f.values) for a in moment.arrays.values() for f in one.fields.values())
