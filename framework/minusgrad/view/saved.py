"""One HTML file of a run, which a browser opens without a network: scene, frames, legend and curves.

Decisions 0396.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import UserError
from ..files import durable
from ..files.run_folder import RunDir
from ..plot.movies.progress_display import Progress, quiet
from ..plot.movies.reel import rate
from ..plot.option_types import check_types
from . import overlay, server
from .observables import charts
from .scenery import Scenery

MEGABYTES = 50.0
FEWEST = 24
"""Frames that a file keeps before its points are thinned."""


class Saved(NamedTuple):
    """A file that was written, and remarks on what was left out of it."""

    path: Path
    remarks: list[str]


class _Thinned(NamedTuple):
    """What a file has: every so many frames, every so many points."""

    frames: int = 1
    points: int = 1

    def remarks(self, count: int) -> list[str]:
        """Sentences about what is left out, for so many frames."""
        left = -(-count // self.frames)
        said = [f"every {_ordinal_word(self.frames)} frame ({left} of {count})"] * (self.frames > 1)
        return said + [f"every {_ordinal_word(self.points)} point"] * (self.points > 1)


def save(
    folder: Path | str,
    path: Path | str,
    *,
    field: str = "",
    bodies: Sequence[str] = (),
    every: int | None = None,
    max_mb: float = MEGABYTES,
    progress: Progress = quiet,
) -> Saved:
    """Write an interactive page of a run as one HTML file, which asks for nothing outside itself.

    path: a file that ends in .html. field, bodies: as for `show`. every: which of the recorded frames
    (default: at most 240). max_mb: the largest file, in megabytes: frames are left out, then points, and
    `remarks` say so.

    Raises `MissingPackageError` without viser, `UserError` if nothing can be shown or the file cannot be so
    small, `RunFolderError` if `folder` is not a run, `CheckpointError` if a segment is damaged.
    """
    run, path = Path(folder), Path(path)
    check_types("view", field=field, bodies=bodies, every=every, max_mb=max_mb)
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(
            f"{path}: a saved view is one page, got the ending {path.suffix!r}; give a file x.html"
        )
    if not max_mb > 0 or (every is not None and every < 1):
        raise UserError(f"view: needs --max-mb above 0 and --every of at least 1, got {max_mb:g} and {every}")
    RunDir.open(run, read_only=True)
    server.viser()
    scenery = Scenery(run, field, bodies, every)
    with durable.outside_a_run(path, "give another file with --out"):
        text, left_out = document(scenery, max_mb, str(path), progress)
        page = text.encode()
        durable.make_folder(path.parent)
        durable.replace(path, page)
    size = f"{path}: {len(page) / 1e6:.1f} MB"
    return Saved(path, [f"{size}: has {' and '.join(left_out)}; --max-mb allows more"] if left_out else [])


def document(scenery: Scenery, max_mb: float, name: str, progress: Progress = quiet) -> tuple[str, list[str]]:
    """A page of at most so many megabytes, and what is left out of it. name: of it, for an error.

    Raises `UserError` if it cannot be so small.
    """
    count, most = len(scenery.frames), int(max_mb * 1e6)
    thinned = _thin_to_fit(scenery, most)
    while len((page := _page_bytes(scenery, thinned, progress)).encode()) > most:
        thinned = _thin_further(thinned, count, scenery, name, max_mb)
    return page, thinned.remarks(count)


def _thin_to_fit(scenery: Scenery, most: int) -> _Thinned:
    """What probably fits into so many bytes, by the sizes of two small pages."""
    count = len(scenery.frames)
    if count < 5:
        return _Thinned()
    one, few = (len(_page_bytes(scenery, _Thinned(step), quiet)) for step in (count, max(1, count // 3)))
    each = max(
        1.0, (few - one) / (len(_every_nth(count, max(1, count // 3))) - len(_every_nth(count, count)))
    )
    fit = max(1.0, (most - one) / each)
    if fit >= count:
        return _Thinned()
    if fit >= FEWEST or not scenery.has_points:
        return _Thinned(-(-count // max(2, int(fit))))
    frames = max(1, count // FEWEST)
    return _Thinned(frames, max(1, int(np.ceil(count / frames * each / max(each, most - one)))))


def _thin_further(thinned: _Thinned, count: int, scenery: Scenery, name: str, max_mb: float) -> _Thinned:
    frames, points = thinned
    if scenery.has_points and count / frames <= FEWEST:
        return _Thinned(frames, points + max(1, points // 4))
    if count / frames <= 2:
        raise UserError(f"{name}: two frames are larger than --max-mb, got {max_mb:g}; allow more megabytes")
    return _Thinned(frames + max(1, frames // 4), points)


def _page_bytes(scenery: Scenery, thinned: _Thinned, progress: Progress) -> str:
    """The whole page."""
    numbers = _every_nth(len(scenery.frames), thinned.frames)
    fps = rate(len(numbers))
    scenery.every_point = thinned.points
    with server.running() as page, progress(0, len(numbers)) as tell:
        server.prepare(page, scenery)
        recorder = page.get_scene_serializer()
        for done, number in enumerate(numbers, start=1):
            scenery.show(number)
            if len(numbers) > 1:
                recorder.insert_sleep(1.0 / fps)
            tell(done)
        html = recorder.as_html(dark_mode=scenery.is_crowd)
    shown = charts(scenery.run)
    frames = scenery.frames
    at = [[(frames.steps if one.counts_steps else frames.times)[k] for k in numbers] for one in shown]
    return overlay.inject_overlay(
        html,
        title=scenery.title,
        when=[scenery.time_label(number) for number in numbers],
        fps=fps,
        legend=scenery.legend(),
        charts=shown,
        at=np.array(at, float).reshape(len(shown), len(numbers)),
        dark=scenery.is_crowd,
        note="; ".join(thinned.remarks(len(frames))),
    )


def _every_nth(count: int, step: int) -> list[int]:
    """Every so many of the frames."""
    return list(range(0, count, step))


def _ordinal_word(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")
