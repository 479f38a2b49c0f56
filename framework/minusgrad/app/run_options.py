"""Options that runs and fits share: overrides, plugins, the run folder, progress, a time limit."""

import errno
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..assembly.fits.fitted import Fitted
from ..assembly.registry import PluginSource
from ..assembly.validation import ValidatedScene, validate
from ..errors import RunFolderError, UserError
from ..scene.document import load

Overrides = Mapping[str, Any] | Sequence[str]
Plugins = Sequence[PluginSource]
Progress = Callable[[int, int], AbstractContextManager[Callable[[int], None]]]
Say = Callable[[str], None]


def quiet(first: int, last: int) -> AbstractContextManager[Callable[[int], None]]:
    """No progress display."""
    return nullcontext(lambda step: None)


def unsaid(text: str) -> None:
    """No remarks while a run goes on; its `remarks` have those that matter at its end."""


@dataclass(frozen=True)
class RunOptions:
    """The options of a run or a fit; `runs.run` explains them."""

    scene: Path | str
    overrides: Overrides = ()
    out: Path | str | None = None
    plugins: Plugins = ()
    force: bool = False
    progress: Progress = quiet
    max_hours: float | None = None
    say: Say = unsaid
    fitted: Path | str | None = None

    def validated(self) -> ValidatedScene:
        """The validated scene, with the values of `fitted`. Raises `SceneError` with all its mistakes.

        Raises `RunFolderError` and `CheckpointError` as `Fitted.of_fit` does.
        """
        valid = validate(load(self.scene, as_overrides(self.overrides)), self.plugins)
        valid.fitted = None if self.fitted is None else Fitted.of_fit(Path(self.fitted))
        return valid

    def folder(self, suffix: str = "") -> Path:
        """The folder `out`, or a new runs/NAME + suffix. Raises `RunFolderError` if it is not writable."""
        if self.out is not None:
            return writable(Path(self.out))
        return _free(Path("runs") / f"{Path(self.scene).stem}{suffix}")


def as_overrides(overrides: Overrides) -> list[str]:
    """Overrides as the command line writes them: `key=value`, the value in TOML."""
    if isinstance(overrides, Mapping):
        return [f"{key}={_toml(key, value)}" for key, value in overrides.items()]
    return list(overrides)


def _toml(key: str, value: Any) -> str:
    """A value as TOML writes it. Raises `UserError` for values that TOML does not have."""
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's numbers and arrays
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(key, v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(key, v) for v in value) + "]"
    if isinstance(value, (str, Path)):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, (bool, int, float)):
        return repr(value).lower()
    raise UserError(f"override '{key}': a scene has no value of type {type(value).__name__}")


def writable(folder: Path) -> Path:
    """The folder, which is made if it does not exist. Raises `RunFolderError` where it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise RunFolderError(f"{folder}: cannot be written: {error.strerror}; use another --out") from error
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
