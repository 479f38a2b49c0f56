"""Files of AMBER, GROMACS, CHARMM and OpenMM: one molecule, one energy; runs without the originals."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad.assembly.contexts import StateContext
from minusgrad.errors import InterruptedRunError, UserError
from minusgrad.plugin import State, UnitSystem
from minusgrad_molecular.programs import door
from minusgrad_molecular.states import Molecule
from tests.support import peroxide

openmm = pytest.importorskip("openmm", reason="OpenMM is not installed: pip install 'minusgrad[openmm]'")

FAR = {"cutoff": "500 angstrom", "switch": "none", "exclude": "exclusions"}
ENERGIES = [
    {"kind": "harmonic_bond", "tuples": "bonds"},
    {"kind": "harmonic_angle", "tuples": "angles"},
    {"kind": "periodic_torsion", "tuples": "torsions"},
    {"kind": "lennard_jones_14", "tuples": "pairs14"},
    {"kind": "coulomb_14", "tuples": "pairs14"},
    {"kind": "lennard_jones_mixture", **FAR},
    {"kind": "coulomb", **FAR},
]
UNITS = UnitSystem.of("angstrom", "u", "ps")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    peroxide.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state_of(folder: Path, **keys: object) -> tuple[State, list[str]]:
    context = StateContext(UNITS, 0, folder)
    return Molecule(**keys).make(context), context.remarks


def scene_of(**keys: object) -> dict:
    plain = {name: list(one) if isinstance(one, tuple) else one for name, one in keys.items()}
    return {
        "units": {"system": "molecular"},
        "state": {"kind": "molecule", "nonbonded": "no_cutoff", **plain},
        "energy": ENERGIES,
        "stepper": {"kind": "leapfrog", "dt": "0.1 fs"},
        "observe": [{"kind": "frames", "every": 2}],
        "run": {"steps": 4},
    }


def request(program: str) -> door.Request:
    keys = dict(peroxide.FILES[program])
    field = (keys["force_field"],) if program == "openmm" else ()
    return door.Request(
        keys["positions"], keys.get("topology"), keys.get("parameters", ()), field,
        settings={"nonbonded": "no_cutoff"},
    )  # fmt: skip


def by_reference(folder: Path, program: str) -> tuple[float, np.ndarray]:
    """Energy and forces of a program's files."""
    return reference_of(door.make_system(request(program), lambda name: (folder / name).read_bytes()))


def reference_of(made: door.Made) -> tuple[float, np.ndarray]:
    """Energy [kJ/mol] and forces [kJ/mol/angstrom] of OpenMM's platform Reference."""
    system = openmm.XmlSerializer.deserialize(made.xml.decode())
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(0.1 * np.array(peroxide.PLACES))
    found = context.getState(energy=True, forces=True)
    return found.getPotentialEnergy()._value, 0.1 * np.array(found.getForces()._value)


def by_hand() -> float:
    """The energy [kJ/mol] of the formulas in `tests.support.peroxide`."""
    x, k_e = np.array(peroxide.PLACES), 1389.35457644382 / peroxide.KCAL
    total = 0.0
    for at in (0, 4):
        a, b, c, d = x[at : at + 4]
        for p, q, k, r in ((a, b, 553, 0.96), (b, c, 350, 1.46), (c, d, 553, 0.96)):
            total += k * (np.linalg.norm(p - q) - r) ** 2
        for p, q, r in ((a, b, c), (b, c, d)):
            u, v = p - q, r - q
            angle = np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
            total += 50.0 * (angle - np.radians(100.0)) ** 2
        n, m = np.cross(b - a, c - b), np.cross(c - b, d - c)
        phi = np.arccos(n @ m / np.linalg.norm(n) / np.linalg.norm(m))
        total += 1.5 * (1.0 + np.cos(2.0 * phi - np.pi))
    for i in range(8):
        for j in range(i + 1, 8):
            if i // 4 == j // 4 and (i, j) not in ((0, 3), (4, 7)):
                continue
            parts = (0.5, 1.0 / 1.2) if i // 4 == j // 4 else (1.0, 1.0)
            r, kinds = np.linalg.norm(x[i] - x[j]), peroxide.KINDS[i] + peroxide.KINDS[j]
            depth = np.sqrt(peroxide.EPSILON[kinds[0]] * peroxide.EPSILON[kinds[1]])
            s = (peroxide.RADIUS[kinds[0]] + peroxide.RADIUS[kinds[1]]) / r
            charges = 0.16 if kinds in ("HH", "OO") else -0.16
            total += parts[0] * depth * (s**12 - 2.0 * s**6) + parts[1] * k_e * charges / r
    return peroxide.KCAL * total


@pytest.mark.parametrize("program", peroxide.FILES)
def test_one_energy_by_each_program(folder: Path, program: str) -> None:
    """That of the formulas by hand; forces beside OpenMM's Reference."""
    keys = {name: one for name, one in peroxide.FILES[program].items() if name != "box"}
    simulation = mg.load(scene_of(**keys))
    energy, forces = by_reference(folder, program)
    found = simulation.potential.value()
    assert found == pytest.approx(energy, rel=1e-8)
    assert found == pytest.approx(by_hand(), rel=1e-6)
    np.testing.assert_allclose(-simulation.potential.gradient("x"), forces, atol=1e-7 * np.abs(forces).max())


@pytest.mark.parametrize("program", peroxide.FILES)
def test_the_state_of_each_program(folder: Path, program: str) -> None:
    keys = dict(peroxide.FILES[program])
    if "box" in keys:
        keys["box"] = tuple(f"{edge} angstrom" for edge in keys["box"])
    state, remarks = state_of(folder, **keys)
    np.testing.assert_allclose(state.fields["x"], peroxide.PLACES, rtol=1e-12)
    np.testing.assert_allclose(state.fields["box"], [np.diag(peroxide.BOX)], rtol=1e-12)
    moving = program in ("amber", "gromacs")
    expected = peroxide.VELOCITIES if moving else np.zeros((8, 3))
    np.testing.assert_allclose(state.fields["v"], expected, atol=3e-6 if moving else 0.0)
    bodies = {body.name: body.nodes.tolist() for body in state.bodies}
    chain = {"charmm": "chain_PER", "openmm": "chain_A"}.get(program)
    assert set(bodies) == {"HPO", "lennard_jones", chain} - {None}
    assert bodies["HPO"] == list(range(8))
    assert {name: len(rows) for name, rows in state.tuples.items()} == {
        "bonds": 6, "angles": 4, "torsions": 2, "pairs14": 2, "exclusions": 12
    }  # fmt: skip
    (remark,) = remarks
    assert remark.endswith(
        "has a box, so its charges are summed by pme, with a cutoff of 10 angstrom; `nonbonded` and `cutoff`"
        " say otherwise"
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "more",
    [
        {"nonbonded": "pme", "cutoff": "9 angstrom", "switch": "8 angstrom"},
        {"nonbonded": "no_cutoff", "implicit_solvent": "obc2"},
        {"nonbonded": "cutoff_periodic", "dispersion": False},
    ],
)
def test_settings_make_the_energy_of_openmm(folder: Path, more: dict) -> None:
    """All energies of the System, beside Reference."""
    keys = {"topology": "a.prmtop", "positions": "a.inpcrd", **more}
    scene = scene_of(**keys) | {"compound": [{"kind": "force_field"}]}
    scene.pop("energy")
    simulation = mg.load(scene)
    asked = Molecule(**keys).request(UnitSystem.of("nm", "u", "ps"))
    made = door.make_system(asked, lambda name: (folder / name).read_bytes())
    energy, forces = reference_of(made)
    assert simulation.potential.value() == pytest.approx(energy, rel=1e-7)
    np.testing.assert_allclose(-simulation.potential.gradient("x"), forces, atol=1e-7 * np.abs(forces).max())


@pytest.mark.long
def test_single_precision(folder: Path) -> None:
    simulation = mg.load(scene_of(**peroxide.FILES["gromacs"]) | {"runtime": {"precision": "f32"}})
    assert simulation.potential.value() == pytest.approx(by_hand(), rel=1e-5)


@pytest.mark.long
def test_members_have_temperatures_of_their_own(folder: Path) -> None:
    """Each member's state is made of the files once more; forces are those of the topology."""
    scene = scene_of(topology="a.prmtop", positions="a.inpcrd", temperature="300 K")
    vary = {"state.temperature": {"list": ["100 K", "500 K", "900 K"]}}
    run = mg.run(scene | {"ensemble": {"members": 3, "vary": vary}}, out="members")
    v, x = run["velocity"][0], run["position"][-1]
    np.testing.assert_allclose(v[2], 3.0 * v[0], rtol=1e-12)
    assert np.abs(v[0]).max() > 1.0
    assert np.abs(x[1:] - x[:1]).max(axis=(1, 2)).min() > 1e-6


def test_positions_of_any_program_belong_to_any_topology(folder: Path) -> None:
    for positions in ("a.inpcrd", "a.gro", "a.crd", "a.pdb"):
        state, _ = state_of(folder, topology="a.prmtop", positions=positions, nonbonded="no_cutoff")
        np.testing.assert_allclose(state.fields["x"], peroxide.PLACES, rtol=1e-12)
        assert [body.name for body in state.bodies] == ["HPO", "lennard_jones"]


def test_a_system_takes_positions_of_any_program(folder: Path) -> None:
    made = door.make_system(request("amber"), lambda name: (folder / name).read_bytes())
    (folder / "a.xml").write_bytes(made.xml)
    for positions in ("a.inpcrd", "a.gro"):
        state, remarks = state_of(folder, system="a.xml", positions=positions)
        np.testing.assert_allclose(state.fields["v"], peroxide.VELOCITIES, atol=3e-6)
        assert remarks == []
    state, _ = state_of(folder, system="a.xml", positions="a.crd")
    assert not state.fields["v"].any()


def test_a_temperature_replaces_velocities_with_a_remark(folder: Path) -> None:
    keys = {"topology": "a.prmtop", "positions": "a.inpcrd", "nonbonded": "pme", "temperature": 0.0}
    state, remarks = state_of(folder, **keys)
    assert not state.fields["v"].any()
    assert remarks == ["'a.inpcrd': its velocities are left out: `temperature` draws others"]


def test_settings_reach_the_system(folder: Path) -> None:
    keys = {"topology": "a.prmtop", "positions": "a.inpcrd", "nonbonded": "cutoff_periodic"}
    more = {"cutoff": "9 angstrom", "switch": "8 angstrom", "dispersion": False, "constraints": "h_bonds"}
    state, remarks = state_of(folder, **keys, **more, hydrogen_mass="3 u")
    assert remarks == []
    np.testing.assert_allclose(state.fields["m"][:4], [3.0, 15.999 - 1.992, 15.999 - 1.992, 3.0], rtol=1e-9)
    assert state.tuples["constraints"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    np.testing.assert_allclose(state.data["constraints"]["length"], 0.96)
    assert state.tuples["bonds"].tolist() == [[1, 2], [5, 6]]
    settings = state.brings.settings
    assert (settings.method, settings.cutoff, settings.switch) == (2, pytest.approx(0.9), pytest.approx(0.8))
    assert not settings.dispersion


@pytest.mark.parametrize("rigid", [False, True])
def test_water_is_rigid_where_it_is_asked_for(tmp_path: Path, rigid: bool) -> None:
    top, text = _waters(2)
    (tmp_path / "a.top").write_text(top)
    (tmp_path / "a.gro").write_text(text)
    keys = {"topology": "a.top", "positions": "a.gro", "nonbonded": "no_cutoff", "rigid_water": rigid}
    state, _ = state_of(tmp_path, **keys)
    counts = {name: len(rows) for name, rows in state.tuples.items() if name != "exclusions"}
    assert counts == ({"constraints": 24} if rigid else {"bonds": 16, "angles": 8})


def test_macros_choose_branches(folder: Path) -> None:
    """Peroxide whose first bond is another with FLEXIBLE, which is there where nothing is said."""
    text = peroxide.PEROXIDE_ITP.replace(
        "1 2 1\n", "#ifdef FLEXIBLE\n1 2 1\n#endif\n#ifndef FLEXIBLE\n1 2 1 stiff\n#else\n#endif\n", 1
    )
    (folder / "peroxide.itp").write_text("#define stiff 0.2 500\n" + text)
    keys = {"topology": "a.top", "positions": "a.gro", "nonbonded": "no_cutoff"}
    assert state_of(folder, **keys)[0].data["bonds"]["rest"][0] == pytest.approx(0.96)
    state, _ = state_of(folder, **keys, defines={"FLEXIBLE": False})
    assert state.data["bonds"]["rest"][0] == pytest.approx(2.0)


def test_includes_are_found_in_a_folder(folder: Path) -> None:
    (folder / "share").mkdir()
    shutil.move(folder / "field.ff", folder / "share" / "field.ff")
    keys = {"topology": "a.top", "positions": "a.gro", "nonbonded": "no_cutoff"}
    context = StateContext(UNITS, 0, folder)
    Molecule(**keys, include="share").make(context)
    assert set(context.files) == {"a.top", "a.gro", "peroxide.itp", "share/field.ff/forcefield.itp"}
    with pytest.raises(
        UserError, match=r"'a.top': line 2: #include \"field.ff/forcefield.itp\" must be there"
    ):
        state_of(folder, **keys)


def test_sections_that_openmm_leaves_out_are_remarked(folder: Path) -> None:
    with (folder / "peroxide.itp").open("a") as file:
        file.write("[ position_restraints ]\n1 1 1000 1000 1000\n")
    _, remarks = state_of(folder, topology="a.top", positions="a.gro", nonbonded="pme")
    assert remarks == ["'peroxide.itp': line 19: [ position_restraints ] is left out"]


def test_names_in_another_order_are_remarked(folder: Path) -> None:
    (folder / "a.gro").write_text(peroxide.gro().replace("   H1    1", "   C1    1"))
    _, remarks = state_of(folder, topology="a.prmtop", positions="a.gro", nonbonded="pme")
    assert remarks == [
        "'a.gro': atom 1 is C1, that of 'a.prmtop' is H1; atoms are taken in the order of both files"
    ]


def test_another_box_is_remarked(folder: Path) -> None:
    asked = door.Request("a.inpcrd", "a.prmtop", settings={"nonbonded": "pme"})
    (folder / "a.xml").write_bytes(door.make_system(asked, lambda name: (folder / name).read_bytes()).xml)
    (folder / "b.gro").write_text(peroxide.gro().replace("   2.20000", "   2.50000"))
    assert state_of(folder, system="a.xml", positions="a.gro")[1] == []
    assert state_of(folder, system="a.xml", positions="b.gro")[1] == [
        "'b.gro': has a box of 21, 25, 23 angstrom, 'a.xml' one of 21, 22, 23 angstrom; the System counts"
    ]


def test_a_run_resumes_and_repeats_without_the_originals(folder: Path) -> None:
    """All files, included ones in their folders, are those of the run."""
    scene = scene_of(topology="a.top", positions="a.gro")
    blocks = [(f"[{name}]", scene[name]) for name in ("units", "state", "stepper", "run")]
    blocks += [(f"[[{name}]]", one) for name in ("energy", "observe") for one in scene[name]]
    (folder / "s.toml").write_text(
        "\n".join(
            line
            for head, block in blocks
            for line in (head, *(f"{key} = {json.dumps(value)}" for key, value in block.items()))
        )
    )
    whole = mg.load("s.toml").run(out="whole")
    with pytest.raises(InterruptedRunError):
        mg.load("s.toml").run(out="cut", max_hours=1e-12)
    for name in ("a.top", "a.gro", "peroxide.itp"):
        (folder / name).unlink()
    shutil.rmtree(folder / "field.ff")
    assert (folder / "whole" / "inputs" / "field.ff" / "forcefield.itp").is_file()
    assert np.array_equal(mg.resume("cut")["position"], whole["position"])
    assert np.array_equal(mg.load("whole/scene.toml").run(out="again")["position"], whole["position"])


def _waters(edge: int) -> tuple[str, str]:
    """A topology of edge^3 waters, and their gro file."""
    top = (
        "[ defaults ]\n1 2 yes 0.5 0.8333\n[ atomtypes ]\nOW 8 16.0 -0.834 A 0.31507 0.635968\n"
        "HW 1 1.008 0.417 A 0.0 0.0\n[ moleculetype ]\nSOL 2\n[ atoms ]\n1 OW 1 SOL OW 1 -0.834 16.0\n"
        "2 HW 1 SOL HW1 1 0.417 1.008\n3 HW 1 SOL HW2 1 0.417 1.008\n[ bonds ]\n1 2 1 0.09572 502416\n"
        "1 3 1 0.09572 502416\n[ angles ]\n2 1 3 1 104.52 628.02\n[ system ]\nw\n[ molecules ]\n"
        f"SOL {edge**3}\n"
    )
    grid = np.stack(np.meshgrid(*[np.arange(edge)] * 3, indexing="ij"), -1).reshape(-1, 1, 3) * 0.31
    water = np.array([[0.0, 0.0, 0.0], [0.096, 0.0, 0.0], [-0.024, 0.093, 0.0]])
    places = (grid + water).reshape(-1, 3)
    rows = [
        f"{(k // 3 + 1) % 100_000:>5}SOL  {('OW', 'HW1', 'HW2')[k % 3]:>5}{(k + 1) % 100_000:>5}"
        f"{x:8.3f}{y:8.3f}{z:8.3f}"
        for k, (x, y, z) in enumerate(places.tolist())
    ]
    box = f"{0.31 * edge:10.5f}" * 3
    return top, "\n".join(["water", f"{len(rows)}", *rows, box]) + "\n"


@pytest.mark.long
def test_fifty_thousand_atoms_open_in_ten_seconds(tmp_path: Path) -> None:
    """Of computing, here and in the child, whose times are those of a process that has ended."""
    import resource

    from minusgrad.files.bounded import door as bounded_door

    def seconds() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)

    top, text = _waters(26)
    (tmp_path / "a.top").write_text(top)
    (tmp_path / "a.gro").write_text(text)
    begin = seconds()
    state, _ = state_of(tmp_path, topology="a.top", positions="a.gro")
    if bounded_door._server is not None:
        bounded_door._server.end()
        bounded_door._server = None
    assert seconds() - begin < 10.0
    assert len(state.fields["m"]) == 52_728
