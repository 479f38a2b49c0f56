"""Libraries that read their own docstrings as they are imported: not there under `python -OO`."""

import importlib
import sys
from typing import Any

import pytest


def imported(name: str) -> Any:
    """A module of such a library; where Python leaves docstrings out, the tests of the caller are skipped."""
    if sys.flags.optimize > 1:
        pytest.skip(f"{name} reads docstrings, which python -OO leaves out", allow_module_level=True)
    return importlib.import_module(name)
