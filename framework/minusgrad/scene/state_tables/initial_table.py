"""`[initial]`: fields of the state that begin with other values, from files or from another run.

[initial]
fields = { v = "start.csv", x = { file = "start.h5", data = "particles/x", unit = "km" } }

[initial]
run = "../runs/other"           the last saved state of a run; `minusgrad run SCENE --from runs/other`
step = 600                      or that of a step
"""

from typing import Annotated

from pydantic import Field, model_validator

from ..records import Record
from ..tagged_unions import ByForm, one_or_table


class FieldFile(Record):
    """`[initial] fields`: the values of one field in a file beside the scene."""

    file: str
    """The file: CSV, HDF5, .npy or .npz, recognised by its contents."""
    data: str | None = None
    """The array in an HDF5 or .npz file (default: that of the field's name)."""
    columns: str | tuple[str, ...] | None = None
    """Columns of a CSV file (default: vx, vy, vz or x, y, z of vectors v; the field's name of numbers)."""
    unit: str | None = None
    """The unit of the numbers (default: that in the file, else the run's)."""
    body: str | tuple[str, ...] | None = None
    """Bodies whose nodes have these values, in their order (default: all nodes); others keep theirs."""


class InitialTable(Record):
    """`[initial]`: values of files or of another run in place of those that the state has made."""

    run: str | None = None
    """A run folder whose fields are taken; the path starts at the scene's folder (default: none)."""
    step: Annotated[int, Field(ge=0)] | None = None
    """The step of a saved state of that run (default: the last one)."""
    member: Annotated[int, Field(ge=0)] | None = None
    """The member whose state it is, where that run is an ensemble (default: none)."""
    take: tuple[str, ...] = ()
    """The fields to take from that run (default: all that both have)."""
    time: bool = False
    """Start at the time of that state, in place of 0."""
    fields: dict[str, Annotated[str | FieldFile, ByForm(one_or_table, ("one", "table"))]] = {}  # noqa: RUF012
    """Files with the values of fields, by field; they are put after those of a run."""

    @model_validator(mode="after")
    def _require_something(self) -> "InitialTable":
        if self.run is None and not self.fields:
            raise ValueError("needs a `run` or `fields`, got neither; give one of them")
        of_run = [key for key in ("step", "member", "take", "time") if key in self.model_fields_set]
        if self.run is None and of_run:
            raise ValueError(f"`{of_run[0]}` belongs to a `run`, got none; give it, or leave {of_run[0]} out")
        return self

    @property
    def files(self) -> dict[str, FieldFile]:
        """The files by field."""
        return {n: FieldFile(file=one) if isinstance(one, str) else one for n, one in self.fields.items()}
