"""Exceptions, each with the exit code of the program, and pieces of their messages.

    0 done   1 findings   2 the user's mistake   3 the run failed   4 interrupted and resumable
    5 the run diverged: infinity, NaN or an energy error beyond its bound, which resuming cannot cure
    6 a check found nothing wrong, and could not ask everything

A message reads `<object>: <what is wrong>, got <value>; <cure>`.
"""

from __future__ import annotations

from collections import namedtuple
from contextlib import contextmanager

TYPE_CHECKING = False  # `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class MinusgradError(Exception):
    """Base class of all errors that minusgrad raises on purpose; `exit_code` is that of the command line."""

    exit_code = 3
    facts: Mapping[str, object] | None = None
    """The end of a run for JSON, where this error is a named one."""


class MinusgradDeprecationWarning(FutureWarning):
    """An old name of a kind, a key or a public name, which still works; the text says the new one."""


def warn_of_old_name(old: str, new: str) -> None:
    """Warn, at the line that calls the caller, of an old public name and say the new one."""
    import warnings

    warnings.warn(f"{old}: is an old name; write {new}", MinusgradDeprecationWarning, stacklevel=3)


def warn_caller(text: str) -> None:
    """Warn at the line of a user's code that called minusgrad, however deep within it this is found out."""
    import sys
    import warnings
    from pathlib import Path

    home, depth, frame = str(Path(__file__).parent), 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(home):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, stacklevel=depth)


class UserError(MinusgradError):
    """A mistake of the user: the command line prints the message alone, without a traceback.

    Plugins raise it for wrong input; the message is shown with its place in the scene.
    """

    exit_code = 2
    key: tuple[str | int, ...] = ()
    """Where the mistake is below the table of a scene that is being built, such as ("sigma",)."""

    def _render_traceback_(self) -> list[str]:
        """Lines for a notebook (IPython asks for them): the user's line, and the message.

        Frames of minusgrad are left out, since the message names what is wrong; an error with a cause, such
        as one in a plugin's code, has its whole traceback.
        """
        import traceback
        from itertools import takewhile
        from pathlib import Path

        if self.__cause__ is not None:
            return traceback.format_exception(self)
        home, frames = str(Path(__file__).parent), traceback.extract_tb(self.__traceback__)
        own = list(takewhile(lambda frame: not frame.filename.startswith(home), frames))
        where = [f"line {own[-1].lineno}: {own[-1].line}"] if own else []
        return [*where, f"{type(self).__name__}: {self}"]


LONGEST = 1_500
"""Characters of a line about a scene: it may quote the scene of a stranger."""


class Problem(namedtuple("Problem", ("file", "line", "column", "key", "message"))):
    """One mistake in a scene file; line and column count from 1 (0: not in the file, e.g. an override)."""

    __slots__ = ()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        message = "\n".join(printable(line, LONGEST) for line in self.message.split("\n"))
        return f"{place}: {printable(self.key)}: {message}" if self.key else f"{place}: {message}"


class SceneError(UserError):
    """All mistakes of one scene at once, in the order of the file."""

    def __init__(self, problems: list[Problem]):
        self.problems = tuple(sorted(problems))
        super().__init__("\n".join(map(str, self.problems)))


@contextmanager
def at_key(*key: str | int) -> Iterator[None]:
    """Lead mistakes back to this key of the table that is being built.

        with at_key("springs", 3):
            refuse_loose(spring)

    key: names and numbers below the table; a mistake within that has a key of its own is below this one.
    Raises the `UserError` of the block within, with the key; a scene or a `TomlTable` gives it its line.
    """
    try:
        yield
    except SceneError:
        raise
    except UserError as error:
        error.key = (*key, *error.key)
        raise


class UnitError(UserError):
    """An unknown unit, or one of the wrong dimension. `UnitSystem.convert` and `quantities` raise it."""


class EnergyError(UserError):
    """A mistake in an energy or in its use, such as a declaration that contradicts its function.

    The message begins with the energy, map or field.
    """


class UnknownFieldError(EnergyError):
    """A field that does not exist, or not yet; `field` is its name."""

    def __init__(self, message: str, field: str):
        self.field = field
        super().__init__(message)


class UpdateError(EnergyError):
    """A mistake about the update of one field of a program; `field` is its name in `next`."""

    def __init__(self, message: str, field: str):
        self.field = field
        super().__init__(message)


class TermError(EnergyError):
    """A mistake about one term of a potential; `term` is its name, by which a scene finds its block."""

    def __init__(self, message: str, term: str):
        self.term = term
        super().__init__(message)


class TraceError(UserError):
    """A local energy contains code that the derivative engine cannot follow; says where, and the cure."""


class DeviceError(EnergyError):
    """A kernel, or its reverse, that the architecture of the run cannot compute; says which, and the cure."""


class MissingPackageError(UserError, ModuleNotFoundError):
    """A package of an extra is not installed; also a ModuleNotFoundError, for `try: import`."""


class TensorError(UserError):
    """A tensor or a request of PyTorch that the engine refuses; says why, and the cure."""


class AtomsError(UserError):
    """Atoms of another program that do not fit the scene; says why, and the cure."""


class PluginError(UserError):
    """A plugin that a scene needs is missing, broken, or claims a name that another owns."""


class RuntimeUnavailableError(UserError):
    """The engine or architecture asked for does not exist on this machine or in this process."""


class RunFolderError(UserError):
    """A run folder is in use, occupied, or not a run."""


class CheckpointError(UserError):
    """A checkpoint is damaged, foreign, or of another format version."""


class RunFailedError(MinusgradError):
    """A run stopped for the reason in the message. Its last good checkpoint is kept."""


class FolderGoneError(RunFailedError):
    """The folder of a run, or one in it, was deleted while the run wrote to it."""


class SingularSystemError(RunFailedError):
    """A linear system without a solution, or with many: the matrix is singular, to rounding."""


class IndefiniteSystemError(RunFailedError):
    """A matrix that is not positive definite, where a method needs one."""


class UnsolvedStepError(RunFailedError):
    """An implicit step whose equation has no solution, as far as it was sought. A smaller dt may cure it."""


class PluginFailedError(RunFailedError):
    """The code of a plugin raised an error, or tried to end the process, during a run."""


class CallbackError(RunFailedError):
    """A function that is called between steps raised an error: the message names it, and the step."""


class DivergedError(RunFailedError):
    """A run whose energy error exceeds its bound: its numbers mean nothing. A smaller dt may cure it."""

    exit_code = 5


class NonFiniteError(RunFailedError):
    """A state, force or energy became infinite or NaN. The message names step, term and node."""


class NonFiniteStartError(NonFiniteError):
    """The state with which a run begins, or its energy or force, is infinite or NaN: no dt would help."""

    exit_code = UserError.exit_code


class OutsideError(RunFailedError):
    """The window of an element left its grid, in a map that refuses it. The message names step and node."""


class RangeError(UserError):
    """A number of a kernel underflows or overflows in the run's precision; says which, and the cure.

    finding: the message without its cure: after the first step of a run in time another one is likelier.
    """

    def __init__(self, message: str, finding: str = ""):
        self.finding = finding or message
        super().__init__(message)


class MiscompiledError(MinusgradError):
    """A compiled kernel computes something else than its function says."""


class InterruptedRunError(MinusgradError):
    """A signal or time limit ended the run; it was saved and can be resumed."""

    exit_code = 4


_JOINERS = "\u200c\u200d"


def printable(text: str, most: int = 200) -> str:
    """Text from elsewhere, in one line of so many characters at most that a terminal can show.

    Control characters and line breaks are escaped, the joiners of letters that Persian, Hindi and emoji are
    written with are not; longer texts end with three dots.
    """
    text = text if len(text) <= most else f"{text[: most - 3]}..."
    return "".join(one if one.isprintable() or one in _JOINERS else repr(one)[1:-1] for one in text)


def pip_line(extra: str) -> str:
    """The command that installs an extra: `pip install 'minusgrad[view]'`, or from the folder of a clone.

    A clone that was installed with `-e` is in no index: its line is `pip install -e 'FOLDER[view]'`.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = json.loads(distribution("minusgrad").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install -e '{url2pathname(urlsplit(origin['url']).path)}[{extra}]'"
    return f"pip install 'minusgrad[{extra}]'"


MANY_NAMES = 30
"""More names than this are not listed in a message, if a command lists them."""


def unknown(what: str, name: str, known: Iterable[str], among: str = "there are", verb: str = "") -> str:
    """`no energy named 'gravty'; did you mean 'gravity'? (installed: gravity, spring)`, for a message.

    what: a noun for what is named. known: the names that exist. among: the words before their list. verb: of
    the command line, which lists them: `(80 exist; `minusgrad energies` lists them)` in place of many names.
    """
    return f"no {what} named '{printable(name)}'{choices(name, known, among, verb)}"


def choices(name: str, known: Iterable[str], among: str = "there are", verb: str = "") -> str:
    """`; did you mean 'gravity'? (there are: gravity, spring)`, for a message about an unknown name."""
    names = list(known)
    if verb and len(names) > MANY_NAMES:
        return f"{suggestion(name, names)} ({len(names)} exist; `minusgrad {verb}` lists them)"
    return f"{suggestion(name, names)} ({among}: {', '.join(names) or 'none'})"


OTHER_WORDS = {
    "gpu": ("cuda", "vulkan", "metal"),
    "double": ("f64",),
    "single": ("f32",),
    "float": ("f32",),
}
"""Words that users have for what is called otherwise here, in small letters."""


def suggestion(word: str, known: list[str]) -> str:
    """`; did you mean 'gravity'?` where something close exists, or is meant by another word; else nothing."""
    from difflib import get_close_matches

    if meant := [one for one in OTHER_WORDS.get(word.lower(), ()) if one in known]:
        return f"; did you mean {' or '.join(map(repr, meant))}?"
    close = [one for one in known if one.lower() == word.lower()]
    close = close or get_close_matches(word, known, n=1, cutoff=0.6)
    close = close or [one for one in known if sorted(one) == sorted(word)]  # 'td' is as far from 'dt' as 'xt'
    return f"; did you mean '{close[0]}'?" if close else ""
