"""The outlines of SVG files beside the pictures of a suite, such as resvg's (crates/resvg/tests/tests).

    python -m tests.plugins.laser.svg_suite FOLDER             a table by kind of file
    python -m tests.plugins.laser.svg_suite FOLDER --list      and each file that is not right

FOLDER has pairs a.svg, a.png. The shapes are painted in their order with their colours, each by its lines,
and compared with the picture on white: right where the mean difference is at most 1 % of full colour, and at
most 0.3 % of the pixels are off by more than a half. Outlines know no opacity of groups and no blending:
where a file has some, what is painted at all is compared. "refused" is a message of ours, "crash" any other
end.
"""

import argparse
import signal
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from PIL import Image

from minusgrad.errors import UserError
from minusgrad_laser.drawings.svg.clipping import cut_polygon
from minusgrad_laser.drawings.svg.dashes import cut_dashes
from minusgrad_laser.drawings.svg.reading import open_svg
from minusgrad_laser.drawings.svg.regions import map_points
from minusgrad_laser.drawings.svg.walk import Shape
from minusgrad_laser.targets.coverage import Painted, paint_shapes
from minusgrad_laser.targets.placement import Placement
from minusgrad_laser.targets.stroke_outlines import outline

PIXEL = 1e-3
"""Side of a pixel of the pictures [m]."""
SECONDS = 60


def compare_file(path: Path) -> tuple[str, str]:
    """The verdict on a file, "right", "refused", "differs", "crash" or "no picture", and why."""
    picture = path.with_suffix(".png")
    if not picture.exists():
        return "no picture", ""
    signal.alarm(SECONDS)
    try:
        theirs = read_picture(picture)
        ours, is_faded = paint_file(path, theirs.shape[1], theirs.shape[0])
        if is_faded:
            ours, theirs = ((one.min(axis=2, keepdims=True) < 0.999).astype(float) for one in (ours, theirs))
    except UserError as error:
        return "refused", str(error).partition(": ")[2]
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "crash", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    apart = np.abs(ours - theirs).max(axis=2)
    mean, off = float(apart.mean()), float((apart > 0.5).mean())
    verdict = "right" if mean <= 0.01 and off <= 0.003 else "differs"
    return verdict, f"mean {mean:.4f}, off {off:.4f}"


def read_picture(path: Path) -> np.ndarray:
    """Colours (rows, columns, 3) in [0, 1] on white, top row first."""
    colours = np.asarray(Image.open(path).convert("RGBA"), float) / 255.0
    return colours[..., :3] * colours[..., 3:] + 1.0 - colours[..., 3:]


def paint_file(path: Path, columns: int, rows: int) -> tuple[np.ndarray, bool]:
    """What the outlines of a file paint, alike; whether groups have an opacity, or blend."""
    walk = open_svg(path.name, path.read_bytes(), 0.02 * PIXEL, 96.0, columns * PIXEL)
    found = list(walk.shapes())
    shapes = [one for shape in found for one in paint_shape(shape, walk.size[1])]
    is_mixed = any(shape.fade < 1.0 for shape in found) or any(
        "blending" in one for one in walk.context.remarks
    )
    place = Placement(rows, columns, 0, 0, columns, walk.size[1] / PIXEL)
    page = (columns * 1.0, walk.size[1] / PIXEL)
    channels = []
    for k in range(3):
        dark = [Painted(lines, 1.0 - colour[k], opacity, rule) for lines, colour, opacity, rule in shapes]
        channels.append(1.0 - paint_shapes(dark, page, 1.0, place)[::-1])
    return np.stack(channels, axis=2), is_mixed


def paint_shape(shape: Shape, height: float) -> list[tuple[list[np.ndarray], list[float], float, str]]:
    """Polygons [pixels], colour, opacity and rule of the inside of a shape and of its stroke."""
    found = []
    for paint, lines, rule in (
        (shape.fill, [line for line, _ in shape.lines], shape.rule),
        (shape.stroke, stroke_polygons(shape), "nonzero"),
    ):
        if paint is None:
            continue
        placed = [map_points(shape.matrix, line) for line in lines]
        for region in shape.cuts:
            placed = [cut_polygon(line, region, 1e-9) for line in placed]
        polygons = [np.stack([line[:, 0], height - line[:, 1]], axis=1) / PIXEL for line in placed]
        colour = [int(paint[0][k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
        found.append((polygons, colour, paint[1] * shape.fade, rule))
    return found


def stroke_polygons(shape: Shape) -> list[np.ndarray]:
    """What the stroke of a shape covers, in the shape's own coordinates."""
    if shape.stroke is None or shape.pen is None:
        return []
    lines = shape.lines
    if shape.dashes is not None:
        lines = [one for line, closed in lines for one in cut_dashes(line, closed, *shape.dashes)]
    whole = [np.concatenate([line, line[:1]]) if closed else line for line, closed in lines]
    for line, (_, closed) in zip(whole, lines, strict=True):
        if not closed and (line[0] == line[-1]).all():
            line[-1] += 1e-9 * (line[-2] - line[-1])  # it has caps
    stretch = np.linalg.norm(np.reshape(shape.matrix[:4], (2, 2)), 2)
    pen = shape.pen
    return outline(whole, pen.width, pen.cap, pen.join, pen.limit, 0.02 * PIXEL / stretch)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.plugins.laser.svg_suite")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="", help="part of the path")
    a = parser.parse_args()
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(a.folder.rglob("*.svg")):
        if a.only not in str(path):
            continue
        verdict, why = compare_file(path)
        kind = str(path.parent.relative_to(a.folder))
        table[kind][verdict] += 1
        table["all"][verdict] += 1
        if verdict in ("differs", "crash") or (a.list and verdict == "refused"):
            print(f"{verdict:8} {path.relative_to(a.folder)}: {why}", flush=True)
    verdicts = ("right", "refused", "differs", "crash", "no picture")
    print(f"{'':30}" + "".join(f"{one:>12}" for one in verdicts))
    for kind, counts in table.items():
        print(f"{kind:30}" + "".join(f"{counts[one]:12}" for one in verdicts))


if __name__ == "__main__":
    main()
