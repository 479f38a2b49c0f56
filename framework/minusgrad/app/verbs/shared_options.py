"""Options that several verbs share, and their ways to print."""

from __future__ import annotations

import argparse
import sys

from ...errors import SceneError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def complain(*messages: object) -> None:
    """One line for each message; mistakes in a scene begin with the file, so that editors can jump there."""
    for message in messages:
        prefix = "" if isinstance(message, SceneError) else "minusgrad: "
        print(f"{prefix}{message}", file=sys.stderr)


def warn_of_broken(registry: Any) -> int:
    """Name the installed plugins that cannot be imported. Returns exit code 1 if there are any, else 0."""
    text = "warning: a plugin that is not used here could not be imported"
    complain(*(f"{text}: {error}" for error in registry.broken.values()))
    return 1 if registry.broken else 0


def print_json(data: object) -> None:
    import json

    print(json.dumps(data, indent=1))


def path(text: str) -> Any:
    from pathlib import Path

    return Path(text)


def common_options(parser: argparse.ArgumentParser) -> None:
    plugin_option(parser)
    json_option(parser)


def plugin_option(parser: argparse.ArgumentParser) -> None:
    text = "a file with energies of your own; may be given several times"
    parser.add_argument("--plugin", type=path, action="append", default=[], metavar="FILE.py", help=text)


def fitted_option(parser: argparse.ArgumentParser) -> None:
    text = "start with what this fit of the scene found: its parameters and initial fields"
    parser.add_argument("--fitted", "--found", type=path, metavar="DIR", help=text)


def json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
