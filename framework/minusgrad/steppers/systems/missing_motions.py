"""The message about a field that should move and does not, because no motion names it."""

from collections.abc import Iterable, Sequence

from ...energies.fields import BOX, Motion
from ...errors import EnergyError


def refuse_missing(stepper: str, motions: Sequence[Motion], fields: Iterable[str]) -> None:
    """Raise `EnergyError` where nothing moves; its cure has the name of the first of these fields."""
    if motions:
        return
    names = [name for name in fields if name != BOX]
    inertia = "m" if "m" in names else 1.0
    name = next((name for name in names if name not in ("v", "m")), "x")
    velocity = "v" if name == "x" else f"{name}_dot"
    raise EnergyError(
        f"{stepper}: has no motions, so that nothing moves; name a field, its velocity and its inertia:"
        f" {motion_line(Motion(name, velocity, inertia))}"
    )


def motion_line(motion: Motion) -> str:
    """What a user writes for a motion, in Python and in a scene."""
    inertia = f'"{motion.inertia}"' if isinstance(motion.inertia, str) else f"{motion.inertia:g}"
    python = f'motions=[minusgrad.Motion("{motion.position}", "{motion.velocity}", {inertia})]'
    table = f'position = "{motion.position}", velocity = "{motion.velocity}", inertia = {inertia}'
    return f"{python}, or below [state] motions = [{{ {table} }}]"
