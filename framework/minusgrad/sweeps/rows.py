"""The row of one point in the table of a sweep, and the state of a point as its run folder says it.

waiting       not begun
running       a process writes to its folder
interrupted   stopped and saved, to go on
    killed        stopped at some moment, to go on from the newest checkpoint
finished      done
failed        the run failed, such as by a number that is not finite
refused       a mistake: the scene cannot be built at this point, or its run cannot be resumed
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, Self

from ..app.info import state
from ..errors import UserError, unknown
from ..files import durable, h5md, trajectory
from ..files.held import held_folders, journals
from ..files.held.json_text import parse_json
from ..files.run_folder import RunDir

WAITING, RUNNING, INTERRUPTED, KILLED = "waiting", "running", "interrupted", "killed"
FINISHED, FAILED, REFUSED = "finished", "failed", "refused"
STATES = (WAITING, RUNNING, INTERRUPTED, KILLED, FINISHED, FAILED, REFUSED)
MOST = 64
"""Numbers of an observable that a row has without being asked for it."""
JOURNAL = "journal.jsonl"


class Last(NamedTuple):
    """The last value of an observable, nested lists of its shape, and its unit symbol."""

    value: Any
    unit: str


@dataclass(frozen=True)
class Row:
    """A point: its state, how its run ended, seconds of its attempts, its last observables by name."""

    point: int
    state: str
    outcome: str = ""
    seconds: float = 0.0
    error: str = ""
    observables: dict[str, Last] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """True if another call has nothing left to do."""
        return self.state in (FINISHED, FAILED)

    @property
    def ended(self) -> bool:
        """True if this call has nothing left to do: over, refused, or given up because its workers died."""
        return self.over or self.state == REFUSED or (self.state == KILLED and bool(self.error))

    def save(self, path: Path) -> None:
        """Write the row to a file of its own. Raises `RunFailedError`."""
        durable.replace(path, json.dumps(asdict(self), indent=1).encode() + b"\n")

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """The row of a file; None if there is none that can be read."""
        try:
            found = parse_json(held_folders.read_file(path))
            observed = {name: Last(*one) for name, one in found.pop("observables").items()}
            return cls(**found, observables=observed)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None


def state_of(run: Path) -> str:
    """The state of a point by the folder of its run, before its row is written."""
    journal = run / JOURNAL
    if not held_folders.is_file(journal):
        return WAITING
    if journals.is_locked(journal):
        return RUNNING
    if not held_folders.is_file(run / "scene.toml"):
        return WAITING  # killed while it began
    folder = RunDir.open(run, read_only=True)
    found = state(folder, folder.events())
    return FAILED if found == "diverged" else found


def row_of(point: int, run: Path, asked: Sequence[str] = ()) -> Row:
    """The row of a point whose run is over, from its folder. asked: observables of any size that it has."""
    events = list(journals.events(run / JOURNAL))
    found = state_of(run)
    last: dict[str, Any] = next((e for e in reversed(events) if e.get("event") in ("finished", "failed")), {})
    error = str(last.get("error", "")) if found == FAILED else ""
    outcome = str(last.get("outcome", "")) if found == FINISHED else ""
    if members := last.get("failed_members"):
        outcome += f", {members} members failed"
    last_values = observables(run, asked) if found == FINISHED else {}
    return Row(point, found, outcome, _attempt_seconds(events), error, last_values)


def observables(run: Path, asked: Iterable[str] = ()) -> dict[str, Last]:
    """The last values of the observables of a run: of those with few numbers, and of those asked for."""
    prefix, asked = f"{h5md.OBSERVABLES}/", set(asked)
    wanted = {name for name in trajectory.names(run) if name.startswith(prefix)}
    found: dict[str, Last] = {}
    for _, path in reversed(trajectory.spans(run)):
        if not (missing := wanted - found.keys()):
            break
        with trajectory.looked_at(path) as file:
            for name in missing & set(h5md.series_in(file)):
                value = file[name]["value"]
                unit = str(value.attrs.get("unit_symbol", ""))
                small = prod(value.shape[1:]) <= MOST or {name, h5md.label(name)} & asked
                found[name] = Last(value[-1].tolist() if small else None, "" if unit == "1" else unit)
    there = {name: one for name, one in found.items() if one.value is not None}
    return {name.removeprefix(prefix): there[name] for name in sorted(there)}


def resolve_observables(asked: Sequence[str], known: Iterable[str]) -> list[str]:
    """The observables that are asked for by their names. Raises `UserError` for a name that none has."""
    names, found = list(known), []
    for one in asked:
        name = one.removeprefix(f"{h5md.OBSERVABLES}/")
        if name not in names:
            raise UserError(f"observe: {unknown('observable', name, names, 'recorded')}")
        found.append(name)
    return found


def _attempt_seconds(events: Sequence[dict[str, Any]]) -> float:
    """The time that the attempts of a run have taken, by the clock of their journal."""
    total, begun, last = 0.0, None, None
    for event in events:
        try:
            clock = datetime.fromisoformat(str(event.get("time")))
        except ValueError:
            continue
        if event.get("event") in ("started", "resumed"):
            total += (last - begun).total_seconds() if begun and last else 0.0
            begun = clock
        last = clock
    return round(total + ((last - begun).total_seconds() if begun and last else 0.0), 3)
