"""The command line: `minusgrad VERB ...`.

Exit codes: 0 done, 1 findings, 2 a mistake of the user, 3 the run failed, 4 interrupted and resumable,
5 the run diverged, 6 a check that was not asked.
They do not depend on whether the output could be written, except for verbs whose output is their result.
Nothing is imported before it is needed: help, `scenes` and `plugins` answer without Taichi.

Decisions 0339.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from contextlib import nullcontext

from .. import __version__
from ..errors import MinusgradError, UserError, printable, suggestion
from .streams import OutputLostError, open_closed_streams, safe_streams, without_remarks
from .verbs import FOUR_QUESTIONS, LISTS, SAVING, VERBS, plugin_verbs
from .verbs.shared_options import complain, quiet_option

TYPE_CHECKING = False  # `typing` itself would take longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

EPILOG = (
    "exit codes: 0 done, 1 findings, 2 your mistake, 3 the run failed, 4 interrupted and resumable,"
    " 5 the run diverged, 6 a check that was not asked"
)
DESCRIPTION = (
    "Simulate, minimise, fit and differentiate scenes whose potential energy you write as one function."
)

OBJECTS = 20_000
"""New objects after which Python looks for garbage: a command makes many that stay, and little garbage."""
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "not enough memory")
"""What the loader and the system say."""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, run the verb, and return the exit code; without arguments those of the process.

    It then ends the process with that code. Our errors become messages on stderr.
    """
    if argv is not None:
        return _outcome(argv)
    gc.set_threshold(OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")  # it looks for its own in all distributions
    code = _outcome(sys.argv[1:])
    if not sys.flags.interactive:
        leave(code)
    return code


def leave(code: int) -> None:
    """End the process without taking its modules and arrays apart, which takes 0.2 s; the rest ends as ever.

    Threads are joined, the engine writes its cache, the handlers of `atexit` are called. Returns where output
    cannot be written, which Python then says.
    """
    if (threading := sys.modules.get("threading")) is not None:
        threading._shutdown()
    if (runtime := sys.modules.get("minusgrad.engine.runtime")) is not None:
        runtime.end()
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _outcome(argv: Sequence[str]) -> int:
    """Run the verb, and return the exit code."""
    open_closed_streams()
    with safe_streams() as out:
        try:
            arguments = _parsed(argv)
        except UserError as error:  # of a plugin, or no verb
            complain(error)
            return error.exit_code
        code = _run(arguments)
        out.flush()
        return code if out.failure is None else _unwritten(code, out.failure, arguments.saves)


def _run(arguments: argparse.Namespace) -> int:
    try:
        os.getcwd()  # the engine asks for it, too
        with without_remarks(getattr(arguments, "quiet", False)), _announced(arguments):
            return arguments.run_verb(arguments)
    except OutputLostError:
        return 0
    except MinusgradError as error:
        complain(error, *getattr(error, "__notes__", []))
        return error.exit_code
    except KeyboardInterrupt:
        complain("stopped; nothing was saved")
        return 130
    except SystemExit as error:  # of code that we call: the verbs return their exit code
        return _internal_error(error)
    except FileNotFoundError as error:
        if _has_folder():
            return _internal_error(error)
        complain("the working folder has been deleted; change to another folder")
        return UserError.exit_code
    except Exception as error:
        if _lacks_memory(error):
            return _out_of_memory(error)
        return _internal_error(error)


def _announced(arguments: argparse.Namespace) -> AbstractContextManager[None]:
    """Say what is being done while nothing is seen; of lists on a terminal alone, of others in logs, too."""
    if arguments.lists and not sys.stderr.isatty():
        return nullcontext()
    from .progress import announcements

    return announcements(doing="loading ...")


def _lacks_memory(error: BaseException) -> bool:
    """True for the errors by which Python and the loader of modules say that there is no memory."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, (ImportError, OSError)) and any(one in text for one in _NO_MEMORY)
    )


def _out_of_memory(error: BaseException) -> int:
    """One line; exit code 2 where a module could not even be loaded, else 3."""
    said = " ".join(str(error).split()) or type(error).__name__
    complain(
        f"out of memory: {said}; free memory, or raise the limit of the process (`ulimit -v`, a queue's)"
    )
    return UserError.exit_code if isinstance(error, ImportError) else MinusgradError.exit_code


def _unwritten(code: int, failure: OSError, saves: bool) -> int:
    """The exit code after output that could not be written; that its reader has gone is normal."""
    if isinstance(failure, BrokenPipeError):
        return code
    saved = "; the run folder is complete" if saves and code == 0 else ""
    complain(f"stdout: cannot be written: {failure.strerror}{saved}")
    return code if saves else code or MinusgradError.exit_code


def _has_folder() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _internal_error(error: BaseException) -> int:
    import traceback

    traceback.print_exception(error)
    complain(
        "internal error in minusgrad; please report the traceback above and the output of `minusgrad doctor`"
    )
    return MinusgradError.exit_code


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments; overrides may stand behind options, which argparse alone does not accept.

    Raises `UserError` for a verb that does not exist.
    """
    parser = parser_of(argv)
    verbs = verbs_of(parser)
    if argv and not argv[0].startswith("-") and argv[0] not in verbs:
        cure = f"{suggestion(argv[0], [*verbs])} (`minusgrad --help` lists them)"
        raise UserError(f"no verb named '{printable(argv[0], 60)}'{cure}")
    arguments, rest = parser.parse_known_args(argv)
    if hasattr(arguments, "overrides") and not any(word.startswith("-") for word in rest):
        arguments.overrides += rest
    elif rest:
        known = [*verbs[argv[0]]._option_string_actions] if argv[0] in verbs else []
        meant = _key_in_place(rest) if hasattr(arguments, "overrides") else ""
        close = (suggestion(word, known) for word in rest if word.startswith("--"))
        meant = meant or next(filter(None, close), "")
        parser.error(f"unrecognized arguments: {' '.join(rest)}{meant}")
    return arguments


def _key_in_place(words: Sequence[str]) -> str:
    """The key of a scene that an unknown option means: `--threads 2` means runtime.threads=2."""
    from ..scene.addresses import addresses_of_key
    from ..scene.document import SECTION_KEYS

    for word, after in zip(words, [*words[1:], "-"], strict=True):
        name, _, value = word.removeprefix("--").replace("-", "_").partition("=")
        value = value or ("..." if after.startswith("-") else after)
        if word.startswith("--") and (meant := addresses_of_key({}, name, SECTION_KEYS)):
            return f"; write {' or '.join([f'{one}={value}' for one in meant])}"
    return ""


def verbs_of(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of all verbs, by name."""
    actions = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return next(actions).choices


class _Help(argparse.HelpFormatter):
    """As wide as the terminal; argparse would ask `shutil`, which takes a while to import."""

    def __init__(self, prog: str):
        try:
            columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size().columns
        except (ValueError, OSError):
            columns = 80
        super().__init__(prog, width=columns - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Lines as they are given, each folded between words alone: a path stays whole."""
        import textwrap

        fold = textwrap.TextWrapper(
            width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "\n".join(map(fold.fill, text.split("\n")))


def parser_of(argv: Sequence[str]) -> argparse.ArgumentParser:
    """A parser of all verbs, with the options of those that occur in `argv`.

    Raises `PluginError` for a verb with two owners, or of a module that cannot be imported.
    """
    epilog = EPILOG
    if {*argv[:1]} <= {"-h", "--help"}:
        from .verbs.shipped.places import documentation

        epilog = f"documentation: {documentation()}\n{EPILOG}"
    parser = argparse.ArgumentParser(
        "minusgrad", description=DESCRIPTION, epilog=epilog, formatter_class=_Help
    )
    parser.add_argument("--version", action="version", version=f"minusgrad {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for name, (module, text) in VERBS.items():
        end = f"{_four_questions()}\n\n{EPILOG}" if name in FOUR_QUESTIONS else EPILOG
        verb = verbs.add_parser(name, help=text, description=text, epilog=end, formatter_class=_Help)
        if name in argv:
            from importlib import import_module

            home = import_module(f".{module}", f"{__package__}.verbs")
            function = name.replace("-", "_")
            getattr(home, f"{function}_options")(verb)
            verb.set_defaults(run_verb=getattr(home, function), saves=name in SAVING, lists=name in LISTS)
            if name not in LISTS:
                quiet_option(verb)
    _add_plugin_verbs(verbs, argv)
    return parser


def _four_questions() -> str:
    return "\n".join(f"{verb}: {question}" for verb, question in FOUR_QUESTIONS.items())


def _add_plugin_verbs(verbs: argparse._SubParsersAction, argv: Sequence[str]) -> None:
    """Those of installed plugins. A name with two owners is refused where it is used; help names it."""
    for name, owners in plugin_verbs.installed().items():
        is_used = name == next((word for word in argv if not word.startswith("-")), None)
        if is_used:
            plugin_verbs.only(owners, VERBS)
        elif name in VERBS:
            continue
        text = owners[0].help if len(owners) == 1 else f"of {len(owners)} plugins, which cannot be"
        verb = verbs.add_parser(name, help=text, description=text, epilog=EPILOG, formatter_class=_Help)
        if is_used:
            owners[0].prepare(verb)
            verb.set_defaults(lists=False)
            quiet_option(verb)
