"""A run in the cell of a notebook: a whole page in a frame, which asks for no port and no network.

The frame has no origin of its own, so that its scripts cannot reach the notebook.

Decisions 0094.
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..errors import UserError
from ..files.run_folder import RunDir
from ..plot.option_types import check_types
from . import server
from .saved import document
from .scenery import Scenery

MEGABYTES = 10.0
"""Of a frame: it is kept in the notebook."""


class NotebookFrame:
    """The recorded frames of a run so far, as a page in a notebook. `remarks`: what was left out."""

    def __init__(self, html: str, remarks: Sequence[str] = ()):
        self.html, self.remarks = html, list(remarks)

    def _repr_html_(self) -> str:
        style = "border:1px solid #ccc;border-radius:4px"
        said = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{escape(self.html)}" width="100%" height="560"'
            f' style="{style}"></iframe>{said}'
        )


def frame(
    folder: Path | str,
    *,
    field: str = "",
    bodies: Sequence[str] = (),
    every: int | None = None,
    max_mb: float = MEGABYTES,
) -> NotebookFrame:
    """A page of a run for a notebook; arguments and errors as of `view.save`."""
    run = Path(folder)
    check_types("view", field=field, bodies=bodies, every=every, max_mb=max_mb)
    if not max_mb > 0 or (every is not None and every < 1):
        raise UserError(f"view: needs max_mb above 0 and every of at least 1, got {max_mb:g} and {every}")
    RunDir.open(run, read_only=True)
    server.viser()
    scenery = Scenery(run, field, bodies, every)
    page, left_out = document(scenery, max_mb, "this frame")
    return NotebookFrame(page, [f"has {' and '.join(left_out)}; max_mb allows more"] if left_out else [])
