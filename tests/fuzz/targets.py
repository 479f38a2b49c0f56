"""The readers of files that others wrote: sound files of each, and how it is read.

A reader raises `MinusgradError` for what it refuses; any other exception is a fault.
"""

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minusgrad.errors import UserError
from minusgrad.scene.units import UnitSystem
from tests.support import peroxide

ROOT = Path(__file__).parents[2]
SCENES, CORPUS = ROOT / "scenes", Path(__file__).with_name("corpus")


@dataclass(frozen=True)
class Target:
    """sound: files that are damaged; read: called with the bytes and an empty folder."""

    sound: Callable[[], Sequence[bytes]]
    read: Callable[[bytes, Path], Any]


POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
TETRAHEDRA, TRIANGLES = np.array([[0, 1, 2, 3], [1, 2, 3, 4]]), np.array([[0, 1, 2], [0, 1, 3]])
PLANE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
IN_PLANE = np.array([[0, 1, 2], [1, 3, 2]])
FLAT = ("obj", "off", "ply", "stl", "wkt")
MESHES = {
    "avs": "avsucd", "bdf": "nastran", "f3grid": "flac3d", "inp": "abaqus", "mdpa": "mdpa", "mesh": "medit",
    "meshb": "medit", "obj": "obj", "off": "off", "ply": "ply", "post": "permas", "stl": "stl", "su2": "su2",
    "tec": "tecplot", "ugrid": "ugrid", "vol": "netgen", "vtk": "vtk", "vtu": "vtu", "wkt": "wkt",
}  # fmt: skip


@cache
def _meshes(ending: str) -> list[bytes]:
    import meshlane

    solid: tuple[str, Any] = ("tetra", TETRAHEDRA)
    points, parts = POINTS, ([solid], [solid, ("triangle", TRIANGLES)])
    if ending in FLAT:
        points, parts = PLANE, ([("triangle", IN_PLANE)], [("triangle", IN_PLANE[::-1])])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for more in ({}, {"binary": False}, {"binary": True}):
            for kinds in parts:
                path = Path(folder) / _named(ending)
                try:
                    meshlane.write(path, meshlane.Mesh(points, kinds), file_format=MESHES[ending], **more)
                    found.append(path.read_bytes())
                except Exception:  # a writer without that option, or without such cells
                    continue
    return found


def _named(ending: str) -> str:
    """The name of a mesh file; those of UGRID say how numbers are stored."""
    return "a.lb8.ugrid" if ending == "ugrid" else f"a.{ending}"


def _mesh(ending: str) -> Callable[[bytes, Path], Any]:
    def read(data: bytes, folder: Path) -> Any:
        from minusgrad_elastic.mesh_files import foreign, inspection

        return inspection.inspect(foreign.read_foreign(_named(ending), data))

    return read


BY_HAND = {"msh": "gmsh22", "med": "med", "e": "exodus"}
"""Formats that meshlane does not write, or not with names: by ending, functions of `foreign_files`."""


@cache
def _by_hand(ending: str) -> list[bytes]:
    from tests.support import foreign_files

    write = getattr(foreign_files, BY_HAND[ending])
    return [write(foreign_files.named_mesh(*key)) for key in ((2, 3), (3, 8))]


def _gmsh(data: bytes, folder: Path) -> Any:
    from minusgrad_elastic.mesh_files import gmsh, inspection

    return inspection.inspect(gmsh.read("a.msh", data))


@cache
def _images() -> list[bytes]:
    from PIL import Image

    rng, found = np.random.default_rng(0), []
    grey = rng.integers(0, 256, (6, 8)).astype(np.uint8)
    for mode, ending in (("L", "png"), ("RGBA", "png"), ("P", "png"), ("L", "tiff"), ("I;16", "tiff"),
                         ("F", "tiff"), ("RGB", "bmp"), ("L", "jpeg")):  # fmt: skip
        image = Image.fromarray(grey / np.float32(255)) if mode == "F" else Image.fromarray(grey)
        image = (
            image
            if mode == "F"
            else image.convert("I").convert("I;16")
            if mode == "I;16"
            else image.convert(mode)
        )
        data = io.BytesIO()
        image.save(data, ending, dpi=(254, 254))
        found.append(data.getvalue())
    return found


def _image(data: bytes, folder: Path) -> Any:
    from minusgrad.plugin import MinusgradError, images

    with suppress(MinusgradError):
        images.resolution("a.png", data)
    return images.read("a.png", data)


def _svgs() -> list[bytes]:
    made = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10mm"'
        ' height="10mm" viewBox="0 0 10 10"><style>.a{fill:#123;stroke:red}</style><defs><g id="p"><rect'
        ' width="2" height="1"/></g></defs><g transform="rotate(30 5 5) scale(2,.5)"><rect class="a" x="1"'
        ' y="1" width="5" height="5" rx="1"/><circle cx="3" cy="3" r="2" stroke="black" stroke-width=".3"'
        ' fill="none"/><path d="M0 0 C1 1 2 2 3 0 A 1 2 30 0 1 4 5 Q 1 1 2 2 z"/><polyline points="1,2 3,4'
        ' 5,1"/><ellipse cx="1" cy="2" rx="1" ry="2" opacity="1"/><use xlink:href="#p" x="3"/></g></svg>'
    )
    whole = (
        '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY c "#345">]><svg xmlns="http://www.w3.org/2000/svg"'
        ' width="10mm" viewBox="0 0 10 10"><style>@media print{g{fill:red}} #a > .b{fill:&c;}</style><defs>'
        '<clipPath id="c"><circle r="4"/></clipPath><mask id="m"><rect width="50%" height="9" fill="#fff"/>'
        '</mask><linearGradient id="g"><stop stop-color="hsl(9,9%,9%)"/><stop offset="1"/></linearGradient>'
        '<pattern id="p" width=".2" height=".2"><path d="M0 0h1v1"/></pattern><filter id="f"><feGaussianBlur'
        ' stdDeviation=".3"/><feOffset dx="1"/></filter><marker id="e" refX="1"><path d="M0 0 3 1 0 2z"/>'
        '</marker><symbol id="s" viewBox="0 0 3 3"><rect width="2" height="2"/></symbol></defs><g id="a"'
        ' opacity=".7" clip-path="url(#c)"><rect class="b" width="5" height="5" fill="url(#g)"/></g>'
        '<g mask="url(#m)"><rect width="9" height="9" fill="url(#p)" style="transform:rotate(5deg)"/></g>'
        '<path d="M1 1 5 5 9 1" stroke="#000" stroke-width=".5" stroke-dasharray="1 .5" marker-mid="url(#e)"'
        ' filter="url(#f)"/><use href="#s" width="3" height="3"/><svg x="5" width="3" viewBox="0 0 2 2">'
        '<image width="2" height="2" href="data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22'
        ' width=%221%22 height=%221%22%3E%3Cpath d=%22M0 0h1v1%22/%3E%3C/svg%3E"/></svg></svg>'
    )
    return [made.encode(), whole.encode()]


def _svg(data: bytes, folder: Path) -> Any:
    from minusgrad.plugin import StateContext
    from minusgrad_laser.canvas import CanvasTable
    from minusgrad_laser.targets.svg import FromSvg

    context = StateContext(UnitSystem.si(), 0, folder, attached={"a.svg": data})
    is_cropped = len(data) % 4 == 0
    table = FromSvg(kind="svg", file="a.svg", width="1 cm", crop=is_cropped)
    return table.draw(CanvasTable(pixel="0.5 mm"), context)


def _outlined() -> list[bytes]:
    made = (
        '<!DOCTYPE svg [<!ENTITY e "#123">]><svg xmlns="http://www.w3.org/2000/svg"'
        ' xmlns:inkscape="http://www.inkscape.org/namespaces/inkscape" width="40mm" height="30mm"'
        ' viewBox="0 0 40 30" preserveAspectRatio="xMinYMax slice"><style type="text/css">/* a */ g &gt; .b,'
        ' #i[x|="1"]{fill:hsl(120 50% 25%)!important;stroke:rgb(1,2,3)} rect:first-child{stroke-width:1%}'
        '</style><defs><symbol id="s" viewBox="0 0 2 1"><rect width="2" height="1" fill="currentColor"/>'
        '</symbol><clipPath id="c"><path d="M0,0h40v30h-40z"/></clipPath></defs><g color="red"'
        ' inkscape:groupmode="layer" inkscape:label="Cut" clip-path="url(#c)"><use href="#s" x="4" width="5"'
        ' height="5" transform="skewX(10)" transform-origin="50% top"/><path class="b" d="M5,5q2 2 4 0t4 0'
        'a3 2 30 0110 0zm9 9l1-1.5.5e0 2z" stroke-dasharray="1,2" stroke-dashoffset="-1"/></g><switch><g'
        ' systemLanguage="en"><svg x="5" y="5" width="50%" height="10" viewBox="0 0 4 4"><ellipse cx="2"'
        ' cy="2" rx="1"/></svg></g></switch><polygon points="1,2 3-4.5.5 6" fill="&e;" opacity=".5"/>'
        '<line x1="1in" y2="2em" font-size="3" stroke="#abcd" transform="translate(1,2) rotate(.1rad)"/>'
        "</svg>"
    )
    return [made.encode()]


def _outlines(data: bytes, folder: Path) -> Any:
    from minusgrad_laser.drawings.read import read_drawing

    return read_drawing("a.svg", data, tolerance=1e-5, width=0.01)


def _fonts() -> list[bytes]:
    from tests.plugins.laser.test_text import font

    return [font(), font(axes=True)]


def _font(data: bytes, folder: Path) -> Any:
    from minusgrad_laser.drawings.text.drawing import text_drawing

    return text_drawing("HO V", "a.ttf", data, size=0.01, tolerance=1e-5, kerning=False)


@cache
def _dxfs() -> list[bytes]:
    import ezdxf

    from tests.plugins.laser import dxf_texts as dxf

    part = dxf.block("B", dxf.circle(0, 0, 2, "0", (62, 0)), dxf.polyline([(0, 0, 1), (3, 0, -0.4)], True))
    bare = dxf.drawing(
        dxf.line(0, 0, 9, 1, "cut"), dxf.arc(0, 0, 4, 20, 300),
        dxf.insert("B", 1, 2, "cut", (41, 2), (50, 30)),
        [(0, "SOLID"), (8, "0"), (10, 0), (20, 0), (11, 4), (21, 0), (12, 0), (22, 3), (13, 4), (23, 3)],
        layers=[dxf.layer("cut", 1), dxf.layer("off", -2)], blocks=[part],
    )  # fmt: skip
    document, text, packed = ezdxf.new("R2000", units=4), io.StringIO(), io.BytesIO()
    model = document.modelspace()
    model.add_ellipse((0, 0), (4, 1), 0.5)
    model.add_spline([(0, 0), (3, 2), (5, 0)])
    model.add_rational_spline([(5, 0), (5, 5), (0, 5)], [1, 0.7, 1], degree=2)
    model.add_lwpolyline([(0, 0, 0, 0, 0.5), (4, 4, 0, 0, 0)])
    edges = model.add_hatch(color=1).paths.add_edge_path()
    edges.add_arc((30, 0), 4, 0, 180)
    edges.add_line((26, 0), (34, 0))
    document.write(text)
    document.write(packed, fmt="bin")
    return [bare, bare, text.getvalue().encode(), packed.getvalue()]


PROJECT = b"""<?xml version="1.0" encoding="UTF-8"?>
<LightBurnProject AppVersion="1.7" FormatVersion="1" MirrorX="True" MirrorY="False">
<CutSetting type="Cut"><index Value="1"/><name Value="C01"/><maxPower Value="80"/><speed Value="20"/>
</CutSetting><CutSetting type="Scan"><index Value="2"/><interval Value="0.1"/><numPasses Value="2"/>
<kerf Value="0"/></CutSetting>
<Shape Type="Group"><XForm>2 0 0 2 1 1</XForm><Children>
<Shape Type="Rect" CutIndex="1" W="10" H="5" Cr="1"><XForm>0.8 0.6 -0.6 0.8 5 5</XForm></Shape>
<Shape Type="Ellipse" CutIndex="2" Rx="4" Ry="3"><XForm>1 0 0 1 9 9</XForm></Shape></Children></Shape>
<Shape Type="Path" CutIndex="1" VertID="0" PrimID="0"><XForm>1 0 0 1 0 0</XForm>
<VertList>V0 0c0x1c1x1V4 0c0x4c0y2c1x1V0 4c0x1c1x2c1y4</VertList><PrimList>L0 1B1 2L2 0</PrimList></Shape>
<Shape Type="Path" CutIndex="2" VertID="0" PrimID="0"><XForm>1 0 0 1 20 0</XForm></Shape>
<Shape Type="Path" CutIndex="1"><XForm>1 0 0 1 0 30</XForm><V vx="0" vy="0"/><V vx="4" vy="4" c1x="1"/>
<P T="L" p0="0" p1="1"/></Shape></LightBurnProject>
"""


def _drawn(name: str) -> Callable[[bytes, Path], Any]:
    def read(data: bytes, folder: Path) -> Any:
        from minusgrad_laser.drawings.read import read_drawing

        return read_drawing(name, data, tolerance=1e-5)

    return read


def _openmm(data: bytes, folder: Path) -> Any:
    from minusgrad_molecular import openmm_system

    return openmm_system.parse("a.xml", data)


def _pdb(data: bytes, folder: Path) -> Any:
    from minusgrad_molecular import pdb

    return pdb.parse("a.pdb", data)


def _openmm_pdb(data: bytes, folder: Path) -> Any:
    from minusgrad_molecular.programs import door

    asked = door.Request("a.pdb", force_field=("field.xml",))
    field = (ROOT / "tests" / "fuzz" / "dipeptide_field.xml").read_bytes()
    return door.make_system(asked, {"a.pdb": data, "field.xml": field}.__getitem__)


def _of_program(program: str, key: str) -> Callable[[bytes, Path], Any]:
    """A file of another program, with the others beside it."""

    def read(data: bytes, folder: Path) -> Any:
        from minusgrad_molecular.programs import door

        peroxide.write_files(folder)
        keys = peroxide.FILES[program]
        (folder / keys[key]).write_bytes(data)

        def found(name: str) -> bytes:
            if not (folder / name).is_file():
                raise UserError(f"cannot read '{name}'")
            return (folder / name).read_bytes()

        parameters = tuple(keys.get("parameters", ()))
        return door.make_system(door.Request(keys["positions"], keys["topology"], parameters), found)

    return read


X = np.arange(6.0).reshape(3, 2)


@cache
def _fields() -> list[bytes]:
    import h5py

    plain, packed, folded, tree = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.save(plain, X)
    np.savez(packed, x=X)
    np.savez_compressed(folded, x=X)
    with h5py.File(tree, "w") as file:
        file["x"] = X
        file["x"].attrs["unit"] = "m"
    return [
        plain.getvalue(),
        packed.getvalue(),
        folded.getvalue(),
        tree.getvalue(),
        b"x, y\n1, 2\n3, 4\n5, 6\n",
    ]


def _field(data: bytes, folder: Path) -> Any:
    from minusgrad.assembly.initial import field_files

    return field_files.read("a", data, field_files.WantedField("x", 3, (2,)))


@cache
def _arrays() -> list[bytes]:
    from minusgrad.assembly.arrays.arrays_file import Stored, written

    nodes, bonds = {"bodies/left": Stored(np.array([0]))}, np.array([[0, 1], [1, 2]], np.int32)
    fields = {"fields/x": Stored(X, "m"), "tuples/bonds": Stored(bonds)}
    return [written(fields | nodes | {"data/bonds/rest": Stored(np.ones(2), "m")})]


def _read_arrays(data: bytes, folder: Path) -> Any:
    from minusgrad.assembly.arrays import arrays_file

    return arrays_file.read("a.h5", data)


def _measured(data: bytes, folder: Path) -> Any:
    from minusgrad.files import measurements

    return measurements.read_measurements(
        "a", data, measurements.Wanted("x", "position", (3,), [0, 1], 2, ("left", "2"))
    )


def _grid(data: bytes, folder: Path) -> Any:
    from minusgrad.plugin import StateContext
    from minusgrad_grids.initial_fields import Array, Cells

    context = StateContext(UnitSystem.si(), 0, folder, attached={"a.npy": data})
    return Array(kind="array", unit="m", file="a.npy").values(Cells(3, 2, 1.0), context)


JOB = """G21
M4 S500
G0 X0.3 Y0.2
G1 X3 F1500
Y2 (side)
G2 X1 Y2 I-1 J0
G3 X2 Y1 R1.5
G91
G1 X-1 Y0.5 F900 ; back
G4 P0.05
M5
"""


SMALL_JOB = """G21
M4 S500
G0 X0.03 Y0.02
G1 X0.3 F15
Y0.2
G2 X0.1 Y0.2 I-0.1 J0
G4 P0.05
G1 X0.11 S900 F90
M5
"""
"""For a stage with a field of 0.3 mm."""


def _gcode(data: bytes, folder: Path) -> Any:
    from minusgrad_laser.machine.profile import Profile
    from minusgrad_laser.virtual_machine.program import parse
    from minusgrad_laser.virtual_machine.survey import survey

    for name in ("two_photon", "grbl_diode"):
        profile = Profile.load(name)
        program = parse(data.decode(errors="replace"), profile)
        with suppress(UserError) if name == "two_photon" else nullcontext():
            survey(program, profile, 2.0 * profile.waists[0], profile.waists, 2e5, lambda dose: dose, 2.0)


def _profile(data: bytes, folder: Path) -> Any:
    from minusgrad_laser.machine.profile import Profile

    (folder / "a.toml").write_bytes(data)
    return Profile.load(str(folder / "a.toml"))


@cache
def _share_registries() -> None:
    """What plugins have is the same for all scenes of this process."""
    from minusgrad.assembly.registry import Registry

    provided = cache(Registry.load.__func__)  # type: ignore[attr-defined]
    Registry.load = classmethod(  # type: ignore[assignment, method-assign]
        lambda cls, names=None, files=(): provided(cls, None if names is None else tuple(names))
    )


def _scene(data: bytes, folder: Path) -> Any:
    from minusgrad.assembly.validation import validate
    from minusgrad.scene.document import load

    _share_registries()
    (folder / "a.toml").write_bytes(data)
    return validate(load(folder / "a.toml"))


def _sweep(data: bytes, folder: Path) -> Any:
    from minusgrad.sweeps.sweep_file import read_sweep

    (folder / "a.toml").write_bytes(data)
    return read_sweep(folder / "a.toml")


SWEEP = b"""[sweep]
observe = ["total"]
seed = 3

[vary]
"spring.stiffness" = { normal = ["2 N/m", "0.1 N/m"] }
"stepper.dt" = { grid = ["1 s", "2 s"] }

[keep]
trajectory = false
"""


@cache
def _run() -> dict[str, bytes]:
    """The files of a run folder with two segments and a checkpoint."""
    from minusgrad.files.checkpoint import Snapshot
    from minusgrad.files.run_folder import RunDir
    from minusgrad.files.trajectory import Recorder

    with tempfile.TemporaryDirectory() as above:
        with RunDir.create(Path(above) / "run", b"", []) as run:
            rows = Recorder({"total": ("J", 1.0)}, ("s", 1.0), {"bonds": np.array([[0, 1]])}, ("bonds",))
            run.save(Snapshot(0, 0.0, 0.1, {"fields/x": np.zeros(4)}), rows, 3)
            for step in (1, 2):
                rows.record_observables(step, 0.1 * step, {"total": 0.5 * step})
                rows.record_frame(step, 0.1 * step, {"position": np.ones((2, 3))})
                run.save(Snapshot(step, 0.1 * step, 0.1, {"fields/x": np.zeros(4)}), rows, 3)
        root = Path(above) / "run"
        return {str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*") if one.is_file()}


def _files(part: str) -> list[bytes]:
    return [data for name, data in _run().items() if name.startswith(part)]


def _with_hash(data: bytes, folder: Path) -> Path:
    """The file under a name that vouches for its bytes."""
    from minusgrad.files import durable

    return durable.write_new(folder, "000000000002", data)


def _checkpoint(data: bytes, folder: Path) -> Any:
    from minusgrad.files import checkpoint

    return checkpoint.load(_with_hash(data, folder))


def _segment(data: bytes, folder: Path) -> Any:
    from minusgrad.files import trajectory

    return list(trajectory.contents(_with_hash(data, folder)))


def _folders() -> list[bytes]:
    """One file of the folder after another, as `name` and a line end before its bytes."""
    return [name.encode() + b"\n" + data for name, data in _run().items()]


def _folder(data: bytes, folder: Path) -> Any:
    """The file in its folder, damaged; what `info` and `verify` read."""
    from minusgrad.app import info, verify
    from minusgrad.plugin import MinusgradError

    name, _, content = data.partition(b"\n")
    known = {one.encode(): one for one in _run()}
    for one, sound in _run().items():
        (folder / "run" / one).parent.mkdir(parents=True, exist_ok=True)
        (folder / "run" / one).write_bytes(sound)
    (folder / "run" / known.get(name, "journal.jsonl")).write_bytes(content)
    with suppress(MinusgradError):
        list(verify.verify(folder / "run"))
    return json.dumps(str(info.info(folder / "run")))


def _texts(*names: str) -> Callable[[], list[bytes]]:
    return lambda: [(SCENES / name).read_bytes() for name in names]


def _gmshes() -> list[bytes]:
    folder = ROOT / "tests" / "meshes"
    return [
        (folder / f"{name}.msh").read_bytes() for name in ("plate", "plate_binary", "quadrangles", "order_2")
    ]


def _profiles() -> list[bytes]:
    return [one.read_bytes() for one in (ROOT / "plugins/minusgrad_laser/machine/profiles").glob("*.toml")]


TARGETS: dict[str, Target] = {
    **{name: Target(lambda name=name: _meshes(name), _mesh(name)) for name in MESHES},  # type: ignore[misc]
    **{name: Target(lambda name=name: _by_hand(name), _mesh(name)) for name in BY_HAND},  # type: ignore[misc]
    "gmsh": Target(_gmshes, _gmsh),
    "image": Target(_images, _image),
    "dxf": Target(_dxfs, _drawn("a.dxf")),
    "lbrn2": Target(lambda: [PROJECT], _drawn("a.lbrn2")),
    "svg": Target(_svgs, _svg),
    "svg_outlines": Target(_outlined, _outlines),
    "font": Target(_fonts, _font),
    "openmm": Target(_texts("data/dipeptide.xml"), _openmm),
    "openmm_pdb": Target(_texts("data/dipeptide.pdb"), _openmm_pdb),
    "prmtop": Target(lambda: [peroxide.prmtop().encode()], _of_program("amber", "topology")),
    "inpcrd": Target(
        lambda: [peroxide.inpcrd().encode(), peroxide.inpcrd(False, False).encode()],
        _of_program("amber", "positions"),
    ),
    "top": Target(lambda: [peroxide.whole_top().encode()], _of_program("gromacs", "topology")),
    "gro": Target(lambda: [peroxide.gro().encode()], _of_program("gromacs", "positions")),
    "psf": Target(lambda: [peroxide.psf().encode()], _of_program("charmm", "topology")),
    "crd": Target(lambda: [peroxide.crd().encode()], _of_program("charmm", "positions")),
    "pdb": Target(_texts("data/dipeptide.pdb"), _pdb),
    "field": Target(_fields, _field),
    "measurements": Target(
        lambda: [
            b"time, node, x, y, z\n0, left, 1, 2, 0\n0, 2, 3, 4, 0\n1, left, 1, 2, 0\n1, 2, 3, 4, 0\n",
            *_files("traj/"),
        ],
        _measured,
    ),
    "arrays": Target(_arrays, _read_arrays),
    "grid_array": Target(lambda: _fields()[:1], _grid),
    "gcode": Target(lambda: [JOB.encode(), SMALL_JOB.encode()], _gcode),
    "profile": Target(_profiles, _profile),
    "scene": Target(
        _texts("two_body.toml", "stretch.toml", "laser_butterfly.toml", "argon_npt.toml"), _scene
    ),
    "fit": Target(_texts("spring_stiffness.toml", "weigh_a_planet.toml"), _scene),
    "sweep": Target(lambda: [SWEEP], _sweep),
    "checkpoint": Target(lambda: _files("ckpt/"), _checkpoint),
    "segment": Target(lambda: _files("traj/"), _segment),
    "run_folder": Target(_folders, _folder),
}
