"""A perceptron of four maps, and masses whose springs it drives, as a program and in NumPy."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minusgrad import Fields, Node, Parameter, Potential, TimeStep, bind, local_energy, local_map, ti
from minusgrad.plugin import Evolution, Slope
from minusgrad.steppers.systems.system import System

INPUTS, HIDDEN, OUTPUTS = 5, 7, 3


@local_map("weigh", gives="z", over=("hidden", "input"), s=Node(of="input"), w=Parameter())
def weigh(s, w):
    """One layer's sum: z = W s."""
    return w * s[1]


@local_map("fire", gives="h", over="nodes", z=Node(), b=Parameter())
def fire(z, b):
    """A neuron."""
    return ti.tanh(z[0] + b)


@local_energy("aim", over="nodes", y=Node(), goal=Node())
def aim(y, goal):
    """The distance of the outputs from their goals."""
    return 0.5 * (y[0] - goal[0]) * (y[0] - goal[0])


def weights(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"w1": (HIDDEN, INPUTS), "b1": (HIDDEN,), "w2": (OUTPUTS, HIDDEN), "b2": (OUTPUTS,)}
    drawn = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    return {name: values.astype(np.float32).astype(np.float64) for name, values in drawn.items()}


def layers(fields: Fields, given: Mapping[str, np.ndarray], inputs: str = "s") -> list[Any]:
    """z1 = W1 s, h = tanh(z1 + b1), z2 = W2 h, y = tanh(z2 + b2)."""
    sizes = [{"hidden": HIDDEN}, {"hidden": OUTPUTS}]
    first = {"s": inputs}
    one = bind(
        weigh, fields, name="one", renamed=first, gives="z1", parameters={"w": given["w1"]}, sizes=sizes[0]
    )
    of_hidden = bind(fire, fields, name="h", renamed={"z": "z1"}, gives="h", parameters={"b": given["b1"]})
    second = {"s": "h"}
    two = bind(
        weigh, fields, name="two", renamed=second, gives="z2", parameters={"w": given["w2"]}, sizes=sizes[1]
    )
    of_output = bind(fire, fields, name="y", renamed={"z": "z2"}, gives="y", parameters={"b": given["b2"]})
    return [one, of_hidden, two, of_output]


PLACES = {"w1": "one.w", "b1": "h.b", "w2": "two.w", "b2": "y.b", "s": "s"}


def perceptron(precision: str = "f64") -> tuple[Potential, dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    s, goal = (rng.normal(size=n).astype(np.float32).astype(np.float64) for n in (INPUTS, OUTPUTS))
    fields, given = Fields({"s": s, "goal": goal}, precision=precision), weights()
    maps = layers(fields, given)
    potential = Potential(fields, [bind(aim, fields)], maps)
    return potential, {**given, "s": s, "goal": goal}


@local_map("kick", gives="v_next", over="nodes", v=Node(), f=Node(), dt=TimeStep())
def kick(v, f, dt):
    """Unit masses with friction."""
    return (1.0 - 0.3 * dt) * v[0] + dt * f[0]


@local_map("drift", gives="x_next", over="nodes", x=Node(), v=Node(), dt=TimeStep())
def drift(x, v, dt):
    """With the new velocity."""
    return x[0] + dt * v[0]


@local_energy("pull", over=("spring", "mass", "mass"), x=Node(of="mass"), act=Node(of="spring"))
def pull(x, act):
    """A spring in one dimension whose length a neuron sets."""
    e = x[1] - x[2] - 0.5 * act[0]
    return 0.5 * e * e


LINKS = np.array([[0, 0, 1], [2, 3, 4], [1, 1, 3]])


def controlled(precision: str = "f64") -> Evolution:
    """Five masses, whose places the network reads; its three outputs are the lengths of springs."""
    rng = np.random.default_rng(7)
    fields = Fields({"x": rng.normal(size=INPUTS), "v": 0.1 * rng.normal(size=INPUTS)}, precision=precision)
    net = layers(fields, weights(), "x")
    spring = bind(pull, fields, renamed={"act": "y"}, tuples=LINKS)
    force = Slope("force", Potential(fields, [spring], frozen=True), {"x": "f"}, factor=-1.0)
    moves = [bind(kick, fields), bind(drift, fields, renamed={"v": "v_next"})]
    return Evolution(
        System(Potential(fields, [], [*net, force, *moves])), {"x": "x_next", "v": "v_next"}, 0.1
    )


def in_numpy(x: np.ndarray, v: np.ndarray, at: Mapping[str, np.ndarray], steps: int) -> np.ndarray:
    for _ in range(steps):
        y = np.tanh(at["w2"] @ np.tanh(at["w1"] @ x + at["b1"]) + at["b2"])
        force = np.zeros(len(x))
        for s, i, j in LINKS:
            e = x[i] - x[j] - 0.5 * y[s]
            force[i] -= e
            force[j] += e
        v = (1.0 - 0.03) * v + 0.1 * force
        x = x + 0.1 * v
    return x
