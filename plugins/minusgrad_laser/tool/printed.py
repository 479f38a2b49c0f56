"""What the terminal shows: the scores of a job, the files that it wrote, remarks."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

NONE: Mapping[str, str] = {}


def print_scores(
    heading: str, rows: Sequence[tuple[str, str]], files: Sequence[Path], raster: Mapping[str, str] = NONE
) -> None:
    """Print names and texts of scores in two columns; raster: the texts of the baseline, by name."""
    width = max(len(name) for name, _ in rows)
    print(heading)
    for name, text in rows:
        beside = f"  (raster: {raster[name]})" if name in raster else ""
        print(f"  {name:<{width}}  {text}{beside}")
    for file in files:
        print(f"  {file}")


def say_aside(text: str) -> None:
    """Print a remark beside the output."""
    print(f"minusgrad: {text}", file=sys.stderr, flush=True)
