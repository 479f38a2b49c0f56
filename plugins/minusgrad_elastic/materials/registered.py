"""The materials of this package, as they are registered.

Decisions 0111.
"""

from dataclasses import replace

from minusgrad.plugin import OldName

from ..hyperelastic import neo_hookean, st_venant_kirchhoff
from .corotated import (
    fixed_corotated,
    fixed_corotated_plane_stress,
    linear_corotated,
    linear_corotated_plane_stress,
)
from .fibres import fibres
from .hencky import hencky, hencky_plane_stress
from .linear import linear, linear_plane_stress
from .plates import (
    compressible_mooney_rivlin_plane_stress,
    compressible_ogden_plane_stress,
    neo_hookean_plane_stress,
    st_venant_kirchhoff_plane_stress,
    stable_neo_hookean_plane_stress,
)
from .rubber import mooney_rivlin, mooney_rivlin_plane_stress, ogden, ogden_plane_stress, stable_neo_hookean

PLATES = {
    neo_hookean: neo_hookean_plane_stress,
    st_venant_kirchhoff: st_venant_kirchhoff_plane_stress,
    linear: linear_plane_stress,
    hencky: hencky_plane_stress,
    linear_corotated: linear_corotated_plane_stress,
    fixed_corotated: fixed_corotated_plane_stress,
    stable_neo_hookean: stable_neo_hookean_plane_stress,
    mooney_rivlin: compressible_mooney_rivlin_plane_stress,
    ogden: compressible_ogden_plane_stress,
}
"""The forms of solids for plates in plane stress."""
FREE_ACROSS = {solid.name: replace(solid, plane_stress=plate) for solid, plate in PLATES.items()}
"""The solids with these forms, by name."""
MATERIALS = [*FREE_ACROSS.values(), mooney_rivlin_plane_stress, ogden_plane_stress, fibres]
OLD_NAMES = [
    OldName("energy", plate.name, solid.name, {"plane_stress": True}) for solid, plate in PLATES.items()
]
