"""Interactive views of a run folder in a browser: bodies, points and grids in space, with a slider over time.

`show` serves a page on this machine that follows the run; `save` writes one HTML file that needs no network,
`frame` puts such a page into a notebook. All draw through viser (extra `view`); `guard` decides who sees a
served page. Enters: recorded arrays. Leaves: a page. Knows no physics and needs no Taichi. The rules of
`plot` choose bodies, fields and colours. May import:
`errors`, `scene`, `files`, `plot`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .notebook_frame import frame
    from .page import show
    from .saved import save

_ROOMS = {"frame": ".notebook_frame", "save": ".saved", "show": ".page"}
__all__ = ["frame", "save", "show"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_ROOMS[name], __name__), name)
