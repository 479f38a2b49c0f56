"""Provenance of a run: versions, hashes and machine in its checkpoints, and later changes.

The number of threads is not in it: it does not change the bits.
"""

import hashlib
import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from ..engine import devices, runtime
from ..scene.document import Scene
from ..scene.toml_positions import KeyPath
from .installed_plugins import Plugin, installed
from .origins import differences as origin_differences
from .registry import Registry

_version = cache(version)
_SHA = re.compile("[0-9a-f]{64}")


def facts(
    scene: Scene, files: Mapping[str, bytes], registry: Registry, used: Iterable[Plugin]
) -> dict[str, Any]:
    """Scene, files, plugins that it uses, machine and versions, as plain data without wall-clock times."""
    resolved = scene.resolved()
    for key in ("threads", "arch", "device"):  # facts of the machine, or of none
        resolved["runtime"].pop(key, None)
    resolved["checkpoint"].pop("wall_time")  # when files are written is no part of what they hold
    resolved["runtime"]["engine"] = engine = runtime.engine_name()
    return {
        "title": scene.title,
        "scene": resolved,
        "text": sha(scene.source),
        "files": {name: sha(data) for name, data in sorted(files.items())},
        "plugins": {plugin.name: registry.fingerprint(plugin) for plugin in used},
        "machine": platform.machine(),
        "device": _device(),
        "versions": {package: _version(package) for package in ("minusgrad", engine, "numpy", "h5py")},
    }


def _device() -> dict[str, Any]:
    """The architecture that kernels run on, and the name of the device, where the driver tells it."""
    device = devices.device_in_use()
    return {"arch": runtime.arch()} | ({"name": device.name} if device else {})


def arch(then: Mapping[str, Any]) -> str | None:
    """The architecture that the run was computed on, if known."""
    device = _with_device(then).get("device")
    found = device.get("arch") if isinstance(device, dict) else None
    return found if isinstance(found, str) else None


def _with_device(then: Mapping[str, Any]) -> Mapping[str, Any]:
    """The facts, of which those of earlier versions have the architecture in the scene."""
    scene = then.get("scene")
    found = scene.get("runtime") if isinstance(scene, dict) else None
    if not isinstance(scene, dict) or not isinstance(found, dict) or "arch" not in found:
        return then
    rest = {key: value for key, value in found.items() if key != "arch"}
    return {**then, "scene": {**scene, "runtime": rest}, "device": {"arch": found["arch"]}}


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Differences, a line each: those that prevent an exact continuation, and those that may change bits."""
    then = _with_device(then)
    grave = [line for key in ("scene", "files") for line in _lines(key, then.get(key), now.get(key))]
    changed, light = origin_differences.differences(then.get("origin"), now["origin"], not grave)
    known = "origin" in then  # which says more about source
    grave += [*_lines("plugins", _plugins(then, known), _plugins(now, known)), *changed]
    grave += _lines("callbacks", then.get("callbacks"), now.get("callbacks"))
    light += [
        line for key in ("machine", "device", "versions") for line in _lines(key, then.get(key), now.get(key))
    ]
    if not grave:
        light += _lines("the scene's text", then.get("text"), now.get("text"))
    return grave, light


def _plugins(facts: Mapping[str, Any], without_source: bool) -> Any:
    """The facts about plugins; `without_source`: without the hash of their source."""
    plugins = facts.get("plugins")
    if not without_source or not isinstance(plugins, dict):
        return plugins
    return {
        name: {key: v for key, v in one.items() if key != "source"} if isinstance(one, dict) else one
        for name, one in plugins.items()
    }


def engine(then: Mapping[str, Any]) -> str | None:
    """The engine that computed the run, if known."""
    scene = then.get("scene")
    found = scene.get("runtime") if isinstance(scene, dict) else None
    name = found.get("engine") if isinstance(found, dict) else None
    return name if isinstance(name, str) else None


def plugin_files(then: Mapping[str, Any]) -> list[str]:
    """The files that the run was given with --plugin, by name."""
    plugins = then.get("plugins")
    saved = plugins.values() if isinstance(plugins, dict) else ()
    return [str(p.get("version")) for p in saved if isinstance(p, dict) and p.get("distribution") == "file"]


def of_python(then: Mapping[str, Any]) -> list[str]:
    """The energies and modules at hand that a run in Python was given, by name."""
    plugins = then.get("plugins")
    named = plugins.items() if isinstance(plugins, dict) else ()
    return [name for name, p in named if isinstance(p, dict) and p.get("distribution") == "module"]


def callbacks(then: Mapping[str, Any]) -> list[str]:
    """The functions that a run in Python calls between its steps, by name."""
    found = then.get("callbacks")
    return list(found) if isinstance(found, dict) else []


def lacking(then: Mapping[str, Any]) -> str:
    """The plugin of the run that is not installed now, with the cure; empty if all are installed."""
    plugins, present = then.get("plugins"), installed()
    for name, saved in (plugins if isinstance(plugins, dict) else {}).items():
        if (
            isinstance(saved, dict)
            and saved.get("distribution") not in ("file", "module")
            and name not in present
        ):
            owner, version = saved.get("distribution"), saved.get("version")
            return (
                f"was run with plugin '{name}' ({owner} {version}), which is not installed:"
                f" pip install {owner}=={version}"
            )
    return ""


def changes(then: Any, now: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any, Any]]:
    """The parts of plain data that differ, by their paths: (path, value then, value now)."""
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        then, now = dict(enumerate(then)), dict(enumerate(now))
    if then == now:
        return
    if isinstance(then, dict) and isinstance(now, dict):
        for part in {**then, **now}:
            yield from changes(then.get(part), now.get(part), (*path, part))
    else:
        yield path, then, now


def _lines(key: str, then: Any, now: Any) -> Iterator[str]:
    """`scene.stepper.dt: 0.005 then, 0.01 now`, for the parts that differ."""
    for path, before, after in changes(then, now, (key,)):
        place = ".".join(map(str, path))
        if all(isinstance(v, str) and _SHA.fullmatch(v) for v in (before, after)):
            yield f"{place} has changed"
        else:
            yield f"{place}: {_shown(before)} then, {_shown(after)} now"


def _shown(value: Any) -> str:
    return "not there" if value is None else json.dumps(value)


def sha(data: bytes) -> str:
    """SHA-256 of a file's bytes, as in the facts."""
    return hashlib.sha256(data).hexdigest()
