"""The test suite of resvg: our target of each file beside the picture that comes with it.

    python -m tests.plugins.laser.resvg_suite .../resvg/crates/resvg/tests

Files are drawn as many cells wide as their pictures have pixels, which are 300. In the table a file is

    equal      its mean difference of darkness is below 1 % of full darkness over the page
    differs    it is above
    refused    by name
    faults     any other end

Printed are all but the equal ones, with the reason. The fonts of the suite are given to files with text,
those for cursive and fantasy as the suite takes them. No test of ours: the suite is not in the repository.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from minusgrad.errors import UserError
from minusgrad.plugin import StateContext, UnitSystem
from minusgrad_laser.canvas import CanvasTable
from minusgrad_laser.targets.svg import FromSvg

MOST = 0.01
GENERIC = {"Yellowtail-Regular.ttf": "cursive=", "SedgwickAveDisplay-Regular.ttf": "fantasy="}
"""What fonts of the suite are given for (crates/resvg/tests/integration/main.rs)."""


def picture_darkness(file: Path) -> np.ndarray:
    """Darkness (rows, columns) over white of a picture with 8 bits a channel, bottom row first."""
    pixels = np.asarray(Image.open(file).convert("RGBA"), float)[::-1] / 255.0
    return pixels[..., 3] * (1.0 - pixels[..., :3] @ np.array([0.299, 0.587, 0.114]))


def drawn_target(file: Path, fonts: dict[str, bytes], cells: int) -> np.ndarray:
    """Our target of a file, so many cells wide."""
    data = file.read_bytes()
    given = list(fonts) if b"text" in data or b"svg+xml" in data else []
    files = {file.name: data} | {name.partition("=")[2] or name: font for name, font in fonts.items()}
    context = StateContext(UnitSystem.si(), 0, file.parent, attached=files)
    table = FromSvg(kind="svg", file=file.name, fonts=given, width=f"{cells} mm")
    return table.draw(CanvasTable(pixel="1 mm"), context)


def compared(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Name of each file, its row of the table and the reason or the differences."""
    fonts = {
        f"{GENERIC.get(one.name, '')}{one.name}": one.read_bytes()
        for one in sorted((folder / "fonts").iterdir())
        if one.suffix in (".ttf", ".otf")
    }
    for file in sorted((folder / "tests").rglob("*.svg")):
        name, picture = str(file.relative_to(folder / "tests")), file.with_suffix(".png")
        if not picture.exists():
            continue
        begun = time.perf_counter()
        try:
            theirs = picture_darkness(picture)
            ours = drawn_target(file, fonts, theirs.shape[1])
        except UserError as error:
            yield name, "refused", str(error)
            continue
        except Exception as error:
            yield name, "faults", f"{type(error).__name__}: {error}"
            continue
        took = time.perf_counter() - begun
        if ours.shape != theirs.shape:
            yield name, "differs", f"{ours.shape} cells, {theirs.shape} pixels"
            continue
        mean, ink = np.abs(ours - theirs).mean(), theirs.sum() or 1.0
        words = f"{mean:.2e} area {abs(ours.sum() - theirs.sum()) / ink:.2e} ink {took:.1f} s"
        yield name, "equal" if mean < MOST else "differs", words


def main(folder: Path) -> None:
    counts = dict.fromkeys(("equal", "differs", "refused", "faults"), 0)
    for name, row, why in compared(folder):
        counts[row] += 1
        if row != "equal" or "-v" in sys.argv:
            print(f"{row:8} {name}: {why}", flush=True)
    print(" ".join(f"{row} {count}" for row, count in counts.items()), f"of {sum(counts.values())}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
