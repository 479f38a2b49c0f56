"""The command line: `minusgrad VERB ...`.

Exit codes: 0 done, 1 findings, 2 a mistake of the user, 3 the run failed, 4 interrupted and resumable.
Nothing is imported before it is needed: help, `scenes` and `plugins` answer without Taichi.
"""

from __future__ import annotations

import argparse
import os
import sys

from .. import __version__
from ..errors import MinusgradError
from .verbs import VERBS
from .verbs.shared_options import complain

TYPE_CHECKING = False  # `typing` itself would take longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Sequence

EPILOG = "exit codes: 0 done, 1 findings, 2 your mistake, 3 the run failed, 4 interrupted and resumable"
DESCRIPTION = (
    "Simulate, minimise, fit and differentiate scenes whose potential energy you write as one function."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the arguments (default: those of the process), run the verb, and return the exit code.

    Our errors become messages on stderr.
    """
    arguments = _parsed(sys.argv[1:] if argv is None else argv)
    try:
        code = arguments.run_verb(arguments)
        sys.stdout.flush()
        return code
    except MinusgradError as error:
        complain(error, *getattr(error, "__notes__", []))
        return error.exit_code
    except KeyboardInterrupt:
        complain("stopped; nothing was saved")
        return 130
    except BrokenPipeError:  # the reader has gone; Python must not flush once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        import traceback

        traceback.print_exc()
        complain("internal error in minusgrad; please report the traceback above")
        return MinusgradError.exit_code


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments; overrides may stand behind options, which argparse alone does not accept."""
    parser = _parser(argv)
    arguments, rest = parser.parse_known_args(argv)
    if hasattr(arguments, "overrides") and not any(word.startswith("-") for word in rest):
        arguments.overrides += rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    return arguments


class _Help(argparse.HelpFormatter):
    """As wide as the terminal; argparse would ask `shutil`, which takes a while to import."""

    def __init__(self, prog: str):
        try:
            columns = int(os.environ.get("COLUMNS", 0)) or os.get_terminal_size().columns
        except (ValueError, OSError):
            columns = 80
        super().__init__(prog, width=columns - 2)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """A parser of all verbs, with the options of those that occur in `argv`."""
    parser = argparse.ArgumentParser(
        "minusgrad", description=DESCRIPTION, epilog=EPILOG, formatter_class=_Help
    )
    parser.add_argument("--version", action="version", version=f"minusgrad {__version__}")
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    for name, (module, text) in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=text, epilog=EPILOG, formatter_class=_Help)
        if name in argv:
            from importlib import import_module

            home = import_module(f".verbs.{module}", __package__)
            getattr(home, f"{name}_options")(verb)
            verb.set_defaults(run_verb=getattr(home, name))
    return parser
