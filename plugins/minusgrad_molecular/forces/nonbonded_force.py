"""The NonbondedForce of a System: charges, Lennard-Jones parameters, exceptions, and its settings.

    Particles     of each particle q, sig, eps
    Exceptions    p1 p2 with q (product), sig, eps
    attributes    method, cutoff, switch, corrections, Ewald's parameters: `NonbondedSettings`

Parameters that are offset by global parameters have the values of the defaults of these.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from minusgrad.plugin import UserError, printable

from ..nonbonded_settings import NAMES, PERIODIC, NonbondedSettings
from .force_kind import ForceKind
from .force_part import ForcePart, Interactions
from .nonbonded_terms import nonbonded_terms
from .system_reader import SystemReader

KIND = "NonbondedForce"
NUMBERS = ("q", "sig", "eps")
USUAL = {
    "method": 0.0,
    "cutoff": 0.0,
    "useSwitchingFunction": 0.0,
    "switchingDistance": -1.0,
    "dispersionCorrection": 0.0,
    "rfDielectric": 78.3,
    "includeDirectSpace": 1.0,
    "ewaldTolerance": 5e-4,
    "alpha": 0.0,
    "nx": 0.0,
    "ny": 0.0,
    "nz": 0.0,
    "exceptionsUsePeriodic": 0.0,
}
"""Attributes, and their values where they are not there."""


def read_nonbonded(reader: SystemReader, forces: Sequence[Element]) -> ForcePart:
    """The one NonbondedForce: exceptions as `listed`, particles and settings as `own`.

    Raises `UserError` for two of them, for other numbers of particles, and for what has no counterpart here.
    """
    if len(forces) > 1:
        raise UserError(
            f"'{reader.file}': must have at most one NonbondedForce, got {len(forces)}; put them together"
        )
    (force,) = forces
    for name in ("GlobalParameters", "ParticleOffsets", "ExceptionOffsets"):
        if len(force.find(name) or ()):
            raise UserError(
                f"'{reader.file}': {name} of NonbondedForce are not supported; set the parameters of"
                " particles themselves"
            )
    found = force.findall("Particles/Particle")
    if len(found) != reader.n:
        raise UserError(
            f"'{reader.file}': NonbondedForce must have {reader.n} particles, as the System has,"
            f" got {len(found)}; write the file again"
        )
    settings = read_settings(reader, force)
    return ForcePart(
        listed=reader.tuples_of(KIND, forces, "Exceptions/Exception", 2, NUMBERS),
        own=({name: reader.numbers_of(found, name, KIND) for name in NUMBERS}, settings),
        periodic=settings.method in PERIODIC,
    )


def without_force(n: int) -> ForcePart:
    """That of a System of n particles without the force: no charges, no wells."""
    return ForcePart(
        listed=Interactions.none_of(2, *NUMBERS),
        own=({name: np.zeros(n) for name in NUMBERS}, NonbondedSettings()),
    )


def read_settings(reader: SystemReader, force: Element) -> NonbondedSettings:
    """Method, cutoff, switch and corrections. Raises `UserError` for those without a counterpart here."""
    found = {name: reader.number_of(force, name, KIND, usual) for name, usual in USUAL.items()}
    method = int(found["method"])
    if method != found["method"] or method not in range(len(NAMES) - 1):
        shown = dict(enumerate(NAMES)).get(method, f"{found['method']:g}")
        raise UserError(
            f"'{reader.file}': NonbondedForce with the method {printable(shown)}"
            " is not supported; make the System with PME, and a dispersion correction"
        )
    if not found["includeDirectSpace"]:
        raise UserError(
            f"'{reader.file}': NonbondedForce without its direct space is not supported; set"
            " setIncludeDirectSpace(True)"
        )
    begin, cutoff = found["switchingDistance"], found["cutoff"]
    switched = bool(found["useSwitchingFunction"]) and bool(method) and 0.0 <= begin < cutoff
    nx, ny, nz = (int(found[name]) for name in ("nx", "ny", "nz"))
    return NonbondedSettings(
        method,
        cutoff,
        begin if switched else None,
        bool(found["dispersionCorrection"]),
        found["rfDielectric"],
        found["ewaldTolerance"],
        found["alpha"],
        (nx, ny, nz),
        bool(found["exceptionsUsePeriodic"]),
    )


KINDS = (ForceKind(KIND, read_nonbonded, nonbonded_terms),)
