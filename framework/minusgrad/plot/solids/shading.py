"""Facets as an image: what is nearest to the eye at each pixel, lit from above, with dark outlines.

    z(p) = sum_k l_k(p) z_k          depth at pixel p, with its barycentric coordinates l_k in a facet

Facets that are turned away are left out, the nearest of the others is kept at each pixel (a depth buffer), so
that shapes that pass through each other are right, too. Colour c under light from direction L:

    c (0.40 + 0.44 max(0, n . L) + 0.22 (1 + n . up) / 2)  +  0.22 max(0, n . h)^30

n is the normal between those of the corners, h halfway between L and the eye. A pixel beside one that is
further away than its facet goes is darker: outlines and folds.

Decisions 0138.
"""

from typing import NamedTuple

import numpy as np

from .pieces import Piece

LIGHT = np.array([-0.45, 0.75, 0.62]) / np.linalg.norm([-0.45, 0.75, 0.62])
"""Right, up, towards the eye."""
EYE = np.array([0.0, 0.0, 1.0])
HALFWAY = (LIGHT + EYE) / np.linalg.norm(LIGHT + EYE)
AT_ONCE = 2_000_000
"""Pixels of boxes around facets that are looked at together."""
STRIPES = ((0.0, 0.1), (0.5, 0.035))
"""Where stripes are around a tube, and half of their widths, in turns."""
EDGE = 1e-4
"""Pixels are in a facet from this share below zero on, so that there are no gaps between facets."""
APART = 8.0
"""Pixels of depth behind an outline."""
STEEP = 40.0
"""Facets that are steeper, in pixels of depth for a pixel, have outlines."""


class SeenFacets(NamedTuple):
    """What is seen: of each pixel (H, W), first row below, its facet, -1 for none, and its depth."""

    facet: np.ndarray
    depth: np.ndarray


class FacetPlan(NamedTuple):
    """Facets in pixels: corners (F, 3, 3); area (F,), twice that with the sign of the side that is seen.

    shares (F, 2, 3): l_0 and l_1 as c_0 + c_1 x + c_2 y from `origin` (F, 2), a pixel of each facet.
    """

    corners: np.ndarray
    area: np.ndarray
    origin: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, corners: np.ndarray) -> "FacetPlan":
        a, b, c = (corners[:, k, :2] for k in range(3))
        area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
        origin = np.nan_to_num(np.floor(a))
        size = np.where(area == 0.0, np.inf, area)[:, None]
        rows = []
        for one, other in ((b, c), (c, a)):
            one, other = one - origin, other - origin
            constant = one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]
            rows.append(np.stack([constant, one[:, 1] - other[:, 1], other[:, 0] - one[:, 0]], axis=1) / size)
        return cls(corners, area, origin, np.stack(rows, axis=1).astype(np.float32))

    def barycentric(self, which: np.ndarray, column: np.ndarray, row: np.ndarray) -> np.ndarray:
        """l (3, P) of the middles of pixels in facets."""
        origin = self.origin[which].astype(np.float32)
        x, y = column - origin[:, 0] + np.float32(0.5), row - origin[:, 1] + np.float32(0.5)
        own = self.shares[which].reshape(len(which), 6).T
        first, second = own[0] + own[1] * x + own[2] * y, own[3] + own[4] * x + own[5] * y
        return np.stack([first, second, np.float32(1.0) - first - second])


def nearest_facets(plan: FacetPlan, shape: tuple[int, int]) -> SeenFacets:
    """The nearest facets in an image; only those that are turned to the eye."""
    height, width = shape
    facet = np.full(height * width, -1, np.int32)
    depth = np.full(height * width, -np.inf, np.float32)
    flat = plan.corners[..., :2]
    low = np.maximum(np.ceil(flat.min(axis=1) - 0.5), 0.0)
    high = np.minimum(np.floor(flat.max(axis=1) - 0.5), [width - 1, height - 1])
    box = np.nan_to_num(np.maximum(high - low + 1.0, 0.0)).astype(np.int32)
    sizes = np.where(plan.area > 0.0, box[:, 0] * box[:, 1], 0)
    kept = np.flatnonzero(sizes)
    kept = kept[np.isfinite(plan.corners[kept]).all(axis=(1, 2))]
    ends = np.cumsum(sizes[kept])
    start = 0
    while start < len(kept):
        before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, before + AT_ONCE, "right")), start + 1)
        own = kept[start:stop]
        _fill(plan, own, sizes[own], low[own].astype(np.int32), box[own, 0], width, facet, depth)
        start = stop
    return SeenFacets(facet.reshape(shape), depth.reshape(shape))


def _fill(
    plan: FacetPlan,
    own: np.ndarray,
    sizes: np.ndarray,
    low: np.ndarray,
    wide: np.ndarray,
    width: int,
    facet: np.ndarray,
    depth: np.ndarray,
) -> None:
    """Put some facets into the image, each within a box from low (F, 2) on, so many pixels wide."""
    rank = np.repeat(np.arange(len(own), dtype=np.int32), sizes)
    place = np.arange(len(rank), dtype=np.int32) - np.repeat(
        (np.cumsum(sizes) - sizes).astype(np.int32), sizes
    )
    row, column = np.divmod(place, wide[rank])
    column += low[rank, 0]
    row += low[rank, 1]
    which = own[rank]
    share = plan.barycentric(which, column, row)
    inside = np.flatnonzero(share.min(axis=0) >= -EDGE)
    which, share = which[inside], share[:, inside]
    pixel = row[inside].astype(np.int64) * width + column[inside]
    heights = plan.corners[which, :, 2].astype(np.float32).T
    z = (share * heights).sum(axis=0)
    nearer = np.flatnonzero(z > depth[pixel])
    which, pixel, z = which[nearer], pixel[nearer], z[nearer]
    order = np.argsort(z, kind="stable")  # the nearest is written last
    depth[pixel[order]], facet[pixel[order]] = z[order], which[order]


def shaded_image(
    piece: Piece, low: np.ndarray, scale: float, shape: tuple[int, int], stripe: np.ndarray
) -> np.ndarray:
    """An image (H, W, 4), first row below, of a piece in the axes of a view.

    low (2,): the lower left corner; scale: pixels of a unit of length; stripe (3,): the colour of stripes.
    """
    corners = (piece.corners - np.append(low, 0.0)) * scale
    plan = FacetPlan.of(corners)
    seen = nearest_facets(plan, shape)
    image = np.zeros((*shape, 4), np.float32)
    rows, columns = np.nonzero(seen.facet >= 0)
    if not len(rows):
        return image
    which = seen.facet[rows, columns]
    share = plan.barycentric(which, columns, rows)
    normal, colour = (
        sum(share[k, :, None] * part[which, k].astype(np.float32) for k in range(3))
        for part in (piece.normals, piece.rgb)
    )
    normal /= np.maximum(np.sqrt(np.einsum("pi,pi->p", normal, normal)), 1e-30)[:, None]
    turn = sum(share[k] * piece.turn[which, k] for k in range(3))
    striped = np.zeros(len(turn), bool)
    for at, half in STRIPES:
        striped |= np.abs((turn - at + 0.5) % 1.0 - 0.5) < half
    colour[striped] = stripe
    image[rows, columns, :3] = _lit(colour, normal)
    image[rows, columns, 3] = 1.0
    dark = outlines(plan, seen)
    image[dark, :3] *= 0.55
    return image


def _lit(rgb: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Colours (P, 3) under the light."""
    direct = np.clip(normal @ LIGHT, 0.0, 1.0)
    sky = 0.5 * (1.0 + normal[:, 1])
    gloss = 0.22 * np.clip(normal @ HALFWAY, 0.0, 1.0) ** 30
    found = rgb * (0.40 + 0.44 * direct + 0.22 * sky)[:, None]
    return np.clip(found + gloss[:, None] * (1.0 - 0.5 * found), 0.0, 1.0)


def outlines(plan: FacetPlan, seen: SeenFacets) -> np.ndarray:
    """The pixels (H, W) beside which something lies further away than their facet goes."""
    facet, depth = seen
    a, b, c = plan.corners.swapaxes(0, 1)
    area = plan.area
    size = np.where(area == 0.0, 1.0, area)
    rise = [
        ((b[:, 2] - a[:, 2]) * (c[:, m] - a[:, m]) - (c[:, 2] - a[:, 2]) * (b[:, m] - a[:, m])) * sign / size
        for m, sign in ((1, 1.0), (0, -1.0))
    ]
    slope = [np.clip(np.append(one, 0.0).astype(np.float32)[facet], -STEEP, STEEP) for one in rise]
    dark = np.zeros(facet.shape, bool)
    for axis, along in ((1, slope[0]), (0, slope[1])):
        for step in (1, -1):
            beside, theirs = (np.roll(one, -step, axis=axis) for one in (depth, along))
            edge = (facet >= 0) & (beside < depth + step * along - APART)
            edge &= beside - step * theirs < depth - APART
            border = [slice(None)] * 2
            border[axis] = slice(-1, None) if step == 1 else slice(0, 1)
            edge[tuple(border)] = False
            dark |= edge
    return dark


def reduced(image: np.ndarray, by: int) -> np.ndarray:
    """An image (H, W, 4) of so many times fewer pixels along each side: means, weighted by opacity."""
    if by == 1:
        return image
    height, width = image.shape[0] // by, image.shape[1] // by
    parts = image.reshape(height, by, width, by, 4)
    alpha = parts[..., 3].mean(axis=(1, 3))
    colour = (parts[..., :3] * parts[..., 3:]).mean(axis=(1, 3))
    return np.concatenate([colour / np.maximum(alpha, 1e-9)[..., None], alpha[..., None]], axis=-1)
