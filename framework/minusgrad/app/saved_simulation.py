"""The simulation of a run folder at one of its saved states; the folder stays as it is."""

from pathlib import Path

import numpy as np

from ..assembly.built_scene import BuiltScene
from ..assembly.ensembles.ensemble import Ensemble
from ..assembly.plugin_blame import blaming
from ..check.single_precision import in_double, term_in_f64
from ..energies.fields import Fields
from ..energies.term import Term
from ..errors import CheckpointError, RunFolderError
from ..files import checkpoint
from ..files.checkpoint import Snapshot
from ..files.run_folder import RunDir
from ..potential.constraints.constraints import Constraints
from ..potential.potential import Potential
from .jobs.job_runs import OTHER, rebuilt
from .run_options import Plugins


def saved_simulation(path: Path, at: int | None, plugins: Plugins, verb: str) -> tuple[BuiltScene, int]:
    """The simulation at its last saved state, or that of step `at`, and the step.

    path: the run folder. plugins: the files that the run was started with. verb: the command, for messages.
    Raises `RunFolderError` for a folder without a run, `CheckpointError` for a step that was not saved, and
    where the scene is no longer the one that was run.
    """
    folder = RunDir.open(path, read_only=True)
    snapshot = _snapshot(path, at)
    if snapshot.meta.get("fit") is True:
        raise RunFolderError(f"{path}: is a fit, which has no state of its own; give the folder of a run")
    job, grave, _ = rebuilt(folder, snapshot, plugins, verb=verb)
    assert isinstance(job, BuiltScene | Ensemble)
    if grave:
        raise CheckpointError("\n".join([f"{path}: {OTHER}", *grave, "run the scene again"]))
    if isinstance(job, Ensemble) and not job.alone:
        raise RunFolderError(
            f"{path}: is an ensemble of {job.stepper.count} members; give the folder of one, which"
            f" `minusgrad export {path} --member N` writes"
        )
    with blaming(job.registry):
        job.restore(snapshot)
    return (job.template if isinstance(job, Ensemble) else job), snapshot.step


def _snapshot(path: Path, at: int | None) -> Snapshot:
    """The newest undamaged checkpoint, or that of a step."""
    if at is not None:
        saved = {checkpoint.step_of(p): p for p in checkpoint.list_checkpoints(path / "ckpt")}
        if at not in saved:
            there = ", ".join(map(str, saved)) or "none"
            raise CheckpointError(
                f"{path}: no state of step {at} was saved (there are: {there}); [checkpoint] keep_every"
                " keeps more"
            )
        return checkpoint.load(saved[at])
    newest, remarks = checkpoint.newest(path / "ckpt")
    if newest is None:
        raise RunFolderError("\n".join([f"{path}: has no usable checkpoint; run the scene again", *remarks]))
    return checkpoint.load(newest)


def derivatives_in_double(potential: Potential) -> Potential:
    """The potential in f64, unless it has stages, whose kernels have one precision."""
    local = all(isinstance(part, Term) for part in potential.parts.values())
    return in_double(potential) if local and potential.fields.dtype != np.float64 else potential


def constraints_in_double(constraints: Constraints | None) -> Constraints | None:
    """The constraints in f64."""
    if constraints is None or constraints.fields.dtype == np.float64:
        return constraints
    return constraints_over(in_double(constraints.potential).fields, constraints)


def constraints_over(fields: Fields, constraints: Constraints) -> Constraints:
    """The constraints over the fields of a potential, which may be a copy in f64."""
    if constraints.fields is fields:
        return constraints
    return Constraints(fields, [term_in_f64(term, fields) for term in constraints.terms.values()])
