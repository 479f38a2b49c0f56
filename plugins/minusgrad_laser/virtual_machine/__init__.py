"""A virtual machine: it reads a job file as a controller does, plans its motion, and sums the dose.

It judges what the engine computed, so it shares nothing with it: NumPy and SciPy only, and nothing but the
text of the file, the profile of the machine, and the spot. `replay` does it all.

Decisions 0228.
"""

from .replays import Replay, replay

__all__ = ["Replay", "replay"]
