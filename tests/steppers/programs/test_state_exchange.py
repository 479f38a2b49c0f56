"""Steps without copies: the bits of copies, in the fields' own memory, with and without a tape."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, local_map
from minusgrad.energies.fields import Hold, Motion
from minusgrad.engine.kernels import BoundKernel
from minusgrad.errors import NonFiniteError
from minusgrad.plugin import Evolution, Holds, Output
from minusgrad.potential.watches.verified_ranges import ranges_closed
from minusgrad.steppers.programs.state_exchange import StateExchange
from minusgrad.steppers.programs.state_tape import StateTape
from minusgrad.steppers.systems.system import System


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs as large as these take their steps in one kernel."""
    monkeypatch.setattr("minusgrad.steppers.programs.serial_steps.SMALL", -1)


@local_map(
    "swung",
    gives={"x_next": Output("1", ("d",)), "v_next": Output("1", ("d",))},
    over="nodes",
    x=Node("1", ("d",)),
    v=Node("1", ("d",)),
    k=Parameter(),
)
def swung(x, v, k):
    """A stiff spring, by symplectic Euler."""
    u = v[0] - k * (1.0 + x[0].dot(x[0])) * x[0]
    return x[0] + 0.1 * u, u


@local_map("seen", gives="z_next", over="nodes", x=Node("1", ("d",)), v=Node("1", ("d",)))
def seen(x, v):
    """Reads the old x and the new v."""
    return x[0].dot(x[0]) + v[0].dot(x[0])


def swing() -> Evolution:
    rng = np.random.default_rng(5)
    shapes = {"x": (5, 2), "v": (5, 2), "z": 5}
    of = Fields({name: 0.3 * rng.normal(size=shape) for name, shape in shapes.items()})
    holds = Holds(of, [Hold("pin", "x", np.array([1]), velocity=(0.3, 0.1))], [Motion("x", "v")])
    maps = [bind(swung, of, parameters={"k": 0.2}), bind(seen, of, renamed={"v": "v_next"})]
    updates = {"x": "x_next", "v": "v_next", "z": "z_next"}
    return Evolution(System(Potential(of, [], maps), holds=holds), updates, 0.1)


def numbers(one: Evolution) -> list[bytes]:
    """Of the state and of the outputs."""
    fields = one.potential.fields
    return [fields[name].values.tobytes() for pair in one.updates.items() for name in pair]


def copying(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StateExchange, "serves", staticmethod(lambda fields, updates: False))


def addresses(one: Evolution) -> list[int]:
    fields = one.potential.fields
    return [fields[name].array.address for pair in one.updates.items() for name in pair]


@pytest.mark.parametrize("steps", [1, 2, 3, 6, 7])
def test_states_and_outputs_are_those_of_copies(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    one = swing()
    before = addresses(one)
    one.advance(steps)
    assert addresses(one) == before
    copying(monkeypatch)
    other = swing()
    other.advance(steps)
    assert numbers(one) == numbers(other)


def counted(patch: pytest.MonkeyPatch) -> list[BoundKernel]:
    """The kernels that are launched from now on."""
    kernels: list[BoundKernel] = []
    launch = BoundKernel.__call__

    def call(self: BoundKernel, *scalars: float) -> None:
        kernels.append(self)
        launch(self, *scalars)

    patch.setattr(BoundKernel, "__call__", call)
    return kernels


@pytest.mark.parametrize("recorded", [False, True])
def test_a_step_in_the_middle_copies_nothing(recorded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It launches two maps and the holds; of twelve steps the last one copies, and the first one, too."""
    one = swing()
    if recorded:
        one = one.with_tape(StateTape(one.moving, 12))
        one.begin_tape(0)
    one._verify()
    kernels, copies = counted(monkeypatch), []
    copy_next = Evolution._copy_next
    monkeypatch.setattr(Evolution, "_copy_next", lambda self: copies.append(copy_next(self)))
    with ranges_closed():  # in a new range a map is verified once more
        one.advance(12)
    assert (len(kernels), len(copies)) == ((12 * 3 + 3, 1) if recorded else (12 * 3, 2))


@pytest.mark.parametrize("kept", ["xvz", "v", "xz", ""])
def test_the_tape_has_the_states_that_copies_record(kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each step and after the last, of the fields that it keeps; in batches of any length."""

    def rows_after(batches: list[int]) -> tuple[list[bytes], dict[str, bytes]]:
        made = swing()
        one = made.with_tape(StateTape([made.potential.fields[x] for x in kept], 12))
        one.begin_tape(0)
        for steps in batches:
            one.advance(steps)
        assert one.tape
        return numbers(one), {x: np.stack([one.tape.values(x, k) for k in range(13)]).tobytes() for x in kept}

    found = rows_after([12]), rows_after([5, 1, 2, 4])
    copying(monkeypatch)
    expected = rows_after([12])
    assert found == (expected, expected)
    states, alone = {x: [] for x in kept}, swing()
    for _ in range(13):
        for x in kept:
            states[x].append(alone.potential.fields[x].values.copy())
        alone.advance(1)
    assert expected[1] == {x: np.stack(rows).tobytes() for x, rows in states.items()}


@local_map("grown", gives="y_next", over="nodes", y=Node())
def grown(y):
    """Doubles the exponent."""
    return y[0] * y[0]


@pytest.mark.parametrize("tape", [None, StateTape])
def test_a_step_that_is_not_finite_leaves_the_state_before_it(tape: Callable[..., StateTape] | None) -> None:
    of = Fields({"y": [1.0, 1.5]})
    one = Evolution(System(Potential(of, [], [bind(grown, of)])), {"y": "y_next"})
    home = of["y"].array.address
    if tape:
        one = one.with_tape(tape(one.moving, 40))
    with pytest.raises(NonFiniteError, match=r"^step 11: "):
        one.advance(40)
    expected = 1.5
    for _ in range(10):
        expected *= expected
    assert (one.step, of["y"].array.address, of["y"].values.tolist()) == (10, home, [1.0, expected])


def test_an_interrupted_call_leaves_the_fields_in_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the state of the last whole step."""
    one, other = swing(), swing()
    before = addresses(one)
    refresh, steps = Potential.refresh, iter(range(4))

    def stopped(self: Potential, t: float = 0.0, needed: Any = None) -> None:
        if next(steps, None) is None:
            raise KeyboardInterrupt
        refresh(self, t, needed)

    one._verify()
    with monkeypatch.context() as patch:
        patch.setattr(Potential, "refresh", stopped)
        with pytest.raises(KeyboardInterrupt):
            one.advance(9)
    assert addresses(one) == before
    other.advance(4)
    assert [f.values.tobytes() for f in one.moving] == [f.values.tobytes() for f in other.moving]


def test_memory_lent_by_a_caller_has_the_state_afterwards() -> None:
    one, other = swing(), swing()
    own = one.potential.fields["x"].array
    mine = own.at.copy()
    own.lend(mine)
    one.advance(7)
    own.leave()
    other.advance(7)
    np.testing.assert_array_equal(mine, other.potential.fields["x"].values)


@local_map("turned", gives="c", over="nodes", a=Node(), b=Node())
def turned(a, b):
    """Neither of the two."""
    return a[0] - 2.0 * b[0]


@pytest.mark.parametrize("updates", [{"a": "b", "b": "c"}, {"a": "c", "b": "c"}])
def test_fields_that_become_other_fields_are_copied(updates: dict[str, str]) -> None:
    """And two that become one output."""
    of = Fields({"a": [1.0, 2.0], "b": [3.0, 5.0]})
    one = Evolution(System(Potential(of, [], [bind(turned, of)])), updates)
    a, b = ([1.0, 2.0], [3.0, 5.0])
    one.advance(5)
    for _ in range(5):
        c = [p - 2.0 * q for p, q in zip(a, b, strict=True)]
        a, b = (b, c) if updates["a"] == "b" else (c, c)
    assert [of[n].values.tolist() for n in "ab"] == [a, b]
