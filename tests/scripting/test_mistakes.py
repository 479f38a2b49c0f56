"""Mistakes in a simulation of arrays are one message each, with the argument and the cure."""

from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Node, Parameter, UserError, local_energy
from minusgrad.errors import CallbackError
from minusgrad.plugin import SCHEMES, Integrator, Record, hookimpl
from minusgrad.steppers.systems.system import System
from minusgrad_gravity.gravity import gravity

X, V, M = np.eye(3), np.zeros((3, 3)), np.ones(3)
HOLE = np.where(np.eye(3) == 1.0, np.nan, 1.0)


@local_energy("bowl", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
def bowl(x, k):
    """A harmonic well."""
    return 0.5 * k * x[0].dot(x[0])


def made(**given: Any) -> mg.Simulation:
    usual = {"fields": {"x": X, "v": V, "m": M}, "energies": [bowl(k=1.0)], "stepper": mg.Leapfrog(dt=0.1)}
    return mg.Simulation(plugins=["gravity"], **{**usual, **given})


def fields(**given: Any) -> Callable[[], Any]:
    return lambda: made(fields={"x": X, "v": V, "m": M, **given})


@local_energy("well", over="nodes", phi=Node("1"), k=Parameter("J"))
def well(phi, k):
    """A harmonic well of a field of the user's own."""
    return 0.5 * k * phi[0] * phi[0]


def own(stepper: Any = None, **given: Any) -> Callable[[], Any]:
    stepper = stepper or mg.Leapfrog(dt=0.1)
    return lambda: made(fields={"phi": M, **given}, energies=[well(k=1.0)], stepper=stepper)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: made(stepper=None), "stepper: needs a stepper, got none; write stepper=minusgrad.Leap"),
        (lambda: Parameter(5), 'Parameter: its unit is a text, got 5; write Parameter("N/m"), or P'),
        (lambda: Node("m", 3), 'Node: the shape of one value is a tuple, got 3; write ("d",) for a vector'),
        (lambda: local_energy(lambda x: x), "local_energy: needs a name, what it is over and the roles of"),
        (lambda: local_energy("w")(lambda x: x), "energy 'w': over must be 'nodes', 'pairs', 'triples'"),
        (lambda: mg.local_map(3, gives="y"), "local_map: needs a name, what it is over and the roles of its"),
        (lambda: mg.constraint(bowl.function), "constraint: needs a name, what it is over and the roles of"),
        (lambda: setattr(made(), "time", 3), "time: follows from the steps and cannot be set, got 3"),
        (lambda: setattr(made(), "tiem", 3), "simulation: no attribute named 'tiem'; did you mean 'time'?"),
        (lambda: setattr(made(), "dt", "5 kg"), "dt: '5 kg' is a mass, but 's' (time) is needed; write si"),
        (lambda: made(fields=[X]), "fields: needs arrays by name, got a list"),
        (lambda: made(energy=[]), "Simulation: no argument named 'energy'; did you mean 'energies'?"),
        (lambda: made(energies=[]), "energies: needs an energy, got none; write energies=["),
        (lambda: made(box=3.0), "box: needs an edge for each axis, got 3.0; write box=[3.0, 3.0, 3.0]"),
        (lambda: made(initial={"fields": {"v": V}}), "initial: fields: 'v': needs the name of a file, got a"),
        (lambda: made(initial=3), "initial: needs a table, got a int; give a dictionary"),
        (fields(x=M, v=M), "is a scalar at each node, not of shape ['d']; give x[:, None] for vectors of"),
        (lambda: made(energies=[bowl]), "simulation: energy.0.k: required, but missing"),
        (lambda: made(energies=[bowl(kk=1.0)]), "simulation: energy.0.kk: no key 'kk'; did you mean 'k'?"),
        (lambda: made(energies=[len]), "energies[0]: needs an energy, or a table, got a "),
        (lambda: made(energies=[mg.energy("gravty")]), "no energy named 'gravty'; did you mean 'gravity'?"),
        (lambda: made(energies=[bowl(k="1 kg")]), "energy.0.k: '1 kg' is a mass, but 'N/m' (force"),
        (lambda: made(energies=[bowl(k=1.0), bowl(k=2.0)]), "two terms have one name: bowl, bowl"),
        (fields(v=V[:2]), "state: fields/v: needs the shape of 'x', (3, 3), got (2, 3)"),
        (fields(m=M[:2]), "state: fields/m: needs a number for each node, shape (3,), got (2,)"),
        (fields(x=HOLE), "fields: 'x': needs finite numbers, got nan at [0, 0]; correct it"),
        (fields(m=1j * M), "fields: 'm': needs an array of real numbers, got complex128"),
        (fields(x=[[1.0, 2.0], [3.0]]), "fields: 'x': needs an array of numbers"),
        (fields(m=1.0), "fields: 'm': needs a value for each node, got shape ()"),
        (fields(x=(X, "kg")), "state: fields/x: attribute `unit`: '1 kg' is a mass, but 'm' (length)"),
        (fields(mass=M), "state: fields/mass: is read by nothing, got 3 values; rename it 'm', or leave it"),
        (fields(velocity=V), "state: fields/velocity: is read by nothing, got 3 values; rename it 'v', or"),
        (fields(heat=M), "state: fields/heat: is read by nothing, got 3 values; rename it, or leave"),
        (lambda: made(fields={"x": X}, energies=[gravity(G=1.0)]), "energy.0: no field named 'm'"),
        (own(dphi=M, m=M), 'say so: motions=[minusgrad.Motion("phi", "dphi", "m")]'),
        (own(), 'a field, its velocity and its inertia: motions=[minusgrad.Motion("phi", "phi_dot", 1)]'),
        (own(mg.LBFGS()), "stepper: fields: needs the unknowns, got none, and no motion names one; write"),
        (lambda: made(tuples={"bonds": [[0, 1.5]]}), "tuples: 'bonds': needs whole numbers of nodes"),
        (lambda: made(motions=[{"position": "x"}]), "motions: needs velocity, got ['position']; add it"),
        (lambda: made(holds=[{"body": "left"}]), "hold.0: no body named 'left'"),
        (lambda: made(callbacks=[print]), "callbacks: needs functions marked with @minusgrad.every(n)"),
        (lambda: made(units="metric"), "units.system: needs 'si', 'dimensionless' or 'molecular'"),
        (lambda: bowl(1.0), "energy 'bowl': takes values by keyword, got 1 without one; write bowl("),
        (lambda: mg.Leapfrog(dtt=0.1), "Leapfrog: no key named 'dtt'; did you mean 'dt'? (there are: dt)"),
        (mg.Leapfrog, "Leapfrog: needs dt, got none; write Leapfrog(dt=...)"),
        (lambda: mg.every(0), "every: needs a whole number of steps above 0, got 0; write every(10)"),
        (lambda: mg.load("[state]\nkind = 'arrays'\n"), "text of the scene:1:2: state.file: required"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message(mistake: Callable[[], Any], message: str) -> None:
    with pytest.raises(UserError) as refusal:
        mistake()
    assert message in str(refusal.value)


def test_fields_that_a_label_an_observer_or_a_term_names_are_kept() -> None:
    frames = mg.observer("frames", every=1, fields=["x", "shown"])
    tilted = bowl(k=1.0, name="tilted", fields={"x": "y"})
    simulation = made(
        fields={"x": X, "y": X, "m": M, "mark": M, "shown": M},
        energies=[bowl(k=1.0), tilted],
        labels={"mark": "mark"},
        observe=[frames],
    )
    assert {"y", "mark", "shown"} <= simulation.fields.keys()


def test_blocks_of_plugins_may_read_fields_but_those_of_ours_no_mass() -> None:
    stepper = mg.stepper("springy", dt=0.1)

    class Springy(Record):
        dt: float

        def make(self, context: Any) -> Any:
            return Integrator(System(context.potential, context.motions), SCHEMES["leapfrog"], self.dt)

    plugin = ModuleType("springy")
    plugin.register_steppers = hookimpl(lambda: {"springy": Springy})  # type: ignore[attr-defined]
    given = {"fields": {"x": X, "mass": M}, "energies": [bowl(k=1.0)], "stepper": stepper}
    assert "mass" in mg.Simulation(plugins=[plugin], **given).fields  # type: ignore[arg-type]
    radii = mg.observer("radial_distribution", every=1, radius=1.0, bins=4)
    for fields, is_refused in (({"x": X, "heat": M}, False), ({"x": X, "mass": M}, True)):
        given = {"fields": fields, "energies": [bowl(k=1.0)], "observe": [radii], "box": [3.0, 3.0, 3.0]}
        with pytest.raises(UserError, match="fields/mass") if is_refused else nullcontext():
            mg.Simulation(stepper=mg.Leapfrog(dt=0.1), **given)  # type: ignore[arg-type]


def test_what_the_messages_about_fields_of_ones_own_say_works() -> None:
    motions = [mg.Motion("phi", "phi_dot", 1)]
    simulation = made(fields={"phi": M}, energies=[well(k=1.0)], motions=motions)
    simulation.step(3)
    assert np.all(simulation.fields["phi"].values < M)
    assert simulation.facts()["moving"] == ["phi"]
    search = made(fields={"phi": M}, energies=[well(k=1.0)], stepper=mg.LBFGS(fields={"phi": {}}))
    search.step(10)
    assert np.allclose(search.fields["phi"].values, 0.0)


def test_mistakes_about_runs() -> None:
    simulation = made(fields={"x": X, "m": [1, 1, 2]})  # whole numbers are exact
    assert simulation.fields["m"].values.tolist() == [1.0, 1.0, 2.0]
    for steps, got in (
        (None, "needs a number of steps, got none"),
        (1.5, "needs a whole number of steps of at least 0, got 1.5; write sim.run"),
    ):
        with pytest.raises(UserError, match=f"run: {got}"):
            simulation.run(steps=steps)  # type: ignore[arg-type]
    assert repr(bowl(k=1.0)) == "bowl(k=1.0)"
    assert repr(mg.Leapfrog(dt=0.1)) == "Leapfrog(dt=0.1)"


def test_a_callback_that_sets_nan_is_named() -> None:
    simulation = made()

    @simulation.every(5)
    def nanny(sim: mg.Simulation) -> None:
        sim.fields["v"].set(HOLE)

    with pytest.raises(CallbackError, match=r"callback 'nanny' set v to nan at \[0, 0\] at step 5; set fin"):
        simulation.step(10)


def test_an_energy_may_have_the_name_of_an_installed_one() -> None:
    @local_energy("spring", over="nodes", x=Node("m", ("d",)), k=Parameter("N/m"))
    def spring(x, k):
        return 0.5 * k * x[0].dot(x[0])

    simulation = mg.Simulation(fields={"x": X}, energies=[spring(k=2.0)], stepper=mg.Leapfrog(dt=0.1))
    assert simulation.potential.value(0.0) == pytest.approx(3.0)
    assert "the mass of each node is 1 kg, as there is no field 'm'" in simulation.remarks
    assert not [one for one in made().remarks if "mass" in one]
    assert "plugins = []" in simulation.to_toml()


def test_dt_may_be_set_with_its_unit() -> None:
    sim = made()
    sim.dt = "5 ms"
    assert sim.dt == 0.005
