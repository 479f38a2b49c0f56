"""Stand-ins for windows (`ti.GUI`, `ti.ui.Window`, those of OpenCV), for programs that run without a screen.

A window draws nothing, has no events, and closes itself after `STEPS` frames, so that `while gui.running`
ends. A program that goes on all the same is ended (`ProgramEnd`).

Decisions 0083.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

STEPS = 3
"""Frames after which a window closes itself."""
PATIENCE = 100
"""Frames, or questions whether it still runs, after which a program with a closed window is ended."""
WIDGETS = ("checkbox", "slider_int", "slider_float", "color_edit_3")
"""Widgets that return their value, given as the second argument."""


class ProgramEnd(BaseException):
    """The end of a program that has shown what a check needs. No `except Exception` of it catches this."""


class Silent:
    """Anything that is drawn to: every method does nothing, widgets return the value that they were given."""

    def __init__(self, *_: Any, **__: Any):
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in WIDGETS:
            return lambda text, old, *_, **__: old
        return _false if name in ("button", "is_pressed") else self._nothing

    def _nothing(self, *_: Any, **__: Any) -> "Silent":
        return self

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_: Any) -> None:
        return None


class ClosingWindow(Silent):
    """A window that closes itself: its frames, no events, and an empty picture."""

    ending: ClassVar = False
    """True while a program runs that may be ended."""
    event = None
    fps_limit = None

    def __init__(self, name: Any = "", res: Any = 512, *_: Any, **__: Any):
        self.name = name
        self.res = (res, res) if isinstance(res, int) else tuple(res)
        self.frames = self.asked = 0
        self.closed = False

    @property
    def running(self) -> bool:
        self._has_patience()
        return not self.closed and self.frames < STEPS

    @running.setter
    def running(self, value: bool) -> None:
        self.closed = not value

    def show(self, *_: Any, **__: Any) -> None:
        self.frames += 1
        if self.frames > STEPS:
            self._has_patience()

    def _has_patience(self) -> None:
        self.asked += 1
        if self.asked >= PATIENCE and self.ending:
            raise ProgramEnd

    def get_event(self, *_: Any) -> bool:
        self._has_patience()
        return False

    def get_events(self, *_: Any) -> list:
        return []

    def get_key_event(self) -> Any:
        raise ProgramEnd  # it waits for a key

    def get_cursor_pos(self) -> tuple[float, float]:
        return 0.5, 0.5

    def get_window_shape(self) -> tuple[int, int]:
        return self.res

    def get_image(self) -> np.ndarray:
        return np.zeros((*self.res, 3), np.float32)

    def get_image_buffer_as_numpy(self) -> np.ndarray:
        return np.zeros((*self.res, 4), np.float32)

    def get_depth_buffer_as_numpy(self) -> np.ndarray:
        return np.zeros(self.res, np.float32)

    def slider(self, _text: str, minimum: float, _maximum: float, **__: Any) -> "Widget":
        return Widget(minimum)

    def label(self, _text: str) -> "Widget":
        return Widget(0.0)


class Widget:
    """A slider or a label: a value."""

    def __init__(self, value: float):
        self.value = value


def _false(*_: Any, **__: Any) -> bool:
    return False


@contextmanager
def without_windows(engine: ModuleType) -> Iterator[None]:
    """Within the block the engine opens no window; windows that were made there remain stand-ins."""
    ui = getattr(engine, "ui", None)  # Quadrants has none
    changed: list[tuple[Any, str, Any]] = []

    def replaced(owner: Any, name: str, by: Any) -> None:
        if hasattr(owner, name):
            changed.append((owner, name, getattr(owner, name)))
            setattr(owner, name, by)

    gui = type("GUI", (ClosingWindow,), _class_constants(getattr(engine, "GUI", None)))
    window = type("Window", (ClosingWindow,), _class_constants(getattr(ui, "Window", None)))
    for owner in (engine, ui):
        replaced(owner, "GUI", gui)
    for name, stand_in in (("Window", window), ("Scene", Silent), ("Canvas", Silent), ("Gui", Silent)):
        replaced(ui, name, stand_in)
    for owner in (getattr(engine, "tools", None), engine):
        replaced(owner, "imshow", _false)
    ClosingWindow.ending = True
    try:
        yield
    finally:
        ClosingWindow.ending = False
        for owner, name, value in reversed(changed):
            setattr(owner, name, value)


def close_opencv(text: str) -> None:
    """Let the windows of OpenCV show nothing, and wait for no key, if a program's text names it.

    For good: the statements under a tape show pictures whenever they run.
    """
    if "cv2" not in text or find_spec("cv2") is None:
        return
    opencv = import_module("cv2")
    for name in ("imshow", "namedWindow", "moveWindow", "resizeWindow", "destroyWindow", "destroyAllWindows"):
        setattr(opencv, name, _false)
    for name in ("waitKey", "waitKeyEx", "pollKey"):
        setattr(opencv, name, _no_key)


def _no_key(*_: Any, **__: Any) -> int:
    return -1


def _class_constants(kind: Any) -> dict[str, Any]:
    """The names of keys and of events of a window's class: its attributes that are no methods."""
    found = vars(kind).items() if kind else ()
    return {
        n: v
        for n, v in found
        if not n.startswith("__") and (isinstance(v, type) or not hasattr(type(v), "__get__"))
    }
