"""Variational steps: orders against DOP853, momentum maps, friction, supports, divided steps, restarts."""

import numpy as np
import pytest

from minusgrad.energies.fields import Fields, Hold, Motion
from minusgrad.energies.magnetic_field import uniform_field
from minusgrad.energies.term import bind
from minusgrad.errors import EnergyError, UnsolvedStepError
from minusgrad.potential.potential import Potential
from minusgrad.steppers.integrator import Integrator
from minusgrad.steppers.magnetic.force import MagneticForce, MagneticTerm
from minusgrad.steppers.schemes import SCHEMES
from minusgrad.steppers.systems.system import System
from minusgrad.steppers.variational.variational_integrator import VariationalIntegrator
from tests.support import lagrangians as books
from tests.support.lagrangians import made, reference, slope, state

START = [2.0, 1.5, 0.3, -0.2]
TWIN = [(books.double_pendulum, {"parameters": {"m": 1.0}})]


def twin(n: int, order: int, **options):
    values = {"q": [START[:2]], "v": [START[2:]]}
    return made(values, TWIN, 1.0 / n, order, **options)


@pytest.mark.parametrize(("order", "counts"), [(2, (100, 200, 400)), (4, (25, 50, 100))])
def test_a_double_pendulum_converges_at_its_order_to_dop853(order, counts) -> None:
    expected, errors = reference(books.double_pendulum_rate, START, 1.0), []
    for n in counts:
        one = twin(n, order)
        assert one.blocks
        one.advance(n)
        errors.append(np.abs(state(one) - expected).max())
    assert slope(errors) == pytest.approx(order, abs=0.1)
    assert errors[-1] < {2: 5e-4, 4: 1e-6}[order]


def coupled(kind: str, dt: float, **options):
    """Pairs of pendula with weights and a drag; "pairs" are apart, a "chain" shares nodes."""
    n = {"pairs": 6, "chain": 10}[kind]
    tuples = [[k, k + 1] for k in range(0, n - 1, 1 if kind == "chain" else 2)]
    stiff = np.linspace(1.0, 2.0, len(tuples))
    values = {"q": np.linspace(0.3, 1.2, n), "v": np.linspace(-0.5, 0.4, n)}
    link = (books.linked, {"tuples": tuples, "data": {"c": stiff}, "parameters": {"m": 1.3}})
    weight = (books.weight, {"parameters": {"k": 2.0}})
    drag = (books.drag, {"parameters": {"c": 0.2}})
    return made(values, [link], dt, energies=[weight], losses=[drag], **options)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("held", [False, True])
def test_the_kernel_over_blocks_takes_the_steps_of_the_sparse_solver(order, held) -> None:
    holds = [Hold("fixed", "q", np.array([1]))] if held else []
    first, second = (coupled("pairs", 0.05, order=order, holds=holds, blocks=b) for b in (True, False))
    assert first.blocks
    assert second.blocks is None
    for one in (first, second):
        one.advance(20)
    np.testing.assert_allclose(state(first), state(second), rtol=0, atol=2e-13)
    np.testing.assert_allclose(first.p, second.p, rtol=0, atol=2e-13)
    assert first.balance["dissipated"] == pytest.approx(second.balance["dissipated"], rel=1e-12)
    assert first.balance["dissipated"] > 0.1


def chain_rate(t: float, y: np.ndarray) -> np.ndarray:
    """The chain of ten pendula, by hand: M(q) v' = ..., tuples (k, k + 1) with their couplings."""
    n, q, v = 10, y[:10], y[10:]
    m, c, mass, force = 1.3, np.linspace(1.0, 2.0, 9), np.zeros((10, 10)), -2.0 * np.sin(q)
    force -= 0.2 * (1.0 + q * q) * v
    for k in range(n - 1):
        d = q[k] - q[k + 1]
        mass[[k, k + 1], [k, k + 1]] += m
        mass[[k, k + 1], [k + 1, k]] += 0.25 * m * np.cos(d)
        force[k] += -c[k] * d + 0.25 * m * np.sin(d) * (-(v[k + 1] ** 2))
        force[k + 1] += c[k] * d + 0.25 * m * np.sin(d) * v[k] ** 2
    return np.concatenate([v, np.linalg.solve(mass, force)])


@pytest.mark.parametrize(("order", "counts"), [(2, (20, 40)), (4, (5, 10))])
def test_a_chain_that_shares_nodes_converges_with_drag_and_weights(order, counts) -> None:
    start, errors = np.concatenate([np.linspace(0.3, 1.2, 10), np.linspace(-0.5, 0.4, 10)]), []
    expected = reference(chain_rate, start, 1.0)
    for n in counts:
        one = coupled("chain", 1.0 / n, order=order)
        assert one.blocks is None
        one.advance(n)
        errors.append(np.abs(state(one) - expected).max())
    assert slope(errors) == pytest.approx(order, abs=0.2)
    assert errors[-1] < 1e-3


def test_the_momentum_of_a_cyclic_coordinate_keeps_its_bits_and_the_orbit_is_keplers() -> None:
    """e = 0.5 from pericentre: mean anomaly 2 after time 2, with Kepler's equation solved here."""
    e, n = 0.5, 400
    values = {"q": [[1.0 - e, 0.0]], "v": [[0.0, np.sqrt((1 + e) / (1 - e)) / (1 - e)]]}
    one = made(values, [(books.kepler, {"parameters": {"k": 1.0}})], 2.0 / n, 4)
    before = one.momenta["q"][0, 1]
    one.advance(n)
    assert one.momenta["q"][0, 1] == before
    E = 2.0
    for _ in range(50):
        E -= (E - e * np.sin(E) - 2.0) / (1.0 - e * np.cos(E))
    place = [
        1.0 - e * np.cos(E),
        2.0 * np.arctan2(np.sqrt(1 + e) * np.sin(E / 2), np.sqrt(1 - e) * np.cos(E / 2)),
    ]
    np.testing.assert_allclose(one.moving[0].values[0], place, atol=2e-8)


def test_a_term_linear_in_velocity_is_a_magnetic_force() -> None:
    """The same helix as the integrator that turns velocities, which is exact in a uniform field."""
    values = {"x": [[0.3, -0.2], [1.0, 0.5]], "v": [[1.0, 0.4], [-0.3, 0.8]]}
    motions = [Motion("x", "v")]
    one = made(values, [(books.charge, {"parameters": {"B": 1.7}})], 0.01, 4, motions)
    one.advance(300)
    fields = Fields(values)
    term = MagneticTerm(uniform_field, 1.0, {"B": [0.0, 0.0, 1.7]})
    force = MagneticForce(fields, motions, [term])
    other = Integrator(System(Potential(fields, []), motions, magnetic=force), SCHEMES["leapfrog"], 0.01)
    other.advance(300)
    for name in ("x", "v"):
        np.testing.assert_allclose(one.potential.fields[name].values, fields[name].values, atol=3e-9)


def test_a_pushed_oscillator_follows_its_closed_form_and_its_work_balances() -> None:
    """q = A (cos t - cos 2t), A = f / 3, from rest."""
    errors, drifts = [], []
    for n in (50, 100):
        one = made({"q": [0.0], "v": [0.0]}, [(books.shaken, {"parameters": {"f": 0.6}})], 3.0 / n)
        one.advance(n)
        errors.append(abs(state(one)[0] - 0.2 * (np.cos(3.0) - np.cos(6.0))))
        # the energy function of L has - f q cos 2t, whose explicit rate is the work
        drifts.append(abs(one.energy_function() - one.balance["work"]))
    assert slope(errors) == pytest.approx(2.0, abs=0.2)
    assert slope(drifts) == pytest.approx(2.0, abs=0.3)
    assert drifts[-1] < 1e-3 < abs(one.balance["work"])


def test_a_pole_on_a_cart_that_is_driven_follows_dop853_and_the_support_does_the_work() -> None:
    """The cart is held at 0.4 t: a uniform motion, so the pole is a free pendulum; then it is pushed over."""
    motions = [Motion("s", "v_s"), Motion("a", "v_a")]
    hold = Hold("drive", "s", np.array([0]), displacement=(0.7,), duration=1.0)

    def pole(t: float, y: np.ndarray) -> list[float]:
        push = 0.7 * 60.0 * t * (1.0 - t) * (1.0 - 2.0 * t)
        return [y[1], -books.G * np.sin(y[0]) - push * np.cos(y[0])]

    expected, errors, drifts = reference(pole, [0.5, 0.2], 1.0), [], []
    for n in (50, 100):
        values = {"s": [0.0], "v_s": [0.0], "a": [0.5], "v_a": [0.2]}
        one = made(values, [(books.cart, {"parameters": {"M": 2.0}})], 1.0 / n, 2, motions, holds=[hold])
        assert one.blocks is None
        start = one.energy_function()
        one.advance(n)
        found = state(one)
        errors.append(np.abs(found[[1, 3]] - expected).max())
        drifts.append(abs(one.energy_function() - start - one.balance["work"]))
        assert found[[0, 2]] == pytest.approx([0.7, 0.0], abs=1e-12)
    assert slope(errors) == pytest.approx(2.0, abs=0.2)
    assert slope(drifts) == pytest.approx(2.0, abs=0.4)
    assert abs(one.balance["work"]) > 0.05


@pytest.mark.parametrize("blocks", [True, False])
def test_a_run_in_parts_and_from_a_saved_state_has_the_same_bits(blocks) -> None:
    whole, parts = (twin(50, 4, blocks=blocks) for _ in range(2))
    whole.advance(11)
    for n in (1, 4, 2):
        parts.advance(n)
    kept = parts.state(), [f.values.copy() for f in parts.moving]
    parts.advance(4)
    for name, array in whole.state().items():
        np.testing.assert_array_equal(array, parts.state()[name], err_msg=name)
    np.testing.assert_array_equal(state(whole), state(parts))
    other = twin(50, 4, blocks=blocks)
    for field, values in zip(other.moving, kept[1], strict=True):
        field.set(values)
    other.restore(kept[0])
    other.advance(4)
    np.testing.assert_array_equal(state(whole), state(other))


def test_single_precision_follows_double_precision() -> None:
    one, other = twin(100, 2, precision="f32"), twin(100, 2)
    for run in (one, other):
        run.advance(100)
    assert one.moving[0].dtype == np.float32
    np.testing.assert_allclose(state(one), state(other), atol=2e-4)
    sparse = twin(100, 2, precision="f32", blocks=False)
    sparse.advance(20)
    again = twin(100, 2)
    again.advance(20)
    np.testing.assert_allclose(state(sparse), state(again), atol=2e-5)


@pytest.mark.parametrize("blocks", [True, False])
def test_a_step_without_a_solution_is_taken_in_parts_or_refused(blocks) -> None:
    """Towards a wall 1 / sqrt(q), beyond which nothing is defined: whole steps would leave the domain."""
    values, wall = {"q": [0.5], "v": [-3.0]}, [(books.wall, {})]
    one = made(values, wall, 0.1, 2, blocks=blocks)
    assert (one.blocks is not None) == blocks
    one.advance(6)
    (event,) = one.events()
    assert event["event"] == "substeps"
    assert all(1 <= step <= 6 and parts > 1 for step, parts in event["steps"])
    assert one.step == 6
    step, parts = event["steps"][0]
    singly, short = (made(values, wall, 0.1, 2, blocks=blocks) for _ in range(2))
    singly.advance(step)
    short.advance(step - 1)
    short.dt = 0.1 / parts
    short.advance(parts)
    np.testing.assert_allclose(state(singly), state(short), rtol=1e-12)
    whole = made(values, wall, 0.1, 2, blocks=blocks, substeps=1)
    whole.advance(step - 1)
    before = state(whole)
    with pytest.raises(
        UnsolvedStepError, match=rf"step {step}: is not solved at once: .*`substeps` may cure it"
    ):
        whole.advance(3)
    np.testing.assert_allclose(state(whole), before, rtol=1e-12)


def test_momenta_begin_afresh_where_velocities_are_written() -> None:
    one, other = twin(100, 2), twin(100, 2)
    one.advance(5)
    q, v = (f.values.copy() for f in one.moving)
    for field, values in zip(other.moving, (q, v), strict=True):
        field.set(values)
    one.moving[1].set(v)
    for run in (one, other):
        run.advance(5)
    np.testing.assert_array_equal(state(one), state(other))


def test_numbers_of_holds_that_are_written_between_steps_count() -> None:
    """As if the hold had begun with them: the cart is moved by 0.7 in place of 0.4."""
    motions, values = (
        [Motion("s", "v_s"), Motion("a", "v_a")],
        {"s": [0.0], "v_s": [0.0], "a": [0.5], "v_a": [0.2]},
    )
    one, other = (
        made(
            values,
            [(books.cart, {"parameters": {"M": 2.0}})],
            0.02,
            2,
            motions,
            holds=[Hold("drive", "s", np.array([0]), displacement=(far,), duration=0.1)],
        )
        for far in (0.4, 0.7)
    )
    one.holds.numbers.set_parameter("drive.displacement", np.array([0.7]))
    for run in (one, other):
        run.advance(3)
    np.testing.assert_array_equal(state(one), state(other))
    one.holds.numbers.set_parameter("drive.displacement", np.array([0.4]))
    one.advance(1)
    assert one.potential.fields["s"].values[0] == pytest.approx(
        0.4 * 0.8**3 * (10.0 - 12.0 + 6.0 * 0.64), rel=1e-14
    )


def test_what_does_not_fit_is_refused_by_name() -> None:
    values = {"q": [[0.0, 1.0]] * 3, "v": [[0.0, 0.0]] * 3}
    flat = r"lagrangian 'flat', element 0: its mass matrix d2L/dv2 is singular at node 0 of 'q'"
    with pytest.raises(EnergyError, match=flat):
        made(values, [(books.flat, {})], 0.1)
    with pytest.raises(EnergyError, match="has no Lagrangian, got energies alone"):
        made(values, [], 0.1)
    with pytest.raises(EnergyError, match="order: must be 2 or 4, got 3"):
        made(values, TWIN, 0.1, 3)
    with pytest.raises(EnergyError, match="'w' at node 0: is the rate of a coordinate that moves"):
        made(values | {"x": [0.0], "w": [0.0]}, TWIN, 0.1, motions=[Motion("q", "v"), Motion("x", "w")])
    terms = [(books.double_pendulum, {"parameters": {"m": 1.0}, "renamed": {"v": "w"}})]
    with pytest.raises(EnergyError, match="v is the rate of 'q', got the field 'w'; give the velocity of a"):
        made(values | {"w": values["v"]}, terms, 0.1)
    one = bind(books.weight, Fields({"q": [0.0], "v": [0.0]}), parameters={"k": 1.0})
    fields = Fields({"q": [0.0], "v": [0.0]})
    with pytest.raises(EnergyError, match="is an energy, got among Lagrangians"):
        VariationalIntegrator(
            System(Potential(fields, []), [Motion("q", "v")], lagrangian=Potential(fields, [one])), 0.1
        )
