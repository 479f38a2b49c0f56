"""The file of a movie, which a notebook shows."""

from pathlib import Path

from .pictures import TYPES, data_uri, shown


class Film:
    """A movie of a run: its `path`; a notebook plays it in a loop."""

    def __init__(self, path: Path):
        self.path = path

    def __repr__(self) -> str:
        return f"Film('{self.path}')"

    def __fspath__(self) -> str:
        return str(self.path)

    def _repr_html_(self) -> str:
        if self.path.suffix in TYPES:
            return shown(self.path)
        source = data_uri(self.path, "video/mp4")
        return f'<video controls autoplay loop muted style="max-width: 100%" src="{source}"></video>'
