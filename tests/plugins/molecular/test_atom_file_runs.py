"""Runs of files of atoms: energies beside sums by hand, open axes, resumed runs, members, wrong doors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minusgrad import build, run
from minusgrad.app.jobs.job_runs import resume
from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import SceneError
from minusgrad.plugin import State, UnitSystem
from minusgrad_molecular.atom_files.state import AtomFile
from tests.support.command import files, minusgrad
from tests.support.short_scenes import cut

pytest.importorskip("ase")

SCENE = """
[units]
length = "angstrom"
mass = "u"
time = "fs"

[state]
kind = "atoms"
file = "slab.xyz"
temperature = "40 K"
cells = [2, 2, 1]

[[energy]]
kind = "lennard_jones"
epsilon = "0.0104 eV"
sigma = "3.4 angstrom"
cutoff = "4.6 angstrom"
skin = "0.4 angstrom"

[stepper]
kind = "leapfrog"
dt = "2 fs"

[run]
steps = 40

[checkpoint]
every = 10

[[observe]]
kind = "frames"
every = 10

[[observe]]
kind = "energies"
every = 1
"""
SLAB = """4
Lattice="5.4 0 0 0.6 5.3 0 0.2 0.1 40" Properties=species:S:1:pos:R:3:load:R:1 pbc="T T F"
Ar 0.1 0.2 1.0 0.5
Ar 2.6 2.8 1.1 0.25
Ar 2.9 0.1 3.7 0.0
Kr -8.0 2.7 3.9 1.5
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    (tmp_path / "slab.xyz").write_text(SLAB)
    (tmp_path / "slab.toml").write_text(SCENE)
    return tmp_path / "slab.toml"


def summed(x: np.ndarray, h: np.ndarray, axes: tuple[int, ...], reach: float, **one: float) -> float:
    """Lennard-Jones by a double sum over images, switched as by default from 0.9 of the cutoff."""
    total, steps = 0.0, [range(-2, 3) if k in axes else range(1) for k in range(3)]
    for image in np.stack(np.meshgrid(*steps), -1).reshape(-1, 3):
        for i in range(len(x)):
            for j in range(len(x)):
                r = float(np.linalg.norm(x[j] + image @ h - x[i]))
                if 1e-9 < r < reach:
                    s = max((r - 0.9 * reach) / (0.1 * reach), 0.0)
                    fade = 1.0 - 10.0 * s**3 + 15.0 * s**4 - 6.0 * s**5
                    total += (
                        2.0 * one["epsilon"] * ((one["sigma"] / r) ** 12 - (one["sigma"] / r) ** 6) * fade
                    )
    return total


@pytest.mark.parametrize(("precision", "tolerance"), [("f64", 1e-12), ("f32", 2e-6)])
def test_the_energy_of_a_slab_repeats_along_its_two_axes(
    scene: Path, precision: str, tolerance: float
) -> None:
    """Atoms outside of the cell count as their images; the third axis is open without a word in the scene."""
    made = build(scene, {"runtime.precision": precision})
    x, h = made.fields["x"].values.astype(float), made.fields["box"].values[0].astype(float)
    assert made.fields.periodic == (True, True, False)
    one = {"epsilon": made.units.convert("0.0104 eV", "J"), "sigma": 3.4}
    assert made.potential.value() == pytest.approx(summed(x, h, (0, 1), 4.6, **one), rel=tolerance)


def test_a_left_handed_cell_has_the_energy_of_its_images(scene: Path) -> None:
    wanted = build(scene).potential.value()
    swapped = SLAB.replace("5.4 0 0 0.6 5.3 0", "0.6 5.3 0 5.4 0 0")
    (scene.parent / "slab.xyz").write_text(swapped)
    assert build(scene).potential.value() == pytest.approx(wanted, rel=1e-12)


def test_a_box_of_the_scene_says_which_axes_repeat(scene: Path) -> None:
    assert build(scene, {"box.periodic": [True, True, True]}).fields.periodic == (True, True, True)
    (scene.parent / "slab.xyz").write_text(SLAB.replace(' pbc="T T F"', ""))
    assert build(scene).fields.periodic == (True, True, True)
    assert build(scene, {"box.periodic": [False, True, True]}).fields.periodic == (False, True, True)
    with pytest.raises(SceneError, match="is given by the state, got another one; leave its edges out"):
        build(scene, {"box.edges": ["9 angstrom"] * 3})


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("coulomb", '; \'slab.xyz\' has no charges: write charges = { Ar = "...", Kr = "..." } in [state]'),
        ("lennard_jones_mixture", '; [[compound]] kind = "lennard_jones_by_species" has it by species'),
        ("pme", "periodic along all axes, got periodic = [true, true, false]; give [box]"),
    ],
)
def test_what_a_scene_needs_and_a_file_has_not_is_asked_for(scene: Path, kind: str, message: str) -> None:
    section = "compound" if kind == "pme" else "energy"
    with pytest.raises(SceneError) as refused:
        build(scene, {"energy": [], section: [{"kind": kind, "cutoff": "4 angstrom"}]})
    assert str(refused.value).endswith(message)


def test_a_run_is_resumed_bit_for_bit(scene: Path, tmp_path: Path) -> None:
    """The file that was read is among the inputs of the run."""
    whole = run(scene, {}, tmp_path / "whole").folder
    half = cut(tmp_path / "half", scene, {}, 13)
    (tmp_path / "slab.xyz").unlink()
    resume(half)
    assert files(half) == files(whole)
    assert (whole / "inputs" / "slab.xyz").read_text() == SLAB


def test_members_draw_velocities_of_their_own(scene: Path, tmp_path: Path) -> None:
    vary = {'ensemble.vary."runtime.seed".range': {"from": 1, "to": 3, "count": 3}}
    several = run(scene, vary, tmp_path / "three")
    alone = run(scene, {**vary, "ensemble.member": 1}, tmp_path / "one")
    assert several.ensemble is not None
    found = several.ensemble.values("x")
    assert np.abs(found[0] - found[1]).max() > 1e-3
    np.testing.assert_array_equal(found[1], alone.simulation.fields["x"].values)


@pytest.mark.long
def test_quadrants_runs_the_same_file(scene: Path, tmp_path: Path) -> None:
    wanted = run(scene, {}, tmp_path / "here").series("observables/total").value
    done = minusgrad("run", scene, "--out", tmp_path / "there", MINUSGRAD_ENGINE="quadrants")
    assert done.returncode == 0, done.stderr
    from minusgrad import open as opened

    found = opened(tmp_path / "there").series("observables/total").value
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


@pytest.mark.long
def test_the_check_of_a_scene_with_a_file(scene: Path) -> None:
    done = minusgrad("check", scene)
    assert done.returncode == 0, done.stdout + done.stderr


def read_back(folder: Path, **keys: Any) -> State:
    units = UnitSystem.of("angstrom", "u", "fs")
    return AtomFile(**keys).make(StateContext(units, 0, folder))


def test_a_run_goes_out_as_a_file_and_comes_back(scene: Path, tmp_path: Path) -> None:
    """Positions up to images, velocities, masses, the cell and its open axis, species."""
    done = run(scene, {"observe.0.unwrapped": False}, tmp_path / "run")
    last = done.simulation.fields
    done.export(tmp_path / "back.extxyz", "extxyz")
    state = read_back(tmp_path, file="back.extxyz")
    assert state.periodic == (True, True, False)
    np.testing.assert_allclose(state.fields["box"], last["box"].values, rtol=1e-12)
    off = (state.fields["x"] - last["x"].values) @ np.linalg.inv(last["box"].values[0])
    np.testing.assert_allclose(off, np.rint(off), atol=1e-9)
    np.testing.assert_allclose(state.fields["m"], last["m"].values, rtol=1e-7)
    np.testing.assert_allclose(state.fields["v"], last["v"].values, rtol=1e-6, atol=1e-12)
    assert [body.name for body in state.bodies] == ["Ar", "Kr"]
    assert state.bodies[1].nodes.tolist() == [3, 7, 11, 15]
    done.export(tmp_path / "back.data", "lammps-data")
    data = read_back(tmp_path, file="back.data", units="metal", species={"1": "Ar", "2": "Kr"})
    np.testing.assert_allclose(data.fields["m"], last["m"].values, rtol=1e-6)
    assert data.bodies[1].nodes.tolist() == [3, 7, 11, 15]


DOORS = {
    "a.xyz": (SLAB, "xyz"),
    "a.gro": ("t\n    1\n    1SOL     OW    1   0.230   0.628   0.113\n   1.0 1.0 1.0\n", "gro"),
    "POSCAR": ("x\n1.0\n5 0 0\n0 5 0\n0 0 5\nAr\n1\nDirect\n0 0 0\n", "POSCAR"),
    "a.cif": ("data_x\n_cell_length_a 5\nloop_\n_atom_site_label\nAr1\n", "CIF"),
    "a.data": ("LAMMPS\n\n1 atoms\n1 atom types\n0 5 xlo xhi\n\nAtoms\n\n1 1 0 0 0\n", "LAMMPS"),
    "a.pdb": ("ATOM      1  CA  ALA A   1      11.104   6.134  -6.504\n", "PDB"),
}


@pytest.mark.parametrize("name", DOORS)
def test_other_doors_say_which_state_reads_atoms(name: str, tmp_path: Path, scene: Path) -> None:
    text, kind = DOORS[name]
    (tmp_path / name).write_text(text)
    said = (
        f"'{name}': needs {{}}, got atoms of another program ({kind}); read them by [state] kind = \"atoms\""
    )
    for change, needs in (
        ({"state": {"kind": "arrays", "file": name}}, "arrays (HDF5)"),
        ({"state": {"kind": "from_csv", "file": name}}, "a table (CSV)"),
        ({"initial.fields.x": name}, "a table (CSV)"),
    ):
        with pytest.raises(SceneError) as refused:
            build(scene, change)
        assert said.format(needs) in str(refused.value)
