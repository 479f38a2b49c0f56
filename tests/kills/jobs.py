"""The kinds of jobs: what begins each, what goes on, and the files that it makes."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from minusgrad.app.cli import main
from minusgrad.app.run_options import as_overrides
from tests.support import short_scenes as short
from tests.support.command import SCENES, own_files

OUT = "job"


class Job(NamedTuple):
    """One kind: `run(again)` begins it in the working folder, or goes on; returns the exit code.

    prepared: makes the files that it needs in a new folder.
    """

    run: Callable[[bool], int]
    prepared: Callable[[], None] = lambda: None


def _has_saves(run: Path = Path(OUT)) -> bool:
    kept = [p for p in (run / "ckpt").glob("*.h5") if not p.name.startswith(".")]  # no temporary files
    return bool(kept) and (run / "scene.toml").is_file()


def _scene(scene: str, overrides: Mapping[str, Any], verb: str = "run", options: tuple[str, ...] = ()) -> Job:
    """A run or a fit of a shipped scene: resumed where it was saved, else begun again."""
    plugins = [word for file in own_files(scene) for word in ("--plugin", str(file))]

    def run(again: bool) -> int:
        if again and _has_saves():
            return main(["resume", OUT, *plugins])
        line = [verb, str(short.path_of(scene)), *as_overrides(dict(overrides)), "--out", OUT, "--force"]
        return main([*line, *options, *plugins])

    return Job(run)


def _callback() -> Job:
    """A simulation of Python with a function between its steps."""

    def run(again: bool) -> int:
        import minusgrad

        def push(simulation: Any) -> None:
            velocity = simulation.fields["v"]
            velocity.set(0.999 * velocity.values)

        if again and _has_saves():
            minusgrad.resume(OUT, callbacks=[minusgrad.every(5)(push)])
            return 0
        given = {"run.steps": 60, "checkpoint.every": 10}
        simulation = minusgrad.load(SCENES / "two_body.toml", given)
        simulation.every(5)(push)
        simulation.run(out=OUT, force=True)
        return 0

    return Job(run)


def _recorded() -> None:
    if not Path("recorded").is_dir():
        line = ["run", str(short.path_of("two_body")), "run.steps=40", "checkpoint.every=10"]
        assert main([*line, "observe.1.every=4", "--out", "half", "--force"]) == 0
        Path("half").rename("recorded")


def _output(*line: str) -> Job:
    """Files that are made of a run folder, in a folder of their own."""

    def run(again: bool) -> int:
        Path(OUT).mkdir(exist_ok=True)
        return main(list(line))

    return Job(run, _recorded)


def _laser() -> Job:
    def run(again: bool) -> int:
        Path(OUT).mkdir(exist_ok=True)
        line = ["laser", "disc.png", "--machine", "grbl_diode", "--width", "1 mm", "--steps", "30"]
        line += ["--out", f"{OUT}/disc.nc"]
        if not again:
            return main(line)
        if _has_saves(Path(OUT, "disc.run")):
            return main([*line, "--resume", "--force"])
        return main([*line, "--force"])

    return Job(run, lambda: None if Path("disc.png").exists() else _copied("disc.png"))


def _copied(name: str) -> None:
    shutil.copy(SCENES / "data" / name, name)


def _sweep() -> Job:
    def run(again: bool) -> int:
        Path("plan.toml").write_text('[vary]\n"stepper.dt" = { grid = [0.005, 0.01, 0.02] }\n')
        line = ["sweep", str(short.path_of("two_body")), "plan.toml", "--out", OUT, "--workers", "0"]
        return main([*line, "run.steps=40", "checkpoint.every=10"])

    return Job(run)


TWO = short.IN_TIME["two_body"]
JOBS: dict[str, Callable[[], Job]] = {
    "program": lambda: _scene("billiards", {"run.steps": 200, "checkpoint.every": 50}),
    "smoke": lambda: _scene("smoke", short.PROGRAMS["smoke"]),
    "leapfrog": lambda: _scene("two_body", TWO),
    "clock": lambda: _scene(
        "two_body", TWO | {"run.steps": 400, "checkpoint.every": 200, "checkpoint.wall_time": "50 ms"}
    ),
    "gauss_newton": lambda: _scene(
        "spring_stiffness", short.fitted("spring_stiffness", "gauss_newton"), "fit"
    ),
    "adam": lambda: _scene("spring_stiffness", short.fitted("spring_stiffness", "adam"), "fit"),
    "lbfgs fit": lambda: _scene("spring_stiffness", short.fitted("spring_stiffness", "lbfgs"), "fit"),
    "equilibrium fit": lambda: _scene("stiffness_from_shape", short.FITTED["stiffness_from_shape"], "fit"),
    "starts": lambda: _scene("calibration", short.FITTED["calibration"], "fit"),
    "load steps": lambda: _scene("elastica", short.AT_REST["elastica"]),
    "newton": lambda: _scene("catenary", short.AT_REST["catenary"]),
    "lbfgs": lambda: _scene("stretch", short.AT_REST["stretch"]),
    "constrained": lambda: _scene("chain_of_rods", short.CONSTRAINED["chain_of_rods"]),
    "implicit": lambda: _scene("two_body", short.moved("two_body", "implicit_midpoint")),
    "gauss_radau": lambda: _scene("two_body", short.moved("two_body", "gauss_radau")),
    "wisdom_holman": lambda: _scene("two_body", short.moved("two_body", "wisdom_holman")),
    "npt": lambda: _scene("argon_npt", short.BOXED["argon_npt"]),
    "ensemble": lambda: _scene("double_pendulums", short.IN_TIME["double_pendulums"]),
    "member": lambda: _scene("double_pendulums", short.IN_TIME["double_pendulums"] | {"ensemble.member": 3}),
    "variational": lambda: _scene("double_pendulum", short.LAGRANGIAN["double_pendulum"]),
    "laser search": lambda: _scene("laser_image", short.AT_REST["laser_image"]),
    "laser": _laser,
    "sweep": _sweep,
    "callback": _callback,
    "movie": lambda: _output("movie", "recorded", "--to", f"{OUT}/film.webp"),
    "plot": lambda: _output("plot", "recorded", "--out", OUT),
    "export csv": lambda: _output("export", "recorded", "total", "--out", f"{OUT}/total.csv"),
    "export xyz": lambda: _output("export", "recorded", "--format", "xyz", "--out", f"{OUT}/frames.xyz"),
    "export vtu": lambda: _output("export", "recorded", "--format", "vtu", "--out", OUT),
}
"""By name; made in the process that runs it."""
