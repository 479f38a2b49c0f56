"""What the tests of kernels share: an engine that a test may start with other options."""

from collections.abc import Iterator

import pytest

from minusgrad.engine import runtime


@pytest.fixture
def engine() -> Iterator[None]:
    before = runtime._Running.options
    runtime.start(runtime.Options())
    yield
    runtime.start(before)
