"""Laser toolpaths: from an image to a job file with its report, or the replay of a job file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SAVES = True
GRID, FIT = ("powers", "speeds", "counts", "focus"), ("sheet", "cut")
"""Options of these alone."""


def options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "image",
        nargs="?",
        metavar="IMAGE",
        help="picture, SVG, DXF or LightBurn project; what is dark is marked",
    )
    add(
        "--machine",
        metavar="PROFILE",
        help="profile of the machine: a TOML file, or the name of a shipped one",
    )
    add("-o", "--out", metavar="FILE", help="job file to write (default: IMAGE.gcode)")
    add(
        "--replay",
        metavar="FILE",
        help="replay this job file in place of making one; exit code 1 on findings",
    )
    _add_layer_options(parser)
    _add_calibration_options(parser)
    _add_scale_options(parser)
    _add_drawing_options(parser)
    _add_material_options(parser)
    _add_search_options(parser)
    _add_output_options(parser)


def _add_layer_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("layers of a drawing")
    text = "engrave, score and cut a drawing by this table of layers; new: begin one; list: what it can take;"
    group.add_argument("--layers", metavar="FILE", help=f"{text} file: as the drawing's file says")


def _add_calibration_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("calibration")
    for name, metavar, text in (
        ("powers", "P,P", 'of a grid, least and largest, like "1 W, 5 W" (default: by the profile)'),
        ("speeds", "V,V", 'of a grid, least and largest, like "10 mm/s, 100 mm/s" (default: by the profile)'),
        ("counts", "NxN", "powers and speeds of a grid (default: 4x4)"),
        ("focus", "Z,Z,...", 'of grids, one for each, like "-1 mm, 0 mm, 1 mm" (default: none)'),
        ("sheet", "FILE", "of --fit: the .toml that --grid wrote with the job"),
        (
            "cut",
            "P,V",
            'of --fit: power and speed of the kerf, like "5 W, 10 mm/s" (default: of the widest line)',
        ),
    ):
        group.add_argument(f"--{name}", metavar=metavar, help=text)
    either = group.add_mutually_exclusive_group()
    either.add_argument("--grid", action="store_true", help="write a job of test lines and squares")
    text = (
        "find spot, threshold, latency and kerf from this photo of a burnt grid, or depths from this CSV file"
    )
    either.add_argument("--fit", metavar="FILE", help=text)


def _add_scale_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scale")
    group.add_argument(
        "--width", metavar="L", help='width of the image, like "30 mm" (default: by its resolution)'
    )
    group.add_argument("--dpi", type=float, metavar="N", help="pixels of the image an inch")
    group.add_argument("--pixel", metavar="L", help="side of a cell (default: that of the profile)")
    group.add_argument("--invert", action="store_true", help="mark what is light")
    text = "a font of the text of an SVG, or serif=FILE and the like; may be given several times"
    group.add_argument("--font", metavar="FILE", action="append", help=text)


def _add_drawing_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("drawings (DXF, LightBurn)")
    group.add_argument("--length", metavar="UNIT", help='unit of a DXF without one, like "mm"')
    text = "layer to mark, once or more (default: all that are plotted)"
    group.add_argument("--only", metavar="LAYER", action="append", help=text)
    group.add_argument("--stroke", metavar="L", help="width of open lines (default: they are refused)")


def _add_material_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("material")
    group.add_argument("--full", metavar="H", help='fluence that exposes fully (default: "25 J/cm^2")')
    group.add_argument(
        "--threshold", type=float, default=0.5, metavar="T", help="part of it that marks (default: 0.5)"
    )
    group.add_argument(
        "--steepness", type=float, default=5.0, metavar="A", help="of the threshold (default: 5)"
    )
    group.add_argument("--power", metavar="P", help="largest power to use (default: that of the profile)")


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("search")
    text = "path to start from (default: contours)"
    group.add_argument("--start", choices=("contours", "raster"), help=text)
    group.add_argument("--steps", type=int, metavar="N", help="iterations")
    either = group.add_mutually_exclusive_group()
    either.add_argument("--draft", action="store_true", help="few iterations")
    either.add_argument("--fine", action="store_true", help="many iterations")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of random numbers (default: 0)")
    group.add_argument(
        "--max-hours", type=float, metavar="H", help="save and stop after H hours (exit code 4)"
    )
    group.add_argument("--resume", action="store_true", help="continue an interrupted job, bit for bit")
    group.add_argument("--scene-only", action="store_true", help="write the scene, and run nothing")


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    for name, text in (
        ("csv", "a table of the moves: t, x, y, v, P"),
        ("svg", "a preview of the path"),
        ("tiff", "the dose and the developed map as pictures of floats"),
        ("hdf5", "the dose, the developed map and the target in one file"),
        ("baseline", "compare with the fastest raster that scores as well as rasters do"),
        ("force", "overwrite the files of an earlier job"),
        ("json", "print JSON"),
    ):
        group.add_argument(f"--{name}", action="store_true", help=text)


def run(a: argparse.Namespace) -> int:
    from minusgrad.plugin import UserError

    for options, owner, wanted in ((GRID, "--grid", a.grid), (FIT, "--fit", a.fit is not None)):
        for name in options:
            if not wanted and getattr(a, name) is not None:
                raise UserError(f"--{name}: is an option of {owner}, got none; leave --{name} out")
    if a.replay is not None:
        from .replay import replay

        return replay(a)
    if a.grid:
        from .calibrate.grid import write_grid

        return write_grid(a)
    if a.fit is not None:
        from .calibrate.fit import fit

        return fit(a)
    if a.image is None:
        raise UserError("laser: needs an IMAGE, or --replay FILE, --grid or --fit FILE")
    if a.layers is not None:
        from .layered import make_layered

        return make_layered(a)
    from .job import make

    return make(a)
