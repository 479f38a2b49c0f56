"""Errors of plugins: who raised one, and where.

An error belongs to the plugin in whose file it was raised, or whose code made the call that raised it. Our
own errors pass: plugins raise them for wrong input, and the engine for numbers that are not finite.

Decisions 0243.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from ..errors import MinusgradError, PluginError
from .installed_plugins import OURS, Plugin
from .origins.plugin_sources import sources
from .registry import Registry


@contextmanager
def blaming(
    registry: Registry,
    kind: type[MinusgradError] = PluginError,
    passing: tuple[type[MinusgradError], ...] = (MinusgradError,),
) -> Iterator[None]:
    """Raise `kind`, with the plugin and the place, for what a plugin's code raises inside, exits included.

    Ctrl-C, errors of the classes `passing`, and those that no plugin's code had a part in pass unchanged.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, (*passing, GeneratorExit)) or type(error) is KeyboardInterrupt:
            raise
        found = culprit(registry, error.__traceback__)
        if found is None:
            raise
        plugin, place = found
        named = "" if isinstance(error, MinusgradError) else f"{type(error).__name__}: "
        text = " ".join(f"{named}{error}".removesuffix(": ").split())
        raise kind(f"{plugin} failed at {place}: {text}") from error


def culprit(registry: Registry, trace: TracebackType | None) -> tuple[Plugin, str] | None:
    """The plugin of the innermost frame that is a plugin's, and `file:line`; None if there is none.

    Our own plugins are not blamed: a mistake in them is one of ours.
    """
    imported = {n: p for n, p in registry.plugins.items() if n in registry.modules}
    foreign = {n: p for n, p in imported.items() if p.distribution != OURS}
    places = {path: p for n, p in foreign.items() for path in sources(p, registry.modules[n]).paths}
    modules = {registry.modules[n].__name__: p for n, p in foreign.items()}
    for frame, line in reversed(list(traceback.walk_tb(trace))):
        file = Path(frame.f_code.co_filename)
        owner = modules.get(frame.f_globals.get("__name__", ""))
        owner = owner or places.get(file if file.is_absolute() else file.resolve())
        if owner is not None:
            return owner, f"{file.name}:{line}"
    return None
