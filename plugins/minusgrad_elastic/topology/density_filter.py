"""The density filter: the density of a cell is a weighted mean of the design around it.

    density_e = sum_f share_ef design_f,       share_ef = H_ef / sum_f H_ef

design, density (E,) [1]. It keeps structures from being finer than the mesh, so that they do not depend on
it (Bruns & Tortorelli 2001, Comput. Methods Appl. Mech. Eng. 190, 3443; Bourdin 2001).
"""

from minusgrad.plugin import Datum, Node, local_map


@local_map(
    "density_filter",
    gives="density",
    over=("cell", "design_cell"),
    design=Node(bounds=(0.0, 1.0), of="design_cell"),
    share=Datum(about="Share of a cell's design in the density of a cell near it."),
)
def density_filter(design, share):
    """The share of a cell in the density of a cell near it."""
    return share * design[1]
