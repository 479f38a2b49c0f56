"""The points of a sweep, all drawn and judged before the first runs: for each the overrides of its run.

[vary] of SWEEP.toml                       any keys of the scene, drawn as members of an ensemble are
[sweep] sensitivity = "sobol"              the same keys at Saltelli's points
[ensemble] of the scene, without [vary]    one point for each member, or for each shard of members
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..app.run_options import Overrides, Plugins, as_overrides
from ..assembly.ensembles.points import Points
from ..assembly.validation import ValidatedScene, validate
from ..errors import Problem, SceneError, UserError
from ..scene.document import load
from ..scene.ensemble_table import EnsembleTable
from . import sensitivity
from .members import of_members
from .scene_keys import SceneKey
from .sweep_file import Sweeping

SHOWN = 5
"""Mistakes of points that a message lists."""


@dataclass(frozen=True)
class VariedColumn:
    """The values of one varied key at all points, (N, ...), and their unit; "" without one."""

    values: np.ndarray
    unit: str = ""


@dataclass(frozen=True)
class SweepPlan:
    """A scene and the points at which it is run.

    overrides: common to all points. points: those of each. threads, engine: of the scene. seed: of the draws.
    columns: the values of the varied keys, by name.
    """

    scene: Path
    source: bytes = field(repr=False)
    overrides: tuple[str, ...]
    plugins: Plugins
    sweeping: Sweeping
    threads: int
    engine: str | None
    seed: int
    columns: dict[str, VariedColumn]
    points: list[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.points)


def plan_points(scene: Path | str, overrides: Overrides, plugins: Plugins, sweeping: Sweeping) -> SweepPlan:
    """Draw and judge all points.

    Raises `SceneError` with the mistakes of the scene, of the sweep file, or of points, and `UserError` for a
    scene and a sweep file that both vary nothing.
    """
    texts = as_overrides(overrides)
    validated = validate(load(scene, texts), plugins)
    if sweeping.tables.vary:
        if sweeping.tables.sweep.shard is not None:
            raise sweeping.wrong(
                ("sweep", "shard"), "belongs to members of [ensemble], got [vary]; leave one out"
            )
        columns, points = _vary_keys(validated, sweeping)
        _judge_points(validated, plugins, points)
    else:
        columns, points = of_members(validated, sweeping)
    found, asked = validated.scene, sweeping.tables.sweep.seed
    seed = found.runtime.seed if asked is None else asked
    return SweepPlan(
        found.path, found.source, tuple(texts), plugins, sweeping, found.runtime.threads,
        found.runtime.engine, seed, {k: VariedColumn(*c) for k, c in columns.items()}, points,
    )  # fmt: skip


def _vary_keys(
    validated: ValidatedScene, sweeping: Sweeping
) -> tuple[dict[str, tuple[np.ndarray, str]], list[tuple[str, ...]]]:
    """The values of all keys of [vary], and the overrides of each point."""
    document, tables = validated.scene.document, sweeping.tables
    keys: dict[str, SceneKey] = {}
    paths: dict[str, str] = {}
    for key, how in tables.vary.items():
        try:
            paths[key] = document.path_of(key)
            keys[key] = SceneKey(how, sweeping.read_named_file)
        except UserError as error:
            raise sweeping.wrong(("vary", key), str(error)) from None
    values = _draw_values(validated, sweeping, keys)
    count = len(next(iter(values.values())))
    points = [
        tuple(as_overrides({paths[key]: one.value_as_written(values[key][k]) for key, one in keys.items()}))
        for k in range(count)
    ]
    return {key: (values[key], one.unit) for key, one in keys.items()}, points


def _draw_values(
    validated: ValidatedScene, sweeping: Sweeping, keys: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    settings = sweeping.tables.sweep
    seed = validated.scene.runtime.seed if settings.seed is None else settings.seed
    try:
        if settings.sensitivity is not None:
            return sensitivity.points(keys, settings.samples, settings.points, seed)
        drawn = Points(EnsembleTable(members=settings.points, vary=sweeping.tables.vary), seed, keys)
    except UserError as error:
        text = str(error).replace("members:", "points:").replace("`members`", "`points`")
        raise sweeping.wrong(("sweep",), text) from None
    return {key: drawn.values(key) for key in keys}


def _judge_points(validated: ValidatedScene, plugins: Plugins, points: Sequence[tuple[str, ...]]) -> None:
    """Judge the scene at every point. Raises `SceneError` with the first mistakes."""
    scene = validated.scene
    wrong: list[Problem] = []
    count = 0
    for k, point in enumerate(points):
        named = any(text.startswith("plugins") for text in point)
        try:
            document = load(scene.path, [*scene.overrides, *point])
            validate(document, plugins, None if named else validated.registry)
        except SceneError as error:
            count += 1
            found = (p._replace(file=f"point {k}: {p.file}") for p in error.problems)
            wrong += islice(found, max(SHOWN - len(wrong), 0))
    if count > 1:
        text = f"{count} of {len(points)} points are wrong; correct [vary]"
        wrong.append(Problem("sweep", 0, 0, "", text))
    if wrong:
        raise SceneError(wrong)
