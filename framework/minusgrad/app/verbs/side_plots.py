"""The picture of a scene's sides, or of those of a mesh file: `minusgrad plot FILE --sides`.

The state is made, and nothing is run. Of a scene without [state.sides], and of a mesh file, the bodies of the
state are drawn: the groups and sets that the file names.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...assembly.building.error_places import ErrorPlaces
from ...assembly.building.sides.boundary_facets import BoundaryFacets
from ...assembly.building.sides.named_sides import bodies_as_sides
from ...assembly.contexts import StateContext
from ...assembly.registry import PluginSource
from ...assembly.validation import validate
from ...energies.fields import POSITIONS, State
from ...errors import UserError
from ...files import durable
from ...plot import picture_files
from ...plot.surroundings.side_pictures import DrawnSide, SideScenery, draw
from ...scene import document
from ...scene.document import Document
from ...scene.state_tables.sides_table import StateWithSides

GMSH = ".msh"
LINES = 200_000
"""The most lines that a picture of a mesh shows."""


def draw_sides(
    file: Path,
    out: Path | None = None,
    bodies: Sequence[str] = (),
    plugins: Sequence[PluginSource] = (),
    *,
    form: str = "png",
    dark: bool = False,
    width: str = "",
    dpi: int | None = None,
    font: str = "sans",
) -> Path:
    """Draw the sides of a scene, of a run's scene, or of a mesh file; returns the path of the picture.

    Without any side or body the mesh is drawn alone.

    file: the scene, the folder of a run, or a mesh file. out: a folder (default: that of the pictures of a
    run, else the working folder). bodies: the sides or bodies that are drawn (default: all sides, or all
    bodies of a state without sides). The other arguments are those of `plot`.

    Raises `UserError` without Matplotlib, and for a state without places; `SceneError`.
    """
    picture_files.matplotlib()
    paper = picture_files.Paper.of(dark, width, dpi, font)
    if form not in picture_files.FORMS:
        raise UserError(
            f"plot: needs one of {', '.join(picture_files.FORMS)}, got '{form}'; correct --format"
        )
    state, context, title = _made_state(file, plugins)
    names = bodies or [side.name for side in context.found_sides]
    sides = bodies_as_sides(state, context.units, names)
    found = {side.name: side for side in context.found_sides}
    shown = [found.get(side.name, side) for side in sides]
    grouped = state.groups.get(state.facets, {})
    drawn = [
        DrawnSide(
            one.name,
            one.sizes(context.units),
            one.nodes,
            one.facets if one.whole or one.name in grouped else None,
        )
        for one in shown
    ]
    out = out or (file / "pictures" if file.is_dir() else Path())
    stem = "sides" if file.is_dir() else f"{file.stem}_sides"
    with durable.outside_a_run(out, "give another folder with --out"), paper.rc():
        durable.make_folder(out)
        scenery = _scenery(state, context)
        return picture_files.drawn(
            out / f"{stem}.{form}", lambda figure: draw(figure, scenery, drawn), title, paper
        )


def _made_state(file: Path, plugins: Sequence[PluginSource]) -> tuple[State, StateContext, str]:
    """The state of a scene, with its sides; how it was made, and the title."""
    validated = validate(_document_of(file), plugins)
    scene, places = validated.scene, ErrorPlaces(validated)
    model: Any = validated.models[scene.state.path]
    context = StateContext(scene.units.build(), scene.runtime.seed, scene.path.parent)
    context.sides = model.sides if isinstance(model, StateWithSides) else {}
    with places.placed(scene.state.path):
        state = context.with_sides(places.made(scene.state, context, State))
    return state, context, scene.title


def _document_of(file: Path) -> Document:
    """The scene: of a run its own, of a mesh file one that reads it."""
    if file.is_dir():
        return document.load(file / "scene.toml")
    if file.suffix == ".toml":
        return document.load(file)
    if not file.is_file():
        raise UserError(f"{file}: there is no such file; give a scene, a run or a mesh file")
    head = file.open("rb").read(200)
    kind = "gmsh" if file.suffix == GMSH and b"$MeshFormat" in head and b"\n2" not in head else "mesh"
    name = document.toml_text.value("file", file.name)
    text = f"""
    [units]
    system = "dimensionless"
    [state]
    kind = "{kind}"
    file = {name}
    density = 1.0
    [[energy]]
    kind = "load"
    force = [0.0]
    [stepper]
    kind = "newton"
    [run]
    steps = 0
    """
    return document.of_text(text, file, located=False)


def _scenery(state: State, context: StateContext) -> SideScenery:
    x = np.asarray(state.fields[POSITIONS], np.float64)
    facets = BoundaryFacets(state).rows if state.facet_lists else None
    return SideScenery(x, facets, _lines(state, x.shape[1]), context.units.symbol("m").removesuffix("1"))


def _lines(state: State, d: int) -> np.ndarray:
    """The lines between nodes that show the mesh: of its edges in the plane, of lists of pairs elsewhere."""
    if d == 3 and state.facet_lists:
        return np.zeros((0, 2), int)
    pairs = [rows for rows in state.tuples.values() if rows.shape[1] == 2]
    found = np.unique(np.sort(np.concatenate([np.zeros((0, 2), int), *pairs]), axis=1), axis=0)
    return found if len(found) <= LINES else found[:0]
