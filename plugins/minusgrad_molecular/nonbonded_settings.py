"""Settings of an OpenMM NonbondedForce beside the energies of a scene, which may take others.

    method                 energy of charges                  cutoff of lennard_jones_mixture
    NoCutoff               coulomb                            none
    CutoffNonPeriodic      coulomb_reaction_field             that of the force
    CutoffPeriodic         the same                           that of the force
    Ewald, PME             pme                                that of the force

A switch begins where that of the force does, or is "none"; a force with a dispersion correction asks for
`dispersion`. A state has the parameters of atoms alone, so that the scene says all this once more. LJPME has
no energies of a scene; the compound `force_field` has it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, isclose, log, pi, sqrt
from typing import Any

import numpy as np

Block = Mapping[str, Any]
"""The values of a block of a scene, with its kind, in the run's units."""
NO_CUTOFF, EWALD, PME, LJPME = 0, 3, 4, 5
PERIODIC = (2, EWALD, PME, LJPME)
"""Methods by their number in files."""
NAMES = ("NoCutoff", "CutoffNonPeriodic", "CutoffPeriodic", "Ewald", "PME", "LJPME")
CHARGES = ("coulomb", "coulomb_reaction_field", "coulomb_reaction_field", "pme", "pme", "pme")
"""The energy of charges by method."""
OF_SYSTEMS = (
    *("harmonic_bond", "harmonic_angle", "periodic_torsion", "ryckaert_bellemans", "torsion_map"),
    *("lennard_jones", "lennard_jones_mixture", "lennard_jones_14", "coulomb_14", "dispersion"),
    *("generalized_born", *CHARGES),
)
"""Energies and compounds by which a scene writes the forces of a System itself."""
SWITCHED = 0.9
"""Where a switch begins, in parts of the cutoff, where a block does not say."""


@dataclass(frozen=True)
class NonbondedSettings:
    """The settings of a force in OpenMM's units; switch: where it begins, None without one.

    error, alpha and mesh: of Ewald sums; alpha = 0 follows from the error. boxed: exceptions are of nearest
    images.
    """

    method: int = NO_CUTOFF
    cutoff: float = 0.0
    switch: float | None = None
    dispersion: bool = False
    permittivity: float = 1.0
    error: float = 5e-4
    alpha: float = 0.0
    mesh: tuple[int, int, int] = (0, 0, 0)
    boxed: bool = False
    dispersion_alpha: float = 0.0
    dispersion_mesh: tuple[int, int, int] = (0, 0, 0)

    def splitting_and_mesh(
        self, box: np.ndarray, of_dispersion: bool = False
    ) -> tuple[float, tuple[int, int, int]]:
        """alpha [1/nm] and the cells of the mesh of PME in a box (3, 3) [nm], as OpenMM's Reference has them.

            alpha = sqrt(-ln(2 error)) / cutoff,    cells = ceil(2 alpha L / (3 error^(1/5))), at least 6

        L is the component of an edge vector along its own axis. Of dispersion: half as many cells.
        """
        alpha, mesh = (
            (self.dispersion_alpha, self.dispersion_mesh) if of_dispersion else (self.alpha, self.mesh)
        )
        if alpha:
            return alpha, mesh
        double = 1.0 if of_dispersion else 2.0
        alpha = sqrt(-log(2.0 * self.error)) / self.cutoff
        cells = [max(ceil(double * alpha * box[a, a] / (3.0 * self.error**0.2)), 6) for a in range(3)]
        return alpha, (cells[0], cells[1], cells[2])

    def splitting_and_waves(self, box: np.ndarray) -> tuple[float, tuple[int, int, int]]:
        """alpha [1/nm] and the least |m| that Ewald's sum leaves out along each axis, as OpenMM has them.

        0.05 sqrt(L alpha) m exp(-(pi m / (L alpha))^2) falls below the error there; next odd number.
        """
        alpha = sqrt(-log(2.0 * self.error)) / self.cutoff
        found = []
        for axis in range(3):
            width, m = box[axis, axis] * alpha, 10
            while self._wave_error(m, width) < 0.0:
                m += 1
            while m > 1 and self._wave_error(m - 1, width) > 0.0:
                m -= 1
            found.append(m + 1 - m % 2)
        return alpha, (found[0], found[1], found[2])

    def _wave_error(self, m: int, width: float) -> float:
        """How far the error of a sum up to m is below that which is asked."""
        return self.error - 0.05 * sqrt(width) * m * exp(-((m * pi / width) ** 2))

    def differences(
        self, blocks: Sequence[Block], nanometre: float, extent: float, charged: bool, wells: bool
    ) -> Iterator[str]:
        """What the energies of a scene do otherwise: "has ..., the scene ...".

        nanometre: in the run's units. extent: the longest distance of two atoms, beyond which a cutoff is
        none. charged, wells: atoms have charges, and Lennard-Jones wells.
        """
        if wells:
            for block in blocks:
                if block["kind"] in ("lennard_jones", "lennard_jones_mixture"):
                    yield from self._of_wells(block, nanometre, extent)
            if any(b["kind"] == "lennard_jones_mixture" for b in blocks):
                yield from self._of_dispersion([b for b in blocks if b["kind"] == "dispersion"])
        if charged:
            yield from self._of_charges([b for b in blocks if b["kind"] in CHARGES], nanometre)

    def _of_wells(self, block: Block, nanometre: float, extent: float) -> Iterator[str]:
        """The cutoff and the switch of a Lennard-Jones energy."""
        label, cutoff = block.get("name") or block["kind"], block.get("cutoff")
        if cutoff is not None and self.method == NO_CUTOFF and cutoff >= extent:
            return
        asked = None if self.method == NO_CUTOFF else self.cutoff * nanometre
        if not _are_alike(asked, cutoff):
            asks, has = (
                _length_in_words(self.cutoff if asked else None, "cutoff"),
                _length_in_words(cutoff, "cutoff", nanometre),
            )
            yield f"has {asks}, {label} {has}"
            return
        if cutoff is None:
            return
        begins, switch = block.get("switch"), None if self.switch is None else self.switch * nanometre
        begin = None if begins == "none" else SWITCHED * cutoff if begins is None else begins
        if not _are_alike(switch, begin):
            yield (
                f"has {_length_in_words(self.switch, 'switch from')}, {label} "
                f"{_length_in_words(begin, 'switch from', nanometre)}"
            )

    def _of_dispersion(self, corrections: Sequence[Block]) -> Iterator[str]:
        wanted = self.dispersion and self.method in PERIODIC
        if wanted and not corrections:
            yield 'has a dispersion correction, the scene none; add [[compound]] kind = "dispersion"'
        if corrections and not wanted:
            yield f"has no dispersion correction, the scene has '{corrections[0].get('name', 'dispersion')}'"

    def _of_charges(self, blocks: Sequence[Block], nanometre: float) -> Iterator[str]:
        asked, name = CHARGES[self.method], NAMES[self.method]
        if blocks and all(block["kind"] != asked for block in blocks):
            yield f"asks for {name}, which is '{asked}' here, the scene has '{blocks[0]['kind']}'"
        for block in blocks:
            if block["kind"] != asked or asked != "coulomb_reaction_field":
                continue
            if not _are_alike(block["radius"], self.cutoff * nanometre):
                has = _length_in_words(block["radius"], "radius", nanometre)
                yield f"has a cutoff of {self.cutoff:g} nm, {asked} {has}"
            if not _are_alike(block.get("eps_rf") or 78.3, self.permittivity):
                yield f"has rfDielectric = {self.permittivity:g}, {asked} eps_rf = {block.get('eps_rf'):g}"


def twice_counted(file: str, blocks: Sequence[Block]) -> list[str]:
    """A remark on energies of the scene that the compound `force_field` has, too."""
    if all(block["kind"] != "force_field" for block in blocks):
        return []
    beside = [str(block.get("name") or block["kind"]) for block in blocks if block["kind"] in OF_SYSTEMS]
    if not beside:
        return []
    return [
        f"'{file}': force_field has all of its energies, {', '.join(beside)} come on top; the scene counts"
    ]


def _are_alike(a: float | None, b: float | None) -> bool:
    return a is b if a is None or b is None else isclose(a, b, rel_tol=1e-6)


def _length_in_words(length: float | None, what: str, nanometre: float = 1.0) -> str:
    """`a cutoff of 0.8 nm`, `no switch`."""
    if length is None:
        return f"no {what.split()[0]}"
    return f"a {what} {'' if ' ' in what else 'of '}{length / nanometre:g} nm"
