"""A named group of facets is that set of facets: in loads, fluxes, pictures, by body, in every reader."""

from pathlib import Path

import meshlane
import numpy as np
import pytest

import minusgrad as mg
from minusgrad import UserError

# A strip of 3 x 1 squares. The group `both` is its bottom and top: it has all nodes of the ends.
POINTS = np.array([[x, y] for y in (0.0, 1.0) for x in (0.0, 1.0, 2.0, 3.0)])
QUADS = np.array([[k, k + 1, k + 5, k + 4] for k in range(3)])
BOTTOM, TOP = [[0, 1], [1, 2], [2, 3]], [[5, 4], [6, 5], [7, 6]]
LEFT = [[4, 0]]
WEIGHT = 6.0
"""Length of bottom and top."""


def gmsh41(path: Path) -> None:
    """MSH 4.1: curves 1 (bottom), 2 (top), 3 (left) and surface 1; groups `both`, `left` and `plate`."""
    lines = {1: BOTTOM, 2: TOP, 3: LEFT}
    names = ['1 1 "both"', '1 2 "left"', '2 3 "plate"']
    entities = [f"{tag} 0 0 0 3 1 0 1 {2 if tag == 3 else 1} 0" for tag in lines]
    elements, number = [], 1
    for tag, rows in lines.items():
        elements.append(f"1 {tag} 1 {len(rows)}")
        for row in rows:
            elements.append(f"{number} {row[0] + 1} {row[1] + 1}")
            number += 1
    elements.append(f"2 1 3 {len(QUADS)}")
    for row in QUADS:
        elements.append(f"{number} {' '.join(str(n + 1) for n in row)}")
        number += 1
    nodes = [*map(str, range(1, 9)), *(f"{x} {y} 0" for x, y in POINTS)]
    text = [
        "$MeshFormat", "4.1 0 8", "$EndMeshFormat",
        "$PhysicalNames", "3", *names, "$EndPhysicalNames",
        "$Entities", "0 3 1 0", *entities, "1 0 0 0 3 1 0 1 3 0", "$EndEntities",
        "$Nodes", "1 8 1 8", "2 1 0 8", *nodes, "$EndNodes",
        "$Elements", f"4 {number - 1} 1 {number - 1}", *elements, "$EndElements",
    ]  # fmt: skip
    path.write_text("\n".join(text) + "\n")


def foreign(path: Path) -> None:
    """By meshlane: sets of elements of an Abaqus file, tags and their names in MSH 2.2."""
    edges = np.array([*BOTTOM, *TOP, *LEFT])
    mesh = meshlane.Mesh(np.column_stack([POINTS, np.zeros(8)]), [("line", edges), ("quad", QUADS)])
    if path.suffix == ".inp":
        mesh.cell_sets = {"both": [np.arange(6), np.arange(0)], "left": [np.array([6]), np.arange(0)]}
        meshlane.write(path, mesh)
        return
    mesh.field_data = {"both": np.array([1, 1]), "left": np.array([2, 1]), "plate": np.array([3, 2])}
    tags = [np.array([1] * 6 + [2]), np.array([3] * 3)]
    mesh.cell_data = {"gmsh:physical": tags, "gmsh:geometrical": tags}
    meshlane.write(path, mesh, file_format="gmsh22", binary=False)


READERS = {"a.msh": ("gmsh", gmsh41), "a.inp": ("mesh", foreign), "b.msh": ("mesh", foreign)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def solid(name: str, *energies: dict, heat: bool = False) -> mg.Simulation:
    kind, write = READERS[name]
    write(Path(name))
    mesh = {"kind": kind, "file": name, "length": "m", "density": 1.0}
    state = {"kind": "heat", "temperature": 300.0, "specific_heat": 1.0, "mesh": mesh} if heat else mesh
    flow = {"kind": "gradient_flow", "capacities": {"T": "C"}, "dt": 1.0}
    stepper = flow if heat else {"kind": "leapfrog", "dt": 1.0}
    return mg.load({"state": state, "energy": list(energies), "stepper": stepper, "run": {"steps": 1}})


@pytest.mark.parametrize("name", READERS)
def test_loads_and_fluxes_act_on_the_facets_of_a_group_alone(folder: Path, name: str) -> None:
    """Not on the left and right sides, although all of their nodes are in `both`."""
    loaded = solid(name, {"kind": "traction", "body": "both", "traction": [0.0, 2.0]})
    force = -loaded.potential.gradient("x")
    assert force[:, 1].sum() == pytest.approx(2.0 * WEIGHT)
    heated = solid(name, {"kind": "heat_flux", "body": "both", "flux": 3.0}, heat=True)
    assert -heated.potential.gradient("T").sum() == pytest.approx(3.0 * WEIGHT)
    shown = loaded.facts()["surroundings"]["loads"][0]["elements"]
    assert sorted(map(sorted, shown)) == sorted(map(sorted, [*BOTTOM, *TOP]))


def test_groups_that_share_nodes_have_values_of_their_own(folder: Path) -> None:
    """By body: 2 on bottom and top, 5 on the left side, whose nodes both are in the other group, too."""
    each = {"both": [0.0, 2.0], "left": [0.0, 5.0]}
    loaded = solid("a.msh", {"kind": "traction", "traction": each})
    assert -loaded.potential.gradient("x")[:, 1].sum() == pytest.approx(2.0 * WEIGHT + 5.0)
    loaded = solid("a.msh", {"kind": "traction", "body": ["both", "left"], "traction": [0.0, 1.0]})
    assert -loaded.potential.gradient("x")[:, 1].sum() == pytest.approx(WEIGHT + 1.0)


def test_the_boundary_of_a_group_of_cells_is_that_of_its_cells(folder: Path) -> None:
    loaded = solid("a.msh", {"kind": "traction", "body": "plate", "traction": [0.0, 1.0]})
    assert -loaded.potential.gradient("x")[:, 1].sum() == pytest.approx(8.0)


def test_a_group_with_facets_inside_is_refused_for_loads(folder: Path) -> None:
    edges = np.array([[1, 5], *BOTTOM])
    mesh = meshlane.Mesh(np.column_stack([POINTS, np.zeros(8)]), [("line", edges), ("quad", QUADS)])
    mesh.cell_sets = {"seam": [np.arange(4), np.arange(0)]}
    meshlane.write("seam.inp", mesh)
    scene = {
        "state": {"kind": "mesh", "file": "seam.inp", "length": "m", "density": 1.0},
        "energy": [{"kind": "traction", "body": "seam", "traction": [0.0, 1.0]}],
        "stepper": {"kind": "leapfrog", "dt": 1.0},
        "run": {"steps": 1},
    }
    with pytest.raises(UserError, match=r"body 'seam': must have facets of the boundary alone, got 1 inside"):
        mg.load(scene)
