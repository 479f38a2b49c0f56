"""The process that measures: its threads, its engine, and whether it is in a hurry."""

import os
import warnings
from dataclasses import dataclass
from typing import ClassVar

from minusgrad.engine import runtime


@dataclass(frozen=True)
class Settings:
    """`quick`: small sizes and few rounds, to see that everything runs; its numbers mean little."""

    threads: int = 0
    quick: bool = False


class _Session:
    settings: ClassVar[Settings] = Settings()


def expect(settings: Settings) -> None:
    """Make the cases of these settings, and start nothing."""
    _Session.settings = settings


def begin(settings: Settings) -> None:
    """Take so many cores (0: all) and start the engine that MINUSGRAD_ENGINE names."""
    _Session.settings = settings
    if hasattr(os, "sched_setaffinity") and settings.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: settings.threads])
    warnings.filterwarnings("ignore", module="torch|jax|numba|warp")
    runtime.start(runtime.Options(threads=threads()))


def quick() -> bool:
    """Whether small sizes will do."""
    return _Session.settings.quick


def threads() -> int:
    """How many every column takes."""
    return _Session.settings.threads or cores()


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def engine() -> str:
    """The engine that runs: its name is that of its package."""
    return runtime.engine().__name__
