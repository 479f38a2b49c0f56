"""Path search: Adam with schedules of parameters, and edits of the path every so many steps.

Step k is one of Adam, at the parameters of step k. If it is a multiple of `every`, edits follow, each of
which stays if it raises the energy by no more than `slack`:

    dark moves become travels, travels of no length join strokes      (`edits.darken_weak_moves`, `joined`)
    points that are close or useless are merged                       (`merged`)
    strokes get an order of shorter travel                            (`ordered`)
    long moves, and those along which dose and target differ, are cut in two, as far as spare points reach

Where motion is planned, a short move is slower than asked for. Then edits take the nominal speed for the
speed, and the power becomes what keeps the exposure, power over nominal speed, of the moves that they give.

The number of points is fixed, n. The first `used` are the path; the spare ones lie on its last point, dark,
and move with it. The means of Adam go with their points. An edit is a function of what a checkpoint holds, so
a search that is resumed has the same bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minusgrad.plugin import Adam, UserError

from . import edits
from .edits import Points
from .errors_along import ErrorsAlong
from .schedule import RATE, Course

POINT, MOVE = ("x", "y"), ("power", "speed")
PATH = POINT + MOVE
"""The fields of a path, in the order of the columns of `Points`."""
NOMINAL = "nominal"
"""The field of the speed within the limits of the machine, where motion is planned."""


@dataclass(frozen=True)
class Editor:
    """When and how a path is edited; lengths [m], power [W], energy [J]. None: not done."""

    every: int
    until: int | None
    longest: float
    shortest: float
    straight: float
    dark: float
    gap: float
    slack: float
    order: bool
    errors: ErrorsAlong | None

    def due(self, step: int) -> bool:
        """True if edits follow the step."""
        return step % self.every == 0 and (self.until is None or step <= self.until)

    def edits(self, blame: Callable[[Points], np.ndarray]) -> list[Callable[[Points, int], Points]]:
        """The edits in their order: each a function of a path and of the number of spare points."""
        found: list[Callable[[Points, int], Points]] = [
            lambda path, spare: edits.join_short_travels(edits.darken_weak_moves(path, self.dark), self.gap),
            lambda path, spare: edits.merge_points(path, self.shortest, self.straight),
        ]
        if self.order:
            found.append(lambda path, spare: edits.order_strokes(path))
        found.append(
            lambda path, spare: edits.insert_points(path, self.longest, self.shortest, spare, blame(path))
        )
        return found


class PathSearch(Adam):
    """Adam over the fields x, y, power and speed of a path; courses: schedules; editor: None for no edits.

    Raises `UserError` for edits of a path that is not sought as a whole.
    """

    kept = (*Adam.kept, "used")

    def __init__(
        self,
        objective: Any,
        unknowns: Any,
        *arguments: Any,
        courses: Sequence[Course] = (),
        editor: Editor | None = None,
        **options: Any,
    ):
        self.courses, self.editor, self.used = courses, editor, 0
        self._follow_schedules(objective.potential, 0)
        super().__init__(objective, unknowns, *arguments, **options)
        self._follow_schedules(objective.potential, 0)  # the rate
        self.mark()
        if editor is not None:
            self._refuse_unknowns()
            self.used = _used_points(*(objective.fields[name].values for name in ("x", "y", "lit")))

    def begin(self) -> None:
        self._follow_schedules(self.objective, 0)
        if self.editor is not None:
            self.used = _used_points(*(self.objective.fields[name].values for name in ("x", "y", "lit")))
        super().begin()

    def restore(self, state: dict[str, np.ndarray]) -> None:
        super().restore(state)
        self._follow_schedules(self.objective, self.step)
        self.mark()

    def evaluate_at(self, z: np.ndarray) -> Any:
        """Spare points follow the last one of the path."""
        return super().evaluate_at(z if self.editor is None else self._tie_components(z))

    def _next_point(self, here: Any) -> Any:
        self._follow_schedules(self.objective, self.step + 1)
        there = super()._next_point(here)
        if self.editor is None or not self.editor.due(self.step + 1):
            return there
        for edit in self.editor.edits(self._blame_of_moves):
            there = self._try_edit(there, edit, self.editor.slack)
        return there

    def _follow_schedules(self, objective: Any, step: int) -> None:
        """Set what has a schedule to its value at a step."""
        for course in self.courses:
            if course.parameter == RATE:
                self.rate = course.at(step)
            else:
                objective.set_parameter(course.parameter, course.at(step))

    # Edits

    def _try_edit(self, there: Any, edit: Callable[[Points, int], Points], slack: float) -> Any:
        """The point after an edit, or `there` if it raises the energy by more than the slack."""
        before = self._points_with_means(), self.mean, self.square, self.used
        lit = self.objective.fields["lit"].values.copy()
        after = edit(before[0], len(lit) - self.used)
        if not after.lit.any():
            return there
        self._take_path(after)
        found = self._evaluated()
        if found.finite and found.energy <= there.energy + slack:
            return found
        _, self.mean, self.square, self.used = before
        self.objective.fields["lit"].set(lit)
        self.return_to(there)
        return there

    def _points_with_means(self) -> Points:
        """The path, with Adam's means of its unknowns as further columns."""
        fields, means = self.objective.fields, self.coordinates.spread(self.mean)
        squares = self.coordinates.spread(self.square)
        now = {name: fields[name].values for name in PATH}
        if NOMINAL in fields:
            now["speed"] = np.where(fields["lit"].values > 0.5, fields[NOMINAL].values, now["speed"])
        point, move = (
            np.stack([of[name][: self.used] for of in (now, means, squares) for name in names], axis=1)
            for names in (POINT, MOVE)
        )
        return Points(
            point.astype(np.float64), move.astype(np.float64), fields["lit"].values[: self.used] > 0.5
        )

    def _take_path(self, path: Points) -> None:
        """Set fields and means to an edited path, with the spare points on its last."""
        n, self.used = len(self.objective.fields["lit"].values), len(path)
        rows = np.minimum(np.arange(n), len(path) - 1)
        columns: dict[tuple[int, str], np.ndarray] = {}
        for names, values in ((POINT, path.point), (MOVE, path.move)):
            columns |= {(k, name): values[rows, 2 * k + j] for k in range(3) for j, name in enumerate(names)}
        lit = np.append(path.lit, np.zeros(n - len(path), bool))
        fields = self.objective.fields
        for name in PATH:
            fields[name].set(columns[0, name].astype(fields.dtype))
        fields["lit"].set(lit.astype(fields.dtype))
        self.coordinates.confine()
        if NOMINAL in fields:
            self._keep_exposure(columns[0, "power"] / columns[0, "speed"], lit)
        self.mean, self.square = (
            self.coordinates.components({name: columns[k, name] for name in PATH}) for k in (1, 2)
        )

    def _keep_exposure(self, exposure: np.ndarray, lit: np.ndarray) -> None:
        """Set the power to what gives this exposure [J/m] at the nominal speed of the edited moves."""
        self._evaluated()
        fields = self.objective.fields
        power = np.where(lit, exposure * fields[NOMINAL].values, fields["power"].values)
        fields["power"].set(power.astype(fields.dtype))
        self.coordinates.confine()

    def _tie_components(self, z: np.ndarray) -> np.ndarray:
        parts = self.coordinates.spread(z)
        for name in PATH:
            parts[name][self.used :] = parts[name][self.used - 1]
        return self.coordinates.components(parts)

    def _blame_of_moves(self, path: Points) -> np.ndarray:
        errors = None if self.editor is None else self.editor.errors
        if errors is None:
            return np.zeros(len(path))
        developed, target = (self.objective.fields[n].values for n in (errors.developed, "target"))
        return errors.of(path, np.abs(developed - target))

    def _refuse_unknowns(self) -> None:
        sought = [field.name for field in self.moving]
        if sorted(sought) != sorted(PATH) or len(self.coordinates) != 4 * len(self.moving[0].values):
            raise UserError(
                f"editing: needs all of {', '.join(PATH)} as unknowns, none held, got {', '.join(sought)};"
                " name them in [stepper.fields], or leave `editing` out"
            )


def _used_points(x: np.ndarray, y: np.ndarray, lit: np.ndarray) -> int:
    """The number of points up to the last lit move; the rest are spare."""
    on = np.flatnonzero(lit > 0.5)
    return int(on[-1]) + 1 if len(on) else len(lit)
