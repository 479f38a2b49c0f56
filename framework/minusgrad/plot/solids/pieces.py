"""Surfaces to be shaded: facets with normals, colours and a stripe."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Piece(NamedTuple):
    """F facets, seen from the side from which their corners are listed counterclockwise.

    corners (F, 3, 3), normals (F, 3, 3): places and unit normals of corners; rgb (F, 3, 3): their colours;
    turn (F, 3): the place around a tube, from 0 to 1 in a turn, 0 along d1, NaN where there are no stripes.
    """

    corners: np.ndarray
    normals: np.ndarray
    rgb: np.ndarray
    turn: np.ndarray

    def seen_in(self, view: np.ndarray) -> "Piece":
        """The same in the axes of a view (3, 3): right, up, towards the eye."""
        return self._replace(corners=self.corners @ view.T, normals=self.normals @ view.T)


def indexed(
    points: np.ndarray,
    normals: np.ndarray,
    faces: np.ndarray,
    rgb: np.ndarray,
    turn: np.ndarray | None = None,
) -> Piece:
    """A piece of faces (F, 3) between points (V, 3) with normals (V, 3); rgb (V, 3) or (F, 3, 3)."""
    colours = rgb[faces] if rgb.ndim == 2 else rgb
    around = np.full(faces.shape, np.nan) if turn is None else turn[faces]
    return Piece(points[faces], normals[faces], colours, around)


def joined(pieces: Sequence[Piece]) -> Piece:
    """All facets of some pieces."""
    return Piece(*(np.concatenate(parts) for parts in zip(*pieces, strict=True)))


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) of length one; zero where they are zero."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
