"""A sweep as an array job of SLURM: each task runs points by the same line, with --point.

The script is printed, or submitted by submitit where it is installed, else by sbatch.
"""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from ..errors import UserError

MOST_TASKS = 1000
"""Tasks of one array; SLURM's own limit is 1,001 by default."""
SPARE = 0.1
"""Hours that a task has beyond --max-hours, to save its run."""


@dataclass(frozen=True)
class ArrayJob:
    """An array job of the points that have yet to be run.

    line: the command of the sweep. points: their numbers. hours: of a task. folder: of the sweep.
    """

    line: Sequence[str]
    points: Sequence[int]
    hours: float
    folder: Path

    @property
    def groups(self) -> list[str]:
        """The points of each task, as `--point` takes them."""
        each = ceil(len(self.points) / MOST_TASKS)
        return [_slurm_ranges(self.points[k : k + each]) for k in range(0, len(self.points), each)]

    @property
    def minutes(self) -> int:
        """The time limit of a task."""
        return ceil(60 * (self.hours + SPARE))

    def command(self, points: str) -> list[str]:
        """The line of a task."""
        return [*self.line, "--point", points, "--max-hours", f"{self.hours:g}"]

    def script(self) -> str:
        """The text for sbatch."""
        groups = self.groups
        one_each = len(groups) == len(self.points)
        array = _slurm_ranges(self.points) if one_each else f"0-{len(groups) - 1}"
        lines = [
            "#!/bin/bash",
            f"#SBATCH --job-name={self.folder.name}",
            f"#SBATCH --array={array}",
            "#SBATCH --cpus-per-task=1",
            f"#SBATCH --time={self.minutes}",
            "#SBATCH --requeue",
            f"#SBATCH --output={self.folder.absolute() / 'slurm-%a.out'}",
            f"cd {shlex.quote(str(Path.cwd()))} || exit 2",
        ]
        number = '"$SLURM_ARRAY_TASK_ID"'
        if not one_each:
            lines.append(f"points=({' '.join(groups)})")
            number = '"${points[$SLURM_ARRAY_TASK_ID]}"'
        head = shlex.join([*self.line, "--point"])
        lines.append(f"exec {head} {number} --max-hours {self.hours:g}")
        return "\n".join(lines) + "\n"

    def submit(self) -> str:
        """Submit it; returns what says so. Raises `UserError` where SLURM is not installed or refuses it."""
        try:
            import submitit
        except ModuleNotFoundError:
            return self._by_sbatch()
        try:
            executor = submitit.AutoExecutor(folder=self.folder / "slurm", cluster="slurm")
            executor.update_parameters(
                name=self.folder.name,
                timeout_min=self.minutes,
                cpus_per_task=1,
                slurm_array_parallelism=MOST_TASKS,
            )
            jobs = executor.map_array(ArrayTask(), [self.command(group) for group in self.groups])
        except (RuntimeError, OSError, submitit.core.utils.FailedJobError) as error:
            raise UserError(f"--submit: submitit cannot submit it: {error}") from None
        return f"submitted {len(jobs)} tasks by submitit, job {jobs[0].job_id.split('_')[0]}"

    def _by_sbatch(self) -> str:
        try:
            done = subprocess.run(["sbatch"], input=self.script(), capture_output=True, encoding="utf-8")
        except OSError as error:
            raise UserError(
                f"--submit: sbatch cannot be called: {error.strerror}; leave --submit out, and carry the"
                " printed script to a machine with SLURM"
            ) from None
        if done.returncode:
            raise UserError(f"--submit: sbatch refuses it: {done.stderr.strip()}")
        return done.stdout.strip()


class ArrayTask:
    """A task for submitit; one that is preempted or out of time is put in the queue again, and goes on."""

    def __call__(self, command: Sequence[str]) -> int:
        return subprocess.run(command).returncode

    def checkpoint(self, command: Sequence[str]) -> object:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, command)


def _slurm_ranges(points: Sequence[int]) -> str:
    """`0-3,7`: the numbers in rising order, as SLURM writes them."""
    parts: list[list[int]] = []
    for point in points:
        if parts and parts[-1][-1] == point - 1:
            parts[-1] = [parts[-1][0], point]
        else:
            parts.append([point])
    return ",".join("-".join(map(str, part)) for part in parts)


def numbers(text: str) -> list[int]:
    """The points of `0-3,7`. Raises `ValueError` for another text."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    if not found or min(found) < 0:
        raise ValueError(text)
    return found
