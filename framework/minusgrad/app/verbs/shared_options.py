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


def scene_argument(parser: argparse.ArgumentParser) -> None:
    text = "a scene file, or the name of a scene that comes with minusgrad (`minusgrad scenes`)"
    parser.add_argument("scene", type=path, metavar="SCENE", help=text)


def with_scene_file(a: argparse.Namespace) -> None:
    """Put the file of a scene that is given by its name in the place of the name, and add its own energies.

    Raises `UserError` for a name that no scene has.
    """
    from .shipped.places import own_plugins, scene_file

    named, a.scene = a.scene, scene_file(a.scene)
    if a.scene is not named:
        a.plugin = [*own_plugins(a.scene), *a.plugin]


def run_argument(parser: argparse.ArgumentParser, text: str = "folder of a run or a fit") -> None:
    """The run that a verb reads, which `with_run` finds where none is given."""
    text += " (default: the newest one below runs)"
    parser.add_argument("folder", type=path, nargs="?", metavar="RUN", help=text)


def with_run(a: argparse.Namespace) -> None:
    """Put the newest run in the place of none, and say so. Raises `RunFolderError` if there is none."""
    if a.folder is None:
        from ...files.held.run_listing import newest_run

        a.folder = newest_run()
        complain(f"{a.folder} is the newest run here")


def out_option(parser: argparse.ArgumentParser, text: str, metavar: str = "DIR", former: str = "") -> None:
    """The file or folder to write, which has one name in every verb; its former name works, too."""
    parser.add_argument("-o", "--out", type=path, metavar=metavar, help=text)
    if former:
        _former_name(parser, former, "out")


def _former_name(parser: argparse.ArgumentParser, option: str, dest: str) -> None:
    """An option of earlier versions, which is understood and not shown."""
    parser.add_argument(option, type=path, dest=dest, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def quiet_option(parser: argparse.ArgumentParser) -> None:
    """Not of a plugin's verb that has such options of its own."""
    if not {"-q", "--quiet"} & {*parser._option_string_actions}:
        text = "print results and errors alone: no progress, no remarks"
        parser.add_argument("-q", "--quiet", action="store_true", help=text)


def common_options(parser: argparse.ArgumentParser) -> None:
    plugin_option(parser)
    json_option(parser)


def plugin_option(parser: argparse.ArgumentParser) -> None:
    text = "a file with energies of your own; may be given several times"
    parser.add_argument("--plugin", type=path, action="append", default=[], metavar="FILE.py", help=text)


def fitted_option(parser: argparse.ArgumentParser) -> None:
    text = "start with what this fit of the scene found: its parameters and initial fields"
    parser.add_argument("--fitted", type=path, metavar="DIR", help=text)
    _former_name(parser, "--found", "fitted")


def json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
