"""Differences between the origin of a checkpoint and that of the present process, a line each.

A changed graph, changed values, or changed code that no graph covers prevents an exact continuation. Other
changed files, and values that differ by rounding (another processor's), are only reported.

Decisions 0242.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Lines = tuple[list[str], list[str]]
_ROUNDING = 1e-9
"""Relative size, of sums, up to which values count as rounded otherwise."""
WITHOUT = (
    "saved without the graphs of its energies, which later versions save; its plugins are compared by file"
)


def differences(then: Any, now: Mapping[str, Any], same_scene: bool) -> Lines:
    """Those that prevent an exact continuation, and those that do not.

    same_scene: whether the scene and its files are unchanged; otherwise changed values follow from them.
    """
    if not isinstance(then, Mapping):
        return [], [WITHOUT]
    grave: list[str] = []
    light: list[str] = []
    plugins = {name: _changed(then, now, name) for name in _both(then, now, "plugins")}
    causes = {name: _cause(name, files, then, now) for name, files in plugins.items()}
    for key, (old, new) in _both(then, now, "terms").items():
        cause = causes.get(new["plugin"], _own(then, now))
        if old.get("graph") != new["graph"]:
            grave.append(f"{key}: the graph of term '{new['term']}' has changed ({cause})")
        elif old.get("order") != new.get("order"):
            light.append(f"{key}: the graph of term '{new['term']}' is evaluated in another order ({cause})")
        elif same_scene:
            if not any(plugins.get(new["plugin"], {}).values()):  # most values come from the state
                cause = causes.get(now["state"]["plugin"], cause)
            _add_values(f"{key}: the values of term '{new['term']}'", old, new, cause, grave, light)
    if same_scene and isinstance(old := then.get("state"), Mapping):
        new = now["state"]
        cause = causes.get(new["plugin"], _own(then, now))
        _add_values("state: the lists, bodies or holds", old, new, cause, grave, light)
    uncovered = {}
    for key, (old, new) in _both(then, now, "objects").items():
        changed = [file for file, of_code in plugins.get(new["plugin"], {}).items() if of_code]
        if changed or old.get("code") != new["code"]:
            uncovered[new["plugin"]] = key
            cause = ", ".join(changed) if changed else causes.get(new["plugin"], "")
            grave.append(
                f"{key}: the code of plugin '{new['plugin']}' has changed ({cause}); no graph covers it"
            )
    named = " ".join(grave)
    named += " ".join(light)
    for name, files in plugins.items():
        if files and name not in uncovered and f"plugin '{name}'" not in named:
            light.append(
                f"plugin '{name}': changed: {', '.join(files)}; its energies in this run are the same"
            )
    if then.get("minusgrad") != now["minusgrad"]:
        light.append("minusgrad: its own files have changed")
    return grave, light


def _both(then: Mapping, now: Mapping, section: str) -> dict[str, tuple[Any, Any]]:
    """The entries that both have, by name."""
    old, new = then.get(section), now[section]
    shared = [name for name in new if isinstance(old, Mapping) and isinstance(old.get(name), Mapping)]
    return {name: (old[name], new[name]) for name in shared}  # type: ignore[index]


def _changed(then: Mapping, now: Mapping, plugin: str) -> dict[str, bool]:
    """The files of a plugin that differ: whether more than comments, docstrings and blank lines does."""
    old, new = then["plugins"][plugin], now["plugins"][plugin]
    pairs = {file: (str(old.get(file, "")), str(new.get(file, ""))) for file in sorted({*old, *new})}
    return {
        file: before.split()[1:] != after.split()[1:]
        for file, (before, after) in pairs.items()
        if before != after
    }


def _cause(plugin: str, files: Mapping[str, bool], then: Mapping, now: Mapping) -> str:
    if changed := [file for file, of_code in files.items() if of_code]:
        return f"plugin '{plugin}': {', '.join(changed)}"
    if then.get("minusgrad") != now["minusgrad"]:
        return _own(then, now)
    return f"no file of plugin '{plugin}': a constant, an environment variable or data that it reads"


def _own(then: Mapping, now: Mapping) -> str:
    changed = then.get("minusgrad") != now["minusgrad"]
    return "minusgrad's own files" if changed else "no file of minusgrad: a version or the processor"


def _add_values(
    what: str, old: Mapping, new: Mapping, cause: str, grave: list[str], light: list[str]
) -> None:
    if old.get("values") == new["values"]:
        return
    sums = zip(_numbers(old.get("sums")), new["sums"], strict=False)
    size = max(abs(new["sums"][0]), 1e-300)
    alike = old.get("others") == new["others"] and all(abs(a - b) <= _ROUNDING * size for a, b in sums)
    if alike and new["sums"][0]:
        light.append(f"{what} differ by rounding")
    else:
        grave.append(f"{what} have changed ({cause})")


def _numbers(values: Any) -> Iterator[float]:
    for one in values if isinstance(values, list) else ():
        yield float(one)
