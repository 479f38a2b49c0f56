"""The way back without copies: the bits of copies, for held, unread and constant fields, in every budget."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Fields, Loss, Node, Parameter, Potential, Rollout, bind, local_map
from minusgrad.adjoint.programs.adjoint_exchange import AdjointExchange
from minusgrad.adjoint.programs.program import ProgramAdjoint
from minusgrad.energies.fields import Hold, Motion
from minusgrad.energies.misfit import misfit
from minusgrad.engine.kernels import BoundKernel
from minusgrad.plugin import Evolution, Holds, Output
from minusgrad.potential.map_chain import MapChain
from minusgrad.steppers.programs.state_exchange import StateExchange
from minusgrad.steppers.programs.state_tape import StateTape
from minusgrad.steppers.systems.system import System

NAMES = ["x", "v", "z", "w", "swung.k"]


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs as large as these take their steps in one kernel."""
    monkeypatch.setattr("minusgrad.steppers.programs.serial_steps.SMALL", -1)
    monkeypatch.setattr("minusgrad.steppers.programs.serial_steps.LEAST_WORK", -1)


@local_map(
    "swung",
    gives={"x_next": Output("1", ("d",)), "v_next": Output("1", ("d",))},
    over="nodes",
    x=Node("1", ("d",)),
    v=Node("1", ("d",)),
    w=Node(),
    k=Parameter(),
)
def swung(x, v, w, k):
    """A stiff spring on a wind w, by symplectic Euler."""
    u = v[0] - k * w[0] * (1.0 + x[0].dot(x[0])) * x[0]
    return x[0] + 0.1 * u, u


@local_map("seen", gives="z_next", over="nodes", x=Node("1", ("d",)), v=Node("1", ("d",)))
def seen(x, v):
    """Reads an output; the field that it gives is read by no map."""
    return x[0].dot(x[0]) + v[0].dot(x[0])


def swing() -> Evolution:
    rng = np.random.default_rng(5)
    shapes = {"x": (5, 2), "v": (5, 2), "z": 5, "w": 5}
    of = Fields({name: 0.3 + 0.1 * rng.normal(size=shape) for name, shape in shapes.items()})
    holds = Holds(of, [Hold("pin", "x", np.array([1]), velocity=(0.3, 0.1))], [Motion("x", "v")])
    maps = [bind(swung, of, parameters={"k": 0.2}), bind(seen, of, renamed={"v": "v_next"})]
    updates = {"x": "x_next", "v": "v_next", "z": "z_next"}
    return Evolution(System(Potential(of, [], maps), holds=holds), updates, 0.1)


def gradient(**budget: int) -> list[np.ndarray]:
    """The value of a run's loss at several steps, and its gradient by all names."""
    one = swing()
    of = one.potential.fields
    terms = [
        bind(misfit(f), of, name=f.name, renamed={"x": f.name}, data={"target": np.zeros(f.shape)})
        for f in one.moving
    ]
    run = Rollout(one, [Loss(Potential(of, terms), (0, 3, 4, 11, 20))], 20, **budget)
    value, found = run.evaluate(NAMES)
    return [np.array(value), *(found[name] for name in NAMES)]


def test_gradients_have_the_bits_of_copies_under_every_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [gradient(), gradient(budget=2500)]
    assert all(np.abs(one).max() > 0.0 for one in found[0])
    monkeypatch.setattr(StateExchange, "serves", staticmethod(lambda fields, updates: False))
    expected = [one.tobytes() for one in gradient()]
    assert [[one.tobytes() for one in some] for some in found] == [expected, expected]


@local_map("first", gives="a", over="nodes", x=Node())
def first(x):
    return x[0] * x[0]


@local_map("second", gives="b", over="nodes", x=Node(), a=Node())
def second(x, a):
    """Linear: its derivatives do not read its arguments."""
    return x[0] + 2.0 * a[0]


@local_map("third", gives="c", over="nodes", b=Node())
def third(b):
    """Not linear: its derivative reads b, which the first two compute."""
    return b[0] * b[0]


@local_map("fourth", gives="x_next", over="nodes", x=Node(), c=Node())
def fourth(x, c):
    """Linear, so that nothing reads c."""
    return 0.5 * x[0] + 0.1 * c[0]


def test_a_step_back_computes_only_outputs_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients have the same bits if all outputs are computed once more."""

    def found() -> bytes:
        of = Fields({"x": 0.2 + 0.1 * np.arange(4.0)})
        chain = Potential(of, [], [bind(one, of) for one in (first, second, third, fourth)])
        goal = Potential(of, [bind(misfit(of["x"]), of, data={"target": np.zeros(4)})])
        run = Rollout(Evolution(System(chain), {"x": "x_next"}), [Loss(goal, (9,))], 9)
        slope = run.evaluate(["x"])[1]["x"]
        assert np.abs(slope).max() > 0.0
        return slope.tobytes()

    needed, seen = MapChain.needed_parts, []
    few = found()

    def every(self: MapChain, read: set[str], known: tuple[str, ...] = ()) -> tuple[frozenset[str], set[str]]:
        parts, wanted = needed(self, read, known)
        if known:  # asked by the way back, which has outputs from the tape
            seen.append(parts)
        return frozenset(self.parts), wanted

    monkeypatch.setattr(MapChain, "needed_parts", every)
    assert found() == few
    assert {*seen} == {frozenset({"first", "second"})}


def test_gradients_are_those_of_differences() -> None:
    """By the state, by a field that is not updated, and by a parameter; held components have none."""
    value, *slopes = gradient()
    rng = np.random.default_rng(3)

    def shifted(name: str, way: np.ndarray, h: float) -> float:
        one = swing()
        of = one.potential.fields
        if name in of:
            of[name].set(of[name].values + h * way)
        else:
            one.potential.set_parameter(name, 0.2 + h * way)
        terms = [
            bind(misfit(f), of, name=f.name, renamed={"x": f.name}, data={"target": np.zeros(f.shape)})
            for f in one.moving
        ]
        return Rollout(one, [Loss(Potential(of, terms), (0, 3, 4, 11, 20))], 20).value()

    for name, slope in zip(NAMES, slopes, strict=True):
        way = rng.normal(size=slope.shape)
        if name in ("x", "v"):
            assert not slope[1].any()
            way[1] = 0.0
        difference = (shifted(name, way, 1e-5) - shifted(name, way, -1e-5)) / 2e-5
        np.testing.assert_allclose((slope * way).sum(), difference, rtol=1e-7, err_msg=name)
    assert value > 0.0


def recorded(steps: int) -> ProgramAdjoint:
    """The adjoint of a run that was recorded, with random derivatives at its end."""
    made = swing()
    one = made.with_tape(StateTape(made.moving, steps))
    one.begin_tape(0)
    one.advance(steps)
    back = ProgramAdjoint(one, NAMES)
    back.clear()
    rng = np.random.default_rng(7)
    back.add({f.name: rng.normal(size=f.shape) for f in one.moving})
    return back


def test_a_step_back_copies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It launches both maps back, and forward the one whose output is read; two holds, and one sum, by w."""
    back = recorded(6)
    back.back(6, 1)
    kernels: list[BoundKernel] = []
    launch: Callable[..., None] = BoundKernel.__call__
    monkeypatch.setattr(BoundKernel, "__call__", lambda self, *s: (kernels.append(self), launch(self, *s)))
    back.back(5, 5)
    assert len(kernels) == 5 * (2 + 1 + 2 + 1)


def test_fields_and_adjoints_are_in_their_own_memory_afterwards() -> None:
    """The fields that the way back reads with the state at the step that was reached."""
    back, other = recorded(6), swing()
    fields, chain = back.stepper.potential.fields, back.stepper.potential.chain
    slots = [fields[name].array for pair in back.stepper.updates.items() for name in pair]
    slots += [field.array for field in chain.adjoints.values()]
    before = [slot.address for slot in slots]
    back.back(6, 4)
    assert [slot.address for slot in slots] == before
    other.advance(2)
    for name in ("x", "v"):
        np.testing.assert_array_equal(fields[name].values, other.potential.fields[name].values)


def test_an_interrupted_way_back_frees_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    back = recorded(6)
    fields, chain = back.stepper.potential.fields, back.stepper.potential.chain
    slots = [field.array for field in chain.adjoints.values()]
    slots += [fields[name].array for name in back.stepper.updates]
    before = [slot.address for slot in slots]

    def stopped(self: AdjointExchange) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(AdjointExchange, "depart", stopped)
    with pytest.raises(KeyboardInterrupt):
        back.back(6, 3)
    assert [slot.address for slot in slots] == before
