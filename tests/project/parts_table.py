"""The table of parts of a system and their consumers, made of the declarations of the consumers.

python -m tests.project.parts_table            prints the table
python -m tests.project.parts_table --write    puts it into docs/inside/systems.md
"""

import sys
from dataclasses import replace
from pathlib import Path

from minusgrad.adapters.scene_energy import ATOMS
from minusgrad.adjoint.chaos.variation import BESIDE
from minusgrad.adjoint.equilibria.equilibrium import EQUILIBRIA
from minusgrad.adjoint.rollout import RUNS
from minusgrad.app.buckling import BUCKLING
from minusgrad.app.modes import MODES
from minusgrad.assembly import observers
from minusgrad.steppers.implicit.gradient_flow import GradientFlow
from minusgrad.steppers.implicit.implicit_integrator import ImplicitIntegrator
from minusgrad.steppers.integrator import SPLITTING
from minusgrad.steppers.minimisers.continuation.arc_length import ArcLength
from minusgrad.steppers.minimisers.minimiser import WITHOUT_SEARCH, Minimiser
from minusgrad.steppers.pressure.elasticity import ELASTIC
from minusgrad.steppers.programs.evolution import Evolution
from minusgrad.steppers.systems.parts import PARTS, Consumer
from minusgrad.steppers.timed.gauss_radau.gauss_radau import GaussRadau
from minusgrad.steppers.variational.variational_integrator import VariationalIntegrator
from minusgrad_gravity.kepler_drifts.kepler_flow import KeplerFlow

PAGE = Path(__file__).parents[2] / "docs" / "inside" / "systems.md"
BEGIN, END = "<!-- parts and consumers -->\n", "<!-- end of parts and consumers -->\n"
STEPPERS = [
    SPLITTING,
    KeplerFlow.consumer,
    *(one.consumer for one in (GaussRadau, ImplicitIntegrator, GradientFlow, VariationalIntegrator)),
    *(one.consumer for one in (Evolution, Minimiser)),
    WITHOUT_SEARCH,
    ArcLength.consumer,
]
OBSERVERS = [
    *(one.consumer for one in (observers.Energies, observers.Momenta, observers.ConjugateMomenta)),
    *(one.consumer for one in (observers.Temperatures, observers.Pressures, observers.Reactions)),
    *(one.consumer for one in (observers.ConstraintForces, observers.Frames, observers.ForceErrors)),
    observers.EnergyForces.consumer,
    observers.CONFIGURATIONAL,
    observers.TOTAL_FORCE,
    replace(BESIDE, name="megno"),
]
CONSUMERS: list[Consumer] = [*STEPPERS, *OBSERVERS, RUNS, EQUILIBRIA, MODES, BUCKLING, ELASTIC, ATOMS]


def cell(consumer: Consumer, part: str) -> str:
    """yes, idle (no effect), or refused; a number refers to the pairs that are refused together."""
    if consumer.refuses(part):
        return "refused"
    apart = [k + 1 for k, pair in enumerate(pairs()) if part in pair and pair in consumer.apart]
    return "idle" if part in consumer.idle else " ".join(["yes", *(f"({k})" for k in apart)])


def pairs() -> list[tuple[str, str]]:
    """The pairs of parts that a consumer understands, but not together."""
    return list(dict.fromkeys(pair for consumer in CONSUMERS for pair in consumer.apart))


def table() -> str:
    """A row for each consumer, a column for each part."""
    rows = [["consumer", *PARTS], ["---"] * (len(PARTS) + 1)]
    rows += [[consumer.name, *(cell(consumer, part) for part in PARTS)] for consumer in CONSUMERS]
    text = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    notes = [f"({k + 1}) {first} and {second}" for k, (first, second) in enumerate(pairs())]
    return f"{text}\nRefused together: {'; '.join(notes)}.\n"


def main() -> None:
    if sys.argv[1:] != ["--write"]:
        print(table())
        return
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
