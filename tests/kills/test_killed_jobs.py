"""A few of the kills of `python -m tests.kills`; all kinds, and the harness that must see what is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kills.jobs import JOBS
from tests.kills.spoiled import WAYS

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.long
KIND = {"in place": ["export csv", "plot", "leapfrog"]}
"""The kinds that a way to lose data is tried on, where it is not one run alone."""


def _kills(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tests.kills", *arguments]
    return subprocess.run(line, cwd=ROOT, env=os.environ | more, capture_output=True, text=True)


def test_no_job_of_any_kind_loses_what_was_saved() -> None:
    done = _kills("--kills", str(len(JOBS)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(JOBS)} trials over {len(JOBS)} kinds, 0 lost" in done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_what_is_lost_on_purpose_is_seen(way: str) -> None:
    """The harness can fail: each way to lose data makes a line with the kind, and exit code 1."""
    kinds = KIND.get(way, ["leapfrog"])
    done = _kills(*kinds, "--kills", str(max(8, 4 * len(kinds))), KILLS_SPOILED=way)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "LOST" in done.stdout
