"""Job files for a diode engraver from four pictures, and the fastest raster: scores and seconds of replays.

    python -m benchmarks.laser_engraving [PICTURE ...] [--steps N]

Each picture (butterfly, letters, heron, gear; 20 um a pixel) is searched by the recipe of `minusgrad laser`
(`minusgrad_laser.search.recipe`) with the same settings; the job file is replayed by the virtual machine, and
scored. The raster is the fastest with M4 of those that score within 0.01 of the best of them
(`minusgrad_laser.search.baseline`: pitch, direction, first line, dot width, exposure and speed), whose job
file is replayed and scored in the same way. The gear is a formula, on which nothing was tuned.

Columns: intersection over union; job time [s]; distance of the replayed dose from that of the search, in
parts of its sum (L1); mean edge placement error [um]; limits that are broken; seconds of the search.
"""

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minusgrad
from minusgrad.app.runs import build
from minusgrad_laser import scores
from minusgrad_laser.jobs import gcode
from minusgrad_laser.jobs.toolpath import Toolpath
from minusgrad_laser.machine.profile import Profile
from minusgrad_laser.search import recipe
from minusgrad_laser.search.baseline import baseline
from minusgrad_laser.tool import runs
from minusgrad_laser.virtual_machine import Replay, replay

PROFILE = Profile("GRBL diode engraver", field=(0.3, 0.3), lines_per_second=500.0)
DATA = Path(__file__).parents[1] / "scenes" / "data"
SIZES = {"butterfly": (512, 512), "letters": (305, 435), "heron": (256, 256), "gear": (512, 512)}
"""Rows and columns."""
TABLES = {
    "butterfly": '{ kind = "butterfly" }',
    "letters": '{ kind = "svg", file = "letters.svg" }',
    "heron": '{ kind = "image", file = "heron.png" }',
    "gear": '{ kind = "image", file = "gear.png" }',
}


class Row(NamedTuple):
    """Of a picture: the search's job and the raster's, both replayed."""

    picture: str
    score: float
    seconds: float
    off: float
    edges: float
    violations: int
    raster_score: float
    raster_seconds: float
    raster_best: float
    wall: float


def gear(rows: int = 512, columns: int = 512) -> np.ndarray:
    """A gear of 14 teeth with 5 arms, as booleans (rows, columns); 512 rows are 10.24 mm."""
    y, x = np.mgrid[:rows, :columns]
    x, y = (x - (columns - 1) / 2) * 512 / rows, (y - (rows - 1) / 2) * 512 / rows
    r, t = np.hypot(x, y), np.arctan2(y, x)
    rim = 190 + 22 * np.clip(4 * np.sin(14 * t), -1, 1)
    windows = (r > 85) & (r < 145) & (np.cos(5 * t) < 0.55)
    return (r < rim) & (r >= 40) & ~windows


def row(name: str, steps: int, folder: Path) -> Row:
    """Search, export, replay and score a picture."""
    from PIL import Image

    begun = time.perf_counter()
    for file in ("letters.svg", "heron.png"):
        (folder / file).write_bytes((DATA / file).read_bytes())
    Image.fromarray(np.where(gear()[::-1], 0, 255).astype(np.uint8)).save(folder / "gear.png")
    scene = folder / f"{name}.toml"
    blank = np.ones(SIZES[name])
    scene.write_text(recipe.text(recipe.Picture(TABLES[name], blank), PROFILE, steps=1))
    target = build(scene).fields["target"].values.reshape(SIZES[name]).astype(float)
    scene.write_text(recipe.text(recipe.Picture(TABLES[name], target), PROFILE, steps=steps))
    run = minusgrad.run(scene, out=folder / name)
    wall = time.perf_counter() - begun
    dose = run.simulation.fields["dose"].values.reshape(target.shape)
    ours = _replayed(runs.toolpath(run), target)
    raster = baseline(target, PROFILE)
    theirs = _replayed(raster.path, target)
    edges = scores.edge_placement(ours.dose, target, PROFILE.pixel, reach=2.0 * max(PROFILE.spot))
    return Row(
        name,
        scores.intersection_over_union(ours.dose, target),
        ours.seconds,
        float(np.abs(ours.dose - dose).sum() / dose.sum()),
        edges.mean,
        len(ours.violations),
        scores.intersection_over_union(theirs.dose, target),
        theirs.seconds,
        raster.best,
        wall,
    )


def _replayed(path: Toolpath, target: np.ndarray) -> Replay:
    """Of the job file; the threshold of the material is at the dose 1/2."""
    return replay(gcode.write(path, PROFILE), PROFILE, target.shape, full=recipe.USUAL.full)


HEAD = (
    "| picture | IoU | job, s | dose off | edges, um | limits broken | raster IoU | raster, s | its best IoU"
    " | search, s |\n|---|---|---|---|---|---|---|---|---|---|"
)


def text(one: Row) -> str:
    """A row of the table."""
    numbers = [
        *(f"{one.score:.4f}", f"{one.seconds:.2f}", f"{100.0 * one.off:.2f} %", f"{1e6 * one.edges:.1f}"),
        *(f"{one.violations}", f"{one.raster_score:.4f}", f"{one.raster_seconds:.2f}"),
        *(f"{one.raster_best:.4f}", f"{one.wall:.0f}"),
    ]
    return f"| {one.picture} | {' | '.join(numbers)} |"


def main() -> None:
    a = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    a.add_argument("pictures", nargs="*", choices=[[], *SIZES], default=[], metavar="PICTURE")
    a.add_argument("--steps", type=int, default=150)
    given = a.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {given.steps} iterations\n\n{HEAD}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in given.pictures or SIZES:
            print(text(row(name, given.steps, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
