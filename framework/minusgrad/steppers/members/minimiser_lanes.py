"""MinimiserLanes: the searches of many members for their minima by L-BFGS, one member to a vector lane.

    while members search:   U and dU/dx of one trial of each, by one kernel   (`member_energies`)
                            each goes on in its line search, or to its next direction   (`line_searches`)

The method, its tolerances and outcomes are those of `minimisers.lbfgs`, and so is the state of each member. A
member that has ended makes room for the next one. All sums are over rows of one member in an order that its
length fixes, so that its bits depend neither on the others nor on their number.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from ...engine import storage
from ...engine.members.text_survey import NotWideError
from ...errors import MiscompiledError
from ...potential.fused_code import FusedCode
from ...potential.potential import Potential
from ..minimisers.lbfgs import LBFGS, curved
from ..minimisers.minimiser import Minimiser
from ..minimisers.outcomes import SearchStatus
from ..minimisers.unknowns import ScaledVariables
from ..stepper import Gradient
from .integrator_lanes import DISPLACEMENT, MOST_NODES, MOST_STATEMENTS, TOLERANCE
from .line_searches import Bracket, Judgement, SearchPoints, dots
from .member_energies import ROOM, MemberEnergies

FLAGS = ("step", "change", "moved", "exhausted", "pairs", "energy")
"""The numbers of a member's state, one each."""


def suits(search: Minimiser) -> str:
    """The reason why the members of a search take no lanes; empty where they do. It depends on one alone."""
    if type(search) is not LBFGS:
        return f"{search.name} has no lanes"
    potential = search.objective
    if not isinstance(potential, Potential) or type(search.coordinates) is not ScaledVariables:
        return "it searches for more than positions"
    nodes = max(len(field) for field in search.moving)
    if nodes > MOST_NODES:
        return f"{nodes} nodes are more than {MOST_NODES}"
    if search.constraints is not None:
        return "searches with constraints have no lanes"
    if search.holds.moving:
        return "supports that move have no lanes"
    if search.tolerances.force is not None:
        return "a tolerance of forces has no lanes"
    targets = {field.name: storage.allocate(np.zeros_like(field.values)) for field in search.moving}
    statements = FusedCode(potential).statements(targets)
    if not statements <= MOST_STATEMENTS:
        return f"energies of {statements:.0f} statements are more than {MOST_STATEMENTS}"
    return ""


class MinimiserLanes:
    """The searches of the members of an ensemble, all alike but for the numbers in arrays.

    search: the template. x: the whole unknown fields of all members, (M, ...) each. own: arrays of the
    template in which members differ, each with the numbers of all, (M, ...). Raises `NotWideError` where
    there are no lanes.
    """

    def __init__(self, search: LBFGS, x: Sequence[np.ndarray], own: Iterable[tuple[Any, np.ndarray]] = ()):
        if reason := suits(search):
            raise NotWideError(reason)
        self.search, self.variables = search, search.coordinates
        self.names = [field.name for field in search.moving]
        self.energies = MemberEnergies(search.objective, self.names, own, search.t)  # type: ignore[arg-type]
        self.count, self.n = len(x[0]), len(self.variables)
        self._places = self.variables.rows
        self.whole = np.concatenate([np.array(one).reshape(self.count, -1) for one in x], axis=1)
        self.gradient = np.zeros_like(self.whole)
        self.step, self.pairs = np.zeros((2, self.count), np.int64)
        self.change, self.moved = np.full((2, self.count), np.inf)
        self.exhausted, self.energy = np.zeros(self.count, bool), np.zeros(self.count)
        self.s, self.y = np.zeros((2, self.count, search.memory, self.n))
        self._brackets: dict[int, Bracket] = {}

    # Points

    def put(self, row: int, values: Sequence[np.ndarray]) -> None:
        """Set the whole unknown fields of a member."""
        self.whole[row] = np.concatenate([np.ravel(one) for one in values])

    def begin(self) -> np.ndarray:
        """Move all members into their bounds and evaluate them; whether each is finite, (M,)."""
        for rows in self._chunks():
            z = self.variables.scaled(self.variables.confined(self._x(rows)))
            self._take(rows, self._evaluated(z, rows))
        return np.isfinite(self.energy)

    def _chunks(self) -> Iterable[np.ndarray]:
        return (np.arange(k, min(k + ROOM, self.count)) for k in range(0, self.count, ROOM))

    def _x(self, rows: np.ndarray) -> np.ndarray:
        return self.whole[rows[:, None], self._places].astype(np.float64)

    def _take(self, rows: np.ndarray, there: SearchPoints) -> None:
        self.whole[rows[:, None], self._places] = there.x
        self.gradient[rows], self.energy[rows] = there.gradient, there.energy

    def _slope(self, gradient: np.ndarray) -> np.ndarray:
        return self.variables.scale * gradient[:, self._places].astype(np.float64)

    def _here(self, rows: np.ndarray) -> SearchPoints:
        x, gradient = self._x(rows), self.gradient[rows]
        return SearchPoints(x, self.variables.scaled(x), self.energy[rows], self._slope(gradient), gradient)

    def _stored(self, z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values (A, n) that fields hold nearest to z, and the whole fields of these members."""
        whole = self.whole[rows]
        whole[:, self._places] = self.variables.inside(z)
        return whole[:, self._places].astype(np.float64), whole

    def _evaluated(self, z: np.ndarray, rows: np.ndarray) -> SearchPoints:
        x, whole = self._stored(z, rows)
        energy, gradient = self.energies(whole, rows)
        with np.errstate(invalid="ignore", over="ignore"):
            slope = self._slope(gradient)
        energy[~np.isfinite(slope).all(axis=1)] = np.nan
        return SearchPoints(x, self.variables.scaled(x), energy, slope, gradient)

    def _values(self, z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z as stored and U there; of any number of rows."""
        x, whole = self._stored(z, rows)
        parts = [slice(k, k + ROOM) for k in range(0, len(rows), ROOM)]
        return self.variables.scaled(x), np.concatenate([self.energies(whole[p], rows[p])[0] for p in parts])

    def _rounding(self, z: np.ndarray, rows: np.ndarray) -> np.ndarray:
        eps = float(np.finfo(self.whole.dtype).eps)
        return eps * self.energies.magnitude(self._stored(z, rows)[1], rows)

    # Iterations

    def advance(self, rows: np.ndarray, target: int) -> None:
        """Take iterations of these members, until each ends or is at iteration number `target`."""
        rows = rows[self.step[rows] < target]
        waiting = rows[~self.ended(rows)].tolist()[::-1]
        at, along = np.zeros(0, np.int64), np.zeros((0, self.n))
        self._brackets = {}
        while waiting or len(at):
            if new := [waiting.pop() for _ in range(min(ROOM - len(at), len(waiting)))]:
                at = np.concatenate([at, new])
                along = np.concatenate([along, self._directions(at[-len(new) :])])
            stepped = self._round(at, along)
            ended = stepped.copy()
            ended[stepped] = self.ended(at[stepped]) | (self.step[at[stepped]] >= target)
            if (again := stepped & ~ended).any():
                along[again] = self._directions(at[again])
            at, along = at[~ended], along[~ended]

    def _round(self, at: np.ndarray, along: np.ndarray) -> np.ndarray:
        """One trial of each of these members, along directions (A, n); which have ended their iteration.

        The direction of a search that starts again is overwritten.
        """
        here, lengths = self._here(at), np.ones((len(at), 1))
        numbers = at.tolist()
        for k, row in enumerate(numbers) if self._brackets else ():
            if row in self._brackets:
                lengths[k] = self._brackets[row].length
        with np.errstate(invalid="ignore", over="ignore"):
            there = self._evaluated(here.z + lengths * along, at)
            judged = Judgement(
                here,
                there,
                lambda z, k: self._values(z, at[k]),
                lambda k: self._rounding(there.z[k], at[k]),
            )
        taken = judged.taken
        for k in np.flatnonzero(taken).tolist() if self._brackets else ():
            one = self._brackets.pop(numbers[k], None)
            if one is not None and one.best is not None and np.array_equal(one.best.x[0], there.x[k]):
                there.put(k, one.best)
        stepped = taken.copy()
        for k in np.flatnonzero(~taken).tolist():
            taken[k], stepped[k] = self._narrowed(k, numbers[k], judged, along)
        self._accept(at[taken], here.at(taken), there.at(taken))
        return stepped

    def _narrowed(self, k: int, row: int, judged: Judgement, along: np.ndarray) -> tuple[bool, bool]:
        """Go on in a line search; whether it ended with a point, and whether the iteration ended.

        k: the row of the round; row: of the member.
        """
        here, there = judged.here, judged.there
        one = self._brackets.get(row)
        if one is None:
            slope = float(dots(here.slope[k : k + 1], along[k : k + 1])[0])
            one = self._brackets[row] = Bracket.fresh(float(here.energy[k]), slope)
        if one.goes_on(judged, k):
            return False, False
        del self._brackets[row]
        if one.best is not None:
            there.put(k, one.best)
            return True, True
        if self.pairs[row] and not one.restarted:
            self.pairs[row] = 0  # the stored pairs gave a bad direction: start again with the gradient
            along[k] = self._directions(np.array([row]))[0]
            slope = float(dots(here.slope[k : k + 1], along[k : k + 1])[0])
            self._brackets[row] = Bracket.fresh(float(here.energy[k]), slope, restarted=True)
            return False, False
        self.exhausted[row] = True
        return False, True

    def _accept(self, rows: np.ndarray, here: SearchPoints, there: SearchPoints) -> None:
        """The end of an iteration: remember the pair of each of these members, and move it."""
        if not len(rows):
            return
        s, y = there.z - here.z, there.slope - here.slope
        good = curved(dots(s, y), dots(s, s), dots(y, y))
        kept, memory = rows[good], self.s.shape[1]
        places = self.pairs[kept] % memory
        self.s[kept, places], self.y[kept, places] = s[good], y[good]
        self.pairs[kept] += 1
        self.step[rows] += 1
        far = np.abs(s)
        self.change[rows], self.moved[rows] = far.max(axis=1), (self.variables.scale * far).max(axis=1)
        self._take(rows, there)

    def _directions(self, rows: np.ndarray) -> np.ndarray:
        """-H g (A, n) of these members, by the two-loop recursion; without pairs along the gradient."""
        here = self._here(rows)
        pinned = self.variables.pinned(here.z, here.slope)
        r = np.where(pinned, 0.0, here.slope)
        steepest = -self.search.first / np.maximum(np.abs(r).max(axis=1), 1e-290)[:, None] * here.slope
        shrink, parts = np.zeros(len(rows)), []
        pairs = [
            self._pair(rows, newest, pinned) for newest in range(self.s.shape[1])
        ]  # as many turns for all
        for s, y, sy in pairs:
            parts.append(_quotient(dots(s, r), sy))
            r = r - parts[-1][:, None] * y
            shrink = np.where(shrink == 0.0, _quotient(sy, dots(y, y)), shrink)
        r = shrink[:, None] * r
        for (s, y, sy), part in zip(reversed(pairs), reversed(parts), strict=True):
            r = r + (part - _quotient(dots(y, r), sy))[:, None] * s
        found = -np.where(pinned, shrink[:, None] * here.slope, r)
        return np.where((shrink == 0.0)[:, None], steepest, found)

    def _pair(
        self, rows: np.ndarray, newest: int, pinned: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, y and s.y of pair number `newest`, from the newest on; zeros where a member has none."""
        place, kept = (self.pairs[rows] - 1 - newest) % self.s.shape[1], self.pairs[rows] > newest
        s, y = self.s[rows, place], self.y[rows, place]
        if self.variables.bounded:
            s, y = s * ~pinned, y * ~pinned
            kept &= curved(dots(s, y), dots(s, s), dots(y, y))
        if not kept.all():
            s[~kept], y[~kept] = 0.0, 0.0
        return s, y, dots(s, y)

    # The outcome

    def ended(self, rows: np.ndarray) -> np.ndarray:
        """Which of these members have an outcome."""
        tolerances, found = self.search.tolerances, np.zeros(len(rows), bool)
        residual, pinned = self._residuals(rows)
        suspect = self.exhausted[rows] | pinned | (residual == 0.0) | tolerances.balanced
        for limit, values in ((tolerances.gradient, residual), (tolerances.change, self.change[rows])):
            if limit is not None:
                suspect |= values <= limit
        for k in np.flatnonzero(suspect).tolist():
            found[k] = self.outcome(int(rows[k])) is not None
        return found

    def _residuals(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The largest component of the projected gradient, and whether every component is at a bound."""
        here = self._here(rows)
        pinned = self.variables.pinned(here.z, here.slope)
        return np.abs(np.where(pinned, 0.0, here.slope)).max(axis=1), np.asarray(pinned.all(axis=1))

    def outcome(self, row: int) -> str | None:
        """The word for how the search of a member has ended; None while it has not."""
        residual, pinned = self._residuals(np.array([row]))
        status = SearchStatus(
            int(self.step[row]),
            float(self.energy[row]),
            float(residual[0]),
            float(self.change[row]),
            bool(pinned[0]),
            bool(self.exhausted[row]),
            moved=float(self.moved[row]),
        )
        return self.search.tolerances.outcome(status)

    # State

    def state_of(self, row: int) -> dict[str, np.ndarray]:
        """The fields and the state of a member, as the template's: `fields/NAME`, `stepper/NAME`."""
        return {name: array[0] for name, array in self.state(np.array([row])).items()}

    def state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """`state_of` these members, (A, ...)."""
        found = {f"stepper/{n}": np.array(getattr(self, n)[rows]) for n in (*FLAGS, "s", "y")}
        for whole, folder in ((self.whole, "fields/"), (self.gradient, "stepper/gradient/")):
            start = 0
            for field in self.search.moving:
                size = field.values.size
                part = whole[rows, start : start + size].reshape(len(rows), *field.shape)
                found[f"{folder}{field.name}"] = np.ascontiguousarray(part)
                start += size
        return found

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Set the numbers of `state` of all members."""
        for name in (*FLAGS, "s", "y"):
            if (key := f"stepper/{name}") in state:
                getattr(self, name)[...] = state[key]
        for whole, folder in ((self.whole, "fields/"), (self.gradient, "stepper/gradient/")):
            parts = [np.asarray(state[f"{folder}{n}"]).reshape(self.count, -1) for n in self.names]
            whole[...] = np.concatenate(parts, axis=1)

    # Verification

    def verify(self, row: int) -> None:
        """Compare U and dU/dx of a member, which is in the template, with the template's.

        At displaced positions, where no forces balance; the template is then at the member again. Raises
        `MiscompiledError`.
        """
        objective, rng = self.search.objective, np.random.default_rng(0)
        here = self._here(np.array([row]))
        x = here.x + rng.uniform(-DISPLACEMENT, DISPLACEMENT, here.x.shape) * (np.abs(here.x).max() or 1.0)
        there = self._evaluated(self.variables.scaled(x), np.array([row]))
        self.variables.put(there.x[0])
        wanted = self.search.evaluate_at(there.z[0])
        eps = np.finfo(self.whole.dtype).eps
        off = np.abs(there.slope[0] - wanted.slope) <= TOLERANCE * eps * np.abs(wanted.slope).max()
        size = TOLERANCE * eps * objective.magnitude(self.search.t)
        self.variables.put(here.x[0])
        objective.evaluate_into(cast(Gradient, self.search.gradient).arrays, self.search.t)
        self.search.mark()
        if wanted.finite and not (off.all() and abs(there.energy[0] - wanted.energy) <= size):
            far = np.abs(there.slope[0] - wanted.slope).max()
            raise MiscompiledError(
                f"lanes of members: U is {there.energy[0]}, and {wanted.energy} where one member is computed,"
                f" and dU/dz of up to {np.abs(wanted.slope).max():.3g} is off by {far:.3g}; report it, and"
                " run with [ensemble] lanes = false"
            )


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, zero where b is zero, as of pairs that a member does not have."""
    return np.where(b > 0.0, a / np.where(b > 0.0, b, 1.0), 0.0)
