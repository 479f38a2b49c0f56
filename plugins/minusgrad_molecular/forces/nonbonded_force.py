"""The NonbondedForce of a System: charges, Lennard-Jones parameters, exceptions, and its settings.

    Particles     of each particle q, sig, eps
    Exceptions    p1 p2 with q (product), sig, eps
    attributes    method, cutoff, switch, corrections, Ewald's parameters: `NonbondedSettings`

A parameter with offsets is p + sum over offsets of scale * (the default of a global parameter): OpenMM's
values of a new context.
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
    "ljAlpha": 0.0,
    "ljnx": 0.0,
    "ljny": 0.0,
    "ljnz": 0.0,
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
    found = force.findall("Particles/Particle")
    if len(found) != reader.n:
        raise UserError(
            f"'{reader.file}': NonbondedForce must have {reader.n} particles, as the System has,"
            f" got {len(found)}; write the file again"
        )
    settings = read_settings(reader, force)
    particles = {name: reader.numbers_of(found, name, KIND) for name in NUMBERS}
    exceptions = reader.tuples_of(KIND, forces, "Exceptions/Exception", 2, NUMBERS)
    offset = [
        *_add_offsets(reader, force, "particle", particles),
        *_add_offsets(reader, force, "exception", exceptions.numbers),
    ]
    return ForcePart(
        listed=exceptions,
        own=(particles, settings),
        periodic=settings.method in PERIODIC,
        remarks=_remarks_on(reader, offset),
    )


def _add_offsets(
    reader: SystemReader, force: Element, what: str, numbers: dict[str, np.ndarray]
) -> list[tuple[str, float]]:
    """Add offsets to the numbers of particles or exceptions; the parameters that they use, with defaults.

    Raises `UserError` for a parameter that the force does not have, and for a particle that does not exist.
    """
    defaults = {
        one.get("name", "?"): reader.number_of(one, "default", KIND, 0.0)
        for one in force.iterfind("GlobalParameters/Parameter")
    }
    found = force.findall(f"{what.capitalize()}Offsets/Offset")
    rows = reader.numbers_of(found, what, KIND)
    names = [one.get("parameter", "?") for one in found]
    for row, name in zip(rows.tolist(), names, strict=True):
        if name not in defaults or row != round(row) or not 0 <= row < len(numbers["q"]):
            raise UserError(
                f"'{reader.file}': {KIND}: offsets must be of a global parameter and of one of the"
                f" {len(numbers['q'])} {what}s, got '{printable(name)}' and {row:g}; write the file again"
            )
    scales = np.array([defaults[name] for name in names])
    places = reader.sites.places[rows.astype(int)] if what == "particle" else rows.astype(int)
    for number in NUMBERS:
        np.add.at(numbers[number], places, scales * reader.numbers_of(found, number, KIND))
    return [(name, defaults[name]) for name in names]


def _remarks_on(reader: SystemReader, offset: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """A remark on the values of global parameters, if there are some."""
    if not offset:
        return ()
    values = ", ".join(f"{printable(name)} = {value:g}" for name, value in dict(offset).items())
    return (
        f"'{reader.file}': {KIND}: parameters with offsets have the values of the defaults, {values}; to"
        " change them, write the file again",
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
    if method != found["method"] or method not in range(len(NAMES)):
        raise UserError(
            f"'{reader.file}': NonbondedForce: method must be a number from 0 to 5, got {found['method']:g};"
            " write the file again"
        )
    if not found["includeDirectSpace"]:
        raise UserError(
            f"'{reader.file}': NonbondedForce without its direct space is not supported; set"
            " setIncludeDirectSpace(True)"
        )
    begin, cutoff = found["switchingDistance"], found["cutoff"]
    switched = bool(found["useSwitchingFunction"]) and bool(method) and 0.0 <= begin < cutoff
    nx, ny, nz, ljnx, ljny, ljnz = (int(found[f"{of}{axis}"]) for of in ("n", "ljn") for axis in "xyz")
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
        found["ljAlpha"],
        (ljnx, ljny, ljnz),
    )


KINDS = (ForceKind(KIND, read_nonbonded, nonbonded_terms),)
