"""A folder as it was given, which stays the same folder when the process changes its working folder.

Decisions 0100.
"""

from pathlib import Path


class GivenFolder:
    """The folder `path`, from now on: a relative one is of the working folder of this moment."""

    def __init__(self, path: Path):
        self._given, self._whole = path, path.absolute()

    @property
    def path(self) -> Path:
        """As it was given; the absolute path once the working folder is another one."""
        return self._given if self._given.absolute() == self._whole else self._whole
