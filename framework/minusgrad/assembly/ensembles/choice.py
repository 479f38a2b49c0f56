"""The choice of how the members of an ensemble are moved, by the kind and size of one member."""

from typing import TYPE_CHECKING

from ...engine.member_source import NotWideError
from .member_lanes import MemberLanes
from .member_stepper import MemberStepper
from .one_after_another import OneAfterAnother

if TYPE_CHECKING:
    from .members import Members


def member_stepper(members: "Members") -> MemberStepper:
    """The stepper of the members, never by their number: member k has the same bits in every ensemble."""
    stepper: MemberStepper
    table = members.scene.ensemble
    try:
        if table and not table.lanes:
            raise NotWideError("[ensemble] lanes = false")
        stepper = MemberLanes(members)
        stepper.why = "members in lanes"
    except NotWideError as reason:
        stepper = OneAfterAnother(members)
        stepper.why = f"members one after another: {reason}"
    return stepper
