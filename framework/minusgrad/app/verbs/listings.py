"""`scenes`, `energies`, `plugins`, `devices` and `schema`: lists of what is installed."""

from __future__ import annotations

import argparse

from ...errors import UserError
from .kinds import energy_keys
from .shared_options import common_options, json_option, path, plugin_option, print_json, warn_of_broken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...assembly.registry import Listed

plugins_options, devices_options, schema_options = json_option, json_option, plugin_option


def energies_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", metavar="NAME", help="list the keys of this one, as `kinds` does")
    common_options(parser)


def scenes_options(parser: argparse.ArgumentParser) -> None:
    text = "list the scenes of this folder (default: those that come with minusgrad, by their names)"
    parser.add_argument("folder", type=path, nargs="?", metavar="DIR", help=text)
    json_option(parser)


def scenes(a: argparse.Namespace) -> int:
    from ...scene.document import claim, members, title
    from ..tables import print_table
    from .shipped import places

    if a.folder is None:
        files, pictures = places.scenes(), places.pictures()
    else:
        files, pictures = {str(file): file for file in sorted(a.folder.glob("*.toml"))}, {}
    if not files:
        raise UserError(
            f"{a.folder}: contains no scenes (*.toml); give another folder, or none for those of minusgrad"
        )
    rows = [(name, title(f), claim(f), members(f), pictures.get(name, [])) for name, f in files.items()]
    if a.json:
        keys = ("scene", "title", "claim", "members", "pictures")
        found = [dict(zip(keys, row, strict=True)) for row in rows]
        print_json([{k: v for k, v in one.items() if v or k in keys[:3]} for one in found])
        return 0
    head = ("scene", "what", "pictures")
    table = [(n, f"{t or c}{f' ({m})' if m else ''}", ", ".join(p)) for n, t, c, m, p in rows]
    print_table(head[: 3 if pictures else 2], [row[: 3 if pictures else 2] for row in table])
    if a.folder is None:
        page = places.home() / "scenes" / places.PAGE
        print(f"minusgrad run NAME runs one, minusgrad init NAME copies its files; {page} describes them")
    return 0


def energies(a: argparse.Namespace) -> int:
    from ...assembly.registry import ENERGIES, Registry
    from ..tables import print_table

    if a.kind is not None:
        return energy_keys(a)
    registry = Registry.load(None, a.plugin)
    found = [_declared(one) for one in registry.listed() if one.section in ENERGIES]
    if a.json:
        print_json(found)
    else:
        for section in ENERGIES:
            if some := [one for one in found if one["section"] == section]:
                head = (section, "plugin", "over", "arguments", "description")
                print_table(head, [_energy_row(one) for one in some])
    return warn_of_broken(registry)


def _declared(one: Listed) -> dict[str, Any]:
    return {"section": one.section, "name": one.kind, "plugin": one.plugin, **one.row["energy"]}


def _energy_row(d: dict[str, Any]) -> tuple[str, ...]:
    arguments = "\n".join(f"{a['name']}: {a['role']} [{a['unit']}]" for a in d["arguments"])
    name = f"{d['name']} -> {d['gives']}" if d["gives"] else d["name"]
    over = d["over"] if isinstance(d["over"], (str, int)) else tuple(d["over"])
    return name, d["plugin"], str(over), arguments, d["claim"]


def plugins(a: argparse.Namespace) -> int:
    from ...assembly.installed_plugins import listed
    from ..tables import print_table

    rows = [(p.name, p.distribution, p.version, p.target) for p in listed()]
    if a.json:
        keys = ("name", "distribution", "version", "module")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        print_table(("plugin", "distribution", "version", "module"), rows)
    return 0


def devices(a: argparse.Namespace) -> int:
    from ...engine import memory
    from ..tables import print_table
    from .device_list import devices

    rows = devices()
    if a.json:
        print_json(rows)
    else:
        head = ("arch", "device", "name", "memory", "")
        print_table(head, [_device_row(row, memory.size) for row in rows])
    return 0


def _device_row(row: dict[str, Any], size: Callable[[int], str]) -> tuple[str, ...]:
    number, room = row["device"], row["memory"]
    return (
        row["arch"],
        "" if number is None else str(number),
        row["name"],
        "" if room is None else size(room),
        row["remark"],
    )


def schema(a: argparse.Namespace) -> int:
    import json
    from functools import partial

    from ...assembly.registry import Registry
    from ...scene.json_schema import schema_of

    registry = Registry.load(None, a.plugin)
    made = schema_of(registry.models())
    short = partial(json.dumps, separators=(",", ":"))
    lines = ",\n".join(f"{short(name)}:{short(one)}" for name, one in made.pop("$defs").items())
    print(f'{short(made)[:-1]},"$defs":{{\n{lines}\n}}}}')  # one line for each definition
    return warn_of_broken(registry)
