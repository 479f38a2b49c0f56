"""A scalar field on a periodic square lattice: physics without particles, positions, or the letters x and v.

    U(phi) = sum over nodes (m2 phi^2 / 2 + lam phi^4 / 4) + sum over links (phi_i - phi_j)^2 / 2

phi moves with velocity pi and inertia 1. Small waves cos(k.n) oscillate with

    omega^2 = m2 + 4 sin^2(k_1 / 2) + 4 sin^2(k_2 / 2)

and under leapfrog of step h, exactly, with Omega in cos(Omega h) = 1 - (omega h)^2 / 2.
"""

import numpy as np

from minusgrad import Motion, Node, Parameter, State, hookimpl, local_energy
from minusgrad.assembly.contexts import StateContext
from minusgrad.scene.records import Record


@local_energy("site", over="nodes", phi=Node(), m2=Parameter(default=1.0), lam=Parameter(default=1.0))
def site(phi, m2, lam):
    """Mass and self-interaction of one site."""
    square = phi[0] * phi[0]
    return 0.5 * m2 * square + 0.25 * lam * square * square


@local_energy("link", over=2, phi=Node())
def link(phi):
    """Stiffness between two neighbours."""
    return 0.5 * (phi[0] - phi[1]) * (phi[0] - phi[1])


class Wave(Record):
    """A standing wave at rest: amplitude cos(k.n), k = 2 pi mode / sides."""

    sides: tuple[int, int]
    mode: tuple[int, int]
    amplitude: float

    def make(self, context: StateContext) -> State:
        phi = self.amplitude * shape(self.sides, self.mode)
        nodes = np.arange(phi.size).reshape(self.sides)
        links = [np.stack([nodes, np.roll(nodes, -1, axis)], axis=-1).reshape(-1, 2) for axis in (0, 1)]
        return State(
            fields={"phi": phi, "pi": np.zeros_like(phi)},
            units={"phi": "1", "pi": "s^-1"},
            motions=(Motion("phi", "pi"),),
            tuples={"links": np.concatenate(links)},
        )


def shape(sides: tuple[int, int], mode: tuple[int, int]) -> np.ndarray:
    """cos(k.n) at every node, shape (n,)."""
    phases = np.indices(sides).reshape(2, -1).T @ (2.0 * np.pi * np.array(mode) / np.array(sides))
    return np.cos(phases)


def frequency(sides: tuple[int, int], mode: tuple[int, int], m2: float, step: float) -> float:
    """Omega: of a small wave under leapfrog of this step."""
    k = 2.0 * np.pi * np.array(mode) / np.array(sides)
    omega2 = m2 + 4.0 * (np.sin(k / 2.0) ** 2).sum()
    return float(np.arccos(1.0 - 0.5 * omega2 * step * step) / step)


@hookimpl
def register_energies():
    return [site, link]


@hookimpl
def register_states():
    return {"wave": Wave}
