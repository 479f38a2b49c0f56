"""Completion of verbs, options and names of scenes: a script for a shell, made from the parsers.

    eval "$(minusgrad completion bash)"

Nothing runs at a press of the Tab key, and no package is needed. A plugin's verb is in scripts that were made
after it was installed.

Decisions 0121.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from shlex import quote
from typing import NamedTuple

from ...errors import UserError
from .shipped import places

SCENES = ("run", "fit", "sweep", "check", "init")
"""The verbs that take the name of a scene."""
Parsers = Mapping[str, argparse.ArgumentParser]


class Verb(NamedTuple):
    """What can follow a verb. options: with the text of their help. choices: the words of an option."""

    name: str
    text: str
    options: dict[str, str]
    choices: dict[str, list[str]]
    names: list[str]


def script(shell: str, parsers: Parsers) -> str:
    """The script for "bash", "zsh" or "fish".

    parsers: those of all verbs, with their options.
    """
    verbs = [_verb(name, parser) for name, parser in parsers.items()]
    return SHELLS[shell](verbs)


def _verb(name: str, parser: argparse.ArgumentParser) -> Verb:
    shown = [a for a in parser._actions if a.help is not argparse.SUPPRESS]
    long = [(option, a) for a in shown for option in a.option_strings if option.startswith("--")]
    given = {option: [*map(str, a.choices)] for option, a in long if a.choices}
    texts = {option: _first(a.help or "") for option, a in long}
    words = [str(one) for a in shown if not a.option_strings for one in a.choices or ()]
    return Verb(name, _first(parser.description or ""), texts, given, [*words, *_scenes(name)])


def _first(text: str) -> str:
    """The help up to a remark in brackets or its first clause: menus have one line."""
    return text.replace("%%", "%").split(" (")[0].split(";")[0].split(", e.g.")[0]


def _scenes(verb: str) -> list[str]:
    if verb not in SCENES:
        return []
    try:
        return ["tutorial"] * (verb == "init") + [*places.scenes()]
    except UserError:
        return []


def _choices(verbs: list[Verb]) -> Iterator[tuple[str, list[str]]]:
    """The words of each option that has some, by its case: the verb and the option, in quotes."""
    for v in verbs:
        for option, words in v.choices.items():
            yield quote(f"{v.name} {option}"), words


def _bash(verbs: list[Verb]) -> str:
    rows = [
        f"    {v.name}) options={quote(' '.join(v.options))}; names={quote(' '.join(v.names))};;"
        for v in verbs
    ]
    chosen = [
        f'    {case}) COMPREPLY=($(compgen -W {quote(" ".join(words))} -- "$cur")); return;;'
        for case, words in _choices(verbs)
    ]
    return "\n".join(
        [
            "_minusgrad() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" options= names=',
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f'    COMPREPLY=($(compgen -W {quote(" ".join(v.name for v in verbs))} -- "$cur")); return',
            "  fi",
            '  case "${COMP_WORDS[1]} $before" in',
            *chosen,
            "  esac",
            '  case "${COMP_WORDS[1]}" in',
            *rows,
            "  esac",
            '  case "$cur" in',
            '    -*) COMPREPLY=($(compgen -W "$options" -- "$cur"));;',
            '    *) COMPREPLY=($(compgen -W "$names" -- "$cur"; compgen -f -- "$cur"));;',
            "  esac",
            "}",
            "complete -o filenames -F _minusgrad minusgrad\n",
        ]
    )


def _described(pairs: Mapping[str, str]) -> str:
    """Words with their texts, as zsh's `_describe` reads them."""
    return " ".join(quote(f"{word.replace(':', chr(92) + ':')}:{text}") for word, text in pairs.items())


def _zsh(verbs: list[Verb]) -> str:
    rows = [
        f"    {v.name}) options=({_described(v.options)}); names=({' '.join(map(quote, v.names))});;"
        for v in verbs
    ]
    chosen = [
        f"    {case}) compadd -- {' '.join(map(quote, words))}; return;;" for case, words in _choices(verbs)
    ]
    return "\n".join(
        [
            "#compdef minusgrad",
            "_minusgrad() {",
            "  local -a verbs options names",
            "  if (( CURRENT == 2 )); then",
            f"    verbs=({_described({v.name: v.text for v in verbs})})",
            "    _describe verb verbs; return",
            "  fi",
            '  case "$words[2] $words[CURRENT-1]" in',
            *chosen,
            "  esac",
            '  case "$words[2]" in',
            *rows,
            "  esac",
            '  if [[ "$words[CURRENT]" == -* ]]; then _describe -o option options; return; fi',
            "  (( $#names )) && compadd -a names",
            "  _files",
            "}",
            "compdef _minusgrad minusgrad\n",
        ]
    )


def _fish(verbs: list[Verb]) -> str:
    lines = []
    for v in verbs:
        lines.append(f"complete -c minusgrad -f -n __fish_use_subcommand -a {v.name} -d {quote(v.text)}")
        of = f"complete -c minusgrad -n '__fish_seen_subcommand_from {v.name}'"
        for option, text in v.options.items():
            words = f" -x -a {quote(' '.join(v.choices[option]))}" if option in v.choices else ""
            lines.append(f"{of} -l {option[2:]} -d {quote(text)}{words}")
        if v.names:
            lines.append(f"{of} -a {quote(' '.join(v.names))}")
    return "\n".join([*lines, ""])


SHELLS: dict[str, Callable[[list[Verb]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
