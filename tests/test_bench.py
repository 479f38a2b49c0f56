"""The scoreboard: its statistics, its records, what it leaves out by name, and that the C it compares with is right.

Nothing here looks at a clock.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command import command, of_argument  # noqa: F401

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import gravity_forces, laser_post, leapfrog, neo_hookean, works  # noqa: E402
from benchmarks.harness import measuring, pairing, plots, records, session, tables  # noqa: E402
from benchmarks.harness.cases import C, Case, Column, Goal, MissingColumnError, WrongAnswerError, error  # noqa: E402
