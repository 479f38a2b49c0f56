"""A small network learns to draw: it proposes the whole path of a laser, and a scene judges it.

The network takes a place along the path, 0 to 1, and gives where the laser is then, how strong and how fast it
is. The scene, as a layer, deposits that with its spot and returns the squared distance to the butterfly. Adam
trains the network's weights through it.

    python scenes/torch/butterfly.py [--iterations N] [--out FOLDER]

leaves `loss.png` (the loss curve, and what is deposited at the end) and `path.csv`, with which a scene can begin:
path = { kind = "file", file = "path.csv" }.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

import minusgrad
import minusgrad.torch

SCENE = Path(__file__).parent.parent / "laser_butterfly.toml"
SIDE = 512.0


class Artist(torch.nn.Module):
    """Place along the path -> x, y, power, speed of the laser, (points,) each."""

    def __init__(self, waves: int = 64, width: int = 128):
        super().__init__()
        self.register_buffer("waves", torch.pi * torch.arange(1.0, 1.0 + waves))
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2 * waves, width), torch.nn.SiLU(), torch.nn.Linear(width, width), torch.nn.SiLU(),
            torch.nn.Linear(width, 4),
        )  # fmt: skip

    def forward(self, s: torch.Tensor) -> dict[str, torch.Tensor]:
        angles = s[:, None] * self.waves
        x, y, power, speed = self.layers(torch.cat([angles.sin(), angles.cos()], 1)).T
        return {
            "x": SIDE * (0.5 + 0.5 * x.tanh()),
            "y": SIDE * (0.5 + 0.5 * y.tanh()),
            "power": 0.02 * torch.nn.functional.softplus(power),
            "speed": 0.2 + torch.nn.functional.softplus(speed),
        }


def train(scene: minusgrad.torch.Layer, artist: Artist, places: torch.Tensor, iterations: int) -> list[float]:
    """The loss of every iteration: mean squared distance from the target."""
    optimiser = torch.optim.Adam(artist.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, iterations)
    losses = []
    for _ in range(iterations):
        optimiser.zero_grad()
        loss = scene(artist(places))
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    import sys, time
    torch.manual_seed(0)
    scene = minusgrad.torch.Layer(SCENE)
    n = 5000
    artist = Artist(int(sys.argv[2]), int(sys.argv[3]))
    s = torch.linspace(0, 1, n)
    scene(artist(s)).backward()
    t = time.time()
    losses = train(scene, artist, s, int(sys.argv[1]))
    print(time.time() - t, losses[0], losses[len(losses)//2], losses[-1])
