"""Accuracy against CPU time of planetary integrators: the outer Solar System, ours beside REBOUND's.

    python -m benchmarks.programs.planetary_accuracy YEARS POINTS.json PICTURE.png

The error is the largest relative one of the energy at 50 looks, the time the CPU's of all steps between them,
after a first look that compiles. Every stepper takes several steps or tolerances. REBOUND's symplectic ones
synchronise at looks alone (safe_mode = 0). The two packages take turns, so that a busy machine is the same
one for both.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad import build
from minusgrad.plot.style import COLOURS, FAINT, INK, RC

from ..harness.peers import peer

SCENE = Path(__file__).parents[2] / "scenes" / "outer_solar_system.toml"
G = 0.00029591220828559115
"""AU^3 Msun^-1 day^-2"""
LOOKS = 50
DAYS = (1600.0, 800.0, 400.0, 200.0, 100.0, 50.0)

State = tuple[np.ndarray, np.ndarray]
Run = tuple[Callable[..., None], Callable[[], State], Callable[[], None]]
"""Go on for so many days; x and v [AU, AU/day]; begin again."""


def ours() -> dict[str, list[dict[str, Any]]]:
    """Blocks of steppers, by the name of their curve."""

    def splitting(days: tuple[float, ...] = DAYS[2:], **more: Any) -> list[dict[str, Any]]:
        return [{"kind": "wisdom_holman", "dt": dt, **more} for dt in days]

    return {
        "wisdom_holman": splitting(),
        "corrector 11": splitting(corrector=11),
        "corrector 17": splitting(corrector=17),
        "aba_8_6_4": splitting(DAYS[:5], scheme="aba_8_6_4"),
        "aba_10_6_4": splitting(DAYS[:5], scheme="aba_10_6_4"),
        "kahan_li8": [{"kind": "kahan_li8", "dt": dt} for dt in (160.0, 80.0, 40.0)],
        "blanes_moan_rkn6": [{"kind": "blanes_moan_rkn6", "dt": dt} for dt in (100.0, 50.0, 25.0)],
        "gauss_radau": [{"kind": "gauss_radau", "dt": 3652.5, "tolerance": t} for t in (1e-3, 1e-6, 1e-9)],
    }


def theirs() -> dict[str, list[dict[str, Any]]]:
    """Settings of REBOUND, by the name of their curve."""

    def named(name: str, days: tuple[float, ...] = DAYS[2:], **more: Any) -> list[dict[str, Any]]:
        return [{"integrator": name, "dt": dt, "safe_mode": 0, **more} for dt in days]

    return {
        "WHFast": named("whfast"),
        "WHFast, corrector 11": named("whfast", corrector=11),
        "WHFast, corrector 17": named("whfast", corrector=17),
        "SABA(10,6,4)": named("saba10,6,4", DAYS[:5]),
        "IAS15": [{"integrator": "ias15", "dt": 10.0, "epsilon": e} for e in (1e-3, 1e-6, 1e-9)],
    }


def our_run(block: dict[str, Any]) -> Run:
    one = build(SCENE, {"stepper": block | {"dt": f"{block['dt']} day"}})
    x, v = one.fields["x"], one.fields["v"]
    scale = one.stepper.dt / block["dt"]

    start, places, speeds = one.stepper.state(), x.values.copy(), v.values.copy()

    def go(days: float) -> None:
        one.stepper.advance(round(days / block["dt"]))

    def again() -> None:
        x.set(places)
        v.set(speeds)
        one.stepper.restore(start)

    return go, lambda: (x.values.copy(), v.values * scale), again


def their_run(settings: dict[str, Any]) -> Run:
    one = peer("rebound").Simulation()
    one.G = G
    for place, speed, mass in zip(*start(), strict=True):
        one.add(m=mass, x=place[0], y=place[1], z=place[2], vx=speed[0], vy=speed[1], vz=speed[2])
    one.integrator, one.dt = settings["integrator"], settings["dt"]
    for name in settings.keys() - {"integrator", "dt"}:
        setattr(one.integrator, name, settings[name])

    def go(days: float, exact: bool = False) -> None:
        if settings["integrator"] == "ias15":
            one.integrate(one.t + days, exact_finish_time=int(exact))
        else:
            one.steps(round(days / settings["dt"]))
            one.synchronize()

    def state() -> State:
        return np.array([p.xyz for p in one.particles]), np.array([p.vxyz for p in one.particles])

    return go, state, lambda: None


@cache
def start() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, v and m of the scene [AU, AU/day, Msun]."""
    one = build(SCENE)
    x, v, m = (one.fields[name].values.copy() for name in "xvm")
    return x, v * (one.stepper.dt / 5.0), m


def energy(state: State, m: np.ndarray) -> float:
    x, v = state
    i, j = np.triu_indices(len(m), 1)
    return float(
        0.5 * (m * (v * v).sum(1)).sum() - G * (m[i] * m[j] / np.linalg.norm(x[i] - x[j], axis=1)).sum()
    )


def measured(run: Run, m: np.ndarray, years: float) -> tuple[float, float]:
    """The largest error of the energy, and the CPU seconds for all years."""
    go, state, _ = run
    part, first, worst, seconds = years * 365.25 / LOOKS, energy(state(), m), 0.0, 0.0
    for look in range(LOOKS + 1):
        began = time.process_time()
        go(part)
        seconds += (time.process_time() - began) if look else 0.0
        worst = max(worst, abs(energy(state(), m) / first - 1.0))
    return worst, seconds


def points(years: float) -> Iterator[dict[str, Any]]:
    m = start()[2]
    turns = [(True, *one) for one in ours().items()], [(False, *one) for one in theirs().items()]
    while any(turns):
        for mine in turns:
            if mine:
                own, name, settings = mine.pop(0)
                for setting in settings:
                    error, seconds = measured((our_run if own else their_run)(setting), m, years)
                    yield {"ours": own, "curve": name, "error": error, "seconds": seconds, **setting}


def plot(found: list[dict[str, Any]], years: float, file: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(RC):
        picture = Figure(figsize=(8.0, 4.6))
        ax = picture.subplots()
        marks = dict(zip(theirs(), ("x", "+", "*", "D", "s"), strict=True))
        colours = dict(zip(ours(), [*COLOURS, INK, "#7a5195", "#8c6d31"] * 2, strict=False))
        for curve in dict.fromkeys(one["curve"] for one in found):
            mine = [one for one in found if one["curve"] == curve]
            x, y = ([one[name] for one in mine] for name in ("seconds", "error"))
            if mine[0]["ours"]:
                ax.plot(x, y, "o-", color=colours[curve], ms=4.5, lw=1.3, label=curve)
            else:
                style = {"mfc": "white", "ms": 5, "lw": 1.0}
                ax.plot(
                    x, y, "--", marker=marks[curve], color=FAINT, mec=INK, label=f"REBOUND {curve}", **style
                )
        ax.set(xscale="log", yscale="log", xlabel=f"CPU seconds for {years:,.0f} years")
        ax.set(ylabel="largest relative error of the energy", title="The outer Solar System")
        ax.axhline(1e-8, color=FAINT, lw=0.6)
        picture.legend(fontsize=7, loc="outside right center")
        file.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(file)


def main(years: str, table: str, picture: str) -> None:
    found = []
    for one in points(float(years)):
        found.append(one)
        settings = {name: one[name] for name in ("dt", "tolerance", "epsilon") if name in one}
        print(f"{one['curve']:22} {one['error']:9.2e} {one['seconds']:8.3f} s  {settings}", flush=True)
    Path(table).write_text(json.dumps(found, indent=1))
    plot(found, float(years), Path(picture))


if __name__ == "__main__":
    main(*sys.argv[1:])
