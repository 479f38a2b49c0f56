"""Ways to damage the code in memory, shared by the tests that must go red when it is damaged."""

from collections.abc import Callable
from functools import partial

import pytest

from minusgrad.engine import kernels
from minusgrad.errors import DivergedError, MiscompiledError, NonFiniteError

Patch = pytest.MonkeyPatch
RED = (AssertionError, NonFiniteError, DivergedError, MiscompiledError)
"""What a test that sees the damage raises; kernels and graphs are also verified when they are first used."""
REWRITTEN: list[bool] = []
"""Kernel by kernel, whether the text to be damaged was there: damage that touches nothing proves nothing."""


def text(old: str, new: str) -> Callable[[Patch], None]:
    """Rewrite the source of every kernel before it is compiled."""

    def damage(patch: Patch) -> None:
        patch.setattr(kernels, "_kernel_source", partial(_rewritten, kernels._kernel_source, old, new))

    return damage


def _rewritten(whole: Callable, old: str, new: str, *args) -> str:
    source = whole(*args)
    REWRITTEN.append(old in source)
    return source.replace(old, new)


def method(owner: object, name: str, wrong: Callable) -> Callable[[Patch], None]:
    """Put `wrong(original, *arguments)` in the place of a function."""

    def damage(patch: Patch) -> None:
        right = getattr(owner, name)
        patch.setattr(owner, name, lambda *args, **kwargs: wrong(right, *args, **kwargs))

    return damage
