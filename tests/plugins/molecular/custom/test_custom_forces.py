"""Custom forces of Systems by their own expressions: U and forces beside OpenMM's platform Reference."""

from pathlib import Path

import numpy as np
import pytest

import minusgrad
from minusgrad.app.jobs.job_runs import resume
from minusgrad.check import term_check
from tests.support.command import files
from tests.support.command import minusgrad as command
from tests.support.openmm_systems import SCENE, beside_openmm, write_scene
from tests.support.short_scenes import cut

mm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")

FRAMES = SCENE + 'observe = [{ kind = "frames", fields = ["x"], every = 1 }]\n'
N = 10
BOX = np.array([[2.1, 0.0, 0.0], [0.3, 2.2, 0.0], [-0.2, 0.4, 2.3]])


def chain_places(spread: float = 0.14) -> np.ndarray:
    """A chain of N atoms [nm]."""
    return np.cumsum(spread * np.random.default_rng(5).normal(size=(N, 3)), axis=0) + 0.3


def empty_system(*forces, box: bool = False) -> mm.System:
    system = mm.System()
    for k in range(N):
        system.addParticle(10.0 + k)
    if box:
        system.setDefaultPeriodicBoxVectors(*(mm.Vec3(*row) for row in BOX))
    for force in forces:
        system.addForce(force)
    return system


def bond_force(periodic: bool = False) -> mm.CustomBondForce:
    force = mm.CustomBondForce("k*(exp(-lambda*(r-r0))-1)^2 + g/r^4; k=2*k1")
    force.addPerBondParameter("k1")
    force.addPerBondParameter("r0")
    force.addGlobalParameter("lambda", 3.0)
    force.addGlobalParameter("g", 1e-3)
    force.addEnergyParameterDerivative("g")
    for k in range(N - 1):
        force.addBond(k, k + 1, [20.0 + k, 0.1 + 0.01 * k])
    force.setUsesPeriodicBoundaryConditions(periodic)
    return force


def angle_force(periodic: bool = False) -> mm.CustomAngleForce:
    force = mm.CustomAngleForce("0.5*kind*(theta-theta0)^2*(1-0.1*(theta-theta0)) + 0.3*cos(theta)")
    force.addPerAngleParameter("kind")
    force.addPerAngleParameter("theta0")
    for k in range(N - 2):
        force.addAngle(k, k + 1, k + 2, [10.0 + k, 1.5 + 0.1 * k])
    force.setUsesPeriodicBoundaryConditions(periodic)
    return force


def torsion_force(periodic: bool = False) -> mm.CustomTorsionForce:
    force = mm.CustomTorsionForce("k*min(dt,2*pi-dt)^2; dt=abs(theta-t0); pi=3.141592653589793")
    force.addPerTorsionParameter("k")
    force.addPerTorsionParameter("t0")
    for k in range(N - 3):
        force.addTorsion(k, k + 1, k + 2, k + 3, [3.0 + k, -2.0 + 0.5 * k])
    force.setUsesPeriodicBoundaryConditions(periodic)
    return force


def compound_force(periodic: bool = False) -> mm.CustomCompoundBondForce:
    text = (
        "k*(distance(p1,p3)-0.2)^2*square(sin(angle(p1,p2,p4))) + c*cos(2*dihedral(p1,p2,p3,p4))"
        " + 0.2*x1*y2*z3 + pointdistance(x1,y1,z1,x4,y4,z4)^2 + pointangle(x1,y1,z1,x2,y2,z2,x3,y3,z3)"
        " + 0.1*pointdihedral(x1,y1,z1,x2,y2,z2,x3,y3,z3,x4,y4,z4)^2 + pointdistance(x1,0,0,0.1,y2,z3)"
    )
    force = mm.CustomCompoundBondForce(4, text)
    force.addPerBondParameter("k")
    force.addGlobalParameter("c", 0.7)
    for k in range(N - 3):
        force.addBond([k, k + 2, k + 1, k + 3], [5.0 + k])
    force.setUsesPeriodicBoundaryConditions(periodic)
    return force


def external_force(text: str) -> mm.CustomExternalForce:
    force = mm.CustomExternalForce(text)
    for name in ("k", "x0", "y0", "z0"):
        force.addPerParticleParameter(name)
    for k in (0, 3, 4, 8):
        force.addParticle(k, [50.0 + k, 0.1 * k, 0.2, -0.1 * k])
    return force


def centroid_force(periodic: bool = False) -> mm.CustomCentroidBondForce:
    force = mm.CustomCentroidBondForce(3, "k*distance(g1,g2)^2 + 3*angle(g1,g2,g3) + x3*y1 + distance(g1,g3)")
    force.addPerBondParameter("k")
    force.addGroup([0, 1, 2])
    force.addGroup([3, 5], [1.0, 2.5])
    force.addGroup([9])
    force.addGroup([4, 2])
    force.addBond([0, 1, 2], [4.0])
    force.addBond([3, 2, 1], [7.0])
    force.setUsesPeriodicBoundaryConditions(periodic)
    return force


def pair_force(text: str, method: str = "NoCutoff", **values: float) -> mm.CustomNonbondedForce:
    force = mm.CustomNonbondedForce(text)
    for name, value in values.items():
        force.addGlobalParameter(name, value)
    force.addPerParticleParameter("sigma")
    force.addPerParticleParameter("epsilon")
    for k in range(N):
        force.addParticle([0.1 + 0.01 * k, 0.5 + 0.1 * k])
    force.setNonbondedMethod(getattr(mm.CustomNonbondedForce, method))
    return force


WELLS = "4*epsilon*((sigma/r)^12-(sigma/r)^6); sigma=0.5*(sigma1+sigma2); epsilon=sqrt(epsilon1*epsilon2)"


def test_listed_forces(tmp_path: Path) -> None:
    """Two bond forces with one global parameter, of which one has a name."""
    second = bond_force()
    second.setName("stretch, second")
    place = "k*((x-x0)^2+abs(y-y0)^3+(z-z0)^4)"
    forces = [bond_force(), second, angle_force(), torsion_force(), compound_force(), external_force(place)]
    found = beside_openmm(tmp_path, empty_system(*forces), chain_places())
    assert [*found.terms] == [
        *("custom_bond", "stretch_second", "custom_angle", "custom_torsion"),
        *("custom_compound_bond", "custom_external"),
    ]
    assert found.error < 1e-9
    assert found.error_of_forces < 1e-9


def test_listed_forces_in_a_box(tmp_path: Path) -> None:
    """Of a chain that is broken over the faces of a skewed box, which each force takes together.

    Compound bonds that read places, and others that do not.
    """
    restraint = "k*periodicdistance(x,y,z,x0,y0,z0)^2 + periodicdistance(x,y,z,0,y0,0.5)"
    made = (bond_force, angle_force, torsion_force, compound_force, centroid_force)
    plain = mm.CustomCompoundBondForce(3, "distance(p1,p3)^2*angle(p1,p2,p3)")
    plain.setUsesPeriodicBoundaryConditions(True)
    plain.addBond([4, 5, 6], [])
    forces = [*(make(periodic=True) for make in made), external_force(restraint), plain]
    system = empty_system(*forces, box=True)
    places = chain_places() + np.array([[k % 3 - 1, k % 2, -(k % 4)] for k in range(N)]) @ BOX
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 1e-9
    assert found.error_of_forces < 1e-9


def test_centres_of_groups(tmp_path: Path) -> None:
    found = beside_openmm(tmp_path, empty_system(centroid_force()), chain_places())
    assert [*found.terms] == ["custom_centroid_bond"]
    assert found.error < 1e-9
    assert found.error_of_forces < 1e-9


def test_forces_on_virtual_sites(tmp_path: Path) -> None:
    """Particle 3 is between 2 and 4: pairs, bonds and centres take it, and give its forces to these."""
    pairs = pair_force(f"0.2*epsilon1*epsilon2*exp(-r)+{WELLS}", "NoCutoff")
    for k in range(N - 1):
        pairs.addExclusion(k, k + 1)
    bonds = bond_force()
    system = empty_system(pairs, bonds, centroid_force(), external_force("k*((x-x0)^2+(y-y0)^2+(z-z0)^2)"))
    system.setParticleMass(3, 0.0)
    system.setVirtualSite(3, mm.TwoParticleAverageSite(2, 4, 0.3, 0.7))
    places = chain_places()
    places[3] = 0.3 * places[2] + 0.7 * places[4]
    found = beside_openmm(tmp_path, system, places)
    assert found.error < 1e-9
    assert found.error_of_forces < 1e-9


@pytest.mark.parametrize("method", ["NoCutoff", "CutoffNonPeriodic", "CutoffPeriodic"])
@pytest.mark.parametrize("groups", [False, True])
def test_pairs(method: str, groups: bool, tmp_path: Path) -> None:
    """Exclusions, a switch, groups that overlap; of one group all pairs of some particles."""
    force = pair_force(f"a*step(r-0.05)*epsilon1*epsilon2/r+{WELLS}", method, a=0.3)
    force.setCutoffDistance(0.6)
    if method != "NoCutoff":
        force.setUseSwitchingFunction(True)
        force.setSwitchingDistance(0.4)
    for k in range(N - 1):
        force.addExclusion(k, k + 1)
    if groups:
        force.addInteractionGroup([0, 1, 2, 3, 4], [3, 4, 5, 6, 7])
        force.addInteractionGroup([1, 4, 8], [1, 4, 8])
        force.addInteractionGroup([0], [6])
    system = empty_system(force, box=method == "CutoffPeriodic")
    found = beside_openmm(tmp_path, system, chain_places())
    assert [*found.terms] == ["custom_nonbonded"]
    assert found.error < 1e-9
    assert found.error_of_forces < 1e-9


@pytest.mark.parametrize("switch", [None, 0.4])
def test_the_correction_beyond_the_cutoff(switch: float | None, tmp_path: Path) -> None:
    """OpenMM stops integrating at 1e-5 of each integral."""

    def beside(corrected: bool):
        force = pair_force(f"0.01*exp(-2*r)+{WELLS}", "CutoffPeriodic")
        force.setCutoffDistance(0.7)
        if switch is not None:
            force.setUseSwitchingFunction(True)
            force.setSwitchingDistance(switch)
        force.setUseLongRangeCorrection(corrected)
        return beside_openmm(tmp_path, empty_system(force, box=True), chain_places(0.4))

    found, without = beside(True), beside(False)
    assert [*found.terms] == ["custom_nonbonded", "custom_nonbonded_correction"]
    theirs = found.theirs - without.theirs
    assert found.terms["custom_nonbonded_correction"] == pytest.approx(theirs, rel=3e-5)
    assert abs(theirs) > 1e-2
    assert found.error_of_forces < 1e-9


def tabulated(d: int, kind: str, rng: np.random.Generator, periodic: bool = False):
    """A function of d variables of random values, 5 points along the first, 4, 6 along others."""
    sizes = (5, 4, 6)[:d]
    values = rng.normal(size=sizes)
    if periodic:
        for axis in range(d):
            last = [slice(None)] * d
            last[axis] = -1
            values[tuple(last)] = np.take(values, 0, axis)
    flat = values.reshape(-1, order="F").tolist()
    own = flat if d == 1 else (*sizes, flat)
    if kind == "Discrete":
        return mm.Discrete1DFunction(own) if d == 1 else getattr(mm, f"Discrete{d}DFunction")(*own)
    ranges = (0.1, 0.9, -1.5, 1.2, 0.0, 2.0)[: 2 * d]
    if d == 1:
        return mm.Continuous1DFunction(own, *ranges, periodic)
    return getattr(mm, f"Continuous{d}DFunction")(*own, *ranges, periodic)


@pytest.mark.parametrize("periodic", [False, pytest.param(True, marks=pytest.mark.long)])
def test_tabulated_functions(periodic: bool, tmp_path: Path) -> None:
    """Splines of one to three variables, within and outside of their ranges, and tables of whole numbers."""
    text = "f1(distance(p1,p2)) + f2(distance(p1,p3), x2) + f3(distance(p2,p3), y1, 1+sin(z2))"
    text += " + d1(k)*f1(x1) + d2(k, 2*k-1)*x2 + d3(k, 1.4, k+2)*x3 + f1(4*y3)"
    force = mm.CustomCompoundBondForce(3, text)
    force.addPerBondParameter("k")
    rng = np.random.default_rng(11)
    for d in (1, 2, 3):
        force.addTabulatedFunction(f"f{d}", tabulated(d, "Continuous", rng, periodic))
        force.addTabulatedFunction(f"d{d}", tabulated(d, "Discrete", rng))
    for k in range(N - 2):
        force.addBond([k, k + 1, k + 2], [1.0 + k % 2])
    found = beside_openmm(tmp_path, empty_system(force), chain_places(0.3))
    assert found.error < 1e-9
    assert found.error_of_forces < 1e-9


def test_tables_of_types_in_pairs(tmp_path: Path) -> None:
    """As CHARMM's NBFIX: a table of the types of both atoms; a spline of the distance; a computed value."""
    force = mm.CustomNonbondedForce("a(type1,type2)*f(r)/r + 0.1*share1*share2*cos(r)")
    force.addPerParticleParameter("type")
    force.addPerParticleParameter("part")
    force.addComputedValue("share", "u^2+f(u); u=0.2+part")
    symmetric = [1.0, 0.3, 0.7, 0.3, 2.0, -0.4, 0.7, -0.4, 0.2]
    force.addTabulatedFunction("a", mm.Discrete2DFunction(3, 3, symmetric))
    force.addTabulatedFunction("f", tabulated(1, "Continuous", np.random.default_rng(2)))
    for k in range(N):
        force.addParticle([k % 3, 0.05 * k])
    found = beside_openmm(tmp_path, empty_system(force), chain_places())
    assert found.error < 1e-9
    assert found.error_of_forces < 1e-9


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scene with one force of each class, in an upright box."""
    pairs = pair_force(f"a*cos(r)+{WELLS}", "CutoffPeriodic", a=0.3)
    pairs.setCutoffDistance(0.8)
    pairs.setUseSwitchingFunction(True)
    pairs.setSwitchingDistance(0.6)
    pairs.addInteractionGroup([0, 1, 2, 3], [5, 6, 7, 8])
    for k in range(N - 1):
        pairs.addExclusion(k, k + 1)
    table = tabulated(1, "Continuous", np.random.default_rng(1))
    compound = mm.CustomCompoundBondForce(2, "k*distance(p1,p2)^2 + 0.1*f(distance(p1,p2))")
    compound.addGlobalParameter("k", 2.0)
    compound.addTabulatedFunction("f", table)
    compound.addBond([0, 5], [])
    restraint = external_force("k*periodicdistance(x,y,z,x0,y0,z0)^2")
    compound.setUsesPeriodicBoundaryConditions(True)
    made = [bond_force(True), angle_force(True), torsion_force(True), restraint, pairs, compound]
    system = empty_system(*made, centroid_force(), box=True)
    system.setDefaultPeriodicBoxVectors(*(mm.Vec3(*row) for row in 2.1 * np.eye(3)))
    return write_scene(tmp_path_factory.mktemp("all"), system, chain_places(), FRAMES)


TERMS = (
    *("custom_bond", "custom_angle", "custom_torsion", "custom_compound_bond", "custom_external"),
    *("custom_nonbonded", "custom_centroid_bond"),
)


def test_derivatives_by_parameters(tmp_path: Path) -> None:
    """By a global parameter beside OpenMM's own, and its second derivatives, which OpenMM does not have."""
    system, places = empty_system(bond_force()), chain_places()
    integrator = mm.VerletIntegrator(0.001)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("Reference"))
    context.setPositions(places)

    def of_g(value: float, wanted: str) -> np.ndarray:
        """The derivative by g, or the forces, where lambda has a value."""
        context.setParameter("lambda", value)
        state = context.getState(getForces=True, getParameterDerivatives=True)
        if wanted == "g":
            return np.array(state.getEnergyParameterDerivatives()["g"])
        return np.array(state.getForces(asNumpy=True)._value)

    built = minusgrad.build(write_scene(tmp_path, system, places))
    built.fields["x"].set(places * built.units.convert("1 nm", "m"))
    potential, kilojoule = built.potential, built.units.convert("1 kJ/mol", "J")
    nanometre = built.units.convert("1 nm", "m")
    own = potential.gradient("custom_bond.g") / kilojoule
    assert own == pytest.approx(float(of_g(3.0, "g")), rel=1e-9)
    step = 1e-4
    expected = -(of_g(3.0 + step, "f") - of_g(3.0 - step, "f")) / (2.0 * step)
    found = potential.product({"custom_bond.lambda_": 1.0}, "x") * nanometre / kilojoule
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())

    def slope(value: float) -> float:
        potential.set_parameter("custom_bond.lambda_", value)
        return float(potential.gradient("custom_bond.lambda_"))

    second = float(potential.product({"custom_bond.lambda_": 1.0}, "custom_bond.lambda_"))
    assert second == pytest.approx((slope(3.0 + step) - slope(3.0 - step)) / (2.0 * step), rel=1e-6)


def test_single_precision_and_other_units(all_kinds: Path) -> None:
    """In f32, and in SI, where lengths and energies are 1e-10 and 1e-21."""
    whole = minusgrad.build(all_kinds)
    kilojoule = whole.units.convert("1 kJ/mol", "J")
    u = {name: value / kilojoule for name, value in whole.potential.by_term().items()}
    f = whole.potential.gradient("x") / kilojoule * whole.units.convert("1 nm", "m")
    single = minusgrad.build(all_kinds, {"runtime.precision": "f32"})
    assert {n: v / kilojoule for n, v in single.potential.by_term().items()} == pytest.approx(
        u, rel=1e-4, abs=1e-4
    )
    si = minusgrad.build(all_kinds, {"units.system": "si"})
    kilojoule = si.units.convert("1 kJ/mol", "J")
    assert {n: v / kilojoule for n, v in si.potential.by_term().items()} == pytest.approx(u, rel=1e-9)
    found = si.potential.gradient("x") / kilojoule * si.units.convert("1 nm", "m")
    np.testing.assert_allclose(found, f, atol=1e-9 * np.abs(f).max())


@pytest.mark.parametrize("name", ["custom_angle", *(pytest.param(t, marks=pytest.mark.long) for t in TERMS)])
def test_each_kind_passes_the_check(name: str, all_kinds: Path, tmp_path: Path) -> None:
    """Centres of groups without a box, in which OpenMM's centres are not those of images."""
    if name == "custom_centroid_bond":
        all_kinds = write_scene(tmp_path, empty_system(centroid_force()), chain_places())
    built = minusgrad.build(all_kinds)
    alone = [term for term in built.potential.terms.values() if term.name == name]
    maps = [*built.potential.maps.values()] if name == "custom_centroid_bond" else []
    found = [*term_check.of_potential(minusgrad.Potential(built.fields, alone, maps))]
    assert len(found) > 5
    assert [one for one in found if not one.passed] == []


@pytest.mark.long
def test_quadrants_and_resumed_runs(all_kinds: Path, tmp_path: Path) -> None:
    wanted = minusgrad.run(all_kinds, out=tmp_path / "here")
    done = command("run", all_kinds, "--out", tmp_path / "there", MINUSGRAD_ENGINE="quadrants")
    assert done.returncode == 0, done.stderr
    found = minusgrad.open(tmp_path / "there")["position"]
    np.testing.assert_allclose(found, minusgrad.open(wanted.folder)["position"], rtol=1e-10)
    half = cut(tmp_path / "half", all_kinds, {}, 1)
    resume(half)
    assert files(half) == files(wanted.folder)


@pytest.mark.long
def test_members_vary_a_global_parameter(tmp_path: Path) -> None:
    """Two members, of which one has the bits of a run alone."""
    scene = write_scene(tmp_path, empty_system(bond_force(), angle_force()), chain_places(), FRAMES)
    vary = {"ensemble.vary.custom_bond.lambda_.range": {"from": 2.0, "to": 3.0, "count": 2}}
    several = minusgrad.run(scene, vary, out=tmp_path / "two")
    alone = minusgrad.run(scene, {**vary, "ensemble.member": 1}, out=tmp_path / "one")
    assert several.ensemble is not None
    found = several.ensemble.values("x")
    assert np.abs(found[0] - found[1]).max() > 1e-9
    np.testing.assert_array_equal(found[1], minusgrad.open(alone.folder)["position"][-1])
