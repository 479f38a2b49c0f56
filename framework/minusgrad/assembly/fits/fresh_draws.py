"""What a fit draws anew in each iteration, from `[fit.vary]`.

    value(key) = f(seed, key, iteration, node, component)          seed of [state] = f(seed, iteration)

so that a resumed fit sees the same draws. Draws that are held out have streams of their own, and those of
experiments another one for each member. A draw begins from the initial values of the scene: a jitter is a
displacement from these, not from the last draw.

Decisions 0142.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...energies.fields import State
from ...errors import EnergyError, RunFailedError, UserError
from ...scene.ensemble_table import VaryTable
from ...scene.fit_table import SEEDS, DrawTable
from ..built_scene import BuiltScene
from ..ensembles import draws
from ..ensembles.members import Members, refuse_initial_values
from ..ensembles.state_keys import SEED, MemberStates, StateKey, state_key
from ..ensembles.varied_keys import STATE, KeyPlace, VariedKey, field_of, place_of, place_of_term
from ..ensembles.ways_to_vary import EVEN
from ..validation import ValidatedScene

PLACE = ("fit", "vary")


class FreshDraws:
    """The draws of `[fit.vary]`, written into the simulation of a fit.

    fitted: the names of the fitted parameters, which are not drawn. members: those of the scene's ensemble,
    whose states are made otherwise. Raises `SceneError` for a key that cannot be drawn, and for a
    distribution without a spread.
    """

    def __init__(
        self,
        validated: ValidatedScene,
        simulation: BuiltScene,
        fitted: Iterable[str],
        members: Members | None = None,
    ):
        table = validated.scene.fit
        assert table is not None
        self.simulation, self.seed, self._validated = simulation, validated.scene.runtime.seed, validated
        own = (name for name in simulation.fields if name not in simulation.fields.derived)
        self._base = {name: simulation.fields[name].values.copy() for name in own}
        self._keys: dict[str, StateKey] = {}
        self._varied: dict[str, VariedKey] = {}
        self._fitted, self._members = set(fitted), members
        for key, how in table.vary.items():
            with simulation.placed((*PLACE, key)):
                self._add(key, how)
        self._states = MemberStates(validated, simulation, self._keys)
        self._data: dict[str, KeyPlace] = {}
        with simulation.placed(PLACE):
            try:
                self._write(0, "fit", self._base)
            except RunFailedError as error:
                raise UserError(str(error)) from None

    def put(self, number: int, held_out: bool = False) -> None:
        """Write a draw over the initial values. Raises `RunFailedError` for one the scene cannot have."""
        self._write(number, "held out" if held_out else "fit", self._base)

    def put_over(self, member: int, number: int, held_out: bool = False) -> None:
        """The same over the present values, which are those of a member."""
        drawn = {one.place.field for one in self._varied.values() if one.place.field}
        present = {name: self.simulation.fields[name].values for name in drawn}
        self._write(number, f"{'held out' if held_out else 'fit'}/{member}", present)

    # Keys

    def _add(self, key: str, how: DrawTable) -> None:
        simulation, way, of_seed = self.simulation, how.way, key == SEED
        if of_seed is not (how.kind == "anew"):
            cure = (
                "write { anew = true }" if of_seed else "give a distribution, such as { normal = [0.0, 1.0] }"
            )
            raise UserError(f'"{key}": {"is a seed" if of_seed else "is no seed"}, got {how.kind}; {cure}')
        if of_seed or (field_of(key, self._base) is None and key.partition(".")[0] == STATE):
            if self._members is not None:
                raise UserError(
                    f'"{key}": the states of members are made once, got a key of [state]; draw initial'
                    " fields, as in state.x, or parameters"
                )
            model = self._validated.entries[self._validated.scene.state.path].model
            self._keys[key], place = state_key(simulation, model, key, way)
        else:
            place = place_of(simulation, key, way, self._base)
        if (place.field or key) in self._fitted:
            raise EnergyError(f'"{key}": is fitted, and cannot be drawn; leave one of the two out')
        if self._members is not None:
            self._refuse_of_members(key, way, place, self._members)
        if not of_seed:
            self._varied[key] = VariedKey(key, way, place, simulation.units, simulation.starting.read)
            _refuse_without_spread(self._varied[key])

    @staticmethod
    def _refuse_of_members(key: str, how: VaryTable, place: KeyPlace, members: Members) -> None:
        """Refuse a draw that would overwrite what [ensemble] gives each member."""
        if key in members.parameters or (place.field in members.fields and how.kind != "jitter"):
            cure = "draw a jitter about it" if place.field else "leave one of the two out"
            raise EnergyError(f'"{key}": is varied by [ensemble], and a draw would overwrite it; {cure}')

    # Draws

    def _write(self, number: int, stream: str, base: Mapping[str, np.ndarray]) -> None:
        """Write the values of a draw over `base`."""
        fields, found = self.simulation.fields, dict[str, np.ndarray]()
        if self._keys:
            found.update(self._of_state(number, stream))
        for key, one in self._varied.items():
            if key in self._keys:
                continue
            drawn, name = self._drawn(one, number, stream), one.place.field
            values = one.member(drawn, found.get(name, base[name])) if name else one.member(drawn)
            with _blamed(key, number):
                one.place.refuse(values)
            if name:
                found[name] = values.astype(fields.dtype)
            elif one.place.put is not None:
                one.place.put(values.astype(one.place.dtype))
        for name, values in found.items():
            with _blamed(name, number):
                refuse_initial_values(self.simulation, name, values)
            fields[name].set(values)

    def _drawn(self, one: VariedKey, number: int, stream: str) -> np.ndarray:
        draw = draws.uniforms if one.how.kind in EVEN else draws.normals
        return one.of_random(draw(self.seed, f"{stream}/{one.key}", [number], one.shape))[0]

    def _of_state(self, number: int, stream: str) -> dict[str, np.ndarray]:
        """The fields of a state that is made for this draw; its data are written."""
        keys = {key: self._drawn(self._varied[key], number, stream) for key in self._keys if key != SEED}
        values = {key: self._varied[key].member(drawn) for key, drawn in keys.items()}
        if SEED in self._keys:
            values[SEED] = np.array(self._drawn_seed(number, stream))
        with _blamed(next(iter(self._keys)), number):
            state = self._states.state(values)
            self._put_data(state)
        given = [name for name in self.simulation.state.fields if name in self._base]
        found = {name: np.asarray(state.fields[name], self.simulation.fields.dtype) for name in given}
        fitted = sorted(found.keys() & self._fitted)
        if both := [name for name in fitted if not np.array_equal(found[name], self._base[name])]:
            raise UserError(f'"{both[0]}": is fitted, and [state] draws it anew; leave one of the two out')
        return found

    def _put_data(self, state: State) -> None:
        """Write the data of elements that a state brings, over those of the scene."""
        for place in self._data.values():
            assert place.put is not None
            place.put(place.base)
        for key, values in self._states.data(state).items():
            if key not in self._data:
                self._data[key] = place_of_term(self.simulation, key)
            place = self._data[key]
            assert place.put is not None
            place.put(values)

    def _drawn_seed(self, number: int, stream: str) -> int:
        digest = hashlib.sha256(f"{self.seed}/fit/{stream}/{number}".encode()).digest()
        return int.from_bytes(digest[:8], "little") % SEEDS


@contextmanager
def _blamed(key: str, number: int) -> Iterator[None]:
    """Names the key and the number of a draw that the scene cannot have."""
    try:
        yield
    except UserError as error:
        raise RunFailedError(
            f'"{key}": draw {number} of [fit.vary] is none that the scene can have: {error}; narrow the'
            " distribution"
        ) from None


def _refuse_without_spread(one: VariedKey) -> None:
    """Raise `UserError` for a distribution all of whose draws are the same."""
    how = one.how
    given: Any = getattr(how, how.kind)
    first, last = one.pair[0], one.pair[-1]
    spread = last - first if how.kind in EVEN else last
    if not np.any(spread):
        shown = " and ".join(map(str, given)) if isinstance(given, tuple) else str(given)
        what = "bounds that differ" if how.kind in EVEN else "a deviation above 0"
        raise UserError(f"{how.kind}: needs {what}, got {shown}; widen it, or leave the key out")
