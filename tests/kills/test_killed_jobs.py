"""A few of the kills of `python -m tests.kills`; all kinds, and the harness that must see what is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kills.jobs import JOBS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.long


def _kills(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tests.kills", *arguments]
    return subprocess.run(line, cwd=ROOT, env=os.environ | more, capture_output=True, text=True)


def test_no_job_of_any_kind_loses_what_was_saved() -> None:
    done = _kills("--kills", str(len(JOBS)))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_save_that_is_not_synced_in_order_is_seen() -> None:
    """The harness can fail: a run that deletes its newest checkpoint when it goes on is named."""
    done = _kills("leapfrog", "--kills", "3", KILLS_SPOILED="1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "LOST leapfrog" in done.stdout
