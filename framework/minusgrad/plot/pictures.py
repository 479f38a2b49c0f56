"""Pictures of a run: bodies, paths, orbits, maps, energies, and node fields in space and time.

Matplotlib comes with the extra `plot` and is imported only here, when a picture is drawn; no global state
of it is touched. The pictures depend on the recorded series: `particles/all/position` (2D or 3D) gives
mesh.png where there are cells or lines between the nodes, else orbits.png; they are coloured in a
`mesh_<label>.png` for every frame series of one number per node, which also has a `<label>.png`; a field
over a plane grid gives `<label>.png`, energies give energy.png, a radial distribution function
radial_distribution.png, observers of star clusters lagrangian_radii.png, virial_ratio.png and
density_profile.png, those of few bodies orbital_elements.png, closest_approach.png and megno.png, and the
iterations of a fit fit.png. Of an ensemble the observables of all members are members.png, in place of these,
and over a grid of two varied values map.png.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UserError
from ..files import checkpoint, durable, h5md, trajectory
from ..files.h5md import OBSERVABLES
from ..files.run_folder import RunDir
from ..files.trajectory import Series
from ..scene import units
from . import clouds, fits, grids, layers, meshes, orbits, picture_files, style
from .bodies import clusters, few_bodies
from .curves import fans, maps, radial
from .style import COLOURS, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(run: Path, out: Path | None = None, bodies: Sequence[str] = ()) -> list[Path]:
    """Draw the recorded series as PNG files in `out` (default: `pictures` in the run); returns their paths.

    bodies: names of those whose nodes alone are drawn; none for all nodes.

    Raises UserError without Matplotlib or if nothing can be drawn, RunFolderError if `run` is not a run,
    CheckpointError if a segment is damaged.
    """
    mpl = picture_files.matplotlib()
    RunDir.open(run, read_only=True)
    names, known = trajectory.names(run), meta(run)
    jobs: dict[str, Callable[[Figure], None]] = {}
    if h5md.POSITION in names and next(trajectory.pieces(run, h5md.POSITION)).value.shape[-1] > 1:
        shown = clouds.chosen(run, known.get("bodies") or {}, bodies)
        if not bodies and (lists := meshes.drawable(run)):
            jobs |= _meshes(run, names, lists)
        else:
            jobs["orbits"] = partial(
                orbits.draw, run=run, names=known.get("names") or [], bodies=shown, every=not bodies
            )
    if fits.LOSS in names:
        jobs["fit"] = partial(fits.draw, run=run, names=names)
    members = (known.get("ensemble") or {}).get("members")
    if f"{radial.SERIES}/g" in names and not members:
        jobs["radial_distribution"] = partial(radial.draw, run=run, names=names)
    if members:
        jobs |= fans.jobs(run, names, members) | maps.jobs(run, names, members)
    else:
        jobs |= clusters.jobs(run, names) | few_bodies.jobs(run, names)
    if not members and (energies := energies_of(names)):
        jobs["energy"] = partial(_energy, run=run, energies=energies, names=names)
    for kind in (grids, layers):
        for name in kind.drawable(run, names):
            stem = _stem(h5md.label(name))
            jobs[f"{stem}_{h5md.grid_of(name)}" if stem in jobs else stem] = partial(
                kind.draw, run=run, name=name
            )
    for name in names:
        label = name.removeprefix(h5md.FRAMES + "/")
        averaged = label.endswith("_at_nodes")  # of cells that have pictures of their own
        if label != name and not averaged and next(trajectory.pieces(run, name)).value.ndim == 2:
            stem = _stem(label)
            jobs[stem + "_field" * (stem in jobs)] = partial(_space_time, run=run, name=name)
    if not jobs:
        raise UserError(f"{run}: nothing to draw (there are: {', '.join(names) or 'no series'})")
    out = out or run / "pictures"
    with durable.outside_a_run(out, "give another folder with --out"), mpl.rc_context(style.RC):
        durable.make_folder(out)
        title = known.get("title", "")
        return [picture_files.drawn(out / f"{stem}.png", draw, title) for stem, draw in jobs.items()]


def _meshes(
    run: Path, names: list[str], lists: dict[str, np.ndarray]
) -> "dict[str, Callable[[Figure], None]]":
    """Jobs for bodies and networks: plain, or coloured by values of their tuples or nodes."""
    of_tuples = meshes.colourings(run, names, lists)
    of_nodes = meshes.node_colourings(run, names, lists)
    if not of_tuples and not of_nodes:
        of_tuples = {"": {}}
    found: dict[str, dict[str, str]] = {}
    for label, series in of_tuples.items():
        found[f"mesh_{_stem(label)}" if found else "mesh"] = series
    for label, series in of_nodes.items():
        stem = f"mesh_{_stem(label)}"
        found[stem + "_nodes" * (stem in found)] = series
    return {stem: partial(meshes.draw, run=run, lists=lists, series=series) for stem, series in found.items()}


def _stem(label: str) -> str:
    return label.replace("/", "_")


def meta(run: Path) -> dict[str, Any]:
    """The newest undamaged checkpoint's meta, for names and title; empty if there is none."""
    path, _ = checkpoint.newest(run / "ckpt")
    return checkpoint.load(path).meta if path else {}


def energies_of(names: list[str]) -> list[str]:
    """The energies among the series: potential (or its terms), kinetic, work, ..., cell, total."""
    terms = [name for name in names if name.startswith(f"{OBSERVABLES}/potential/")]
    whole = [
        f"{OBSERVABLES}/{name}"
        for name in ("potential", "kinetic", "work", "dissipated", "damped", "heat", "cell", "total")
    ]
    return (terms if whole[0] not in names else []) + [name for name in whole if name in names]


def _energy(figure: "Figure", run: Path, energies: list[str], names: list[str]) -> None:
    """Plot energies; below, the drift of the total, or the residual of a minimiser."""
    total, residual, drift = (f"{OBSERVABLES}/{name}" for name in ("total", "residual", "drift"))
    searching = _stands(trajectory.series(run, energies[-1]))
    second = residual if searching else drift if drift in names else total
    rows = 1 + (second in names)
    figure.set_size_inches(6.4, 2.0 + 1.5 * rows)
    above, *below = figure.subplots(rows, 1, sharex=True, squeeze=False, height_ratios=(3, 2)[:rows])[:, 0]
    drawn: list[np.ndarray] = []
    for colour, name in zip([COLOURS[0], *COLOURS[2:]] * 9, energies, strict=False):
        pen = {"color": INK, "linewidth": 1.3} if name == total else {"color": colour}
        seen = trajectory.series(run, name)
        above.plot(_along(seen), seen.value, label=name.removeprefix(f"{OBSERVABLES}/"), **pen)
        drawn.append(seen.value)
    if searching:
        _stretch(above, drawn)
    unit, clock = trajectory.symbols(run, energies[-1])
    above.set_ylabel(units.with_unit("energy", unit))
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    for axes in below:
        (_residual if searching else _drift)(axes, run, second)
    for axes in figure.axes:
        axes.margins(x=0)
    figure.axes[-1].set_xlabel("iteration" if searching else units.with_unit("time", clock))
    figure.align_ylabels()


def _stretch(axes: "Axes", drawn: list[np.ndarray]) -> None:
    """A logarithmic axis, if the last energy falls over more than a decade and none is below zero."""
    positive = drawn[-1][drawn[-1] > 0]
    if min(map(np.min, drawn)) >= 0 and len(positive) and positive.max() > 10 * positive.min():
        _logarithmic(axes, least=0.1 * positive.min())  # smaller terms must not compress the axis


def _logarithmic(axes: "Axes", least: float = 0.0) -> None:
    """A logarithmic y axis from `least`; over few decades 2 and 5 have labelled ticks, too."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator

    axes.set_yscale("log", nonpositive="mask")
    low, high = axes.get_ylim()
    low = max(low, least)
    axes.set_ylim(low, high)
    if high < 1e3 * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(9, 9)))
        axes.minorticks_off()


def _drift(axes: "Axes", run: Path, name: str) -> None:
    """Plot the recorded drift, or that of the total energy if none was recorded."""
    _, time, value = trajectory.series(run, name)
    axes.axhline(0, color=FAINT, linewidth=0.6)
    if name.endswith("/drift"):
        axes.plot(time, value, color=COLOURS[3])
        axes.set_ylabel("relative drift")
        return
    start = value[0]
    axes.plot(time, (value - start) / (abs(start) or 1), color=COLOURS[3])
    unit = trajectory.symbols(run, name)[0]
    axes.set_ylabel("(E − E₀) / |E₀|" if start else units.with_unit("E − E₀", unit))


def _residual(axes: "Axes", run: Path, name: str) -> None:
    step, _, residual = trajectory.series(run, name)
    axes.plot(step, residual, color=COLOURS[3])
    if np.any(residual > 0):
        _logarithmic(axes)
    axes.set_ylabel(units.with_unit("residual", trajectory.symbols(run, name)[0]))


def _stands(seen: Series) -> bool:
    """True for a minimiser: several steps at one time."""
    return len(seen.time) > 1 and not np.ptp(seen.time)


def _along(seen: Series) -> np.ndarray:
    return seen.step if _stands(seen) else seen.time


def _space_time(figure: "Figure", run: Path, name: str) -> None:
    """Plot a scalar of every node over nodes and time; the colour scale is centred on zero for both signs."""
    seen = trajectory.series(run, name)
    along, value = _along(seen), seen.value
    rows, columns = 1 + len(along) // 1500, 1 + value.shape[1] // 3000  # a picture has no more pixels
    nodes = np.arange(0, value.shape[1], columns)
    shown = value[::rows, ::columns].astype(float)
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    reach, signed = max(-low, high), style.is_signed(low, high)
    figure.set_size_inches(6.4, 4.4)
    axes = figure.subplots()
    colours = (
        {"cmap": style.DIVERGING, "vmin": -reach, "vmax": reach} if signed else {"cmap": style.SEQUENTIAL}
    )
    mesh = axes.pcolormesh(nodes, along[::rows], shown, shading="nearest", rasterized=True, **colours)
    unit, clock = trajectory.symbols(run, name)
    axes.set(xlabel="node", ylabel="iteration" if _stands(seen) else units.with_unit("time", clock))
    bar = figure.colorbar(mesh, pad=0.02, aspect=30)
    bar.set_label(units.with_unit(name.removeprefix(h5md.FRAMES + "/"), unit))
    bar.outline.set_visible(False)
