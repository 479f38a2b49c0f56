"""Verbs of plugins: modules in the entry-point group `minusgrad.commands`, found without an import.

    [project.entry-points."minusgrad.commands"]
    laser = "minusgrad_laser.tool.command"

The first line of the module's docstring is the help of the verb. `options(parser)` declares its arguments and
`run(arguments)` returns the exit code; `SAVES = True` says that its results are files, whatever becomes of
what it prints. The metadata are read as text along the module path: `importlib.metadata` would take longer to
import than the whole of `--help`.

Decisions 0101.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import namedtuple

from ...errors import MinusgradError, PluginError
from ..streams import verbs_of_others
from .shared_options import complain

GROUP = "minusgrad.commands"
OURS = "minusgrad"


class PluginVerb(namedtuple("PluginVerb", ("name", "distribution", "version", "target"))):
    """A verb as the metadata of a distribution describe it."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"command '{self.name}' ({self.distribution} {self.version})"

    @property
    def help(self) -> str:
        """The first line of the module's docstring, read from its source; else the distribution."""
        try:
            with open(_source(self.target), encoding="utf-8") as file:
                line = next(iter(file)).strip()
        except (ImportError, OSError, ValueError, StopIteration):
            line = ""
        text = line[3:].removesuffix('"""').rstrip(".") if line.startswith('"""') else ""
        return text.replace("%", "%%") or f"of {self.distribution} {self.version}"

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        """Give the parser the options of the verb, and the function that runs it.

        Raises `PluginError` if the module cannot be imported, or has no `options` or `run`.
        """
        from importlib import import_module

        if self.distribution != OURS:
            verbs_of_others.add(self.target.partition(".")[0])
        try:
            module = import_module(self.target)
            options, run = module.options, module.run
        except Exception as error:
            raise PluginError(f"{self}: {self.target} cannot be imported: {error!r}") from error
        options(parser)
        parser.set_defaults(run_verb=lambda a: self._run(run, a), saves=getattr(module, "SAVES", False))

    def _run(self, run, arguments: argparse.Namespace) -> int:
        """The exit code; errors of a stranger's code name the stranger."""
        try:
            return int(run(arguments))
        except MinusgradError:
            raise
        except Exception:
            if self.distribution == OURS:
                raise
            import traceback

            traceback.print_exc()
            complain(f"error in {self}; please report the traceback above to its authors")
            return MinusgradError.exit_code


def installed() -> dict[str, list[PluginVerb]]:
    """The verbs of installed plugins by name; more than one where distributions disagree.

    Of two copies of a distribution the first on the path counts, as for an import.
    """
    found: dict[str, list[PluginVerb]] = {}
    seen: set[str] = set()
    for folder in dict.fromkeys(sys.path):
        for name in _listed(folder):
            distribution, _, version = name.removesuffix(".dist-info").partition("-")
            if distribution not in seen:
                seen.add(distribution)
                for verb, target in _entries(os.path.join(folder, name, "entry_points.txt")):
                    found.setdefault(verb, []).append(PluginVerb(verb, distribution, version, target))
    return found


def only(verbs: list[PluginVerb], ours: object) -> PluginVerb:
    """The one owner of a name. Raises `PluginError` that names them all, if there are several.

    ours: the names of the verbs of minusgrad itself.
    """
    if verbs[0].name in ours:  # type: ignore[operator]
        raise PluginError(
            f"{verbs[0]} has the name of a command of minusgrad; uninstall {verbs[0].distribution}"
        )
    if len(verbs) > 1:
        owners = " and ".join(f"{v.distribution} {v.version}" for v in verbs)
        raise PluginError(f"two commands are named '{verbs[0].name}', of {owners}; uninstall one")
    return verbs[0]


def _listed(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder or ".") if name.endswith(".dist-info"))
    except OSError:  # of a zip file, or gone
        return []


def _entries(file: str) -> list[tuple[str, str]]:
    """Names and modules of the group in an `entry_points.txt`."""
    try:
        with open(file, "rb", buffering=0) as opened:
            data = opened.read()
    except OSError:
        return []
    if GROUP.encode() not in data:  # of nearly all, which then cost no more than their reading
        return []
    rows, inside = [], False
    for line in map(str.strip, data.decode("utf-8", "replace").splitlines()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            name, _, target = line.partition("=")
            rows.append((name.strip(), target.strip()))
    return rows


def _source(target: str) -> str:
    """The file of a module, found without importing its packages. Raises `ImportError` if there is none."""
    from importlib.machinery import PathFinder
    from importlib.util import find_spec

    top, *rest = target.split(".")
    spec = find_spec(top)
    for name in rest:
        places = None if spec is None else spec.submodule_search_locations
        spec = None if places is None else PathFinder.find_spec(name, list(places))
    if spec is None or spec.origin is None:
        raise ImportError(target)
    return spec.origin
