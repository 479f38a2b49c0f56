"""A kernel of Taichi inside a graph of PyTorch: the vertices of a mesh, moved, and an L1 loss.

python scenes/torch/mesh.py [FILE.obj]
"""

import sys
from pathlib import Path

import trimesh

import minusgrad.torch
import torch
from minusgrad import ti

MESH = Path(__file__).parent / "pyramid.obj"
POINTS = ti.types.ndarray(dtype=ti.math.vec3, ndim=1)


@minusgrad.torch.kernel(pc_after="pc")
@ti.kernel
def calculate(pc: POINTS, pc_after: POINTS):
    for i in range(pc.shape[0]):
        pc_after[i][0] = pc[i][0] * pc[i][0]
        pc_after[i][1] = ti.exp(pc[i][1])
        pc_after[i][2] = ti.sin(pc[i][2])


def vertices(file: Path) -> torch.Tensor:
    """The vertices of a mesh, (n, 3), as a tensor to be differentiated by."""
    return torch.tensor(trimesh.load(file, process=False).vertices, dtype=torch.float64, requires_grad=True)


if __name__ == "__main__":
    pc = vertices(Path(sys.argv[1]) if len(sys.argv) > 1 else MESH)
    loss = torch.nn.L1Loss(reduction="sum")(calculate(pc), pc)
    loss.backward()
    print(f"loss {loss.item():.6g}, its gradient:\n{pc.grad.numpy()}")
