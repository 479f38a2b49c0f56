"""A hanging block of gel by SciPy: the measured shape of scenes/stiffness_from_shape.toml.

    sum over triangles of V P grad N_a = m_a g,     P = mu (F - F^-T) + lambda ln J F^-T      (plane strain)

solved for the free nodes by a general root finder, with no derivative of the stress. Shares no code with the
framework: mesh, stress and weights are written out here.

    python -m tests.support.hanging_gel scenes/data/hanging_gel.csv
"""

import sys

import numpy as np
from scipy.optimize import root

SIDE, PARTS, THICK, DENSITY, GRAVITY = 0.1, 10, 0.1, 1000.0, 9.81
YOUNG, POISSON, NOISE, SEED = 8e3, 0.35, 5e-5, 20261125


def rest() -> np.ndarray:
    """The nodes (121, 2), numbered along y, then along x."""
    along = np.linspace(0.0, SIDE, PARTS + 1)
    return np.array([[x, y] for x in along for y in along])


def triangles() -> np.ndarray:
    """Two for each square, cut along the diagonal from its lowest to its highest corner."""
    found = []
    for i in range(PARTS):
        for j in range(PARTS):
            a = i * (PARTS + 1) + j
            b, c, d = a + PARTS + 1, a + 1, a + PARTS + 2
            found += [[a, b, d], [a, d, c]]
    return np.array(found)


def shape(young: float = YOUNG, poisson: float = POISSON) -> np.ndarray:
    """The places (121, 2) of the nodes at rest under their weight."""
    X, cells = rest(), triangles()
    mu = young / (2.0 * (1.0 + poisson))
    lam = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    legs = np.stack([X[cells[:, 1]] - X[cells[:, 0]], X[cells[:, 2]] - X[cells[:, 0]]], axis=2)
    inverse, area = np.linalg.inv(legs), 0.5 * np.linalg.det(legs)
    others = inverse  # rows: gradients of the shape functions of nodes 1 and 2
    slopes = np.stack([-others.sum(axis=1), others[:, 0], others[:, 1]], axis=1)
    weight = np.bincount(cells.ravel(), np.repeat(DENSITY * THICK * area * GRAVITY / 3.0, 3))
    free = X[:, 1] < SIDE - 1e-9

    def residual(moved: np.ndarray) -> np.ndarray:
        x = X.copy()
        x[free] = moved.reshape(-1, 2)
        F = np.einsum("eai,eaj->eij", x[cells], slopes)
        turned = np.linalg.inv(F).transpose(0, 2, 1)
        J = np.linalg.det(F)[:, None, None]
        P = mu * (F - turned) + lam * np.log(J) * turned
        pull = np.einsum("e,eij,eaj->eai", THICK * area, P, slopes)
        force = np.zeros_like(x)
        np.add.at(force, cells, pull)
        force[:, 1] += weight
        return force[free].ravel()

    found = root(residual, X[free].ravel(), method="hybr", tol=1e-13)
    assert np.abs(found.fun).max() < 1e-9, found.message
    x = X.copy()
    x[free] = found.x.reshape(-1, 2)
    return x


def table() -> str:
    """The measured places as a CSV table, with normal errors."""
    measured = shape() + np.random.default_rng(SEED).normal(scale=NOISE, size=rest().shape)
    rows = [f"0, {node}, {x:.7f}, {y:.7f}" for node, (x, y) in enumerate(measured)]
    head = "# The shape of a hanging block of gel, in metres: tests/support/hanging_gel.py"
    return "\n".join([head, "time, node, x, y", *rows, ""])


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(table())
