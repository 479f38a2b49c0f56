"""`[[compound]] kind = "rod"`: all energies of the rods of a state, and clamps of their ends.

Decisions 0190.
"""

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad import bind
from minusgrad.plugin import (
    ByForm,
    Compound,
    CompoundContext,
    Quantity,
    Record,
    Term,
    UserError,
    choices,
    one_or_table,
    quantities,
)

from .bends import rod_bend, rod_branch, rod_clamp
from .edges import cosserat_edge, kirchhoff_edge
from .frames import axes_of
from .loads import rod_couple
from .rod_state import RodEnd, RodParts

Modulus = Annotated[float | str, Quantity("Pa", "positive")]


class Clamp(Record):
    """An end whose direction and twist are held by a wall, which may be turned about an axis."""

    end: str
    """The end, a body of the state."""
    angle: Annotated[float | str, Quantity("rad")] = 0.0
    """Angle by which the wall is turned; a load `NAME_END.angle` of load steps, of any size."""
    axis: Annotated[tuple[float, ...], Field(max_length=3)] = ()
    """Axis of the turn, of any length; empty: along the rod at this end."""


class Couple(Record):
    """A moment on an end about an axis that is fixed."""

    end: str
    """The end, a body of the state."""
    moment: Annotated[float | str, Quantity("N m")]
    """Moment about the axis; a load `NAME_END_couple.moment` of load steps."""
    axis: Annotated[tuple[float, ...], Field(max_length=3)] = ()
    """Axis, of any length; empty: along the rod at this end."""


class RodBlock(Record):
    """The energies of a rod: stretch and shear of edges, bending and twist of joints, clamps of ends.

    They are called NAME_edges, NAME_bends, NAME_branches and NAME_END, such as `rod_first`. The moduli are
    common to all: `rod.youngs_modulus`.
    """

    name: str = "rod"
    """Beginning of the names of the energies."""
    youngs_modulus: Modulus
    """Young's modulus E."""
    shear_modulus: Modulus | None = None
    """Shear modulus G (default: of Poisson's ratio)."""
    poissons_ratio: Annotated[float, Field(gt=-1.0, le=0.5)] | None = None
    """Poisson's ratio, from which the shear modulus follows (default: of the shear modulus)."""
    shear: bool = True
    """False: cross-sections stay across the rod (Kirchhoff); true: they may lean (Cosserat)."""
    clamps: tuple[Annotated[str | Clamp, ByForm(one_or_table, ("one", "table"))], ...] = ()
    """Ends that are clamped, by name, or as tables with an angle and an axis."""
    couples: tuple[Couple, ...] = ()
    """Moments on ends."""

    def make(self, context: CompoundContext) -> Compound:
        parts = context.state.brings
        if not isinstance(parts, RodParts):
            raise UserError("rod: needs a state with rods, got another one; use kind = 'rod' in [state]")
        moduli = self._moduli(quantities(self, context.units))
        terms = [*self._along(context, moduli), *self._ends(context, parts, moduli)]
        terms += self._couples(context, parts)
        known = [key for key in moduli if any(key in one.parameters for one in terms)]
        return Compound(terms, common={self.name: known})

    def _moduli(self, values: dict[str, Any]) -> dict[str, float]:
        """E and G. Raises `UserError` unless one of G and Poisson's ratio is given."""
        if (self.shear_modulus is None) == (self.poissons_ratio is None):
            raise UserError("shear_modulus, poissons_ratio: needs one of both; give the other up, or one")
        young = values["youngs_modulus"]
        shear = values["shear_modulus"] or 0.5 * young / (1.0 + (self.poissons_ratio or 0.0))
        return {"youngs_modulus": young, "shear_modulus": shear}

    def _along(self, context: CompoundContext, moduli: dict[str, float]) -> list[Term]:
        """Edges and joints."""
        state = context.state
        energy = cosserat_edge if self.shear else kirchhoff_edge
        lists = [("edges", energy, "rod_edges"), ("bends", rod_bend, "rod_joints")]
        lists += [("branches", rod_branch, "rod_branches")]
        return [
            self._bound(context, part, energy, state.tuples[rows], state.data[rows], moduli)
            for part, energy, rows in lists
            if rows in state.tuples
        ]

    def _ends(self, context: CompoundContext, parts: RodParts, moduli: dict[str, float]) -> list[Term]:
        """Clamps. Raises `UserError` for an end that there is not, or that is named twice."""
        found: dict[str, Term] = {}
        for k, clamp in enumerate(self.clamps):
            given = Clamp(end=clamp) if isinstance(clamp, str) else clamp
            end = end_named(f"clamps.{k}", given.end, parts)
            if given.end in found:
                raise UserError(f"clamps.{k}: '{given.end}' is clamped above, too; leave one of them out")
            data = {
                "length": end.lengths,
                "second_moments": end.second_moments,
                "torsion": end.torsion,
                "wall": end.walls,
                "axis": end_axis(f"clamps.{k}", given.axis, end),
            }
            angle = quantities(given, context.units)["angle"]
            more = moduli | {"angle": angle}
            found[given.end] = self._bound(context, given.end, rod_clamp, end.edges[:, None], data, more)
        return [*found.values()]

    def _couples(self, context: CompoundContext, parts: RodParts) -> list[Term]:
        """Moments on ends. Raises `UserError` for an end that there is not, or several rods."""
        found: dict[str, Term] = {}
        for k, given in enumerate(self.couples):
            end = end_named(f"couples.{k}", given.end, parts)
            if given.end in found:
                raise UserError(f"couples.{k}: '{given.end}' has a moment above, too; leave one of them out")
            if len(end.edges) > 1:
                raise UserError(f"couples.{k}: '{given.end}' has {len(end.edges)} rods; choose an end of one")
            data = {"wall": end.walls, "axis": end_axis(f"couples.{k}", given.axis, end)}
            more = {"moment": quantities(given, context.units)["moment"]}
            part = f"{given.end}_couple"
            found[given.end] = self._bound(context, part, rod_couple, end.edges[:, None], data, more)
        return [*found.values()]

    def _bound(
        self, context: CompoundContext, part: str, energy: Any, rows: Any, data: Any, parameters: Any
    ) -> Term:
        return bind(
            energy,
            context.fields,
            name=f"{self.name}_{part}",
            tuples=rows,
            data={key: values for key, values in data.items() if key in energy.roles},
            parameters={key: value for key, value in parameters.items() if key in energy.roles},
            units=context.units,
        )


def end_named(key: str, name: str, parts: RodParts) -> RodEnd:
    """The end of a name. Raises `UserError` where there is none, and for a rigid node of several rods."""
    if name in parts.rigid:
        raise UserError(
            f"{key}: '{name}' is a rigid node of several rods, got no end; name it in [state] `pinned`, and"
            " its rods are clamped one by one"
        )
    if name not in parts.ends:
        raise UserError(f"{key}: no end named '{name}'{choices(name, parts.ends)}")
    return parts.ends[name]


def end_axis(key: str, given: tuple[float, ...], end: RodEnd) -> np.ndarray:
    """The unit axis of an end for each of its edges, (k, 3). Raises `UserError` without a direction."""
    if not given and len(end.edges) == 1:
        return axes_of(end.walls)[:, :, 2]
    axis = np.array(given, float)
    if len(axis) != 3 or not (size := np.linalg.norm(axis)) > 0.0:
        raise UserError(f"{key}.axis: needs 3 numbers, not all zero, got {list(axis)}; correct it")
    return np.tile(axis / size, (len(end.edges), 1))


COMPOUNDS = {"rod": RodBlock}
