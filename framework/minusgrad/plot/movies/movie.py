"""A movie of a run: its recorded frames, drawn one by one and written as one file."""

from collections.abc import Iterator, Sequence
from logging import getLogger
from pathlib import Path

import numpy as np

from ...errors import UserError
from ...files import durable, trajectory
from ...files.frames import series_names
from ...files.run_folder import RunDir
from .. import picture_files, pictures, readings, style
from ..dark import darken
from ..option_types import check_types
from . import film_files, subjects
from .progress_display import Progress, quiet
from .reel import Reel, rate
from .subject import MovieSubject

DPI = 120
logger = getLogger("minusgrad")


def movie(
    run: Path,
    to: Path | None = None,
    *,
    field: str = "",
    bodies: Sequence[str] = (),
    view: str = "",
    fps: float | None = None,
    every: int | None = None,
    dark: bool = False,
    progress: Progress = quiet,
) -> Path:
    """Draw the recorded frames of a run as a film; returns its path.

    to: a file that ends in .webp, .gif or .mp4 (default: a WebP file in `pictures` of the run). field,
    bodies, view: as for `subjects.chosen`. fps: frames a second (default: the film lasts about 8 s, at 5 to
    25). every: which of the recorded frames, 3 for every third (default: 240 at most). dark: light lines on a
    dark page. progress: called with 0 and the number of frames, gives a context manager whose value is called
    with the number drawn.

    Limits and colours are those of all frames, and stay. Raises UserError without Matplotlib (for MP4:
    PyAV), if nothing moves, or if there is one frame only; RunFolderError if `run` is not a run;
    CheckpointError if a segment is damaged.
    """
    check_types("movie", field=field, bodies=bodies, view=view, fps=fps, every=every, dark=dark)
    RunDir.open(run, read_only=True)
    mpl = picture_files.matplotlib()
    if every is not None and every < 1:
        raise UserError(f"movie: every so many frames must be at least 1, got {every}; see --every")
    meta = pictures.meta(run)
    field = series_names.label_of(run, field, trajectory.names(run)) if field else ""
    subject = subjects.chosen(run, meta, field, bodies, view)
    to = to or run / "pictures" / f"{subject.stem}.webp"
    reel = Reel(run, subject.series, every)
    fps = fps if fps is not None else rate(len(reel))
    film_files.judge(to, fps)
    if len(reel) < 2:
        raise UserError(
            f"{run}: a movie needs two frames or more, got 1; record more, or ask for more by --every"
        )
    with durable.outside_a_run(to, "give another file with --out"), mpl.rc_context(style.RC):
        durable.make_folder(to.parent)
        return film_files.written(to, _pictures(subject, reel, meta.get("title", ""), dark, progress), fps)


def _pictures(
    subject: MovieSubject, reel: Reel, title: str, dark: bool, progress: Progress
) -> Iterator[np.ndarray]:
    """The frames as bytes (H, W, 3), all of one layout."""
    times = []
    for frame in reel:
        subject.survey(frame)
        times.append(frame.time)
    passes = times[0] != times[-1]
    longest = max(map(abs, times))
    clock = readings.symbols(reel.run, reel.names[0])[1]
    figure = picture_files.figure()
    figure.set_dpi(DPI)
    subject.prepare(figure)
    framed = figure.get_constrained_layout()
    if framed and title:
        figure.suptitle(title, color=style.INK)
    logger.debug("")
    with progress(0, len(reel)) as tell:
        for number, frame in enumerate(reel, start=1):
            when = style.rounded_moment(frame.step, frame.time, longest, clock, passes)
            subject.show(frame, when)
            if dark:
                darken(figure)  # what this frame has drawn anew
            if framed and number == 1:
                picture_files.draw(figure)  # the layout of the first frame is that of all
                figure.set_layout_engine("none")
            yield film_files.pixels(figure)
            tell(number)
    logger.debug("encoding the film ...")
