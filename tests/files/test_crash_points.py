"""Power cuts: whatever a disk may hold after one, what was called saved is there.

A run is recorded as what it asks of the file system. After each request, folders are made of what a disk may
hold if the power goes at this moment, by the rules of POSIX: the bytes of a file are safe after its fsync;
its name, its new name and that it is gone after an fsync of its folder; a rename happens wholly or not at
all. Of all else any selection may be lost, and bytes may be torn. A kill alone loses nothing of what was
asked.
"""

import os
import random
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import RunFolderError
from minusgrad.files import checkpoint, compaction, durable, run_folder, trajectory, wall_clock
from minusgrad.files.checkpoint import Snapshot
from minusgrad.files.h5md import LEAVES
from minusgrad.files.held import system_calls
from minusgrad.files.run_folder import RECORDER, RunDir
from minusgrad.files.trajectory import Recorder, contents
from tests.support.tiers import sampled

SCENE = b"# a scene\n"
KEEP, KEEP_EVERY, JOINED = 2, 5, 3
END, EVERY = 14, 3
SECTOR = 512


@dataclass(eq=False)
class File:
    """Bytes as programs see them, and as the last fsync left them."""

    seen: bytes = b""
    safe: bytes = b""

    def sync(self) -> None:
        self.safe = self.seen


@dataclass(eq=False)
class Folder:
    """Names as programs see them, as the last fsync left them, and what has changed since, in order."""

    seen: "dict[str, File | Folder]" = field(default_factory=dict)
    safe: "dict[str, File | Folder]" = field(default_factory=dict)
    waiting: "list[dict[str, File | Folder | None]]" = field(default_factory=list)

    def change(self, names: "dict[str, File | Folder | None]") -> None:
        self.waiting.append(names)
        self.seen = _changed(self.seen, [names])

    def sync(self) -> None:
        self.safe, self.waiting = self.seen, []


def _changed(names, changes):
    merged = dict(names)
    for change in changes:
        merged.update(change)
    return {name: node for name, node in merged.items() if node is not None}


def _torn(file: File, chance: random.Random) -> bytes:
    """Each sector new, old or zero; the file's end somewhere between the old and the new."""
    shorter, longer = sorted([len(file.safe), len(file.seen)])
    old, new = file.safe.ljust(longer, b"\0"), file.seen.ljust(longer, b"\0")
    sectors = (chance.choice([old, new, new])[at : at + SECTOR] for at in range(0, longer, SECTOR))
    return b"".join(sectors)[: chance.choice([longer, chance.randint(shorter, longer)])]


NAMES: dict[str, Callable] = {
    "all": lambda folder, chance: folder.seen,
    "none": lambda folder, chance: folder.safe,
    "all but the last": lambda folder, chance: _changed(folder.safe, folder.waiting[:-1]),
    "the last alone": lambda folder, chance: _changed(folder.safe, folder.waiting[-1:]),
    "some": lambda f, chance: _changed(f.safe, [change for change in f.waiting if chance.random() < 0.5]),
}
"""Which names of a folder a power cut leaves."""
DATA: dict[str, Callable] = {
    "all": lambda file, chance: file.seen,
    "none": lambda file, chance: file.safe,
    "zeros": lambda file, chance: file.safe[: len(file.seen)].ljust(len(file.seen), b"\0"),
    "torn": _torn,
}
"""Which bytes of a file it leaves."""
CUTS = [
    *[(names, data) for names in ("all", "none", "all but the last") for data in ("all", "none")],
    *[("all", "zeros"), ("the last alone", "torn"), ("all", "torn"), ("some", "torn"), ("some", "all")],
    *[("some", "torn"), ("some", "all"), ("some", "none")],
]

Image = dict[str, bytes]
"""The files of a folder by their paths; an empty text by a path with a slash at its end for a folder."""


@dataclass
class Handle:
    path: Path
    node: File | Folder
    at: int | None
    """Where the next byte goes; None: at the end."""


class Disk:
    """Watches a folder; `points`: what a power cut or a kill may leave of it, and what was then said."""

    def __init__(self, root: Path):
        self.root, self.top, self.handles = root, Folder(), {}
        self.said = -1
        self.points: dict[frozenset[tuple[str, bytes]], int] = {}
        self._chance = random.Random(1)
        self._real = {name: getattr(os, name) for name in WATCHED}
        self._read(root, self.top)

    def _read(self, path: Path, folder: Folder) -> None:
        """What is there already is safe."""
        for entry in sorted(path.iterdir()):
            if entry.is_dir():
                folder.seen[entry.name] = below = Folder()
                self._read(entry, below)
            else:
                folder.seen[entry.name] = file = File(entry.read_bytes())
                file.sync()
        folder.sync()

    def say(self, step: int) -> None:
        """A save has returned."""
        self.said = step
        self._cut()

    def image(self, names: str = "all", data: str = "all") -> Image:
        found: Image = {}
        pending = [("", self.top)]
        while pending:
            place, folder = pending.pop()
            for name, node in NAMES[names](folder, self._chance).items():
                if isinstance(node, Folder):
                    found[f"{place}{name}/"] = b""
                    pending.append((f"{place}{name}/", node))
                else:
                    found[place + name] = DATA[data](node, self._chance)
        return found

    def _cut(self) -> None:
        for names, data in CUTS:
            point = frozenset(self.image(names, data).items())
            self.points[point] = max(self.said, self.points.get(point, -1))

    def _place(self, path, dir_fd=None) -> tuple[Path, Folder, str] | None:
        """The folder and the name that a path means; None outside."""
        full = (self.handles[dir_fd].path if dir_fd in self.handles else Path()) / path
        if full == self.root or not full.is_relative_to(self.root):
            return None
        folder = self.top
        *above, name = full.relative_to(self.root).parts
        for part in above:
            folder = folder.seen[part]
        return full, folder, name

    def open(self, path, flags, mode=0o777, *, dir_fd=None):
        descriptor = self._real["open"](path, flags, mode, dir_fd=dir_fd)
        if (place := self._place(path, dir_fd)) is not None:
            full, folder, name = place
            if name not in folder.seen:
                folder.change({name: File()})
                self._cut()
            assert not flags & os.O_TRUNC
            self.handles[descriptor] = Handle(full, folder.seen[name], None if flags & os.O_APPEND else 0)
        elif Path(path) == self.root:
            self.handles[descriptor] = Handle(self.root, self.top, None)
        return descriptor

    def close(self, descriptor):
        self.handles.pop(descriptor, None)
        self._real["close"](descriptor)

    def write(self, descriptor, data):
        written = self._real["write"](descriptor, data)
        if (handle := self.handles.get(descriptor)) is not None:
            file = handle.node
            at = len(file.seen) if handle.at is None else handle.at
            new = bytes(data[:written])
            file.seen = file.seen[:at].ljust(at, b"\0") + new + file.seen[at + written :]
            handle.at = None if handle.at is None else at + written
            self._cut()
        return written

    def fsync(self, descriptor):
        if (handle := self.handles.get(descriptor)) is not None:
            handle.node.sync()
            self._cut()

    def posix_fallocate(self, descriptor, start, length):
        self._real["posix_fallocate"](descriptor, start, length)
        if (handle := self.handles.get(descriptor)) is not None:
            handle.node.seen = handle.node.seen.ljust(start + length, b"\0")
            self._cut()

    def ftruncate(self, descriptor, length):
        self._real["ftruncate"](descriptor, length)
        if (handle := self.handles.get(descriptor)) is not None:
            file = handle.node
            file.seen = file.seen[:length].ljust(length, b"\0")
            self._cut()

    def replace(self, source, target, *, src_dir_fd=None, dst_dir_fd=None):
        self._real["replace"](source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        if (place := self._place(source, src_dir_fd)) is not None:
            (_, folder, old), (_, to, new) = place, self._place(target, dst_dir_fd)
            assert to is folder, "only within one folder"
            folder.change({old: None, new: folder.seen[old]})
            self._cut()

    def mkdir(self, path, mode=0o777, *, dir_fd=None):
        self._real["mkdir"](path, mode, dir_fd=dir_fd)
        if (place := self._place(path, dir_fd)) is not None:
            place[1].change({place[2]: Folder()})
            self._cut()

    def unlink(self, path, *, dir_fd=None):
        self._real["unlink"](path, dir_fd=dir_fd)
        self._gone(path, dir_fd)

    def rmdir(self, path, *, dir_fd=None):
        self._real["rmdir"](path, dir_fd=dir_fd)
        self._gone(path, dir_fd)

    def _gone(self, path, dir_fd) -> None:
        if (place := self._place(path, dir_fd)) is not None:
            place[1].change({place[2]: None})
            self._cut()


WATCHED = [
    "open",
    "close",
    "write",
    "fsync",
    "posix_fallocate",
    "ftruncate",
    "replace",
    "mkdir",
    "unlink",
    "rmdir",
]


@contextmanager
def watched(root: Path) -> Iterator[Disk]:
    """A disk that sees all that is done below a folder: else what it saw is not what is there."""
    disk = Disk(root)
    with pytest.MonkeyPatch.context() as patch:
        for name in WATCHED:
            patch.setattr(os, name, getattr(disk, name))
        yield disk
    there = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    assert {name: data for name, data in disk.image().items() if not name.endswith("/")} == there


def _value(step: int) -> float:
    return float(np.sin(step))


def _record(to: Recorder, step: int, value: float | None = None) -> None:
    to.record_observables(step, 0.1 * step, {"total": _value(step) if value is None else value})
    if step % 2 == 0:
        to.record_frame(step, 0.1 * step, {"position": np.full((2, 2), step + 0.5)})


def _moment(step: int, scene: bytes) -> Snapshot:
    return Snapshot(step, 0.1 * step, 0.1, {"fields/x": np.full(2, step + 0.25)}, scene=scene)


def _recorder() -> Recorder:
    return Recorder({}, ("s", 1.0))


def _say_nothing(step: int) -> None:
    pass


def _simulate(run: RunDir, rows: Recorder, begin: int, end: int, every=1, say=_say_nothing) -> None:
    for step in range(begin + 1, end + 1):
        _record(rows, step)
        if step % every == 0:
            run.save(_moment(step, run.scene), rows, KEEP, keep_every=KEEP_EVERY)
            say(step)


def _start(path: Path, end: int, every=1, say=_say_nothing, scene: bytes = SCENE, force=False) -> None:
    with RunDir.create(path, scene, [], force) as run:
        run.save(_moment(0, scene), _recorder(), KEEP)
        say(0)
        _simulate(run, _recorder(), 0, end, every, say)


def _go_on(path: Path, end: int, every=1, say=_say_nothing) -> None:
    with RunDir.open(path) as run:
        snapshot, _ = run.restore()
        rows = _recorder()
        rows.restore(snapshot.arrays_under(RECORDER))
        run.tidy(KEEP, KEEP_EVERY)
        _simulate(run, rows, snapshot.step, end, every, say)


def _interrupted(path: Path, step: int, say) -> None:
    """Go on to a moment that the schedule did not ask for."""
    with RunDir.open(path) as run:
        snapshot, _ = run.restore()
        rows = _recorder()
        rows.restore(snapshot.arrays_under(RECORDER))
        for each in range(snapshot.step + 1, step + 1):
            _record(rows, each)
        run.save(_moment(step, run.scene), rows, KEEP, seal=False)
        say(step)


def _plainly(root: Path, path: Path) -> Disk:
    """From nothing, in folders that are new, too, with interruptions between."""
    with watched(root) as disk:
        _start(path, 6 * EVERY, EVERY, disk.say)
        _interrupted(path, 6 * EVERY + 1, disk.say)
        _interrupted(path, 6 * EVERY + 2, disk.say)
        _go_on(path, END * EVERY, EVERY, disk.say)
    return disk


def _by_the_clock(root: Path, path: Path) -> Disk:
    """Default settings: scheduled saves are rare, those of the clock frequent, and the master is not
    rewritten at each; in between a kill, an interruption, and a newest save that is damaged."""
    clock = [0.0]
    with watched(root) as disk, pytest.MonkeyPatch.context() as patch:
        patch.setattr(wall_clock, "now", lambda: clock[0])
        patch.setattr(run_folder, "RENEWAL", 5.0)
        with RunDir.create(path, SCENE, []) as run:
            run.save(_moment(0, SCENE), _recorder(), KEEP)
            disk.say(0)
        for last in (9, 15, 26):
            with RunDir.open(path) as run:
                snapshot, _ = run.restore()
                rows = _recorder()
                rows.restore(snapshot.arrays_under(RECORDER))
                run.tidy(KEEP, KEEP_EVERY)
                for step in range(snapshot.step + 1, last + 1):
                    _record(rows, step)
                    clock[0] += 1.0
                    if step % (4 * EVERY) == 0 or step > 20:
                        run.save(_moment(step, SCENE), rows, KEEP, keep_every=KEEP_EVERY)
                    elif step % 2:
                        run.save(_moment(step, SCENE), rows, KEEP, False, KEEP_EVERY, checkpoint.INTERIM)
                    else:
                        continue
                    disk.say(step)
                if last < 26:
                    run.save(_moment(last, SCENE), rows, KEEP, seal=False)
    return disk


def _over_a_lost_attempt(root: Path, path: Path) -> Disk:
    """A run that goes on where segments lie that no checkpoint stands for, with other rows."""
    _start(path, 4)
    for step in (5, 6, 7):
        lost = _recorder()
        _record(lost, step, 42.0)
        lost.seal(path / "traj", step)
    with watched(root) as disk:
        disk.said = 4
        _go_on(path, 12, every=2, say=disk.say)
    return disk


def _back(root: Path, path: Path) -> Disk:
    """A run whose newest checkpoints were damaged, so that it cuts what was joined."""
    _start(path, 13)
    for newest in checkpoint.list_checkpoints(path / "ckpt")[2:]:
        newest.write_bytes(b"damaged")
    lines = (path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not any(b'"saved", "step": %d,' % k in line for k in range(6, END))]
    (path / "journal.jsonl").write_bytes(b"".join(kept))
    with watched(root) as disk:
        disk.said = 5
        _go_on(path, END, say=disk.say)
    return disk


def _anew(root: Path, path: Path) -> Disk:
    """A run that takes the place of another."""
    _start(path, 9, scene=b"# an older scene\n")
    with watched(root) as disk:
        _start(path, 5, say=disk.say, force=True)
    return disk


RUNS = {
    "from nothing": _plainly,
    "over a lost attempt": _over_a_lost_attempt,
    "back before damage": _back,
    "in another's place": _anew,
    "by the clock": _by_the_clock,
}


@pytest.fixture(autouse=True)
def joined_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three make one, every save rewrites the master, and only the watched disk waits."""
    monkeypatch.setattr(run_folder, "RENEWAL", 0.0)
    monkeypatch.setattr(compaction, "JOINED", JOINED)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class Shelf:
    """Makes folders of images, one at a time; what does not change in place is one file with many names."""

    def __init__(self, folder: Path):
        self.kept, self.folder = folder / "kept", folder / "cut"
        self.kept.mkdir()
        self.folder.mkdir()
        self._files: dict[bytes, Path] = {}

    def made(self, image: Image) -> Path:
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if not path.is_dir():
                path.unlink()
            elif f"{path.relative_to(self.folder)}/" not in image:
                path.rmdir()
        for name, data in sorted(image.items()):
            path = self.folder / name
            if name.endswith("/"):
                path.mkdir(exist_ok=True)
            elif path.suffix == ".jsonl":
                path.write_bytes(data)
            else:
                os.link(self._file(data), path)
        return self.folder / PLACE

    def _file(self, data: bytes) -> Path:
        if data not in self._files:
            self._files[data] = self.kept / str(len(self._files))
            self._files[data].write_bytes(data)
        return self._files[data]


def _restored(path: Path, said: int) -> Snapshot | None:
    """What the run goes on from: what was called saved, or newer. None if nothing was, and there is none."""
    if not (path / "scene.toml").exists() or (path / "scene.toml").read_bytes() != SCENE:
        assert said < 0, f"step {said} was called saved, and there is no run"
        return None
    with RunDir.open(path) as run:
        said = max([said, *(event["step"] for event in run.events() if event["event"] == "saved")])
        try:
            snapshot, _ = run.restore()
        except RunFolderError:
            assert said < 0, f"step {said} was called saved, and there is no checkpoint"
            return None
    assert snapshot.step >= said, f"step {said} was called saved"
    return snapshot


def _assert_whole(path: Path, snapshot: Snapshot) -> None:
    """The moment is that of its step, and every row up to it is there, once."""
    right, sealed = _moment(snapshot.step, SCENE), snapshot.meta["sealed"]
    assert (snapshot.time, snapshot.dt, snapshot.scene) == (right.time, right.dt, SCENE)
    np.testing.assert_array_equal(snapshot.arrays["fields/x"], right.arrays["fields/x"])
    assert sealed <= snapshot.step
    whole = _recorder()
    for step in range(1, snapshot.step + 1):
        _record(whole, step)
    state, waiting = whole.state(), snapshot.arrays_under(RECORDER)
    for name in sorted(name.removesuffix("/step") for name in state if name.endswith("/step")):
        parts = [[waiting[f"{name}/{leaf}"]] if f"{name}/step" in waiting else [] for leaf in LEAVES]
        held = [rows[name] for _, p in trajectory.spans(path, sealed) if name in (rows := dict(contents(p)))]
        parts = [[*(one[k] for one in held), *part] for k, part in enumerate(parts)]
        for leaf, found in zip(LEAVES, parts, strict=True):
            np.testing.assert_array_equal(np.concatenate(found), state[f"{name}/{leaf}"], err_msg=name)


def _files(path: Path) -> dict[str, bytes]:
    found = sorted(p for p in path.rglob("*") if p.is_file() and p.name != "journal.jsonl")
    return {str(p.relative_to(path)): p.read_bytes() for p in found}


def _wrong(disk: Disk, shelf: Shelf, points) -> Iterator[str]:
    """What is not as it should be after a cut at these points; the same files are read once."""
    whole = set()
    for point in points:
        path = shelf.made(dict(point))
        try:
            snapshot = _restored(path, disk.points[point])
            if snapshot is None:
                continue
            files = frozenset(_files(path).items())
            if files not in whole:
                _assert_whole(path, snapshot)
                whole.add(files)
        except Exception as error:
            yield f"{type(error).__name__}: {error}"


PLACE = "runs/today/run"


def _recorded(tmp_path: Path, name: str) -> Disk:
    root = tmp_path / "disk"
    root.mkdir()
    return RUNS[name](root, root / PLACE)


@pytest.mark.exam
@pytest.mark.parametrize("every", sampled([8, 1], [8]))
@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("from nothing", 1000),
        ("over a lost attempt", 400),
        ("back before damage", 800),
        ("in another's place", 400),
        ("by the clock", 1000),
    ],
)
def test_after_a_power_cut_what_was_called_saved_is_there(tmp_path, name, points, every):
    """2,600 points and more, or every eighth of them."""
    disk = _recorded(tmp_path, name)
    tried = list(disk.points)[::every]
    wrong = list(_wrong(disk, Shelf(tmp_path), tried))
    assert not wrong, f"{len(wrong)} of {len(tried)} points, e.g. {wrong[0]}"
    assert len(disk.points) >= points


@pytest.mark.exam
def test_a_run_that_goes_on_after_a_power_cut_ends_with_the_same_files(tmp_path):
    _start(tmp_path / "whole", END * EVERY, EVERY)
    right = _files(tmp_path / "whole")
    disk, shelf = _recorded(tmp_path, "from nothing"), Shelf(tmp_path)
    went_on = 0
    for point in random.Random(2).sample(list(disk.points), 25):
        path = shelf.made(dict(point))
        if _restored(path, disk.points[point]) is not None:
            _go_on(path, END * EVERY, EVERY)
            assert _files(path) == right
            went_on += 1
    assert went_on > 15


def _no_folder_is_synced(patch) -> None:
    patch.setattr(durable, "_sync_folder", lambda folder: None)


def _no_file_is_synced(patch) -> None:
    class Deaf:
        def __getattr__(self, name):
            return getattr(os, name)

        def fsync(self, descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                os.fsync(descriptor)

    patch.setattr(system_calls, "os", Deaf())


def _files_are_written_in_place(patch) -> None:
    def write_new(folder, stem, data, suffix=".h5"):
        path = folder / f"{stem}.{durable._short_sum(data)}{suffix}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        for chunk in durable._byte_chunks(data):
            os.write(descriptor, chunk)
        os.close(descriptor)
        durable._sync_folder(folder)
        return path

    patch.setattr(durable, "write_new", write_new)


def _the_journal_comes_first(patch) -> None:
    save = RunDir.save

    def hasty(run, snapshot, *arguments, **options):
        run.journal("saved", step=snapshot.step)
        return save(run, snapshot, *arguments, **options)

    patch.setattr(RunDir, "save", hasty)


def _sources_go_before_what_holds_them_is_safe(patch) -> None:
    join = compaction._join_segments

    def hasty(run, paths, *arguments):
        with pytest.MonkeyPatch.context() as inner:
            _no_folder_is_synced(inner)
            joined = join(run, paths, *arguments)
        for path in paths:
            durable.remove(path)
        return joined

    patch.setattr(compaction, "_join_segments", hasty)


def _checkpoints_go_before_the_new_one_is_safe(patch) -> None:
    save = checkpoint.save

    def hasty(folder, *arguments, **options):
        with pytest.MonkeyPatch.context() as inner:
            _no_folder_is_synced(inner)
            path = save(folder, *arguments, **options)
        checkpoint.prune(folder, 1)
        durable.settle(folder)
        return path

    patch.setattr(checkpoint, "save", hasty)


def _new_folders_above_are_not_synced(patch) -> None:
    def make_folder(folder):
        folder.mkdir(parents=True, exist_ok=True)
        durable._sync_folder(folder.parent)

    patch.setattr(durable, "make_folder", make_folder)


def _lost_attempts_may_come_back(patch) -> None:
    patch.setattr(durable, "settle", lambda folder: None)


MISTAKES = [
    (_no_folder_is_synced, "from nothing"),
    (_no_file_is_synced, "from nothing"),
    (_files_are_written_in_place, "from nothing"),
    (_the_journal_comes_first, "from nothing"),
    (_sources_go_before_what_holds_them_is_safe, "from nothing"),
    (_checkpoints_go_before_the_new_one_is_safe, "from nothing"),
    (_new_folders_above_are_not_synced, "from nothing"),
    (_lost_attempts_may_come_back, "over a lost attempt"),
]


@pytest.mark.parametrize(("mistake", "name"), MISTAKES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_mistake_in_the_order_is_seen(tmp_path, monkeypatch, mistake, name):
    with monkeypatch.context() as patch:
        mistake(patch)
        disk = _recorded(tmp_path, name)
    points = random.Random(3).sample(list(disk.points), len(disk.points))
    smallest = sorted(points, key=len)[:5]
    assert next(_wrong(disk, Shelf(tmp_path), smallest + points), "")
