"""Pictures of a run, in one quiet style: orbits, energies, and node fields in space and time.

Matplotlib comes with the extra `plot` and is imported only here, when a picture is drawn; no global state
of it is touched. What is drawn depends on what was recorded: `particles/all/position` (2D or 3D) gives
orbits.png, `observables/total` energy.png, and every frame series of one number a node its own
`<label>.png`.
"""

import io
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import checkpoint, durable, trajectory
from .errors import UserError
from .rundir import RunDir

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 64  # up to so many nodes have paths and names; more are a cloud
_INK, _FAINT = "#1b1f24", "#8a929c"
_COLOURS = [
    "#2f6db3",
    "#d9772b",
    "#3a9468",
    "#b8433f",
    "#7d5ba6",
    "#8c6a4f",
    "#cf6fa3",
    "#5f6b78",
    "#a8a12b",
    "#2aa3b5",
]
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _FAINT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "xtick.color": _FAINT,
    "ytick.color": _FAINT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.0,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "figure.titlesize": 11,
}


def plot(run: Path, out: Path | None = None) -> list[Path]:
    """Draw what was recorded as PNGs in `out` (default: the run's `pictures`); returns their paths.

    Raises UserError without Matplotlib or where nothing can be drawn, RunFolderError if `run` is no run,
    CheckpointError if a segment is damaged.
    """
    mpl = _matplotlib()
    RunDir.open(run, read_only=True)
    names, meta = trajectory.names(run), _meta(run)
    jobs: dict[str, Callable[[Figure], None]] = {}
    if trajectory.POSITION in names and next(trajectory.pieces(run, trajectory.POSITION)).value.shape[-1] > 1:
        jobs["orbits"] = partial(_orbits, run=run, names=meta.get("names") or [])
    if "observables/total" in names:
        jobs["energy"] = partial(_energy, run=run, names=names)
    for name in names:
        label = name.removeprefix(trajectory.FRAMES + "/")
        if label != name and next(trajectory.pieces(run, name)).value.ndim == 2:
            stem = label.replace("/", "_")
            jobs[stem + "_field" * (stem in jobs)] = partial(_space_time, run=run, name=name)
    if not jobs:
        raise UserError(f"{run}: nothing to draw (there are: {', '.join(names) or 'no series'})")
    out = out or run / "pictures"
    durable.make_folder(out)
    with mpl.rc_context(_STYLE):
        return [_drawn(out / f"{stem}.png", draw, meta.get("title", "")) for stem, draw in jobs.items()]


def _matplotlib() -> Any:
    try:
        import matplotlib
        import matplotlib.backends.backend_agg
        import matplotlib.figure
    except ImportError as error:
        raise UserError("pictures need matplotlib: pip install 'minusgrad[plot]'") from error
    return matplotlib


def _meta(run: Path) -> dict[str, Any]:
    """The newest good checkpoint's meta, for names and title; empty if there is none."""
    path, _ = checkpoint.newest(run / "ckpt")
    return checkpoint.load(path).meta if path else {}


def _drawn(path: Path, draw: "Callable[[Figure], None]", title: str) -> Path:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    draw(figure)
    if title:
        figure.suptitle(title, color=_INK)
    png = io.BytesIO()
    figure.savefig(png, format="png", metadata={"Software": None})
    durable.replace(path, png.getvalue())
    return path


def _orbits(figure: "Figure", run: Path, names: list[str]) -> None:
    nodes = next(trajectory.pieces(run, trajectory.POSITION)).value.shape[1]
    if nodes <= FEW:
        _paths(figure, trajectory.series(run, trajectory.POSITION).value[..., :2], names)
    else:
        _clouds(figure, run)
    unit = trajectory.symbols(run, trajectory.POSITION)[0]
    for axes in figure.axes:
        axes.set(xlabel=_with_unit("x", unit), ylabel=_with_unit("y", unit), aspect="equal")
        if nodes > FEW:
            axes.label_outer()


def _paths(figure: "Figure", x: np.ndarray, names: list[str]) -> None:
    """Paths x (T, N, 2) from hollow to filled dots; a crowd inside a much wider system gets its own panel."""
    crowd = _crowd(x)
    if not crowd.any():
        width, height = np.ptp(x, axis=(0, 1)).tolist()
        figure.set_size_inches(6.0, float(np.clip(5.2 * height / (width or 1) + 0.8, 2.4, 6.4)))
        _draw_paths(figure.subplots(), x, names, ~crowd)
        return
    figure.set_size_inches(9.6, 4.9)
    for axes, shown in zip(figure.subplots(1, 2), (~crowd, crowd), strict=True):
        _draw_paths(axes, x, names, shown)
        _square(axes, _centre(x), 1.1 * np.abs(x[:, shown] - _centre(x)).max())


def _draw_paths(axes: "Axes", x: np.ndarray, names: list[str], marked: np.ndarray) -> None:
    """All paths x (T, N, 2); dots and names for the marked (N,) only."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2, foreground="white", alpha=0.8)]
    middle = _centre(x[-1:])
    for node, path in enumerate(x.swapaxes(0, 1)):
        colour = _COLOURS[node % len(_COLOURS)]
        axes.plot(*path.T, color=colour, alpha=0.7, linewidth=0.8)
        if not marked[node]:
            continue
        axes.plot(*path[0], "o", markersize=4, markerfacecolor="white", markeredgecolor=colour, zorder=3)
        axes.plot(*path[-1], "o", markersize=4.5, color=colour, zorder=3)
        if node < len(names):
            right = path[-1, 0] >= middle[0]  # names stand on the outer side, clear of the others
            place: dict[str, Any] = {
                "xytext": (5 if right else -5, 4),
                "textcoords": "offset points",
                "ha": "left" if right else "right",
                "path_effects": halo,
                "zorder": 2.5,
            }
            axes.annotate(names[node], path[-1], color=colour, fontsize=8, **place)


def _square(axes: "Axes", centre: np.ndarray, reach: float) -> None:
    (x, y) = centre
    axes.set(xlim=(x - reach, x + reach), ylim=(y - reach, y + reach))


def _centre(x: np.ndarray) -> np.ndarray:
    return np.median(x.reshape(-1, 2), axis=0)


def _crowd(x: np.ndarray) -> np.ndarray:
    """Nodes of x (T, N, 2) that a picture of all would press into a dot: a mask (N,), mostly nobody.

    The three or more innermost, up to the widest gap in radius, if the whole is over four times as wide.
    """
    radius = np.linalg.norm(x - _centre(x), axis=-1).max(axis=0)
    far = np.sort(radius[radius > 1e-3 * radius.max()])
    gaps = [(far[i] / far[i - 1], far[i - 1]) for i in range(3, len(far)) if far[-1] > 4 * far[i - 1]]
    return radius <= max(gaps)[1] if gaps else np.zeros(len(radius), bool)


def _clouds(figure: "Figure", run: Path) -> None:
    """The first and the last frame side by side, with the same limits.

    The farthest two in a hundred are left out.
    """
    frames = _ends(run)
    figure.set_size_inches(9.2, 5.2)
    points = np.concatenate([x for _, x in frames])
    centre = np.median(points, axis=0)
    reach = 1.1 * np.percentile(np.abs(points - centre).max(axis=1), 98)
    unit = trajectory.symbols(run, trajectory.POSITION)[1]
    for axes, (time, x) in zip(figure.subplots(1, 2, sharex=True, sharey=True), frames, strict=True):
        size = float(np.clip(2e4 / len(x), 0.3, 6))
        alpha = float(np.clip(30 / np.sqrt(len(x)), 0.08, 0.6))
        axes.scatter(*x.T, s=size, alpha=alpha, color=_COLOURS[0], linewidths=0)
        _square(axes, centre, reach)
        axes.set_title(f"t = {time:.6g} {_pretty(unit)}".rstrip())


def _ends(run: Path) -> list[tuple[float, np.ndarray]]:
    """Time and positions (N, 2) of the first and the last frame, without holding all of them."""
    ends: list[tuple[float, np.ndarray]] = []
    for _, time, x in trajectory.pieces(run, trajectory.POSITION):
        ends = [*ends[:1], *[(float(time[i]), x[i, :, :2].astype(float)) for i in (0, -1)]]
    return [ends[0], ends[-1]]


def _energy(figure: "Figure", run: Path, names: list[str]) -> None:
    """Kinetic, potential and total energy above; below, how far the total drifts from where it began."""
    figure.set_size_inches(6.4, 5.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    unit, clock = trajectory.symbols(run, "observables/total")
    shown = [name for name in names if name.startswith("observables/potential")]
    if "observables/potential" in shown:
        shown = ["observables/potential"]
    shown += [name for name in ("observables/kinetic", "observables/total") if name in names]
    for colour, name in zip([_COLOURS[0], *_COLOURS[2:]] * 9, shown, strict=False):
        total = name.endswith("/total")
        _, time, value = trajectory.series(run, name)
        style = {"color": _INK, "linewidth": 1.3} if total else {"color": colour}
        above.plot(time, value, label=name.removeprefix("observables/"), **style)
    above.set_ylabel(_with_unit("energy", unit))
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    _, time, total_energy = trajectory.series(run, "observables/total")
    start = total_energy[0]
    below.axhline(0, color=_FAINT, linewidth=0.6)
    below.plot(time, (total_energy - start) / (abs(start) or 1), color=_COLOURS[3])
    below.set_ylabel("(E − E₀) / |E₀|" if start else _with_unit("E − E₀", unit))
    below.set_xlabel(_with_unit("time", clock))
    above.margins(x=0)
    figure.align_ylabels()


def _space_time(figure: "Figure", run: Path, name: str) -> None:
    """A scalar of every node: nodes across, time upwards, colour centred on zero where the sign changes."""
    _, time, value = trajectory.series(run, name)
    rows, columns = 1 + len(time) // 1500, 1 + value.shape[1] // 3000  # a picture has no more pixels
    nodes = np.arange(0, value.shape[1], columns)
    shown = value[::rows, ::columns].astype(float)
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    reach = max(-low, high)
    signed = min(-low, high) > 0.05 * reach
    figure.set_size_inches(6.4, 4.4)
    axes = figure.subplots()
    colours = {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach} if signed else {"cmap": "viridis"}
    mesh = axes.pcolormesh(nodes, time[::rows], shown, shading="nearest", rasterized=True, **colours)
    unit, clock = trajectory.symbols(run, name)
    axes.set(xlabel="node", ylabel=_with_unit("time", clock))
    bar = figure.colorbar(mesh, pad=0.02, aspect=30)
    bar.set_label(_with_unit(name.removeprefix(trajectory.FRAMES + "/"), unit))
    bar.outline.set_visible(False)


def _with_unit(what: str, unit: str) -> str:
    return f"{what} [{_pretty(unit)}]" if _pretty(unit) else what


def _pretty(unit: str) -> str:
    """AU^2 day^-2 with raised powers; nothing for a plain number."""
    raised = re.sub(r"\^(-?\d+)", lambda power: power[1].translate(_RAISED), unit)
    return "" if unit == "1" else raised
