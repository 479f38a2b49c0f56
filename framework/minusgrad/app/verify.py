"""Verification of a run folder: every file and array against its hash, and none missing.

Nothing is written: a running run can be verified, up to its newest checkpoint.
"""

import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CheckpointError, UserError
from ..files import checkpoint, durable, hdf5_trust, master_file, trajectory
from ..files.checkpoint import Snapshot
from ..files.hashes import vouched_files
from ..files.held import held_folders
from ..files.run_folder import INPUTS, RunDir
from ..scene.document import of_file


class Answer(NamedTuple):
    """The result for one file: its name, whether it is intact, and a sentence."""

    what: str
    passed: bool
    text: str

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()


def verify(path: Path) -> Iterator[Answer]:
    """Verify a run folder, file by file. Raises RunFolderError if it is not a run."""
    run = RunDir.open(path, read_only=True)
    running = run.is_running()
    vouched_files.forget()
    newest: Snapshot | None = None
    for file in checkpoint.list_checkpoints(path / "ckpt"):
        what = f"ckpt/{file.name}"
        try:
            found = checkpoint.load(file)
        except CheckpointError as error:
            if held_folders.status(file) is not None or not running:  # else a newer one has replaced it
                yield Answer(what, False, str(error))
            continue
        newest = found
        numbers = sum(array.nbytes for array in found.arrays.values())
        yield Answer(what, True, f"step {found.step}, {len(found.arrays)} arrays, {numbers} bytes")
    if newest is None:
        yield Answer("ckpt/", False, "no undamaged checkpoint: the run cannot be resumed")
        return
    if not running:  # else they come and go
        yield from _checkpoints(run, newest)
    yield from _inputs(run, newest)
    yield from _segments(run, newest, running)
    if running:
        yield Answer("run", True, f"running: checked up to step {newest.step}")


def _checkpoints(run: RunDir, newest: Snapshot) -> Iterator[Answer]:
    """Report checkpoints that the journal lists as saved and kept, but that are missing.

    After a change of the scene, which may keep fewer, only the newest is required.
    """
    saved: dict[int, dict[str, Any]] = {}
    for event in run.events():
        step = event.get("step", -1)
        if event.get("event") == "restored":
            saved = {s: old for s, old in saved.items() if s <= step}
        elif event.get("event") == "saved":
            saved = {s: old for s, old in saved.items() if old.get("scheduled")} | {step: event}
    scene, changed = newest.meta.get("scene"), any(e.get("event") == "changed" for e in run.events())
    table = scene.get("checkpoint") if isinstance(scene, Mapping) and not changed else None
    keep = max(1, table.get("keep", 1)) if isinstance(table, Mapping) else 1
    listed = checkpoint.list_checkpoints(run.path / "ckpt")
    known = {s for s in saved if saved[s].get("scheduled")}
    known |= {checkpoint.step_of(p) for p in listed if checkpoint.is_scheduled(p)}  # the journal comes last
    needed = {*sorted(known)[-keep:], *[s for s in saved if s > max(known, default=-1)]}
    there = {path.name for path in listed}
    for step in sorted(needed & saved.keys()):
        if (name := str(saved[step].get("checkpoint"))) not in there:
            text = "missing, although the journal lists it as saved; copy it again"
            yield Answer(f"ckpt/{name}", False, text)


def _inputs(run: RunDir, newest: Snapshot) -> Iterator[Answer]:
    """Compare the scene and its input files with the newest checkpoint."""
    same = newest.scene == run.scene
    yield Answer("scene.toml", same, "as the run was started" if same else "not that of the checkpoints")
    if same:
        given = _as_given(run, newest)
        text = "as the run was started" if given else "not those of the checkpoints, or damaged"
        yield Answer("overrides.json", given, text)
    files = newest.meta.get("files")
    for name, expected in (files if isinstance(files, Mapping) else {}).items():
        try:
            data = held_folders.read_file(run.path / INPUTS / name)
        except OSError as error:
            yield Answer(f"inputs/{name}", False, f"cannot be read: {error.strerror}")
            continue
        same = hashlib.sha256(data).hexdigest() == expected
        text = "as the run was started" if same else "has changed since the run was started"
        yield Answer(f"inputs/{name}", same, text)


def _as_given(run: RunDir, newest: Snapshot) -> bool:
    """True if scene and overrides agree with the newest checkpoint."""
    saved = newest.meta.get("scene")
    try:
        given = run.overrides
        if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
            return False
        if not isinstance(saved, Mapping):
            return True
        found = of_file(run.scene, run.path / "scene.toml", given).skeleton()[0]
    except (OSError, ValueError, UserError):
        return False
    return found is not None and _agree(saved, found.resolved())


def _agree(saved: Any, now: Any) -> bool:
    """True if every saved value is unchanged; the engine is ignored, as it may be that of the process."""
    if isinstance(saved, Mapping) and isinstance(now, Mapping):
        return all(key in now and _agree(saved[key], now[key]) for key in saved if key != "engine")
    if isinstance(saved, list) and isinstance(now, list):
        return len(saved) == len(now) and all(map(_agree, saved, now))
    return saved == now


def _segments(run: RunDir, newest: Snapshot, running: bool) -> Iterator[Answer]:
    """Verify each segment and the master file; no segment may be missing, and no series may go back."""
    sealed = newest.meta.get("sealed", newest.step)
    ends: dict[str, int] = {}
    whole, covered, todo = True, -1, trajectory.spans(run.path)
    while todo:
        (span, file), *todo = todo
        what = f"traj/{file.name}"
        if span.last > (newest.step if span.interim else sealed):
            yield Answer(what, True, "newer than the newest checkpoint; not used yet")
            continue
        try:
            text = _read(file, ends, covered if running else -1)
        except CheckpointError as error:
            if running and held_folders.status(file) is None:  # it was joined with others
                todo = [one for one in trajectory.spans(run.path) if one[0].last > covered]
                continue
            whole = False
            yield Answer(what, False, str(error))
        else:
            covered = max(covered, span.last)
            yield Answer(what, True, text)
    if missing := [] if running else _missing(run, newest, sealed):
        steps = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
        text = f"segments that the journal lists as saved are missing: of step {steps}"
        yield Answer("traj/", False, f"{text}; copy them again")
    elif whole and ends:
        yield Answer("traj/", True, f"{len(ends)} series, without a gap up to step {newest.step}")
    yield from _master(run, newest, whole and _writes_alike(newest), running)


def _missing(run: RunDir, newest: Snapshot, sealed: int) -> list[int]:
    """The steps of segments, sealed or interim, that are in use and missing."""
    there = [span for span, _ in trajectory.spans(run.path)]
    gone = [s for s in _saved(run, sealed) if not any(one.first <= s <= one.last for one in there)]
    for name in newest.meta.get("interim", []):
        wanted = trajectory.span(run.path / "traj" / name)
        if wanted and not any(one == wanted or one.covers(wanted) for one in there):
            gone.append(wanted.last)
    return gone


def _read(file: Path, ends: dict[str, int], covered: int) -> str:
    """Read a whole segment, after step `covered`; `ends`: the last step of each series so far."""
    rows = 0
    for name, part in trajectory.contents(file, covered):
        steps = part.step
        if len(part.time) != len(steps) or len(part.value) != len(steps) or (np.diff(steps) <= 0).any():
            raise CheckpointError(f"{file}: series '{name}' does not go forward step by step")
        if len(steps) and steps[0] <= ends.get(name, -1):
            raise CheckpointError(f"{file}: series '{name}' repeats step {steps[0]}")
        if len(steps):
            ends[name] = int(steps[-1])
        rows += len(steps)
    return f"{rows} rows"


def _saved(run: RunDir, sealed: int) -> list[int]:
    """The steps whose segments were saved according to the journal, and are in use."""
    steps: list[int] = []
    for event in run.events():
        step = event.get("step", -1)
        if event.get("event") == "restored":
            steps = [s for s in steps if s <= step]
        elif event.get("event") == "saved" and event.get("segment") and event.get("scheduled"):
            steps.append(step)
    return [s for s in dict.fromkeys(steps) if s <= sealed]


def _writes_alike(newest: Snapshot) -> bool:
    """True if this process would write the same bytes: its versions are those of the checkpoint."""
    versions = newest.meta.get("versions")
    names = ("minusgrad", "h5py")
    return isinstance(versions, Mapping) and all(versions.get(name) == version(name) for name in names)


def _master(run: RunDir, newest: Snapshot, alike: bool, running: bool) -> Iterator[Answer]:
    """Verify that trajectory.h5 refers to exactly the segments in use.

    alike: this process would write the same bytes, so they are compared, unless its layout is an older one.
    """
    sealed = newest.meta.get("sealed", newest.step)
    found = trajectory.spans(run.path, sealed)
    segments = [path for span, path in found if not span.interim or span.last <= newest.step]
    there = {f"traj/{p.name}" for p in segments}
    again = "`minusgrad resume` rewrites it"
    path = run.path / master_file.NAME
    if running:  # segments may be joined at this moment
        yield Answer(master_file.NAME, True, "not compared: the running run rewrites it every few seconds")
        return
    if not held_folders.is_file(path):
        if there:
            yield Answer(master_file.NAME, False, f"missing; {again}")
        return
    data = held_folders.read_file(path)
    if alike and there and data == master_file.image(segments):
        yield Answer(master_file.NAME, True, f"over {len(there)} segments, all there")
        return
    if hashlib.sha256(data).hexdigest() == _last_master(run):
        yield Answer(master_file.NAME, True, f"of some seconds before the run was killed; {again}")
        return
    try:
        with hdf5_trust.opened_file(path) as file:
            named, layout = master_file.sources(file), master_file.layout(file)
    except (CheckpointError, OSError, LookupError, TypeError, ValueError, RuntimeError) as error:
        yield Answer(master_file.NAME, False, f"cannot be read: {error}; {again}")
        return
    if alike and layout == master_file.LAYOUT:
        wrong = f"older than its segments, or damaged; {again}"
        yield Answer(master_file.NAME, False, wrong)
        return
    passed = named == there
    differing = ", ".join(sorted(named ^ there)[:3])
    wrong = f"names other segments than there are ({differing}); {again}"
    yield Answer(master_file.NAME, passed, f"over {len(named)} segments, all there" if passed else wrong)


def _last_master(run: RunDir) -> str | None:
    """The hash of the master file as the journal has it last."""
    events = run.events()
    if events and events[-1].get("event") == "finished":
        return None
    return next((e["master"] for e in reversed(events) if e.get("master")), None)


def strays(path: Path) -> list[str]:
    """Temporary files that a killed process left behind; the next `resume` deletes them."""
    found = (file.relative_to(path) for file, _ in held_folders.walk(path))
    return [str(file) for file in found if file.name.startswith(durable.TEMPORARY)]
