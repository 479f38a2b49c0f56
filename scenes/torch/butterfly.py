"""A small network learns to draw: it proposes the whole path of a laser, and a scene judges it.

The network takes a place along the path, from 0 to 1, and gives where the laser is then, how strong, and how
fast. The scene, as a layer, deposits that with its spot and returns the mean squared distance to a butterfly;
Adam trains the weights of the network through it.

    python scenes/torch/butterfly.py [--iterations N] [--out FOLDER]

leaves the path, a row for each point (`path.csv`), and `loss.png`: the loss curve, and what is deposited.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot

import minusgrad
import minusgrad.torch
import torch

SCENE = Path(__file__).parent.parent / "laser_butterfly.toml"
SIDE = 512.0


class Artist(torch.nn.Module):
    """Place along the path -> x, y, power, speed of the laser, (points,) each."""

    def __init__(self, waves: int = 256, width: int = 256):
        super().__init__()
        self.register_buffer("waves", torch.pi * torch.arange(1.0, 1.0 + waves))
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2 * waves, width),
            torch.nn.SiLU(),
            torch.nn.Linear(width, width),
            torch.nn.SiLU(),
            torch.nn.Linear(width, 4),
        )

    def forward(self, s: torch.Tensor) -> dict[str, torch.Tensor]:
        angles = s[:, None] * self.waves
        x, y, power, speed = self.layers(torch.cat([angles.sin(), angles.cos()], 1)).T
        return {
            "x": SIDE * (0.5 + 0.5 * x.tanh()),
            "y": SIDE * (0.5 + 0.5 * y.tanh()),
            "power": 0.02 * torch.nn.functional.softplus(power),
            "speed": 0.2 + torch.nn.functional.softplus(speed),
        }


def train(artist: Artist, places: torch.Tensor, iterations: int) -> list[float]:
    """The loss of every iteration."""
    scene = minusgrad.torch.Layer(SCENE)
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


def picture(losses: list[float], path: dict[str, np.ndarray], file: Path) -> None:
    """The loss curve, beside what the path deposits and what it should."""
    simulation = minusgrad.build(SCENE)
    for name, values in path.items():
        simulation.fields[name].set(values)
    simulation.potential.refresh()
    figure, (curve, *maps) = pyplot.subplots(
        1, 3, figsize=(11, 3.4), width_ratios=(1.35, 1, 1), layout="constrained"
    )
    curve.semilogy(losses, color="#3b6fb6")
    curve.set(xlabel="iteration", ylabel="mean squared distance", xlim=(0, len(losses) - 1))
    curve.grid(alpha=0.25)
    curve.spines[["top", "right"]].set_visible(False)
    for axes, name, title in zip(maps, ("dose", "target"), ("deposited", "target"), strict=True):
        shown = simulation.fields[name].values.reshape(int(SIDE), int(SIDE))
        axes.imshow(shown, origin="lower", cmap="magma", vmin=0.0, vmax=1.0)
        axes.set(title=title, xticks=[], yticks=[])
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path("runs/torch_butterfly"))
    arguments = parser.parse_args()
    matplotlib.use("agg")
    torch.manual_seed(0)
    artist, places = Artist(), torch.linspace(0.0, 1.0, 5000)
    losses = train(artist, places, arguments.iterations)
    with torch.no_grad():
        path = {name: values.numpy() for name, values in artist(places).items()}
    arguments.out.mkdir(parents=True, exist_ok=True)
    picture(losses, path, arguments.out / "loss.png")
    rows = np.stack(list(path.values()), axis=1)
    np.savetxt(arguments.out / "path.csv", rows, "%.7g", ",", header=",".join(path), comments="")
    print(f"loss {losses[0]:.3g} at first, {losses[-1]:.3g} after {len(losses)} iterations: {arguments.out}")


if __name__ == "__main__":
    main()
