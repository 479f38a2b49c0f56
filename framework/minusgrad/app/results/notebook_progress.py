"""Progress in a notebook: one line with a bar, which is updated in its cell."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 0.25
"""From one update to the next."""


def in_notebook() -> bool:
    """True in a kernel of IPython, such as that of Jupyter; not in its terminal."""
    package = sys.modules.get("IPython")
    shell = package.get_ipython() if package is not None else None
    return shell is not None and hasattr(shell, "kernel")


class ProgressLine:
    """What the cell shows: the step, the rate and the time left, as HTML and as text."""

    def __init__(self, first: int, last: int, counted: str):
        self.first, self.last, self.counted = first, last, counted
        self.step, self.saved, self.began = first, None, time.monotonic()
        self.ended = False

    def __repr__(self) -> str:
        seconds = max(time.monotonic() - self.began, 1e-9)
        rate = (self.step - self.first) / seconds
        shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        text = f"{self.counted} {self.step:,} of {self.last:,}, {shown} {self.counted}s/s"
        if self.ended:
            return f"{text}, {seconds:.1f} s"
        left = (self.last - self.step) / rate if rate else 0.0
        safe = "" if self.saved is None else f", saved at step {self.saved:,}"
        return f"{text}, {left:.0f} s left{safe}"

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self.step - self.first}" max="{max(self.last - self.first, 1)}"></progress>'
        return f"<div>{bar} <code>{self!r}</code></div>"


@contextmanager
def progress(first: int, last: int, counted: str = "step") -> Iterator[Callable[[int, int | None], None]]:
    """A function to call with each step reached and the last one that is saved."""
    from IPython.display import display

    line = ProgressLine(first, last, counted)
    handle: Any = display(line, display_id=True)
    said = time.monotonic()

    def show(step: int, saved: int | None) -> None:
        nonlocal said
        line.step, line.saved = step, saved  # type: ignore[assignment]
        if time.monotonic() - said >= SECONDS:
            said = time.monotonic()
            handle.update(line)

    try:
        yield show
    finally:
        line.ended = True
        handle.update(line)
