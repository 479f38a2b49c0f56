"""Meshes that Gmsh writes as MSH and as another format, and what must be alike in both."""

from pathlib import Path

import numpy as np

from minusgrad_elastic.mesh_files import foreign, gmsh
from minusgrad_elastic.mesh_files.contents import describe
from tests.support.gmsh_program import gmsh_session

NAMES = ("tetra", "tetra10", "hexahedron20", "hexahedron27", "wedge", "triangle6", "quad8", "quad9")


def write_pair(name: str, folder: Path, ending: str) -> None:
    """A mesh with a body and a side that have names, as NAME.msh and NAME.ending."""
    with gmsh_session() as program:
        model, flat = program.model, name.startswith(("triangle", "quad"))
        disc = model.occ.addDisk(0.0, 0.0, 0.0, 1.0, 1.0)
        if not flat:
            model.occ.extrude(
                [(2, disc)], 0.0, 0.0, 1.0, [2], recombine=name != "tetra" and name != "tetra10"
            )
        model.occ.synchronize()
        d = 2 if flat else 3
        model.addPhysicalGroup(d, [tag for _, tag in model.getEntities(d)], 1, "body")
        model.addPhysicalGroup(d - 1, [tag for _, tag in model.getEntities(d - 1)], 2, "left side")
        whole = name.startswith(("hexahedron", "quad"))
        program.option.setNumber("Mesh.MeshSizeMax", 0.7)
        program.option.setNumber("Mesh.RecombineAll", int(whole))
        program.option.setNumber("Mesh.SubdivisionAlgorithm", int(whole))
        program.option.setNumber("Mesh.SecondOrderIncomplete", int(name in ("hexahedron20", "quad8")))
        model.mesh.generate(d)
        model.mesh.setOrder(1 if name in ("tetra", "wedge") else 2)
        for one in ("msh", ending):
            program.write(str(folder / f"{name}.{one}"))


def compare(name: str, folder: Path, ending: str, groups: dict[str, str], digits: float = 1e-9) -> None:
    """Assert that the deck is the mesh of the MSH file; groups: names there and here."""
    write_pair(name, folder, ending)
    expected = gmsh.read("a.msh", (folder / f"{name}.msh").read_bytes())
    mesh, _ = foreign.parse_foreign(f"a.{ending}", (folder / f"{name}.{ending}").read_bytes())
    assert [block.shape for block in mesh.blocks] == [block.shape for block in expected.blocks]
    np.testing.assert_allclose(mesh.points[mesh.cells], expected.points[expected.cells], atol=10 * digits)
    np.testing.assert_allclose(mesh.volumes(), expected.volumes(), atol=100 * digits)
    sides = {row["side"]: row for row in describe(mesh)["sides"]}
    for row in describe(expected)["sides"]:
        if row["side"] in groups:
            own = sides[groups[row["side"]]]
            size = "length" if "length" in row else "area"
            np.testing.assert_allclose(own[size], row[size], rtol=10 * digits)
            assert (own["facets"], own["nodes"], own["inside"]) == (row["facets"], row["nodes"], 0)
