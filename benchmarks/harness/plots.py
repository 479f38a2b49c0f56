"""The figures as pictures: ratios of each work, and how time grows with size and falls with cores.

Every row of a ratio is a band of its own, the base is the line at 1; ours is a full dot in blue, what is
Taichi by hand a ring, peers are grey. Goals are ticks.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minusgrad.plot.style import COLOURS, FAINT, INK, RC

from .cases import OURS
from .tables import figure, groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENGINE_COLOUR = {"taichi": COLOURS[0], "quadrants": COLOURS[1], "": INK}
PEER = FAINT
AXES = {"gravity": "bodies", "solid": "tetrahedra", "laser": "points of the path"}


def plot(document: dict[str, Any], folder: Path) -> list[Path]:
    """All pictures that the figures are enough for."""
    made = []
    ratios = {g: rows for g, rows in groups(document).items() if _compared(rows)}
    for work in dict.fromkeys(rows[0]["extra_info"]["work"] for rows in ratios.values()):
        mine = [rows for rows in ratios.values() if rows[0]["extra_info"]["work"] == work]
        made.append(_ratios(work, mine, document, folder / f"{work}.png"))
    growing = [one for one in document["benchmarks"] if one["extra_info"]["work"] == "scaling"]
    if growing:
        made.append(_scaling(growing, folder / "scaling.png"))
    return made


def _compared(rows: Sequence[dict[str, Any]]) -> bool:
    info = rows[0]["extra_info"]
    return info["work"] not in ("scaling", "energies") and len(rows) > 1 and info["to_base"] is not None


def _ratios(work: str, cases: Sequence[list[dict[str, Any]]], document: dict[str, Any], file: Path) -> Path:
    """A panel for each case, columns from the fastest to the slowest."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(RC):
        across = min(2, len(cases))
        down = -(-len(cases) // across)
        height = max(len(rows) for rows in cases) * 0.2 + 0.75
        picture = Figure(figsize=(4.3 * across, height * down))
        axes = picture.subplots(down, across, squeeze=False).ravel()
        for ax, rows in zip(axes, cases, strict=False):
            _panel(ax, rows, [goal for goal in document["goals"] if goal["group"] == rows[0]["group"]])
        for ax in axes[len(cases) :]:
            ax.set_axis_off()
        if any(goal["group"] == rows[0]["group"] for rows in cases for goal in document["goals"]):
            _explain(picture)
        file.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(file)
    return file


def _panel(ax: "Axes", rows: Sequence[dict[str, Any]], goals: Sequence[dict[str, Any]]) -> None:
    info = rows[0]["extra_info"]
    ordered = sorted(rows, key=lambda row: -row["stats"]["min"])
    times = [row["stats"]["min"] * info["scale"] for row in ordered]
    ticks = list(_ticks(rows, ordered, goals))
    for k, (row, time) in enumerate(zip(ordered, times, strict=True)):
        own, colour = row["extra_info"], _colour(row["extra_info"])
        ours = own["column"] == OURS
        ax.plot([min(times) * 0.7, time], [k, k], color=colour, alpha=0.9 if ours else 0.35, lw=1.2)
        ring = own["engine"] and not ours
        ax.plot(time, k, "o", color=colour, ms=5.5 if ours else 4, mfc="white" if ring else colour, mew=1.1)
        beyond = max([time, *(limit for at, limit, _ in ticks if at == k and limit < 2.5 * time)])
        label = ax.annotate(
            figure(time), (beyond, k), (8, 0), textcoords="offset points", va="center", size=7
        )
        label.set(color=INK, zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    for at, limit, goal in ticks:
        ax.plot([limit, limit], [at - 0.42, at + 0.42], color=_met(goal), lw=1.6, solid_capstyle="butt")
    _even(ax, min(times) * 0.7, max(times) * 3)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_yticks(range(len(ordered)), [row["name"] for row in ordered], size=8)
    for label, row in zip(ax.get_yticklabels(), ordered, strict=True):
        label.set_color(INK if row["extra_info"]["column"] == OURS else "#5f6b78")
        label.set_fontweight("bold" if row["extra_info"]["column"] == OURS else "normal")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_title(f"{info['case']} {info['precision']}".replace("_", " "), loc="left")
    ax.set_xlabel(info["unit"])


def _ticks(
    rows: Sequence[dict[str, Any]], ordered: Sequence[dict[str, Any]], goals: Sequence[dict[str, Any]]
) -> Iterator[tuple[int, float, dict[str, Any]]]:
    """The row, the longest time that a goal allows, and the goal."""
    scale = rows[0]["extra_info"]["scale"]
    for goal in goals:
        base = next((r for r in rows if r["name"] == _base_of(goal, rows)), None)
        at = next((k for k, row in enumerate(ordered) if row["name"] == goal["name"]), None)
        if base is not None and at is not None:
            yield at, goal["ratio"] * base["stats"]["min"] * scale, goal


def _explain(picture: "Figure") -> None:
    """Say below the panels what ticks stand for."""
    from matplotlib.lines import Line2D

    pens = [(COLOURS[2], "goal, met"), (COLOURS[3], "goal, missed")]
    ticks: list[Any] = [
        Line2D([], [], color=pen, marker="|", markersize=8, markeredgewidth=1.6, lw=0) for pen, _ in pens
    ]
    text = [f"{label}: at most this time" for _, label in pens]
    picture.legend(ticks, text, loc="outside lower right", ncols=2, fontsize=7, handletextpad=0.2)


def _even(ax: "Axes", low: float, high: float) -> None:
    """A scale in tens, from low to high, with plain numbers."""
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    _plain_numbers(ax.xaxis, low, high)


def _plain_numbers(axis: Any, low: float, high: float) -> None:
    """Plain numbers on a scale in tens: at 1, 2, 5 where there is room for them, else at the tens."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.10g}"))


def _base_of(goal: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str:
    engine = goal["name"].rpartition(", ")[2]
    names = {row["name"] for row in rows}
    return goal["base"] if goal["base"] in names else f"{goal['base']}, {engine}"


def _colour(info: dict[str, Any]) -> str:
    return PEER if info["peer"] else ENGINE_COLOUR.get(info["engine"], INK)


def _met(goal: dict[str, Any]) -> str:
    return COLOURS[2] if goal["met"] else COLOURS[3]


def _scaling(rows: Sequence[dict[str, Any]], file: Path) -> Path:
    """Above, time against size on all cores; below, how many times as fast on more cores."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(RC):
        physics = list(dict.fromkeys(row["params"]["physics"] for row in rows))
        picture = Figure(figsize=(3.1 * len(physics), 4.6))
        axes = picture.subplots(2, len(physics), squeeze=False)
        for column, name in zip(axes.T, physics, strict=True):
            mine = [row for row in rows if row["params"]["physics"] == name]
            _by_size(column[0], name, mine)
            _by_cores(column[1], mine)
        axes[0, 0].legend(fontsize=7)
        axes[0, 0].set_ylabel("ms")
        axes[1, 0].set_ylabel("times as fast as on one core")
        file.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(file)
    return file


def _by_size(ax: "Axes", name: str, rows: Sequence[dict[str, Any]]) -> None:
    most = max(row["params"]["threads"] for row in rows)
    for column, own in _columns(row for row in rows if row["params"]["threads"] == most):
        own = sorted(own, key=lambda row: row["params"]["size"])
        colour = ENGINE_COLOUR[own[0]["extra_info"]["engine"]]
        sizes = [row["params"]["size"] for row in own]
        ax.plot(sizes, [1e3 * row["stats"]["min"] for row in own], "o-", ms=3.5, color=colour, label=column)
    ax.set_xscale("log")
    ax.set_yscale("log")
    _plain_numbers(ax.xaxis, *ax.get_xlim())
    _plain_numbers(ax.yaxis, *ax.get_ylim())
    ax.set_title(f"{name}, {most} cores", loc="left")
    ax.set_xlabel(AXES[name])


def _by_cores(ax: "Axes", rows: Sequence[dict[str, Any]]) -> None:
    largest = max(row["params"]["size"] for row in rows)
    cores = sorted({row["params"]["threads"] for row in rows})
    ax.plot(cores, cores, color=FAINT, lw=0.8, ls=":")
    for _, own in _columns(row for row in rows if row["params"]["size"] == largest):
        own = sorted(own, key=lambda row: row["params"]["threads"])
        colour = ENGINE_COLOUR[own[0]["extra_info"]["engine"]]
        one = own[0]["stats"]["min"] * own[0]["params"]["threads"]
        ax.plot(
            [r["params"]["threads"] for r in own],
            [one / r["stats"]["min"] for r in own],
            "o-",
            ms=3.5,
            color=colour,
        )
    ax.set_xticks(cores)
    ax.set_ylim(0.9, cores[-1] + 0.15)
    ax.set_xlabel("cores")
    ax.set_title(f"{AXES[rows[0]['params']['physics']]}: {largest:,}", loc="left")


def _columns(rows: Iterator[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row)
    return list(found.items())
