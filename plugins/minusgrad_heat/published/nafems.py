"""NAFEMS's thermal benchmarks T2, T3 and T4: radiation, a wall that swings, convection.

T2    a rod, 1000 K at one end, radiates at the other                    927.0 K there
T3    a rod, 100 sin(pi t / 40) degC at one end, 0 degC at the other     36.60 degC, 0.02 m from it, at 32 s
T4    a plate, 100 degC below, loses heat above and at the right         18.3 degC at E = (0.6, 0.2) m
"""

from typing import Any

import numpy as np

import minusgrad
from minusgrad.plugin import Parameter, PublishedValue, Time, Workplace, local_energy, published_value, ti

from ..boundaries import FACET

BOOK = "Cameron, Casey & Simpson 1986, NAFEMS Benchmark Tests for Thermal Analysis"
ICE = 273.15
"""0 degC [K]."""
TIGHT = 1e9
"""Coefficient of heat transfer [W m^-2 K^-1] from the rod of T3 to its wall: as warm as this one to 1e-5."""


@local_energy(
    "swinging_wall",
    over="tuples",
    unit="W K",
    **FACET,
    t=Time(),
    swing=Parameter("K", about="Amplitude of the temperature of the wall."),
    period=Parameter("s", about="Period of the wall."),
)
def swinging_wall(T, area, shares, t, swing, period):
    """Contact with a wall of the temperature 0 degC + swing sin(2 pi t / period)."""
    wall = ICE + swing * ti.sin(2.0 * np.pi * t / period)
    total = shares[0] * (T[0] - wall) ** 2
    for a in ti.static(range(1, len(T))):
        total += shares[a] * (T[a] - wall) ** 2
    return 0.5 * area * TIGHT * total


def _conducting_body(
    size: list[float],
    cells: list[int],
    start: float,
    conductivity: float,
    heat: tuple[float, float] = (1.0, 1.0),
    order: int = 2,
) -> dict[str, Any]:
    """A plate of quadrilaterals; heat: density [kg/m^3] and specific heat [J/(kg K)]."""
    mesh = {"kind": "rectangle", "size": size, "cells": cells, "cell": "quadrilaterals", "order": order}
    return {
        "plugins": ["elastic", "heat"],
        "state": {
            **{"kind": "heat", "temperature": start, "specific_heat": heat[1]},
            "mesh": {**mesh, "density": heat[0]},
        },
        "energy": [{"kind": "heat_conduction", "conductivity": conductivity}],
        "stepper": {"kind": "newton", "fields": {"T": {"scale": 1.0}}},
        "run": {"steps": 20},
    }


def _temperature_at(one: Any, place: tuple[float, float]) -> float:
    """The temperature [K] of the node at a place."""
    distances = np.linalg.norm(one.fields["x"].values - np.array(place), axis=1)
    assert distances.min() < 1e-9
    return float(one.fields["T"].values[np.argmin(distances)])


@published_value(
    "NAFEMS T2",
    area="heat",
    value=927.0,
    tolerance=0.05,
    why="half a unit of the last digit",
    source=f"{BOOK}; https://acamech.com/one-dimensional-steady-heat-transfer-with-radiation",
    unit="K",
    quick=True,
)
def end_that_radiates(place: Workplace) -> float:
    """Temperature of the end of a rod that radiates."""
    scene = _conducting_body([0.1, 0.01], [10, 1], 1000.0, 55.563)
    scene["energy"].append(
        {"kind": "thermal_radiation", "body": "right", "emissivity": 0.98, "ambient": 300.0}
    )
    scene["hold"] = [{"body": "left", "field": "T"}]
    one: Any = minusgrad.build(scene)
    one.step(one.last)
    return _temperature_at(one, (0.1, 0.0))


@published_value(
    "NAFEMS T3",
    area="heat",
    value=36.6,
    tolerance=0.05,
    why="half a unit of the last digit of the page; the book has 36.60",
    source=f"{BOOK}; https://mooseframework.inl.gov/modules/heat_transfer/nafems_t3_verif.html",
    unit="degC",
    quick=True,
)
def rod_beside_a_swinging_wall(place: Workplace) -> float:
    """Temperature in a rod whose end follows a sine, after 32 s."""
    scene = _conducting_body([0.1, 0.01], [100, 1], ICE, 35.0, (7200.0, 440.5), order=1)
    one: Any = minusgrad.Simulation(
        state=scene["state"],
        energies=[*scene["energy"], swinging_wall(body="right", swing=100.0, period=80.0)],
        holds=[{"body": "left", "field": "T"}],
        stepper={"kind": "gradient_flow", "scheme": "bdf2", "capacities": {"T": "C"}, "dt": 0.1},
        plugins=["elastic", "heat"],
    )
    one.step(320)
    return _temperature_at(one, (0.08, 0.0)) - ICE


@published_value(
    "NAFEMS T4",
    area="heat",
    value=18.3,
    tolerance=0.05,
    why="half a unit of the last digit",
    source=f"{BOOK}; Code_Aster, V4.05.300 (TPLP300), https://www.code-aster.org",
    unit="degC",
    quick=True,
)
def plate_that_loses_heat(place: Workplace) -> float:
    """Temperature at the side of a plate that loses heat by convection."""
    scene = _conducting_body([0.6, 1.0], [24, 40], ICE + 100.0, 52.0)
    sides = {"right": "right side", "top": "upper side"}
    scene["energy"] += [
        {
            "kind": "convection",
            "name": name.replace(" ", "_"),
            "body": body,
            "coefficient": 750.0,
            "ambient": ICE,
        }
        for body, name in sides.items()
    ]
    scene["hold"] = [{"body": "bottom", "field": "T"}]
    one: Any = minusgrad.build(scene)
    one.step(one.last)
    return _temperature_at(one, (0.6, 0.2)) - ICE


ROWS: list[PublishedValue] = [end_that_radiates, rod_beside_a_swinging_wall, plate_that_loses_heat]
