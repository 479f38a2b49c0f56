"""A sweep over the members of a scene's [ensemble]: a point is one member, or a shard of members."""

import numpy as np

from ..assembly.ensembles.members import Members
from ..assembly.validation import ValidatedScene
from ..errors import UserError
from .sweep_file import Sweeping

MOST = 9
"""Numbers of one value that a table shows."""


def of_members(
    validated: ValidatedScene, sweeping: Sweeping
) -> tuple[dict[str, tuple[np.ndarray, str]], list[tuple[str, ...]]]:
    """The values of varied keys by member, where a table can show them, and the overrides of each point.

    Raises `UserError` for a scene without [ensemble], or one of whose members one alone runs.
    """
    scene, settings = validated.scene, sweeping.tables.sweep
    if scene.ensemble is None:
        raise UserError(
            f"{scene.path}: nothing varies; add [ensemble] to the scene, or give a SWEEP.toml with [vary]"
        )
    for name in ("member", "shard"):
        if (named := getattr(scene.ensemble, name)) is not None:
            raise UserError(f"{scene.path}: [ensemble] names a {name}, {named}; leave it out")
    for name in ("sensitivity", "points", "seed"):
        if getattr(settings, name) is not None:
            raise sweeping.wrong(("sweep", name), "belongs to [vary] of this file, which is missing; add it")
    points = Members(validated).points
    columns: dict[str, tuple[np.ndarray, str]]
    if settings.shard is not None:
        firsts = np.arange(0, points.count, settings.shard)
        ends = np.minimum(firsts + settings.shard, points.count)
        pairs = zip(firsts.tolist(), ends.tolist(), strict=True)
        columns = {"first": (firsts, ""), "last": (ends - 1, "")}
        return columns, [(f"ensemble.shard=[{first}, {end}]",) for first, end in pairs]
    columns = {}
    for key in points.keys:
        one = points.varied[key]
        if int(np.prod(one.shape)) <= MOST and one.how.kind != "jitter":
            columns[key] = points.values(key), one.units.symbol(one.place.unit)
    return columns, [(f"ensemble.member={k}",) for k in points.members]
