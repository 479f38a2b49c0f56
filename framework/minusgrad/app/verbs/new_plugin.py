"""`new-plugin`: a distribution with an energy, a state, an observer, a scene and tests, to begin with."""

from __future__ import annotations

import argparse

from .shared_options import json_option, out_option, path, print_json


def new_plugin_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of the plugin, its package and its distribution")
    out_option(parser, "a new or empty folder (default: NAME)")
    json_option(parser)


def new_plugin(a: argparse.Namespace) -> int:
    from ..plugin_kit import scaffold

    folder = a.out or path(a.name)
    files = scaffold.new_plugin(a.name, a.out)
    if a.json:
        print_json([str(file) for file in files])
        return 0
    for file in files:
        print(file)
    print(f"next: pip install -e '{folder}[test]' && minusgrad check {a.name} && pytest {folder}")
    return 0
