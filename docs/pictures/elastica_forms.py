"""Euler's elastic curves: rods at rest, as dots, over the curves of elliptic integrals.

python -m tests.project.shipped_pictures euler_elastica
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tests.support.elastica_forms import FORMS, rod_on_the_curve

SHORT = {"sixth, whose ends have passed each other": "sixth"}


def nine_forms(folder: Path) -> Figure:
    """All forms but the straight one, each in a panel; the rods have 40 elements."""
    figure = Figure(figsize=(9.0, 4.6), layout="constrained")
    panels: Any = figure.subplots(2, 4)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as made_in:
        os.chdir(made_in)
        try:
            for panel, (name, form) in zip(panels.flat, FORMS.items(), strict=True):
                rod = rod_on_the_curve(form, 40, Path(made_in))
                rod.step(60)
                curve, x = form.places(np.linspace(-0.5, 0.5, 401)), rod.fields["x"].values
                panel.plot(curve[:, 0], curve[:, 2], color="#888888", linewidth=1.2)
                panel.plot(x[:, 0], x[:, 2], "o", color="#1f6fb2", markersize=2.6)
                panel.set_aspect("equal", adjustable="datalim")
                panel.set_title(SHORT.get(name, name).replace(", ", "\n"), fontsize=9)
                panel.axis("off")
        finally:
            os.chdir(here)
    return figure
