"""Remarks on the lines of a job file: each text once, with its first line and how often it holds."""


class Remarks:
    """Remarks in the order of their first lines."""

    def __init__(self) -> None:
        self._lines: dict[str, list[int]] = {}

    def add(self, line: int, text: str) -> None:
        """Remember that a text holds for a line."""
        self._lines.setdefault(text, []).append(line)

    def texts(self, name: str) -> list[str]:
        """Each text as `name:line: text`, with the number of further lines."""
        found = []
        for text, at in self._lines.items():
            more = f" (and {len(at) - 1} more)" if len(at) > 1 else ""
            found.append(f"{name}:{at[0]}: {text}{more}")
        return found
