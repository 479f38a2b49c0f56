"""The text of a simulation's scene, and the files that it reads, written beside it."""

from pathlib import Path

from ..assembly.built_scene import BuiltScene
from ..files import durable
from ..scene import document, toml_text
from ..scene.document import Document
from .energies_at_hand import names_of
from .scene_tables import FILE, SceneTables

NAME = Path("simulation")
"""What messages and default run folders call a simulation of arguments."""


def document_of(tables: SceneTables) -> Document:
    """The document of the tables of a simulation in Python, with its arrays attached."""
    text = toml_text.text(tables.data, ("slope",))
    return document.of_text(text, NAME, attached=tables.attached, located=False)


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
