"""A live page of a run: a server, controls, and one thread that draws the frame that they ask for.

Decisions 0396.
"""

import threading
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MinusgradError, UserError
from ..files.run_folder import RunDir
from ..plot import style
from ..plot.movies.reel import rate
from ..plot.option_types import check_types
from . import server
from .behind import parse_proxy
from .guard import Guard
from .live_rows import LiveRows
from .notebook_frame import frame
from .observables import Chart, charts
from .scenery import OWN, Scenery
from .sliders import Sliders

TICK = 1.0 / 30.0
"""Seconds from one look at the controls to the next."""
LOOK = 1.0
"""Seconds from one look at the folder of the run to the next."""
CHARTS = 12
FONT = "10px system-ui"
OPEN = (
    "view: --host {host} shows the run to whoever reaches this machine and has the address with its token,"
    " and nothing is encrypted; safer: leave --host out, and `ssh -L 8080:127.0.0.1:8080 MACHINE`"
)


class Page:
    """A page in a browser, as long as it is not closed.

    `address`: where it is, with the token without which nothing is shown. `remarks`: who else may see it.
    """

    def __init__(
        self,
        scenery: Scenery,
        host: str,
        port: int | None,
        shown: tuple[Path, str, Sequence[str], int | None],
        behind: str = "",
        live: LiveRows | None = None,
    ):
        port = server.free(host, port)
        guard, self._shown = Guard(host, parse_proxy(behind, port) if behind else None), shown
        self._server, self._scenery = server.start_server(guard, port), scenery
        self.address = guard.address(self._server.get_port())
        self.remarks = [OPEN.format(host=host)] if guard.is_open else []
        self.failure: MinusgradError | None = None
        self._closed = threading.Event()
        server.prepare(self._server, scenery)
        self._controls, self._live = _Controls(self._server, scenery, follows=live is not None), live
        self._thread = threading.Thread(target=self._work_loop, name="minusgrad view", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"Page({self.address}{', closed' if self._closed.is_set() else ''})"

    def _repr_html_(self) -> str:
        """For notebooks: the frames so far in a page of their own, which needs no port."""
        if self._closed.is_set():
            return "<p>this page is closed</p>"
        run, field, bodies, every = self._shown
        return frame(run, field=field, bodies=bodies, every=every)._repr_html_()

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def wait(self) -> None:
        """Return when the page is closed. Raises the error that ended it, if there is one."""
        while not self._closed.wait(0.5):  # in short pieces, so that signals arrive
            pass
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """Close the page; its browsers lose it."""
        self._closed.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
            server.stop(self._server)

    def _work_loop(self) -> None:
        looked, grown = time.monotonic(), False
        while not self._closed.wait(TICK):
            try:
                due = time.monotonic() - looked > LOOK
                if (due or self._live is not None) and self._scenery.refresh():
                    self._controls.grow()
                    grown = True
                if due:
                    self._controls.look(grown)
                    looked, grown = time.monotonic(), False
                self._controls.draw()
            except MinusgradError as error:
                self.failure = error
                self._closed.set()


class _Controls:
    """Slider, play button, numbers that the run takes, choices of fields and bodies, legend, curves.

    follows: show the newest frame at the start.
    """

    def __init__(self, page: Any, scenery: Scenery, follows: bool = False):
        self._page, self._scenery, gui = page, scenery, page.gui
        count, dark = len(scenery.frames), scenery.is_crowd
        gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)
        gui.set_panel_label(scenery.title)
        self._when = gui.add_html("")
        self._inputs = Sliders(gui, scenery.run, RunDir.open(scenery.run, read_only=True).is_running)
        self._frame = gui.add_slider("frame", 0, max(count - 1, 1), 1, 0, disabled=count < 2)
        self._fps = gui.add_slider("frames a second", 1, 30, 1, round(rate(count)), disabled=count < 2)
        self._play = gui.add_button("Play", disabled=count < 2)
        self._play.on_click(lambda _: self._toggle_playing())
        self._last = gui.add_checkbox(
            "follow", follows, hint="show the newest frame of a run that is going on"
        )
        self._field = self._map = self._high = None
        if scenery.colourings:
            self._field = gui.add_dropdown("colour", [OWN, *scenery.colourings], initial_value=scenery.field)
        if scenery.maps:
            self._map = gui.add_dropdown("map", list(scenery.maps), initial_value=scenery.map)
            if scenery.has_surface:
                self._high = gui.add_checkbox("as heights", False)
        self._legend = gui.add_html(scenery.legend())
        if len(switches := scenery.switches) > 1:
            with gui.add_folder("show", expand_by_default=len(switches) < 8):
                for name, node in switches.items():
                    self._add_switch(gui, name, node)
        self._charts: dict[str, Any] = {}
        self._shown: list[Chart] = charts(scenery.run)[:CHARTS]
        for number, chart in enumerate(self._shown):
            with gui.add_folder(chart.title, expand_by_default=number == 0):
                self._charts[chart.title] = gui.add_uplot(
                    _curve_data(chart, chart.x[0]), **_chart_looks(chart, dark)
                )
        self._playing, self._moved = False, time.monotonic()
        self._state: tuple[object, ...] = ()

    def draw(self) -> None:
        """Draw what the controls ask for, if it has changed."""
        self._inputs.send_moved()
        scenery, now = self._scenery, time.monotonic()
        last = len(scenery.frames) - 1
        if self._last.value:
            self._frame.value = last
        elif self._playing and now - self._moved >= 1.0 / self._fps.value:
            self._frame.value = 0 if self._frame.value >= last else int(self._frame.value) + 1
            self._moved = now
        number = min(int(self._frame.value), last)
        chosen = tuple(control and control.value for control in (self._field, self._map, self._high))
        if (state := (scenery.frames.steps[number], scenery.frames.steps[last], *chosen)) == self._state:
            return
        coloured = self._state[1:] != state[1:]
        self._state = state
        scenery.field, scenery.map, scenery.high = chosen[0] or OWN, chosen[1] or "", bool(chosen[2])
        with self._page.atomic():
            scenery.show(number)
            self._when.content = (
                f'<div style="padding:0.2em 0.6em">{escape(scenery.time_label(number))}</div>'
            )
            if coloured:
                self._legend.content = scenery.legend()
        self._mark_frame(number)

    def grow(self) -> None:
        """Take in new frames and rows."""
        count = len(self._scenery.frames)
        self._frame.max = max(count - 1, 1)
        for control in (self._frame, self._fps, self._play):
            control.disabled = count < 2

    def look(self, grown: bool) -> None:
        """Take in what the folder has since: if it has `grown`, rows of curves; numbers that the run took."""
        if grown:
            self._shown = charts(self._scenery.run)[:CHARTS]
        self._inputs.refresh()

    def _mark_frame(self, number: int) -> None:
        """Mark the frame in all curves."""
        frames = self._scenery.frames
        for chart in self._shown:
            if chart.title in self._charts:
                at = float((frames.steps if chart.counts_steps else frames.times)[number])
                self._charts[chart.title].data = _curve_data(chart, at)

    def _toggle_playing(self) -> None:
        self._playing = not self._playing
        self._play.label = "Pause" if self._playing else "Play"
        self._last.value = False

    @staticmethod
    def _add_switch(gui: Any, name: str, node: Any) -> None:
        switch = gui.add_checkbox(name, True)

        @switch.on_update
        def _(_: Any) -> None:
            node.visible = switch.value


def show(
    folder: Path | str,
    *,
    host: str = server.HOST,
    port: int | None = None,
    field: str = "",
    bodies: Sequence[str] = (),
    every: int | None = None,
    behind: str = "",
    live: LiveRows | None = None,
) -> Page:
    """Serve an interactive page of a run, which may be going on: its new frames appear.

    host: the address to listen at; others than this machine's own see the page only if it is asked for, and
    `remarks` of the page say so. port: default the first free one from 8080 on. field: "speed", or the name
    of a recorded field, "none" for no colours, "" for the usual one. bodies: names of those that are shown
    alone. every: which of the recorded frames (default: at most 240). behind: the address at which a proxy
    shows the port, whose requests are answered as well, with "{port}" for its number. live: rows of a run in
    this process. Returns the page, which
    is served until it is closed.

    Raises `MissingPackageError` without viser, `UserError` if nothing can be shown, the port is in use, or
    `behind` is no address,
    `RunFolderError` if `folder` is not a run, `CheckpointError` if a segment is damaged.
    """
    run = Path(folder)
    shown = {"field": field, "bodies": bodies, "every": every}
    check_types("view", **shown, host=host, port=port, behind=behind)
    if every is not None and every < 1:
        raise UserError(f"view: every so many frames must be at least 1, got {every}; see --every")
    RunDir.open(run, read_only=True)
    server.viser()
    scenery = Scenery(run, field, bodies, every, live)
    return Page(scenery, host, port, (run, field, bodies, every), behind, live)


def _curve_data(chart: Chart, at: float) -> tuple[np.ndarray, ...]:
    """The data of a chart; last a spike from 0 to 1 at the present frame, which looks like a line across."""
    reach = float(chart.x[-1] - chart.x[0]) or 1.0
    here = np.clip(at, chart.x[0], chart.x[-1])
    x = np.unique(np.concatenate([chart.x, here + 1e-3 * reach * np.array([-1.0, 0.0, 1.0])]))
    spike = (x == here).astype(float)
    return (x, *(np.interp(x, chart.x, y) for y in chart.curves.values()), spike)


def _chart_looks(chart: Chart, dark: bool) -> dict[str, Any]:
    """The pens, axes and scales of a chart."""
    ink = "#c7ccd3" if dark else style.INK
    lines = [
        {"label": name, "stroke": ink if pen == style.INK else pen, "width": 1.2, "points": {"show": False}}
        for name, pen in zip(chart.curves, chart.pens, strict=True)
    ]
    mark = {"label": "now", "stroke": "#b8433f", "width": 1.0, "scale": "now", "points": {"show": False}}
    axis = {"stroke": ink, "grid": {"stroke": "#8a929c40"}, "font": FONT}
    return {
        "series": ({"label": chart.along}, *lines, mark),
        "axes": (
            {**axis, "label": chart.along, "labelSize": 16, "labelFont": "10px system-ui"},
            {**axis, "size": 64},
        ),
        "scales": {"x": {"time": False}, "now": {"range": (0.0, 1.0)}},
        "legend": {"show": len(lines) > 1},
        "aspect": 1.6,
    }
