"""The rows of `minusgrad validate`: those of all plugins, and which of them are asked for."""

from collections.abc import Iterable, Sequence

from ..assembly.hookspecs import PUBLISHED_VALUES
from ..assembly.registry import Registry
from ..errors import PluginError, UserError, printable, suggestion
from . import inference
from .published_value import PublishedValue


def of_all(registry: Registry) -> list[PublishedValue]:
    """The rows of no plugin, and those of the plugins of a registry, sorted by area.

    Raises `PluginError` for what is no row, and for two rows of a name.
    """
    found = {row.name: row for row in inference.ROWS}
    for plugin, given in registry.given(PUBLISHED_VALUES):
        if not isinstance(given, Sequence) or not all(isinstance(one, PublishedValue) for one in given):
            what = type(given).__name__
            raise PluginError(f"{plugin}: {PUBLISHED_VALUES} gives {what}, not a list of @published_value")
        for row in given:
            if row.name in found:
                raise PluginError(f"{plugin}: '{row.name}' is the name of two published values; rename one")
            found[row.name] = row
    return sorted(found.values(), key=lambda row: row.area)


def chosen(rows: Sequence[PublishedValue], only: Iterable[str], quick: bool) -> list[PublishedValue]:
    """Those of the areas and names in `only`, and with `quick` the quick ones of them; all, if it is empty.

    A word that no area and no row has is the beginning of names; capitals do not count. Raises `UserError`
    for a word with which neither a row nor an area begins, and where none is left.
    """
    wanted = [name for word in dict.fromkeys(only) for name in _meant(rows, word)]
    kept = [row for row in rows if row.area in wanted or row.name in wanted] if wanted else [*rows]
    kept = [row for row in kept if row.quick or not quick]
    if not kept:
        raise UserError("validate: no row is left, got --quick and names of rows that are not; leave it out")
    return kept


def _meant(rows: Sequence[PublishedValue], word: str) -> list[str]:
    """The areas and names that a word stands for. Raises `UserError` where there is none."""
    known = list(dict.fromkeys([*(row.area for row in rows), *(row.name for row in rows)]))
    equal = [name for name in known if name.lower() == word.lower()]
    if found := equal or [name for name in known if name.lower().startswith(word.lower())]:
        return found
    firsts = [name.split()[0].rstrip(",") for name in known]
    raise UserError(
        f"validate: no row and no area is named '{printable(word)}'{suggestion(word, [*known, *firsts])}"
        " (`minusgrad validate --list` lists them)"
    )
