"""The motion of a job as a table: t, x, y, v, P at the start of each piece of constant acceleration.

Between two rows v is linear in time; P is constant, or linear where power follows speed.
"""

from ..virtual_machine.motion import Motion

HEADER = "t [s],x [mm],y [mm],v [mm/s],P [W]"


def write(motion: Motion) -> str:
    """The text of a CSV file, of the motion that was planned for a job file (`Replay.motion`)."""
    rows = motion.table() * [1.0, 1e3, 1e3, 1e3, 1.0]
    rows = rows + 0.0  # no -0
    lines = (f"{t:.6f},{x:.4f},{y:.4f},{v:.3f},{power:.4f}" for t, x, y, v, power in rows.tolist())
    return "\n".join([HEADER, *lines]) + "\n"
