"""Oscillators that pull each other towards their phases (Kuramoto 1975, Lect. Notes Phys. 39, 420).

    d theta_i / dt = omega_i + K / n sum_j sin(theta_j - theta_i),    r = |sum_j exp(i theta_j)| / n

theta (n,) [rad], omega (n,) [rad/s], K [1/s]; share (n,) [1] is 1 / n. A step is Euler's.
Frequencies have a Lorentzian density of half-width gamma: they are its quantiles, gamma tan(pi (p - 1/2)).
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from minusgrad.plugin import (
    Node,
    Observer,
    ObserverContext,
    Parameter,
    Quantity,
    Record,
    State,
    StateContext,
    TimeStep,
    local_map,
    quantities,
    ti,
)


@local_map("kuramoto_pull", gives="pull", over="pairs", unit="1", theta=Node("rad"), share=Node("1"))
def kuramoto_pull(theta, share):
    """The part of the second oscillator in the mean pull on the first: sin(theta_1 - theta_0) / n."""
    return share[1] * ti.sin(theta[1] - theta[0])


@local_map(
    "kuramoto_step",
    gives="theta_next",
    over="nodes",
    unit="rad",
    theta=Node("rad"),
    omega=Node("rad/s"),
    pull=Node("1"),
    K=Parameter("rad/s", about="Strength of the pull."),
    dt=TimeStep(),
)
def kuramoto_step(theta, omega, pull, K, dt):
    """A step of Euler: theta + dt (omega + K pull)."""
    return theta[0] + dt * (omega[0] + K * pull[0])


class Rotors(Record):
    """Oscillators at random phases, with the quantiles of a Lorentzian as frequencies."""

    n: Annotated[int, Field(ge=2)]
    """Number of oscillators."""
    gamma: Annotated[float | str, Quantity("rad/s", "positive")]
    """Half-width of the density of frequencies."""

    def make(self, context: StateContext) -> State:
        gamma = quantities(self, context.units)["gamma"]
        part = (np.arange(self.n) + 0.5) / self.n
        return State(
            fields={
                "theta": context.random("phases").uniform(0.0, 2.0 * np.pi, self.n),
                "omega": gamma * np.tan(np.pi * (part - 0.5)),
                "share": np.full(self.n, 1.0 / self.n),
            },
            units={"theta": "rad", "omega": "rad/s", "share": "1"},
        )


class Order(Observer):
    """Records `observables/order`: r, from 0 without to 1 with perfect synchrony."""

    def observe(self) -> None:
        r = float(np.abs(np.exp(1j * self.fields["theta"].values.astype(float)).mean()))
        self.recorder.record_observables(self.stepper.step, self.stepper.time, {"order": r})


class OrderBlock(Record):
    """The order parameter of phases."""

    every: Annotated[int, Field(ge=1)]
    """Steps from one record to the next."""

    def make(self, context: ObserverContext) -> Observer:
        return Order(context.stepper, context.recorder, self.every)
