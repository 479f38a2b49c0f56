"""Pages with every key of every table and kind of a scene, made from the models that validate them.

    python docs/scene_reference.py FOLDER

`index.md` has the tables of the core and explains the notation; `states.md`, `steppers.md`, `observers.md`
and `losses.md` have their kinds; `energies-PLUGIN.md` the energies, maps and the like of one plugin,
`energies.md` the keys that they share. A kind has the anchor `SECTION-KIND`, such as `state-network`.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from minusgrad.assembly.blocks import energy_block
from minusgrad.assembly.registry import ENERGIES, Entry, Registry
from minusgrad.energies.roles import Datum, Parameter
from minusgrad.scene.document import LOSS
from minusgrad.scene.fit_table import LOSSES
from minusgrad.scene.key_table import Key, rows, rows_of_kind, tables

SCENES = Path(__file__).parent.parent / "scenes"
SECTIONS = {
    "state": ("states", "States", "Initial states: `[state] kind`."),
    "stepper": ("steppers", "Steppers", "Integrators and minimisers: `[stepper] kind`."),
    "observe": ("observers", "Observers", "What is recorded: `[[observe]] kind`."),
}
OF_ENERGIES = (*ENERGIES, "compound")
SHARED = {
    "Every block": energy_block.EnergyBlock,
    "Over listed tuples": energy_block.TupleBlock,
    "Over pairs and triples": energy_block.PairBlock,
    "Over several sets of nodes": energy_block.SetBlock,
    "Over the cells of a grid": energy_block.CellBlock,
    "Densities of a deformation gradient": energy_block.Density,
    "Maps": energy_block.Giving,
    "Maps with windows of cells": energy_block.WindowKeys,
    "Energies made of kernels": energy_block.StagedBlock,
    "Constraints": energy_block.ConstraintKeys,
}
NOTATION = """# Reference of scenes

Every table of a scene, every kind that is installed with minusgrad, and every key, with its unit, default
and meaning. `minusgrad kinds NAME` prints the same on the terminal, for kinds of your own plugins, too, and
`minusgrad schema` gives them [to an editor](../../editor.md).

| values | meaning |
|---|---|
| `quantity` | a number in the units of the scene, or text with a unit such as `"5 km"` |
| `[quantity, ...]` | a list |
| `{ NAME = quantity }` | a table with names of the scene's own, such as those of bodies |
| `drawn` | `{ each = 1.0, deviation = 0.1 }`: random values, normal or, with `within`, uniform |
| `"a" \\| "b"` | one or the other |

The column *unit* has an SI unit; a quantity may have any unit of the same dimension, and a plain number is in
the units of the scene. A key of a nested table has a name with a dot, `rotation.centre`; `NAME` stands for a
name of the scene's own; `mesh(disc).radius` is the key `radius` of a table `mesh` whose `kind` is `"disc"`.

Kinds: [states](states.md), [steppers](steppers.md), [observers](observers.md),
[energies and their like](energies.md), [losses](losses.md). The tables without a kind are below.
"""


def pages(folder: Path) -> list[Path]:
    """Write the pages into a folder; returns their paths, the index first."""
    folder.mkdir(parents=True, exist_ok=True)
    written = texts()
    for name, text in written.items():
        (folder / name).write_text(text)
    return [folder / name for name in written]


def texts() -> dict[str, str]:
    """The text of each page by its name."""
    registry = Registry.load(None)
    own = sorted({e.owner.name for s in OF_ENERGIES for e in registry.tables[s].values()})
    plugins = {plugin: [*_of_plugin(registry, plugin)] for plugin in own}
    listed = [name for name, *_ in SECTIONS.values()] + ["energies", "losses"]
    made = {"index.md": NOTATION + _toc([*listed, *(f"energies-{p}" for p in plugins)]) + _core()}
    for section, (name, title, intro) in SECTIONS.items():
        kinds = registry.tables[section].items()
        made[f"{name}.md"] = _page(title, intro, [_kind(section, k, e) for k, e in kinds])
    made["energies.md"] = _energies(plugins)
    for plugin, kinds in plugins.items():
        intro = f"Plugin `{plugin}`. All blocks have [keys that they share](energies.md), too."
        parts = [_kind(*kind) for kind in kinds] if plugin == "core" else _by_module(kinds)
        made[f"energies-{plugin}.md"] = _page(f"Energies of {plugin}", intro, parts)
    made["losses.md"] = _losses(registry)
    return made


def _of_plugin(registry: Registry, plugin: str) -> Iterator[tuple[str, str, Entry]]:
    for section in OF_ENERGIES:
        for kind, entry in registry.tables[section].items():
            if entry.owner.name == plugin:
                yield section, kind, entry


def _toc(names: list[str]) -> str:
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def _core() -> str:
    parts = [
        f"\n(table-{name})=\n## `[{name}]`\n\n{_sentence(_doc(model).partition(': ')[2].rstrip('.'))}"
        f"{_table(rows(model))}"
        for name, model in tables().items()
    ]
    return "".join(parts)


def _energies(plugins: dict[str, list[tuple[str, str, Entry]]]) -> str:
    intro = (
        "Energies (`[[energy]] kind`), maps, Lagrangians, dissipations, magnetic fields, constraints and"
        " compounds. Those of each plugin have a page. Their blocks have keys of their own, the parameters"
        " and data of the function, and the keys below."
    )
    listed = [
        f"| [{plugin}](energies-{plugin}.md) | {', '.join(f'`{kind}`' for _, kind, _ in kinds)} |\n"
        for plugin, kinds in plugins.items()
    ]
    shared, seen = [], set[str]()
    for title, model in SHARED.items():
        keys = [key for key in rows(model) if key.name not in seen or model is energy_block.StagedBlock]
        seen |= {key.name for key in keys}
        shared.append(f"\n## {title}\n\n{_table(keys)}")
    return f"# Energies\n\n{intro}\n\n| plugin | kinds |\n|---|---|\n{''.join(listed)}" + "".join(shared)


def _losses(registry: Registry) -> str:
    intro = (
        "`[[fit.loss]] kind`. Any energy is a loss, too: its keys are those of the energy, and two more,"
        " which say at which steps of the run it is evaluated."
    )
    timed = next(e.model for k, e in registry.tables[LOSS].items() if k not in LOSSES)
    keys = [key for key in rows(timed) if key.name in ("steps", "every")]
    kinds = [_kind(LOSS, k, registry.tables[LOSS][k]) for k in LOSSES]
    return _page("Losses", intro, [*kinds, f"\n## Any energy\n\n{_table(keys)}"])


def _page(title: str, intro: str, parts: list[str]) -> str:
    return f"# {title}\n\n{intro}\n{''.join(parts)}"


def _by_module(kinds: list[tuple[str, str, Entry]]) -> list[str]:
    """The kinds of a plugin below the docstrings of their modules, which have the equations."""
    homes = {(section, kind): _home(kind, entry) for section, kind, entry in kinds}
    parts = []
    for home in dict.fromkeys(homes.values()):
        first, _, more = inspect.cleandoc(home.__doc__ or "").partition("\n\n")
        title, _, rest = first.replace("\n", " ").rstrip(".").partition(": ")
        parts.append(f"\n## {title}\n\n{_sentence(rest)}{_prose(more)}")
        own = [(s, k, e) for s, k, e in kinds if homes[s, k] is home]
        parts += [_kind(s, k, e, "###") for s, k, e in own]
    return parts


def _sentence(text: str) -> str:
    """A paragraph that begins with a capital, unless it begins with a symbol such as x_0."""
    capital = text[:1].upper() if re.match("(a|[a-z]{2,}) ", text) else text[:1]
    return f"{capital}{text[1:]}.\n\n" if text else ""


def _prose(text: str) -> str:
    """A docstring as Markdown: equations and tables stay as they are written, paragraphs are filled."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text):
        written = any(line.startswith("    ") or "   " in line.strip() for line in paragraph.splitlines())
        filled = " ".join(paragraph.split()).replace("*", r"\*").replace("<", r"\<")
        parts.append(f"```text\n{paragraph}\n```\n\n" if written else f"{filled}\n\n" if filled else "")
    return "".join(parts)


def _home(kind: str, entry: Entry) -> ModuleType:
    """The module that declares a kind, of its plugin's package."""
    package = entry.owner.target.partition(":")[0]
    wanted = entry.model if entry.energy is None else entry.energy
    for name, module in sorted(sys.modules.items()):
        own = name == package or name.startswith(f"{package}.")
        held = own and any(value is wanted for value in vars(module).values())
        if held and f'"{kind}"' in inspect.getsource(module):  # others import it
            return module
    return sys.modules[entry.model.__module__ if entry.energy is None else package]


def _kind(section: str, kind: str, entry: Entry, level: str = "##") -> str:
    """The heading of a kind, its docstring, its keys, and its block of a scene of ours."""
    keys, more, about = rows_of_kind(section, kind, entry.model), "", _doc(entry.model)
    if entry.energy is not None:
        own = [key for key in keys if key.name.partition(".")[0] in entry.energy.roles]
        shared = [key.name for key in keys if key not in own and "." not in key.name]
        more = f"\nKeys that it shares: {', '.join(f'`{name}`' for name in shared)}.\n"
        keys, about = own, f"{about}\n\n{_facts(section, entry.energy)}"
    elif section not in SECTIONS and section != LOSS:
        about = f"{about}\n\nSection `[[{section}]]`."
    plugin = f"Plugin `{entry.owner.name}`. " if section in SECTIONS else ""
    title = f"\n({section}-{kind.replace('_', '-')})=\n{level} {kind}\n\n"
    return f"{title}{plugin}{about}\n\n{_table(keys)}{more}{_example(section, kind)}"


def _facts(section: str, energy: Any) -> str:
    """The section, the elements that an energy is over, and the fields that it reads."""
    keys = {name for name, role in energy.roles.items() if isinstance(role, Parameter | Datum)}
    read = {name: role.unit for name, role in energy.roles.items() if name not in keys}
    fields = [f"`{name}`" + (f" [{unit}]" if unit != "1" else "") for name, unit in read.items()]
    over = getattr(energy, "over", "")
    elements = f"tuples of {over} nodes" if isinstance(over, int) else over
    elements = elements if isinstance(elements, str) else ", ".join(elements)
    gives = getattr(energy, "outputs", ()) if section == "map" else ()
    parts = [f"Section `[[{section}]]`"]
    parts += [f"over {elements}"] if elements else []
    parts += [f"reads {', '.join(fields)}"] if fields else []
    parts += [f"gives {', '.join(f'`{name}`' for name in gives)}"] if gives else []
    return f"{'; '.join(parts)}."


def _doc(model: type[BaseModel]) -> str:
    return inspect.cleandoc(model.__doc__ or "")


def _table(keys: list[Key]) -> str:
    if not keys:
        return "No keys of its own.\n"
    head = ["| key | values | unit | default | meaning |", "|---|---|---|---|---|"]
    cells = [(_code(k.name), _code(k.values), _code(k.unit), _default(k), _cell(k.meaning)) for k in keys]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in cells)]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _default(key: Key) -> str:
    """In code where it is TOML, else in words."""
    toml = re.fullmatch(r'-?\d.*|".*"|true|false|\[.*\]|\{.*\}', key.default)
    return f"`{_cell(key.default)}`" if toml else _cell(key.default)


def _example(section: str, kind: str) -> str:
    """The block of the first scene of ours that has this kind, as it is written there."""
    for path in sorted(SCENES.glob("*.toml")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            if re.search(rf'\bkind = "{kind}"', line) and (block := _block(lines, number, section)):
                return f"\nIn `scenes/{path.name}`:\n\n```toml\n{block}\n```\n"
    return ""


def _block(lines: list[str], number: int, section: str) -> str:
    """The table of a section that has this line; empty if the line is of another table."""
    if re.match(rf"{section} = ", lines[number]):
        return lines[number]
    first = next((k for k in range(number, -1, -1) if lines[k].startswith("[")), 0)
    head = lines[first].strip("[] ").partition("]")[0]
    if head != ("fit.loss" if section == LOSS else section):
        return ""
    inner = re.compile(rf"\[+{re.escape(head)}\.")
    last = first + 1
    while last < len(lines) and (not lines[last].startswith("[") or inner.match(lines[last])):
        last += 1
    while not lines[last - 1] or lines[last - 1].startswith("#"):  # of what follows
        last -= 1
    return "\n".join(lines[first:last])


if __name__ == "__main__":
    for path in pages(Path(sys.argv[1])):
        print(path)
