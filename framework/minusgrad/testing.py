"""For tests of plugins: the exam that the energies of minusgrad sit, in one line of a test file.

    from minusgrad.testing import exam

    test_exam = exam("my_plugin")

`lattice` draws states whose nodes are apart, for an `Instance` of an energy that needs it. These names are
kept from version to version. They are loaded when they are first used.
"""

from __future__ import annotations

from . import _door

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .app.plugin_kit.exam import exam
    from .exam.instances import Instance, lattice

_HOMES = {"app.plugin_kit.exam": "exam", "exam.instances": "Instance lattice"}

__all__ = ["Instance", "exam", "lattice"]

__getattr__, __dir__ = _door(__name__, _HOMES)
