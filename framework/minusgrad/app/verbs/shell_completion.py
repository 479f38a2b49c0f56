"""`completion`: a script by which a shell completes verbs, options and names of scenes."""

from __future__ import annotations

import argparse


def completion_options(parser: argparse.ArgumentParser) -> None:
    text = "the shell that reads the script"
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="bash|zsh|fish", help=text)


def completion(a: argparse.Namespace) -> int:
    from .. import cli
    from . import VERBS, plugin_verbs
    from .completion_script import script

    parsers = dict(cli.verbs_of(cli.parser_of([*VERBS])))
    for name, owners in plugin_verbs.installed().items():
        if len(owners) == 1 and name not in VERBS:
            parsers[name] = cli.verbs_of(cli.parser_of([name]))[name]
    print(script(a.shell, parsers), end="")
    return 0
