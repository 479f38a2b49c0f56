"""The stepper of a scene that searches for a path: `[stepper] kind = "path_search"`."""

from typing import Annotated

from pydantic import Field

from minusgrad.plugin import AdamBlock, Minimiser, Quantity, Record, StepperContext, UserError, quantities

from ..canvas import Count, Length
from .errors_along import ErrorsAlong
from .path_search import Editor, PathSearch
from .schedule import RATE, Schedule

Some = Annotated[float | str, Quantity("m", "nonnegative")]


class Editing(Record):
    """Edits of the path every so many steps: dark moves, close points, order, insertion.

    With `size`, moves are also cut in two where the developed map differs from the target.
    """

    every: Annotated[int, Field(ge=1)]
    """Number of steps between edits."""
    until: Annotated[int, Field(ge=0)] | None = None
    """Last step that edits may follow (default: none)."""
    longest: Length
    """Lit moves that are longer are cut in two."""
    shortest: Length
    """Points inside strokes that end a shorter move are removed."""
    straight: Some = 0.0
    """Points nearer than this to the line between their neighbours are removed, if power hardly changes."""
    dark: Annotated[float | str, Quantity("W", "nonnegative")] = 0.0
    """Lit moves with less power become travels (default: 0)."""
    gap: Some = 0.0
    """Strokes are joined where the travel between them is shorter (default: 0)."""
    slack: Annotated[float | str, Quantity("J", "nonnegative")] = 0.0
    """An edit that raises the energy by more is taken back (default: 0)."""
    order: bool = True
    """Put strokes into an order of shorter travel."""
    size: tuple[Count, Count] | None = None
    """Columns and rows of the canvas, to find errors along the path (default: not done)."""
    pixel: Length = 1.0
    """Side of a cell of the canvas."""
    beside: Some = 0.0
    """Distance from the path at which errors are looked at, besides on it: half the pitch."""
    developed: str = "developed"
    """Name of the field that is compared with the target."""

    def editor(self, context: StepperContext) -> Editor:
        own = quantities(self, context.units)
        if own["longest"] < 2.0 * own["shortest"]:
            raise UserError(
                f"editing: longest must be at least twice `shortest`, got {self.longest} and {self.shortest}:"
                " the halves of a move would be merged again; raise `longest`"
            )
        errors = None
        if self.size is not None:
            context.potential.fields[self.developed]
            errors = ErrorsAlong(*self.size, own["pixel"], own["beside"], self.developed)
        sizes = {name: own[name] for name in ("longest", "shortest", "straight", "dark", "gap", "slack")}
        return Editor(self.every, self.until, **sizes, order=self.order, errors=errors)


class PathSearchBlock(AdamBlock):
    """Adam for the path of a laser, with schedules of parameters and edits of the path."""

    method = PathSearch
    schedule: tuple[Schedule, ...] = ()
    """Parameters that change over the steps."""
    editing: Editing | None = None
    """Edits of the path during the search (default: none)."""

    def own_keys(self) -> list[str]:
        return [key for key in super().own_keys() if key not in ("schedule", "editing")]

    def search(self, context: StepperContext, t: float, **options: object) -> Minimiser:
        for one in self.schedule:
            if one.parameter == RATE and self.final_rate is not None:
                raise UserError(
                    f"stepper: `final_rate` and a schedule of 'rate' both set the rate, got {self.final_rate}"
                    f" and steps {list(one.steps)}; leave one of them out"
                )
        courses = [one.course(context.potential, context.units) for one in self.schedule]
        editor = None if self.editing is None else self.editing.editor(context)
        return super().search(context, t, courses=courses, editor=editor, **options)


STEPPERS = {"path_search": PathSearchBlock}
