"""The MBB beam by SciPy: the optimisation of scenes/topology.toml, after the description of its authors.

    min c = f.u,  K(x) u = f,  E_e = E_min + x_e^p (1 - E_min),  mean of x = volume,  x = H y / sum H

Andreassen, Clausen, Schevenels, Lazarov & Sigmund 2011, Struct. Multidisc. Optim. 43, 1: bilinear squares in
plane stress, a density filter, optimality criteria with the move limit 0.2 and the exponent 1/2, until no
design variable changes by more than 0.01. The stiffness of a square is integrated exactly, by SymPy-free
polynomials: moments of 1, x, y over the unit square. It shares no code with the framework.

    python -m tests.support.mbb_beam
"""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

NU, LEAST, PENALTY, MOVE = 0.3, 1e-9, 3.0, 0.2


def stiffness() -> np.ndarray:
    """The stiffness (8, 8) of a unit square, nodes counterclockwise from the lower left."""
    law = np.array([[1.0, NU, 0.0], [NU, 1.0, 0.0], [0.0, 0.0, 0.5 * (1.0 - NU)]]) / (1.0 - NU**2)
    total = np.zeros((8, 8))
    # three-point Newton-Cotes (Simpson) integrates the products of bilinear slopes exactly
    for x, wx in ((0.0, 1.0 / 6.0), (0.5, 4.0 / 6.0), (1.0, 1.0 / 6.0)):
        for y, wy in ((0.0, 1.0 / 6.0), (0.5, 4.0 / 6.0), (1.0, 1.0 / 6.0)):
            dx = [-(1.0 - y), 1.0 - y, y, -y]
            dy = [-(1.0 - x), -x, x, 1.0 - x]
            B = np.zeros((3, 8))
            B[0, 0::2], B[1, 1::2] = dx, dy
            B[2, 0::2], B[2, 1::2] = dy, dx
            total += wx * wy * B.T @ law @ B
    return total


class Beam:
    """Half of the beam: `columns` by `rows` cells, numbered along x from the lower left."""

    def __init__(self, columns: int = 60, rows: int = 20, radius: float = 1.5):
        self.columns, self.rows = columns, rows
        cell = np.arange(columns * rows)
        self.x, self.y = cell % columns, cell // columns
        first = self.y * (columns + 1) + self.x
        nodes = np.stack([first, first + 1, first + columns + 2, first + columns + 1], axis=1)
        self.rows_of = (2 * nodes[:, :, None] + np.arange(2)).reshape(-1, 8)
        self.of_cell = stiffness()
        self.size = 2 * (columns + 1) * (rows + 1)
        left = 2 * (columns + 1) * np.arange(rows + 1)
        self.free = np.setdiff1d(np.arange(self.size), [*left, 2 * columns + 1])
        self.load = np.zeros(self.size)
        self.load[2 * rows * (columns + 1) + 1] = -1.0
        near = np.maximum(
            0.0, radius - np.hypot(self.x[:, None] - self.x[None], self.y[:, None] - self.y[None])
        )
        self.filter = near / near.sum(axis=1, keepdims=True)

    def compliance(self, density: np.ndarray) -> tuple[float, np.ndarray]:
        """c, and dc/d(density)."""
        stiff = LEAST + density**PENALTY * (1.0 - LEAST)
        entries = (stiff[:, None, None] * self.of_cell).ravel()
        i, j = np.repeat(self.rows_of, 8, axis=1).ravel(), np.tile(self.rows_of, (1, 8)).ravel()
        whole = coo_matrix((entries, (i, j)), (self.size, self.size)).tocsc()
        u = np.zeros(self.size)
        u[self.free] = spsolve(whole[self.free][:, self.free], self.load[self.free])
        moved = u[self.rows_of]
        energy = np.einsum("ea,ab,eb->e", moved, self.of_cell, moved)
        return float(self.load @ u), -PENALTY * density ** (PENALTY - 1.0) * (1.0 - LEAST) * energy

    def optimised(self, volume: float = 0.5, most: int = 200) -> tuple[np.ndarray, list[float]]:
        """The densities at the end, and the compliance at each iteration."""
        design = np.full(self.columns * self.rows, volume)
        history = []
        for _ in range(most):
            density = self.filter @ design
            c, slope = self.compliance(density)
            history.append(c)
            falls = -(self.filter.T @ slope)
            rises = self.filter.T @ np.full(len(design), 1.0 / len(design))
            low, high = 0.0, 1e9
            while (high - low) / (high + low) > 1e-9:
                middle = 0.5 * (low + high)
                new = np.clip(
                    design * np.sqrt(falls / rises / middle),
                    np.maximum(0.0, design - MOVE),
                    np.minimum(1.0, design + MOVE),
                )
                low, high = (middle, high) if (self.filter @ new).mean() > volume else (low, middle)
            change, design = np.abs(new - design).max(), new
            if change <= 0.01:
                break
        density = self.filter @ design
        return density, [*history, self.compliance(density)[0]]


if __name__ == "__main__":
    _, found = Beam().optimised()
    print(len(found) - 1, found[0], found[-1])
