"""When something is due: whole steps, so that a run cut in two looks at the same ones."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Every:
    """Due at every multiple of `n` steps; never, if n is 0."""

    n: int

    def due(self, step: int) -> bool:
        """Whether this step is one of them."""
        return self.n > 0 and step % self.n == 0

    def after(self, step: int) -> int | None:
        """The first due step after `step`, None if there is none."""
        return (step // self.n + 1) * self.n if self.n > 0 else None
