"""`[[compound]] kind = "shell"`: stretching, bending and directors of a shell in one block.

Decisions 0103.
"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from minusgrad import bind
from minusgrad.plugin import (
    ByForm,
    Compound,
    CompoundContext,
    Quantity,
    Record,
    UserError,
    one_or_table,
    quantities,
)

from .energies import koiter_bending, koiter_stretching, shell_director
from .shell_state import ShellParts

Curvature = Annotated[float | str, Quantity("rad/m")]


class NaturalCurvature(Record):
    """The curvature of a shell without forces, the same everywhere, along the axes of its patch."""

    curvature: tuple[Curvature, Curvature, Curvature]
    """Components 11, 22 and 12 along u and across; positive where normals diverge, as of a ball."""


class ShellBlock(Record):
    """The energies of a thin shell (Koiter): they are called NAME_stretching, NAME_bending, NAME_director.

    Moduli and thickness are common to all: `shell.thickness`.
    """

    name: str = "shell"
    """Beginning of the names of the energies."""
    youngs_modulus: Annotated[float | str, Quantity("Pa", "positive")]
    """Young's modulus E."""
    poissons_ratio: Annotated[float, Field(gt=-1.0, le=0.5)]
    """Poisson's ratio."""
    thickness: Annotated[float | str, Quantity("m", "positive")] | None = None
    """Thickness of the shell (default: that of the state, of which its mass is)."""
    natural: Annotated[
        Literal["shape", "flat"] | NaturalCurvature, ByForm(one_or_table, ("one", "table"))
    ] = "shape"
    """Curvature without forces: "shape", as it begins; "flat"; or a table with the components."""

    def make(self, context: CompoundContext) -> Compound:
        parts, state = context.state.brings, context.state
        if not isinstance(parts, ShellParts):
            raise UserError(
                "shell: needs a state with directors, got another one; use kind = 'shell' in [state]"
            )
        values = quantities(self, context.units)
        thickness = values["thickness"] or parts.thickness
        known = {"thickness": thickness, **{k: values[k] for k in ("youngs_modulus", "poissons_ratio")}}
        own = [
            ("stretching", koiter_stretching, "triangles", {}),
            ("bending", koiter_bending, "shell_triangles", {"rest": self._rest(values, parts)}),
            ("director", shell_director, "shell_edges", {}),
        ]
        more: dict[str, Any] = {"units": context.units}
        terms = [
            bind(
                energy,
                context.fields,
                name=f"{self.name}_{part}",
                tuples=state.tuples[rows],
                data={k: v for k, v in {**state.data[rows], **given}.items() if k in energy.roles},
                parameters={k: v for k, v in known.items() if k in energy.roles},
                **more,
            )
            for part, energy, rows, given in own
        ]
        return Compound(terms, common={self.name: [*known]})

    def _rest(self, values: dict[str, Any], parts: ShellParts) -> np.ndarray:
        """The curvature at rest (E, 3)."""
        shape = parts.geometry.curvature
        if self.natural == "shape":
            return shape
        if self.natural == "flat":
            return np.zeros_like(shape)
        return np.tile(np.array(values["natural"]["curvature"], float), (len(shape), 1))


COMPOUNDS = {"shell": ShellBlock}
