"""Systems from the options of a test: parts of the system, and arguments of its stepper."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from minusgrad.energies.fields import Motion
from minusgrad.potential.potential import Potential
from minusgrad.steppers.systems.system import System

PARTS = {part.name for part in fields(System)}


def system_from(
    options: dict[str, Any], potential: Potential, motions: Sequence[Motion] = (), **parts: Any
) -> System:
    """A system; parts among the options of a stepper are taken out of them."""
    own = {name: options.pop(name) for name in PARTS & options.keys()}
    return System(potential, motions, **parts | own)
