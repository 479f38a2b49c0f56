"""Files of atoms, read back by ASE, MDAnalysis and OpenMM: numbers, boxes, elements; what is refused."""

import warnings
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import units as of_ase

from minusgrad.app import cli
from minusgrad.app.results.frame_export import write_frames
from minusgrad.energies.values.atom_labels import AtomLabels
from minusgrad.errors import UserError
from tests.support.atom_runs import BOXES, SKEWED, atom_run, lattice_of_atoms, nearest_distances
from tests.support.tiers import sampled

RNG = np.random.default_rng(2)
N, T = 8, 3
V, F = RNG.normal(size=(2, T, N, 3))
ENERGY = {"potential/lj": np.array([-1.5, -1.25, -1.0]), "potential/wall": np.array([0.5, 0.25, 0.125])}
STRESS = RNG.normal(size=(T, 3, 3)) * 1e-3
MASSES, CHARGES = np.tile([22.98977, 35.453], N // 2), np.tile([1.0, -1.0], N // 2)
BODIES = {"Na": [[k, k + 1] for k in range(0, N, 2)], "Cl": [[k, k + 1] for k in range(1, N, 2)]}
SALT = {"bodies": BODIES | {"all": [[0, N]]}}


def growing(box: np.ndarray) -> np.ndarray:
    """A box that moves: (T, 3, 3)."""
    return np.array([box * (1.0 + 0.02 * k) for k in range(T)])


def salt_run(
    path: Path, box: np.ndarray = SKEWED, boxes: np.ndarray | None = None, **more
) -> tuple[Path, np.ndarray]:
    """Sodium and chlorine in a box; the run and the places (T, N, 3) in angstrom."""
    boxes = growing(box) if boxes is None else boxes
    x = np.array([lattice_of_atoms(one) for one in boxes])
    given = {
        "frames": {"position": x, "velocity": V, "force": F},
        "fields": {"m": MASSES, "charge": CHARGES},
        "observables": ENERGY | {"energy_stress": STRESS},
        "meta": SALT,
    }
    return atom_run(path, boxes=boxes, **(given | more)), x


def exported(run: Path, form: str, out: Path, **options) -> Path:
    write_frames(run, form, out, **options)
    return out


# Extended XYZ --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", ["molecular", "si", "atomic", "astronomical"])
def test_ase_reads_atoms_in_its_own_units(units, tmp_path):
    run, x = salt_run(tmp_path / "run", BOXES["left-handed"], units=units)
    frames = ase.io.read(exported(run, "extxyz", tmp_path / "a.extxyz"), index=":")
    assert len(frames) == T
    for k, atoms in enumerate(frames):
        assert atoms.get_chemical_symbols() == ["Na", "Cl"] * (N // 2)
        assert atoms.pbc.all()
        np.testing.assert_allclose(atoms.positions, x[k], rtol=1e-12)
        np.testing.assert_allclose(atoms.cell.array, growing(BOXES["left-handed"])[k], rtol=1e-12)
        np.testing.assert_allclose(atoms.get_velocities(), V[k] / (1e3 * of_ase.fs), rtol=1e-7)
        np.testing.assert_allclose(atoms.get_masses(), MASSES, rtol=1e-12)
        np.testing.assert_allclose(atoms.get_initial_charges(), CHARGES, rtol=1e-12)
        np.testing.assert_allclose(atoms.get_forces(), F[k], rtol=1e-12)
        np.testing.assert_allclose(atoms.get_potential_energy(), (-1.0, -1.0, -0.875)[k], rtol=1e-12)
        even = 0.5 * (STRESS[k] + STRESS[k].T)
        np.testing.assert_allclose(atoms.get_stress(voigt=False), even, rtol=1e-11)
        assert atoms.info["step"] == 10 * k
        assert atoms.info["Time"] == pytest.approx(float(k))


def test_numbers_of_another_step_are_left_out_and_said(tmp_path):
    run, _ = salt_run(
        tmp_path / "run",
        observables={"potential/lj": ENERGY["potential/lj"][:2]},
        frames={"position": np.array([lattice_of_atoms(SKEWED)] * T), "force": F[:1]},
    )
    written = write_frames(run, "extxyz", tmp_path / "a.extxyz")
    first, second, third = ase.io.read(tmp_path / "a.extxyz", index=":")
    assert first.get_potential_energy() == pytest.approx(-1.5)
    np.testing.assert_allclose(first.get_forces(), F[0])
    assert second.get_potential_energy() == pytest.approx(-1.25)
    assert "forces" not in second.calc.results
    assert third.calc is None
    said = "; ".join(written.remarks)
    assert "2 of 3 frames have energy" in said
    assert (
        "1 of 3 frames have forces; record forces, by the observer 'forces', at the steps of frames" in said
    )
    assert "0 of 3 frames have stress" in said


def test_energies_count_where_all_their_terms_were_recorded(tmp_path):
    run, _ = salt_run(tmp_path / "run", observables=ENERGY | {"potential/wall": ENERGY["potential/wall"][:2]})
    frames = ase.io.read(exported(run, "extxyz", tmp_path / "a.extxyz"), index=":")
    assert [("energy" in atoms.calc.results) for atoms in frames] == [True, True, False]


def test_velocities_without_masses_and_series_of_ones_own(tmp_path):
    x = np.array([lattice_of_atoms(SKEWED)] * T)
    run = atom_run(
        tmp_path / "run",
        {"position": x, "velocity": V, "energies": V[..., 0], "my charge": V[..., 1]},
        meta=SALT,
    )
    written = write_frames(run, "extxyz", tmp_path / "a.extxyz")
    atoms = ase.io.read(tmp_path / "a.extxyz", index="0")
    np.testing.assert_allclose(atoms.arrays["velo"], V[0] * 1e-3)
    np.testing.assert_allclose(atoms.arrays["energies_"], V[0, :, 0])
    np.testing.assert_allclose(atoms.arrays["my_charge"], V[0, :, 1])
    assert atoms.info["column_units"] == "velo: angstrom/fs"
    assert "velocities are a column `velo` in angstrom/fs" in "; ".join(written.remarks)
    (alone,) = ase.io.read(exported(run, "extxyz", tmp_path / "b.extxyz", names=["x"], step=13), index=":")
    assert alone.info["step"] == 10
    assert "velo" not in alone.arrays


def test_a_plane_has_a_third_edge_that_does_not_repeat(tmp_path):
    box, x = SKEWED[:2, :2], lattice_of_atoms(SKEWED)[:, :2]
    run = atom_run(
        tmp_path / "run", {"position": np.array([x] * T)}, np.array([box] * T), (True, True), meta=SALT
    )
    atoms = ase.io.read(exported(run, "extxyz", tmp_path / "a.extxyz"), index="0")
    assert atoms.pbc.tolist() == [True, True, False]
    np.testing.assert_allclose(atoms.cell.array[:2, :2], box)
    np.testing.assert_allclose(atoms.positions, np.c_[x, np.zeros(N)])
    distances = atoms.get_all_distances(mic=True)[np.triu_indices(N, 1)]
    flat = np.pad(x, ((0, 0), (0, 1)))
    np.testing.assert_allclose(distances, nearest_distances(flat, atoms.cell.array, atoms.pbc), rtol=1e-10)


# PDB -----------------------------------------------------------------------------------------------------


def read_universe(file: Path, count: int, form: str):
    mda = pytest.importorskip("MDAnalysis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if form == "pdb":
            return mda.Universe(str(file))
        universe = mda.Universe.empty(count, trajectory=False)
        return universe.load_new(str(file), format=form.upper())


@pytest.mark.parametrize("kind", sampled([*BOXES], ["upright", "left-handed"]))
@pytest.mark.parametrize(("form", "near"), [("pdb", 2e-3), ("xtc", 0.02), ("dcd", 5e-5)])
def test_mdanalysis_finds_the_distances_in_every_box_that_moves(form, near, kind, tmp_path):
    from MDAnalysis.lib.distances import self_distance_array

    run, x = salt_run(tmp_path / "run", BOXES[kind], units="si")
    universe = read_universe(exported(run, form, tmp_path / f"a.{form}"), N, form)
    assert len(universe.trajectory) == T
    for k, frame in enumerate(universe.trajectory):
        box = growing(BOXES[kind])[k]
        seen = self_distance_array(frame.positions.astype(float), box=frame.dimensions)
        np.testing.assert_allclose(seen, nearest_distances(x[k], box), atol=near)
        assert np.linalg.det(frame.triclinic_dimensions) == pytest.approx(abs(np.linalg.det(box)), rel=1e-3)
        if kind == "upright":
            np.testing.assert_allclose(frame.positions, x[k], atol=near)
            np.testing.assert_allclose(frame.triclinic_dimensions, box, atol=near)
    if form != "pdb":
        np.testing.assert_allclose([f.time for f in universe.trajectory], [0.0, 1.0, 2.0], atol=1e-5)


@pytest.mark.parametrize("form", ["pdb", "xtc", "dcd"])
@pytest.mark.parametrize("periodic", [(True, False, True), (False, False, True), (False, False, False)])
def test_open_axes_have_no_images_in_reach(periodic, form, tmp_path):
    """Atoms far beyond the recorded open edges, whose nearest images are those of the periodic axes."""
    from MDAnalysis.lib.distances import self_distance_array

    box = BOXES["rotated"]
    free = np.array([0.0 if one else 3.0 for one in periodic])
    x = lattice_of_atoms(box) @ np.linalg.inv(box)
    x = (x + (x - 0.5) * free) @ box
    run = atom_run(
        tmp_path / "run", {"position": np.array([x] * T)}, np.array([box] * T), periodic, meta=SALT
    )
    written = write_frames(run, form, tmp_path / f"a.{form}")
    frame = read_universe(tmp_path / f"a.{form}", N, form).trajectory[0]
    if not any(periodic):
        assert frame.dimensions is None
        np.testing.assert_allclose(frame.positions, x, atol=0.02)
        return
    seen = self_distance_array(frame.positions.astype(float), box=frame.dimensions)
    np.testing.assert_allclose(seen, nearest_distances(x, box, periodic), atol=0.02)
    axes = ", ".join(a for a, one in zip("xyz", periodic, strict=True) if not one)
    assert f"the box is open along {axes}" in "; ".join(written.remarks)


LABELS = AtomLabels(
    elements=("N", "C", "C", "O", "Cl", "O", "H", "H"),
    names=("N", "CA", "C", "O", "CL", "OW", "HW1", "HW2"),
    residues=("GLY",) * 4 + ("CL",) + ("HOH",) * 3,
    residue_numbers=(9999,) * 4 + (10000,) + (10001,) * 3,
    chains=("A",) * 4 + ("B",) * 4,
)


def test_openmm_reads_names_residues_chains_and_the_box(tmp_path):
    app = pytest.importorskip("openmm.app")
    from openmm import unit

    run, x = salt_run(
        tmp_path / "run", boxes=np.array([SKEWED] * T), meta=SALT | {"atoms": LABELS.as_facts()}
    )
    pdb = app.PDBFile(str(exported(run, "pdb", tmp_path / "a.pdb")))
    atoms = [*pdb.topology.atoms()]
    assert [atom.element.symbol for atom in atoms] == [*LABELS.elements]
    assert [atom.name for atom in atoms][:5] == [*LABELS.names[:5]]
    assert [atom.residue.name for atom in atoms] == [*LABELS.residues]
    assert [atom.residue.chain.id for atom in atoms] == [*LABELS.chains]
    assert [atom.residue.id for atom in atoms] == ["9999"] * 4 + ["0"] + ["1"] * 3
    assert pdb.getNumFrames() == T
    for k in range(T):
        places = pdb.getPositions(asNumpy=True, frame=k).value_in_unit(unit.angstrom)
        np.testing.assert_allclose(places, x[k], atol=6e-4)
    box = np.array(pdb.topology.getPeriodicBoxVectors().value_in_unit(unit.angstrom))
    np.testing.assert_allclose(box, SKEWED, atol=2e-3)
    universe = read_universe(tmp_path / "a.pdb", N, "pdb")
    assert universe.atoms.names.tolist() == [*LABELS.names]
    assert universe.atoms.resnames.tolist() == [*LABELS.residues]
    assert universe.atoms.resids.tolist() == [*LABELS.residue_numbers]
    assert universe.atoms.elements.tolist() == [*LABELS.elements]
    frame = ase.io.read(tmp_path / "a.pdb", index="0")
    assert frame.get_chemical_symbols() == [*LABELS.elements]
    np.testing.assert_allclose(frame.cell.cellpar(), [12.0, 11.70, 10.63, 85.39, 106.39, 70.02], atol=0.01)


def test_numbers_beyond_the_columns_are_hybrid_36():
    from minusgrad.app.results.atom_exports.pdb_file import hybrid_36

    known = {99999: "99999", 100000: "A0000", 43770015: "ZZZZZ", 43770016: "a0000", 87440031: "zzzzz"}
    assert {number: hybrid_36(number, 5) for number in known} == known
    assert (hybrid_36(10000, 4), hybrid_36(9999, 4), hybrid_36(7, 4)) == ("A000", "9999", "   7")
    for number, width in ((87440032, 5), (2436112, 4)):
        with pytest.raises(UserError, match=f"pdb: {number} does not fit into {width} columns"):
            hybrid_36(number, width)


def test_what_columns_of_a_pdb_cannot_hold_is_refused(tmp_path):
    x = np.zeros((T, N, 3))
    x[1, 5, 2] = -1000.0
    run = atom_run(tmp_path / "a", {"position": x}, meta=SALT)
    with pytest.raises(UserError, match=r"step 10: atom 5 lies at -1000 angstrom, and the columns of a PDB"):
        write_frames(run, "pdb", tmp_path / "a.pdb")
    assert not (tmp_path / "a.pdb").exists()
    boxes = np.array([np.diag([1e5, 10.0, 10.0])] * T)
    run = atom_run(tmp_path / "b", {"position": np.abs(x)}, boxes, meta=SALT)
    with pytest.raises(UserError, match=r"step 0: an edge of the box is 100000 angstrom long"):
        write_frames(run, "pdb", tmp_path / "b.pdb")
    labels = AtomLabels(elements=("H",) * N, residues=("LONGER",) * N, names=("H",) * N)
    run = atom_run(tmp_path / "c", {"position": np.zeros((T, N, 3))}, meta={"atoms": labels.as_facts()})
    with pytest.raises(UserError, match=r"atom 0: its residue name 'LONGER' has more than 4 letters"):
        write_frames(run, "pdb", tmp_path / "c.pdb")
    odd = AtomLabels(elements=("H",) * N, names=("H\nA", "H Ä", *("H",) * 6), residues=("A\n",) * N)
    run = atom_run(tmp_path / "odd", {"position": np.zeros((T, N, 3))}, meta={"atoms": odd.as_facts()})
    lines = exported(run, "pdb", tmp_path / "odd.pdb", step=0).read_text().splitlines()
    assert [line[12:20] for line in lines[1:3]] == [" H_A  A_", " H__  A_"]
    x[1, 5, 2] = np.nan
    run = atom_run(tmp_path / "d", {"position": x}, meta=SALT)
    for form in ("pdb", "xtc", "dcd"):
        with pytest.raises(UserError, match="step 10: atom 5 lies at nan angstrom"):
            write_frames(run, form, tmp_path / f"d.{form}")
        assert not (tmp_path / f"d.{form}").exists()


@pytest.mark.long
def test_many_atoms_are_read_by_their_hybrid_36_numbers(tmp_path):
    x = np.zeros((1, 100_002, 3))
    x[0, :, 0] = np.arange(100_002) % 5000
    run = atom_run(tmp_path / "run", {"position": x}, meta={"bodies": {"Ar": [[0, 100_002]]}})
    universe = read_universe(exported(run, "pdb", tmp_path / "a.pdb"), 100_002, "pdb")
    assert universe.atoms.ids[-3:].tolist() == [100_000, 100_001, 100_002]
    np.testing.assert_allclose(universe.atoms.positions, x[0])


# LAMMPS data ---------------------------------------------------------------------------------------------


def rows_of_atoms(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """The places and the image flags of the last six columns, by hand."""
    lines = file.read_text().split("\nAtoms #")[1].split("\n\n")[1].splitlines()
    rows = [line.split()[-6:] for line in lines]
    return np.array([[*map(float, row[:3])] for row in rows]), np.array(
        [[*map(int, row[3:])] for row in rows]
    )


@pytest.mark.parametrize("kind", sampled([*BOXES], ["left-handed"]))
def test_ase_and_mdanalysis_read_lammps_data(kind, tmp_path):
    """Distances, masses and charges, velocities by their dot products, and the places with their images."""
    run, x = salt_run(tmp_path / "run", BOXES[kind], units="si")
    x = x + 1.7 * growing(BOXES[kind])[:, :1]
    recorded = {"position": x, "velocity": V}
    run, _ = salt_run(tmp_path / "moved", BOXES[kind], units="si", frames=recorded)
    file = exported(run, "lammps-data", tmp_path / "a.data", step=15)
    box = growing(BOXES[kind])[1]
    atoms = ase.io.read(file, format="lammps-data", units="metal", atom_style="charge")
    assert atoms.pbc.all()
    assert not np.triu(atoms.cell.array, 1).any()
    distances = atoms.get_all_distances(mic=True)[np.triu_indices(N, 1)]
    np.testing.assert_allclose(distances, nearest_distances(x[1], box), rtol=1e-9)
    np.testing.assert_allclose(atoms.get_masses(), MASSES)
    np.testing.assert_allclose(atoms.get_initial_charges(), CHARGES)
    assert atoms.get_chemical_symbols() == ["Na", "Cl"] * (N // 2)
    v = atoms.get_velocities() * 1e3 * of_ase.fs
    np.testing.assert_allclose(v @ v.T, V[1] @ V[1].T, rtol=1e-6, atol=1e-9)
    universe = pytest.importorskip("MDAnalysis").Universe(
        str(file), atom_style="id type charge x y z", format="DATA"
    )
    assert universe.atoms.types.tolist() == ["1", "2"] * (N // 2)
    np.testing.assert_allclose(universe.trajectory.ts.triclinic_dimensions, atoms.cell.array, atol=1e-5)
    places, images = rows_of_atoms(file)
    inside = places @ np.linalg.inv(atoms.cell.array)
    assert ((inside > -1e-9) & (inside < 1.0 + 1e-9)).all()
    whole = places + images @ atoms.cell.array
    lengths = np.linalg.norm(x[1] - x[1, 0], axis=1)
    np.testing.assert_allclose(np.linalg.norm(whole - whole[0], axis=1), lengths, atol=1e-12)
    np.testing.assert_allclose(whole @ v.T, x[1] @ V[1].T, rtol=1e-6, atol=1e-6)


def test_tilts_beyond_half_an_edge_are_taken_back(tmp_path):
    box = np.array([[12.0, 0.0, 0.0], [19.0, 11.0, 0.0], [7.0, -27.0, 10.0]])
    run, x = salt_run(tmp_path / "run", box)
    written = write_frames(run, "lammps-data", tmp_path / "a.data", step=0)
    assert "tilts of the box beyond half an edge are taken back" in "; ".join(written.remarks)
    atoms = ase.io.read(tmp_path / "a.data", format="lammps-data", units="metal", atom_style="charge")
    (a, _, _), (xy, b, _), (xz, yz, c) = atoms.cell.array
    assert abs(xy) <= a / 2
    assert abs(xz) <= a / 2
    assert abs(yz) <= b / 2
    assert a * b * c == pytest.approx(12 * 11 * 10)
    inverse = np.linalg.inv(atoms.cell.array)
    np.testing.assert_allclose(box @ inverse, np.round(box @ inverse), atol=1e-12)
    distances = atoms.get_all_distances(mic=True)[np.triu_indices(N, 1)]
    near = nearest_distances(x[0], atoms.cell.array)
    np.testing.assert_allclose(distances, near, rtol=1e-9)


@pytest.mark.parametrize("periodic", [(True, True, False), (False, False, False)])
def test_open_axes_of_lammps_data_reach_over_the_atoms(periodic, tmp_path):
    box = BOXES["rotated"]
    x = np.array([lattice_of_atoms(box) * 3.0] * T)
    run, _ = salt_run(tmp_path / "run", boxes=np.array([box] * T), periodic=periodic, frames={"position": x})
    written = write_frames(run, "lammps-data", tmp_path / "a.data")
    said = "; ".join(written.remarks)
    assert f"write `boundary {'p p' if any(periodic) else 'f f'} f`" in said
    assert "the frame has no velocities" in said
    atoms = ase.io.read(tmp_path / "a.data", format="lammps-data", units="metal", atom_style="charge")
    atoms.pbc = periodic
    distances = atoms.get_all_distances(mic=True)[np.triu_indices(N, 1)]
    np.testing.assert_allclose(distances, nearest_distances(x[2], box, periodic), rtol=1e-9)
    text = (tmp_path / "a.data").read_text().splitlines()
    low = [float(line.split()[0]) for line in text if line.endswith("hi")]
    inside = (rows_of_atoms(tmp_path / "a.data")[0] - low) @ np.linalg.inv(atoms.cell.array)
    assert ((inside > 0.0) & (inside < 1.0)).all()


def test_runs_without_units_are_lennard_jones_to_lammps_alone(tmp_path):
    run, x = salt_run(tmp_path / "run", units="dimensionless", dtype="f4")
    file = exported(run, "lammps-data", tmp_path / "a.data")
    assert file.read_text().splitlines()[0].endswith("timestep = 20, units = lj")
    atoms = ase.io.read(file, format="lammps-data", units="metal", atom_style="charge")
    np.testing.assert_allclose(rows_of_atoms(file)[0], x[2], rtol=1e-6)
    np.testing.assert_allclose(atoms.cell.array, growing(SKEWED)[2], rtol=1e-6)
    for form in ("extxyz", "pdb", "dcd", "xtc"):
        with pytest.raises(UserError, match=f"has no units, got --format {form}, whose readers .* angstrom"):
            write_frames(run, form, tmp_path / "b")
    turns = atom_run(tmp_path / "turns", {"phi": x})
    with pytest.raises(UserError, match="has no recorded positions"):
        write_frames(turns, "extxyz", tmp_path / "c")


# Elements ------------------------------------------------------------------------------------------------


def symbols_of(run: Path, form: str = "extxyz", **options) -> list[str]:
    out = exported(run, form, run.parent / "symbols.xyz", step=0, **options)
    return ase.io.read(out, format="extxyz").get_chemical_symbols()


@pytest.mark.parametrize("form", ["xyz", "extxyz"])
def test_elements_are_those_of_the_state_then_of_bodies_then_of_names(form, tmp_path):
    labels = AtomLabels(elements=("C", "", "U", "H"))
    bodies = {"Ar": [[0, 2]], "C": [[2, 3]], "chain": [[0, 4]]}
    meta = {"atoms": labels.as_facts(), "bodies": bodies, "names": ["He", "He", "He", "sun"]}
    x = {"position": np.zeros((T, 4, 3))}
    assert symbols_of(atom_run(tmp_path / "a", x, meta=meta), form) == ["C", "X", "U", "H"]
    meta.pop("atoms")
    run = atom_run(tmp_path / "b", x, meta=meta)
    assert symbols_of(run, form) == ["Ar", "Ar", "C", "X"]
    if form == "extxyz":
        said = write_frames(run, form, tmp_path / "said").remarks[-1]
        assert "1 of 4 atoms have no known element and are X; say it with --element Ar, or BODY=Ar" in said
    assert symbols_of(run, form, given=["chain=Ne", "Ar=Kr"]) == ["Kr", "Kr", "Ne", "Ne"]
    assert symbols_of(run, form, given=["Xe"]) == ["Xe"] * 4
    meta.pop("bodies")
    assert symbols_of(atom_run(tmp_path / "c", x, meta=meta), form) == ["He", "He", "He", "X"]
    for given, said in (
        (["Argon"], "must be a chemical symbol like Ar, or BODY=Ar, got 'Argon'"),
        (["chian=Ar"], "no body named 'chian'; did you mean 'chain'?"),
    ):
        with pytest.raises(UserError, match=said):
            symbols_of(run, form, given=given)
    bodies["He"] = [[1, 3]]
    twice = atom_run(tmp_path / "d", x, meta={"bodies": bodies})
    with pytest.raises(UserError, match="node 1: is in the bodies 'Ar' and 'He', which are both"):
        symbols_of(twice, form)


def test_types_of_lammps_are_elements_and_masses(tmp_path):
    masses = np.array([1.008, 2.014] + [35.453] * 6)
    bodies = {"H": [[0, 2]], "Cl": [[2, N]]}
    run, _ = salt_run(tmp_path / "run", fields={"m": masses}, meta={"bodies": bodies})
    text = exported(run, "lammps-data", tmp_path / "a.data").read_text()
    assert "3 atom types" in text
    rows = [line.split("#") for line in text.split("Masses\n\n")[1].splitlines()[:3]]
    assert [one.strip() for _, one in rows] == ["H", "H", "Cl"]
    assert [float(one.split()[1]) for one, _ in rows] == pytest.approx([1.008, 2.014, 35.453])
    assert "Atoms # atomic" in text


# The command ---------------------------------------------------------------------------------------------


def test_the_command_writes_files_of_atoms(tmp_path, capsys):
    run, _ = salt_run(tmp_path / "run")
    out = tmp_path / "a.dcd"
    assert cli.main(["export", str(run), "--format", "dcd", "--out", str(out)]) == 0
    assert len(read_universe(out, N, "dcd").trajectory) == T
    assert cli.main(["export", str(run), "--format", "lammps-data", "--out", str(tmp_path / "a.data")]) == 0
    said = capsys.readouterr()
    assert f"{out}: 3 frames" in said.out
    assert "a.data: 1 frame\n" in said.out
    assert cli.main(["export", str(run), "--format", "pdb", "--step", "0", "--element", "Ar"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("HETATM    1 AR    AR     1")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "dcd"], "--format dcd: is no text, got the terminal; give a file with --out"),
        (["--format", "xtc", "--out", "deep/a.xtc"], "cannot be written: there is no folder deep"),
        (["--format", "xtc", "--out", "."], "cannot be written: is a folder"),
        (["velocity", "--format", "pdb"], "velocity: is a series, got --format pdb"),
        (["--format", "lammps-data", "--every", "2"], "--every: chooses several frames"),
        (["--element", "Ar"], "--element: is for files of atoms, got csv"),
        (["--format", "vtu", "--element", "Ar"], "--element: is for files of atoms, got --format vtu"),
        (["--format", "pdb", "--step", "-1"], "its first frame is that of step 0, got --step -1"),
        (["--format", "pdb", "--table"], "--format pdb: is for frames, got an option that exports members"),
    ],
)
def test_what_cannot_be_written_is_one_message(options, said, tmp_path, capsys, monkeypatch):
    run, _ = salt_run(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["export", str(run), *options]) == 2
    assert said in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]


def test_without_mdanalysis_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "MDAnalysis", None)
    run, _ = salt_run(tmp_path / "run")
    with pytest.raises(UserError, match=r"--format dcd: needs the package MDAnalysis.*\[trajectory\]"):
        write_frames(run, "dcd", tmp_path / "a.dcd")


def test_times_that_a_dcd_cannot_hold_are_said(tmp_path):
    run, _ = salt_run(tmp_path / "run", times=(4.0, 6.0, 7.0))
    written = write_frames(run, "dcd", tmp_path / "a.dcd")
    assert "readers find 8 ps for the last one, which is of 7 ps" in "; ".join(written.remarks)
    times = [frame.time for frame in read_universe(tmp_path / "a.dcd", N, "dcd").trajectory]
    assert times == pytest.approx([4.0, 6.0, 8.0])
    times = [f.time for f in read_universe(exported(run, "xtc", tmp_path / "a.xtc"), N, "xtc").trajectory]
    assert times == pytest.approx([4.0, 6.0, 7.0])
    even, _ = salt_run(tmp_path / "even", times=(4.0, 6.0, 8.0))
    assert not [one for one in write_frames(even, "dcd", tmp_path / "b.dcd").remarks if "DCD" in one]
    times = [frame.time for frame in read_universe(tmp_path / "b.dcd", N, "dcd").trajectory]
    assert times == pytest.approx([4.0, 6.0, 8.0])
