"""The machine of a job: a profile in a file, or a shipped one by its name."""

from ..machine.profile import Profile

USUAL = "grbl_diode"
"""The machine where none is named."""


def machine(name: str | None) -> Profile:
    """The profile that `--machine` names. Raises `UserError` where there is none, and for its mistakes."""
    return Profile.load(USUAL if name is None else name)
