"""The text of a simulation's scene, and the files that it reads, written beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..assembly.built_scene import BuiltScene
from ..files import durable
from ..scene import document, toml_text
from ..scene.document import Document
from .energies_at_hand import names_of
from .scene_tables import FILE, SceneTables

NAME = Path("simulation")
"""What messages and default run folders call a simulation of arguments."""


def document_of(
    tables: SceneTables, more: Mapping[str, Any] | None = None, files: Mapping[str, bytes] | None = None
) -> Document:
    """The document of the tables of a simulation in Python, with its arrays attached.

    more: tables in place of those of the same name. files: what else is attached, by name.
    """
    text = toml_text.text({**tables.data, **(more or {})}, ("slope",))
    return document.of_text(text, NAME, attached={**tables.attached, **(files or {})}, located=False)


def document_with(here: Document, fit: Mapping[str, Any], files: Mapping[str, bytes]) -> Document:
    """The document of a scene with another table [fit], as an override, and with files attached."""
    kept = [one for one in here.overrides if not one.startswith("fit")]
    overrides = [*kept, f"fit={toml_text.value('fit', fit)}"]
    text, attached = here.source.decode(), {**here.attached, **files}
    return document.of_text(text, here.path, overrides, here.source, attached=attached, located=here.located)


def written(simulation: BuiltScene, path: Path | None) -> str:
    """The text of the scene; with a path it is written there, and the files that it reads beside it.

    The file of arrays is called as the scene is. Energies at hand are named in a comment.
    """
    here = simulation.scene.document
    text = toml_text.text(here.data) if here.overrides else here.source.decode()
    energies = names_of(simulation.registry)
    if energies and not text.startswith("# Energies of Python"):
        names = ", ".join(energies)
        text = f"# Energies of Python: {names}; minusgrad.load(..., energies=[{names}])\n{text}"
    if path is None:
        return text
    files = dict(simulation.start_files)
    if FILE in here.attached:
        name = f"{path.stem}.h5"
        text = text.replace(f'file = "{FILE}"', f"file = {toml_text.value('file', name)}")
        files[name] = files.pop(FILE)
    for name, data in files.items():
        beside = path.parent / name
        if not beside.is_file() or beside.read_bytes() != data:
            beside.parent.mkdir(parents=True, exist_ok=True)
            durable.replace(beside, data)
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.replace(path, text.encode())
    return text
