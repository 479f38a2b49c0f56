"""Linear quadratic control of a cart with a pole: forces found by gradients through a run, beside Riccati's.

The pole stands up, motions are small: L = (M + 1) s'^2 / 2 - s' a' + a'^2 / 2 + g a^2 / 2, a the angle from
upright. A force F_k acts in step k. The sum of x' Q x over the states after the steps, and of R F^2, is least
where F_k = -K_k x_k with the gains of the backward recursion

    K = (R + B'P B)^-1 B'P A,      P <- Q + A'P (A - B K)                    after P = Q for the last state

(Anderson and Moore 1990, Optimal Control, section 2.4.) A and B are those of the midpoint rule, written here
from the equations of motion.
"""

import numpy as np
from scipy.optimize import minimize

from minusgrad.adjoint.losses import Loss
from minusgrad.adjoint.rollout import Rollout
from minusgrad.energies.fields import Motion
from minusgrad.energies.lagrangian import lagrangian
from minusgrad.energies.local_energy import local_energy
from minusgrad.energies.roles import Node, Parameter, Time, Velocity
from minusgrad.energies.term import bind
from minusgrad.plugin import ti
from minusgrad.potential.potential import Potential
from tests.support.lagrangians import made

M, G, DT, STEPS, R = 2.0, 9.81, 0.1, 12, 0.05
Q = np.array([1.0, 4.0, 0.3, 0.5])
START = np.array([0.2, 0.1, 0.0, -0.1])
S, A = Node("m"), Node("rad")


@lagrangian("balanced", over="nodes", s=S, a=A, v_s=Velocity("m/s", rate_of="s"),
            v_a=Velocity("rad/s", rate_of="a"))  # fmt: skip
def balanced(s, a, v_s, v_a):
    """A cart of 2 kg below a pole of unit mass and length, near upright."""
    moving = 1.5 * v_s[0] * v_s[0] - v_s[0] * v_a[0] + 0.5 * v_a[0] * v_a[0]
    return moving + 4.905 * a[0] * a[0]


@local_energy("pushes", over="nodes", s=S, t=Time(), F=Parameter("N", (STEPS,)), dt=Parameter("s"))
def pushes(s, t, F, dt):
    """A force F_k at the middle of step k."""
    force = 0.0
    for k in ti.static(range(STEPS)):
        force += F[k] * ti.max(0.0, 1.0 - ti.abs(t / dt - (k + 0.5)))
    return -s[0] * force


@local_energy("cost", over="nodes", s=S, a=A, v_s=Node("m/s"), v_a=Node("rad/s"), q=Parameter("1", (4,)))
def cost(s, a, v_s, v_a, q):
    """x' Q x of a state."""
    return q[0] * s[0] * s[0] + q[1] * a[0] * a[0] + q[2] * v_s[0] * v_s[0] + q[3] * v_a[0] * v_a[0]


def riccati() -> np.ndarray:
    """The forces F_k by the backward recursion."""
    mass, stiff = np.array([[M + 1.0, -1.0], [-1.0, 1.0]]), np.diag([0.0, G])
    rate = np.block([[np.zeros((2, 2)), np.eye(2)], [np.linalg.solve(mass, stiff), np.zeros((2, 2))]])
    push = np.concatenate([[0.0, 0.0], np.linalg.solve(mass, [1.0, 0.0])])
    left = np.eye(4) - 0.5 * DT * rate
    a, b = np.linalg.solve(left, np.eye(4) + 0.5 * DT * rate), np.linalg.solve(left, DT * push)[:, None]
    gains, p = [], np.diag(Q)
    for _ in range(STEPS):
        k = np.linalg.solve(R + b.T @ p @ b, b.T @ p @ a)
        gains.append(k)
        p = np.diag(Q) + a.T @ p @ (a - b @ k)
    x, forces = START, []
    for k in reversed(gains):
        forces.append(-(k @ x)[0])
        x = a @ x + b[:, 0] * forces[-1]
    return np.array(forces)


def test_forces_by_gradients_through_the_run_are_riccatis_to_1e_6() -> None:
    values = dict(zip(("s", "a", "v_s", "v_a"), START[:, None], strict=True))
    motor = (pushes, {"parameters": {"F": np.zeros(STEPS), "dt": DT}})
    motions = [Motion("s", "v_s"), Motion("a", "v_a")]
    one = made(values, [(balanced, {})], DT, 2, motions, energies=[motor])
    fields = one.potential.fields
    costs = Potential(fields, [bind(cost, fields, parameters={"q": Q})])
    run = Rollout(one, [Loss(costs, tuple(range(1, STEPS + 1)))], STEPS)

    def loss(forces: np.ndarray) -> tuple[float, np.ndarray]:
        one.potential.set_parameter("pushes.F", forces)
        value, found = run.evaluate(["pushes.F"])
        return value + R * float(forces @ forces), found["pushes.F"] + 2.0 * R * forces

    found = minimize(loss, np.zeros(STEPS), jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 60})
    expected = riccati()
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(found.x, expected, rtol=0, atol=1e-6)
