"""The start of a run: the state that the scene's model makes, its fields and box, and `[initial]` values.

Decisions 0145.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ...energies.fields import BOX, POSITIONS, Fields, State
from ...errors import EnergyError, NonFiniteStartError
from ...potential.non_finite import refuse_distant, refuse_non_finite
from ...scene.document import Scene
from ...scene.records import quantities
from ...scene.state_tables.sides_table import StateWithSides
from ...scene.toml_positions import KeyPath
from ...scene.units import UnitSystem
from ..contexts import StateContext
from ..initial.initial_values import InitialValues
from ..validation import ValidatedScene
from .error_places import ErrorPlaces


class Start:
    """The state, the fields and the units of a scene at step 0.

    folder: that of the files that the scene reads, if not its own. Raises `SceneError` with the place of a
    mistake, and `NonFiniteStartError` for values that are not finite.
    """

    def __init__(self, validated: ValidatedScene, folder: Path | None, places: ErrorPlaces):
        scene = validated.scene
        self.scene, self.units, self._places = scene, scene.units.build(), places
        self.context = StateContext(
            self.units,
            scene.runtime.seed,
            folder or scene.path.parent,
            attached=scene.document.attached if folder is None else {},
        )
        own = validated.member and validated.member.state
        model = validated.models[scene.state.path]
        self.context.sides = model.sides if isinstance(model, StateWithSides) else {}
        with places.placed(scene.state.path):
            self.state = own or self.context.with_sides(places.made(scene.state, self.context, State))
        with places.placed(("box",) if scene.box else ("state",)):
            try:
                with np.errstate(over="ignore"):  # too large for f32: refused below
                    self.fields = _fields(scene, self.state, self.units)
                    self.fields.absent = self.state.absent
                    self.fields.images_stay = True  # a path is continuous, and is followed from its start
            except EnergyError as error:
                raise EnergyError(str(error).removeprefix("box: ") if scene.box else str(error)) from None
        self.initial = self._put_initial(folder)
        refuse_non_finite(list(self.fields.values()), "the initial state", NonFiniteStartError)
        for motion in self.state.motions:
            refuse_distant(self.fields[motion.position], "the initial state")

    def _put_initial(self, inputs: Path | None) -> InitialValues | None:
        """Replace values of the state by those of `[initial]`, if there is one."""
        if self.scene.initial is None:
            return None
        where = self.scene.path.parent, inputs
        initial = InitialValues(self.scene.initial, self.context, *where, self._places.placed)
        now = {name: field.values for name, field in self.fields.items()}
        units = {name: field.unit for name, field in self.fields.items()}
        found = initial.replaced(now, units, self.state)
        for name, values in found.items():
            self.fields[name].set(values)
        of_state = {name: found[name] for name in self.state.fields if name in found}
        self.state = replace(self.state, fields={**self.state.fields, **of_state})
        self.context.remarks += initial.remarks(self._place_of) if inputs is None else []
        return initial

    def _place_of(self, path: KeyPath) -> str:
        """The file and line of a key, or its name where the scene has none."""
        found = self.scene.document.problem(path, "")
        return f"{found.file}:{found.line}" if found.line else found.key


def _fields(scene: Scene, state: State, units: UnitSystem) -> Fields:
    """The fields of the state, and the box. Raises `EnergyError` for two boxes, and for a flat one."""
    values, symbols = dict(state.fields), dict(state.units)
    table, precision = scene.box, scene.runtime.precision
    if table is None:
        return Fields(values, symbols, precision, state.periodic)
    given = quantities(table, units)
    vectors = np.diag(given["edges"]) if given["edges"] is not None else given["vectors"]
    if vectors is not None:
        if BOX in values:
            raise EnergyError("is given by the state, got another one; leave its edges out")
        d = np.shape(values.get(POSITIONS, ()))[1:]
        if d != (len(vectors),):
            raise EnergyError(
                f"needs an edge for each axis of '{POSITIONS}', got {len(vectors)} for"
                f" {d[0] if d else 'no positions'}; correct it"
            )
        values[BOX], symbols[BOX] = np.array(vectors, np.float64)[None], "m"
    periodic = table.periodic
    if BOX in state.fields and state.periodic is not None and "periodic" not in table.model_fields_set:
        periodic = state.periodic
    if isinstance(periodic, bool):
        periodic = (periodic,) * (np.shape(values[BOX])[-1] if BOX in values else 0)
    return Fields(values, symbols, precision, periodic)
