"""A network of 17,828 weights looks into a pond: waves are found through which it sees what it is asked for.

The pond has the size of `water_renderer` in DiffTaichi (Hu et al. 2020, ICLR), 256 x 256 cells and 256 steps;
the network there, VGG16, has 138 million weights. The ground has stripes, and the surface bends the light. A
classifier takes the picture that is seen after all steps of the wave equation; its score goes back through
the picture, the waves and all steps to the height of the surface at the start. Here the classifier is first
trained to tell stripes across, stripes along, checks and plain ground; one of your own is given as a
TorchScript file, from pictures (n, 1, side, side) to a score for each class. What convinces a classifier need
not look like it to us.

    python scenes/torch/water.py [--network FILE.pt] [--label N] [--iterations N] [--side N] [--out FOLDER]

leaves the height at the start (`height.csv`, side x side), and `water.png`: scores and what is seen.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot

import minusgrad
import minusgrad.torch
import torch

SCENE = Path(__file__).parent.parent / "water_renderer.toml"
STEPS = 256
Classifier = Callable[[torch.Tensor], torch.Tensor]


def examples(count: int, side: int, draw: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures (count, 1, side, side) of four kinds, with random periods, phases and noise; their labels."""
    period, a, b = (torch.rand(count, 1, 1, generator=draw) for _ in range(3))
    waves = 2.0 * torch.pi * torch.arange(side) / (10.0 + 12.0 * period)
    across, along = torch.sin(waves + 6.3 * a), torch.sin(waves + 6.3 * b).transpose(1, 2)
    level = (2.0 * a - 1.0).expand(count, side, side)
    kinds = [(across + 0.0 * along), (along + 0.0 * across), across * along, level]
    labels = torch.randint(4, (count,), generator=draw)
    pictures = torch.stack(kinds, 1)[torch.arange(count), labels]
    noise = 0.3 * torch.randn(count, side, side, generator=draw)
    return (0.5 + 0.5 * pictures + noise).unsqueeze(1), labels


def trained(side: int, iterations: int = 150) -> torch.nn.Module:
    """A small convolutional network that tells the four kinds apart."""
    left = ((side - 1) // 4 - 1) // 4
    network = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5, stride=4),
        torch.nn.SiLU(),
        torch.nn.Conv2d(8, 16, 5, stride=4),
        torch.nn.SiLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(16 * left * left, 4),
    )
    optimiser, draw = torch.optim.Adam(network.parameters(), lr=2e-3), torch.Generator().manual_seed(0)
    for _ in range(iterations):
        optimiser.zero_grad()
        pictures, labels = examples(32, side, draw)
        torch.nn.functional.cross_entropy(network(pictures), labels).backward()
        optimiser.step()
    return network


def seek(
    classifier: Classifier, label: int, iterations: int, side: int
) -> tuple[list[float], np.ndarray, list]:
    """The probability of the label at each iteration, the last height, and the first and the last picture."""
    level = {"kind": "constant", "unit": "m"}
    changes = {"state.size": [side, side], "run.steps": STEPS, "state.fields.height": level}
    pond = minusgrad.build(SCENE, changes)
    run = minusgrad.torch.rollout(pond, STEPS)
    outputs = minusgrad.torch.outputs(minusgrad.build(SCENE, changes), ["seen"])
    height = run.start("height").requires_grad_()
    optimiser = torch.optim.Adam([height], lr=0.02)
    scores, pictures = [], []
    for _ in range(iterations):
        optimiser.zero_grad()
        seen = outputs(height=run(height=height)["height"])["seen"].reshape(1, 1, side, side)
        chance = torch.log_softmax(classifier(seen.float()), dim=1)[0, label]
        (-chance).backward()
        optimiser.step()
        scores.append(chance.exp().item())
        pictures = [*pictures[:1], seen.detach().reshape(side, side).numpy()]
    return scores, height.detach().reshape(side, side).numpy(), pictures


def picture(scores: list[float], height: np.ndarray, seen: list, file: Path) -> None:
    """The course of the score, the height at the start, and the pictures before and after."""
    figure, (curve, *maps) = pyplot.subplots(1, 4, figsize=(13, 3.2), layout="constrained")
    curve.plot(scores, color="#3b6fb6")
    curve.set(xlabel="iteration", ylabel="probability of the label", ylim=(0, 1))
    curve.spines[["top", "right"]].set_visible(False)
    titles = ("height at the start", "seen at first", "seen at the end")
    for axes, shown, title in zip(maps, (height, seen[0], seen[-1]), titles, strict=True):
        axes.imshow(shown, origin="lower", cmap="gray")
        axes.set(title=title, xticks=[], yticks=[])
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--network", type=Path, help="a TorchScript file (default: a small one, trained here)"
    )
    parser.add_argument("--label", type=int, default=2, help="the class to be seen (default: checks)")
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--side", type=int, default=256, help="cells along each axis")
    parser.add_argument("--out", type=Path, default=Path("runs/torch_water"))
    arguments = parser.parse_args()
    matplotlib.use("agg")
    torch.manual_seed(0)
    classifier = torch.jit.load(arguments.network) if arguments.network else trained(arguments.side)
    classifier.requires_grad_(False)
    scores, height, seen = seek(classifier, arguments.label, arguments.iterations, arguments.side)
    arguments.out.mkdir(parents=True, exist_ok=True)
    picture(scores, height, seen, arguments.out / "water.png")
    np.savetxt(arguments.out / "height.csv", height, "%.7g", ",")
    print(f"probability {scores[0]:.3g} at first, {scores[-1]:.3g} after {len(scores)}: {arguments.out}")


if __name__ == "__main__":
    main()
