"""Published values of estimates: numbers that belong to no plugin's physics."""

from collections.abc import Sequence

from .published_value import PublishedValue

ROWS: Sequence[PublishedValue] = []
