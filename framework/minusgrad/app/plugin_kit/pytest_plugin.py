"""The plugin of pytest: the marker of exams, so that `-m minusgrad` selects them.

It is loaded by every run of pytest beside an installed minusgrad, so it imports nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def pytest_configure(config: "Any") -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "minusgrad: the exam of a plugin's energies (minusgrad.testing)")
