"""Stress through the thickness of a thin shell: at the top, in the middle, at the bottom of each triangle.

    e(z) = E + z k,     S(z) = E / (1 - nu^2) ((1 - nu) e + nu tr(e) 1),     z = t/2, 0, -t/2

E is Green's strain and k the change of curvature as in `energies`; S [Pa] the second Piola-Kirchhoff stress
along two axes in the triangle at rest, components 11, 22 and 12; z [m] along the normal. Where strains are
small S is the stress along the turned axes. von Mises: sqrt(s_11^2 - s_11 s_22 + s_22^2 + 3 s_12^2).

Decisions 0103.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from minusgrad.plugin import Observer, ObserverContext, Record, UserError, storage

from ..surface_state import flat_slopes
from .geometry import ShellGeometry
from .shell_state import ShellParts

FACES = {"top": 0.5, "middle": 0.0, "bottom": -0.5}


def face_stresses(
    geometry: ShellGeometry, fields: Any, moduli: Mapping[str, Any], rest: np.ndarray
) -> dict[str, np.ndarray]:
    """S (E, 3) at each of `FACES`. moduli: youngs_modulus, poissons_ratio, thickness; rest (E, 3) [1/m]."""
    x, directors = (fields[name].values.astype(np.float64) for name in ("x", "director"))
    strain = geometry.strains(x, flat_slopes(geometry.corners, geometry.axes))
    bent = geometry.second_forms(x, directors) - rest
    young, nu, t = (moduli[name] for name in ("youngs_modulus", "poissons_ratio", "thickness"))
    found = {}
    for name, part in FACES.items():
        e = strain + np.reshape(part * np.asarray(t), (-1, 1)) * bent
        trace = nu * (e[:, 0] + e[:, 1])
        direct = [(1.0 - nu) * e[:, 0] + trace, (1.0 - nu) * e[:, 1] + trace, (1.0 - nu) * e[:, 2]]
        found[name] = np.stack([young / (1.0 - nu**2) * one for one in direct], axis=1)
    return found


def von_mises(s: np.ndarray) -> np.ndarray:
    """Von Mises stress (E,) of plane stress (E, 3)."""
    return np.sqrt(s[:, 0] ** 2 - s[:, 0] * s[:, 1] + s[:, 1] ** 2 + 3.0 * s[:, 2] ** 2)


class ShellStress(Observer):
    """Records `cells/triangles/stress_top`, `_middle`, `_bottom` (E, 3) and `von_mises_top`, ... (E,)."""

    def __init__(self, context: ObserverContext, every: int, shell: str):
        super().__init__(context.stepper, context.recorder, every)
        self.shell, self.geometry = shell, context.state.brings.geometry
        pascal = context.units.symbol("Pa"), context.units.in_si("Pa")
        for face in FACES:
            for name in ("stress", "von_mises"):
                context.recorder.unit(f"{name}_{face}", *pascal)

    def observe(self) -> None:
        potential = self.potential
        term = potential.terms[f"{self.shell}_bending"]
        names = ("youngs_modulus", "poissons_ratio", "thickness")
        moduli = {name: potential.parameter(f"{term.name}.{name}") for name in names}
        found = face_stresses(self.geometry, self.fields, moduli, storage.host(term.data["rest"]))
        own = {f"stress_{face}": s for face, s in found.items()}
        own |= {f"von_mises_{face}": von_mises(s) for face, s in found.items()}
        self.recorder.record_cells(self.stepper.step, self.stepper.time, "triangles", own)


class ShellStressBlock(Record):
    """Stress of each triangle of a thin shell at top, middle and bottom, and that of von Mises there."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one observation to the next, or a time of whole steps, such as "10 day"."""
    shell: str = "shell"
    """Name of the compound whose energies they are."""

    def make(self, context: ObserverContext) -> Observer:
        if not isinstance(context.state.brings, ShellParts):
            raise UserError("shell_stress: needs a state with directors, got another one; use kind = 'shell'")
        if f"{self.shell}_bending" not in context.stepper.potential.terms:
            raise UserError(f"shell: no compound 'shell' is called '{self.shell}'; give its name")
        return ShellStress(context, self.every, self.shell)


OBSERVERS = {"shell_stress": ShellStressBlock}
