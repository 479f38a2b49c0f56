"""Ensembles of small systems: ns of one core a member-step, and gradients of whole runs.

    8       eight bodies, 1,024 members: in lanes, one after another, and by REBOUND and JAX
    springs a net of 50 springs: in lanes, and by Taichi by hand, a member to a turn of a parallel loop
    runs    dL/dx of 1,024 runs of eight bodies in lanes, in times of their forward runs

Every call begins at the same states. All columns have one thread, so that times are those of a core.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from minusgrad import Fields, Potential, bind, ti
from minusgrad.adjoint.members.run_lanes import RunLanes
from minusgrad.energies.fields import Motion
from minusgrad.engine import runtime
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.members.integrator_lanes import IntegratorLanes
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad_elastic.springs import spring
from minusgrad_gravity.gravity import gravity

from .few_bodies import DT, state
from .harness import session
from .harness.cases import OURS, Call, Case, Column, Goal
from .harness.peers import peer

MEMBERS, BODIES = 1024, 8
SINGLY, FORWARD, TAICHI = "one after another", "forward", "Taichi"
NODES, STIFFNESS = (5, 6), 40.0


def cases() -> Iterator[Case]:
    """Bodies in both precisions, springs, and gradients of runs."""
    steps = 50 if session.quick() else 400
    yield bodies(steps, "f64", 6.0, {"JAX": 30.0})
    yield bodies(steps, "f32", 10.0, {})
    yield springs(steps)
    yield runs(steps)


def bodies(steps: int, precision: str, least: float, others: dict[str, float]) -> Case:
    """So many steps of all members; `least`: by how much REBOUND shall be slower."""
    single = precision == "f32"
    columns = {
        OURS: Column(partial(in_lanes, steps, precision), engine=True),
        SINGLY: Column(partial(singly, steps, precision), engine=True),
        "REBOUND": Column(
            lambda: in_rebound(steps), peer=True, expected=lambda: by_numpy(steps, drift_first=True)
        ),
    }
    if not single:
        columns["JAX"] = Column(lambda: in_jax(steps), peer=True)
    return Case(
        "ensembles",
        f"{BODIES}",
        precision,
        columns,
        expected=lambda: by_numpy(steps),
        tolerance=1e-4 if single else 1e-9,
        count=steps * MEMBERS,
        unit="ns a member-step",
        base="REBOUND",
        goals=(Goal("REBOUND", 1.0 / least), *(Goal(name, 1.0 / by) for name, by in others.items())),
        threads=1,
        about={"N": BODIES, "members": MEMBERS, "steps": steps},
    )


def springs(steps: int) -> Case:
    """A net of springs that begins displaced."""
    return Case(
        "ensembles",
        "springs",
        "f64",
        {
            OURS: Column(partial(net_in_lanes, steps), engine=True),
            TAICHI: Column(partial(net_by_hand, steps), engine=True),
        },
        expected=lambda: net_by_numpy(steps),
        tolerance=1e-9,
        count=steps * MEMBERS,
        unit="ns a member-step",
        base=TAICHI,
        goals=(Goal(TAICHI, 1.1),),
        threads=1,
        about={"springs": len(net()["pairs"]), "members": MEMBERS, "steps": steps},
    )


def runs(steps: int) -> Case:
    """The gradient of |x|^2 at the end by the start, and the runs alone."""
    return Case(
        "ensembles",
        "runs",
        "f64",
        {
            OURS: Column(partial(gradients, steps), engine=True),
            FORWARD: Column(partial(in_lanes, steps, "f64"), engine=True, expected=lambda: by_numpy(steps)),
        },
        expected=lambda: slopes(steps),
        tolerance=1e-9,
        count=steps * MEMBERS,
        unit="ns a member-step",
        base=FORWARD,
        goals=(Goal(FORWARD, 4.0),),
        threads=1,
        about={"N": BODIES, "members": MEMBERS, "steps": steps},
    )


# Bodies


@cache
def starts() -> np.ndarray:
    """x (members, bodies, 3): each member a little displaced."""
    x = state(BODIES, 1)["x"]
    return x + np.random.default_rng(0).normal(scale=1e-6, size=(MEMBERS, *x.shape))


def stepper_of(precision: str) -> tuple[Fields, Integrator]:
    """One member."""
    given = state(BODIES, 1)
    fields = Fields({name: given[name] for name in "xvm"}, precision=precision)
    potential = Potential(fields, [bind(gravity, fields, parameters={"G": 1.0, "softening": 0.0})])
    return fields, Integrator(System(potential, [Motion("x", "v", "m")]), SCHEMES["leapfrog"], DT)


def in_lanes(steps: int, precision: str) -> Call:
    """All members in one kernel."""
    fields, stepper = stepper_of(precision)
    lanes = IntegratorLanes(stepper, MEMBERS)
    x, v = starts(), np.broadcast_to(state(BODIES, 1)["v"], starts().shape)
    lanes.arrays.write_members(fields["x"].array, x)
    lanes.evaluate(0.0)
    began = lanes.state()

    def call() -> np.ndarray:
        lanes.restore(began | {"fields/x": x, "fields/v": v})
        lanes.advance(0, steps)
        runtime.sync()
        return lanes.arrays.rows(fields["x"].array)

    return call


def singly(steps: int, precision: str) -> Call:
    """`advance` of each member in turn, by one stepper."""
    fields, stepper = stepper_of(precision)
    v, began = state(BODIES, 1)["v"], stepper.state()

    def call() -> np.ndarray:
        found = []
        for x in starts():
            fields["x"].set(x)
            fields["v"].set(v)
            stepper.restore(began)
            stepper.evaluate()
            stepper.advance(steps)
            found.append(fields["x"].values.copy())
        runtime.sync()
        return np.array(found)

    return call


def accelerated(x: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Of all members, by NumPy."""
    d = x[:, None] - x[:, :, None]
    own = np.eye(BODIES)
    return np.einsum("kij,kijc->kic", m * ((d * d).sum(-1) + own) ** -1.5 * (1.0 - own), d)


def by_numpy(steps: int, drift_first: bool = False, start: np.ndarray | None = None) -> np.ndarray:
    """The last x of all members; of those that begin at `start`, which may be complex."""
    given, x = state(BODIES, 1), (starts() if start is None else start).copy()
    v, m, h = np.repeat(given["v"][None].astype(x.dtype), len(x), 0), given["m"], DT
    for _ in range(steps):
        if drift_first:
            x += 0.5 * h * v
            v += h * accelerated(x, m)
            x += 0.5 * h * v
        else:
            v += 0.5 * h * accelerated(x, m)
            x += h * v
            v += 0.5 * h * accelerated(x, m)
    return x


def slopes(steps: int) -> np.ndarray:
    """dL/dx of the first member by complex steps, (1, bodies, 3)."""
    size, step = 3 * BODIES, 1e-30
    start = starts()[0] + 1j * step * np.eye(size).reshape(size, BODIES, 3)
    last = by_numpy(steps, start=start)
    return ((last * last).sum((1, 2)).imag / step).reshape(1, BODIES, 3)


def in_rebound(steps: int) -> Call:
    """A simulation for all members in turn."""
    rebound = peer("rebound")
    given, simulation = state(BODIES, 1), rebound.Simulation()
    simulation.integrator, simulation.dt = "leapfrog", DT
    for x, v, m in zip(given["x"], given["v"], given["m"], strict=True):
        simulation.add(m=m, x=x[0], y=x[1], z=x[2], vx=v[0], vy=v[1], vz=v[2])
    v = np.ascontiguousarray(given["v"])

    def call() -> np.ndarray:
        found = np.zeros_like(starts())
        for x, last in zip(starts(), found, strict=True):
            simulation.set_serialized_particle_data(xyz=np.ascontiguousarray(x), vxvyvz=v)
            simulation.steps(steps)
            simulation.synchronize()
            simulation.serialize_particle_data(xyz=last)
        return found

    return call


def in_jax(steps: int) -> Call:
    """`vmap` over members of `fori_loop` over steps."""
    jax = peer("jax")
    jax.config.update("jax_enable_x64", True)
    jnp, given = jax.numpy, state(BODIES, 1)
    m, v0 = jnp.asarray(given["m"]), jnp.asarray(given["v"])
    away = jnp.diag(jnp.full(BODIES, jnp.inf))

    def acceleration(x: Any) -> Any:
        d = x[None] - x[:, None]
        return jnp.einsum("ij,ijc->ic", m * ((d * d).sum(-1) + away) ** -1.5, d)

    def run(x: Any) -> Any:
        def step(_: int, given: Any) -> Any:
            x, v, a = given
            v = v + 0.5 * DT * a
            x = x + DT * v
            a = acceleration(x)
            return x, v + 0.5 * DT * a, a

        return jax.lax.fori_loop(0, steps, step, (x, v0, acceleration(x)))[0]

    every, x = jax.jit(jax.vmap(run)), jnp.asarray(starts())
    return lambda: np.asarray(jax.block_until_ready(every(x)))


def gradients(steps: int) -> Call:
    """dL/dx of all members, L = |x|^2 at the end."""
    fields, stepper = stepper_of("f64")
    x, v = fields["x"].array, fields["v"].array
    run = RunLanes(stepper, stepper.clock, MEMBERS, [x], steps, 1 << 30)
    v0 = np.broadcast_to(state(BODIES, 1)["v"], starts().shape)

    def call() -> np.ndarray:
        run.arrays.write_members(x, starts())
        run.arrays.write_members(v, v0)
        run.begin()
        run.advance(steps)
        slope = 2.0 * run.arrays.rows(x)[:, None]
        run.arrays.write_members(x, starts())
        run.arrays.write_members(v, v0)
        return run.gradients(["x"], [steps], {"x": slope})["x"]

    return call


# Springs


@cache
def net() -> dict[str, np.ndarray]:
    """Nodes on a grid, springs along its lines, and the displaced start of each member."""
    rows, columns = NODES
    rest = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), -1).reshape(-1, 2).astype(float)
    gaps = np.linalg.norm(rest[:, None] - rest, axis=-1)
    pairs = np.argwhere(np.triu((gaps > 0) & (gaps < 1.2)))[:50].astype(np.int32)
    shift = np.random.default_rng(1).normal(scale=0.02, size=(MEMBERS, *rest.shape))
    return {"pairs": pairs, "rest": rest, "x": rest + shift}


def net_in_lanes(steps: int) -> Call:
    """All members in one kernel."""
    given = net()
    fields = Fields({"x": given["rest"], "v": 0.0 * given["rest"], "m": np.ones(len(given["rest"]))})
    rest = {"rest": np.ones(len(given["pairs"]))}
    bound = bind(spring, fields, tuples=given["pairs"], data=rest, parameters={"stiffness": STIFFNESS})
    stepper = Integrator(System(Potential(fields, [bound]), [Motion("x", "v", "m")]), SCHEMES["leapfrog"], DT)
    lanes = IntegratorLanes(stepper, MEMBERS)
    lanes.arrays.write_members(fields["x"].array, given["x"])
    lanes.evaluate(0.0)
    began = lanes.state()

    def call() -> np.ndarray:
        lanes.restore(began)
        lanes.advance(0, steps)
        runtime.sync()
        return lanes.arrays.rows(fields["x"].array)

    return call


def net_by_hand(steps: int) -> Call:
    """A parallel loop over members; the forces of each by a loop over springs."""
    runtime.start()
    given, count, nodes = net(), MEMBERS, len(net()["rest"])
    x, v, g = (ti.ndarray(ti.f64, (count, nodes, 2)) for _ in range(3))
    pairs = ti.ndarray(ti.i32, given["pairs"].shape)
    pairs.from_numpy(given["pairs"])

    @ti.func
    def pull(x: ti.template(), g: ti.template(), pairs: ti.template(), k: ti.i32):
        for n in range(nodes):
            g[k, n, 0] = 0.0
            g[k, n, 1] = 0.0
        for e in range(pairs.shape[0]):
            i, j = pairs[e, 0], pairs[e, 1]
            a, b = x[k, i, 0] - x[k, j, 0], x[k, i, 1] - x[k, j, 1]
            r = ti.sqrt(a * a + b * b)
            f = STIFFNESS * (r - 1.0) / r
            g[k, i, 0] += f * a
            g[k, i, 1] += f * b
            g[k, j, 0] -= f * a
            g[k, j, 1] -= f * b

    @ti.kernel
    def go(
        x: ti.types.ndarray(dtype=ti.f64, ndim=3),
        v: ti.types.ndarray(dtype=ti.f64, ndim=3),
        g: ti.types.ndarray(dtype=ti.f64, ndim=3),
        pairs: ti.types.ndarray(dtype=ti.i32, ndim=2),
        steps: ti.i32,
    ):
        for k in range(x.shape[0]):
            pull(x, g, pairs, k)
            for _ in range(steps):
                for n in range(nodes):
                    for c in range(2):
                        v[k, n, c] -= 0.5 * DT * g[k, n, c]
                        x[k, n, c] += DT * v[k, n, c]
                pull(x, g, pairs, k)
                for n in range(nodes):
                    for c in range(2):
                        v[k, n, c] -= 0.5 * DT * g[k, n, c]

    def call() -> np.ndarray:
        x.from_numpy(given["x"])
        v.from_numpy(np.zeros_like(given["x"]))
        go(x, v, g, pairs, steps)
        runtime.sync()
        return x.to_numpy()

    return call


def net_by_numpy(steps: int) -> np.ndarray:
    """The last x of all members."""
    given = net()
    x, v, (i, j) = given["x"].copy(), np.zeros_like(given["x"]), given["pairs"].T

    def pull() -> np.ndarray:
        d = x[:, i] - x[:, j]
        r = np.linalg.norm(d, axis=-1, keepdims=True)
        force, g = STIFFNESS * (r - 1.0) / r * d, np.zeros_like(x)
        for e in range(len(i)):
            g[:, i[e]] += force[:, e]
            g[:, j[e]] -= force[:, e]
        return g

    for _ in range(steps):
        v -= 0.5 * DT * pull()
        x += DT * v
        v -= 0.5 * DT * pull()
    return x
