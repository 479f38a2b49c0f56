"""Installed plugins, from the metadata of distributions; nothing is imported.

Decisions 0222.
"""

from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, entry_points

from ..errors import PluginError
from .hookspecs import GROUP

OURS = "minusgrad"
"""Our own distribution."""
MOVED = {("stepper", "wisdom_holman"): "gravity", ("observe", "megno"): "gravity"}
"""The plugins beside the core that have kinds which the core had before."""


@dataclass(frozen=True)
class Plugin:
    """A plugin as its metadata describe it, or a file given on the command line."""

    name: str
    distribution: str
    version: str
    target: str

    def __str__(self) -> str:
        return f"plugin '{self.name}' ({self.distribution} {self.version})"


def installed() -> dict[str, list[EntryPoint]]:
    """The entry points of the group `minusgrad` by name; more than one where distributions disagree.

    Our own distribution comes first, so that no other takes a name from it.
    """
    found: dict[str, list[EntryPoint]] = {}
    owned = [(described(point), point) for point in entry_points(group=GROUP)]
    for plugin, point in sorted(owned, key=lambda o: (o[0].distribution != OURS, o[0].name, str(o[0]))):
        found.setdefault(plugin.name, []).append(point)
    return found


def described(point: EntryPoint) -> Plugin:
    """The plugin that an entry point leads to."""
    return Plugin(point.name, *_owner(point.dist), point.value)


@lru_cache(maxsize=64)
def _owner(distribution: Distribution | None) -> tuple[str, str]:
    """Name and version; kept, because each of the two parses the whole metadata, for each of its plugins."""
    try:
        metadata = distribution.metadata  # type: ignore[union-attr]
        return metadata["Name"] or "?", metadata["Version"] or "?"
    except (AttributeError, TypeError, FileNotFoundError):  # without metadata; the last by importlib_metadata
        return "?", "?"


def only(points: list[EntryPoint]) -> EntryPoint:
    """The one owner of a name. Raises `PluginError` that names them all, if there are several."""
    if len(points) > 1:
        owners = " and ".join(f"{p.distribution} {p.version}" for p in map(described, points))
        raise PluginError(f"two plugins are named '{points[0].name}', of {owners}; uninstall one")
    return points[0]


def listed() -> list[Plugin]:
    """All installed plugins, the core's own included."""
    return [described(point) for points in installed().values() for point in points]
