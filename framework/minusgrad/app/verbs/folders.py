"""`info`, `verify`, `compare`, `export`, `plot` and `movie`: reading run folders."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from ...errors import UserError
from ..streams import EndingStream
from .shared_options import json_option, out_option, path, print_json, run_argument, with_run

EXPORTS = ("csv", "xyz", "extxyz", "pdb", "lammps-data", "dcd", "xtc", "vtu")


def info_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser, "folder of a run or a fit, or a file of a plugin's kind, such as a mesh")
    json_option(parser)


def verify_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser)
    json_option(parser)


def compare_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("one", type=path, metavar="A", help="a run folder, or a checkpoint")
    parser.add_argument("other", type=path, metavar="B", help="another one")
    json_option(parser)


def export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=path, help="folder of a run or a fit")
    text = "names of recorded series, like total or position (default: all observables)"
    parser.add_argument("series", nargs="*", metavar="SERIES", help=text)
    text = "file to write (default: the terminal); of --member and vtu the folder (default: FOLDER-...)"
    out_option(parser, text, "FILE")
    text = (
        "csv; xyz: frames in the run's units; extxyz, pdb, lammps-data, dcd, xtc: of atoms, in angstrom, for"
        " ASE, OpenMM, LAMMPS, MDAnalysis; vtu: for ParaView (default: csv)"
    )
    parser.add_argument("--format", choices=EXPORTS, default="csv", metavar="F", help=text)
    text = "of frames: that of step N alone, or the last one before it"
    parser.add_argument("--step", type=int, metavar="N", help=text)
    text = "of frames: every K-th recorded one, and the last (default: all)"
    parser.add_argument("--every", type=int, metavar="K", help=text)
    text = (
        "of files of atoms: the element of all nodes (Ar), or of a body (core=Fe); may be given several times"
    )
    parser.add_argument("--element", action="append", default=[], metavar="[BODY=]X", help=text)
    kind = parser.add_mutually_exclusive_group()
    text = "of an ensemble: a row for each member, with varied values, failure and last observables"
    kind.add_argument("--table", action="store_true", help=text)
    text = "of an ensemble: write member N as a run folder of its own, as run --member N does"
    kind.add_argument("--member", type=int, metavar="N", help=text)


def plot_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser)
    out_option(parser, "folder to write (default: pictures/ in the run)")
    text = "file format: png, or svg or pdf for print (default: png)"
    parser.add_argument("--format", default="png", metavar="F", help=text)
    dark_option(parser)
    text = "width of the pictures, such as 8.5cm for a column of a journal (default: about 16 cm)"
    parser.add_argument("--width", default="", metavar="W", help=text)
    text = "dots an inch of PNG files (default: 150; journals ask for 300 to 600)"
    parser.add_argument("--dpi", type=int, metavar="N", help=text)
    text = "sans, serif as in journals, or the name of an installed font (default: sans)"
    parser.add_argument("--font", default="sans", metavar="F", help=text)
    text = "show bodies, points and maps as they were recorded last up to this step (default: the end)"
    parser.add_argument("--step", type=int, metavar="N", help=text)
    text = "draw the pictures of this series alone, like energy_density, speed or temperature/kinetic"
    parser.add_argument("--field", default="", metavar="NAME", help=text)
    text = "draw the sides of a scene, of a mesh file or of a run, with their names and areas; nothing is run"
    parser.add_argument("--sides", action="store_true", help=text)
    view_option(parser)
    body_option(parser)


def body_option(parser: argparse.ArgumentParser) -> None:
    text = "show the nodes of this body of the state alone; may be given several times"
    parser.add_argument("--body", action="append", default=[], metavar="NAME", help=text)


def view_option(parser: argparse.ArgumentParser) -> None:
    text = (
        "where the eye is, of bodies in space: x, y, z, the plane xy, xz, yz, or AZIMUTH,ELEVATION in degrees"
    )
    parser.add_argument("--view", default="", metavar="V", help=text)


def dark_option(parser: argparse.ArgumentParser) -> None:
    text = "light lines on a dark page, for a talk"
    parser.add_argument("--dark", action="store_true", help=text)


def movie_options(parser: argparse.ArgumentParser) -> None:
    run_argument(parser)
    text = (
        "file to write: .webp, .gif or .mp4, which needs the extra movie (default: a WebP file in pictures/)"
    )
    out_option(parser, text, "FILE", former="--to")
    text = "field that gives the colour, or is shown: speed, or the name of a recorded series"
    parser.add_argument("--field", default="", metavar="NAME", help=text)
    body_option(parser)
    view_option(parser)
    text = "frames a second (default: 5 to 25, for about 8 seconds)"
    parser.add_argument("--fps", type=float, metavar="N", help=text)
    text = "take every K-th recorded frame (default: at most 240 frames)"
    parser.add_argument("--every", type=int, metavar="K", help=text)
    dark_option(parser)


def info(a: argparse.Namespace) -> int:
    from ..info import info
    from ..tables import print_info

    if a.folder is not None and a.folder.is_file():
        return _info_of_file(a)
    with_run(a)
    found = info(a.folder)
    print_json(found) if a.json else print_info(found)
    return 0


def _info_of_file(a: argparse.Namespace) -> int:
    from ..file_info import describe_file
    from ..tables import print_description

    found = describe_file(a.folder)
    print_json(found) if a.json else print_description(found)
    return 0


def verify(a: argparse.Namespace) -> int:
    from ..tables import print_verification
    from ..verify import strays, verify

    with_run(a)
    answers = list(verify(a.folder))
    if a.json:
        print_json([answer.as_dict() for answer in answers])
    else:
        print_verification(answers, strays(a.folder))
    return 0 if all(answer.passed for answer in answers) else 1


def compare(a: argparse.Namespace) -> int:
    from ..compare import compare
    from ..tables import print_comparison

    found = compare(a.one, a.other)
    print_json(found.as_dict()) if a.json else print_comparison(found)
    return 1 if found.differences else 0


def export(a: argparse.Namespace) -> int:
    members, frames = a.table or a.member is not None, a.format != "csv"
    if members and a.series:
        raise UserError(
            f"{a.series[0]}: is a series, got an option that exports members; leave one of them out"
        )
    if members and frames:
        raise UserError(f"--format {a.format}: is for frames, got an option that exports members")
    if not frames and (a.step is not None or a.every is not None):
        raise UserError("--step and --every: choose frames, got csv; use --format xyz or vtu")
    if not frames and a.element:
        raise UserError("--element: is for files of atoms, got csv; use --format extxyz or pdb")
    if a.member is not None:
        return _export_member(a)
    return _export_frames(a) if frames else _export_rows(a)


def _export_frames(a: argparse.Namespace) -> int:
    from ..results.frame_export import write_frames

    written = write_frames(a.folder, a.format, a.out, a.series, a.step, a.every, a.element)
    if written.path is not None:
        print(f"{written.path}: {written.frames} {'frame' if written.frames == 1 else 'frames'}")
    for remark in written.remarks:
        print(f"note: {remark}", file=sys.stderr)
    return 0


def _export_rows(a: argparse.Namespace) -> int:
    from ..results.csv_export import export, export_table

    write = export_table if a.table else partial(export, names=a.series)
    if a.out is None:
        write(a.folder, out=EndingStream(sys.stdout))
        return 0
    from ...files.durable import outside_a_run, rewritten

    if a.out.is_dir() or not a.out.parent.is_dir():
        why = "is a folder" if a.out.is_dir() else f"there is no folder {a.out.parent}"
        raise UserError(f"{a.out}: cannot be written: {why}; give a file with --out")
    with outside_a_run(a.out, "give another file with --out"), rewritten(a.out) as file:
        rows = write(a.folder, out=file)
    print(f"{a.out}: {rows} rows")
    return 0


def _export_member(a: argparse.Namespace) -> int:
    from ..ensembles.member_folder import write_member

    out = a.out or a.folder.with_name(f"{a.folder.resolve().name}-member-{a.member}")
    print(write_member(a.folder, a.member, out))
    return 0


def plot(a: argparse.Namespace) -> int:
    from ...plot.pictures import plot
    from ..run_options import writable

    if a.sides:
        return _plot_sides(a)
    with_run(a)
    shown = {"step": a.step, "field": a.field, "view": a.view, "form": a.format}
    shown |= {"dark": a.dark, "width": a.width, "dpi": a.dpi, "font": a.font}
    for file in plot(a.folder, a.out and writable(a.out), a.body, **shown):
        print(file)
    return 0


def _plot_sides(a: argparse.Namespace) -> int:
    from ..run_options import writable
    from .shipped.places import own_plugins, scene_file
    from .side_plots import draw_sides

    if unfit := [f"--{key}" for key in ("step", "field", "view") if getattr(a, key) not in (None, "")]:
        raise UserError(
            f"plot: {unfit[0]} is for what a run recorded, got --sides, too; leave one of them out"
        )
    with_run(a)
    paper = {"form": a.format, "dark": a.dark, "width": a.width, "dpi": a.dpi, "font": a.font}
    file = a.folder if a.folder.exists() else scene_file(a.folder)
    plugins = [] if file.is_dir() else own_plugins(file)
    print(draw_sides(file, a.out and writable(a.out), a.body, plugins, **paper))
    return 0


def movie(a: argparse.Namespace) -> int:
    from ...plot.movies.movie import movie
    from ..progress import progress

    with_run(a)
    shown = {"field": a.field, "bodies": a.body, "view": a.view, "dark": a.dark}
    told = partial(progress, counted="frame")
    print(movie(a.folder, a.out, **shown, fps=a.fps, every=a.every, progress=told))
    return 0
