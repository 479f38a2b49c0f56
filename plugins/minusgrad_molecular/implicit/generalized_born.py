"""The energy of charges in an implicit solvent: generalized Born, and the area of the surface.

    U = k sum_{i<j} 1/2 (p_i q_j + p_j q_i) (1 / f_ij - shift)     generalized_born
        + k sum_i 1/2 p_i q_i / B_i                                born_self
        + sum_i 4 pi g (R_i + probe)^2 (R_i / B_i)^6               ace_surface
    p_i  = -(1 / eps_in - 1 / eps_out) q_i                         polarization_charge, a map
    f_ij = sqrt(r^2 + B_i B_j exp(-r^2 / (4 B_i B_j))),    r = |x_i - x_j|

x (n, d) [m], q (n,) [C], p (n,) [C] the charge that q induces in the solvent, B (n,) [m] effective radii and
R (n,) [m] intrinsic ones of `born_radii`; k = 1 / (4 pi eps0) [N m^2 C^-2], eps_in and eps_out the relative
permittivities of molecule and solvent, g [J m^-2] the surface tension, probe [m] the radius of a molecule of
the solvent. All pairs take part, bonded ones too. shift [1/m] is 0, or 1 / cutoff, so that a pair far apart
loses no energy at the cutoff, as in OpenMM.

Still et al. 1990, J. Am. Chem. Soc. 112, 6127, for f; Schaefer, Bartels & Karplus 1998, J. Mol. Biol. 284,
835, for the surface, with Ponder's sixth power; OpenMM User Guide 8, "GBSAOBCForce", has all defaults.

Decisions 0153.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import inf, pi
from typing import Any

from minusgrad import Fields, bind
from minusgrad.plugin import (
    Compound,
    Cutoff,
    Node,
    Parameter,
    UnitSystem,
    UserError,
    local_energy,
    local_map,
    ti,
)

from .born_radii import RADIUS, born_descreening, obc_radius, reduced_radius

EFFECTIVE = Node("m", bounds=(0.0, inf), open=True, reason="it is an effective radius")
CONSTANT = Parameter(
    "N m^2 C^-2",
    default="8.9875517862e9 N m^2 C^-2",
    bounds=(0.0, inf),
    about="Coulomb's constant 1 / (4 pi eps0).",
)
PERMITTIVITY = Parameter(bounds=(0.0, inf), open=True, reason="it divides")


@local_map(
    "polarization_charge",
    over="nodes",
    gives="polarization_charge",
    unit="C",
    charge=Node("C"),
    eps_in=replace(PERMITTIVITY, default=1.0, about="Relative permittivity of the molecule."),
    eps_out=replace(PERMITTIVITY, default=78.3, about="Relative permittivity of the solvent."),
)
def polarization_charge(charge, eps_in, eps_out):
    """The charge that an atom's charge induces in the solvent around it."""
    return (1.0 / eps_out - 1.0 / eps_in) * charge[0]


@local_energy(
    "generalized_born",
    over="pairs",
    symmetries=("translation", "rotation", "permutation"),
    x=Node("m", ("d",)),
    charge=Node("C"),
    polarization_charge=Node("C"),
    effective_radius=EFFECTIVE,
    coulomb_constant=CONSTANT,
    shift=Parameter(
        "m^-1", default=0.0, bounds=(0.0, inf), about="Taken from 1 / f: the inverse of the cutoff, or 0."
    ),
)
def generalized_born(x, charge, polarization_charge, effective_radius, coulomb_constant, shift):
    """The energy of two charges in the solvent that each of them polarizes."""
    square = (x[0] - x[1]).norm_sqr()
    radii = effective_radius[0] * effective_radius[1]
    inverse = 1.0 / ti.sqrt(square + radii * ti.exp(-0.25 * square / radii))
    product = polarization_charge[0] * charge[1] + polarization_charge[1] * charge[0]
    return 0.5 * coulomb_constant * product * (inverse - shift)


@local_energy(
    "born_self",
    over="nodes",
    charge=Node("C"),
    polarization_charge=Node("C"),
    effective_radius=EFFECTIVE,
    coulomb_constant=CONSTANT,
)
def born_self(charge, polarization_charge, effective_radius, coulomb_constant):
    """The energy of a charge in the solvent that it polarizes itself (Born 1920, Z. Phys. 1, 45)."""
    return 0.5 * coulomb_constant * polarization_charge[0] * charge[0] / effective_radius[0]


@local_energy(
    "ace_surface",
    over="nodes",
    effective_radius=EFFECTIVE,
    born_radius=RADIUS,
    tension=Parameter("J m^-2", default="2.25936 kJ mol^-1 nm^-2", about="Energy of an area of the surface."),
    probe=Parameter(
        "m", default="1.4 angstrom", bounds=(0.0, inf), about="Radius of a molecule of the solvent."
    ),
)
def ace_surface(effective_radius, born_radius, tension, probe):
    """The energy of the surface of an atom, which is the smaller, the deeper it lies."""
    reach = born_radius[0] + probe
    ratio = born_radius[0] / effective_radius[0]
    cube = ratio * ratio * ratio
    return 4.0 * pi * tension * reach * reach * cube * cube


def implicit_solvent(
    fields: Fields,
    *,
    within: Cutoff | None = None,
    surface: bool = True,
    renamed: Mapping[str, str] | None = None,
    name: str = "generalized_born",
    units: UnitSystem | None = None,
    **parameters: Any,
) -> Compound:
    """The maps and energies of the model of Onufriev, Bashford and Case with a surface, as OpenMM has them.

        solvent = implicit_solvent(fields, eps_out=78.3, units=units)
        potential = Potential(fields, solvent.terms, solvent.maps)

    fields: x, charge (n,), born_radius (n,), born_scale (n,), or those that `renamed` gives for them. within:
    the cutoff of all pairs, sharp, with the shift of OpenMM; None: every pair. surface: with the energy of
    the surface. name: of the energy of pairs; the others are called `name`_self and `name`_surface, maps
    `name`_reduced, _descreening, _radius and _charge, as their fields. parameters: of these energies and
    maps, in `units`; others are the defaults.

    Raises `UserError` for an intrinsic radius that is not above the offset, and in a periodic box without a
    cutoff.
    """
    known = {"x": "x", "charge": "charge", "born_radius": "born_radius", "born_scale": "born_scale"}
    known |= dict(renamed or {})
    if fields.box is not None and within is None:
        raise UserError(
            f"{name}: needs a cutoff in a periodic box, got none; give `cutoff`, at most half of its edges"
        )
    made = {
        "reduced_radius": f"{name}_reduced",
        "descreening": f"{name}_descreening",
        "effective_radius": f"{name}_radius",
        "polarization_charge": f"{name}_charge",
    }
    given = parameters | ({} if within is None else {"shift": 1.0 / within.radius})

    def part(of: Any, own: str, **options: Any) -> Any:
        read = {a: field for a, field in (known | made).items() if a in of.roles}
        mine = {a: value for a, value in given.items() if a in of.roles}
        return bind(of, fields, name=own, renamed=read, parameters=mine, units=units, **options)

    def stage(of: Any, output: str, **options: Any) -> Any:
        return part(of, made[output], gives=made[output], **options)

    maps = [
        stage(reduced_radius, "reduced_radius"),
        stage(born_descreening, "descreening", cutoff=within),
        stage(obc_radius, "effective_radius"),
        stage(polarization_charge, "polarization_charge"),
    ]
    _refuse_small_radii(name, fields, known["born_radius"], float(maps[0].parameters["offset"].rows[0]))
    terms = [part(generalized_born, name, cutoff=within), part(born_self, f"{name}_self")]
    if surface:
        terms.append(part(ace_surface, f"{name}_surface"))
    return Compound(terms, maps)


def _refuse_small_radii(name: str, fields: Fields, field: str, offset: float) -> None:
    radii = fields[field].values
    if (small := (radii <= offset).nonzero()[0]).size:
        raise UserError(
            f"{name}: {field} must be above the offset {offset:g}, got {radii[small[0]]:g} of node"
            f" {small[0]}; correct the radius"
        )
