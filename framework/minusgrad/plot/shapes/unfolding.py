"""Cells that reach through the faces of a periodic box, as whole shapes: copies of nodes at their images.

    n_k = -round(s_k - s_0) for each node k of a cell; then it is moved so that its middle is in the box

s are fractions of the edges of the box, along periodic axes.

Decisions 0166.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ..moments import ShownMoment
from ..surroundings.saved import RecordedBox

INSIDE = 1e-6
"""Middles of cells so far below the origin of the box, in parts of its edges, are in the box."""


def unfold_cells(
    frames: Sequence[ShownMoment], lists: Mapping[str, np.ndarray], box: RecordedBox | None
) -> tuple[list[ShownMoment], dict[str, np.ndarray]]:
    """Frames and lists in which no cell reaches through a face: copies of nodes follow those of the run.

    frames: positions (n, d); earlier ones are left out where cells have copies, which differ between frames.
    """
    shown, last = dict(lists), frames[-1]
    if box is None or not any(box.periodic):
        return list(frames), shown
    edges, x = box.at(last.step), np.asarray(last.value, float)
    inverse = np.linalg.inv(edges)
    open_axes = ~np.array(box.periodic)
    copies = dict[tuple[int, ...], int]()
    for name, rows in lists.items():
        if rows.shape[1] < 3 or not len(rows):
            continue
        within = x[rows] @ inverse
        image = -np.round(within - within[:, :1])
        image[..., open_axes] = 0.0
        if not image.any():
            continue
        middle = (within + image).mean(axis=1, keepdims=True)
        shift = np.floor(middle + INSIDE)
        shift[..., open_axes] = 0.0
        image = (image - shift).astype(int)
        found = rows.copy()
        for cell, slot in zip(*np.nonzero(image.any(axis=2)), strict=True):
            key = (int(rows[cell, slot]), *image[cell, slot].tolist())
            found[cell, slot] = copies.setdefault(key, len(x) + len(copies))
        shown[name] = found
    if not copies:
        return list(frames), shown
    keys = np.array([*copies])
    more = x[keys[:, 0]] + keys[:, 1:] @ edges
    return [last._replace(value=np.concatenate([x, more]))], shown
