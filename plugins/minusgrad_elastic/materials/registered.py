"""The materials of this package, as they are registered."""

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

MATERIALS = [
    linear,
    linear_plane_stress,
    stable_neo_hookean,
    hencky,
    hencky_plane_stress,
    linear_corotated,
    linear_corotated_plane_stress,
    fixed_corotated,
    fixed_corotated_plane_stress,
    mooney_rivlin,
    mooney_rivlin_plane_stress,
    ogden,
    ogden_plane_stress,
    neo_hookean_plane_stress,
    stable_neo_hookean_plane_stress,
    st_venant_kirchhoff_plane_stress,
    compressible_mooney_rivlin_plane_stress,
    compressible_ogden_plane_stress,
    fibres,
]
