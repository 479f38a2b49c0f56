"""Options that runs and fits share: overrides, plugins, the run folder, progress, a time limit.

Decisions 0122, 0245.
"""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..assembly.registry import PluginSource
from ..assembly.validation import ValidatedScene, validate
from ..errors import RunFolderError, UserError, warn_caller
from ..files.held.run_listing import RUNS
from ..plot.movies.progress_display import Progress, quiet
from ..scene import toml_text
from ..scene.document import Document, SceneSource, is_text, load
from .progress import progress as display
from .results.notebook_progress import in_notebook

if TYPE_CHECKING:
    from ..assembly.built_scene import BuiltScene
    from ..files.run_folder import RunDir
    from ..steppers.scheduler import ScheduledObserver
    from .jobs.watching import WatchedRun

Overrides = Mapping[str, Any] | Sequence[str]
Plugins = Sequence[PluginSource]
ShowsProgress = Progress | bool | None
Say = Callable[[str], None]


def chosen(progress: ShowsProgress, counted: str = "step") -> Progress:
    """The display of progress that is asked for: True, False, or None for one in a notebook alone.

    counted: the word for what is counted.
    """
    if callable(progress):
        return progress
    is_shown = progress or (progress is None and in_notebook())
    return partial(display, counted=counted) if is_shown else quiet


def unsaid(text: str) -> None:
    """No remarks while a run goes on; its `remarks` have those that matter at its end."""


def warn(say: Say, text: str) -> None:
    """Tell a user what matters while a run goes on; in Python, where no `say` is given, as a warning."""
    if say is unsaid:
        warn_caller(text)
    else:
        say(text)


class Calls(Protocol):
    """The functions that a run in Python calls between its steps."""

    def observers(self, folder: "RunDir", again: Callable[[], None]) -> "Sequence[ScheduledObserver]":
        """They as observers, which come after all others.

        folder: that of the run, for its journal. again: to be called when one of them has changed the state.
        """


class ResumedCalls(Calls, Protocol):
    """Those of a run that is continued."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the functions."""

    def simulation(self, validated: ValidatedScene, folder: Path | None) -> "BuiltScene":
        """The simulation of a scene that they are called for; folder: that of its input files."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run or a fit; `runs.run` explains them."""

    scene: SceneSource
    overrides: Overrides = ()
    out: Path | str | None = None
    plugins: Plugins = ()
    force: bool = False
    progress: ShowsProgress = None
    max_hours: float | None = None
    say: Say = unsaid
    fitted: Path | str | None = None
    calls: "Calls | None" = None
    watched: "WatchedRun | None" = None

    def validated(self) -> ValidatedScene:
        """The validated scene, with the values of `fitted`. Raises `SceneError` with all its mistakes.

        Raises `RunFolderError` and `CheckpointError` as `Fitted.of_fit` does.
        """
        valid = validate(load(self.scene, as_overrides(self.overrides)), self.plugins)
        if self.fitted is not None:
            from ..assembly.fits.fitted import Fitted

            valid.fitted = Fitted.of_fit(Path(self.fitted))
        return valid

    def refuse_occupied(self, suffix: str = "") -> None:
        """Raise `RunFolderError` if `folder` would hold something that stays; nothing is made.

        It is asked before anything is built, and again by the run, which then has the folder.
        """
        path = self._named(suffix)
        if path.is_dir() and (self.out is not None or self.force):
            from ..files.run_folder import refuse_occupied

            refuse_occupied(path, self.force)

    def folder(self, suffix: str = "") -> Path:
        """The folder `out`; else runs/NAME + suffix, and with another number at its end where that exists.

        With `force` it is runs/NAME + suffix in any case. `say` is told of another number. Raises
        `RunFolderError` if it is not writable.
        """
        path = self._named(suffix)
        if self.out is not None or self.force:
            return writable(path)
        found = _free(path)
        if found != path:
            self.say(f"{path} exists; writing {found}")
        return found

    def folder_beside(self, run: Path) -> Path:
        """The folder `out`; else the first of RUN-2, RUN-3, ... that does not exist. Raises as `folder`."""
        return _free(run) if self.out is None else writable(Path(self.out))

    def _named(self, suffix: str) -> Path:
        if self.out is not None:
            return Path(self.out)
        path = self.scene.path if isinstance(self.scene, Document) else self.scene
        named = isinstance(path, Path) or (isinstance(path, str) and not is_text(path))
        name = Path(path).stem if named else "scene"  # type: ignore[arg-type]
        return RUNS / f"{name}{suffix}"


def as_overrides(overrides: Overrides) -> list[str]:
    """Overrides as the command line writes them: `key=value`, the value in TOML."""
    if isinstance(overrides, Mapping):
        named = ((key, toml_text.value(f"override '{key}'", value)) for key, value in overrides.items())
        return [f"{key}={text}" for key, text in named]
    if isinstance(overrides, str):
        raise UserError(
            f"overrides: needs a dictionary, or a list of texts, got a text; write [{overrides!r}], or by key"
            " {'stepper.dt': 0.1}"
        )
    return list(overrides)


def writable(folder: Path) -> Path:
    """The folder, which is made if it does not exist. Raises `RunFolderError` where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        why = "is a file" if folder.is_file() else f"cannot be written: {error.strerror}"
        raise RunFolderError(f"{folder}: {why}; use another --out") from error
    return folder


def _free(path: Path) -> Path:
    """The path, or the first of path-2, path-3, ... that does not exist; it is made at once to reserve it."""
    for number in range(1, 10_000):
        candidate = path if number == 1 else path.with_name(f"{path.name}-{number}")
        with suppress(FileExistsError):
            writable(path.parent)
            candidate.mkdir()
            return candidate
    raise RunFolderError(f"{path}: 10,000 runs have this name; give another folder with --out")
