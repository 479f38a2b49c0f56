"""Pictures of a run: bodies, paths, orbits, maps, energies, and node fields in space and time.

Matplotlib comes with the extra `plot` and is imported only here, when a picture is drawn; no global state
of it is touched. The pictures depend on the recorded series: `particles/all/position` (2D or 3D) gives
mesh.png where there are cells or lines between the nodes, else orbits.png, on a line line.png; bodies are
coloured in a `mesh_<label>.png` for every frame series of one number per node, which also has a
`<label>.png`; a field over a plane grid gives `<label>.png`, energies give energy.png, a radial distribution
function radial_distribution.png, equilibria under a load load_path.png, observers of star clusters
lagrangian_radii.png, virial_ratio.png and density_profile.png, those of few bodies orbital_elements.png,
closest_approach.png and megno.png, and the iterations of a fit fit.png. Of an ensemble the observables of
all members are members.png, in place of these, and over a grid of two varied values map.png.
"""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import UserError, unknown
from ..files import checkpoint, durable, h5md, trajectory
from ..files.frames import series_names
from ..files.run_folder import RunDir
from . import clouds, grids, layers, meshes, picture_files, readings, views
from .bodies import clusters, few_bodies, orbits
from .curves import (
    energies,
    fans,
    fit_data,
    fits,
    line,
    load_paths,
    maps,
    observables,
    profiles,
    radial,
    space_time,
)
from .movies import subjects
from .option_types import check_types

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = getLogger("minusgrad")


def plot(
    run: Path,
    out: Path | None = None,
    bodies: Sequence[str] = (),
    *,
    step: int | None = None,
    field: str = "",
    view: str = "",
    form: str = "png",
    most: int | None = None,
    dark: bool = False,
    width: str = "",
    dpi: int | None = None,
    font: str = "sans",
) -> list[Path]:
    """Draw the recorded series as files in `out` (default: `pictures` in the run); returns their paths.

    bodies: names of those whose nodes alone are drawn; none for all nodes. step: bodies, points and maps are
    drawn as they were recorded last up to it. field: the name of a series, or "speed": only the pictures of
    it are drawn, and of points in its colours. view: of bodies in space, as for `named_view`. form: png, svg
    or pdf. most: of all these, so many at most.

    dark: light lines on a dark page. width: of each picture, "8.5 cm" for a column of a journal. dpi: dots an
    inch of PNG (150). font: "sans", "serif" as in journals, or the name of an installed font.

    Raises UserError without Matplotlib, if nothing can be drawn, or for an option that does not fit the run;
    RunFolderError if `run` is not a run, CheckpointError if a segment is damaged.
    """
    shown = {"bodies": bodies, "step": step, "field": field, "view": view, "most": most}
    check_types("plot", **shown, form=form, dark=dark, width=width, dpi=dpi, font=font)
    RunDir.open(run, read_only=True)
    picture_files.matplotlib()
    if form not in picture_files.FORMS:
        raise UserError(f"plot: {unknown('format', form, picture_files.FORMS)}")
    paper = picture_files.Paper.of(dark, width, dpi, font)
    jobs, title = drawings(run, bodies, step=step, field=field, view=view)
    out = out or run / "pictures"
    with durable.outside_a_run(out, "give another folder with --out"), paper.rc():
        durable.make_folder(out)
        stems, chosen = picture_files.distinct_stems(jobs), list(jobs.values())[:most]
        drawn = zip(stems, chosen, strict=False)
        return [_drawn(out / f"{stem}.{form}", draw, title, paper) for stem, draw in drawn]


def drawings(
    run: Path, bodies: Sequence[str] = (), *, step: int | None = None, field: str = "", view: str = ""
) -> "tuple[dict[str, Callable[[Figure], None]], str]":
    """A function that draws each picture of a run into a figure, by its name; and the title of the run.

    Arguments and errors as those of `plot`.
    """
    names, known = trajectory.names(run), meta(run)
    axes = views.dimension(run, names)
    moving = axes > 1
    if view and not moving:
        found = "they are on a line" if axes else "none were recorded"
        raise UserError(f"{run}: a view needs positions in space, and {found}; leave --view out")
    field = series_names.label_of(run, field, names) if field else ""
    shown = Shown(step, views.named_view(run, view) if moving else None)
    jobs: dict[str, Callable[[Figure], None]] = {}
    if moving:
        jobs |= _bodies(run, names, known, bodies, shown, field)
    if axes == 1 and field in ("", h5md.label(h5md.POSITION)):
        jobs["line"] = partial(line.draw, run=run, until=step)
    if not field or field in _observables(names):
        jobs |= _curves(run, names, known, field)
    jobs |= _fields(run, names, shown, field, jobs)
    if not jobs and field:
        raise UserError(f"{run}: {unknown('field', field, _labels(run, names, moving))}")
    if not jobs:
        raise UserError(f"{run}: nothing to draw (there are: {', '.join(names) or 'no series'})")
    return jobs, known.get("title", "")


def _drawn(path: Path, draw: "Callable[[Figure], None]", title: str, paper: picture_files.Paper) -> Path:
    logger.debug("drawing %s ...", path.name)
    return picture_files.drawn(path, draw, title, paper)


class Shown(NamedTuple):
    """The last step that is drawn of bodies, points and maps, None for all; and the view (3, 3), if given."""

    step: int | None
    view: np.ndarray | None


def _bodies(
    run: Path, names: list[str], known: dict[str, Any], bodies: Sequence[str], shown: Shown, field: str
) -> "dict[str, Callable[[Figure], None]]":
    """Pictures of positions: meshes, or orbits and clouds."""
    ranges = clouds.chosen(run, known.get("bodies") or {}, bodies)
    if not bodies and (lists := meshes.drawable(run)):
        return _meshes(run, names, lists, shown, field)
    colours = subjects.colourings(run, names, {})
    if field and field not in colours:
        return {}
    colour = next(iter(colours[field].values())) if field else ""
    draw = partial(orbits.draw, run=run, names=known.get("names") or [], bodies=ranges, every=not bodies)
    stem = f"points_{_stem(field)}" if field else "orbits"
    return {stem: partial(draw, until=shown.step, view=shown.view, colour=colour)}


def _curves(
    run: Path, names: list[str], known: dict[str, Any], field: str
) -> "dict[str, Callable[[Figure], None]]":
    """Pictures of observables: of fits, ensembles, special observers, energies, and all others."""
    members = (known.get("ensemble") or {}).get("members")
    jobs: dict[str, Callable[[Figure], None]] = {}
    if field and not members:
        return observables.jobs(run, names, only=field)
    if fits.LOSS in names:
        jobs["fit"] = partial(fits.draw, run=run, names=names)
        jobs |= fit_data.jobs(run, known.get("names") or [])
    if members:
        return jobs | fans.jobs(run, names, members) | maps.jobs(run, names, members)
    if f"{radial.SERIES}/g" in names:
        jobs["radial_distribution"] = partial(radial.draw, run=run, names=names)
    jobs |= clusters.jobs(run, names) | few_bodies.jobs(run, names) | load_paths.jobs(run, names)
    if found := energies.energies_of(names):
        jobs["energy"] = partial(energies.draw, run=run, energies=found, names=names)
    return jobs | observables.jobs(run, names)


def _fields(
    run: Path, names: list[str], shown: Shown, field: str, taken: Collection[str]
) -> "dict[str, Callable[[Figure], None]]":
    """Pictures of fields over grids, and of profiles and scalars of nodes over their line and time."""
    jobs: dict[str, Callable[[Figure], None]] = {}
    for kind in (grids, layers):
        for name in kind.drawable(run, names):
            if field and h5md.label(name) != field:
                continue
            stem = _stem(h5md.label(name))
            stem = f"{stem}_{h5md.grid_of(name)}" if stem in {*taken, *jobs} else stem
            jobs[stem] = partial(kind.draw, run=run, name=name, until=shown.step)
    along, of_one_place = profiles.drawable(run, names), observables.of_one_place(run, names)
    for name in names:
        label = h5md.label(name)
        averaged = label.endswith("_at_nodes")  # of cells that have pictures of their own
        wanted = (name in along or h5md.is_of_nodes(name)) and not averaged and field in ("", label)
        if name in of_one_place:  # they are curves among the observables
            if field == label:
                jobs[_stem(label)] = partial(observables.draw, run=run, panels=[[name]])
        elif wanted and (name in along or next(readings.pieces(run, name)).value.ndim == 2):
            stem = _stem(label)
            stem += f"_{h5md.grid_of(name) or 'field'}" * (stem in {*taken, *jobs})
            jobs[stem] = partial(space_time.draw, run=run, name=name)
    return jobs


def _observables(names: Sequence[str]) -> list[str]:
    return [h5md.label(name) for name in names if name.startswith(f"{h5md.OBSERVABLES}/")]


def _labels(run: Path, names: list[str], moving: bool) -> list[str]:
    """Everything that can be asked for as a field."""
    maps_of = [h5md.label(name) for kind in (grids, layers, profiles) for name in kind.drawable(run, names)]
    lists = meshes.drawable(run) if moving else {}
    on_line = [h5md.label(h5md.POSITION)] if views.dimension(run, names) == 1 else []
    of_bodies = list(subjects.colourings(run, names, lists)) if moving else []
    return list(dict.fromkeys([*of_bodies, *on_line, *maps_of, *_observables(names)]))


def _meshes(
    run: Path, names: list[str], lists: dict[str, np.ndarray], shown: Shown, field: str
) -> "dict[str, Callable[[Figure], None]]":
    """Jobs for bodies and networks: plain, or coloured by values of their tuples or nodes."""
    of_tuples = meshes.colourings(run, names, lists)
    of_nodes = meshes.node_colourings(run, names, lists)
    if field:
        every = subjects.colourings(run, names, lists)
        of_tuples, of_nodes = {field: every[field]} if field in every else {}, {}
    elif not of_tuples and not of_nodes:
        of_tuples = {"": {}}
    found: dict[str, dict[str, str]] = {}
    for label, series in of_tuples.items():
        found[f"mesh_{_stem(label)}" if found or field else "mesh"] = series
    for label, series in of_nodes.items():
        stem = f"mesh_{_stem(label)}"
        found[stem + "_nodes" * (stem in found)] = series
    draw = partial(meshes.draw, run=run, lists=lists, until=shown.step, eye=shown.view)
    return {stem: partial(draw, series=series) for stem, series in found.items()}


def _stem(label: str) -> str:
    return label.replace("/", "_")


def meta(run: Path) -> dict[str, Any]:
    """The newest undamaged checkpoint's meta, for names and title; empty if there is none."""
    path, _ = checkpoint.newest(run / "ckpt")
    return checkpoint.load(path).meta if path else {}
