"""A run folder as an object: recorded series by name, pictures, movies, and how the run ended.

run = minusgrad.open("runs/two_body")
run["position"]                         (T, N, d), in the run's unit of length
run.series("total").time, run.to_xarray(), run.plot(), run.movie(), run.view()

Files are read as they are asked for, so a run that is going on shows what has been saved.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import RunFolderError, UserError
from ...files import h5md, trajectory
from ...files.frames import series_names
from ...files.held import held_folders
from ...files.run_folder import INPUTS, RunDir
from ...scene import units

if TYPE_CHECKING:
    import xarray

    from ...assembly.built_scene import BuiltScene
    from ...steppers.stability.step_size import StepSize
    from ...view.notebook_frame import NotebookFrame
    from ...view.page import Page
    from ...view.saved import Saved
    from .film import Film
    from .pictures import Pictures


class Run:
    """A run: its folder, how it ended, its recorded series; and its objects at the last step, if it ran here.

    outcome: "finished" after all its steps; a minimiser may be "converged", "settled" or "stuck"
    (`Stepper.verdict`); of a run that has not ended its `state`. remarks: what the run said. step_size: dt
    against its stability limit, of a new run that is long enough for an estimate.
    """

    def __init__(
        self,
        folder: Path,
        simulation: "BuiltScene | None" = None,
        outcome: str = "",
        remarks: Sequence[str] = (),
        step_size: "StepSize | None" = None,
    ):
        self.folder, self.remarks, self.step_size = folder, tuple(remarks), step_size
        self._simulation, self._outcome = simulation, outcome

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}('{self.folder}', {self.outcome}: {', '.join(self.names) or 'no series'})"
        )

    def _repr_html_(self) -> str:
        from .notebook_view import of_run

        return of_run(self.folder, self.outcome)

    @property
    def simulation(self) -> "BuiltScene":
        """The objects at the last step. Raises `RunFolderError` for a folder that was opened, not run."""
        if self._simulation is None:
            raise RunFolderError(
                f"{self.folder}: was opened to be read, which builds no simulation; minusgrad.resume goes on"
                " with it, and minusgrad.build makes the objects of a scene"
            )
        return self._simulation

    @property
    def findings(self) -> list[str]:
        """What its observers say of their last observation, such as the largest stress with its error."""
        seen = () if self._simulation is None else self._simulation.observers
        return [text for text in (observer.finding() for observer in seen) if text]

    # How it is

    @property
    def state(self) -> str:
        """ "running", "finished", "interrupted", "failed", "diverged", or "killed"."""
        from ..info import state

        folder = RunDir.open(self.folder, read_only=True)
        return state(folder, folder.events())

    @property
    def outcome(self) -> str:
        """How it ended; its `state` if it has not ended by itself."""
        if self._outcome:
            return self._outcome
        if (state := self.state) != "finished":
            return state
        events = RunDir.open(self.folder, read_only=True).events()
        ends = [event.get("outcome") for event in events if event.get("event") == "finished"]
        return str(ends[-1] or state)

    @property
    def scene(self) -> str:
        """The text of the scene file that it was started with, without its overrides."""
        return RunDir.open(self.folder, read_only=True).scene.decode()

    @property
    def overrides(self) -> list[str]:
        """The overrides of the scene that it was started with, as `key=value`."""
        return list(RunDir.open(self.folder, read_only=True).overrides)

    def read_input(self, name: str) -> bytes | None:
        """The bytes of a file that its scene reads, such as an image, at the start; None if there is none.

        Raises `RunFolderError` for a name that leads out of the folder, or through a link.
        """
        file = RunDir.open(self.folder, read_only=True).path / INPUTS / name
        return held_folders.read_file(file) if held_folders.is_file(file) else None

    def info(self) -> dict[str, Any]:
        """Title, state, step, versions, plugins, series, checkpoints and sizes: `minusgrad info --json`."""
        from ..info import info

        return info(self.folder)

    # Recorded series

    @property
    def names(self) -> list[str]:
        """The recorded series by their short names, such as "position" and "total"."""
        return series_names.shortest_names(trajectory.names(self.folder))

    def keys(self) -> list[str]:
        """`names`, so that `dict(run)` has all arrays."""
        return self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __bool__(self) -> bool:
        return True  # with nothing recorded, too

    def __contains__(self, name: object) -> bool:
        try:
            return bool(series_names.find_series(self.folder, str(name)))
        except UserError:
            return False

    def __getitem__(self, name: str) -> np.ndarray:
        """The values (T, ...) of a recorded series; T moments first. Raises `UserError` as `series` does."""
        return self.series(name).value

    def series(self, name: str) -> trajectory.Series:
        """A recorded series: step (T,), time (T,) and value (T, ...).

        name: as in the files ("particles/all/position", "observables/total"), its short form ("position",
        "total"), or the field in energies ("x"). Raises `UserError` for a name that is unknown or may be one
        of several.
        """
        return trajectory.series(self.folder, self._path(name))

    def _path(self, name: str) -> str:
        """The name of a series in the files, where a group contains `step`, `time` and `value`."""
        return series_names.find_series(self.folder, name)

    def unit(self, name: str) -> str:
        """The unit symbol of a series, such as "J"; "" if it has none.

        Raises `UserError` as `series` does.
        """
        return units.familiar_name(trajectory.symbols(self.folder, self._path(name))[0])

    @property
    def times(self) -> np.ndarray:
        """The times (T,) of recorded frames, in the run's unit of time; see `steps`."""
        return trajectory.series(self.folder, self._clock).time

    @property
    def steps(self) -> np.ndarray:
        """The steps (T,) of recorded frames; of observables where there are no frames.

        Raises `UserError` if nothing was recorded. Series at steps of their own have them in `series`.
        """
        return trajectory.steps(self.folder, self._clock)

    @property
    def _clock(self) -> str:
        """The series whose steps are those of frames."""
        known = trajectory.names(self.folder)
        if not known:
            raise UserError(f"{self.folder}: has no recorded series; give the scene an [[observe]]")
        observed = [name for name in known if name.startswith(f"{h5md.OBSERVABLES}/")]
        frames = [name for name in known if name not in observed]
        return h5md.POSITION if h5md.POSITION in known else (frames or observed)[0]

    def to_xarray(self) -> "xarray.Dataset":
        """All recorded series as an xarray Dataset with named axes (`app.ensembles.dataset`).

        Raises `MissingPackageError` without xarray.
        """
        from ..ensembles.dataset import to_xarray

        return to_xarray(self.folder)

    def export(
        self,
        to: Path | str,
        format: str,
        series: Sequence[str] = (),
        *,
        step: int | None = None,
        every: int | None = None,
        elements: Mapping[str, str] | str = "",
    ) -> Path:
        """Write recorded frames for other programs; returns the file.

            run.export("argon.extxyz", "extxyz");  run.export("end.pdb", "pdb", step=500, elements="Ar")

        format: "extxyz", "pdb", "lammps-data", "dcd", "xtc", "xyz", or "vtu", of which `to` is a folder.
        series: those of nodes to write (default: all that the format takes). step: the frame of this step, or
        the last one before it. every: one of so many frames. elements: the chemical symbol of all nodes, or
        of bodies by name. What was changed or is missing is a Python warning. Raises `UserError` for what the
        format cannot hold, `MissingPackageError` without the extra `trajectory`, `RunFailedError` where the
        file cannot be written.
        """
        from .frame_export import write_frames

        pairs = {"": elements} if isinstance(elements, str) else elements
        given = [f"{body}={symbol}" if body else symbol for body, symbol in pairs.items() if symbol]
        written = write_frames(self.folder, format, Path(to), series, step, every, given)
        for remark in written.remarks:
            warnings.warn(f"{written.path}: {remark}", stacklevel=2)
        assert written.path is not None
        return written.path

    # To look at

    def plot(self, out: Path | str | None = None, **options: Any) -> "Pictures":
        """Draw the pictures of the run, which a notebook shows; their files are in `pictures` of the run.

        out: another folder. options: those of `plot.pictures.plot`: bodies, step, field, view, form,
        dark, width, dpi, font. It raises `UserError` without Matplotlib or with nothing to draw.
        """
        from ...plot.pictures import plot
        from .pictures import Pictures

        return Pictures(plot(self.folder, None if out is None else Path(out), **options))

    def movie(self, to: Path | str | None = None, **options: Any) -> "Film":
        """Draw the recorded frames as a film, which a notebook plays; its file is in `pictures` of the run.

        to: another file that ends in .webp, .gif or .mp4. options: those of `plot.movies.movie.movie`, such
        as field, bodies, view, fps, every, dark; progress as for `minusgrad.run`. Raises as that does.
        """
        from ...plot.movies.movie import movie
        from ..run_options import chosen
        from .film import Film

        options["progress"] = chosen(options.get("progress"), "frame")
        return Film(movie(self.folder, None if to is None else Path(to), **options))

    def view(self, save: Path | str | None = None, **options: Any) -> "Page | Saved | NotebookFrame":
        """An interactive page of the recorded frames, in a browser or in the cell of a notebook.

        In a notebook it is a frame of the cell, which needs no port, unless host, port or behind is given.
        save: an HTML file that needs no network, in place of a page that follows the run until it is closed.
        options: those of `view.show`, such as field, bodies, every, port, or of `view.save`. Raises
        `MissingPackageError` without the extra `view`, `UserError` if nothing can be shown.
        """
        from ... import view
        from .notebook_progress import in_notebook

        if save is not None:
            return view.save(self.folder, save, **options)
        if in_notebook() and not {"host", "port", "behind"} & options.keys():
            return view.frame(self.folder, **options)
        return view.show(self.folder, **options)
