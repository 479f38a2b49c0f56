"""The shipped scenes, shortened, under every stepper that fits; and how a run of them is cut."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from minusgrad.app.run_options import RunOptions
from minusgrad.app.runs import run
from minusgrad.errors import InterruptedRunError
from minusgrad.scene.document import load
from tests.support.command import SCENES, last_saved


def looking(*often: int) -> dict[str, int]:
    """The observers' rhythms, in their order."""
    return {f"observe.{k}.every": n for k, n in enumerate(often)}


def counted(*varied: str) -> dict[str, int]:
    """Eleven values of each: more members than two vectors have lanes, and some left over."""
    return {f'ensemble.vary."{key}".range.count': 11 for key in varied}


GALAXY = ("disc", "spheres.halo", "spheres.bulge")
"""Parts of each galaxy."""
IN_TIME: dict[str, dict[str, Any]] = {
    "argon_liquid": {"run.steps": 12, "checkpoint.every": 4} | {"observe.0.begin": 0} | looking(4, 2, 2),
    "cantilever_damped": {"run.steps": 30, "checkpoint.every": 10} | looking(2, 10, 6, 10),
    "cold_collapse": {"state.n": 60, "run.steps": 60, "checkpoint.every": 20} | looking(5, 4, 5, 10, 6),
    "crossed_fields": {"run.steps": 60, "checkpoint.every": 20} | looking(6, 4),
    "dam_break": {"run.steps": 60, "checkpoint.every": 20, "state.particles": 6, "state.floor": "0.12 m"}
    | dict.fromkeys(("state.h", "map.0.h", "map.1.h", "dissipation.0.h"), "12.4 mm")
    | {"stepper.dt": 3e-4, "map.0.cutoff": "24.8 mm", "dissipation.0.cutoff": "24.8 mm"}
    | looking(4, 4, 10),
    "elastic_seed": {"run.steps": 60, "checkpoint.every": 20, "state.cells": [8, 8], "stepper.dt": 3e-4}
    | {"energy.2.stiffness": 1e5}
    | looking(4, 4, 6),
    "double_pendulums": {"run.steps": 60, "checkpoint.every": 20}
    | counted("state.angles.0", "state.angles.1")
    | looking(6),
    "figure_eight": {"run.steps": 60, "checkpoint.every": 20} | looking(5, 20, 10),
    "galaxy_collision": {f"state.{one}.{part}.n": 30 for one in ("first", "second") for part in GALAXY}
    | {"run.steps": 12, "checkpoint.every": 4}
    | looking(2, 4),
    "gravity_seed": {"run.steps": 60, "checkpoint.every": 20} | looking(5, 20, 10),
    "mercury": {"run.steps": 60, "checkpoint.every": 20} | looking(5, 20, 10),
    "outer_solar_system": {"run.steps": 60, "checkpoint.every": 15},
    "peptide_in_water": {"run.steps": 12, "checkpoint.every": 4} | looking(2, 2, 4, 4),
    "plummer": {"state.n": 700, "run.steps": 30, "checkpoint.every": 10} | looking(5, 5, 5),
    "spring_stiffness": {"run.steps": 60, "checkpoint.every": 20},
    "stability_map": {"run.steps": 60, "checkpoint.every": 20}
    | counted("state.bodies.1.semi_major_axis", "state.bodies.1.eccentricity")
    | looking(6),
    "two_body": {"run.steps": 80, "checkpoint.every": 20},
    "walker": {"run.steps": 60, "checkpoint.every": 20} | looking(4, 4, 4),
    "warm_crystal": {"run.steps": 60, "checkpoint.every": 20} | looking(6, 4, 12),
    "wave_energy": {"run.steps": 60, "checkpoint.every": 20} | looking(4, 10),
    "weigh_a_planet": {"run.steps": 60, "checkpoint.every": 20},
    "yukawa_cluster": {"state.n": 300, "energy.0.far": {"opening_angle": 0.6, "order": 2}}
    | {"run.steps": 12, "checkpoint.every": 4}
    | looking(2, 4, 2, 6),
}
"""What moves in time. A Plummer sphere of this size is stepped by many launches on all threads, the others
inside one kernel."""

CONSTRAINED: dict[str, dict[str, Any]] = {
    "chain_of_rods": {"state.links": 5, "state.length": "25 cm", "run.steps": 30, "checkpoint.every": 10}
    | looking(5, 4, 6),
    "rigid_water": {"run.steps": 12, "checkpoint.every": 4} | looking(2, 2, 4, 4),
    "slider_crank": {"run.steps": 30, "checkpoint.every": 10} | looking(5, 4, 6),
    "tennis_racket": {"run.steps": 30, "checkpoint.every": 10} | looking(5, 5, 4, 6),
}
"""What moves with constraints, by splitting schemes and in a heat bath."""

BOXED: dict[str, dict[str, Any]] = {
    "argon_npt": {"state.cells": [4, 4, 4], "energy.0.cutoff": "6.8 angstrom", "run.steps": 36}
    | {"checkpoint.every": 12}
    | looking(4, 4, 6, 6),
}
"""What moves in a box that moves, by its own stepper."""

FLOWS: dict[str, dict[str, Any]] = {
    "bimetal_heating": {"run.steps": 24, "checkpoint.every": 8} | looking(1, 4),
    "quenched_bar": {"state.mesh.cells": [8, 5], "run.steps": 24, "checkpoint.every": 8} | looking(1, 4),
}
"""What runs down the slope of a potential, by its own stepper."""

LAGRANGIAN: dict[str, dict[str, Any]] = {
    "double_pendulum": {"run.steps": 24, "checkpoint.every": 8} | looking(2, 4),
    "foucault": {"run.steps": 24, "checkpoint.every": 8} | looking(2, 4, 4, 6),
    "swing_up": {"run.steps": 24, "checkpoint.every": 8} | looking(2, 4),
}
"""What a Lagrangian moves."""

DRIVEN: dict[str, dict[str, Any]] = {
    "twisted_bar": {"state.cells": [4, 1, 1], "state.order": 1, "stepper.dt": "0.1 s", "run.steps": 12}
    | {"checkpoint.every": 4}
    | looking(2, 4, 4, 6),
    "buckling_ring": {"run.steps": 12, "checkpoint.every": 4} | looking(4, 4),
    "draped_cloth": {"state.cells": [4, 4], "run.steps": 12, "checkpoint.every": 4} | looking(4, 4),
}
"""What only implicit steppers move at this dt."""
TOUCHING: dict[str, dict[str, Any]] = {
    "stacked_cubes": {"run.steps": 12, "checkpoint.every": 4} | looking(2, 4)
}
"""What the implicit steppers move that know barriers."""

BATH = {"friction": 0.1, "temperature": 1e-3}
"""In the units of the scene, whatever they are."""
BATHS = {"mercury": {"friction": 1e-4, "temperature": 1e-13}}
"""Of scenes that the bath would end: here the planet falls into the Sun."""
LENGTHS = {"cantilever": "1 mm", "stiffness_from_shape": "1 mm"}
"""By what the first steps of a search move nodes, in scenes that Newton's method takes without."""
SPLITTINGS = ("symplectic_euler", "leapfrog", "yoshida4", "yoshida6", "langevin")
FEW_BODIES = ("yoshida8", "mclachlan8", "kahan_li8", "blanes_moan4", "blanes_moan6")
FEW_BODIES += ("blanes_moan_rkn4", "blanes_moan_rkn6", "gauss_radau", "wisdom_holman")
"""Steppers of double precision, for two bodies."""
IMPLICIT = ("implicit_euler", "implicit_midpoint", "bdf2", "newmark")
STIFF = ("two_body", "cantilever_damped", "gravity_seed", "weigh_a_planet")
"""Scenes whose energies have Hessians, for implicit steppers."""
SEARCHES = ("gradient_descent", "adam", "fire", "lbfgs")
FITTERS = ("gauss_newton", "lbfgs", "adam")

SPOT = {"waist": "50 um", "full": "250000 J/m^2"}
AT_REST: dict[str, dict[str, Any]] = {
    "cantilever": {"stepper.gradient": 0.0, "run.steps": 6, "checkpoint.every": 2} | looking(2, 2, 2, 2),
    "catenary": {"stepper.gradient": 0.0, "run.steps": 8, "checkpoint.every": 2} | looking(2, 2, 2, 2),
    "cooks_membrane": {"stepper.gradient": 0.0, "run.steps": 6, "checkpoint.every": 2} | looking(2, 2, 2),
    "copper_constants": {"state.cells": [1, 1, 1], "run.steps": 24, "checkpoint.every": 8}
    | {"map.0.cutoff": "8 angstrom", "energy.0.cutoff": "8 angstrom"}
    | looking(4, 24, 8),
    "elastica": {"state.cells": [10, 1], "run.steps": 6, "checkpoint.every": 2} | looking(2, 2, 2),
    "engraver_text": {"state.canvas.size": [24, 24], "state.target": {"kind": "disc", "radius": "160 um"}}
    | {"state.spare": 20, "run.steps": 12, "checkpoint.every": 4, "observe.1.every": 6}
    | {
        "map": [
            {"kind": "blanking"},
            {"kind": "gaussian_dose", "fields": {"power": "beam"}} | SPOT,
            {"kind": "sigmoid_threshold"},
            {"kind": "overlap", "sizes": {"picture": 1}},
        ]
    }
    | {"energy": [{"kind": "soft_overlap", "weight": "1 J"}]},
    "euler_column": {"state.cells": [4, 20], "stepper.gradient": 0.0, "run.steps": 6, "checkpoint.every": 2}
    | looking(2, 2),
    "euler_elastica": {"state.elements": 6, "run.steps": 8, "checkpoint.every": 4} | looking(2),
    "strip_from_photo": {"state.elements": 8, "run.steps": 24, "checkpoint.every": 8} | looking(8),
    "diamond_frame": {"state.elements": 3, "run.steps": 4, "checkpoint.every": 2} | looking(2),
    "hanging_spring": {"state.elements": 12, "state.turns": 1.0, "run.steps": 5, "checkpoint.every": 2}
    | looking(1),
    "inflated_tube": {"run.steps": 6, "checkpoint.every": 2} | looking(2, 2, 2),
    "laser_butterfly": {"state.canvas.size": [96, 96]}
    | {"state.path": {"kind": "wander", "points": 400, "extent": 60.0}}
    | {"run.steps": 24, "checkpoint.every": 8}
    | looking(2, 10),
    "laser_image": {"state.path": {"kind": "hatch", "pitch": "100 um"}}
    | {"run.steps": 12, "checkpoint.every": 4, "observe.1.every": 6},
    "lj_minima": {'ensemble.vary."runtime.seed".range.to': 3, "stepper.gradient": 0.0}
    | {"run.steps": 6, "checkpoint.every": 2}
    | looking(2),
    "process_window": {"state.canvas.size": [24, 24], "compound.0.dose": [0.05]}
    | {"run.steps": 12, "checkpoint.every": 4}
    | looking(2, 6),
    "ringing_bar": {"state.cells": [20, 4], "stepper.gradient": 0.0, "run.steps": 6, "checkpoint.every": 2}
    | looking(2, 2),
    "silicon": {"run.steps": 24, "checkpoint.every": 8} | looking(4, 24, 8),
    "stiffness_from_shape": {"run.steps": 24, "checkpoint.every": 8} | looking(2, 8),
    "silicon_tersoff": {"run.steps": 24, "checkpoint.every": 8} | looking(4, 24, 8),
    "stretch": {"run.steps": 40, "checkpoint.every": 16} | looking(4, 4, 4, 4),
    "topology": {"state.cells": [12, 5], "run.steps": 24, "checkpoint.every": 8} | looking(2, 8),
    "two_photon": {"state.path": {"kind": "hatch", "pitch": "2 um"}}
    | {"run.steps": 12, "checkpoint.every": 4, "observe.1.every": 6},
    "uncertain_beam": {"state.cells": [10, 1], "stepper.gradient": 0.0, "run.steps": 6, "checkpoint.every": 2}
    | looking(2),
    "volume_renderer": {"state.cells": 10, "state.cameras.pixels": 12, "state.cameras.steps": 40}
    | {"run.steps": 24, "checkpoint.every": 8}
    | looking(2, 10),
}
"""What is minimised."""
BY_NEWTON = {"stepper.gradient": 0.0, "run.steps": 6, "checkpoint.every": 2} | looking(2, 2, 2)
TABLED: dict[str, dict[str, Any]] = {
    "bimetal": {"run.steps": 6, "checkpoint.every": 2} | looking(2, 2, 2),
    "curved_beam": BY_NEWTON,
    "fibre_composite": {"state.around": 2, "state.rings": [1, 1], "state.order": 1}
    | {"stepper.gradient": 0.0, "run.steps": 6, "checkpoint.every": 2}
    | looking(2, 2, 2),
    "nafems_le1": BY_NEWTON,
    "nafems_le10": BY_NEWTON,
    "nafems_le11": BY_NEWTON,
    "patch_test": BY_NEWTON,
    "plate_with_hole": BY_NEWTON,
    "sheared_square": {"state.cells": [10, 10], "run.steps": 5, "checkpoint.every": 2} | looking(2, 2, 2),
    "straight_beam": BY_NEWTON,
    "twisted_beam": BY_NEWTON,
    "twisted_cube": {"state.cells": [4, 3, 3]} | BY_NEWTON,
}
"""Solids whose tables others publish, and one that is too slender for others, by Newton's method alone."""
FITTED: dict[str, dict[str, Any]] = {
    "calibration": {"ensemble.members": 3, "fit.iterations": 6, "fit.save_every": 2},
    "rods_from_path": {"stepper.dt": "20 ms", "run.steps": 60, "fit.iterations": 6, "fit.save_every": 2},
    "spring_stiffness": {"fit.iterations": 6, "fit.save_every": 2},
    "stiffness_from_shape": {"fit.iterations": 6, "fit.save_every": 2},
    "strip_from_photo": {"fit.iterations": 6, "fit.save_every": 2},
    "swing_up": {"run.steps": 12, "fit.iterations": 6, "fit.save_every": 2},
    "topology": {"state.cells": [12, 5], "fit.iterations": 6, "fit.save_every": 2},
    "weigh_a_planet": {"fit.iterations": 6, "fit.save_every": 2, "stepper.dt": "30 day", "run.steps": 1218},
    "walker": {"run.steps": 150, "fit.iterations": 6, "fit.save_every": 2},
}
"""What is fitted."""
COARSE: dict[str, dict[str, Any]] = {
    "diffmpm": {"state.grid": {"cells": [32, 32], "spacing": 0.03125}, "map.5.inverse_moment": 4096.0}
    | {f"state.blocks.{k}.counts": counts for k, counts in enumerate([[12, 4]] + 4 * [[2, 4]])},
    "liquid": {"state.grid": {"cells": [16, 12, 22], "spacing": 0.03125}, "map.6.inverse_moment": 4096.0}
    | {f"state.blocks.{k}.counts": [2, 1, 3] if k < 16 else [3, 2, 3] for k in range(20)},
    "diffmpm3d": {"state.grid": {"cells": [16, 12, 22], "spacing": 0.03125}, "map.5.inverse_moment": 4096.0}
    | {
        "state.blocks": [
            {"name": f"leg{k}", "muscle": k, "corner": [0.1 + 0.1 * k, 0.1, 0.3], "size": [0.08, 0.06, 0.08]}
            | {"counts": [2, 2, 3]}
            for k in range(2)
        ]
    },
    "mpm_lagrangian": {"state.counts": [12, 4]},
}
"""Material points in the same places, a few of them on coarse grids."""
UNJUDGED = {"run.allow_dead": True}
"""No search for dead fields before the first step: its kernels take most of the time of so short a run."""
FOLLOWED: dict[str, dict[str, Any]] = {
    "shell_roof": {"run.steps": 4, "checkpoint.every": 1} | looking(1, 2),
    "twisted_rod": {"state.elements": 8, "run.steps": 6, "checkpoint.every": 2} | looking(2, 2),
    "two_bar_truss": {"run.steps": 24, "checkpoint.every": 6} | looking(2, 4, 4),
}
"""Equilibria under a load that grows, by arc length."""
PROGRAMS: dict[str, dict[str, Any]] = {
    "billiards": {"run.steps": 1023, "checkpoint.every": 341} | looking(93),
    "diffmpm": {"run.steps": 12, "checkpoint.every": 4} | looking(3) | COARSE["diffmpm"] | UNJUDGED,
    "diffmpm3d": {"run.steps": 6, "checkpoint.every": 2} | looking(3) | COARSE["diffmpm3d"] | UNJUDGED,
    "electric": {"state.copies": 4, "run.steps": 60, "checkpoint.every": 20}
    | {f"map.{k}.copies": 4 for k in (3, *range(5, 12))}
    | looking(10)
    | UNJUDGED,
    "mass_spring": {"run.steps": 120, "checkpoint.every": 40} | looking(20),
    "liquid": {"run.steps": 6, "checkpoint.every": 2} | looking(3) | COARSE["liquid"] | UNJUDGED,
    "mpm_lagrangian": {"run.steps": 30, "checkpoint.every": 10}
    | looking(5)
    | COARSE["mpm_lagrangian"]
    | UNJUDGED,
    "smoke": {"state.size": [8, 8], "run.steps": 24, "checkpoint.every": 8, "map.2.repeat": 3}
    | UNJUDGED
    | {"state.fields.velocity": {"kind": "vector", "unit": "m s^-1", "value": [0.3, 0.2]}}
    | looking(4, 4),
    "rigid_body": {"run.steps": 90, "checkpoint.every": 30} | looking(23),
    "water_renderer": {"state.size": [32, 32], "run.steps": 24, "checkpoint.every": 8}
    | {"state.fields.height": {"kind": "gaussian", "unit": "m", "value": 1.0, "width": 3.0}}
    | looking(4, 4),
    "wave_original": {"state.size": [32, 32], "run.steps": 24, "checkpoint.every": 8},
    "wave": {"state.size": [32, 32], "run.steps": 24, "checkpoint.every": 8}
    | {"state.fields.height": {"kind": "gaussian", "unit": "m", "value": 1.0, "width": 3.0}}
    | looking(4, 4),
}
"""Programs in time; their fits take these steps, too."""


def path_of(scene: str) -> Path:
    return SCENES / f"{scene}.toml"


def shortened(scene: str) -> dict[str, Any]:
    """Overrides for a scene by its own stepper; of an ensemble for its first member."""
    first = {"ensemble.member": 0} if "ensemble" in load(path_of(scene)).data else {}
    return (FITTED | IN_TIME | BOXED | FLOWS | DRIVEN | TOUCHING | AT_REST | FOLLOWED | TABLED | PROGRAMS)[
        scene
    ] | first


def moved(scene: str, kind: str) -> dict[str, Any]:
    """Overrides for a scene that moves in time by this splitting."""
    own = load(path_of(scene)).data["stepper"]
    short = (IN_TIME | CONSTRAINED)[scene]
    dt = short.get("stepper.dt", own["dt"])
    bath = BATHS.get(scene, BATH)
    bath = {k: own.get(k, bath[k]) for k in bath} if kind == "langevin" else {}
    return short | {"stepper": {"kind": kind, "dt": dt} | bath}


def searched(scene: str, kind: str) -> dict[str, Any]:
    """Overrides for a scene that is minimised in this way."""
    own = load(path_of(scene)).data["stepper"]
    fields = own.get("fields", {"x": {"scale": LENGTHS[scene]} if scene in LENGTHS else {}})
    return AT_REST[scene] | {"stepper": {"kind": kind, "fields": fields}}


def fitted(scene: str, method: str) -> dict[str, Any]:
    """Overrides for a scene that is fitted in this way."""
    own = {k: v for k, v in load(path_of(scene)).data["fit"].items() if k not in ("rate", "change")}
    return {"fit": own | {"method": method}} | FITTED[scene]


def fitted_program(scene: str) -> dict[str, Any]:
    """Overrides for the fit of a program, by its own method."""
    return PROGRAMS[scene] | {"fit.iterations": 6, "fit.save_every": 2}


@contextmanager
def ctrl_c(step: int) -> Iterator[Callable]:
    """A progress that presses Ctrl-C once this step is reached."""

    @contextmanager
    def progress(first: int, last: int) -> Iterator[Callable[[int], None]]:
        yield lambda reached: os.kill(os.getpid(), signal.SIGINT) if reached >= step else None

    yield progress


def cut(out: Path, scene: Path | str, overrides: dict, step: int, do: Callable = run, **more) -> Path:
    """A run (or fit) that was interrupted at this step, or at the end of the batch that has it."""
    with ctrl_c(step) as progress, pytest.raises(InterruptedRunError) as end:
        do(scene, overrides, out, progress=progress, **more)
    options = "".join(f" --plugin {path}" for path in more.get("plugins", ()))
    assert str(end.value).endswith(f"continue with: minusgrad resume {out}{options}")
    if do is run:
        whole = RunOptions(scene, overrides, plugins=more.get("plugins", ())).validated()
        assert step <= last_saved(out) < whole.scene.run.steps
    return out
