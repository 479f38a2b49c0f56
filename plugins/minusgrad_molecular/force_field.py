"""Application of OpenMM's force fields to a PDB file: for the child process of `bounded_read`.

OpenMM's readers and its matching of residues run here, never in the process of a user. Force-field files
are the user's own: OpenMM executes the scripts in them.

Decisions 0105.
"""

from collections.abc import Sequence
from io import StringIO

from minusgrad.plugin import UserError

LOADS = ("openmm.app",)
SECONDS, SPACE = 20.0, 1 << 30
"""Beyond the limits for the PDB file: computing time of reading force fields, and their address space."""


def system(file: str, data: bytes, force_fields: Sequence[str]) -> str:
    """The XML of the System of the atoms of a PDB file; `force_fields`: names of OpenMM's, or paths.

    Raises `UserError` for a PDB file that OpenMM cannot read, and for residues that no force field knows.
    """
    import openmm
    from openmm import app

    try:
        found = app.PDBFile(StringIO(data.decode("utf-8", "replace")))
        periodic = found.topology.getPeriodicBoxVectors() is not None
        method = app.CutoffPeriodic if periodic else app.NoCutoff
        made = app.ForceField(*force_fields).createSystem(
            found.topology, nonbondedMethod=method, constraints=None, rigidWater=False, removeCMMotion=False
        )
        return openmm.XmlSerializer.serialize(made)
    except MemoryError:
        raise
    except Exception as error:  # OpenMM raises ValueError, KeyError, OSError, its own and others
        reason = " ".join(str(error).split())[:500] or type(error).__name__
        raise UserError(
            f"'{file}': OpenMM cannot make a System with {', '.join(force_fields)} ({reason});"
            " correct the file, or name force fields that have its residues"
        ) from error
