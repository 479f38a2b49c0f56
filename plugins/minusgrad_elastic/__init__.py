"""Elasticity: solids of triangles and tetrahedra, networks of springs or rods, loads, obstacles, damping."""

from minusgrad.plugin import hookimpl


@hookimpl
def register_energies():
    """Solids of several materials, springs and muscles, angles, foundations, dead loads, obstacles."""
    from .angles import angle, dihedral
    from .contacts import cylinder, floor, sphere, wall
    from .loads import body_force, load, pressure, traction
    from .materials.registered import MATERIALS
    from .springs import muscle, spring
    from .supports.foundations import foundation, ground_spring, side_spring
    from .topology.penalised import penalised_plate

    solids, springs = [*MATERIALS, penalised_plate], [spring, muscle, angle, dihedral]
    grounded = [foundation, side_spring, ground_spring]
    return [
        *solids,
        *springs,
        *grounded,
        body_force,
        traction,
        load,
        pressure,
        floor,
        wall,
        sphere,
        cylinder,
    ]


@hookimpl
def register_old_names():
    """The plates in plane stress, which were kinds of their own."""
    from .materials.registered import OLD_NAMES

    return OLD_NAMES


@hookimpl
def register_maps():
    """The density filter of topology optimisation; normals of surfaces."""
    from .normals import area_vector, facet_area, unit_normal
    from .topology.density_filter import density_filter

    return [density_filter, facet_area, area_vector, unit_normal]


@hookimpl
def register_dissipations():
    """Damping in proportion to mass, and to the rate of strain; friction on the ground; dashpots on sides."""
    from .damping import cylinder_friction, ground_friction, mass_damping, strain_rate_damping
    from .supports.foundations import side_dashpot

    return [mass_damping, strain_rate_damping, ground_friction, cylinder_friction, side_dashpot]


@hookimpl
def register_constraints():
    """Rods of fixed length, cranks that turn, planes at any angle."""
    from .rods import crank, rod
    from .supports.planes import symmetry_plane

    return [rod, crank, symmetry_plane]


@hookimpl
def register_compounds():
    """Contact, obstacles; sides that move as rigid bodies; macroscopic stresses of cells; normals."""
    from .contact.laws import LAWS
    from .normals import NormalsBlock
    from .periodic.mean_stress import COMPOUNDS
    from .shells.obstacle import Obstacle
    from .supports.rigid_side_block import COMPOUNDS as OF_SIDES

    return OF_SIDES | COMPOUNDS | {"obstacle": Obstacle, "normals": NormalsBlock} | LAWS


@hookimpl
def register_states():
    """Meshes: generated, from Gmsh, from elsewhere; networks of springs; domains of designs."""
    from .networks import NETWORKS
    from .states import STATES
    from .topology.domain import DesignDomain

    return STATES | NETWORKS | {"design_domain": DesignDomain}


@hookimpl
def register_observers():
    """The energy density and the stress of cells, resultants of the stress; how bodies move as a whole."""
    from .observers import OBSERVERS
    from .stress.blocks import StressBlock
    from .stress.resultant_block import ResultantBlock
    from .supports.rigid_motion import OBSERVERS as OF_BODIES

    return OBSERVERS | OF_BODIES | {"stress": StressBlock, "resultant": ResultantBlock}


@hookimpl
def register_file_descriptions():
    """What a file of a mesh contains."""
    from .mesh_files.contents import describe_mesh, endings

    return dict.fromkeys(endings(), describe_mesh)


@hookimpl
def register_published_values():
    """Benchmarks of solids, closed forms and the MBB beam, beside numbers that others have published."""
    from .published import macneal_harder, mosaic, nafems, solids, topology

    return [*nafems.ROWS, *macneal_harder.ROWS, *solids.ROWS, *mosaic.ROWS, *topology.ROWS]
