"""Names of recorded series, in one spelling for Python and the command line.

particles/all/position    the name in the files
position                  its label, without the group; of observables and of cells, too: `total`
x                         the field in energies, where the state records it as `position`
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import CheckpointError, UserError, unknown
from .. import checkpoint, h5md, trajectory

USUAL = {"x": "position", "v": "velocity", "m": "mass"}
"""The labels of fields in runs whose checkpoints do not have them."""

RECORDED = {"energies": ("total", "kinetic", "potential", "energy"), "frames": ("position", "velocity")}
"""The usual series of observers, by the observer's kind."""


def find_series(run: Path, name: str, known: Sequence[str] | None = None) -> str:
    """The name in the files of a recorded series. known: all series, if they have been listed.

    Raises `UserError` for a name that is unknown, or may be one of several.
    """
    known = trajectory.names(run) if known is None else known
    fits = _series_fitting(name, known) or _series_fitting(labels(run).get(name, name), known)
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise UserError(f"{run}: '{name}' may be {' or '.join(fits)}; write one of them out")
    raise UserError(
        f"{run}: "
        f"{unknown('series', name, shortest_names(known))}{_missing_series_cure(name, shortest_names(known))}"
    )


def _missing_series_cure(name: str, known: Sequence[str]) -> str:
    """The words about a series that an observer would record, or that is one of several energies."""
    if name == "energy":
        there = [f"'{one}'" for one in known if one in ("total", "kinetic") or one.startswith("potential/")]
        if there:
            return f"; energies are {', '.join(there)}"
    observer = next((o for o, names in RECORDED.items() if name.partition("/")[0] in names), "")
    return f"; record it with the observer '{observer}'" if observer else ""


def label_of(run: Path, name: str, known: Sequence[str]) -> str:
    """The label of the series with this name, as in `find_series`; the name itself where there is none."""
    try:
        return h5md.label(find_series(run, name, known))
    except UserError:
        return name


def _series_fitting(name: str, known: Sequence[str]) -> list[str]:
    return [name] if name in known else [one for one in known if name == h5md.label(one)]


def shortest_names(known: Sequence[str]) -> list[str]:
    """The shortest name of each series that no other series shares, in the order of `known`."""
    count = Counter(map(h5md.label, known))
    return [one if count[h5md.label(one)] > 1 else h5md.label(one) for one in known]


def labels(run: Path) -> Mapping[str, str]:
    """The names under which the fields of a run are recorded, by field."""
    newest, _ = checkpoint.newest(run / "ckpt")
    try:
        saved = None if newest is None else checkpoint.load(newest).meta.get("labels")
    except CheckpointError:
        saved = None
    return saved if isinstance(saved, Mapping) else USUAL
