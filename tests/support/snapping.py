"""Structures that snap and buckle, with their paths on paper.

two bars      P(y) = 2 k (L0 / L - 1) y, L^2 = a^2 + y^2       largest where L^3 = L0 a^2 (von Mises 1923)
strut         P(q) = k q / sin q                               a rigid strut on a torsional spring
shallow arch  P = e - q + N q, N = e^2 - q^2 - 4 r^2           r (16 - 4 N) = 0: bifurcates at N = 4
          in two modes, q and r, of a hinged sine arch (after Fung and Kaplan 1952, NACA TN 2840)
"""

import numpy as np

import minusgrad as mg
from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy, ti
from minusgrad.steppers.holds import Holds
from minusgrad.steppers.minimisers.continuation.arc_length import ArcLength
from minusgrad.steppers.minimisers.newton import Newton
from minusgrad.steppers.minimisers.unknowns import Unknown

SPAN, RISE, STIFF = 1.0, 0.3, 1000.0
LENGTH = float(np.hypot(SPAN, RISE))
AT_LIMIT = float(np.sqrt((LENGTH * SPAN**2) ** (2.0 / 3.0) - SPAN**2))
"""y of the limit points, above and below."""


def load_of(y: "float | np.ndarray") -> "float | np.ndarray":
    """P(y) of the two bars."""
    return 2.0 * STIFF * (LENGTH / np.hypot(SPAN, y) - 1.0) * y


LIMIT = float(load_of(AT_LIMIT))


def two_bars(arc: float, metre: float = 1.0, newton: float = 1.0, **more: object) -> mg.Simulation:
    """The two bars under twice their limit load, in other units of length and force."""
    x = metre * np.array([[-SPAN, 0.0], [0.0, RISE], [SPAN, 0.0]])
    rest, stiffness = metre * LENGTH, STIFF * newton / metre
    steps = {"arc_length": arc, **more}
    return mg.Simulation(
        fields={"x": x, "m": np.ones(3)},
        bodies={"feet": [0, 2], "top": [1]},
        energies=[
            mg.energy("spring", tuples=[[0, 1], [1, 2]], rest=[rest, rest], stiffness=stiffness),
            mg.energy("load", body="top", force=[0.0, -2.0 * LIMIT * newton]),
        ],
        holds=[{"body": "feet"}, {"body": "top", "axes": "x", "name": "rail"}],
        stepper=mg.Newton(load_steps=steps, loads=["load.force"]),
    )


def in_series(soft: float, arc: float, pulled: float | None = None) -> mg.Simulation:
    """The two bars, pushed through a soft spring by a force, or by its end that moves down by `pulled`."""
    x = np.array([[-SPAN, 0.0], [0.0, RISE], [SPAN, 0.0], [0.0, RISE + 1.0]])
    energies = [
        mg.energy("spring", tuples=[[0, 1], [1, 2]], rest=[LENGTH, LENGTH], stiffness=STIFF),
        mg.energy("spring", name="soft", tuples=[[1, 3]], rest=[1.0], stiffness=soft),
    ]
    holds = [{"body": "feet"}, {"body": "top", "axes": "x", "name": "rail"}]
    loads = ["load.force"]
    if pulled is None:
        energies.append(mg.energy("load", body="end", force=[0.0, -2.0 * LIMIT]))
        holds.append({"body": "end", "axes": "x", "name": "upper"})
    else:
        loads = []
        holds.append({"body": "end", "displacement": [0.0, -pulled]})
    return mg.Simulation(
        fields={"x": x, "m": np.ones(4)},
        bodies={"feet": [0, 2], "top": [1], "end": [3]},
        energies=energies,
        holds=holds,
        stepper=mg.Newton(load_steps={"arc_length": arc}, loads=loads),
    )


@local_energy(
    "strut", over="nodes", q=Node("1"), k=Parameter("J", default=1.0), p=Parameter("J", default=0.0)
)
def strut(q, k, p):
    """A rigid strut on a torsional spring, under a load that keeps its direction."""
    return 0.5 * k * q[0] * q[0] - p * (1.0 - ti.cos(q[0]))


@local_energy(
    "shallow_arch",
    over="nodes",
    q=Node("1", (2,)),
    e=Parameter("1", default=1.0),
    p=Parameter("J", default=0.0),
)
def shallow_arch(q, e, p):
    """Bending and thrust of a hinged sine arch in two modes."""
    thrust = e * e - q[0][0] * q[0][0] - 4.0 * q[0][1] * q[0][1]
    bent = 0.5 * (q[0][0] - e) * (q[0][0] - e) + 8.0 * q[0][1] * q[0][1]
    return bent + 0.25 * thrust * thrust + p * q[0][0]


def strut_path(k: float, p: float, arc: float, **more: object) -> ArcLength:
    """The strut from upright on."""
    fields = Fields({"q": np.zeros(1)}, {"q": "1"})
    potential = Potential(fields, [bind(strut, fields, parameters={"k": k, "p": p})])
    return ArcLength(Newton(potential, [Unknown("q")]), Holds(fields), arc, ["strut.p"], **more)


def arch_path(rise: float, p: float, arc: float, **more: object) -> ArcLength:
    """The shallow arch of a rise from rest on."""
    fields = Fields({"q": np.array([[rise, 0.0]])}, {"q": "1"})
    potential = Potential(fields, [bind(shallow_arch, fields, parameters={"e": rise, "p": p})])
    return ArcLength(Newton(potential, [Unknown("q")]), Holds(fields), arc, ["shallow_arch.p"], **more)


def arch_load(rise: float, q: "float | np.ndarray") -> "float | np.ndarray":
    """P of the symmetric path."""
    return rise - q + (rise * rise - q * q) * q


def hinged_rods(n: int, arc: float, load: float, **more: object) -> mg.Simulation:
    """A column of n rigid rods of 1/n with torsional springs of n between them, hinged at both ends.

    It buckles at 4 n^2 sin^2(k pi / 2 n), k = 1, 2, ... (Hencky 1920).
    """
    x = np.stack([np.linspace(0.0, 1.0, n + 1), np.zeros(n + 1)], axis=1)
    return mg.Simulation(
        fields={"x": x, "m": np.ones(n + 1)},
        bodies={"foot": [0], "end": [n]},
        energies=[
            mg.energy(
                "angle",
                tuples=[[i, i + 1, i + 2] for i in range(n - 1)],
                rest=[np.pi] * (n - 1),
                stiffness=float(n),
            ),
            mg.energy("load", body="end", force=[-load, 0.0]),
        ],
        constraints=[{"kind": "rod", "tuples": [[i, i + 1] for i in range(n)], "length": [1.0 / n] * n}],
        holds=[{"body": "foot"}, {"body": "end", "axes": "y"}],
        stepper=mg.Newton(load_steps={"arc_length": arc, **more}, loads=["load.force"]),
    )


def followed(simulation: mg.Simulation, most: int = 600) -> list[np.ndarray]:
    """The positions at each step, to the end of the path."""
    seen = [simulation.fields["x"].values.copy()]
    while simulation.stepper.outcome is None and simulation.stepper.step < most:
        simulation.step(1)
        seen.append(simulation.fields["x"].values.copy())
    return seen


def advanced(path: ArcLength, most: int = 600) -> list[tuple[float, np.ndarray]]:
    """The load and the coordinates at each step, to the end of the path."""
    seen = []
    while path.outcome is None and path.step < most:
        path.advance(1)
        seen.append((path.load, path.potential.fields["q"].values.ravel().copy()))
    return seen
