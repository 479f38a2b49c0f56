"""CustomGBForce of an OpenMM System by its own expressions, beside OpenMM's platform Reference."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minusgrad
import torch
from minusgrad.check import term_check
from minusgrad.errors import SceneError
from minusgrad.torch import energy
from tests.support.both_engines import assert_engines_agree
from tests.support.command import files
from tests.support.ensembles import rows_of, unlike
from tests.support.openmm_systems import SCENE, beside_openmm, write_scene
from tests.support.periodic_sums import slope
from tests.support.short_scenes import cut
from tests.support.tiers import sampled

mm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")
SINGLE, PAIRS, ALL_PAIRS = range(3)
FRAMES = 'observe = [{ kind = "frames", every = 1 }]\n'


def amber(model: str, n: int = 9, method: int = 0, **options: Any) -> Any:
    """A System with one of Amber's solvents, as OpenMM writes them."""
    from openmm.app.internal import customgbforces

    rng, system = np.random.default_rng(n), mm.System()
    force = getattr(customgbforces, model)(SA="ACE", **options)
    for _ in range(n):
        system.addParticle(12.0)
        own = [1.0, 0.8, 4.85] if model == "GBSAGBn2Force" else []
        force.addParticle([0.3 * rng.normal(), rng.choice([0.12, 0.15, 0.17]), rng.uniform(0.6, 1.0), *own])
    force.finalize()
    force.setNonbondedMethod(method)
    force.setCutoffDistance(options.get("cutoff", 1.0))
    system.setDefaultPeriodicBoxVectors([1.4, 0, 0], [0.1, 1.4, 0], [0.2, -0.1, 1.4])
    system.addForce(force)
    return system


def custom(
    values: dict[str, tuple[str, int]],
    energies: list[tuple[str, int]],
    n: int = 9,
    method: int = 0,
    exclusions: int = 8,
) -> Any:
    """A System with a solvent of these stages: parameters q and a of particles, global ones eps and k."""
    rng, system, force = np.random.default_rng(n), mm.System(), mm.CustomGBForce()
    for name in ("q", "a"):
        force.addPerParticleParameter(name)
    for name, value in (("eps", 78.3), ("k", 1.3)):
        force.addGlobalParameter(name, value)
        force.addEnergyParameterDerivative(name)
    for name, (text, kind) in values.items():
        force.addComputedValue(name, text, kind)
    for text, kind in energies:
        force.addEnergyTerm(text, kind)
    bend = np.cos(np.linspace(0.0, 2.0, 9)).tolist()
    force.addTabulatedFunction("bend", mm.Continuous1DFunction(bend, 0.0, 3.0))
    for _ in range(n):
        system.addParticle(12.0)
        force.addParticle([rng.normal(), rng.uniform(0.1, 0.3)])
    for i in range(min(exclusions, n - 1)):
        force.addExclusion(i, i + 1)
    force.setNonbondedMethod(method)
    force.setCutoffDistance(0.6)
    system.setDefaultPeriodicBoxVectors([1.4, 0, 0], [0.1, 1.4, 0], [0.2, -0.1, 1.4])
    system.addForce(force)
    return system


VALUES = {
    "rho": ("k*a1*a2*exp(-r/0.2)*bend(r)", PAIRS),
    "B": ("a+0.1*rho/(1+rho)+0.01*sin(x+2*y-z)", SINGLE),
    "D": ("B^2*k", SINGLE),
}
ENERGIES = [
    ("q^2/B/eps+0.3*x*D", SINGLE),
    ("q1*q2/f/eps; f=sqrt(r^2+B1*B2*exp(-r^2/(4*B1*B2)))", PAIRS),
    ("k*D1*D2/(r+0.1)", ALL_PAIRS),
]


def places(n: int = 9, edge: float = 0.8) -> np.ndarray:
    return np.random.default_rng(n + 1).uniform(0.0, edge, (n, 3))


CASES: dict[str, tuple[Callable[[], Any], np.ndarray]] = {
    "HCT": (lambda: amber("GBSAHCTForce"), places()),
    "OBC1 with salt": (lambda: amber("GBSAOBC1Force", kappa=0.7), places()),
    "OBC2 with a cutoff": (lambda: amber("GBSAOBC2Force", 25, 1, cutoff=0.6), places(25, 1.2)),
    "OBC2 in a box": (lambda: amber("GBSAOBC2Force", 25, 2, cutoff=0.6), places(25, 1.4)),
    "GBn": (lambda: amber("GBSAGBnForce"), places()),
    "GBn2": (lambda: amber("GBSAGBn2Force"), places()),
    "own": (lambda: custom(VALUES, ENERGIES), places()),
    "own with a cutoff": (lambda: custom(VALUES, ENERGIES, 25, 1), places(25, 1.2)),
    "own in a box": (lambda: custom(VALUES, ENERGIES, 25, 2, 0), places(25, 1.4)),
}
SHORT = ["own", "own with a cutoff"]


@pytest.mark.parametrize("name", sampled(CASES, SHORT))
def test_energy_and_forces_are_those_of_openmm(name: str, tmp_path: Path) -> None:
    system, x = CASES[name]
    found = beside_openmm(tmp_path, system(), x)
    assert [*found.terms] == [f"custom_gb_energy_{k}" for k in (1, 2, 3)]
    assert found.error < 1e-12
    assert found.error_of_forces < 1e-12


def built(folder: Path, system: Any, x: np.ndarray, **changes: Any) -> Any:
    """The scene of a System."""
    return minusgrad.build(write_scene(folder, system, x), changes)


def test_derivatives_by_global_parameters_are_those_of_openmm(tmp_path: Path) -> None:
    """One number for each, whichever stages read it."""
    system, x = custom(VALUES, ENERGIES), places()
    scene = built(tmp_path, system, np.round(x, 4))
    reference = mm.Platform.getPlatformByName("Reference")
    context = mm.Context(system, mm.VerletIntegrator(1e-3), reference)
    context.setPositions(np.round(x, 4))
    expected = context.getState(getParameterDerivatives=True).getEnergyParameterDerivatives()
    unit = scene.units.in_si("J") * 6.02214076e20
    for name in ("eps", "k"):
        found = scene.potential.gradient(f"custom_gb_globals.{name}") * unit
        assert found == pytest.approx(expected[name], rel=1e-9), name


def test_derivatives_by_parameters_of_particles_are_those_of_differences(tmp_path: Path) -> None:
    potential = built(tmp_path, custom(VALUES, ENERGIES), places()).potential
    rng = np.random.default_rng(4)
    for name in ("custom_gb_q", "custom_gb_a", "x"):
        start = potential.fields[name].values.copy()
        w = rng.normal(size=start.shape)

        def moved(h: float, of: Callable[[], Any], name: str = name, start: Any = start, w: Any = w) -> Any:
            potential.fields[name].set(start + h * w)
            found = np.array(of())
            potential.fields[name].set(start)
            return found

        expected = slope(lambda h: moved(h, potential.value), 1e-4)
        assert (potential.gradient(name) * w).sum() == pytest.approx(expected, rel=1e-8), name
        bent = slope(lambda h: moved(h, lambda: potential.gradient("custom_gb_a")), 1e-4)
        found = potential.product({name: w}, "custom_gb_a")
        np.testing.assert_allclose(found, bent, atol=1e-7 * np.abs(bent).max())


@pytest.mark.long
@pytest.mark.parametrize("name", ["own", "GBn2"])
def test_check_finds_nothing_wrong(name: str, tmp_path: Path) -> None:
    system, x = CASES[name]
    found = list(term_check.of_potential(built(tmp_path, system(), x).potential))
    assert [f for f in found if not f.passed] == []


def test_single_precision_follows_double(tmp_path: Path) -> None:
    system, x = custom(VALUES, ENERGIES), places()
    wide, narrow = (built(tmp_path, system, x, **{"runtime.precision": p}).potential for p in ("f64", "f32"))
    assert narrow.value() == pytest.approx(wide.value(), rel=1e-5)
    for name in ("x", "custom_gb_q", "custom_gb_a"):
        expected = wide.gradient(name)
        np.testing.assert_allclose(narrow.gradient(name), expected, atol=1e-5 * np.abs(expected).max())


def test_a_run_that_was_cut_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    scene = write_scene(tmp_path, custom(VALUES, ENERGIES), places(), SCENE.replace("steps = 2", "steps = 6"))
    minusgrad.run(scene, out=tmp_path / "whole")
    out = cut(tmp_path / "cut", scene, {}, 2)
    minusgrad.resume(out)
    whole, again = files(tmp_path / "whole"), files(out)
    assert {n: b for n, b in again.items() if n.endswith(".h5")} == {
        n: b for n, b in whole.items() if n.endswith(".h5")
    }


@pytest.mark.long
def test_members_vary_a_global_parameter(tmp_path: Path) -> None:
    """With the bits that each has alone."""
    scene = write_scene(tmp_path, custom(VALUES, ENERGIES), places(), FRAMES + SCENE)
    members = {"ensemble": {"members": 3, "vary": {"custom_gb_globals.eps": {"list": [2.0, 20.0, 80.0]}}}}
    minusgrad.run(scene, members, out=tmp_path / "all")
    minusgrad.run(scene, members | {"ensemble.member": 1}, out=tmp_path / "one")
    assert unlike(tmp_path / "one", tmp_path / "all", 3, 1) == []
    ends = [rows_of(tmp_path / "all", "particles/all/position", 3, row)[-1] for row in range(3)]
    assert not np.array_equal(ends[0], ends[1])


@pytest.mark.long
def test_derivatives_as_a_function_of_tensors(tmp_path: Path) -> None:
    path = write_scene(tmp_path, custom(VALUES, ENERGIES), places())
    u, potential = energy(path), minusgrad.build(path).potential
    names = ("x", "custom_gb_a", "custom_gb_globals.k")
    given = {name: u.start(name).requires_grad_() for name in names}
    slopes = torch.autograd.grad(u(**given), [*given.values()], create_graph=True)
    for name, found in zip(names, slopes, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), potential.gradient(name), rtol=1e-9, atol=1e-9)
    (bent,) = torch.autograd.grad((slopes[0] ** 2).sum(), [given["custom_gb_a"]])
    expected = potential.product({"x": 2.0 * slopes[0].detach().numpy()}, "custom_gb_a")
    np.testing.assert_allclose(bent.numpy(), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.skipif(not find_spec("quadrants"), reason="needs pip install 'minusgrad[quadrants]'")
def test_quadrants_has_the_same_run(tmp_path: Path) -> None:
    frames = 'observe = [{ kind = "frames", every = 1 }]\n'
    scene = write_scene(tmp_path, amber("GBSAGBn2Force"), places(), frames + SCENE)
    assert_engines_agree(scene, tmp_path)


def xml_of(old: str, new: str) -> Callable[[], str]:
    return lambda: mm.XmlSerializer.serialize(custom(VALUES, ENERGIES)).replace(old, new, 1)


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (
            lambda: custom(VALUES, [("q1*q2*B1/r", PAIRS)]),
            "'a.xml': CustomGBForce 0: energy term 1: its energy must be the same where particles 1 and 2 are"
            " exchanged, got another; write it symmetric",
        ),
        (
            lambda: custom(VALUES, [("sqrt(-1-r)", PAIRS)]),
            "energy term 1: its energy must be a number for particles about a nanometre apart, got nan;",
        ),
        (
            lambda: custom({"rho": ("a1*b2/r", PAIRS)}, [("rho", SINGLE)]),
            "'a.xml': CustomGBForce 0: computed value 'rho': expression, character 4: no variable named 'b2'",
        ),
        (
            lambda: custom({"B": ("D", SINGLE), "D": ("a", SINGLE)}, [("B", SINGLE)]),
            "computed value 'B': expression, character 1: no variable named 'D'",
        ),
        (
            lambda: custom({"q": ("a", SINGLE)}, [("q", SINGLE)]),
            "parameters and computed values need names of their own, got two 'q'; rename one",
        ),
        (xml_of('type="1"', 'type="3"'), "a type from 0 to 2 and, if they are computed values, a name, got"),
        (xml_of('method="0"', 'method="5"'), "method must be 0 to 2 (NoCutoff, "),
        (xml_of('param2="', 'param3="'), "CustomGBForce needs a finite number `param2` everywhere;"),
    ],
    ids=["asymmetric", "nan", "unknown", "later value", "two names", "type", "method", "no number"],
)
def test_what_cannot_be_is_refused(system: Callable[[], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError) as refusal:
        built(tmp_path, system(), places())
    assert message in str(refusal.value)


def test_a_solvent_without_the_box_of_other_forces_is_refused(tmp_path: Path) -> None:
    system, pairs = custom(VALUES, ENERGIES), mm.NonbondedForce()
    for _ in range(9):
        pairs.addParticle(0.1, 0.1, 0.0)
    pairs.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
    pairs.setCutoffDistance(0.5)
    system.addForce(pairs)
    with pytest.raises(
        SceneError, match="CustomGBForce 0: must use the box as other forces of the System do"
    ):
        built(tmp_path, system, places())


def test_two_solvents_have_names_of_their_own(tmp_path: Path) -> None:
    system = custom(VALUES, ENERGIES)
    system.addForce(mm.XmlSerializer.clone(system.getForce(0)))
    system.getForce(1).setName("second")
    found = beside_openmm(tmp_path, system, places())
    assert {"custom_gb_energy_1", "second_energy_1"} <= {*found.terms}
    assert found.error < 1e-12
