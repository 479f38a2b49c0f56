"""Particle-mesh Ewald against OpenMM Reference, a direct Ewald sum in NumPy, and finite differences."""

import json
import math
import re
import shutil
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from scipy import fft, special

from minusgrad import Fields, Potential, bind, bind_staged, build
from minusgrad.check import term_check
from minusgrad.errors import SceneError, UserError
from minusgrad.plugin import Cutoff
from minusgrad_electrostatics.dispersion import coefficient, dispersion_correction
from minusgrad_electrostatics.ewald import (
    ewald_background,
    ewald_direct,
    ewald_excluded,
    ewald_reciprocal,
    ewald_scaled,
    ewald_self,
)
from minusgrad_electrostatics.mesh import mesh_charge, mesh_modes
from minusgrad_electrostatics.modes import Modes
from minusgrad_electrostatics.pme import mesh_for, particle_mesh_ewald, splitting
from minusgrad_electrostatics.splines import damping
from tests.plugins.electrostatics.openmm_references import BOXES, CASES, PAIRS, system

COULOMB = 138.93545764438198
"""1 / (4 pi eps0) in kJ nm / (mol e^2), as OpenMM has it."""
REFERENCES = json.loads(Path(__file__).with_name("openmm_references.json").read_text())
CUT = Cutoff(0.45, sharp=True, skin=0.02)


def fields(case: str, precision: str = "f64") -> Fields:
    box, _, net = CASES[case]
    of = system(net)
    values = {"x": of["places"] @ BOXES[box], "charge": of["charge"], "box": BOXES[box][None]}
    return Fields(values | {"sigma": of["sigma"], "epsilon": of["epsilon"]}, precision=precision)


def pme(of: Fields, mesh: tuple[int, ...], alpha: float = 6.0, **more) -> Potential:
    options = {"cutoff": CUT, "exclude": np.array(PAIRS), "coulomb_constant": COULOMB} | more
    found = particle_mesh_ewald(of, alpha=alpha, mesh=mesh, **options)
    return Potential(of, found.terms, found.maps)


def of_case(case: str, precision: str = "f64") -> Potential:
    return pme(fields(case, precision), CASES[case][1], background=case == "charged")


# OpenMM ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_energies_and_forces_are_those_of_openmm(case: str) -> None:
    energy, expected = of_case(case), REFERENCES[case]
    forces = np.array(expected["forces"])
    by_term = energy.by_term()
    assert by_term["pme_direct"] + by_term["pme_excluded"] == pytest.approx(expected["group_0"], rel=1e-12)
    waves = sum(u for n, u in by_term.items() if n in ("pme_reciprocal", "pme_self", "pme_background"))
    assert waves == pytest.approx(expected["group_1"], rel=1e-12)
    assert energy.value() == pytest.approx(expected["all"], rel=1e-11)
    assert np.abs(energy.gradient("x") + forces).max() <= 1e-12 * np.abs(forces).max()


def test_single_precision() -> None:
    energy, expected = of_case("triclinic", "f32"), REFERENCES["triclinic"]
    forces = np.array(expected["forces"])
    assert energy.value() == pytest.approx(expected["all"], rel=1e-4)
    assert np.abs(energy.gradient("x") + forces).max() <= 1e-4 * np.abs(forces).max()


@pytest.mark.parametrize("switch", [None, 0.4])
def test_the_correction_of_dispersion_is_that_of_openmm(switch: float | None) -> None:
    of = fields("triclinic")
    cutoff = Cutoff(0.45, switch, sharp=switch is None)
    c = coefficient(of["epsilon"].values, of["sigma"].values, cutoff)
    energy = Potential(of, [bind(dispersion_correction, of, sizes={"box": 1}, parameters={"coefficient": c})])
    volume = np.linalg.det(BOXES["triclinic"])
    assert energy.value() == pytest.approx(REFERENCES["triclinic"][f"dispersion_{switch}"], rel=1e-8)
    inverse = np.linalg.inv(BOXES["triclinic"]).T
    np.testing.assert_allclose(energy.gradient("box")[0], -c / volume * inverse, rtol=1e-12)


# Direct sums ----------------------------------------------------------------------------------------


def ewald(x: np.ndarray, q: np.ndarray, box: np.ndarray, excluded: list | tuple = ()) -> float:
    """Ewald's sum, converged to rounding, at a splitting of its own; k = 1."""
    volume, inverse = np.linalg.det(box), np.linalg.inv(box).T
    alpha = 6.0 / volume ** (1.0 / 3.0)
    x = x - np.floor(x @ inverse.T) @ box
    far = np.ceil(6.5 / alpha * np.linalg.norm(inverse, axis=1)).astype(int) + 1
    apart = x[:, None] - x[None]
    u = -alpha / math.sqrt(math.pi) * (q @ q) - math.pi * q.sum() ** 2 / (2.0 * volume * alpha**2)
    for cell in np.ndindex(*(2 * far + 1)):
        shift = np.array(cell) - far
        r = np.linalg.norm(apart + shift @ box, axis=-1)
        if not shift.any():
            np.fill_diagonal(r, np.inf)
        u += 0.5 * float((np.outer(q, q) * special.erfc(alpha * r) / r).sum())
    most = np.ceil(6.5 * alpha / math.pi * np.linalg.norm(box, axis=1)).astype(int)
    modes = np.stack(np.meshgrid(*[np.arange(-m, m + 1) for m in most], indexing="ij"), -1).reshape(-1, 3)
    h = modes[modes.any(axis=1)] @ inverse
    square = (h * h).sum(axis=1)
    h, square = h[square < 45.0 * (alpha / math.pi) ** 2], square[square < 45.0 * (alpha / math.pi) ** 2]
    waves = np.abs(np.exp(2.0j * math.pi * h @ x.T) @ q) ** 2
    return u + float((np.exp(-((math.pi / alpha) ** 2) * square) / square * waves).sum()) / (
        2.0 * math.pi * volume
    )


@pytest.mark.parametrize("case", ["triclinic", "charged"])
def test_a_fine_mesh_gives_the_direct_ewald_sum(case: str) -> None:
    of = fields(case)
    x, q, box = (of[n].values for n in ("x", "charge", "box"))
    cutoff = Cutoff(1.3, sharp=True, skin=0.01, images=True)
    energy = pme(of, (32, 32, 40), 4.5, cutoff=cutoff, exclude=None, coulomb_constant=1.0, background=True)
    assert energy.value() == pytest.approx(ewald(x, q, box[0]), rel=1e-6)


def test_scaled_pairs_and_repeated_exclusions() -> None:
    """Each excluded pair lacks k q q / r at its nearest image, once; of scaled pairs a part of it is left."""
    of = fields("triclinic")
    x, q, box = (of[n].values for n in ("x", "charge", "box"))
    pairs, factor = np.array(PAIRS), 0.3
    scaled, turned = {"far": (pairs[4:], factor)}, pairs[:, ::-1]
    options = {"cutoff": Cutoff(1.3, sharp=True, skin=0.01, images=True), "coulomb_constant": 1.0}
    excluded = np.concatenate([pairs[:4], turned[:3], pairs[1:2]])
    whole = pme(of, (8, 8, 10), 4.5, exclude=None, **options)
    energy = pme(of, (8, 8, 10), 4.5, exclude=excluded, scaled=scaled, **options)
    apart = x[pairs[:, 0]] - x[pairs[:, 1]]
    shifts = np.array([*np.ndindex(3, 3, 3)]) - 1
    r = np.linalg.norm(apart[:, None] + shifts @ box[0], axis=-1).min(axis=1)
    plain = q[pairs[:, 0]] * q[pairs[:, 1]] / r
    expected = whole.value() - plain[:4].sum() - (1.0 - factor) * plain[4:].sum()
    assert energy.value() == pytest.approx(expected, rel=1e-11)
    assert energy.by_term()["pme_far"] == pytest.approx(factor * plain[4:].sum(), rel=1e-12)
    assert energy.gradient("pme_far.factor") == pytest.approx(plain[4:].sum(), rel=1e-12)


def test_the_madelung_constant_of_rock_salt() -> None:
    cells = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), -1).reshape(-1, 3)
    of = Fields({"x": cells * 1.0, "charge": 1.0 - 2.0 * (cells.sum(1) % 2), "box": 4.0 * np.eye(3)[None]})
    cutoff = Cutoff(1.95, sharp=True, skin=0.02)
    energy = pme(of, (40, 40, 40), 2.8, cutoff=cutoff, exclude=None, coulomb_constant=1.0)
    assert energy.value() / 32.0 == pytest.approx(-1.7475645946331822, rel=1e-6)
    assert np.abs(energy.gradient("x")).max() < 1e-12


# Derivatives ----------------------------------------------------------------------------------------


def test_virial_and_second_derivatives_by_box_positions_and_charges() -> None:
    of = fields("even")
    energy = pme(of, CASES["even"][1])
    names, rng = ("x", "box", "charge"), np.random.default_rng(2)
    along = {n: 0.1 * rng.normal(size=of[n].shape) for n in names}
    start = {n: of[n].values.copy() for n in names}
    gradients = {n: energy.gradient(n) for n in names}
    products = {n: energy.product(along, n) for n in names}
    moved = {}
    for sign in (1.0, -1.0):
        for n in names:
            of[n].set(start[n] + sign * 1e-5 * along[n])
        moved[sign] = energy.value(), {n: energy.gradient(n) for n in names}
    slope = sum(float(np.vdot(gradients[n], along[n])) for n in names)
    assert (moved[1.0][0] - moved[-1.0][0]) / 2e-5 == pytest.approx(slope, rel=1e-7)
    for n in names:
        differences = (moved[1.0][1][n] - moved[-1.0][1][n]) / 2e-5
        assert np.abs(differences - products[n]).max() <= 1e-7 * np.abs(products[n]).max(), n


def test_the_trace_of_the_virial_is_the_energy() -> None:
    """U scales as 1 / length, so the strain derivative has the trace -U, if alpha scales, too."""
    energy = of_case("triclinic")
    strain = sum(float(np.vdot(energy.fields[n].values, energy.gradient(n))) for n in ("x", "box"))
    strain -= 6.0 * sum(float(energy.gradient(f"{n}.alpha")) for n in energy.terms)
    assert strain == pytest.approx(-energy.value(), rel=1e-12)


def test_whole_turns_of_the_box_change_nothing() -> None:
    energy = of_case("rectangular")
    before, forces = energy.value(), energy.gradient("x")
    x = energy.fields["x"]
    x.set(x.values + np.array([-7.0, 3.0, 11.0]) @ BOXES["rectangular"])
    assert energy.value() == pytest.approx(before, rel=1e-11)
    assert np.abs(energy.gradient("x") - forces).max() <= 1e-10 * np.abs(forces).max()


# Parts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [(5, 6, 7), (6, 5, 8)])
def test_the_transform_and_its_transpose(mesh: tuple[int, ...]) -> None:
    n, half = math.prod(mesh), math.prod((*mesh[:2], mesh[2] // 2 + 1))
    rng = np.random.default_rng(4)
    of = Fields({"mesh_charge": rng.normal(size=n)})
    term = bind_staged(mesh_modes, of, data={"mesh": mesh}, sizes={"n_mesh_modes": half})
    found = term.output_values()["mesh_modes"]
    expected = fft.rfftn(of["mesh_charge"].values.reshape(mesh)).reshape(-1)
    np.testing.assert_allclose(found, np.stack([expected.real, expected.imag], -1), atol=1e-12)
    seed = rng.normal(size=(half, 2))
    matrix = np.array([fft.rfftn(unit.reshape(mesh)).reshape(-1) for unit in np.eye(n)])
    transposed = matrix.real @ seed[:, 0] + matrix.imag @ seed[:, 1]
    np.testing.assert_allclose(
        term.back(("mesh_charge",), 0.0, {"mesh_modes": seed})["mesh_charge"], transposed
    )


@pytest.mark.parametrize("mesh", [(5, 6, 7), (6, 8, 10)])
def test_modes_are_all_of_a_complex_transform_but_one(mesh: tuple[int, ...]) -> None:
    modes = Modes.of(mesh)
    every = math.prod(damping(n).sum() for n in mesh) - math.prod(damping(n)[0] for n in mesh)
    assert modes.weight.sum() == pytest.approx(every, rel=1e-13)
    assert modes.mode.any(axis=1).all()


def test_the_mesh_and_alpha_of_an_error() -> None:
    assert splitting(5e-4, 1.0) == pytest.approx(2.6282608848784661, rel=1e-12)
    assert mesh_for(5e-4, 2.6282608848784661, np.diag([3.0, 2.5, 0.1])) == (25, 24, 5)


BRIEF = (ewald_self, ewald_reciprocal, ewald_background, dispersion_correction, mesh_modes)
LONG = (ewald_direct, ewald_excluded, ewald_scaled, mesh_charge)


@pytest.mark.parametrize("energy", [*BRIEF, *(pytest.param(e, marks=pytest.mark.long) for e in LONG)])
def test_check_passes(energy) -> None:
    found = list(term_check.of_energy(energy))
    assert found
    assert not [f for f in found if not f.passed]


# Scenes and refusals --------------------------------------------------------------------------------


def test_charges_that_do_not_sum_to_zero_are_refused() -> None:
    of = fields("charged")
    text = (
        "pme: needs charges that sum to zero, got 0.7 beside a largest charge of {:g}; correct the charges,"
        " or neutralise the box uniformly with background = true"
    ).format(np.abs(of["charge"].values).max())
    with pytest.raises(UserError, match=f"^{re.escape(text)}$"):
        pme(of, (8, 8, 8))


def test_meshes_and_boxes_that_do_not_fit_are_refused() -> None:
    of = fields("rectangular")
    text = "pme.mesh: needs three numbers of cells of at least 5, got [8, 4, 8]; give a finer mesh"
    with pytest.raises(UserError, match=f"^{re.escape(text)}$"):
        pme(of, (8, 4, 8))
    values = {n: of[n].values for n in ("x", "charge")}
    text = "pme: needs a box in space that is periodic along all axes, got no box; give [box]"
    with pytest.raises(UserError, match=f"^{re.escape(text)}$"):
        pme(Fields(values), (8, 8, 8))


WATER = """
    [units]
    length = "nm"
    mass = "u"
    time = "ps"
    [state]
    kind = "molecule"
    system = "dipeptide_water.xml"
    positions = "dipeptide_water.pdb"
    [[energy]]
    kind = "harmonic_bond"
    tuples = "bonds"
    [[compound]]
    kind = "pme"
    cutoff = "8 angstrom"
    skin = "1 angstrom"
    alpha = "3.3 nm^-1"
    mesh = [20, 21, 24]
    coulomb_constant = "8.98755178665556e9 N m^2 C^-2"
    [[compound]]
    kind = "dispersion"
    cutoff = "8 angstrom"
    switch = "none"
    [stepper]
    kind = "leapfrog"
    dt = "0.5 fs"
    [run]
    steps = 2
    """


def scene(folder: Path, text: str = WATER) -> Path:
    for name in ("dipeptide_water.xml", "dipeptide_water.pdb"):
        shutil.copy(Path(__file__).parents[3] / "scenes" / "data" / name, folder)
    path = folder / "water.toml"
    path.write_text(dedent(text))
    return path


def test_a_scene_with_a_peptide_in_water_is_that_of_openmm(tmp_path: Path) -> None:
    made, expected = build(scene(tmp_path)), REFERENCES["water"]
    kilojoules = made.units.in_si("J") * 6.02214076e20
    found = {name: kilojoules * u for name, u in made.potential.by_term().items()}
    charges = sum(u for name, u in found.items() if name.startswith("pme_"))
    assert charges == pytest.approx(expected["charges"], rel=1e-8)
    assert found["dispersion_correction"] == pytest.approx(expected["dispersion"], rel=1e-8)
    bonds = Potential(made.fields, [made.potential.terms["harmonic_bond"]], frozen=True)
    forces = kilojoules * (bonds.gradient("x") - made.potential.gradient("x"))[::50]
    assert np.abs(forces - expected["forces"]).max() <= 1e-8 * expected["largest"]
    made.step(2)
    assert {"compound.0.pme_charge", "compound.1.dispersion_correction"} <= made.origin["terms"].keys()


def test_bonded_pairs_and_factors_of_a_scene(tmp_path: Path) -> None:
    """In AMBER's force field they are the exclusions, and the 1-4 pairs, of the System."""
    more = 'exclude = "bonded 1-3"\n    scale = { pairs14 = 0.8333333333333334 }\n    skin = "1 angstrom"'
    listed = '[[energy]]\n    kind = "coulomb_14"\n    tuples = "pairs14"\n    [[compound]]'
    given = WATER.replace("[[compound]]", listed, 1)
    constant = 'coulomb_constant = "8.98755178665556e9 N m^2 C^-2"'
    given = given.replace('tuples = "pairs14"', f'tuples = "pairs14"\n    {constant}')
    expected = build(scene(tmp_path, given)).potential
    found = build(scene(tmp_path, WATER.replace('skin = "1 angstrom"', more))).potential
    assert found.by_term()["pme_pairs14"] == pytest.approx(expected.by_term()["coulomb_14"], rel=1e-8)
    assert found.value() == pytest.approx(expected.value(), rel=1e-9)
    forces = expected.gradient("x")
    assert np.abs(found.gradient("x") - forces).max() <= 1e-9 * np.abs(forces).max()


MISTAKES = {
    'skin = "1 angstrom"': ('exclude = "bends"', ": exclude: no list of pairs named 'bends'"),
    "alpha =": ("scale = { bends = 0.5 }\n    alpha =", ": scale: no list of pairs named 'bends'"),
    "mesh = [20, 21, 24]": ("mesh = [20, 21]", ".mesh.2: required, but missing"),
    '"8 angstrom"\n    skin': (
        '"20 angstrom"\n    skin',
        ": pme_direct.cutoff: must be, with the skin, at most",
    ),
}


@pytest.mark.parametrize("old", MISTAKES)
def test_mistakes_are_told_at_their_block(old: str, tmp_path: Path) -> None:
    new, text = MISTAKES[old]
    with pytest.raises(SceneError, match=re.escape(f"compound.0{text}")):
        build(scene(tmp_path, WATER.replace(old, new)))
