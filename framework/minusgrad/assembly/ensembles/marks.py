"""Marks of members that failed, or ended by themselves, and names in the files of an ensemble.

Nothing here needs Taichi.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import CheckpointError
from ...files.h5md import OBSERVABLES
from ...files.held.json_text import parse_json

POINTS = "points"
"""The folder of a checkpoint's arrays for the values of the varied keys, (M, *shape) each."""
BOXES = f"{OBSERVABLES}/box/edges"
"""The name under which the edges of the members' boxes are recorded."""


@dataclass(frozen=True)
class Failure:
    """The failure of one member: the number of steps that it had taken, and the error's text, which names
    step, term and node."""

    step: int
    text: str


@dataclass(frozen=True)
class End:
    """The end of a member that stopped by itself: after how many steps, and its outcome."""

    step: int
    outcome: str


def read_marks(state: Mapping[str, np.ndarray]) -> tuple[dict[int, Failure], dict[int, End]]:
    """The members that failed, and those that ended by themselves, from a saved state."""
    try:
        failed, marks = parse_json(np.asarray(state["members/marks"]).tobytes())
        failures = {int(n): Failure(int(step), str(text)) for n, step, text in marks[:failed]}
        ends = {int(n): End(int(step), str(outcome)) for n, step, outcome in marks[failed:]}
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise CheckpointError(
            f"its members' ends cannot be read ({error}); use another checkpoint"
        ) from error
    return failures, ends
