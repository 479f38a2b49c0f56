"""Files of atoms of runs: molecules, constant pressure, planes, members, and files of atoms once more."""

import warnings
from pathlib import Path

import ase.io
import numpy as np
import pytest

import minusgrad as mg
from minusgrad.app.ensembles.member_folder import write_member
from minusgrad.app.results.frame_export import write_frames
from minusgrad.app.runs import run as run_scene
from minusgrad.errors import UserError
from tests.support.atom_runs import BOXES, nearest_distances
from tests.support.ensembles import ensemble, written

DATA = Path(__file__).parents[3] / "scenes" / "data"
MOLECULE = """
plugins = ["elastic", "molecular"]
units = { system = "molecular" }
run = { steps = 4 }
stepper = { kind = "leapfrog", dt = "0.5 fs" }

[state]
kind = "molecule"
system = "dipeptide.xml"
positions = "dipeptide.pdb"

[[energy]]
kind = "harmonic_bond"
tuples = "bonds"

[[observe]]
kind = "frames"
every = 2
"""


AGAIN = """
plugins = ["molecular"]
units = { length = "angstrom", mass = "u", time = "ps" }
run = { steps = 1 }
stepper = { kind = "leapfrog", dt = 0.001 }
state = { kind = "atoms", file = "a.xyz" }
energy = [{ kind = "lennard_jones", epsilon = 1.0, sigma = 1.0, cutoff = 3.0 }]
"""


def quiet_universe(file: Path, count: int):
    universe_of = pytest.importorskip("MDAnalysis").Universe
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return universe_of.empty(count, trajectory=False).load_new(str(file))


def test_a_molecule_keeps_its_names_elements_and_bonds_in_openmm(tmp_path):
    app = pytest.importorskip("openmm.app")
    from openmm import unit

    for name in ("dipeptide.xml", "dipeptide.pdb"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    (tmp_path / "scene.toml").write_text(MOLECULE)
    run = run_scene(tmp_path / "scene.toml", (), tmp_path / "run")
    pdb = app.PDBFile(str(run.export(tmp_path / "a.pdb", "pdb")))
    theirs = app.PDBFile(str(DATA / "dipeptide.pdb"))
    told = [
        [(a.name, a.element, a.residue.name, a.residue.id, a.residue.chain.id) for a in one.topology.atoms()]
        for one in (pdb, theirs)
    ]
    assert told[0] == told[1]
    bonds = [{frozenset((a.index, b.index)) for a, b in one.topology.bonds()} for one in (pdb, theirs)]
    assert bonds[0] == bonds[1] != set()
    places = pdb.getPositions(asNumpy=True, frame=2).value_in_unit(unit.angstrom)
    np.testing.assert_allclose(places, run["position"][-1], atol=6e-4)
    text = run.export(tmp_path / "a.data", "lammps-data").read_text()
    assert "# charge" in text
    charges = [float(line.split()[2]) for line in text.split("# charge\n\n")[1].splitlines()[: len(places)]]
    assert sum(charges) == pytest.approx(0.0, abs=1e-6)
    assert charges[4] == pytest.approx(float(run.simulation.fields["charge"].values[4]))


@pytest.mark.parametrize("precision", [pytest.param("f64", marks=pytest.mark.long), "f32"])
def test_a_box_at_constant_pressure_moves_in_every_file(precision, tmp_path):
    from MDAnalysis.lib.distances import self_distance_array

    box = BOXES["rotated"]
    cells = (np.array(np.meshgrid(*[np.arange(2)] * 3, indexing="ij")).reshape(3, -1).T + 0.5) / 2
    x = cells @ box
    sim = mg.Simulation(
        fields={"x": x, "v": np.random.default_rng(1).normal(size=x.shape) * 9.0, "m": np.full(8, 40.0)},
        energies=[mg.energy("lennard_jones", epsilon=1.0, sigma=2.3, cutoff=4.4, skin=0.3)],
        box={"vectors": box.tolist()},
        units="molecular",
        plugins=["molecular"],
        runtime={"precision": precision},
        stepper={
            "kind": "npt", "cell": "flexible", "cell_friction": 0.0, "dt": 0.005, "temperature": 200.0,
            "pressure": "3000 bar", "friction": 0.0, "relaxation": 1.0,
        },
        observe=[{"kind": "frames", "every": 10, "fields": ["x", "v"]}],
    )  # fmt: skip
    run = sim.run(steps=20, out=tmp_path / "run")
    edges = [frame.cell.array for frame in read_extxyz(run)]
    assert np.abs(edges[-1] - edges[0]).max() > 1e-3
    for form, near in (("xtc", 0.03), ("dcd", 1e-4)):
        universe = quiet_universe(run.export(tmp_path / f"a.{form}", form, elements="Ar"), 8)
        for k, frame in enumerate(universe.trajectory):
            seen = self_distance_array(frame.positions.astype(float), box=frame.dimensions)
            np.testing.assert_allclose(seen, nearest_distances(run["position"][k], edges[k]), atol=near)
            assert frame.volume == pytest.approx(abs(np.linalg.det(edges[k])), rel=1e-3)
    atoms = ase.io.read(
        run.export(tmp_path / "a.data", "lammps-data"),
        format="lammps-data",
        units="metal",
        atom_style="atomic",
    )
    np.testing.assert_allclose(
        atoms.get_all_distances(mic=True)[np.triu_indices(8, 1)],
        nearest_distances(run["position"][-1].astype(float), edges[-1]),
        rtol=1e-5 if precision == "f32" else 1e-9,
    )


def read_extxyz(run, **options) -> list:
    file = run.folder.parent / "read.extxyz"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ase.io.read(run.export(file, "extxyz", **options), index=":")


def test_python_says_what_is_missing_and_where_files_are(tmp_path):
    from tests.app.results.test_atom_exports import salt_run

    folder, x = salt_run(tmp_path / "run", observables={})
    run = mg.open(folder)
    with pytest.warns(UserWarning, match=r"a.extxyz: 0 of 1 frames have energy; record the energy"):
        file = run.export(tmp_path / "a.extxyz", "extxyz", step=10, elements={"Na": "K", "Cl": "F"})
    atoms = ase.io.read(file)
    assert atoms.get_chemical_symbols() == ["K", "F"] * 4
    np.testing.assert_allclose(atoms.positions, x[1])
    assert run.export(tmp_path / "sheet", "vtu", every=2) == tmp_path / "sheet" / "frames.pvd"
    with pytest.raises(UserError, match=r"format: .*no format of frames named 'lammps'; did you mean"):
        run.export(tmp_path / "b", "lammps")


def test_members_are_exported_from_a_folder_of_their_own(tmp_path):
    done = ensemble(written(tmp_path), tmp_path / "run", "ensemble.members=2")
    with pytest.raises(UserError, match="has frames of all members; export one by `--member N`"):
        write_frames(done.folder, "lammps-data", tmp_path / "a.data")
    alone = mg.open(write_member(done.folder, 1, tmp_path / "one"))
    with pytest.raises(UserError, match="has no units, got --format pdb"):
        alone.export(tmp_path / "a.pdb", "pdb")
    with pytest.warns(UserWarning, match="a.data: "):
        text = alone.export(tmp_path / "a.data", "lammps-data").read_text()
    masses = [float(line.split()[1]) for line in text.split("Masses\n\n")[1].splitlines()[:2]]
    assert masses == [0.75, 0.25]


def test_a_plane_of_atoms_is_flat_in_every_file(tmp_path):
    scene = """
    plugins = ["crystals", "molecular"]
    units = { length = "nm", mass = "u", time = "ps" }
    run = { steps = 2 }
    stepper = { kind = "leapfrog", dt = "1 fs" }
    [state]
    kind = "crystal"
    lattice = "triangular"
    cells = [6, 4]
    a = "0.38 nm"
    mass = "39.948 u"
    temperature = "30 K"
    [[energy]]
    kind = "lennard_jones"
    epsilon = "0.0104 eV"
    sigma = "0.34 nm"
    cutoff = "0.7 nm"
    [[observe]]
    kind = "frames"
    every = 1
    [[observe]]
    kind = "forces"
    every = 1
    """
    (tmp_path / "scene.toml").write_text(scene)
    run = run_scene(tmp_path / "scene.toml", (), tmp_path / "run")
    atoms = read_extxyz(run, elements="Ar")[-1]
    flat = np.pad(10.0 * run["position"][-1], ((0, 0), (0, 1)))
    np.testing.assert_allclose(atoms.positions, flat, rtol=1e-12)
    assert atoms.pbc.tolist() == [True, True, False]
    forces = run["force"][-1] * (1.66053906892e-27 * 1e-9 / 1e-24) / (1.602176634e-19 / 1e-10)
    np.testing.assert_allclose(atoms.get_forces()[:, :2], forces, rtol=1e-9)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        file = run.export(tmp_path / "a.data", "lammps-data", elements="Ar")
    assert any("write `dimension 2` before read_data" in str(one.message) for one in said)
    theirs = ase.io.read(file, format="lammps-data", units="metal", atom_style="atomic")
    np.testing.assert_allclose(theirs.cell.array[:2, :2], atoms.cell.array[:2, :2], rtol=1e-12)
    frame = quiet_universe(run.export(tmp_path / "a.xtc", "xtc", elements="Ar"), len(flat)).trajectory[-1]
    np.testing.assert_allclose(frame.positions, flat, atol=0.011)


def test_what_is_exported_is_a_state_again(tmp_path):
    """The state `atoms` reads extended XYZ, PDB and LAMMPS data that were exported, with the same numbers."""
    from tests.app.results.test_atom_exports import CHARGES, MASSES, V, salt_run

    folder, x = salt_run(tmp_path / "run", BOXES["left-handed"])
    (tmp_path / "scene.toml").write_text(AGAIN)
    for form, name, options in (
        ("extxyz", "a.xyz", {}),
        ("lammps-data", "a.data", {"state.species": {"1": "Na", "2": "Cl"}}),
        ("pdb", "a.pdb", {"state.masses": {"Na": "22.98977 u", "Cl": "35.453 u"}}),
    ):
        write_frames(folder, form, tmp_path / name, step=20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            built = mg.build(tmp_path / "scene.toml", {"state.file": name} | options)
        fields = built.fields
        near = 2e-3 if form == "pdb" else 1e-9
        np.testing.assert_allclose(
            nearest_distances(fields["x"].values, fields["box"].values[0]),
            nearest_distances(x[2], BOXES["left-handed"] * 1.04),
            atol=near,
        )
        np.testing.assert_allclose(fields["m"].values, MASSES, rtol=1e-9)
        if form != "pdb":
            unit = built.units.convert("1 e", "C")
            np.testing.assert_allclose(fields["charge"].values, CHARGES * unit, rtol=1e-9)
            v = fields["v"].values
            np.testing.assert_allclose(v @ v.T, V[2] @ V[2].T, rtol=1e-6, atol=1e-9)
        assert built.state.atoms is not None
        assert built.state.atoms.elements == ("Na", "Cl") * 4
