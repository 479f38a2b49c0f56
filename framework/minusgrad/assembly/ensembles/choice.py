"""The choice of how the members of an ensemble are moved, by the kind and size of one member."""

from typing import TYPE_CHECKING

from ...engine.members.text_survey import NotWideError
from ...steppers.minimisers.minimiser import Minimiser
from .member_lanes import MemberLanes
from .member_stepper import MemberStepper
from .one_after_another import OneAfterAnother
from .search_lanes import SearchLanes

if TYPE_CHECKING:
    from .members import Members


def member_stepper(members: "Members") -> MemberStepper:
    """The stepper of the members, never by their number: member k has the same bits in every ensemble."""
    stepper: MemberStepper
    table = members.scene.ensemble
    try:
        if table and not table.lanes:
            raise NotWideError("[ensemble] lanes = false")
        searches = isinstance(members.template.stepper, Minimiser)
        stepper = SearchLanes(members) if searches else MemberLanes(members)
        stepper.why = "members in lanes"
    except NotWideError as reason:
        stepper = OneAfterAnother(members)
        stepper.why = f"members one after another: {reason}"
    return stepper
