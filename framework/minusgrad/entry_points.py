"""Which plugins are installed, from the metadata of distributions: nothing is imported."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from .errors import PluginError
from .hooks import GROUP


@dataclass(frozen=True)
class Plugin:
    """A plugin as its metadata describe it, or a file given on the command line."""

    name: str
    distribution: str
    version: str
    target: str

    def __str__(self) -> str:
        return f"plugin '{self.name}' ({self.distribution} {self.version})"


def installed() -> dict[str, EntryPoint]:
    """The entry points of the group `minusgrad`, by name; nothing is imported.

    Raises `PluginError` if two distributions claim one name.
    """
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise PluginError(f"two plugins are named '{point.name}': {described(other)} and {described(point)}; uninstall one")
    return found


def described(point: EntryPoint) -> Plugin:
    """The plugin that an entry point leads to."""
    distribution = point.dist
    name, version = (distribution.name, distribution.version) if distribution else ("?", "?")
    return Plugin(point.name, name, version, point.value)


def listed() -> list[Plugin]:
    """All installed plugins, the core's own included."""
    return [described(point) for point in installed().values()]
