"""Parameters that terms of a block have in common: one name for values, derivatives, members, fits, loads.

A plugin of the test has springs between neighbours and between next neighbours with one stiffness, each an
energy of its own. Derivatives are compared with those of the same energies, added up, and with differences.
"""

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.errors import EnergyError, MinusgradError
from minusgrad.plugin import Compound
from tests.support.toml_scenes import toml_text

PLUGIN = """
    from minusgrad import Datum, Node, Parameter, bind, local_energy
    from minusgrad.plugin import Compound, CompoundContext, Record, hookimpl

    TIE = dict(x=Node("m", ("d",)), rest=Datum("m"), k=Parameter("N/m"))

    def tied(x, rest, k):
        stretch = (x[1] - x[0]).norm() - rest
        return 0.5 * k * stretch * stretch

    @local_energy("near_tie", over=2, **TIE)
    def near_tie(x, rest, k):
        stretch = (x[1] - x[0]).norm() - rest
        return 0.5 * k * stretch * stretch

    @local_energy("far_tie", over=2, **TIE)
    def far_tie(x, rest, k):
        stretch = (x[1] - x[0]).norm() - rest
        return 0.25 * k * stretch * stretch * stretch * stretch / (rest * rest)

    class Chain(Record):
        name: str = "chain"
        k: float = 3.0
        common: bool = True

        def make(self, context: CompoundContext) -> Compound:
            terms = [
                bind(energy, context.fields, name=f"{self.name}_{part}",
                     tuples=[[n, n + by] for n in range(5 - by)],
                     data={"rest": [0.9 * by] * (5 - by)}, parameters={"k": self.k}, units=context.units)
                for part, energy, by in (("near", near_tie, 1), ("far", far_tie, 2))
            ]
            return Compound(terms, common={self.name: ["k"]} if self.common else {})

    @hookimpl
    def register_energies():
        return [near_tie, far_tie]

    @hookimpl
    def register_compounds():
        return {"chain": Chain}
    """
STEPPERS: dict[str, dict[str, Any]] = {
    "leapfrog": {"kind": "leapfrog", "dt": 0.02},
    "implicit": {"kind": "implicit_midpoint", "dt": 0.05},
    "controlled": {"kind": "gauss_radau", "dt": 0.1},
}


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "chain.py"
    path.write_text(dedent(PLUGIN))
    return path


def scene(stepper: str = "leapfrog", common: bool = True, **more: Any) -> dict[str, Any]:
    x = [[k, 0.2 * (k % 2) + 0.05 * k] for k in range(5)]
    return {
        "state": {"kind": "network", "nodes": x, "springs": [[0, 1]], "mass": 1.0},
        "compound": [{"kind": "chain", "common": common}],
        "stepper": STEPPERS.get(stepper, {"kind": stepper}),
        "run": {"steps": 10},
    } | more


def test_one_name_for_values_and_derivatives(plugin):
    one = mg.load(scene(), plugins=[plugin])
    two = mg.load(scene(common=False), plugins=[plugin])
    u, v = one.potential, two.potential
    assert one.parameters.keys() == {"chain.k"}
    assert u.arguments == ["chain.k"]
    parts = ["chain_near.k", "chain_far.k"]
    assert u.gradient("chain.k") == pytest.approx(v.gradient(parts[0]) + v.gradient(parts[1]), rel=1e-15)
    along = np.random.default_rng(1).normal(size=(5, 2))
    found, apart = u.product({"x": along}, "chain.k"), [v.product({"x": along}, name) for name in parts]
    assert found == pytest.approx(sum(apart), rel=1e-14)
    by_both = v.product(dict.fromkeys(parts, 1.0), "x")
    np.testing.assert_allclose(u.product({"chain.k": 1.0}, "x"), by_both, rtol=1e-14)
    u.set_parameter("chain.k", 5.0)
    for name in parts:
        v.set_parameter(name, 5.0)
    assert u.value() == v.value()
    assert u.parameter("chain.k") == 5.0


def test_parts_are_refused(plugin):
    one = mg.load(scene(), plugins=[plugin])
    for ask in (
        lambda: one.potential.set_parameter("chain_far.k", 1.0),
        lambda: one.potential.gradient("chain_far.k"),
    ):
        with pytest.raises(EnergyError, match=r"'chain_far.k': is common .*write 'chain.k'"):
            ask()
    with pytest.raises(EnergyError, match=r"no (parameter|term) named"):
        one.potential.set_parameter("chain.q", 1.0)


def test_blocks_and_values_that_do_not_fit_are_refused(plugin):
    one = mg.load(scene(common=False), plugins=[plugin])
    terms = list(one.potential.terms.values())
    with pytest.raises(EnergyError, match="no term of 'chain' has a parameter 'mass'"):
        Compound(terms, common={"chain": ["mass"]})
    spring = {"kind": "near_tie", "name": "chain", "tuples": [[0, 1]], "rest": [1.0], "k": 1.0}
    with pytest.raises(MinusgradError, match="two terms have one name: chain"):
        mg.load(scene(energy=[spring]), plugins=[plugin])


@pytest.mark.parametrize("kind", STEPPERS)
def test_runs_have_its_derivative(plugin, kind):
    """The end of a run by k, in PyTorch, beside differences of runs of the same start."""
    run = rollout(scene(kind), plugin)
    k = run.start("chain.k").requires_grad_()
    run({"chain.k": k})["x"][4, 0].backward()

    def end(size: float) -> float:
        return run({"chain.k": k.detach() + size})["x"][4, 0].item()

    h = 1e-3
    slopes = [(end(j * h) - end(-j * h)) / (2.0 * j * h) for j in (1, 2)]
    assert abs(k.grad.item() / ((4.0 * slopes[0] - slopes[1]) / 3.0) - 1.0) < 1e-8
    assert abs(k.grad.item()) > 1e-3


def rollout(made: dict[str, Any], plugin: Path) -> Any:
    pytest.importorskip("torch")
    import minusgrad.torch

    return minusgrad.torch.rollout(mg.load(made, plugins=[plugin]))


def test_batches_have_their_own(plugin):
    """Values and gradients of a batch are those of single calls."""
    torch = pytest.importorskip("torch")
    run = rollout(scene(), plugin)
    many = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    run({"chain.k": many}, batch=3)["x"][:, 4, 0].sum().backward()
    for k in range(3):
        one = many.detach()[k].clone().requires_grad_()
        run({"chain.k": one})["x"][4, 0].backward()
        assert many.grad[k].item() == pytest.approx(one.grad.item(), rel=1e-12)


def ends(made: dict[str, Any], plugin: Path, steps: int, **block: Any) -> np.ndarray:
    """x (5, 2) after so many steps."""
    given = made | {"compound": [made["compound"][0] | block]}
    simulation = mg.load(given, plugins=[plugin])
    simulation.step(steps)
    return simulation.fields["x"].values.copy()


def test_members_differ_in_it(plugin, tmp_path):
    """Each member is the scene with its own k."""
    made = scene(observe=[{"kind": "frames", "every": 10}], ensemble={"members": 2})
    path = tmp_path / "chain.toml"
    path.write_text(toml_text(made) + '[ensemble.vary]\n"chain.k" = { list = [2.0, 4.0] }\n')
    for member, k in enumerate((2.0, 4.0)):
        out = tmp_path / str(member)
        mg.run(path, [f"ensemble.member={member}"], out=out, plugins=[plugin])
        expected = ends(scene(), plugin, 10, k=k)
        np.testing.assert_allclose(mg.open(out)["position"][-1], expected, rtol=1e-13)
    every = mg.run(path, out=tmp_path / "both", plugins=[plugin])
    assert every.points["chain.k"].tolist() == [2.0, 4.0]
    expected = [ends(scene(), plugin, 10, k=k) for k in (2.0, 4.0)]
    found = every.series("particles/all/position").value[-1].reshape(2, 5, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_fits_find_it(plugin):
    """A Gauss-Newton fit of a run to positions of k = 2.5, by its tangents and its adjoint."""
    times = np.arange(1, 6) * 0.04
    measured = np.array([ends(scene(), plugin, 2 * n, k=2.5)[4] for n in range(1, 6)])
    made = mg.load(scene() | {"state": scene()["state"] | {"bodies": {"end": [4]}}}, plugins=[plugin])
    fit = made.fit(data={"x": (times, measured, "end")}, sigma="1 mm", parameters=["chain.k"])
    assert fit.estimates.parameters[0].name == "chain.k"
    assert float(np.ravel(fit.estimates.parameters[0].values)[0]) == pytest.approx(2.5, rel=1e-6)


def test_loads_may_be_it(plugin):
    """Load steps by k, of a chain under its weight, end where the whole k does at once."""
    weight = {"kind": "body_force", "acceleration": [0.0, -0.3]}
    held = {"body": "ends", "field": "x"}
    state = scene()["state"] | {"bodies": {"ends": [0, 4]}}
    made = scene(state=state, energy=[weight], hold=[held], run={"steps": 20})
    at_once = ends(made | {"stepper": {"kind": "newton"}}, plugin, 20)
    stepper = {"kind": "newton", "load_steps": 2, "loads": ["chain.k"]}
    np.testing.assert_allclose(ends(made | {"stepper": stepper}, plugin, 2), at_once, atol=1e-9)


def test_what_was_written_between_steps_is_saved(plugin):
    """A snapshot has the value under its one name, and goes back to it."""
    made = mg.load(scene(), plugins=[plugin])
    made.step(2)
    made.potential.set_parameter("chain.k", 5.0)
    made.step(2)
    kept = made.snapshot()
    made.step(3)
    once = made.fields["x"].values.copy()
    made.potential.set_parameter("chain.k", 1.0)
    made.restore(kept)
    made.step(3)
    np.testing.assert_array_equal(made.fields["x"].values, once)
