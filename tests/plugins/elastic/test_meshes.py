"""Meshes of known shapes: exact volumes and gradients, closed boundaries; every defect found, by number.

The files in `meshes/` were written by Gmsh (`meshes/generate.py`); `test_gmsh.py` is about reading them.
"""

from collections import Counter
from dataclasses import replace
from math import factorial, pi, sin
from pathlib import Path

import numpy as np
import pytest

from minusgrad.errors import UserError
from minusgrad_elastic import generators
from minusgrad_elastic.mesh import Mesh
from minusgrad_elastic.mesh_files import orientation
from minusgrad_elastic.mesh_files.gmsh import read
from minusgrad_elastic.mesh_files.inspection import inspect
from tests.support import cell_meshes

FILES = Path(__file__).parents[2] / "meshes"
RNG = np.random.default_rng(5)


def load(name: str, **options: bool) -> tuple[Mesh, list[str]]:
    return inspect(read(name, (FILES / name).read_bytes()), **options)


# volume, measure of the boundary, Euler characteristic
SHAPES = {
    "one rectangle": (generators.rectangle((2.0, 0.5), (1, 1)), 1.0, 5.0, 1),
    "rectangle": (generators.rectangle((2.0, 3.0), (4, 5)), 6.0, 10.0, 1),
    "one box": (generators.box((1.0, 1.0, 1.0), (1, 1, 1)), 1.0, 6.0, 1),
    "box": (generators.box((1.0, 2.0, 3.0), (3, 2, 4)), 6.0, 22.0, 1),
    "beam": (generators.beam(10.0, 1.0, 0.5, (20, 2, 1)), 5.0, 31.0, 1),
    "smallest disc": (generators.disc(2.0, 1), 12 * sin(pi / 3), 12.0, 1),
    "disc": (generators.disc(2.0, 6), 72 * sin(pi / 18), 144 * sin(pi / 36), 1),
    "plate with hole": (load("plate.msh")[0], 2.75, 10.0, 0),
    "block of two": (load("block.msh")[0], 2.0, 10.0, 1),
    "washer": (load("washer.msh", drop_unused=True)[0], 2.25, 36 * sin(pi / 12), 0),
    "turned over": (load("clockwise.msh")[0], 1.0, 4.0, 1),
}
shapes = pytest.mark.parametrize("shape", SHAPES)


def areas(mesh: Mesh, facets: np.ndarray) -> np.ndarray:
    """Outward area vectors, by cross products."""
    corners = mesh.points[facets]
    if mesh.dimension == 3:
        return 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    along = corners[:, 1] - corners[:, 0]
    return np.stack([along[:, 1], -along[:, 0]], axis=1)


def chain(nodes: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """A simplex as its sorted nodes and the sign of the order."""
    swaps = sum(a > b for k, a in enumerate(nodes) for b in nodes[k + 1 :])
    return tuple(sorted(nodes)), (-1) ** swaps


@shapes
def test_volumes_are_exact(shape: str) -> None:
    mesh, volume, _, _ = SHAPES[shape]
    assert mesh.volumes().min() > 0.0
    assert mesh.volumes().sum() == pytest.approx(volume, rel=1e-13)


@shapes
def test_shape_functions_sum_to_one_and_reproduce_affine_maps(shape: str) -> None:
    mesh, d = SHAPES[shape][0], SHAPES[shape][0].dimension
    gradients, corners = mesh.gradients(), mesh.points[mesh.cells]
    size = np.abs(gradients).max()
    assert np.abs(gradients.sum(axis=1)).max() <= 1e-15 * size
    bound = 1e-15 * size * max(1.0, np.abs(corners).max())
    assert bound < 1e-13
    affine, shift = RNG.normal(size=(d, d)), RNG.normal(size=d)
    for deformation, moved in ((np.eye(d), corners), (affine, corners @ affine.T + shift)):
        found = np.einsum("eai,eaj->eij", moved, gradients)
        assert np.abs(found - deformation).max() <= 8 * bound


def test_gradients_of_the_unit_simplices() -> None:
    triangle = Mesh(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]]))
    assert triangle.gradients().tolist() == [[[-1, -1], [1, 0], [0, 1]]]
    corners = np.concatenate([np.zeros((1, 3)), np.diag([1.0, 2.0, 4.0])])
    tetrahedron = Mesh(corners, np.array([[0, 1, 2, 3]]))
    assert tetrahedron.gradients().tolist() == [[[-1, -0.5, -0.25], [1, 0, 0], [0, 0.5, 0], [0, 0, 0.25]]]
    assert tetrahedron.volumes() == pytest.approx([8 / factorial(3)], rel=1e-15)


@shapes
def test_neighbours_meet_in_whole_facets(shape: str) -> None:
    """The boundary operator: inner facets cancel in pairs; what is left is the boundary, oriented."""
    mesh = SHAPES[shape][0]
    count: Counter[tuple[int, ...]] = Counter()
    total: Counter[tuple[int, ...]] = Counter()
    for cell in mesh.cells.tolist():
        for a in range(len(cell)):
            facet, sign = chain(tuple(cell[:a] + cell[a + 1 :]))
            count[facet] += 1
            total[facet] += sign * (-1) ** a
    assert set(count.values()) == {1, 2}
    assert all(abs(total[facet]) == count[facet] % 2 for facet in count)
    boundary = dict(chain(tuple(facet)) for facet in mesh.boundary().tolist())
    assert boundary == {facet: total[facet] for facet in count if count[facet] == 1}


@shapes
def test_the_boundary_is_closed_and_looks_outward(shape: str) -> None:
    mesh, volume, measure, _ = SHAPES[shape]
    facets = mesh.boundary()
    outward = areas(mesh, facets)
    assert np.abs(outward.sum(axis=0)).max() <= 1e-14 * measure
    assert np.linalg.norm(outward, axis=1).sum() == pytest.approx(measure, rel=1e-13)
    flux = (mesh.points[facets].mean(axis=1) * outward).sum()
    assert flux == pytest.approx(mesh.dimension * volume, rel=1e-13)


@shapes
def test_edges_by_eulers_formula(shape: str) -> None:
    mesh, _, _, characteristic = SHAPES[shape]
    n, k, e, d = len(mesh.points), len(mesh.edges()), len(mesh.cells), mesh.dimension
    facets = ((d + 1) * e + len(mesh.boundary())) // 2
    assert n - k + (e if d == 2 else facets - e) == characteristic
    pairs = {(min(a, b), max(a, b)) for cell in mesh.cells.tolist() for a in cell for b in cell if a != b}
    assert [tuple(edge) for edge in mesh.edges().tolist()] == sorted(pairs)
    assert mesh.edges().dtype == mesh.boundary().dtype == mesh.cells.dtype == np.int32


@shapes
def test_lumped_masses_have_mass_and_centre_of_the_body(shape: str) -> None:
    mesh, volume, _, _ = SHAPES[shape]
    density = RNG.uniform(1.0, 2.0, len(mesh.cells))
    assert mesh.lumped_masses(3.0).sum() == pytest.approx(3.0 * volume, rel=1e-13)
    masses, of_cells = mesh.lumped_masses(density), density * mesh.volumes()
    assert masses.shape == (len(mesh.points),)
    assert masses.min() > 0.0
    moment = of_cells @ mesh.points[mesh.cells].mean(axis=1)
    np.testing.assert_allclose(masses @ mesh.points, moment, rtol=0, atol=1e-13 * np.abs(moment).max())


def test_lumped_masses_by_hand() -> None:
    square = generators.rectangle((1.0, 1.0), (1, 1))
    assert square.lumped_masses(6.0) == pytest.approx([2.0, 1.0, 1.0, 2.0], rel=1e-15)
    wider = replace(square, points=np.concatenate([square.points, [[5.0, 5.0]]]))
    assert wider.lumped_masses(6.0) == pytest.approx([2.0, 1.0, 1.0, 2.0, 0.0], rel=1e-15)


@pytest.mark.parametrize("shape", ["rectangle", "box", "beam"])
def test_kuhns_simplices_are_of_one_volume(shape: str) -> None:
    volumes = SHAPES[shape][0].volumes()
    assert np.ptp(volumes) <= 1e-14 * volumes.max()


def test_a_beam_lies_along_x_and_knows_its_sides() -> None:
    mesh = generators.beam(10.0, 2.0, 1.0, (5, 2, 3))
    for axis, half, names in ((1, 1.0, ("front", "back")), (2, 0.5, ("bottom", "top"))):
        for name, value in zip(names, (-half, half), strict=True):
            assert mesh.bodies[name].tolist() == np.flatnonzero(mesh.points[:, axis] == value).tolist()
    assert mesh.bodies["left"].tolist() == list(range(12))
    assert mesh.bodies["right"].tolist() == list(range(60, 72))
    assert {name: len(nodes) for name, nodes in mesh.bodies.items()} == {
        "left": 12, "right": 12, "front": 24, "back": 24, "bottom": 18, "top": 18
    }  # fmt: skip
    assert set(mesh.points[mesh.bodies["right"], 0]) == {10.0}


def test_sides_of_rectangle_and_disc() -> None:
    mesh = generators.rectangle((2.0, 3.0), (2, 3))
    for name, axis, value, count in (
        ("left", 0, 0.0, 4), ("right", 0, 2.0, 4), ("bottom", 1, 0.0, 3), ("top", 1, 3.0, 3)
    ):  # fmt: skip
        assert mesh.points[mesh.bodies[name], axis].tolist() == [value] * count
    disc = generators.disc(2.0, 6)
    assert sorted(set(disc.boundary().ravel().tolist())) == disc.bodies["rim"].tolist()
    assert np.linalg.norm(disc.points[disc.bodies["centre"]]) == 0.0


LENGTHS, COUNTS = "needed: finite and above 0", "needed: whole and at least 1"


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (generators.box, ((1.0, 0.0, 1.0), (1, 1, 1)), f"sizes: 1.0, 0.0, 1.0; {LENGTHS}"),
        (generators.rectangle, ((1.0, np.inf), (1, 1)), f"sizes: 1.0, inf; {LENGTHS}"),
        (generators.beam, (1.0, np.nan, 1.0, (1, 1, 1)), f"sizes: 1.0, nan, 1.0; {LENGTHS}"),
        (generators.beam, (1.0, 1.0, 1.0, (1, 0, 1)), f"numbers of cells: 1, 0, 1; {COUNTS}"),
        (generators.rectangle, ((1.0, 1.0), (1.5, 2)), f"numbers of cells: 1.5, 2; {COUNTS}"),
        (generators.box, ((1.0, 1.0), (1, 1)), "3 sizes and 3 numbers of cells are needed, not 2 and 2"),
        (generators.disc, (-1.0, 2), f"the radius: -1.0; {LENGTHS}"),
        (generators.disc, (1.0, 0), f"the number of rings: 0; {COUNTS}"),
    ],
)
def test_generators_refuse(make, arguments: tuple, message: str) -> None:
    with pytest.raises(UserError) as caught:
        make(*arguments)
    assert str(caught.value) == message


# Inspection: a sound mesh is damaged, each time in one way ------------------------------------------------


def damaged(**changes) -> Mesh:
    """A box of 8 nodes and 6 cells with some rows of its arrays replaced: points={3: ...}, cells={...}."""
    mesh = generators.box((1.0, 1.0, 1.0), (1, 1, 1))
    arrays = {name: getattr(mesh, name).copy() for name in ("points", "cells")}
    for name, rows in changes.items():
        for row, values in rows.items():
            arrays[name][row] = values
    return replace(mesh, **arrays, source="'a.msh'", cell_tags=np.arange(6) + 100)


def folded(cell: str) -> Mesh:
    """Four squares, or twice as many triangles, whose node in the middle lies outside."""
    mesh = generators.rectangle((1.0, 1.0), (2, 2), cell)
    points = mesh.points.copy()
    points[4] = [1.2, 0.5]
    return replace(mesh, points=points, source="'a.msh'")


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        (damaged(points={3: np.nan, 5: [0, np.inf, 0]}),
         "points that are not finite (2 of 8): 3, 5; mesh again"),
        (damaged(cells={4: [0, 1, 2, 8], 1: [0, -1, 3, 7]}),
         "cells with missing nodes (2 of 6): 1, 4 (tags 101, 104); there are nodes 0 to 7"),
        (folded("triangles"),
         "inverted cells (2 of 8): 5, 6, the first at (0.9, 0.3333); they fold over others or themselves; "
         "untangle the mesh, or mesh again there"),
        (damaged(cells={1: [0, 1, 2, 3]}),
         "cells without volume (1 of 6): 1 (tags 101), at (0, 0.5, 0.5); mesh again there"),
        (damaged(cells={1: [0, 4, 4, 7]}),
         "cells without volume (1 of 6): 1 (tags 101), at (0.75, 0.25, 0.25); mesh again there"),
        (damaged(points={7: 1.5e308, 0: -1.5e308}),
         "cells without volume (6 of 6): 0, 1, 2, 3, 4 and 1 more (tags 100, 101, 102, 103, 104 and 1 more), "
         "the first at (0, 0, 0); mesh again there"),
        (damaged(cells={3: generators.box((1, 1, 1), (1, 1, 1)).cells[0][[2, 1, 3, 0]]}),
         "cells that are there already (1 of 6): 3 (tags 103); remove the copies "
         "(gmsh.model.mesh.removeDuplicateElements)"),
        (replace(damaged(), cells=np.zeros((0, 4), np.int32)), "there are no cells"),
        (replace(damaged(), bodies={"grip": np.array([3, 8, 9])}),
         "missing nodes in body 'grip' (2): 8, 9; there are 0 to 7"),
        (replace(damaged(), points=np.concatenate([np.eye(3), damaged().points]), cells=damaged().cells + 3),
         "nodes of no cell, which have no mass (3 of 11): 0, 1, 2; set drop_unused, or save without them "
         "(Gmsh: Mesh.SaveAll = 0)"),
    ],
)  # fmt: skip
def test_each_defect_is_refused_by_number(mesh: Mesh, message: str) -> None:
    with pytest.raises(UserError) as caught:
        inspect(mesh)
    assert str(caught.value) == f"'a.msh': {message}"


def test_all_defects_are_told_at_once() -> None:
    box = damaged().cells
    mesh = damaged(cells={1: [0, 1, 2, 3], 2: box[0][[1, 0, 2, 3]], 4: [0, 1, 2, 3]})
    with pytest.raises(UserError) as caught:
        inspect(mesh)
    assert [line.split(";")[0] for line in str(caught.value).splitlines()] == [
        "'a.msh': cells without volume (2 of 6): 1, 4 (tags 101, 104), the first at (0, 0.5, 0.5)",
        "'a.msh': inverted cells (1 of 6): 2 (tags 102), at (0.75, 0.5, 0.25)",
        "'a.msh': cells that are there already (2 of 6): 2, 4 (tags 102, 104)",
        "'a.msh': nodes of no cell, which have no mass (1 of 8): 5",
    ]


@pytest.mark.parametrize("shape", ["rectangle", "box", "disc"])
def test_a_mesh_that_is_inverted_as_a_whole_is_turned_over(shape: str) -> None:
    mesh = SHAPES[shape][0]
    mirrored = replace(mesh, points=mesh.points * ([-1.0] + [1.0] * (mesh.dimension - 1)))
    turned, remarks = inspect(mirrored)
    assert remarks == [f"the mesh: all {len(mesh.cells)} cells were inverted; they are turned over"]
    np.testing.assert_allclose(turned.volumes(), mesh.volumes(), rtol=1e-12)
    assert np.array_equal(np.sort(turned.cells), np.sort(mesh.cells))
    assert mirrored.volumes().max() < 0.0, "what was given is as it was"


@pytest.mark.parametrize(("d", "k"), cell_meshes.VTK_CELLS)
def test_cells_in_mixed_orientation_are_turned_over(d: int, k: int) -> None:
    """Every third cell is listed the other way round: the same mesh, with curved edges too."""
    mesh = cell_meshes.shaken(cell_meshes.mesh_of(d, k), 0.02)
    which = np.arange(mesh.count) % 3 == 1
    mixed = replace(mesh, cells=np.where(which[:, None], mesh.cells[:, mesh.kinds[0].mirror], mesh.cells))
    assert ((mixed.volumes() < 0.0) == which).all()
    found, remarks = inspect(mixed)
    count = f"{which.sum()} of {mesh.count} cells were listed the other way round; they are turned over"
    assert remarks == [f"the mesh: {count}"]
    np.testing.assert_array_equal(found.cells, mesh.cells)


@pytest.mark.parametrize("cell", ["triangles", "quadrilaterals"])
def test_folded_cells_are_refused_and_not_turned_over(cell: str) -> None:
    """Turned over they would have positive areas, and cover their neighbours."""
    mesh = folded(cell)
    assert orientation.turn_cells(mesh) == (mesh, [])
    with pytest.raises(UserError, match=r"inverted cells \([12] of [48]\): .* they fold over others"):
        inspect(mesh)


def test_one_kind_that_is_listed_the_other_way_round_is_turned_over() -> None:
    mesh = cell_meshes.mixed_plane()
    found, remarks = inspect(replace(mesh, more=(mesh.more[0][:, [0, 2, 1]],)))
    assert remarks == ["the mesh: all 8 triangles were inverted; they are turned over"]
    np.testing.assert_array_equal(np.sort(found.more[0]), np.sort(mesh.more[0]))
    assert found.volumes().min() > 0.0


def test_a_sliver_is_judged_by_its_shape_not_its_size() -> None:
    def cell(height: float, size: float) -> Mesh:
        return Mesh(size * np.array([[0.0, 0.0], [1.0, 0.0], [0.3, height]]), np.array([[0, 1, 2]]))

    for size in (1e-9, 1.0, 1e9):
        assert inspect(cell(1e-9, size))[1] == []
        with pytest.raises(UserError, match="cells without volume"):
            inspect(cell(1e-12, size))


def test_a_cell_without_volume_is_not_called_inverted() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.3, 1.0], [0.5, -1e-15]])
    with pytest.raises(UserError) as caught:
        inspect(Mesh(points, np.array([[0, 1, 2], [0, 1, 3]])))
    assert (
        str(caught.value)
        == "the mesh: cells without volume (1 of 2): 1, at (0.5, -3.333e-16); mesh again there"
    )


def test_nodes_that_coincide_are_remarked() -> None:
    """Two boxes that touch and are not joined; rounding to a grid would part some of their nodes."""
    one, size = generators.box((1.0, 1.0, 1.0), (2, 2, 2)), 3e7
    shift = np.array([1.0 + 4e-13, 5e-13, -5e-13])
    points = np.concatenate([one.points, one.points + shift]) * size
    pair = Mesh(points, np.concatenate([one.cells, one.cells + 27]))
    mesh, remarks = inspect(pair)
    assert mesh is pair
    assert remarks == [
        "the mesh: nodes that lie where another does (9 of 54): 27, 28, 29, 30, 31 and 4 more; "
        "parts that touch only there are not connected"
    ]
    assert inspect(replace(pair, points=points + np.repeat([[0], [1e-11 * size]], 27, axis=0)))[1] == []


def test_left_out_nodes_leave_the_rest_as_it_was() -> None:
    mesh = generators.rectangle((2.0, 1.0), (3, 2))
    kept = np.sort(RNG.permutation(20)[:12])
    points = RNG.normal(size=(20, 2))
    points[kept] = mesh.points
    bodies = {"left": kept[mesh.bodies["left"]], "mixed": np.arange(20)}
    wide = Mesh(points, kept[mesh.cells].astype(np.int32), bodies, node_tags=np.arange(20) * 10)
    found, remarks = inspect(wide, drop_unused=True)
    assert np.array_equal(found.points, mesh.points)
    assert np.array_equal(found.cells, mesh.cells)
    assert np.array_equal(found.bodies["left"], mesh.bodies["left"])
    assert found.bodies["mixed"].tolist() == list(range(12))
    assert found.node_tags is not None
    assert np.array_equal(found.node_tags, kept * 10)
    assert len(remarks) == 1


def test_arrays_of_other_shapes_are_refused() -> None:
    with pytest.raises(UserError) as caught:
        Mesh(np.zeros((3, 2)), np.zeros((1, 5), np.int32))
    assert str(caught.value) == (
        "the mesh has points of shape (3, 2) and cells of shape (1, 5); needed: (n, d) and (E, k), "
        "d = 2 (triangles, quadrilaterals) or 3 (tetrahedra, pyramids, wedges, hexahedra)"
    )
