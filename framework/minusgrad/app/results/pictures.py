"""Picture files that a notebook shows."""

import base64
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ...files.held import held_folders

TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".webp": "image/webp", ".gif": "image/gif"}
"""The kinds of files that a browser shows as pictures, by their endings."""


class Pictures(Sequence[Path]):
    """The paths of pictures; a notebook shows them in this order."""

    def __init__(self, paths: Sequence[Path]):
        self.paths = list(paths)

    def __repr__(self) -> str:
        return f"Pictures({', '.join(map(str, self.paths))})"

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    def __getitem__(self, at: Any) -> Any:
        return self.paths[at]

    @property
    def by_name(self) -> dict[str, Path]:
        """The paths by the names of the files without their endings, such as "energy"."""
        return {path.stem: path for path in self.paths}

    def _repr_html_(self) -> str:
        return "\n".join(map(shown, self.paths))


def shown(path: Path, height: str = "none") -> str:
    """A picture as HTML that holds its bytes; the path of a file that browsers show as none, such as PDF.

    height: the largest, in units of CSS.
    """
    name = escape(path.name, quote=True)
    if path.suffix not in TYPES:
        return f"<div><code>{escape(str(path))}</code></div>"
    style = f"max-width: 100%; max-height: {height}; height: auto; width: auto"
    source = data_uri(path, TYPES[path.suffix])
    return f'<img alt="{name}" title="{name}" style="{style}" src="{source}">'


def data_uri(path: Path, kind: str) -> str:
    """The bytes of a file as a URI of its media type."""
    return f"data:{kind};base64,{base64.b64encode(held_folders.read_file(path)).decode()}"
