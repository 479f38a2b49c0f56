"""Pictures for a dark page or slide: the colours of a drawn figure are exchanged, those of values stay.

Decisions 0124.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .mesh_artists import PALE, PLAIN
from .style import COLOURS, DARK, FAINT, INK, ON_DARK
from .surroundings.obstacle_artists import EDGE, SOLID
from .surroundings.support_artists import PULL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXCHANGED: Mapping[str, str] = {
    **DARK,
    **dict(zip(COLOURS, ON_DARK, strict=True)),
    **{PALE: "#4b535c", PLAIN: "#40617f", SOLID: "#2b3036", EDGE: "#98a1ab", PULL: "#e8807c"},
}
"""The colour on a dark page of each colour that drawings are made of."""


def darken(figure: "Figure") -> None:
    """Exchange the colours of all artists of a figure; twice does no more. One on black stays as it is."""
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    if not any(_rgba(figure.get_facecolor())[:3]):
        return
    for artist in figure.findobj():
        if isinstance(artist, Axes):
            artist.tick_params(which="both", color=DARK[FAINT], labelcolor=DARK[INK])  # also of later ticks
        if in_dark := getattr(artist, "in_dark", None):
            artist.set_data(in_dark())  # type: ignore[attr-defined]
            artist.in_dark = None  # type: ignore[attr-defined]
        if isinstance(artist, Line2D):
            _exchange(artist, "color", "markerfacecolor", "markeredgecolor")
        elif isinstance(artist, Text):
            _exchange(artist, "color")
            for effect in artist.get_path_effects():
                pen: dict[str, Any] = getattr(effect, "_gc", {})
                if "foreground" in pen:
                    pen["foreground"] = _dark(pen["foreground"])
        elif isinstance(artist, Patch):
            _exchange(artist, "facecolor", "edgecolor")
        elif isinstance(artist, Collection) and artist.get_array() is None:
            for name in ("facecolor", "edgecolor"):
                rows = getattr(artist, f"get_{name}")()
                if len(rows):
                    getattr(artist, f"set_{name}")(_dark_rows(rows))


def _exchange(artist: Any, *names: str) -> None:
    for name in names:
        now = getattr(artist, f"get_{name}")()
        if not isinstance(now, str) or now not in ("none", "auto"):
            getattr(artist, f"set_{name}")(_dark(now))


def _dark(colour: Any) -> Any:
    """The colour on a dark page, with its opacity; one that is not exchanged as it is."""
    from matplotlib.colors import to_hex, to_rgb

    *_, alpha = rgba = _rgba(colour)
    found = EXCHANGED.get(to_hex(rgba))
    return (*to_rgb(found), alpha) if found else colour


def _dark_rows(rows: np.ndarray) -> np.ndarray:
    """Colours (n, 4), each exchanged; many are looked up once for each different one."""
    different, which = np.unique(rows, axis=0, return_inverse=True)
    return np.array([_rgba(_dark(row)) for row in different])[which.reshape(-1)]


def _rgba(colour: Any) -> tuple[float, float, float, float]:
    from matplotlib.colors import to_rgba

    return to_rgba(colour)
