"""Outlines on their way out of the child of bounded reading: arrays of numbers and lists of texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .drawing import Outline


def pack_lines(outlines: Sequence[Outline]) -> dict[str, Any]:
    """`lines` for `unpack_lines`, moved so that the lower left corner of their `box` (2, 2) is (0, 0)."""
    points = np.concatenate([one.points for one in outlines]) if outlines else np.zeros((0, 2))
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.zeros(2))
    texts = sorted({one.layer for one in outlines} | {one.stroke or "" for one in outlines}
                   | {one.fill or "" for one in outlines} | {one.rule for one in outlines})  # fmt: skip
    number = {text: k for k, text in enumerate(texts)}
    rows = [
        [
            len(one.points),
            one.closed,
            number[one.layer],
            number[one.stroke or ""],
            number[one.fill or ""],
            one.piece,
            number[one.rule],
        ]
        for one in outlines
    ]
    lines = {"points": points - low, "rows": np.array(rows, int).reshape(-1, 7), "texts": texts}
    return {"lines": lines, "box": np.stack([low, high])}


def unpack_lines(lines: dict[str, Any]) -> list[Outline]:
    """The outlines of `pack_lines`."""
    found, at, texts = [], 0, lines["texts"]
    for count, closed, layer, stroke, fill, piece, rule in lines["rows"].tolist():
        points = lines["points"][at : at + count]
        at += count
        found.append(
            Outline(
                points,
                bool(closed),
                texts[layer],
                texts[stroke] or None,
                texts[fill] or None,
                piece,
                texts[rule],
            )
        )
    return found
