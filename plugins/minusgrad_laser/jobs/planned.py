"""The motion that a controller will plan for moves, before they are written."""

import numpy as np

from ..machine.profile import Profile
from ..virtual_machine.program import Program
from .moves import Moves, digital


def planned_program(moves: Moves, profile: Profile) -> Program:
    """The moves as a controller reads them from the job file, behind the one to the first place."""
    n = len(moves)
    x, y = moves.places.T * profile.place
    none, numbers = np.zeros(n), np.arange(n)
    feed = digital(moves, profile)[1]
    if not profile.rules.feed_in_rapids:
        feed = np.where(moves.lit, feed, np.inf)
    never = np.zeros(n, bool)
    return Program(x, y, feed, none, never, numbers, numbers, never, none, True, (), ())
