"""Names in emitted kernels: no local is an argument, whatever users call their fields, data and parameters.

Every kernel of every kind of term is parsed, in rows and in lanes; steps of an integrator, in which terms
meet the integrator's own names, are run in both layouts and compared.
"""

import ast
import linecache
from collections.abc import Iterator
from types import MappingProxyType

import numpy as np
import pytest

from minusgrad import Datum, Fields, Node, Parameter, Potential, Table, Time, bind, local_energy
from minusgrad.codegen.derivative_request import ADJOINT, DerivativeRequest
from minusgrad.codegen.element_lanes.lane_loops import Lanes
from minusgrad.codegen.hessians.hessian_loops import HessianLoops, LaneHessians
from minusgrad.codegen.node_lanes.node_lane_loops import NodeLanes
from minusgrad.codegen.term_loops import Emitter
from minusgrad.energies.fields import Motion
from minusgrad.energies.roles import Linear
from minusgrad.engine.kernels import SCALARS, Code, _kernel_source, shadowed_arguments
from minusgrad.potential.fused_code import FusedCode
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.minimisers.lbfgs import LBFGS
from minusgrad.steppers.minimisers.unknowns import Unknown
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from tests.support.instances import CANONICAL, MAPS, Instance
from tests.support.layouts import LIMITS, in_lanes

SIZE = MappingProxyType({"n": 40, "e": 37})


def pieces(potential: Potential) -> Iterator[Code]:
    """The code of all requests to a potential's only term, or to its map and the energy that reads it."""
    for name, kernels in potential.kernels.items():
        emitter, term = kernels.emitter, kernels.emitter.term
        nodal = {a: f.array for a, f in term.fields.items() if a != ADJOINT}
        others = [a for a in term.energy.differentiable if a not in term.fields]
        for argument in others:
            emitter.set_tangent(argument, 0.0)
        every = DerivativeRequest(True, nodal, others, nodal, others, nodal | dict.fromkeys(others))
        for wanted in (every, DerivativeRequest(gradient=nodal), DerivativeRequest(True, nodal)):
            yield emitter.sweep(wanted)[0]
            yield emitter.sweep_with_total(wanted)[0]
        yield emitter.value()[0]
        yield emitter.total()[0]
        if name in potential.maps:
            yield emitter.forward_loops()
            yield emitter.forward_loops(every.tangents, {f.name: f.array for f in term.outputs.values()})
        elif not emitter.loop.per_target:
            hessians = (LaneHessians if isinstance(emitter, Lanes) else HessianLoops)(
                emitter, list(term.fields)
            )
            yield hessians.hessians()
            if hessians.moduli_rows:
                yield hessians.moduli()
                yield hessians.contraction()
    if not potential.maps:
        yield FusedCode(potential).gradient({f: potential.fields[f].array for f in potential.reads})


def sources(potential: Potential) -> Iterator[str]:
    """The source of every kernel, with all the scalars that kernels may take."""
    return (_kernel_source(code, tuple(SCALARS)) for code in pieces(potential))


@pytest.mark.parametrize("lanes", [False, True], ids=["rows", "lanes"])
@pytest.mark.parametrize("name", [*CANONICAL, *MAPS])
def test_no_local_is_an_argument(name: str, lanes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    in_lanes(monkeypatch, lanes)
    instance = CANONICAL.get(name) or MAPS[name]
    d = instance.dimensions[-1]
    potential = instance.potential(np.random.default_rng(7), d, **SIZE)
    for source in sources(potential):
        assert shadowed_arguments(source) == [], source


def test_a_shadowed_argument_is_found() -> None:
    text = "for e in range(3):\n    first = e * 2\n    f_x[e] = first\n"
    source = _kernel_source(Code(text, {"f_x": np.zeros(3)}), ("first",))
    assert shadowed_arguments(source) == ["first"]


# Steps of an integrator, and of a minimiser -------------------------------------------------------------

MOVED = {
    "site": ("phi", NodeLanes),
    "spring": ("x", Lanes),
    "angle": ("x", Lanes),
    "neo_hookean": ("x", Lanes),
    "gravity": ("x", Lanes),
    "kinds": ("x", Emitter),
}
"""Kinds of terms, by an energy of each: the field that moves, and the loops in lanes."""
STEPS = [("site", "f32"), *((name, "f64") for name in MOVED)]


def moving(instance: Instance, field: str, precision: str) -> Potential:
    """An energy over fields with a velocity and inertias."""
    rng, d = np.random.default_rng(7), instance.dimensions[-1]
    drawn = instance._draw_fields(rng, SIZE["n"], d)
    still = {"speed": np.zeros_like(drawn[field]), "inertia": np.ones(SIZE["n"])}
    fields = Fields(drawn | still, precision=precision)
    return Potential(fields, [instance._bind_term(rng, fields, d=d, **SIZE)])


@pytest.mark.parametrize(("name", "precision"), STEPS)
def test_steps_in_both_layouts(
    name: str, precision: str, monkeypatch: pytest.MonkeyPatch, engine: None
) -> None:
    field, kind = MOVED[name]
    found = {}
    for lanes in (False, True):
        in_lanes(monkeypatch, lanes)
        potential = moving(CANONICAL[name], field, precision)
        (emitter,) = (kernels.emitter for kernels in potential.kernels.values())
        assert type(emitter) is (kind if lanes else Emitter)
        steps = Integrator(System(potential, [Motion(field, "speed", "inertia")]), SCHEMES["leapfrog"], 1e-3)
        assert steps.fused
        steps.advance(3)
        found[lanes] = potential.fields[field].values.copy()
    scale = np.abs(found[False]).max()
    assert np.abs(found[True] - found[False]).max() <= LIMITS[precision] * scale


@local_energy("lattice", over="nodes", phi=Node(), mass=Parameter(default=1.0))
def lattice(phi, mass):
    return 0.5 * mass * phi[0] ** 2


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_a_large_scalar_lattice(precision: str, engine: None) -> None:
    """At the size from which terms are in lanes by default."""
    phi = np.random.default_rng(0).normal(size=16_384)
    fields = Fields({"phi": phi, "pi": np.zeros_like(phi)}, precision=precision)
    potential = Potential(fields, [bind(lattice, fields)])
    assert potential.in_lanes == ["lattice"]
    steps = Integrator(System(potential, [Motion("phi", "pi")]), SCHEMES["leapfrog"], 0.1)
    assert steps.fused
    steps.advance(10)
    turned = 10.0 * 2.0 * np.arcsin(0.05)  # leapfrog's own phase
    np.testing.assert_allclose(fields["phi"].values, phi * np.cos(turned), atol=1e-5)
    search = LBFGS(potential, [Unknown("phi")])
    search.advance(2)
    assert np.abs(fields["phi"].values).max() < 1e-5


# Names of users -----------------------------------------------------------------------------------------

LOCALS = "n e i j s a t h at first base begin end block chunk turn part lane acc steps kernel node nodes"
OWN = "f_q flat_q q_flat rows_q of_q d_q dd_q dot_q data_q slot_q table_q start slots scalars source clock"
TRAPS = [*LOCALS.split(), *OWN.split()]


def named(names: list[str]) -> Potential:
    """A tuple energy with arguments of these names: a field, data, parameters, a table, the time."""
    q, rest, weight, stiff, soft, table, clock, made = names
    text = (
        f"def u({', '.join((q, rest, stiff, soft, table, clock, made))}):\n"
        f"    d = {q}[0] - {q}[1] - {rest}\n"
        f"    return {stiff} * d * d * (1 + {soft} * {clock}) + {table}[1] * {q}[0] + {made} * {made}\n"
    )
    scope: dict = {}
    function = _compiled(text, scope)
    roles = {
        q: Node(),
        rest: Datum(differentiable=True),
        weight: Datum(shape=("k",)),
        stiff: Parameter(),
        soft: Parameter(),
        table: Table(),
        clock: Time(),
        made: Linear(q, weight),
    }
    energy = local_energy("trapped", over=2, **roles)(function)
    rng, n, e = np.random.default_rng(3), SIZE["n"], SIZE["e"]
    weights = rng.normal(size=(e, 1)) * [1.0, -1.0]
    values = {rest: rng.uniform(0.5, 1.5, e), weight: weights}
    tuples = np.stack([np.arange(e), np.arange(e) + 1], axis=1)
    fields = Fields({"n": rng.normal(size=n), "v": np.zeros(n)})
    return Potential(
        fields,
        [
            bind(
                energy,
                fields,
                tuples=tuples,
                data=values,
                parameters={stiff: rng.uniform(0.5, 1.5, e), soft: 0.7},
                tables={table: [0.3, 0.6]},
                renamed={q: "n"},
            )
        ],
    )


def _compiled(text: str, scope: dict):
    """A function from text, whose source can be read."""
    file = f"<names {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)
    return scope["u"]


@pytest.mark.parametrize("lanes", [False, True], ids=["rows", "lanes"])
def test_any_names(lanes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name in every role, beside others that end in one another."""
    in_lanes(monkeypatch, lanes)
    for k in range(0, len(TRAPS)):
        names = [TRAPS[(k + 5 * j) % len(TRAPS)] for j in range(8)]
        potential = named(names)
        for source in sources(potential):
            tree = ast.parse(source)
            assert shadowed_arguments(source) == [], source
            arguments = [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
            assert len(arguments) == len(set(arguments))


AMBIGUOUS = ["f_n", "x", "x_flat", "f", "f_flat", "of_f", "f_in", "rows"]
PLAIN = ["qa", "qb", "qc", "qd", "qe", "qf", "qg", "qh"]


@pytest.mark.parametrize("lanes", [False, True], ids=["rows", "lanes"])
def test_names_change_no_number(lanes: bool, monkeypatch: pytest.MonkeyPatch, engine: None) -> None:
    in_lanes(monkeypatch, lanes)
    found = []
    for names in (AMBIGUOUS, PLAIN):
        potential = named(names)
        steps = Integrator(System(potential, [Motion("n", "v")]), SCHEMES["leapfrog"], 0.01)
        steps.advance(2)
        slopes = [potential.gradient(f"trapped.{a}", 0.3) for a in (names[1], names[3], names[4])]
        found.append([steps.potential.fields["n"].values.copy(), *slopes])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_hessians_of_arguments_that_join_alike(engine: None) -> None:
    """`a`, `b_c` and `a_b`, `c`: each pair has a buffer of its own."""
    text = "def u(a, b_c, a_b, c):\n    return a[0] * b_c[0] + 3 * a_b[0] * c[0].sum() + a[0] ** 2\n"
    roles = {name: Node() for name in ("a", "b_c", "a_b")} | {"c": Node(shape=(3,))}
    energy = local_energy("joined", over="nodes", **roles)(_compiled(text, {}))
    fields = Fields({name: np.ones((2, *role.shape)) for name, role in roles.items()})
    potential = Potential(fields, [bind(energy, fields)])
    first = potential.hessian(["a", "b_c"]).toarray()
    second = potential.hessian(["a_b", "c"]).toarray()
    np.testing.assert_array_equal(first[[0, 0, 2], [0, 2, 2]], [2.0, 1.0, 0.0])
    np.testing.assert_array_equal(second[0, [0, 2, 3, 4]], [0.0, 3.0, 3.0, 3.0])
    assert second.sum() == 36.0
