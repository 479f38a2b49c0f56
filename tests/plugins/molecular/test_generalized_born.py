"""Generalized Born solvents: integrals, Born's ion, OpenMM, derivatives, runs, and what is refused."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import minusgrad as mg
import torch
from minusgrad import Fields, Potential
from minusgrad.check import term_check
from minusgrad.errors import MinusgradError
from minusgrad.plugin import Cutoff, UnitSystem
from minusgrad.symbolic.plain_python import evaluator
from minusgrad.torch import energy
from minusgrad_molecular.implicit.born_radii import born_descreening
from minusgrad_molecular.implicit.generalized_born import implicit_solvent
from tests.support.both_engines import assert_engines_agree
from tests.support.command import files
from tests.support.ensembles import unlike
from tests.support.periodic_sums import slope
from tests.support.short_scenes import cut

UNITS = UnitSystem.of("nm", "u", "ps")
E = UNITS.convert("1.602176634e-19 C", "C")
KE = UNITS.convert("8.9875517862e9 N m^2 C^-2", "N m^2 C^-2")
OFFSET = 0.009
NAMES = {"x": "m", "charge": "C", "born_radius": "m", "born_scale": "1", "box": "m"}
Atoms = dict[str, np.ndarray]


def atoms(n: int = 9, length: float = 0.5, seed: int = 0) -> Atoms:
    """Places [nm], charges [e], radii [nm] and scales of atoms, of which many overlap."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.uniform(0.0, length, (n, 3)),
        "charge": rng.normal(size=n) * E,
        "born_radius": rng.uniform(0.1, 0.25, n),
        "born_scale": rng.uniform(0.6, 1.2, n),
    }


def engulfed() -> Atoms:
    """A small atom within the scaled ball of a large one, and the reverse, and one that only touches."""
    return {
        "x": np.array([[0.0, 0.0, 0.0], [0.05, 0.03, 0.0], [0.0, 0.41, 0.1]]),
        "charge": np.array([0.6, -0.8, 0.3]) * E,
        "born_radius": np.array([0.4, 0.12, 0.15]),
        "born_scale": np.array([1.1, 0.8, 0.7]),
    }


def solvated(
    given: Atoms, precision: str = "f64", cutoff: float | None = None, skin: float | None = None, **more: Any
) -> Potential:
    fields = Fields(given, {name: NAMES[name] for name in given}, precision)
    within = None if cutoff is None else Cutoff(cutoff, skin=skin, sharp=True)
    made = implicit_solvent(fields, within=within, units=UNITS, **more)
    return Potential(fields, made.terms, made.maps)


# Against integrals and closed forms -----------------------------------------------------------------


def integral(r: float, rho: float, s: float) -> float:
    """1 / (4 pi) of the integral of 1 / t^4 over the ball of j outside of that of i, by spheres around i."""

    def shell(t: float) -> float:
        if t < s - r:
            return 1.0 / t**2
        return max(0.0, 0.5 * (1.0 - (r * r + t * t - s * s) / (2.0 * r * t))) / t**2

    ends = [rho, r + s] if r + s > rho else [rho, rho]
    corner = [abs(r - s)] if ends[0] < abs(r - s) < ends[1] else None
    return integrate.quad(shell, *ends, points=corner, epsabs=1e-13, epsrel=1e-12)[0] if r + s > rho else 0.0


def share(r: float, rho: float, s: float) -> float:
    """What the map adds for a pair."""
    found = evaluator(born_descreening.function)(
        {
            "x": [np.zeros(3), np.array([0.0, r, 0.0])],
            "reduced_radius": [rho, 1.0],
            "born_scale": [1.0, s],
        }
    )
    return float(found)


@pytest.mark.parametrize(
    ("r", "rho", "s"),
    [(3.0, 1.0, 0.7), (1.3, 1.0, 0.7), (0.4, 1.0, 0.9), (0.3, 0.5, 1.1), (0.2, 1.5, 0.7), (9.0, 1.0, 0.0)],
    ids=["apart", "overlapping", "nearly inside", "i inside j", "j inside i", "no ball"],
)
def test_a_share_is_the_integral_over_the_ball(r: float, rho: float, s: float) -> None:
    assert share(r, rho, s) == pytest.approx(integral(r, rho, s), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("rho", "s"), [(1.0, 0.7), (0.5, 1.2)])
def test_shares_and_their_slopes_are_continuous_where_balls_touch(rho: float, s: float) -> None:
    """Second derivatives jump."""
    h = 1e-4
    for touching in (rho + s, abs(rho - s)):
        places = (touching + k * 3.0 * h + np.array([-h, 0.0, h]) for k in (-1, 0, 1))
        before, there, after = (np.array([share(r, rho, s) for r in three]) for three in places)
        slopes = [(u[2] - u[0]) / (2.0 * h) for u in (before, there, after)]
        assert abs(after[1] - before[1]) < 20.0 * h
        assert max(slopes) - min(slopes) < 30.0 * h
        bends = [(u[2] - 2.0 * u[1] + u[0]) / h**2 for u in (before, after)]
        assert abs(bends[1] - bends[0]) > 0.1


def test_a_lone_ion_has_the_energy_of_born() -> None:
    """Beside an atom without a charge, both without a volume; and its derivatives, on paper."""
    ion = {
        "x": np.array([[0.0, 0.0, 0.0], [40.0, 0.0, 0.0]]),
        "charge": np.array([1.0, 0.0]) * E,
        "born_radius": np.array([0.2, 0.2]),
        "born_scale": np.zeros(2),
    }
    one, rho = solvated(ion, surface=False, eps_in=2.0), 0.2 - OFFSET
    born = -0.5 * KE * E**2 * (1.0 / 2.0 - 1.0 / 78.3) / rho
    assert one.value() == pytest.approx(born, rel=1e-14)
    assert one.gradient("born_radius")[0] == pytest.approx(-born / rho, rel=1e-13)
    assert one.gradient("charge")[0] == pytest.approx(2.0 * born / E, rel=1e-13)
    of_water = -0.5 * KE * E**2 / rho / 78.3**2
    assert one.gradient("generalized_born_charge.eps_out") == pytest.approx(of_water, rel=1e-13)
    area = (
        4.0
        * np.pi
        * UNITS.convert("2.25936 kJ mol^-1 nm^-2", "J m^-2")
        * ((0.2 + 0.14) ** 2 * (0.2 / rho) ** 6)
        * 2.0
    )
    surface = solvated(ion).by_term()["generalized_born_surface"]
    assert surface == pytest.approx(area, rel=1e-12)


def test_far_charges_are_screened_by_the_solvent() -> None:
    """Coulomb's energy and that of the solvent together are k q q' / (eps_out r)."""
    pair = {
        "x": np.array([[0.0, 0.0, 0.0], [30.0, 0.0, 0.0]]),
        "charge": np.array([1.0, -2.0]) * E,
        "born_radius": np.array([0.2, 0.15]),
        "born_scale": np.array([0.8, 0.8]),
    }
    found = solvated(pair).by_term()["generalized_born"]
    assert found + KE * -2.0 * E**2 / 30.0 == pytest.approx(KE * -2.0 * E**2 / 30.0 / 78.3, rel=1e-12)


# Against OpenMM -------------------------------------------------------------------------------------


def of_openmm(
    given: Atoms, box: np.ndarray | None, cutoff: float | None = None, skin: float = 0.0, **values: float
) -> tuple[float, np.ndarray]:
    """U [kJ/mol] and forces of GBSAOBCForce, platform Reference."""
    openmm = pytest.importorskip("openmm")
    system, force = openmm.System(), openmm.GBSAOBCForce()
    for q, radius, scale in zip(given["charge"] / E, given["born_radius"], given["born_scale"], strict=True):
        system.addParticle(1.0)
        force.addParticle(q, radius, scale)
    if cutoff is not None:
        force.setNonbondedMethod(force.CutoffNonPeriodic if box is None else force.CutoffPeriodic)
        force.setCutoffDistance(cutoff)
    if box is not None:
        system.setDefaultPeriodicBoxVectors(*box)
    force.setSoluteDielectric(values.get("eps_in", 1.0))
    force.setSolventDielectric(values.get("eps_out", 78.3))
    force.setSurfaceAreaEnergy(values.get("tension", 2.25936))
    system.addForce(force)
    reference = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(1e-3), reference)
    context.setPositions(given["x"])
    state = context.getState(getEnergy=True, getForces=True)
    return state.getPotentialEnergy()._value, np.array(state.getForces(asNumpy=True)._value)


CASES: dict[str, tuple[Atoms, dict[str, Any]]] = {
    "overlapping": (atoms(), {}),
    "engulfed": (engulfed(), {}),
    "far": (atoms(6, 8.0), {}),
    "other medium": (atoms(7), {"eps_in": 3.0, "eps_out": 40.0, "tension": 1.1}),
    "no surface": (atoms(7), {"tension": 0.0}),
    "cutoff": (atoms(30, 1.0), {"cutoff": 0.6}),
    "periodic": (atoms(30, 1.2), {"cutoff": 0.55, "skin": 0.03}),
}


@pytest.mark.parametrize("name", CASES)
def test_energy_and_forces_are_those_of_openmm(name: str) -> None:
    given, options = CASES[name]
    box = np.array([[1.2, 0, 0], [0.1, 1.2, 0], [0.2, -0.1, 1.3]]) if name == "periodic" else None
    u, forces = of_openmm(given, box, **options)
    one = solvated(given | ({} if box is None else {"box": box[None]}), **options)
    assert one.value() == pytest.approx(u, rel=5e-9)
    np.testing.assert_allclose(-one.gradient("x"), forces, rtol=0.0, atol=5e-9 * np.abs(forces).max())


# Derivatives ----------------------------------------------------------------------------------------


def along(one: Potential, name: str, w: np.ndarray, of: Callable[[], Any]) -> Callable[[float], Any]:
    """A function of h: its value where a field or a parameter has moved h w."""
    put = one.set_parameter if "." in name else one.fields[name].set if name in one.fields else None
    assert put is not None
    put = (lambda v: one.set_parameter(name, v)) if "." in name else one.fields[name].set
    start = np.array(one.parameter(name) if "." in name else one.fields[name].values)

    def value(h: float) -> Any:
        put(start + h * w)
        found = of()
        put(start)
        return found

    return value


PARAMETERS = (
    *("reduced.offset", "radius.alpha", "radius.beta", "radius.gamma", "charge.eps_in", "charge.eps_out"),
    *("surface.tension", "surface.probe"),
)


def test_derivatives_by_everything_are_those_of_differences() -> None:
    one, rng = solvated(engulfed() | {}), np.random.default_rng(1)
    of_parameters = [f"generalized_born_{name}" for name in PARAMETERS]
    for name in ("x", "charge", "born_radius", "born_scale", *of_parameters):
        found = np.asarray(one.gradient(name))
        w = rng.normal(size=found.shape)
        expected = slope(along(one, name, w, one.value), 1e-4)
        assert np.abs(expected) > 1e-3, name
        assert (found * w).sum() == pytest.approx(expected, rel=1e-7), name


def test_products_of_the_hessian_are_those_of_differences() -> None:
    """Along positions, charges and radii at once, by positions and by scales."""
    one, rng = solvated(atoms(6)), np.random.default_rng(2)
    w = {name: rng.normal(size=one.fields[name].values.shape) for name in ("x", "charge", "born_radius")}
    starts = {name: one.fields[name].values.copy() for name in w}

    def gradient(h: float, of: str) -> np.ndarray:
        for name, start in starts.items():
            one.fields[name].set(start + h * w[name])
        return one.gradient(of).copy()

    for of in ("x", "born_scale"):
        expected = slope(lambda h, of=of: gradient(h, of), 1e-5)
        gradient(0.0, of)
        found = one.product(w, of)
        np.testing.assert_allclose(found, expected, atol=2e-7 * np.abs(expected).max())


def test_forces_sum_to_zero_and_the_solvent_pulls_no_torque() -> None:
    one = solvated(atoms(12))
    forces, x = -one.gradient("x"), one.fields["x"].values
    assert np.abs(forces.sum(axis=0)).max() < 1e-11 * np.abs(forces).max()
    assert np.abs(np.cross(x, forces).sum(axis=0)).max() < 1e-11 * np.abs(forces).max()


def test_single_precision_follows_double() -> None:
    for given in (atoms(40, 1.0), engulfed()):
        wide, narrow = solvated(given), solvated(given, "f32")
        assert narrow.value() == pytest.approx(wide.value(), rel=1e-6)
        for name in ("x", "charge", "born_radius", "born_scale"):
            expected = wide.gradient(name)
            found = narrow.gradient(name).astype(float)
            np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize("cutoff", [None, 0.4])
def test_check_finds_nothing_wrong(cutoff: float | None) -> None:
    found = list(term_check.of_potential(solvated(atoms(8, 0.5), cutoff=cutoff)))
    assert [f for f in found if not f.passed] == []
    assert {"taylor", "product"} <= {f.question for f in found}


# Scenes ---------------------------------------------------------------------------------------------


def chain() -> Atoms:
    """Eight atoms in a zigzag."""
    turns = np.arange(8)
    place = np.stack([0.13 * turns, 0.08 * (turns % 2), 0.02 * np.sin(turns)], axis=1)
    return atoms(8) | {"x": place, "charge": 0.4 * np.cos(2.0 * turns) * E}


def simulation(**more: Any) -> mg.Simulation:
    """A chain of atoms on springs in a solvent."""
    given = chain()
    bonds = np.array([[k, k + 1] for k in range(7)])
    rest = 10.0 * np.linalg.norm(given["x"][1:] - given["x"][:-1], axis=1)
    bond = mg.energy("harmonic_bond", name="bonds", tuples=bonds, rest=rest, stiffness=np.full(7, 1e3))
    units = {"x": "nm", "charge": "C", "born_radius": "nm", "born_scale": "1"}
    given["charge"] = given["charge"] / E * 1.602176634e-19
    fields = {name: (values, units[name]) for name, values in given.items()}
    options = {"energies": [bond], "compounds": [{"kind": "generalized_born"}], "units": "molecular"}
    options |= {"observe": [mg.observer("energies", every=2), mg.observer("frames", every=2)]}
    options |= {"stepper": mg.Leapfrog(dt="0.5 fs"), "run": {"steps": 12}, "checkpoint": {"every": 4}}
    return mg.Simulation(fields=fields | {"m": (np.full(8, 12.0), "u")}, **options | more)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    simulation().to_toml("solvated.toml")
    return tmp_path / "solvated.toml"


def test_a_scene_has_the_energy_of_the_function(scene: Path) -> None:
    """In kJ/mol."""
    for changes, options in (
        ({}, {}),
        ({"cutoff": "0.5 nm", "eps_out": 40.0}, {"cutoff": 0.5, "eps_out": 40.0}),
    ):
        found = mg.build(scene, {f"compound.0.{k}": v for k, v in changes.items()}).potential.by_term()
        for name, u in solvated(chain(), **options).by_term().items():
            assert found[name] == pytest.approx(u / UNITS.convert("1 kJ/mol", "J"), rel=1e-9), name


def test_the_energy_of_a_run_is_kept(scene: Path) -> None:
    run = mg.run(scene, {"run.steps": 60}, out=scene.parent / "run")
    total, kinetic = run["total"], run["kinetic"]
    assert np.abs(total - total[0]).max() < 0.01 * kinetic.max()


def test_a_run_that_was_cut_goes_on_with_the_same_bits(scene: Path, tmp_path: Path) -> None:
    mg.run(scene, out=tmp_path / "whole")
    out = cut(tmp_path / "cut", scene, {}, 4)
    mg.resume(out)
    whole, again = files(tmp_path / "whole"), files(out)
    assert {n: b for n, b in again.items() if n.endswith(".h5")} == {
        n: b for n, b in whole.items() if n.endswith(".h5")
    }


@pytest.mark.long
@pytest.mark.parametrize("lanes", [True, False])
def test_members_have_the_bits_that_they_have_alone(scene: Path, tmp_path: Path, lanes: bool) -> None:
    vary = {"generalized_born_charge.eps_out": {"list": [2.0, 20.0, 80.0]}}
    members = {"ensemble": {"members": 3, "lanes": lanes, "vary": vary}}
    mg.run(scene, members, out=tmp_path / "all")
    mg.run(scene, members | {"ensemble.member": 1}, out=tmp_path / "one")
    assert unlike(tmp_path / "one", tmp_path / "all", 3, 1) == []
    single = mg.run(scene, {"compound.0.eps_out": 20.0}, out=tmp_path / "single")
    last = mg.open(tmp_path / "one")["position"][-1]
    np.testing.assert_allclose(last, single["position"][-1], rtol=1e-12)


def test_first_and_second_derivatives_as_a_function_of_tensors(scene: Path) -> None:
    u, potential = energy(scene), mg.build(scene).potential
    names = ("x", "born_radius", "generalized_born_charge.eps_out")
    given = {n: u.start(n).requires_grad_() for n in names}
    slopes = torch.autograd.grad(u(**given), [*given.values()], create_graph=True)
    for name, found in zip(names, slopes, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), potential.gradient(name), rtol=1e-10, atol=1e-10)
    (bent,) = torch.autograd.grad((slopes[0] ** 2).sum(), [given["born_radius"]])
    expected = potential.product({"x": 2.0 * slopes[0].detach().numpy()}, "born_radius")
    np.testing.assert_allclose(bent.numpy(), expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.skipif(not find_spec("quadrants"), reason="needs pip install 'minusgrad[quadrants]'")
def test_quadrants_has_the_same_run(scene: Path, tmp_path: Path) -> None:
    assert_engines_agree(scene, tmp_path)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"compound.0.offset": "2 angstrom"},
            "generalized_born: born_radius must be above the offset 2, got 1.",
        ),
        ({"box": {"edges": ["2 nm"] * 3}}, "generalized_born: needs a cutoff in a periodic box, got none;"),
        ({"compound.0.eps_out": 0.0}, "eps_out"),
        ({"compound.0.fields": {"born_radius": "radius"}}, "radius"),
    ],
)
def test_what_cannot_be_is_refused(scene: Path, change: dict[str, Any], text: str) -> None:
    with pytest.raises(MinusgradError) as caught:
        mg.build(scene, change)
    assert text in str(caught.value)
