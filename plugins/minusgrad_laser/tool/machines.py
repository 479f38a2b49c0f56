"""The machine of a job: a profile in a file, or a shipped one by its name."""

import tomllib
from pathlib import Path

from minusgrad.plugin import UserError

from ..machine.profile import Profile


def machine(name: str | None) -> Profile:
    """The profile that `--machine` names. Raises `UserError` where there is none."""
    if name is None:
        return Profile("GRBL diode engraver", field=(0.3, 0.3), lines_per_second=500.0)
    try:
        data = tomllib.loads(Path(name).read_text())
    except OSError as error:
        raise UserError(f"--machine: {name} cannot be read: {error.strerror}") from None
    return Profile(**data)
