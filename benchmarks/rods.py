"""Rods on CosseratBench, solver beside solver in one run: errors, orders, CPU and wall time.

    python -m benchmarks.rods                         all experiments, all solvers that are installed
    python -m benchmarks.rods cantilever catenary     some
    python -m benchmarks.rods steel                   the steel beam of PyElastica's issue 246

The experiments, their metrics and the other solvers are those of CosseratBench (the extra `bench`). Each run
comes after one of a thousandth of its time, so that nothing is compiled in it; CPU time is of all threads.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

SOLVERS = ("minusgrad", "pyelastica", "mujoco")
EXPERIMENTS: dict[str, tuple[int, ...]] = {
    "cantilever": (10, 20, 40),
    "catenary": (25, 50, 100),
    "capstan": (100,),
    "pendulum": (25, 50),
    "twist": (50,),
}
"""Elements of each experiment."""


def measured_runs(name: str, solvers: tuple[str, ...]) -> Iterator[str]:
    """A line for each resolution and solver: metrics, penetration, CPU and wall seconds."""
    from cosseratbench import registry
    from cosseratbench.experiment import score

    experiment = registry.load_experiment(name)
    scenario = experiment.scenario
    short = replace(scenario, duration=1e-3 * scenario.duration)
    for elements in EXPERIMENTS[name]:
        for one in solvers:
            begin = f"{name:11s} {one:11s} {elements:4d}"
            try:
                solver = registry.load_solver(one)
                solver.run(short, n_elements=elements, n_frames=2)
                cpu, wall = time.process_time(), time.perf_counter()
                found = solver.run(scenario, n_elements=elements, n_frames=experiment.n_frames)
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            except Exception as error:  # of any solver: one line, and on
                yield f"{begin}  {type(error).__name__}: {str(error).splitlines()[0]:.60s}"
                continue
            metrics, seen = score(experiment, scenario, found)
            texts = [f"{key} {value:.3e}" for key, value in metrics.items()]
            if np.isfinite(seen["max_penetration"]):
                texts.append(f"penetration {seen['max_penetration']:.3f}")
            yield f"{begin}  {'  '.join(texts)}  CPU {cpu:.2f} s  wall {wall:.2f} s"


# The steel beam of https://github.com/GazzolaLab/PyElastica/issues/246

BEAM = {"length": 0.25, "radius": 1.4e-3, "density": 6450.0, "youngs_modulus": 50e9, "force": 0.1}
POISSON, ELEMENTS, STEP = 0.33, 100, 2.5e-5
"""Theirs: a hundred elements, dt = 0.01 of their length."""


def beam_values() -> tuple[float, float]:
    """F L^3 / 3 EI [m] and the first angular frequency of a clamped beam [rad/s] (Euler, Bernoulli)."""
    moment, area = np.pi * BEAM["radius"] ** 4 / 4.0, np.pi * BEAM["radius"] ** 2
    bending = BEAM["youngs_modulus"] * moment
    first = 1.8751040687**2 * np.sqrt(bending / (BEAM["density"] * area)) / BEAM["length"] ** 2
    return BEAM["force"] * BEAM["length"] ** 3 / (3.0 * bending), float(first)


def beam_scene(elements: int, stepper: dict[str, Any], force: float) -> dict[str, Any]:
    """The beam, clamped at one end and pulled aside at the other."""
    return {
        "state": {
            "kind": "rod",
            "elements": elements,
            "length": BEAM["length"],
            "density": BEAM["density"],
            "section": {"kind": "circle", "radius": BEAM["radius"]},
            "inertia": "bending",
        },
        "compound": [
            {
                "kind": "rod",
                "youngs_modulus": BEAM["youngs_modulus"],
                "poissons_ratio": POISSON,
                "shear": False,
                "clamps": ["first"],
            }
        ],
        "energy": [{"kind": "load", "body": "last", "force": [0.0, 0.0, -force]}],
        "hold": [{"body": "first", "field": "x"}],
        "stepper": stepper,
        "run": {"steps": 100},
    }


def beam_rest(elements: int) -> Any:
    """The beam at rest under its load."""
    import minusgrad as mg

    made = mg.load(beam_scene(elements, {"kind": "newton"}, BEAM["force"]))
    stepper: Any = made.stepper
    while stepper.outcome is None:
        made.step()
    return made


def beam_swings(elements: int, parts: int, swings: float, kind: str = "implicit_midpoint") -> np.ndarray:
    """Heights of the tip after each step of the beam that is let go; `parts` steps in a period."""
    import minusgrad as mg

    rest, (_, first) = beam_rest(elements), beam_values()
    made = mg.load(beam_scene(elements, {"kind": kind, "dt": 2.0 * np.pi / first / parts}, 0.0))
    for name in ("x", "q"):
        made.fields[name].set(rest.fields[name].values)
    heights = [made.fields["x"].values[-1, 2]]
    for _ in range(round(swings * parts)):
        made.step()
        heights.append(made.fields["x"].values[-1, 2])
    return np.array(heights)


def swing_frequency(heights: np.ndarray, parts: int) -> float:
    """The angular frequency that fits heights best, in parts of the exact first one."""
    t = 2.0 * np.pi * np.arange(len(heights)) / parts

    def misfit(ratio: float) -> float:
        basis = np.stack([np.cos(ratio * t), np.sin(ratio * t)], axis=1)
        return float(np.linalg.lstsq(basis, heights, rcond=None)[1].sum())

    ratios = np.linspace(0.9, 1.1, 2001)
    return float(ratios[int(np.argmin([misfit(r) for r in ratios]))])


def elastica_tip(time_step: float, until: float) -> tuple[float, float]:
    """PyElastica's beam, its load a ramp of half of `until`: the last deflection, and when it breaks down."""
    import elastica as ea

    class Beam(ea.BaseSystemCollection, ea.Constraints, ea.Forcing, ea.Damping):
        pass

    beam = Beam()
    rod = ea.CosseratRod.straight_rod(
        ELEMENTS, np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]),
        BEAM["length"], BEAM["radius"], BEAM["density"], youngs_modulus=BEAM["youngs_modulus"],
        shear_modulus=0.5 * BEAM["youngs_modulus"] / (1.0 + POISSON),
    )  # fmt: skip
    beam.append(rod)
    beam.dampen(rod).using(ea.AnalyticalLinearDamper, uniform_damping_constant=100.0, time_step=time_step)
    beam.constrain(rod).using(ea.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    force = np.array([BEAM["force"], 0.0, 0.0])
    beam.add_forcing_to(rod).using(ea.EndpointForces, np.zeros(3), force, ramp_up_time=0.5 * until)
    beam.finalize()
    stepper, now = ea.PositionVerlet(), 0.0
    while now < until:
        now = stepper.step(beam, now, time_step)
        tip = float(rod.position_collection[0, -1])
        if not abs(tip) < BEAM["length"]:
            return float("nan"), float(now)
    return tip, float("inf")


def steel_lines() -> Iterator[str]:
    """Static deflection and first frequency, ours and PyElastica's."""
    deflection, first = beam_values()
    yield f"Euler, Bernoulli: deflection {deflection:.5e} m, first frequency {first:.3f} rad/s"
    beam_rest(ELEMENTS)
    cpu = time.process_time()
    tip = -float(beam_rest(ELEMENTS).fields["x"].values[-1, 2])
    cpu = time.process_time() - cpu
    yield f"minusgrad, Newton, {ELEMENTS} elements: error {tip / deflection - 1.0:+.2e}  CPU {cpu:.2f} s"
    for elements, parts in ((20, 50), (40, 100)):
        cpu = time.process_time()
        ratio = swing_frequency(beam_swings(elements, parts, 2.0), parts)
        cpu = time.process_time() - cpu
        dt = 2.0 * np.pi / first / parts
        yield (
            f"minusgrad, implicit midpoint, {elements} elements, dt {dt:.2e} s: frequency {ratio - 1.0:+.1e}"
            f"  CPU {cpu:.2f} s with what is compiled"
        )
    for step, until in ((STEP, 0.5), (0.01 * STEP, 0.2)):
        cpu = time.process_time()
        tip, broken = elastica_tip(step, until)
        cpu = time.process_time() - cpu
        ends = f"breaks down at {broken:.2e} s" if np.isnan(tip) else f"error {tip / deflection - 1.0:+.2e}"
        yield f"pyelastica, dt {step:.1e} s, {until} s: {ends}  CPU {cpu:.2f} s"


def main(names: list[str]) -> int:
    """Print lines. Returns the exit code."""
    for name in names or [*EXPERIMENTS, "steel"]:
        lines = steel_lines() if name == "steel" else measured_runs(name, SOLVERS)
        for line in lines:
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
