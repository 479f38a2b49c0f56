"""The supports of a scene: the holds of its state, and those of its `[[hold]]` tables."""

import numpy as np

from ...energies.declaration import identifier
from ...energies.fields import Hold, Rotation
from ...errors import EnergyError
from ...scene.document import HoldTable
from ...scene.records import quantities
from ...scene.units import UnitSystem, rate_unit
from ...steppers.holds import Holds
from ..blocks.term_block import bodies_named
from .error_places import ErrorPlaces
from .start import Start


class Supports:
    """The supports as they were `given`, and the `holds` made of them.

    Raises `SceneError` with the place of a mistake.
    """

    def __init__(self, start: Start, places: ErrorPlaces):
        self._start, self._places = start, places
        self.given: list[Hold] = []
        self.holds = self._holds()

    def _holds(self) -> Holds:
        """The holds of the state and of the scene."""
        holds, motions = list(self._start.state.holds), self._start.state.motions
        for number, table in enumerate(self._start.scene.hold):
            with self._places.placed(("hold", number)):
                holds.append(self._hold(table))
                Holds(self._start.fields, holds, motions)  # so that a mistake is reported at its table
        self.given = holds
        return Holds(self._start.fields, holds, motions)

    def _hold(self, table: HoldTable) -> Hold:
        positions = [m.position for m in self._start.state.motions]
        if table.field is None and len(positions) != 1:
            raise EnergyError(f"say which field is held (there move: {', '.join(positions) or 'none'})")
        field = self._start.fields[table.field or positions[0]]
        bodies = bodies_named(self._start.state, table.body, len(field))
        unit = UnitSystem.si().symbol(field.unit)
        far = tuple(self._start.units.convert(v, unit) for v in table.displacement)
        speed = tuple(self._start.units.convert(v, rate_unit(unit)) for v in table.velocity)
        return Hold(
            name=identifier(table.name or "_".join(b.name for b in bodies), "a hold"),
            field=field.name,
            nodes=np.unique(np.concatenate([b.nodes for b in bodies])),
            axes=tuple("xyz".index(letter) for letter in table.axes) if table.axes else None,
            displacement=far,
            duration=0.0 if table.duration is None else self._start.units.convert(table.duration, "s"),
            velocity=speed,
            rotation=self._rotation(table, unit),
        )

    def _rotation(self, table: HoldTable, unit: str) -> Rotation | None:
        """The rotation of a hold; its centre is in the field's unit."""
        if table.rotation is None:
            return None
        given = quantities(table.rotation, self._start.units)
        centre = tuple(self._start.units.convert(v, unit) for v in table.rotation.centre)
        return Rotation(centre, table.rotation.axis, given["angle"], given["rate"])
