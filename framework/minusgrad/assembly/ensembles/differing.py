"""The arrays of the template in which the members of an ensemble differ, in loops for one thread."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine.members.text_survey import NotWideError
from ...errors import UserError
from ...potential.term_kernels import TermKernels

if TYPE_CHECKING:
    from .members import Members


def fields(members: "Members") -> Iterator[Any]:
    """The arrays of the initial fields in which members differ."""
    for name in members.fields:
        yield members.template.fields[name].array


def parameters(members: "Members") -> Iterator[Any]:
    """The arrays of the parameters and data in which members differ, perhaps with other numbers.

    Raises `NotWideError` for one that is not of a term.
    """
    for key in members.parameters:
        yield _parameter(members, key)


def supports(members: "Members") -> Iterator[Any]:
    """The arrays of where held components begin, of fields that members hold in different places."""
    for name, held in members.template.holds.held.items():
        if name in members.fields:
            starts = np.stack([row[held.all] for row in members.initial(name)])
            if (starts != held.start.astype(starts.dtype)).any():
                yield from held.arrays


def _parameter(members: "Members", key: str) -> Any:
    name, _, argument = key.partition(".")
    for potential in members.template.potentials:
        if key in potential.common:
            raise NotWideError(f"'{key}' is a parameter of several terms")
        kernels = potential.kernels.get(name)
        if isinstance(kernels, TermKernels):
            try:
                return kernels.scattered_loops.array_of(argument)
            except UserError as error:
                raise NotWideError(str(error)) from None
    raise NotWideError(f"'{key}' is no parameter of a term")
