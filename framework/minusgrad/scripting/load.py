"""Simulations of scenes: of a file, a text or tables."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from ..app.jobs import job_runs
from ..app.run_options import Overrides, as_overrides
from ..assembly.fits.fitted import Fitted
from ..assembly.registry import PluginSource
from ..assembly.validation import validate
from ..scene import document
from ..scene.document import SceneSource
from . import energies_at_hand
from .callbacks import Callback
from .simulation import Simulation


def load(
    scene: SceneSource,
    overrides: Overrides = (),
    *,
    energies: Sequence[Any] = (),
    plugins: Sequence[PluginSource] = (),
    callbacks: Sequence[Callback] = (),
    fitted: Path | str | None = None,
) -> Simulation:
    """The simulation of a scene: the path of its file, its text, or its tables as a dictionary.

    overrides, plugins, fitted: as for `minusgrad.run`. energies: those of Python that the scene names.
    callbacks: functions marked with `minusgrad.every`. Raises `SceneError` with all mistakes of the scene.
    """
    given = energies_at_hand.plugins([*plugins, *energies])
    validated = validate(document.load(scene, as_overrides(overrides)), given)
    validated.fitted = None if fitted is None else Fitted.of_fit(Path(fitted))
    return cast(
        "Simulation", job_runs.simulation_of(validated, None, partial(Simulation.of, callbacks=callbacks))
    )
