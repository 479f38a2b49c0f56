"""Contents and state of a run folder as plain data: from its journal, newest checkpoint and segments.

The hashes of these files are checked first, because HDF5 may crash on a damaged one.

Decisions 0091.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..assembly.ensembles.marks import read_marks
from ..errors import CheckpointError, printable
from ..files import checkpoint, trajectory
from ..files.checkpoint import Snapshot
from ..files.held import held_folders, inbox
from ..files.run_folder import RunDir
from ..scene.units import SYSTEMS

ENDS = ("finished", "interrupted", "failed", "diverged")


def info(path: Path) -> dict[str, Any]:
    """Title, state, step, versions, plugins, series, checkpoints and sizes of a run.

    state: "finished", "interrupted", "failed" or "diverged", "running" while a process writes to it, "killed"
    if one did.
    Raises RunFolderError if the folder is not a run.
    """
    run = RunDir.open(path, read_only=True)
    events = run.events()
    found: dict[str, Any] = {"folder": str(path), "state": state(run, events)}
    found |= {"begun": events[0].get("time") if events else None}
    found |= {"last_event": events[-1].get("time") if events else None}
    newest, remarks = checkpoint.newest(path / "ckpt")
    if newest is not None:
        try:
            found |= _of_checkpoint(newest)
        except CheckpointError as error:
            remarks.append(str(error))
    found["checkpoints"] = [_step(p) for p in checkpoint.list_checkpoints(path / "ckpt")]
    found["series"] = _series(path, remarks)
    sizes = [status.st_size for _, status in held_folders.walk(path)]
    found["files"], found["bytes"] = len(sizes), sum(sizes)
    found["altered"] = [*filter(None, map(_alteration, events))]
    failed = [event.get("error") for event in events if event.get("event") == "failed"]
    ended = found["state"] in ("failed", "diverged")
    said = {"failed": failed[-1:] if ended else [], "remarks": remarks}
    return _shown(found, 200) | {"folder": str(path)} | _shown(said, 2_000)


def _shown(value: Any, most: int) -> Any:
    """Facts from files, whose texts a terminal can show: without control characters, and no longer."""
    if isinstance(value, str):
        lines = value.split("\n", 10) if most > 200 else [value]
        return "\n".join(printable(line, most) for line in lines)
    if isinstance(value, Mapping):
        return {printable(str(name)): _shown(one, most) for name, one in value.items()}
    return [_shown(one, most) for one in value] if isinstance(value, list | tuple) else value


def _alteration(event: Mapping[str, Any]) -> str:
    """What a function, a user in Python, or a page wrote between two steps; empty for other events."""
    if event.get("event") == inbox.CHANGED:
        return f"altered at step {event.get('step')} by its page: {event.get('name')} = {event.get('value')}"
    if event.get("event") == inbox.REPEATED:
        changes = event.get("changes")
        count = len(changes) if isinstance(changes, list) else 0
        return f"altered {count} times as {event.get('run')} was by its page" if count else ""
    if event.get("event") != "altered":
        return ""
    values = event.get("values")
    numbers = values if isinstance(values, Mapping) else {}
    names = [str(name) for name in event.get("changed") or ()]
    shown = [f"{n} {numbers[n][0]:.8g} -> {numbers[n][1]:.8g}" if n in numbers else n for n in names]
    return f"altered at step {event.get('step')} by {event.get('by')}: {', '.join(shown)}"


def _step(path: Path) -> str:
    kind = " (by the clock)" if checkpoint.is_interim(path) else " (interruption)"
    return f"{checkpoint.step_of(path)}{'' if checkpoint.is_scheduled(path) else kind}"


def state(run: RunDir, events: list[dict[str, Any]]) -> str:
    """How a run ended, one of ENDS; "running" while a process writes to it, "killed" if one did."""
    if run.is_running():
        return "running"
    last = before = ""
    for event in (str(event.get("outcome" if "cure" in event else "event")) for event in events):
        before = last if event == "resumed" else before
        last = before if event == "refused" else event
    return last if last in ENDS else "killed"


def _of_checkpoint(path: Path) -> dict[str, Any]:
    """Step, time, title, versions and arrays of the newest checkpoint."""
    moment = checkpoint.load(path)
    meta, scene = moment.meta, moment.meta.get("scene")
    table = scene if isinstance(scene, Mapping) else {}
    kind = "fit" if meta.get("fit") is True else "run"
    last = table.get("fit", {}).get("iterations") if kind == "fit" else table.get("run", {}).get("steps")
    if kind == "fit" and "stepper/shown" in moment.arrays:
        last = None  # many starts have as many iterations as they need
    arrays = {n: [str(a.dtype), *a.shape] for n, a in moment.arrays.items() if not n.startswith("recorder/")}
    plugins: Any = meta.get("plugins") or {}
    return {
        "title": meta.get("title") or "",
        "kind": kind,
        "step": moment.step,
        "last": last,
        "time": moment.time,
        "dt": moment.dt,
        "time_unit": _unit_of_time(table.get("units", {})),
        "versions": meta.get("versions"),
        "device": meta.get("device"),
        "plugins": {n: p.get("version") for n, p in plugins.items() if isinstance(p, Mapping)},
        "fitted": [_of_start(one) for one in meta.get("fitted") or () if isinstance(one, Mapping)],
        "initial": dict(meta["initial"]) if isinstance(meta.get("initial"), Mapping) else None,
        "sides": dict(meta["sides"]) if isinstance(meta.get("sides"), Mapping) else {},
        "arrays": arrays,
    } | _of_members(moment)


def _of_members(moment: Snapshot) -> dict[str, Any]:
    """The number of members of an ensemble, and of those that failed; or the member that ran alone."""
    facts, scene = moment.meta.get("ensemble"), moment.meta.get("scene")
    if not isinstance(facts, Mapping):
        return {}
    if "member" in facts:
        return {"member": facts["member"], "varied": _varied(scene)}
    failures, ends = read_marks(moment.arrays_under("stepper"))
    counts = {"failed_members": len(failures), "ended_members": len(ends)}
    return {"members": facts.get("members"), **counts, "varied": _varied(scene)}


def _varied(scene: Any) -> list[str]:
    """The varied keys of a resolved scene."""
    table = scene.get("ensemble") if isinstance(scene, Mapping) else None
    vary = table.get("vary") if isinstance(table, Mapping) else None
    return list(vary) if isinstance(vary, Mapping) else []


def _of_start(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The fit that a run started from: its checkpoint, title and iteration, and the names of the values."""
    of_fit = facts.get("fit")
    title = of_fit.get("title") if isinstance(of_fit, Mapping) else None
    found = {key: facts.get(key) for key in ("checkpoint", "iteration", "loss")}
    return found | {"title": title or "", "values": list(facts.get("values") or ())}


def _unit_of_time(units: Mapping[str, Any]) -> str:
    """The unit of time of a resolved `[units]`, which has defaults beside a system, too."""
    named = SYSTEMS.get(str(units.get("system")))
    return named.symbol("s") if named else str(units.get("time", "s"))


def _series(path: Path, remarks: list[str]) -> list[dict[str, Any]]:
    """For each series: number of rows, first and last step, shape of a row, dtype and unit."""
    found: dict[str, dict[str, Any]] = {}
    for heads in trajectory.read_each_segment(
        path, lambda file, covered: [*trajectory.heads(file, covered)], remarks
    ):
        for name, head in heads:
            facts = {"rows": 0, "first": head.first, "last": head.last, "shape": list(head.shape)}
            facts |= {"dtype": str(head.dtype), "unit": head.unit[0] if head.unit else ""}
            one = found.setdefault(name, {"name": name} | facts)
            one |= {"rows": one["rows"] + head.rows, "last": head.last}
    return [found[name] for name in sorted(found)]
