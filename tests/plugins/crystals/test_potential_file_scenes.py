"""Scenes with potentials from files: runs, resumed ones, members, fits, checks, tensors, remarks."""

from pathlib import Path

import numpy as np
import pytest

from minusgrad import build, run
from minusgrad import open as opened
from minusgrad.app.jobs.job_runs import resume
from minusgrad.errors import MinusgradError, SceneError
from tests.plugins.crystals.potential_file_texts import FILES, crystal, setfl
from tests.support.command import files, minusgrad
from tests.support.short_scenes import cut
from tests.support.warm_crystals import assert_a_function_of_tensors, refitted

SCENE = """
plugins = ["crystals", "molecular"]

[units]
length = "angstrom"
mass = "u"
time = "ps"

[state]
kind = "atoms"
file = "NiAl.xyz"
temperature = "300 K"

[[compound]]
kind = "eam"
file = "NiAl.eam.fs"
images = true

[stepper]
kind = "leapfrog"
dt = "1 fs"

[run]
steps = 20

[checkpoint]
every = 5

[[observe]]
kind = "energies"
every = 2

[[observe]]
kind = "frames"
every = 10
unwrapped = true
"""
BLOCK = 'kind = "stillinger_weber"\nfile = "Si.sw"'
SILICON = (
    SCENE.replace(
        'kind = "atoms"\nfile = "NiAl.xyz"',
        'kind = "crystal"\nlattice = "diamond"\ncells = [1, 1, 1]\na = "5.431 angstrom"\nmass = "28.0855 u"',
    )
    .replace('kind = "eam"\nfile = "NiAl.eam.fs"', BLOCK)
    .replace("steps = 20", "steps = 12")
)


def atoms(symbols: tuple[str, str], a: float, diamond: bool) -> str:
    """A crystal of two species as extended XYZ."""
    x, box, kinds = crystal(a, diamond)
    lattice = " ".join(repr(float(one)) for one in box.ravel())
    rows = (f"{symbols[k]} {' '.join(repr(float(c)) for c in at)}" for k, at in zip(kinds, x, strict=True))
    head = f'Lattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"'
    return f"{len(x)}\n{head}\n" + "\n".join(rows) + "\n"


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("NiAl.xyz").write_text(atoms(("Ni", "Al"), 3.5, False))
    Path("GaN.xyz").write_text(atoms(("Ga", "N"), 4.5, True))
    Path("SiC.xyz").write_text(atoms(("Si", "C"), 4.5, True))
    Path("alloy.toml").write_text(SCENE)
    return Path("alloy.toml")


def of_block(kind: str, file: str, atoms: str) -> str:
    """The scene with another file of atoms and another block."""
    changed = SCENE.replace("NiAl.xyz", atoms).replace('"eam"', f'"{kind}"')
    return changed.replace('"NiAl.eam.fs"', f'"{file}"')


def test_a_run_is_resumed_bit_for_bit_without_the_original_file(scene: Path) -> None:
    build_energy, whole = build(scene).potential.value(), run(scene, {}, "whole").folder
    half = cut(Path("half"), scene, {}, 13)
    copies = (Path("NiAl.eam.fs"), Path("NiAl.xyz"))
    for file in copies:
        assert (whole / "inputs" / file).read_text() == file.read_text()
        file.unlink()
    resume(half)
    assert files(half) == files(whole)
    assert build(whole / "scene.toml").potential.value() == build_energy
    total = opened(whole).series("observables/total").value
    assert np.ptp(total) < 1e-3 * np.abs(total).max()


def test_a_missing_file_is_said_at_its_key(scene: Path) -> None:
    with pytest.raises(SceneError) as refused:
        build(scene, {"compound.0.file": "Ni.eam.alloy"})
    assert "cannot read 'Ni.eam.alloy' (No such file or directory)" in str(refused.value)
    scene.write_text(SCENE.replace("NiAl.eam.fs", "GaN.sw"))
    with pytest.raises(SceneError) as refused:
        build(scene)
    assert str(refused.value).startswith(
        "alloy.toml:16:8: compound.0.file: 'GaN.sw', line 5: is neither setfl"
    )


def test_units_are_asked_for(scene: Path) -> None:
    Path("x.csv").write_text("m,x,y,z,vx,vy,vz\n1,0,0,0,0,0,0\n1,2.3,0,0,0,0,0\n")
    bare = SILICON[SILICON.index("[[compound]]") :].replace('"1 fs"', "0.001").replace("images = true", "")
    state = '[state]\nkind = "from_csv"\nfile = "x.csv"\n\n'
    scene.write_text('units = { system = "dimensionless" }\n' + state + bare)
    said = "file: has energies in eV and lengths in angstrom, got a scene without units; give"
    with pytest.raises(SceneError, match=said):
        build(scene)


def test_remarks_tell_other_masses_and_densities_beyond_the_tables(scene: Path) -> None:
    scene.write_text(SCENE.replace("NiAl.eam.fs", "NiAl_short.eam.alloy"))
    remarks = build(scene, {"state.masses": {"Ni": "60 u"}}).starting.remarks
    assert (
        "'NiAl_short.eam.alloy': Ni has the mass 58.69 u there, and 60 u in the state, which is used; forces"
        " do not depend on it"
    ) in remarks
    assert (
        "eam: the density of 8 atoms is beyond the end of the tables of 'NiAl_short.eam.alloy', 9; energies"
        " go on along the last tangent"
    ) in remarks


@pytest.mark.long
def test_several_files_of_one_element_and_species_by_body(scene: Path) -> None:
    scene.write_text(
        SCENE.replace('"NiAl.eam.fs"', '{ Ni = "Ni.eam", Al = "Al.eam" }').replace(
            "images = true", 'images = true\nspecies = { Ni = "Al", Al = "Al" }'
        )
    )
    alone = build(scene).potential.value()
    scene.write_text(scene.read_text().replace('{ Ni = "Ni.eam", Al = "Al.eam" }', '"Al.eam"'))
    assert build(scene).potential.value() == alone


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "file", "of"),
    [
        ("eam", "NiAl.eam.alloy", "NiAl.xyz"),
        ("stillinger_weber", "GaN.sw", "GaN.xyz"),
        ("tersoff", "SiC.tersoff", "SiC.xyz"),
    ],
)
def test_the_check_finds_nothing(kind: str, file: str, of: str, scene: Path) -> None:
    Path("NiAl.eam.alloy").write_text(setfl(nrho=2001, nr=2001))  # a path steps over jumps of coarse tables
    Path("GaN.sw").write_text(FILES["GaN.sw"].replace(" 0.003\n", " 0.0\n"))  # tol above 0 is a jump of U
    scene.write_text(of_block(kind, file, of))
    done = minusgrad("check", scene)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 findings" in done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "file", "of"),
    [
        ("eam", "NiAl.eam.fs", "NiAl.xyz"),
        ("stillinger_weber", "GaN.sw", "GaN.xyz"),
        ("tersoff", "SiC.tersoff", "SiC.xyz"),
    ],
)
def test_energies_are_functions_of_tensors(kind: str, file: str, of: str, scene: Path) -> None:
    scene.write_text(of_block(kind, file, of))
    assert_a_function_of_tensors(str(scene))


@pytest.mark.long
def test_quadrants_runs_the_same_file(scene: Path) -> None:
    wanted = run(scene, {}, "here").series("observables/total").value
    done = minusgrad("run", scene, "--out", "there", MINUSGRAD_ENGINE="quadrants")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(opened("there").series("observables/total").value, wanted, rtol=1e-10)


@pytest.mark.long
def test_members_have_the_bits_of_single_runs(scene: Path) -> None:
    vary = {'ensemble.vary."runtime.seed".range': {"from": 1, "to": 2, "count": 2}}
    several, alone = run(scene, vary, "two"), run(scene, {**vary, "ensemble.member": 1}, "one")
    assert several.ensemble is not None
    found = several.ensemble.values("x")
    assert np.abs(found[0] - found[1]).max() > 1e-3
    np.testing.assert_array_equal(found[1], alone.simulation.fields["x"].values)


@pytest.mark.long
def test_a_fit_changes_a_number_of_a_file_of_one_element(scene: Path) -> None:
    scene.write_text(SILICON)
    found = refitted(str(scene), "stillinger_weber_triple.stiffness", 19.0)
    assert found == pytest.approx([21.0], rel=1e-6)


def test_numbers_of_tables_are_no_parameters(scene: Path) -> None:
    potential = build(scene).potential
    assert not any(name.startswith("eam") and "." in name for name in potential.arguments)
    with pytest.raises(MinusgradError, match="eam_pair"):
        potential.set_parameter("eam_pair.products", 1.0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('file = "Si.tersoff"\nA = "1 eV"', "A: 'Si.tersoff' has it, got another value; leave A out"),
        ('species = "Si"', "species: is of the elements of a file, got Si without one; give `file`"),
        ('file = "Si.sw"', "'Si.sw', line 1: the entry of Si Si Si needs 14 numbers (Tersoff), got 11"),
    ],
)
def test_a_block_of_tersoff_has_a_file_or_numbers(line: str, said: str, scene: Path) -> None:
    scene.write_text(
        SILICON.replace('kind = "stillinger_weber"\nfile = "Si.sw"', f'kind = "tersoff"\n{line}')
    )
    with pytest.raises(SceneError) as refused:
        build(scene)
    assert said in str(refused.value)


def test_a_file_of_tersoff_is_the_block_with_its_numbers(scene: Path) -> None:
    text = SILICON.replace(
        'kind = "stillinger_weber"\nfile = "Si.sw"', 'kind = "tersoff"\nfile = "Si.tersoff"'
    )
    scene.write_text(text)
    of_file = build(scene).potential
    scene.write_text(text.replace('file = "Si.tersoff"\n', ""))
    assert of_file.value() == pytest.approx(build(scene).potential.value(), rel=1e-13)
