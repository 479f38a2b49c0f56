"""A heron among reeds, black on white: python silhouette.py writes silhouette.png (256 x 256, 8 bit), and
heron.png, the same picture with a scale: 20 um a pixel, so that its legs and reeds are 20 to 120 um thin.

Every line is a smooth curve through a few points, with a width that changes along it; points count pixels
from the left and from the top. It is drawn 8 times as large, and scaled down.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SIZE, FINE = 256, 8
BODY = (
    (94, 118), (103, 103), (122, 98), (145, 105), (168, 121), (190, 142), (206, 164),
    (186, 158), (170, 156), (150, 159), (128, 157), (106, 146), (95, 132),
)  # fmt: skip
CURVES = {  # (x, y, width), ...
    "neck": (
        (116, 122, 30),
        (100, 116, 21),
        (92, 100, 14),
        (104, 80, 10),
        (110, 62, 9),
        (105, 50, 10),
        (97, 46, 11),
    ),
    "head": ((101, 46, 12), (95, 45, 14), (86, 47, 10)),
    "beak": ((90, 47, 9), (68, 53, 5), (44, 60, 1)),
    "crest": ((95, 41, 6), (114, 41, 4), (138, 53, 1)),
    "plume": ((100, 126, 7), (92, 146, 4), (88, 166, 1)),
    "wing": ((160, 128, 16), (186, 148, 9), (214, 172, 1)),
    "tail": ((170, 142, 12), (193, 162, 10), (207, 184, 1)),
    "thigh": ((138, 150, 20), (140, 166, 10), (141, 180, 5)),
    "leg": ((141, 174, 5), (144, 194, 4), (140, 199, 5), (141, 216, 4), (140, 244, 4)),
    "other thigh": ((128, 150, 16), (122, 164, 8), (119, 174, 5)),
    "other leg": ((119, 172, 4), (112, 186, 4), (116, 191, 5), (122, 214, 4), (124, 244, 4)),
    "reed": ((214, 246, 5), (217, 190, 4), (222, 120, 3), (230, 62, 1)),
    "cat's tail": ((221, 128, 3), (222, 122, 10), (225, 100, 10), (226, 94, 3)),
    "leaf": ((208, 246, 6), (204, 224, 6), (193, 205, 4), (178, 192, 1)),
    "high leaf": ((218, 246, 6), (228, 180, 6), (244, 128, 4), (250, 112, 1)),
    "far reed": ((34, 246, 5), (32, 200, 4), (26, 148, 3), (20, 104, 1)),
    "far cat's tail": ((27, 158, 3), (26, 152, 9), (23, 132, 9), (22, 126, 3)),
    "far leaf": ((40, 246, 6), (46, 200, 6), (58, 164, 4), (66, 152, 1)),
    "water": ((8, 243, 1), (60, 246, 4), (128, 244, 5), (196, 246, 4), (248, 243, 1)),
}


def smooth(points: np.ndarray, each: int = 60) -> np.ndarray:
    """Catmull and Rom's curve through the points (n, d), with `each` of its own for each of theirs."""
    padded = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    t = np.linspace(0.0, 1.0, each)[:, None]
    pieces = [
        0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
        for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:], strict=False)
    ]
    return np.concatenate(pieces)


def heron() -> Image.Image:
    """The picture."""
    large = Image.new("L", (SIZE * FINE, SIZE * FINE), 255)
    pen = ImageDraw.Draw(large)
    ring = np.array((*BODY, *BODY[:1]), float)
    pen.polygon([tuple(p) for p in smooth(ring) * FINE], fill=0)
    for curve in CURVES.values():
        for x, y, width in smooth(np.array(curve, float)) * FINE:
            r = max(width, FINE) / 2.0
            pen.ellipse((x - r, y - r, x + r, y + r), fill=0)
    return large.resize((SIZE, SIZE), Image.Resampling.BOX)


if __name__ == "__main__":
    heron().save(Path(__file__).with_suffix(".png"), optimize=True)
    heron().save(Path(__file__).with_name("heron.png"), optimize=True, dpi=(1270.0, 1270.0))
