"""Stress and elastic constants of a periodic crystal, with internal relaxation.

    x_i = F X_i + u_i,   h_c = F H_c,   F = 1 + e         atoms and edge vectors under a homogeneous strain e
    sigma_ab  = (1/V) dU/dF_ab = (1/V) [ sum_i (dU/dx_i)_a x_ib + sum_c (dU/dh_c)_a h_cb ]
    A_abkl    = (1/V) [ d2U/dF_ab dF_kl - (d2U/dF_ab du) (d2U/du du)^-1 (d2U/du dF_kl) ]
    C_abkl    = A_abkl - delta_ak sigma_bl                                     second Piola (Brugger)
    B_abkl    = C_abkl + G_abkl - delta_kl sigma_ab                            Birch
    G_abkl    = (delta_ak sigma_bl + delta_al sigma_bk + delta_bk sigma_al + delta_bl sigma_ak) / 2

Under constraints g(x, h) = 0 U is the Lagrangian U + lambda g, and u keeps g (`strained_crystal`).

x and h are linear in F, so that A needs only Hessian products along {x: e x, h: e h}. Without the second term
of A the atoms follow the strain (unrelaxed). C is the second derivative of the energy per volume by the
Lagrangian strain (F'F - 1)/2; B is the change of the stress with the strain, which decides about stability
and the speed of sound. At zero stress A, B and C are equal (Barron & Klein 1965, Proc. Phys. Soc. 85, 523;
Wallace 1972, Thermodynamics of Crystals). Internal relaxation: Born & Huang 1954, Dynamical Theory of Crystal
Lattices.

x (n, d), h (d, d) rows [m]; sigma (d, d), A, B, C (d, d, d, d) [Pa], in the plane [N/m]. All is static:
without the kinetic part of the stress, and without vibrations. U has the energy J / V of sharp cutoffs in it,
where they are counted (`cutoff_jumps`).

Decisions 0331.
"""

from dataclasses import dataclass
from math import nan

import numpy as np

from ...energies.fields import POSITIONS
from ...errors import EnergyError
from ...potential.constraints.constraints import Constraints
from ...potential.potential import Potential
from ..stepper import Stepper
from ..systems.parts import ALL, FRICTION, LAGRANGIAN, MAGNETIC, Consumer
from .strained_crystal import crystal_of, table

STRAINS = {2: ((0, 0), (1, 1), (0, 1)), 3: ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))}
"""Voigt's order of the components: xx, yy, xy in the plane; xx, yy, zz, yz, xz, xy in space."""


@dataclass(frozen=True)
class Elasticity:
    """The stress and the elastic constants of a crystal, in the potential's units.

    stress: (d, d), positive in tension. unrelaxed: the atoms follow the strain. relaxed: they move to where
    they are free of forces. Both are Birch coefficients over the strains xx, yy, zz, yz, xz, xy (in the plane
    xx, yy, xy), (6, 6) or (3, 3); `brugger` converts them. largest_force: the largest component of dU/dx,
    which the relaxation takes to be zero.
    """

    stress: np.ndarray
    unrelaxed: np.ndarray
    relaxed: np.ndarray
    largest_force: float

    @property
    def pressure(self) -> float:
        """-trace(stress) / d."""
        return -float(np.trace(self.stress)) / len(self.stress)

    def brugger(self, birch: np.ndarray) -> np.ndarray:
        """Second derivatives by the Lagrangian strain, from `relaxed` or `unrelaxed`."""
        return birch - voigt(_turned(self.stress) - _pressed(self.stress))


def elastic_constants(
    potential: Potential,
    t: float = 0.0,
    *,
    positions: str = POSITIONS,
    relax: bool = True,
    constraints: Constraints | None = None,
    stepper: Stepper | None = None,
) -> Elasticity:
    """The stress and the elastic constants of a crystal whose atoms are at rest.

        constants = elastic_constants(potential)
        constants.relaxed[0, 0], constants.relaxed[0, 1], constants.relaxed[3, 3]       # C11, C12, C44

    potential: U of the field `positions` (n, d) in a periodic box. relax: compute
    the relaxed constants, too; without they are NaN. The relaxation is solved by conjugate gradients of
    Hessian products without translations, and so works through maps. constraints: g = 0, which the relaxation
    keeps; no strain that all atoms follow does, so that `unrelaxed` is NaN. stepper: that of a scene, which
    knows what acts besides U; its constraints are taken unless others are given.

    Raises `EnergyError` for a Lagrangian and held atoms (one may fix the place), for constraints that tie
    atoms to places, for a potential without the box, where the atoms are at no minimum of U, and where the
    relaxation does not converge.
    """
    if stepper is not None:
        ELASTIC.accept(stepper.system)
        _refuse_held(stepper)
        constraints = constraints or stepper.constraints
    crystal = crystal_of(potential, t, positions, constraints)
    strains = [_strain(crystal.dimension, *pair) for pair in STRAINS[crystal.dimension]]
    forces, slopes = zip(*(crystal.response(e) for e in strains), strict=True)
    direct = table(strains, slopes)
    stress, volume = crystal.stress, crystal.volume
    found = direct / volume + voigt(_turned(stress) / 2.0 - _pressed(stress))
    none = np.full(found.shape, nan)
    relaxed = found + crystal.relaxation(forces, crystal.rounding(direct)) / volume if relax else none
    unrelaxed = none if constraints else found
    return Elasticity(stress, unrelaxed, relaxed, crystal.largest_force)


ELASTIC = Consumer(
    "elastic constants",
    ALL - {LAGRANGIAN},
    idle=dict.fromkeys((FRICTION, MAGNETIC), "at rest it has no force"),
    cure="leave it out (the observer `pressure` with tensor = true has the stress)",
)
"""The parts of a system whose elastic constants are those of energies and constraints."""


def _refuse_held(stepper: Stepper) -> None:
    """Raise `EnergyError` for several held nodes, which a relaxation of all atoms would move."""
    at_places = stepper.holds.held.get(POSITIONS)
    if at_places and (held := len(np.unique(at_places.all[0]))) > 1:
        raise EnergyError(
            f"elastic constants: have no rule for {held} held nodes, got a relaxation of all atoms; hold one"
            " at most (the observer `pressure` with tensor = true has the stress)"
        )


def voigt(constants: np.ndarray) -> np.ndarray:
    """Constants (d, d, d, d) as a matrix over the strains xx, yy, zz, yz, xz, xy; in the plane xx, yy, xy."""
    pairs = STRAINS[len(constants)]
    return np.array([[constants[*row, *column] for column in pairs] for row in pairs])


def _strain(dimension: int, k: int, m: int) -> np.ndarray:
    """The symmetric strain whose component k, m is 1 in Voigt's notation: half of it on either side."""
    e = np.zeros((dimension, dimension))
    e[k, m] += 0.5
    e[m, k] += 0.5
    return e


def _turned(stress: np.ndarray) -> np.ndarray:
    """G (d, d, d, d): (delta_ak sigma_bl + delta_al sigma_bk + delta_bk sigma_al + delta_bl sigma_ak) / 2."""
    half = 0.5 * np.einsum("ak,bl->abkl", np.eye(len(stress)), stress)
    first = half + half.transpose(0, 1, 3, 2)
    return first + first.transpose(1, 0, 2, 3)


def _pressed(stress: np.ndarray) -> np.ndarray:
    """delta_kl sigma_ab."""
    return np.einsum("kl,ab->abkl", np.eye(len(stress)), stress)
