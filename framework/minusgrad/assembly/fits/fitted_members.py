"""The members of an ensemble in a fit: experiments that share its parameters, or fits of their own."""

from collections.abc import Iterable
from pathlib import Path

from ...errors import EnergyError, SceneError
from ...scene.document import Scene
from ...scene.fit_table import SoughtTable
from ..built_scene import BuiltScene
from ..ensembles.members import Members
from ..validation import ValidatedScene

EXPERIMENTS, STARTS = "experiments", "starts"
"""The values of `[fit] members`."""


def refuse_unsaid(scene: Scene) -> None:
    """Raise `SceneError` where a fit says nothing about the members, or there are none to speak of."""
    assert scene.fit is not None
    if scene.ensemble is None and scene.fit.members is not None:
        text = "members: needs an [ensemble], got none; add it, or leave `members` out"
        raise SceneError([scene.document.problem(("fit", "members"), text)])
    if scene.ensemble is not None and scene.fit.members is None and scene.ensemble.member is None:
        text = (
            'members: says what the members of [ensemble] are, got nothing; "experiments" share the fitted'
            ' parameters in one fit, and "starts" are fits of their own'
        )
        raise SceneError([scene.document.problem(("fit",), text)])


def refuse_two_starts(members: Members | None, tables: dict[str, SoughtTable]) -> None:
    """Raise `EnergyError` for a `start` of a parameter that each member begins at its own value."""
    for name in varied(members, tables):
        if tables[name].start is not None:
            raise EnergyError(
                f"'{name}': begins where [ensemble] varies it, got a `start`, too; leave `start` out"
            )


def varied(members: Members | None, names: Iterable[str]) -> list[str]:
    """The fitted parameters among `names` in whose values at the start the members differ."""
    own = set() if members is None else {*members.fields, *members.parameters}
    return [name for name in names if name in own]


def simulation_of(
    validated: ValidatedScene, folder: Path | None, members: Members | None, member: int | None
) -> BuiltScene:
    """The simulation of a fit: that of the scene, of one member, or the one in which all members run."""
    if members is None:
        return BuiltScene(validated, folder)
    return members.template if member is None else members.simulation(member)
