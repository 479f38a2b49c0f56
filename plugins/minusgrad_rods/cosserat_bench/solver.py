"""What CosseratBench loads: a solver with its capabilities, its settings and its runs.

    cosseratbench run cantilever catenary pendulum twist capstan -s minusgrad

Capabilities say what the model has. Rods are without shear; they pass through each other and through
themselves, so that the experiments with ropes on ropes are not supported; cylinders have no ends.

CosseratBench is https://github.com/jakeryderv/cosseratbench.

Decisions 0191.
"""

from typing import Any

from cosseratbench.scenario import Scenario
from cosseratbench.solver import Capability, Diverged
from cosseratbench.trajectory import Trajectory

import minusgrad as mg

from . import runs


class MinusgradSolver:
    """Rods of the plugin `rods`.

    time_step_scale: of the steps of motions; equilibria have none.
    """

    name = "minusgrad"
    backend_version = mg.__version__
    capabilities = frozenset({Capability.STRETCH, Capability.CYLINDER_CONTACT})

    def __init__(self, time_step_scale: float = 1.0) -> None:
        self.time_step_scale = time_step_scale

    def settings(self, scenario: Scenario, *, n_elements: int, n_frames: int) -> dict[str, Any]:
        """The numbers of a run that the scenario does not give."""
        return runs.settings_of(scenario, n_elements, n_frames, self.time_step_scale)

    def run(self, scenario: Scenario, *, n_elements: int, n_frames: int) -> Trajectory:
        """The frames of a scenario. Raises `Diverged` for a run that breaks down."""
        try:
            found = runs.follow_scenario(scenario, n_elements, n_frames, self.time_step_scale)
        except runs.UnsolvedError as error:
            raise Diverged(str(error), time=error.time) from error
        return Trajectory(found.times, found.positions, found.directors)
