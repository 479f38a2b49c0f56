"""Images of listed tuples in a periodic box, against sums in NumPy over copies that are written out."""

import warnings
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import minusgrad as mg
from minusgrad import Fields, Node, Parameter, Potential, bind, local_energy
from minusgrad.errors import EnergyError, MinusgradError
from minusgrad_elastic.rods import rod
from minusgrad_molecular.bonded import harmonic_angle, harmonic_bond, periodic_torsion

pytestmark = pytest.mark.exam

QUARTZ = np.array([[4.9134, 0, 0], [-4.9134 / 2, 4.9134 * np.sqrt(3) / 2, 0], [0, 0, 5.4052]])
COPIES = np.array([*product((-3, -2, -1, 0, 1, 2, 3), repeat=3)])


def quartz() -> tuple[np.ndarray, list[list[tuple[int, tuple]]]]:
    """Positions of alpha quartz, three silicons first, and the neighbours of each atom: node and copy."""
    a, b, c = 0.4135, 0.2669, 0.1191
    s = [[0.4697, 0, 0], [0, 0.4697, 2 / 3], [-0.4697, -0.4697, 1 / 3]]
    s += [[a, b, c], [-b, a - b, c + 2 / 3], [b - a, -a, c + 1 / 3]]
    s += [[a - b, -b, -c], [b, a, -c + 2 / 3], [-a, b - a, -c + 1 / 3]]
    x = np.array(s) @ QUARTZ
    near: list[list[tuple[int, tuple]]] = [[] for _ in x]
    for o, si in product(range(3, 9), range(3)):
        for copy in COPIES:
            if np.linalg.norm(x[si] + copy @ QUARTZ - x[o]) < 1.7:
                near[o].append((si, tuple(copy)))
                near[si].append((o, tuple(-copy)))
    return x, near


def angle_between(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1.0, 1.0)))


def boxed(x: np.ndarray, box: np.ndarray, precision: str = "f64") -> Fields:
    return Fields({"x": np.array(x, float), "box": np.array(box, float)[None]}, precision=precision)


@pytest.mark.parametrize("precision", ["f64", pytest.param("f32", marks=pytest.mark.long)])
def test_angles_of_a_quartz_cell_go_along_bonds(precision: str) -> None:
    x, near = quartz()
    rows, right = [], 0.0
    for middle, around in enumerate(near):
        for (i, m), (k, n) in combinations(around, 2):
            arms = x[i] + m @ QUARTZ - x[middle], x[k] + n @ QUARTZ - x[middle]
            rows.append((i, middle, k))
            right += 50.0 * (angle_between(*arms) - 1.9) ** 2
    assert len(rows) == 24
    fields = boxed(x, QUARTZ, precision)
    term = bind(harmonic_angle, fields, tuples=rows, data={"rest": 1.9, "stiffness": 100.0})
    assert Potential(fields, [term]).value() == pytest.approx(right, rel=1e-9 if precision == "f64" else 1e-4)


def test_a_straight_chain_of_three_atoms_has_no_angle_energy() -> None:
    fields = boxed([[0, 0, 0], [1.5, 0, 0], [3.0, 0, 0]], np.diag([4.5, 12, 12]))
    rows = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    term = bind(harmonic_angle, fields, tuples=rows, data={"rest": np.pi, "stiffness": 100.0})
    assert Potential(fields, [term]).value() == pytest.approx(0.0, abs=1e-12)


def zigzag(bond: float, turn: float) -> np.ndarray:
    """Four atoms of a chain with a dihedral angle of 170 degrees."""
    c, s, phi = np.cos(np.pi - turn), np.sin(turn), np.radians(170)
    far = [bond + bond * c, bond * s * np.cos(phi), bond * s * np.sin(phi)]
    return np.array([[-bond * c, bond * s, 0], [0, 0, 0], [bond, 0, 0], far])


@pytest.mark.parametrize("moved", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (1, 3))])
def test_a_torsion_longer_than_half_the_box_is_that_of_the_chain(moved: int) -> None:
    y, box = zigzag(1.53, np.radians(112)), np.diag([4.0, 12, 12])
    data = {"multiplicity": 1, "phase": 0.0, "stiffness": 10.0}
    y[moved] += box[0]
    fields = boxed(y, box)
    found = Potential(fields, [bind(periodic_torsion, fields, tuples=[(0, 1, 2, 3)], data=data)])
    assert found.value() == pytest.approx(10.0 * (1.0 + np.cos(np.radians(170))), rel=1e-9)
    moved_box = found.gradient("box")
    step = np.zeros_like(moved_box)
    step[0, 0, 0] = 1e-5
    sides = []
    for sign in (1.0, -1.0):
        other = boxed(y, box + sign * step[0])
        sides.append(
            Potential(other, [bind(periodic_torsion, other, tuples=[(0, 1, 2, 3)], data=data)]).value()
        )
    assert moved_box[0, 0, 0] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-6)


@local_energy("around_two", over=4, images=(2, 0, 2), x=Node("m", ("d",)), k=Parameter("J/m"))
def around_two(x, k):
    """A centre in slot 2 with three others: the sum of their distances from it."""
    return k * ((x[0] - x[2]).norm() + (x[1] - x[2]).norm() + (x[3] - x[2]).norm())


@local_energy("around_first", over=4, images="first", x=Node("m", ("d",)), k=Parameter("J/m"))
def around_first(x, k):
    """The sum of distances from the first node."""
    return k * ((x[1] - x[0]).norm() + (x[2] - x[0]).norm() + (x[3] - x[0]).norm())


def test_an_energy_declares_the_tree_that_its_images_follow() -> None:
    arms = np.array([[1.95, 0, 0], [-1.95, 0.1, 0], [0, 1.5, 1.0]])
    centre, box = np.array([0.2, 0.3, 0.4]), np.diag([4.0, 4.0, 4.0])
    ends = (centre + arms) % 4.0
    right = np.linalg.norm(arms, axis=1).sum()
    fields = boxed([ends[0], ends[1], centre, ends[2]], box)
    with pytest.warns(UserWarning, match=r"around_two.tuples: row 0 = \[0, 1, 2, 3\]"):
        term = bind(around_two, fields, tuples=[(0, 1, 2, 3)], parameters={"k": 1.0})
    assert Potential(fields, [term]).value() == pytest.approx(right, rel=1e-12)
    fields = boxed([centre, *ends], box)
    with pytest.warns(UserWarning, match="around_first"):
        term = bind(around_first, fields, tuples=[(0, 1, 2, 3)], parameters={"k": 1.0})
    assert Potential(fields, [term]).value() == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("images", ["star", (1, 2, 3), (0, 0), (0, 1, 7), 3])
def test_trees_that_are_none_are_refused(images: object) -> None:
    with pytest.raises(EnergyError, match=r"energy 'bad'\.images: must"):
        local_energy("bad", over=4, images=images, x=Node("m", ("d",)))(lambda x: x[0].norm())
    with pytest.raises(EnergyError, match="is over no list of tuples, got images"):
        local_energy("bad", over="pairs", images="first", x=Node("m", ("d",)))(lambda x: (x[0] - x[1]).norm())


def test_tuples_over_sets_of_nodes_have_images() -> None:
    @local_energy("held", over=("link", "bead", "bead"), x=Node("m", ("d",), of="bead"), s=Node(of="link"))
    def held(x, s):
        r = x[1] - x[2]
        return s[0] * r.dot(r)

    values = {"x": np.array([[0.1, 0.0], [3.9, 0.0]]), "s": np.array([2.0]), "box": 4.0 * np.eye(2)[None]}
    fields = Fields(values)
    term = bind(held, fields, tuples=[(0, 0, 1)])
    assert Potential(fields, [term]).value() == pytest.approx(2.0 * 0.04, rel=1e-12)


@pytest.mark.parametrize("s", [1.0, 0.999, 1.2])
def test_two_bonds_between_two_atoms_of_a_period(s: float) -> None:
    fields = boxed([[0.0, 0, 0], [s, 0, 0]], np.diag([2.0, 9, 9]))
    data = {"rest": 0.8, "stiffness": 1.0}
    term = bind(harmonic_bond, fields, tuples=[[0, 1], [1, 0]], images=[[0, 0, 0], [1, 0, 0]], data=data)
    found = Potential(fields, [term])
    assert found.value() == pytest.approx(0.5 * (s - 0.8) ** 2 + 0.5 * (2 - s - 0.8) ** 2, abs=1e-14)
    assert found.gradient("x")[1, 0] == pytest.approx((s - 0.8) - (2 - s - 0.8), abs=1e-14)


def test_a_bond_to_the_own_image_and_its_refusal() -> None:
    fields = boxed([[0.3, 0, 0]], np.diag([2.0, 9, 9]))
    data = {"rest": 0.8, "stiffness": 1.0}
    term = bind(harmonic_bond, fields, tuples=[[0, 0]], images=[[[0, 0, 0], [1, 0, 0]]], data=data)
    found = Potential(fields, [term])
    assert found.value() == pytest.approx(0.5 * 1.2**2)
    assert found.gradient("box")[0, 0, 0] == pytest.approx(1.2)
    with pytest.raises(EnergyError, match=r"row 0 = \[0, 0\] has node 0 twice, in the same image; give"):
        bind(harmonic_bond, fields, tuples=[[0, 0]], data=data)
    two = boxed([[0.0, 0, 0], [0.9, 0, 0]], np.diag([2.0, 9, 9]))
    with pytest.raises(EnergyError, match=r"row 0 = \[0, 1, 0\] has node 0 twice"):
        bind(harmonic_angle, two, tuples=[[0, 1, 0]], data={"rest": np.pi, "stiffness": 1.0})


@pytest.mark.parametrize(
    ("images", "said"),
    [
        ([[1, 0]], r"needs whole numbers of shape \[1, 2, 3\], or \[1, 3\] of second nodes"),
        ([[0.5, 0, 0]], "needs whole numbers"),
        ([[0, 0, 1]], "axis 2 is not periodic"),
    ],
)
def test_unfit_images_are_refused(images: list, said: str) -> None:
    fields = Fields({"x": np.zeros((2, 3)), "box": np.diag([2.0, 9, 9])[None]}, periodic=(True, True, False))
    with pytest.raises(EnergyError, match=rf"harmonic_bond.images: .*{said}"):
        bind(harmonic_bond, fields, tuples=[[0, 1]], images=images, data={"rest": 1.0, "stiffness": 1.0})
    plain = Fields({"x": np.zeros((2, 3))})
    with pytest.raises(EnergyError, match=r"harmonic_bond\.images: are copies of nodes in a periodic box"):
        bind(harmonic_bond, plain, tuples=[[0, 1]], images=[[1, 0, 0]], data={"rest": 1.0, "stiffness": 1.0})


def scene(**more: object) -> dict:
    """Two beads a period with two bonds, as the arguments of a simulation."""
    given = {
        "fields": {"x": np.array([[0.0, 0, 0], [0.9, 0, 0]]), "m": np.ones(2)},
        "tuples": {"bonds": np.array([[0, 1], [1, 0]])},
        "images": {"bonds": np.array([[0, 0, 0], [1, 0, 0]])},
        "energies": [mg.energy("harmonic_bond", tuples="bonds", rest=0.8, stiffness=1.0)],
        "box": [2.0, 9.0, 9.0],
        "units": "dimensionless",
        "stepper": mg.Leapfrog(dt=0.05),
    }
    return given | more


def beads(s: float) -> float:
    return 0.5 * (s - 0.8) ** 2 + 0.5 * (1.2 - s) ** 2


def test_lists_of_a_simulation_have_images() -> None:
    assert mg.Simulation(**scene()).potential.value() == pytest.approx(beads(0.9))


def test_a_resumed_run_has_the_same_images(tmp_path: Path) -> None:
    x = {
        "x": np.array([[0.0, 0, 0], [0.9, 0, 0]]),
        "v": np.array([[-0.6, 0, 0], [0.6, 0.1, 0]]),
        "m": np.ones(2),
    }
    whole = mg.Simulation(**scene(fields=x))
    whole.step(60)
    with pytest.raises(MinusgradError, match="interrupted and saved"):
        mg.Simulation(**scene(fields=x)).run(60, tmp_path / "run", record=20, max_hours=1e-9)
    again = mg.resume(tmp_path / "run")
    assert again.simulation.stepper.step == 60
    assert np.array_equal(again.simulation.fields["x"].values, whole.fields["x"].values)


def test_images_of_a_block() -> None:
    energy = mg.energy(
        "harmonic_bond", tuples=[[0, 1], [1, 0]], images=[[0, 0, 0], [1, 0, 0]], rest=0.8, stiffness=1.0
    )
    sim = mg.Simulation(**scene(tuples={}, images=None, energies=[energy]))
    assert sim.potential.value() == pytest.approx(beads(0.9))
    rows = np.array([[0, 1], [1, 0]]), np.array([[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 0]]])
    energy = mg.energy("harmonic_bond", tuples=rows[0], images=rows[1], rest=0.8, stiffness=1.0)
    sim = mg.Simulation(**scene(tuples={}, images=None, energies=[energy]))
    assert sim.potential.value() == pytest.approx(beads(0.9))


def test_choices_are_remarked() -> None:
    sim = mg.Simulation(**scene(images=None))
    said = [text for text in sim.remarks if "harmonic_bond" in text]
    assert "row 1 = [1, 0]" in said[0]
    assert "U depends on the choice" in said[0]
    assert not [text for text in mg.Simulation(**scene()).remarks if "harmonic_bond" in text]


def left_out(near: list, most: int) -> set:
    """The images that at most so many bonds reach: node, node, copy."""
    found = set()
    paths = [(i, i, (0, 0, 0), None) for i in range(len(near))]
    for _ in range(most):
        longer = []
        for start, node, at, before in paths:
            for other, copy in near[node]:
                if before == (other, tuple(-np.array(copy))):
                    continue
                there = tuple(np.array(at) + copy)
                longer.append((start, other, there, (node, copy)))
                found.add((start, other, there))
        paths = longer
    return {one for one in found if one[0] != one[1] or any(one[2])}


def pair_sum(x: np.ndarray, box: np.ndarray, without: set, cutoff: float = 6.0) -> float:
    total = 0.0
    for i, j in product(range(len(x)), repeat=2):
        r = np.linalg.norm(x[j] + COPIES @ box - x[i], axis=1)
        for k in np.flatnonzero((r < cutoff) & (r > 1e-9)):
            if (i, j, tuple(COPIES[k])) not in without:
                total += 2.0 * ((2.5 / r[k]) ** 12 - (2.5 / r[k]) ** 6)
    return total


@pytest.mark.parametrize(
    ("named", "most"),
    [
        ("bonded 1-3", 2),
        pytest.param("bonded 1-2", 1, marks=pytest.mark.long),
        pytest.param("bonded 1-4", 3, marks=pytest.mark.long),
    ],
)
def test_bonded_pairs_are_left_out_image_by_image(named: str, most: int) -> None:
    x, near = quartz()
    bonds = sorted({(min(i, j), max(i, j)) for i, around in enumerate(near) for j, _ in around})
    sim = mg.Simulation(
        fields={"x": x, "m": np.ones(9)},
        tuples={"bonds": np.array(bonds)},
        energies=[
            mg.energy(
                "lennard_jones", epsilon=1.0, sigma=2.5, cutoff=6.0, switch="none", images=True, exclude=named
            ),
            mg.energy("harmonic_bond", tuples="bonds", rest=1.6, stiffness=0.0),
        ],
        box={"vectors": QUARTZ.tolist()},
        units="dimensionless",
        stepper=mg.Leapfrog(dt=1e-3),
    )
    right = pair_sum(x, QUARTZ, left_out(near, most))
    assert sim.potential.value() == pytest.approx(right, rel=1e-10)


def test_a_chain_of_one_atom_a_period_leaves_out_its_own_images() -> None:
    x = np.array([[0.2, 0.0, 0.0], [0.9, 12.0, 0.0]])
    sim = mg.Simulation(
        fields={"x": x, "m": np.ones(2)},
        tuples={"bonds": np.array([[0, 0]])},
        images={"bonds": np.array([[1, 0, 0]])},
        energies=[
            mg.energy(
                "lennard_jones",
                epsilon=1.0, sigma=1.2, cutoff=7.0, switch="none", images=True, exclude="bonded 1-3",
            ),
            mg.energy("harmonic_bond", tuples="bonds", rest=1.5, stiffness=1.0),
        ],
        box=[1.5, 24.0, 24.0],
        units="dimensionless",
        stepper=mg.Leapfrog(dt=1e-3),
    )  # fmt: skip
    bonded, free = 1.5 * np.array([3.0, 4.0]), 1.5 * np.array([1.0, 2.0, 3.0, 4.0])
    right = sum(float((4.0 * ((1.2 / r) ** 12 - (1.2 / r) ** 6)).sum()) for r in (bonded, free))
    assert sim.potential.value() == pytest.approx(right, rel=1e-10)


def test_scaled_pairs_and_listed_pairs_follow_bonds() -> None:
    """A chain of four beads a period: the 1-3 pair 0, 2 is reached through both faces."""
    a = 1.1
    x = np.stack([a * np.arange(4.0), 0.05 * np.array([0.0, 1, 0, -1]), np.zeros(4)], axis=1)
    box = np.diag([4 * a, 12.0, 12.0])
    near = [[((i + 1) % 4, (int(i == 3), 0, 0)), ((i - 1) % 4, (-int(i == 0), 0, 0))] for i in range(4)]
    bonds = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    seconds = np.array([[0, 2], [1, 3]])

    def value(**keys: object) -> float:
        energy = mg.energy(
            "lennard_jones", epsilon=1.0, sigma=2.5, cutoff=6.0, switch="none", images=True, **keys
        )
        given = {"tuples": {"bonds": bonds, "seconds": seconds}, "box": np.diag(box).tolist()}
        kept = mg.energy("harmonic_bond", tuples="bonds", rest=a, stiffness=0.0)
        return mg.Simulation(
            fields={"x": x, "m": np.ones(4)},
            energies=[energy, kept],
            units="dimensionless",
            stepper=mg.Leapfrog(dt=1e-3),
            **given,
        ).potential.value()

    only_seconds = left_out(near, 2) - left_out(near, 1)
    assert len(only_seconds) == 8
    outside = pair_sum(x, box, only_seconds)
    assert value(exclude="seconds") == pytest.approx(outside, rel=1e-10)
    whole = pair_sum(x, box, set())
    assert value(scale={"seconds": 0.5}) == pytest.approx(outside + 0.5 * (whole - outside), rel=1e-10)


@pytest.mark.long
def test_rods_across_faces_keep_their_images() -> None:
    box = np.diag([3.0, 9.0, 9.0])
    x = np.array([[0.1, 0.0, 0.0], [1.1, 0.0, 0.0], [2.1, 0.2, 0.0]])
    rows, copies = np.array([[0, 1], [2, 0]]), np.array([[0, 0, 0], [1, 0, 0]])
    lengths = np.array([1.0, np.hypot(1.0, 0.2)])
    sim = mg.Simulation(
        fields={"x": x, "m": np.ones(3)},
        tuples={"rods": (rows, {"length": lengths})},
        images={"rods": copies},
        energies=[mg.energy("spring", tuples=[[1, 2]], rest=0.7, stiffness=2.0)],
        constraints=[mg.energy("rod", tuples="rods")],
        box=np.diag(box).tolist(),
        units="dimensionless",
        stepper=mg.Leapfrog(dt=0.01),
    )
    sim.step(200)
    now = sim.fields["x"].values
    found = [np.linalg.norm(now[j] + n @ box - now[i]) for (i, j), n in zip(rows, copies, strict=True)]
    assert np.allclose(found, lengths, atol=1e-8)
    assert rod.images == "chain"


def test_files_of_arrays_have_images(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "start.h5", "w") as file:
        file["fields/x"], file["fields/v"] = [[0.0, 0, 0], [0.9, 0, 0]], np.zeros((2, 3))
        file["tuples/bonds"], file["images/bonds"] = [[0, 1], [1, 0]], [[0, 0, 0], [1, 0, 0]]
    text = """
        [units]
        system = "dimensionless"
        [state]
        kind = "arrays"
        file = "start.h5"
        [box]
        edges = [2.0, 9.0, 9.0]
        [[energy]]
        kind = "harmonic_bond"
        rest = 0.8
        stiffness = 1.0
        [stepper]
        kind = "leapfrog"
        dt = 0.01
        [run]
        steps = 1
    """
    (tmp_path / "scene.toml").write_text("\n".join(line.strip() for line in text.splitlines()))
    assert mg.build(tmp_path / "scene.toml").potential.value() == pytest.approx(beads(0.9))
    with h5py.File(tmp_path / "start.h5", "a") as file:
        file.move("images/bonds", "images/bounds")
    with pytest.raises(MinusgradError, match="images/bounds: no list named 'bounds'"):
        mg.build(tmp_path / "scene.toml")


@pytest.mark.long
def test_pairs_that_pme_leaves_out_are_images() -> None:
    """Without some pairs of images, U is less by their Coulomb energy, whatever the splitting."""
    x, near = quartz()
    charges = np.array([2.0] * 3 + [-1.0] * 6)
    bonds = np.array(sorted({(min(i, j), max(i, j)) for i, around in enumerate(near) for j, _ in around}))

    def value(**keys: object) -> float:
        given = {"kind": "pme", "cutoff": 1.9, "error": 1e-8, "coulomb_constant": 1.0}
        return mg.Simulation(
            fields={"x": x, "m": np.ones(9), "charge": charges},
            tuples={"bonds": bonds},
            compounds=[given | keys],
            box={"vectors": QUARTZ.tolist()},
            units="dimensionless",
            stepper=mg.Leapfrog(dt=1e-3),
        ).potential.value()

    right = 0.0
    for i, j, copy in left_out(near, 2):
        right += 0.5 * charges[i] * charges[j] / np.linalg.norm(x[j] + copy @ QUARTZ - x[i])
    assert value() - value(exclude="bonded 1-3") == pytest.approx(right, rel=1e-5)


@pytest.mark.long
def test_large_lists_leave_out_images_and_follow_frames() -> None:
    """A rod of quartz, one cell wide: lists in blocks of targets, with several images of a pair."""
    torch = pytest.importorskip("torch")
    import minusgrad.torch as mt

    cells, (x, near) = 120, quartz()
    rod_x = np.concatenate([x + k * QUARTZ[2] for k in range(cells)])
    box = QUARTZ * [[1.0], [1.0], [cells]]
    bonds = set()
    for k, (i, around) in product(range(cells), enumerate(near)):
        for j, copy in around:
            other = 9 * ((k + copy[2]) % cells) + j
            bonds.add((min(9 * k + i, other), max(9 * k + i, other)))
    sim = mg.Simulation(
        fields={"x": rod_x, "m": np.ones(len(rod_x))},
        tuples={"bonds": np.array(sorted(bonds))},
        energies=[
            mg.energy(
                "lennard_jones",
                epsilon=1.0, sigma=2.5, cutoff=6.0, switch="none", images=True, exclude="bonded 1-3",
            ),
            mg.energy("harmonic_bond", tuples="bonds", rest=1.6, stiffness=0.0),
        ],
        box={"vectors": box.tolist()},
        units="dimensionless",
        stepper=mg.Leapfrog(dt=1e-3),
    )  # fmt: skip
    assert "lennard_jones" in sim.potential.in_lanes
    right = cells * pair_sum(x, QUARTZ, left_out(near, 2))
    assert sim.potential.value() == pytest.approx(right, rel=1e-9)
    energy, rng = mt.energy(sim), np.random.default_rng(5)
    wrapped = rod_x + rng.integers(-1, 2, rod_x.shape) @ box
    assert energy(x=torch.tensor(wrapped)).item() == pytest.approx(right, rel=1e-9)
    assert energy(x=torch.tensor(rod_x)).item() == pytest.approx(right, rel=1e-9)


def test_a_simulation_that_is_stepped_names_a_choice_once() -> None:
    """An edge of half the box has two images that are equally near; a run says so among its remarks."""
    one = mg.Simulation(
        fields={"x": np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), "m": np.ones(2)}, units="dimensionless",
        box={"edges": [4.0, 9.0, 9.0]}, tuples={"bonds": ([[0, 1]], {"rest": [1.9]})},
        energies=[mg.energy("spring", stiffness=1.0, tuples="bonds")], stepper=mg.Leapfrog(dt=0.01),
    )  # fmt: skip
    with pytest.warns(UserWarning, match=r"spring.tuples: row 0 = \[0, 1\] has an edge whose second image"):
        one.step(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.step(1)
