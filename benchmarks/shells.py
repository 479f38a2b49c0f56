"""Thin shells: the obstacle course and the large deformations of Sze, Liu and Lo, by three meshes.

    python -m benchmarks.shells [PROBLEM ...] [--json FILE]

Each mesh halves the cells of the one before, two triangles a cell. `error` is that of the finest mesh,
`order` that of the three values, log2 of the ratio of their differences; CPU seconds are of the finest mesh,
kernels from the engine's cache. Linear problems are solved as they are, by loads so small that terms of
second order vanish.

Belytschko, Stolarski, Liu, Carpenter & Ong 1985, Comput. Methods Appl. Mech. Engrg 51, 221 (the obstacle
course); MacNeal & Harder 1985, Finite Elem. Anal. Des. 1, 3; Belytschko, Wong & Stolarski 1989, Int. J.
Numer. Methods Eng. 28, 385 (the thin twisted beam); Sze, Liu & Lo 2004, Finite Elem. Anal. Des. 40, 1551
(tables at the largest loads; of the hinged roofs extremes of parabolas through their rows).
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minusgrad
from benchmarks.observed_order import observed_order

Scene = dict[str, Any]
Cells = tuple[int, int]
Answer = Callable[[Cells], tuple[float, ...]]


@dataclass(frozen=True)
class Problem:
    """targets: what is published, by what is measured; cells: of the coarsest mesh; answer: by cells."""

    name: str
    targets: Mapping[str, float]
    cells: Cells
    answer: Answer


def shell_scene(
    shape: Mapping[str, Any],
    cells: Cells,
    thickness: float,
    moduli: tuple[float, float],
    supports: Mapping[str, Any],
    energies: Sequence[Mapping[str, Any]],
    **more: Any,
) -> Scene:
    """A shell of Young's modulus and Poisson's ratio `moduli`, at rest, with Newton's method.

    supports: sides that are `clamps`, `mirrors`, and those whose places are held along axes, `places`.
    """
    young, poisson = moduli
    state = {
        "kind": "shell", "shape": dict(shape), "cells": list(cells), "thickness": thickness, "density": 1.0,
        "clamps": supports.get("clamps", []), "mirrors": supports.get("mirrors", {}), **more.pop("state", {}),
    }  # fmt: skip
    places = supports.get("places", {})
    return {
        "state": state,
        "compound": [{"kind": "shell", "youngs_modulus": young, "poissons_ratio": poisson}],
        "energy": [dict(one) for one in energies],
        "hold": [{"body": body, "field": "x", "axes": axes} for body, axes in places.items()],
        "stepper": {"kind": "newton", **more.pop("stepper", {})},
        "run": {"steps": 200, **more.pop("run", {})},
        **more,
    }


def clamp(body: str) -> dict[str, Any]:
    """A side is clamped."""
    return {"places": {body: "xyz"}, "clamps": [body]}


def force(body: str, axis: str, size: float) -> list[dict[str, Any]]:
    """A dead force at each node of a body."""
    vector = [size * (axis == one) for one in "xyz"]
    return [{"kind": "load", "name": f"force_{body}", "body": body, "force": vector}]


def line_force(side: str, ends: Sequence[str], axis: str, total: float, parts: int) -> list[dict[str, Any]]:
    """A force that is spread evenly over a side: half of it at both ends."""
    each = total / parts
    corners = [force(end, axis, -0.5 * each)[0] for end in ends]
    return [*force(side, axis, each), *corners]


def moved(scene: Scene, steps: int = 1) -> tuple[np.ndarray, np.ndarray, Any]:
    """The places at rest and at the end (n, 3), and the simulation; `steps` load steps."""
    if steps > 1:
        loads = [f"{one['name']}.force" for one in scene["energy"]]
        scene = scene | {"stepper": scene["stepper"] | {"load_steps": steps, "loads": loads}}
    simulation = minusgrad.load(scene)
    start = simulation.fields["x"].values.copy()
    simulation.step(steps if steps > 1 else scene["run"]["steps"])
    stepper: Any = simulation.stepper
    assert not stepper.failed, stepper.verdict
    return start, simulation.fields["x"].values - start, simulation


def node(simulation: Any, body: str) -> int:
    """The number of the first node of a body."""
    bodies = {one.name: one.nodes for one in simulation.state.bodies}
    return int(bodies[body][0])


# The obstacle course, linear


def scordelis_lo(cells: Cells) -> tuple[float, ...]:
    """Roof under its own weight: sinking of the middle of the free edge."""
    scale = 1e-4
    shape = {"kind": "cylinder", "radius": 25.0, "length": 25.0, "angle": math.radians(40.0)}
    holds = {"mirrors": {"left": "x", "bottom": "y"}, "places": {"top": "xz"}}
    weight = [{"kind": "body_force", "acceleration": [0.0, 0.0, -scale * 90.0 / 0.25]}]
    _, u, run = moved(shell_scene(shape, cells, 0.25, (4.32e8, 0.0), holds, weight))
    return (-u[node(run, "bottom_right"), 2] / scale,)


def pinched_cylinder(cells: Cells) -> tuple[float, ...]:
    """Cylinder between diaphragms under two forces: displacement of a force."""
    shape = {"kind": "cylinder", "radius": 300.0, "length": 300.0, "angle": math.radians(90.0)}
    holds = {"mirrors": {"left": "x", "right": "z", "bottom": "y"}, "places": {"top": "xz"}}
    scene = shell_scene(
        shape, cells, 3.0, (3e6, 0.3), holds, force("bottom_left", "z", -0.25), state={"grading": [2.0, 2.0]}
    )
    _, u, run = moved(scene)
    return (-u[node(run, "bottom_left"), 2],)


def hemisphere_scene(cells: Cells, force_size: float) -> Scene:
    """A quarter of the hemisphere with a hole of 18 degrees, under a force of this size on each axis."""
    shape = {"kind": "sphere", "radius": 10.0, "angle": math.radians(90.0)}
    shape |= {"latitudes": [0.0, math.radians(72.0)]}
    holds = {"mirrors": {"left": "y", "right": "x"}, "places": {"bottom_left": "z"}}
    half = 0.5 * force_size
    forces = [*force("bottom_left", "x", half), *force("bottom_right", "y", -half)]
    return shell_scene(shape, cells, 0.04, (6.825e7, 0.3), holds, forces)


def hemisphere(cells: Cells) -> tuple[float, ...]:
    """Hemisphere with a hole, pinched: displacement of a force."""
    scale = 1e-3
    _, u, run = moved(hemisphere_scene(cells, 2.0 * scale))
    return (u[node(run, "bottom_left"), 0] / scale,)


def twisted_beam(thickness: float) -> Answer:
    """Displacements of the end by a force along y and one along z."""

    def answer(cells: Cells) -> tuple[float, ...]:
        shape = {"kind": "strip", "length": 12.0, "width": 1.1, "twist": math.radians(90.0)}
        ends, scale = ("bottom_right", "top_right"), 1e-3 * (thickness / 0.32) ** 3
        found = []
        for axis in "yz":
            forces = line_force("right", ends, axis, scale, cells[1])
            scene = shell_scene(shape, cells, thickness, (29e6, 0.22), clamp("left"), forces)
            start, u, _ = moved(scene)
            end = np.isclose(start[:, 0], 12.0)
            found.append(float(u[end, "xyz".index(axis)].mean() / scale))
        return tuple(found)

    return answer


# Sze, Liu and Lo


def cantilever(cells: Cells) -> tuple[float, ...]:
    """Plate under a force across its end: displacements along it and across it."""
    forces = line_force("right", ("bottom_right", "top_right"), "z", 4.0, cells[1])
    shape = {"kind": "plate", "size": [10.0, 1.0]}
    start, u, _ = moved(shell_scene(shape, cells, 0.1, (1.2e6, 0.0), clamp("left"), forces), 8)
    end = u[np.isclose(start[:, 0], 10.0)].mean(axis=0)
    return -end[0], end[2]


def roll(cells: Cells, steps: int = 8) -> tuple[float, ...]:
    """Plate whose end is turned by 360 degrees: its energy, EI (2 pi)^2 / 2 L, and where its end is."""
    turned = {"side": "right", "axis": [0.0, 1.0, 0.0], "angle": -2.0 * math.pi}
    holds = {"places": {"left": "xyz"}, "clamps": ["left", turned]}
    shape = {"kind": "plate", "size": [12.0, 1.0]}
    scene = shell_scene(shape, cells, 0.1, (1.2e6, 0.0), holds, [], stepper={"load_steps": steps})
    start, u, run = moved(scene | {"run": {"steps": steps}}, 1)
    potential: Any = run.potential
    end = (start + u)[np.isclose(start[:, 0], 12.0)]
    return float(potential.value()), float(np.abs(end[:, [0, 2]]).max())


def annulus(cells: Cells) -> tuple[float, ...]:
    """Ring that is cut open, lifted at one end: displacements of the inner and the outer corner."""
    shape = {"kind": "annulus", "radii": [6.0, 10.0]}
    forces = line_force("left", ("bottom_left", "top_left"), "z", 3.2, cells[1])
    scene = shell_scene(shape, cells, 0.03, (21e6, 0.0), clamp("right"), forces)
    _, u, run = moved(scene, 20)
    return u[node(run, "top_left"), 2], u[node(run, "bottom_left"), 2]


def large_hemisphere(cells: Cells) -> tuple[float, ...]:
    """The hemisphere under forces of 400: outwards at A, inwards at B."""
    _, u, run = moved(hemisphere_scene(cells, 400.0), 10)
    return u[node(run, "bottom_left"), 0], -u[node(run, "bottom_right"), 1]


def pulled_cylinder(cells: Cells) -> tuple[float, ...]:
    """Cylinder with free ends, pulled by two forces of 40,000: at the force, beside it, and at the end."""
    shape = {"kind": "cylinder", "radius": 4.953, "length": 5.175, "angle": math.radians(90.0)}
    holds = {"mirrors": {"left": "x", "right": "z", "bottom": "y"}}
    scene = shell_scene(shape, cells, 0.094, (10.5e6, 0.3125), holds, force("bottom_left", "z", 10_000.0))
    _, u, run = moved(scene, 12)
    a, b, c = (node(run, name) for name in ("bottom_left", "bottom_right", "top_right"))
    return u[a, 2], -u[b, 0], -u[c, 0]


def crushed_cylinder(cells: Cells) -> tuple[float, ...]:
    """Cylinder between diaphragms under two forces of 12,000: inwards at the force, outwards beside it."""
    shape = {"kind": "cylinder", "radius": 100.0, "length": 100.0, "angle": math.radians(90.0)}
    holds = {"mirrors": {"left": "x", "right": "z", "bottom": "y"}, "places": {"top": "xz"}}
    scene = shell_scene(shape, cells, 1.0, (30e3, 0.3), holds, force("bottom_left", "z", -3000.0))
    _, u, run = moved(scene, 24)
    return -u[node(run, "bottom_left"), 2], u[node(run, "bottom_right"), 0]


def roof_path(cells: Cells, thickness: float, load: float, arc: float, steps: int) -> np.ndarray:
    """The path of the hinged roof: sinking of the middle and the load, (k, 2)."""
    shape = {"kind": "cylinder", "radius": 2540.0, "length": 254.0, "angle": 0.1}
    holds = {"mirrors": {"left": "x", "bottom": "y"}, "places": {"right": "xyz"}}
    scene = shell_scene(
        shape, cells, thickness, (3102.75, 0.3), holds, force("bottom_left", "z", -0.25 * load),
        stepper={"load_steps": {"arc_length": arc}, "loads": ["force_bottom_left.force"]},
        run={"steps": steps},
    )  # fmt: skip
    simulation = minusgrad.load(scene)
    stepper: Any = simulation.stepper
    middle, start = node(simulation, "bottom_left"), simulation.fields["x"].values.copy()
    path = [(0.0, 0.0)]
    while not stepper.failed and len(path) <= steps:
        simulation.step(1)
        sinking = start[middle, 2] - simulation.fields["x"].values[middle, 2]
        path.append((float(sinking), float(stepper.load * load)))
        if has_turned_twice([load for _, load in path]):
            break
    return np.array(path)


def has_turned_twice(loads: Sequence[float]) -> bool:
    """True if the loads have risen, fallen and risen again."""
    signs = np.sign(np.diff(loads))
    return int(np.count_nonzero(np.diff(signs[signs != 0.0]))) >= 2


def hinged_roof(thickness: float, arc: float) -> Answer:
    """Hinged roof under a force in its middle: the largest load, and the least one after it."""
    return lambda cells: turning_loads(roof_path(cells, thickness, 3000.0, arc, 150))


def turning_loads(path: np.ndarray) -> tuple[float, float]:
    """The largest load, and the least one after it, of parabolas through three points."""
    loads = path[:, 1]
    k = next(i for i in range(1, len(loads) - 1) if loads[i] > loads[i - 1] and loads[i] >= loads[i + 1])
    m = next(i for i in range(k + 1, len(loads) - 1) if loads[i] < loads[i - 1] and loads[i] <= loads[i + 1])
    return vertex(path[k - 1 : k + 2]), vertex(path[m - 1 : m + 2])


def vertex(points: np.ndarray) -> float:
    """The extreme value of the parabola through three points (3, 2)."""
    a, b, c = np.polyfit(points[:, 0] - points[1, 0], points[:, 1], 2)
    return float(c - b * b / (4.0 * a))


PROBLEMS = (
    Problem("Scordelis-Lo roof", {"sinking": 0.3024}, (16, 16), scordelis_lo),
    Problem("pinched cylinder", {"displacement": 1.8248e-5}, (16, 16), pinched_cylinder),
    Problem("pinched hemisphere", {"displacement": 0.0940}, (12, 12), hemisphere),
    Problem("twisted beam, 0.32", {"along y": 1.754e-3, "along z": 5.424e-3}, (48, 8), twisted_beam(0.32)),
    Problem("twisted beam, 0.05", {"along y": 0.343, "along z": 1.390}, (12, 2), twisted_beam(0.05)),
    Problem("plate rolled to a circle", {"energy": 100.0 * (2.0 * math.pi) ** 2 / 24.0}, (8, 1), roll),
    Problem("plate under shear", {"along": 3.286, "across": 6.698}, (8, 2), cantilever),
    Problem("slit annulus", {"inner": 13.891, "outer": 17.528}, (40, 8), annulus),
    Problem("hemisphere, 400", {"outwards": 4.067, "inwards": 8.178}, (6, 6), large_hemisphere),
    Problem("pulled cylinder", {"A": 2.768, "B": 4.551, "C": 3.269}, (9, 6), pulled_cylinder),
    Problem("hinged roof, 12.7", {"largest": 2231.0, "least": 514.0}, (8, 8), hinged_roof(12.7, 0.08)),
    Problem("hinged roof, 6.35", {"largest": 587.0, "least": -387.0}, (8, 8), hinged_roof(6.35, 0.03)),
)
UNREACHED = (Problem("crushed cylinder", {"A": 83.102, "B": 34.272}, (12, 12), crushed_cylinder),)
"""Not near what is published on meshes of some minutes: solved where it is named."""
HEAD = (
    "| problem | number | published | triangles | coarse | half | quarter | error | order | CPU |\n"
    + "|---" * 10
    + "|"
)


@dataclass(frozen=True)
class Line:
    """A number of a problem: what three meshes gave; CPU seconds of the finest."""

    problem: str
    number: str
    target: float
    found: tuple[float, ...]
    triangles: int
    seconds: float

    @property
    def error(self) -> float:
        """Relative, of the finest mesh."""
        return self.found[-1] / self.target - 1.0

    @property
    def order(self) -> float:
        """NaN where the values show none."""
        return observed_order(*self.found)

    def row(self) -> str:
        """In Markdown."""
        values = " | ".join(f"{value:.5g}" for value in self.found)
        order = "" if math.isnan(self.order) else f"{self.order:.1f}"
        start = f"| {self.problem} | {self.number} | {self.target:.5g} | {self.triangles} | {values} | "
        return start + f"{100.0 * self.error:+.2f} % | {order} | {self.seconds:.1f} s |"


def lines_of(problem: Problem, meshes: int = 3) -> list[Line]:
    """A line for each number of a problem."""
    found: list[tuple[float, ...]] = []
    began = time.process_time()
    for k in range(meshes):
        began = time.process_time()
        cells = problem.cells[0] << k, problem.cells[1] << k
        found.append(problem.answer(cells))
    seconds = time.process_time() - began
    return [
        Line(problem.name, number, target, tuple(one[i] for one in found), 2 * cells[0] * cells[1], seconds)
        for i, (number, target) in enumerate(problem.targets.items())
    ]


def main(arguments: list[str]) -> None:
    """Print the lines of the problems whose names begin so."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shells")
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    parser.add_argument("--json", type=Path)
    given, found = parser.parse_args(arguments), []
    print(HEAD, flush=True)
    named = [one for one in (*PROBLEMS, *UNREACHED) if one.name.startswith(tuple(given.problems))]
    for problem in named if given.problems else PROBLEMS:
        for line in lines_of(problem):
            print(line.row(), flush=True)
            found.append(asdict(line))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
