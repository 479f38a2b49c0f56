"""Every shipped scene, short, by every stepper that fits, in both precisions: cut at random steps, by other
threads than the whole run had; and every file is the same, bit for bit.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minusgrad.app.jobs.job_runs import resume
from minusgrad.app.runs import build, fit, run
from minusgrad.errors import InterruptedRunError
from minusgrad.scene.document import PROGRAM, load
from minusgrad.steppers import scheduler
from minusgrad.steppers.integrator import Integrator
from tests.support.command import SCENES, files, last_saved, minusgrad, own_files
from tests.support.short_scenes import (
    AT_REST,
    BOXED,
    CONSTRAINED,
    DRIVEN,
    FEW_BODIES,
    FITTED,
    FITTERS,
    FLOWS,
    FOLLOWED,
    IMPLICIT,
    IN_TIME,
    LAGRANGIAN,
    PROGRAMS,
    SEARCHES,
    SPLITTINGS,
    STIFF,
    TABLED,
    TOUCHING,
    ctrl_c,
    cut,
    fitted,
    fitted_program,
    moved,
    path_of,
    searched,
)
from tests.support.tiers import sampled


class Case(NamedTuple):
    """A scene, how it moves or what it looks for, and in which precision."""

    scene: str
    kind: str
    precision: str
    do: Callable
    overrides: dict[str, Any]

    def by(self, threads: int) -> dict[str, Any]:
        return self.overrides | {"runtime.precision": self.precision, "runtime.threads": threads}

    @property
    def steps(self) -> int:
        return self.overrides["fit.iterations" if self.do is fit else "run.steps"]


WITH_TANGENTS = ("double_pendulums", "stability_map")
"""Scenes whose observers need derivatives of steps, which a heat bath has not."""


def cases() -> Iterator[Case]:
    """Scene by scene, so that kernels are compiled once for all its steppers."""
    for precision in ("f64", "f32"):
        for scene in IN_TIME:
            kinds = [k for k in SPLITTINGS if k != "langevin" or scene not in WITH_TANGENTS]
            yield from (Case(scene, kind, precision, run, moved(scene, kind)) for kind in kinds)
        for scene in CONSTRAINED:
            kinds = ("leapfrog", "yoshida4", "langevin")
            yield from (Case(scene, kind, precision, run, moved(scene, kind)) for kind in kinds)
        for kind in FEW_BODIES if precision == "f64" else ():
            yield Case("two_body", kind, precision, run, moved("two_body", kind))
        for scene in STIFF:
            yield from (Case(scene, kind, precision, run, moved(scene, kind)) for kind in IMPLICIT)
        for scene, short in DRIVEN.items():
            by_kind = ((kind, short | {"stepper.kind": kind}) for kind in IMPLICIT)
            yield from (Case(scene, kind, precision, run, given) for kind, given in by_kind)
        yield from (Case(scene, "npt", precision, run, overrides) for scene, overrides in BOXED.items())
        for scene, overrides in LAGRANGIAN.items():
            for order in (2, 4):
                by = overrides | {"stepper.order": order}
                yield Case(scene, f"variational by order {order}", precision, run, by)
        for scene, overrides in FLOWS.items():
            for scheme in ("implicit_euler", "crank_nicolson", "bdf2"):
                by = overrides | {"stepper.scheme": scheme}
                yield Case(scene, f"gradient_flow by {scheme}", precision, run, by)
        for scene in AT_REST:
            yield from (Case(scene, kind, precision, run, searched(scene, kind)) for kind in SEARCHES)
        soft = {"energy.0.youngs_modulus": "2.5 kPa"}  # so that four steps do not end the search
        for scene, own in (("stretch", {"run.steps": 8}), ("stiffness_from_shape", {"run.steps": 4} | soft)):
            yield Case(scene, "newton", precision, run, searched(scene, "newton") | own)
        yield Case("catenary", "newton", precision, run, AT_REST["catenary"])
        edits = {"stepper.editing.size": [24, 24], "stepper.editing.every": 2, "stepper.editing.until": 12}
        yield Case("engraver_text", "path_search", precision, run, AT_REST["engraver_text"] | edits)
        for scene, short in TOUCHING.items() if precision == "f64" else ():
            kinds = ("implicit_euler", "bdf2", "newmark")
            by_kind = ((kind, short | {"stepper.kind": kind}) for kind in kinds)
            yield from (Case(scene, kind, precision, run, given) for kind, given in by_kind)
        if precision == "f64":  # by load steps, as the scene says
            for scene in ("elastica", "inflated_tube"):
                yield Case(scene, "newton", precision, run, AT_REST[scene])
            yield from (Case(scene, "newton", precision, run, TABLED[scene]) for scene in TABLED)
            for scene, overrides in FOLLOWED.items():
                yield Case(scene, "newton", precision, run, overrides)
        for scene in FITTED:
            methods = [m for m in FITTERS if m != "gauss_newton" or scene not in ("swing_up", "walker")]
            methods = ["optimality_criteria"] if scene == "topology" else methods
            yield from (Case(scene, kind, precision, fit, fitted(scene, kind)) for kind in methods)
        for scene, overrides in PROGRAMS.items():
            yield Case(scene, PROGRAM, precision, run, overrides)
            if table := load(path_of(scene)).data.get("fit"):
                yield Case(scene, table["method"], precision, fit, fitted_program(scene))


CASES = {f"{c.scene} {c.do.__name__} {c.kind} {c.precision}": c for c in cases()}
CHEAPEST = [(run, "two_body"), (run, "stretch"), (fit, "weigh_a_planet")]
"""Of what moves in time, is minimised, is fitted."""


def own(case: Case) -> bool:
    """Whether the scene itself names this stepper or method, and this precision."""
    data = load(path_of(case.scene)).data
    kind = data["fit"]["method"] if case.do is fit else data["stepper"]["kind"]
    return (kind, data.get("runtime", {}).get("precision", "f64")) == (case.kind, case.precision)


SMALL_FITS = ("billiards", "wave", "wave_original")
"""Programs whose fits are in the sample."""
ALIKE = (
    "copper_constants",
    "diffmpm",
    "diffmpm3d",
    "dam_break",
    "elastic_seed",
    "electric",
    "laser_butterfly",
)
ALIKE += (
    "yukawa_cluster",
    "figure_eight",
    "galaxy_collision",
    "laser_image",
    "liquid",
    "mass_spring",
    "mercury",
)
ALIKE += ("inflated_tube", "mpm_lagrangian", "rigid_body", "silicon", "silicon_tersoff", "slider_crank")
ALIKE += (
    "peptide_in_water",
    "rigid_water",
    "spring_stiffness",
    "tennis_racket",
    "walker",
    "water_renderer",
    "rods_from_path",
    "uncertain_beam",
    "calibration",
    "lj_minima",
    "process_window",
    "two_photon",
)
ALIKE += (
    "curved_beam",
    "nafems_le1",
    "nafems_le10",
    "nafems_le11",
    "patch_test",
    "twisted_beam",
    "twisted_cube",
)
ALIKE += ("buckling_ring", "draped_cloth", "plate_with_hole", "strip_from_photo")
"""Scenes whose files have the same kinds of contents as those of a cheaper scene in the sample."""


MECHANISM = ("double_pendulum", "f64")
"""The one of the scenes with Lagrangians that is run in the sample."""


def in_sample(case: Case) -> bool:
    if case.scene in ALIKE or (case.do is fit and case.scene in PROGRAMS and case.scene not in SMALL_FITS):
        return False
    if case.scene in LAGRANGIAN and case.do is run:
        return case.kind == "variational by order 4" and (case.scene, case.precision) == MECHANISM
    if case.kind in FEW_BODIES:
        return case.kind in ("blanes_moan6", "gauss_radau", "wisdom_holman")
    return own(case) or ((case.do, case.scene) in CHEAPEST and case.precision == "f64")


SAMPLE = [*(name for name, case in CASES.items() if in_sample(case)), "rods_from_path fit lbfgs f64"]
"""Scenes by their own steppers and in their own precision, and every stepper on the cheapest scene."""


def test_no_scene_and_no_stepper_is_left_out() -> None:
    """Gauss-Newton takes misfits only, unlike the losses of the walker and of the pole."""
    assert {c.scene for c in CASES.values()} == {path.stem for path in SCENES.glob("*.toml")}
    from minusgrad.assembly.registry import Registry

    steppers = set(Registry.load(["core", "elastic", "gravity", "laser", "rendering"]).tables["stepper"])
    assert {c.kind.partition(" by ")[0] for c in CASES.values() if c.do is run} == steppers
    names = [(c.scene, c.kind, c.precision, c.do) for c in cases()]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice  # of two cases with one name the first would be lost


@pytest.fixture(scope="module")
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Case], dict[str, bytes]]:
    """The files of uninterrupted runs on one thread.

    All are made at once: the engine starts again for another number of threads, and compiles every kernel
    again. A row whose whole run fails has that error.
    """
    made: dict[str, dict[str, bytes] | Exception] = {}
    chosen = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}

    def done(case: Case) -> dict[str, bytes] | Exception:
        try:
            out, own = tmp_path_factory.mktemp("whole") / "run", own_files(case.scene)
            return files(case.do(path_of(case.scene), case.by(1), out, plugins=own).folder)
        except Exception as error:
            return error

    def of(case: Case) -> dict[str, bytes]:
        if not made:
            made.update({name: done(one) for name, one in CASES.items() if name in chosen})
        found = made[next(name for name, c in CASES.items() if c is case)]
        if isinstance(found, Exception):
            raise found
        return dict(found)

    return of


@pytest.fixture(autouse=True)
def step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of one step, so that a run stops exactly where the test asks."""
    monkeypatch.setattr(scheduler, "Pace", partial(scheduler.Pace, 0.0))


@pytest.mark.parametrize("name", sampled(CASES, SAMPLE))
def test_a_run_that_was_cut_ends_with_the_same_files(name: str, tmp_path: Path, whole) -> None:
    case, chance = CASES[name], random.Random(name)
    expected = whole(case)
    last = (
        min(case.steps, 4) if case.kind in ("gauss_newton", "newton") else case.steps
    )  # or it may have settled
    first, second = sorted(chance.sample(range(1, last - 1), 2))
    own = own_files(case.scene)
    folder = cut(tmp_path / "run", path_of(case.scene), case.by(2), first, case.do, plugins=own)
    assert last_saved(folder) == first
    with ctrl_c(second) as progress, pytest.raises(InterruptedRunError):
        resume(folder, plugins=own, progress=progress)
    assert last_saved(folder) == second
    resume(folder, plugins=own)
    found = files(folder)
    assert found.pop("overrides.json") != expected.pop("overrides.json")
    assert found == expected


NEW = ("two_body run yoshida4 f64", "warm_crystal run langevin f32", "plummer run leapfrog f32",
       "stretch run lbfgs f64", "laser_image run adam f32", "cantilever run fire f64",
       "stretch run gradient_descent f32", "spring_stiffness fit gauss_newton f64",
       "walker fit lbfgs f32", "gravity_seed run symplectic_euler f64",
       "two_body run bdf2 f32", "double_pendulum run variational by order 2 f32",
       "cantilever_damped run newmark f64")  # fmt: skip
"""One of each kind."""


@pytest.mark.parametrize("name", sampled(NEW, NEW[:2]))
def test_a_new_process_goes_on_where_this_one_stopped(name: str, tmp_path: Path, whole) -> None:
    case = CASES[name]
    expected = whole(case)
    if case.do is run and isinstance((one := build(path_of(case.scene), case.by(2))).stepper, Integrator):
        assert one.stepper.fused == (case.scene != "plummer")
    folder = cut(tmp_path / "run", path_of(case.scene), case.by(2), min(case.steps // 2, 3), case.do)
    done = minusgrad("resume", folder)
    failed = case.kind == "gauss_newton"  # six iterations are not enough
    assert (done.returncode, done.stderr) == (int(failed), "")
    found = files(folder)
    assert found.pop("overrides.json") != expected.pop("overrides.json")
    assert found == expected
