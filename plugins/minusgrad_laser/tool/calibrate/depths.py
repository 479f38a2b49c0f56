"""`minusgrad laser --fit depths.csv`: the response of a material from measured depths, as a table."""

import argparse
import json
from pathlib import Path

from minusgrad.plugin import UserError, write_file

from ...calibration.depths import measured_depths
from .. import files, request
from ..machines import machine
from ..printed import print_scores
from .contents import file_contents


def fit_depths(a: argparse.Namespace) -> int:
    """Write the depth table of a command line. Returns the exit code."""
    source = Path(a.fit)
    for name in ("sheet", "cut"):
        if getattr(a, name) is not None:
            raise UserError(f"--{name}: is an option of photos, got {source}; leave it out")
    out = Path(a.out) if a.out else source.with_name(f"{source.stem}.table.csv")
    if out.suffix.lower() != ".csv":
        raise UserError(f"--out: the table is a CSV file, got '{out}'; end it with .csv")
    data = file_contents(source)
    files.refuse([out], a.force, source)
    full = None if a.full is None else request.quantity("--full", a.full, "J m^-2")
    found = measured_depths(str(source), data, machine(a.machine), full)
    write_file(out, found.text())
    facts = {"full": found.full, "doses": len(found.dose), "rows": found.rows, "noise": found.noise}
    if a.json:
        print(json.dumps({"depths": facts, "files": [str(out)]}, indent=1))
        return 0
    rows = [
        ("rows", f"{found.rows}, of {len(found.dose)} doses"),
        ("full dose", f"{1e-4 * found.full:.6g} J/cm^2"),
        (
            "depth",
            f"{1e6 * found.depth[0]:.4g} to {1e6 * found.depth[-1]:.4g} µm, ± {1e6 * found.noise:.2g} µm",
        ),
        ("in a scene", f'[state] response = {{ file = "{out.name}" }}, and map depth_table'),
    ]
    print_scores(f"{source}: a response", rows, [out])
    return 0
