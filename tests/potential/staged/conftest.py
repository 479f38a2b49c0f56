"""What tests of staged energies share: an engine of two threads."""

from collections.abc import Iterator

import pytest

from minusgrad.engine import runtime


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Then the test may start the engine with others."""
    runtime.start(runtime.Options(threads=2))
    yield
    runtime.start(runtime.Options())
