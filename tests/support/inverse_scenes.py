"""What the inverse scenes are to find out, and the observations that they are given: how the data were made.

    scenes/data/spring_network.h5    positions of the net of `spring_stiffness.toml`, with other stiffnesses
    scenes/data/jupiter.csv          where Jupiter of `outer_solar_system.toml` was seen, with noise

`python -m tests.support.inverse_scenes` writes both; `test_inverse_data` compares them with what it writes.
"""

from pathlib import Path

import h5py
import numpy as np

from minusgrad.app.runs import build
from minusgrad.files import h5md

SCENES = Path(__file__).parents[2] / "scenes"
NETWORK, JUPITER = SCENES / "data" / "spring_network.h5", SCENES / "data" / "jupiter.csv"
SPRINGS, NOMINAL = 50, 400.0
FRAMES, APART = 20, 20
"""Positions of the net are given so many times, so many steps of 1 ms apart."""
SIGHTINGS, STEPS, SIGMA = 405, 18, 1e-5
"""Jupiter is seen so often, every 18 steps of 5 days, each coordinate with this standard error [AU]."""


def random(stream: int) -> np.random.Generator:
    """NumPy's Philox counters: the same numbers everywhere."""
    return np.random.Generator(np.random.Philox(key=stream))


def stiffnesses() -> np.ndarray:
    """The truth, k (50,) [N/m]: between half and twice the nominal one, evenly in its logarithm."""
    return NOMINAL * 2.0 ** random(50).uniform(-1.0, 1.0, SPRINGS)


def net_motion() -> tuple[np.ndarray, np.ndarray]:
    """Steps (T,), and positions (T, n, 2) [m] of the net with those stiffnesses."""
    simulation = build(SCENES / "spring_stiffness.toml", {"energy.0.stiffness": stiffnesses().tolist()})
    frames = []
    for _ in range(FRAMES):
        simulation.stepper.advance(APART)
        frames.append(simulation.fields["x"].values.copy())
    return APART * np.arange(1, FRAMES + 1), np.array(frames)


def jupiter() -> np.ndarray:
    """Days and where Jupiter is, without noise, (T, 4) [day, AU]."""
    simulation = build(SCENES / "outer_solar_system.toml")
    number, rows = simulation.state.names.index("jupiter"), []
    for _ in range(SIGHTINGS):
        simulation.stepper.advance(STEPS)
        rows.append([simulation.stepper.time, *simulation.fields["x"].values[number]])
    return np.array(rows)


def sightings() -> np.ndarray:
    """Days and where Jupiter was seen, (T, 4) [day, AU]."""
    seen = jupiter()
    seen[:, 1:] += SIGMA * random(5).normal(size=(SIGHTINGS, 3))
    return seen


def write_network(path: Path) -> None:
    """As H5MD: /particles/all/position/{step, time [s], value [T, n, 2] [m]}."""
    step, value = net_motion()
    with h5py.File(path, "w") as file:
        h5md.write_head(file, value.shape[2])
        position = file.create_group(h5md.POSITION)
        for name, array, unit in (
            ("step", step, None), ("time", 1e-3 * step, ("s", 1.0)), ("value", value, ("m", 1.0))
        ):  # fmt: skip
            h5md.write_unit(position.create_dataset(name, data=array), unit)


HEAD = """\
# Jupiter, as seen 405 times, every 90 days: from outer_solar_system.toml (Yoshida 4, 5 days) by minusgrad,
# with independent Gaussian noise in each coordinate, standard deviation sigma = 1e-5 AU (Philox, key 5).
# Units: day, AU; in the frame of outer_solar_system.csv, at whose epoch time is 0.
time,x,y,z
"""


def write_jupiter(path: Path) -> None:
    """As a table with the columns time, x, y, z; a coordinate has 9 decimals, a ten-thousandth of sigma."""
    rows = (f"{t:g},{x:.9f},{y:.9f},{z:.9f}\n" for t, x, y, z in sightings())
    path.write_text(HEAD + "".join(rows))


if __name__ == "__main__":
    write_network(NETWORK)
    write_jupiter(JUPITER)
