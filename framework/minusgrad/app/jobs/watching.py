"""A run with a page in the same process: its newest rows are shown as they are recorded, at a pace.

    watched = WatchedRun(port=8080)
    runs.run(scene, watched=watched)      the page opens when the start is saved
    watched.page.wait()                   and stays when the run is over

    pace p [s of the run in a second]: a batch has at most p / (30 dt) steps, and waits for its time

Decisions 0144.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...assembly.built_scene import BuiltScene
from ...errors import UserError
from ...scene.document import Scene
from ...scene.records import quantities
from ...view.live_rows import LiveRows

if TYPE_CHECKING:
    from ...view.page import Page
    from .saver import Saver

TICK = 1.0 / 30.0
"""Seconds that a batch of a run at a pace lasts."""
LATE = 0.5
"""Seconds that a run may be behind its pace and catch up; of more it forgets the rest."""


class WatchedRun:
    """A page to be opened for a run; host, port, behind: as for `view.show`. opened: called with the page."""

    def __init__(
        self,
        host: str | None = None,
        port: int | None = None,
        behind: str = "",
        opened: "Callable[[Page], None]" = lambda page: None,
    ):
        from ...view import server

        server.viser()
        self._address: dict[str, Any] = {"host": host or server.HOST, "port": port, "behind": behind}
        self._opened, self._rows = opened, LiveRows()
        self._pace: float | None = None
        self._job: BuiltScene | None = None
        self.page: Page | None = None

    @staticmethod
    def refuse_many(scene: Scene) -> None:
        """Raise `UserError`: the scene is that of many runs, or of a fit."""
        raise UserError(
            f"--view: shows one run while it goes on, got {scene.path} with many; leave it out, and look at"
            " the folder with `minusgrad view`"
        )

    def begin(self, job: BuiltScene, saver: "Saver") -> None:
        """Open the page of a run whose start is saved."""
        from ...view.page import show

        self._job, job.recorder.heard = job, self._rows.hear
        saver.writer.wait()
        self._pace = quantities(job.scene.view, job.units)["pace"]
        self.page = show(saver.folder.path, live=self._rows, **self._address)
        self._begun = time.monotonic(), job.stepper.time
        self._opened(self.page)

    def pause_after(self, step: int) -> int | None:
        """The step at which the batch that begins at this one ends; None without a pace."""
        assert self._job
        if self._pace is None or not self._job.stepper.dt:
            return None
        return step + max(1, int(self._pace * TICK / abs(self._job.stepper.dt)))

    def between(self, asked_to_stop: Callable[[], bool]) -> None:
        """Show what was recorded, and wait until the present step is due."""
        self._rows.publish()
        if self._pace is None:
            return
        assert self._job
        begun, at = self._begun
        due = begun + abs(self._job.stepper.time - at) / self._pace
        if (now := time.monotonic()) - due > LATE:
            self._begun = now, self._job.stepper.time
        while (left := due - time.monotonic()) > 0 and not asked_to_stop():
            time.sleep(min(left, TICK))

    def end(self) -> None:
        """The run is over; its page shows what its folder has."""
        self._rows.end()
        if self._job is not None:
            self._job.recorder.heard = None

    def close(self) -> None:
        """Close the page, if it was opened."""
        if self.page is not None:
            self.page.close()
