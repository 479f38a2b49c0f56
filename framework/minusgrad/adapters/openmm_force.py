"""The energy of a scene as a force of OpenMM, called from Python at each step.

Decisions 0340.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import openmm
from openmm import unit

from ..app.run_options import Overrides, Plugins
from ..engine.runtime import ENGINE
from ..errors import AtomsError
from ..scene.document import is_text
from .scene_energy import Given, GivenUnits, SceneEnergy

UNITS = GivenUnits(1e-9, 1000.0 / 6.02214076e23)
"""OpenMM's nm and kJ/mol, in SI; exact."""


def force(
    scene: Given,
    overrides: Overrides = (),
    plugins: Plugins = (),
    *,
    particles: Sequence[int] | None = None,
) -> openmm.PythonForce:
    """The energy of a scene as a force of OpenMM, for its integrators, barostats and samplers.

        system.addForce(minusgrad.openmm.force("scene.toml"))

    scene: the path of a scene file, a simulation from `minusgrad.build`, or a potential. overrides, plugins:
    those of `minusgrad.run`. particles: the numbers of the particles that are the scene's nodes, in their
    order (default: all). Their positions become the scene's field "x"; masses are OpenMM's, and what the
    scene holds is held by particles of mass 0. A scene without units, and a potential, are taken to be in
    kJ/mol and nm. A periodic scene has the box of the context, which barostats move. The force has
    its own copy of the scene. OpenMM's XML of a system holds the path of the
    scene, where there is one.

    Raises `SceneError` with all mistakes of the scene, `AtomsError` where it has no positions in space, and
    where their number is another than that of `particles`; at a step OpenMM raises its own error, with our
    text.
    """
    compute = _Compute(scene, overrides, plugins)
    periodic = compute.scene.periodic
    if any(periodic) and not all(periodic):
        raise AtomsError(
            "scene: OpenMM repeats along all axes or none, got a box that repeats along some; change"
            " [box] periodic"
        )
    made = openmm.PythonForce(compute)
    made.setUsesPeriodicBoundaryConditions(all(periodic))
    if particles is not None:
        if len(particles) != compute.scene.count:
            raise AtomsError(
                f"particles: the scene has {compute.scene.count} nodes, got {len(particles)} numbers;"
                " give one for each"
            )
        made.setParticles(list(particles))
    return made


class _Compute:
    """The function that OpenMM calls; pickled as the scene it was made from."""

    def __init__(self, scene: Given, overrides: Overrides, plugins: Plugins):
        self.given = (scene, overrides, plugins)
        self.scene = SceneEnergy(scene, UNITS, overrides, plugins)

    def __reduce__(self) -> tuple[Any, ...]:
        scene, overrides, plugins = self.given
        if isinstance(scene, Mapping) or is_text(cast(Any, scene)):
            return _Compute, self.given
        if not isinstance(scene, Path | str):
            raise TypeError("minusgrad.openmm.force: only a scene that was given by its path can be written")
        return _Compute, (str(Path(scene).resolve()), overrides, plugins)

    def __call__(self, state: openmm.State) -> tuple[float, Any]:
        edges = None
        if all(self.scene.periodic):
            edges = state.getPeriodicBoxVectors(asNumpy=True).value_in_unit(unit.nanometer)
        with ENGINE:
            self.scene.place(state.getPositions(asNumpy=True).value_in_unit(unit.nanometer), edges)
            energy, gradient = self.scene.energy_and_gradient()
        return energy, -gradient
