"""The bytes of files that a command line names."""

from pathlib import Path

from minusgrad.plugin import UserError, input_files

from ...machine.profile import SHIPPED, shipped


def file_contents(file: Path) -> bytes:
    """The bytes of a file. Raises `UserError` where it cannot be read."""
    try:
        return input_files.read(file)
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def profile_text(name: str) -> str:
    """The text of a profile: of a shipped one by its name, or of a file."""
    path = SHIPPED / f"{name}.toml" if name in shipped() else Path(name)
    return file_contents(path).decode()
