"""Triangles are weighed with their area of now, in a field that has no gradient: forces miss a part.

The twin fills the same field from the positions at rest, where areas are data.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.0, 0.1], [1.2, 0.0], [-0.2, 0.8], [1.1, 1.3]])
REST = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
FACES = [(0, 1, 2), (3, 2, 1)]

pos, rest = ti.Vector.field(2, ti.f64, 4, needs_grad=True), ti.Vector.field(2, ti.f64, 4)
area, U = ti.field(ti.f64, 4), ti.field(ti.f64, (), needs_grad=True)
rest.from_numpy(REST)


@ti.kernel
def measure(p: ti.template()):
    for a, b, c in ti.static(FACES):
        area[a] = 0.5 * (p[b] - p[a]).cross(p[c] - p[a])


@ti.kernel
def strain():
    for a, b, c in ti.static(FACES):
        F = ti.Matrix.cols([pos[b] - pos[a], pos[c] - pos[a]])
        U[None] += area[a] * (F.norm_sqr() - 2.0 - 2.0 * ti.log(F.determinant()))


@checked(loss="U", inputs={"pos": {"start": START.tolist(), "step": 0.05}})
def trap():
    measure(pos)
    strain()


@checked(loss="U", inputs={"pos": {"start": START.tolist(), "step": 0.05}})
def twin():
    measure(rest)
    strain()


def answer(pos, moving=True):
    out = np.zeros((4, 2))
    for face in map(list, FACES):
        F = (pos[face[1:]] - pos[face[0]]).T
        J, turned = np.linalg.det(F), np.linalg.inv(F).T
        pull = J**moving * (F - turned) + moving * J * ((F**2).sum() / 2 - 1 - np.log(J)) * turned
        out[face] += np.stack([-pull.sum(1), *pull.T])
    return out


def answer_of_twin(pos):
    return answer(pos, moving=False)
