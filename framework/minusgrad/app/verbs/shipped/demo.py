"""A demonstration: a scene of each of four plugins is run and drawn.

Decisions 0120.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from ...results.run import Run
from ...run_options import ShowsProgress
from ...runs import run
from . import places

SCENES = ("two_body", "outer_solar_system", "stretch", "laser_butterfly")
FOLDER = Path("runs/demo")


def can_draw() -> bool:
    """True if Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def demo(out: Path, progress: ShowsProgress, say: Callable[[str], None]) -> Iterator[Run]:
    """Run each scene into a folder of `out`, in place of an earlier run, and draw it if that can be.

    progress, say: as for `run`. Raises as `run` and `plot` do.
    """
    for name in SCENES:
        done = run(places.scenes()[name], out=out / name, force=True, progress=progress, say=say)
        if can_draw():
            done.plot()
        yield done
