"""Constants that kernels of stages read: those of the first launch, since Taichi compiles a kernel once.

The value and its reverse are compiled at their first launches, for all potentials that have the kernel. So
before a first launch the constants are compared with those that it was bound with, and with those that it was
compiled with: others are refused.

Decisions 0030.
"""

from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

from ...engine import runtime
from ...errors import EnergyError
from ...symbolic.sources.captured_values import captured_values
from ...symbolic.sources.snapshots import compiled_function

_compiled: WeakKeyDictionary[Any, dict[tuple[int, str], Hashable]] = WeakKeyDictionary()
"""By the function of a kernel: its constants at the first launch of each pass, in each run of the engine."""


class KernelConstants:
    """The constants of one kernel when it was bound; None if they cannot be known."""

    def __init__(self, kernel: Any):
        self._function = compiled_function(kernel)
        self._bound = self._present_constants()
        self._passed: set[tuple[int, str]] = set()

    def refuse_changed(self, subject: str, which: str) -> None:
        """Raise `EnergyError` if the kernel has, or was compiled with, other constants; once for each pass.

        which: the pass, "forward" or "reverse". subject: begins the message.
        """
        key = runtime.start_count(), which
        if key in self._passed or self._bound is None:
            return
        compiled = _compiled.setdefault(self._function, {})
        if compiled.get(key, self._bound) != self._bound:
            self._refuse_compiled(
                subject, "was compiled with other values of constants than it was bound with"
            )
        if key not in compiled and self._present_constants() != self._bound:
            self._refuse_compiled(subject, "reads constants that have changed since it was bound")
        compiled[key] = self._bound
        self._passed.add(key)

    def _present_constants(self) -> Hashable | None:
        try:
            known = captured_values(self._function)
            return None if known is None else hash(known)
        except (AttributeError, TypeError):  # an object with a kernel, or a value without a hash
            return None

    @staticmethod
    def _refuse_compiled(subject: str, what: str) -> None:
        raise EnergyError(
            f"{subject}: {what}, got a kernel that Taichi compiles once; make the value a Parameter, or"
            " define the kernel again"
        )
