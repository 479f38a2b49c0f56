"""Published values of fluids: the front of a collapsing column of water."""

from io import BytesIO

import numpy as np

import minusgrad
from minusgrad.plugin import PublishedValue, Workplace, published_value

WIDTH, G = 0.05715, 9.81


@published_value(
    "dam break",
    area="fluids",
    value=0.1,
    at_most=True,
    why="the spread of the experiments, and of 20 particles across the column",
    source="Martin & Moyce 1952, Phil. Trans. R. Soc. Lond. A 244, 312, table 2 and figure 3: 30 times",
)
def front_of_the_dam_break(place: Workplace) -> float:
    """Largest relative distance from the measured front, up to 14 widths of the column."""
    run = minusgrad.run(place.scene("dam_break"), out=place.folder / "run")
    table = place.scene_bytes("data/martin_moyce_1952.csv")
    T, Z = np.loadtxt(BytesIO(table), delimiter=",", skiprows=5, usecols=(0, 1)).T
    front = run.series("observables/front")
    found = np.interp(T, front.time * np.sqrt(2.0 * G / WIDTH), front.value / WIDTH)
    return float(np.abs(found / Z - 1.0).max())


ROWS: list[PublishedValue] = [front_of_the_dam_break]
