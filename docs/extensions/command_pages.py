"""Command-line reference: the help of every verb, from the parser of the command itself."""

import argparse
from pathlib import Path

from minusgrad.app import cli
from minusgrad.app.verbs import VERBS, plugin_verbs

from .links import GENERATED

HELP = {verb: text for verb, (_, text) in VERBS.items()} | {
    name: one.help
    for name, (one,) in plugin_verbs.installed().items()
    if one.distribution == plugin_verbs.OURS
}
"""Of the verbs of minusgrad, those of its plugins included."""


def pages() -> dict[Path, str]:
    """The text of the page by its path."""
    return {GENERATED / "commands.md": reference()}


def reference() -> str:
    """One section for each verb: usage, arguments and options."""
    sections = [f"## `minusgrad {verb}`\n\n{_section(verb)}" for verb in HELP]
    head = (
        "# Commands and their options\n\nFrom `minusgrad VERB --help`. An overview with exit codes is in"
        " [command line](../command-line.md).\n"
    )
    return "\n".join([head, *sections])


def _section(verb: str) -> str:
    parser = _parser(verb)
    formatter = argparse.HelpFormatter(parser.prog, width=84)
    formatter.add_usage(parser.usage, parser._actions, [])
    usage = formatter.format_help().strip()
    rows = [
        _row(action)
        for action in parser._actions
        if action.help not in (None, argparse.SUPPRESS) and action.dest != "help"
    ]
    table = "\n".join(["| argument | |", "|---|---|", *rows]) if rows else ""
    about = HELP[verb]
    return f"{about[0].upper()}{about[1:]}.\n\n```text\n{usage}\n```\n\n{table}\n"


def _parser(verb: str) -> argparse.ArgumentParser:
    return cli.verbs_of(cli.parser_of([verb]))[verb]


def _row(action: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
    if action.option_strings and action.nargs != 0:
        names += f" `{action.metavar or action.dest.upper()}`"
    text = (action.help or "") % {"default": action.default, "prog": "minusgrad"}
    return f"| {names} | {text.replace('|', chr(92) + '|')} |"
