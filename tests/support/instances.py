"""The canonical instances of all energies and maps, and how a random state of one is made.

Every energy that is registered has an entry in `CANONICAL`, every map that gives a number to nodes or cells
one in `MAPS`; `test_exam` and `test_maps` sit them through the exam. Maps over named sets or over cells,
those that give vectors or several fields, and staged ones are examined by `minusgrad check`
(`check/test_false_alarms`), and in the exams of their scenes.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from minusgrad import Fields, bind
from minusgrad.energies.fields import Body, Grid
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.energies.local_map import LocalMap
from minusgrad.energies.roles import Node
from minusgrad.energies.staged_map import StagedMap
from minusgrad.exam.instances import Instance, corners, distinct, general, lattice, round_to_f32
from minusgrad.potential.potential import Potential
from minusgrad_control import electrodes, layers, mechanisms
from minusgrad_control import losses as aims
from minusgrad_crystals import stillinger_weber, sutton_chen
from minusgrad_elastic import angles, contacts, damping, loads, rods, springs
from minusgrad_elastic.materials.registered import MATERIALS, PLATES
from minusgrad_elastic.supports import foundations, planes
from minusgrad_gravity import about_a_mass, drags, external_fields
from minusgrad_gravity.gravity import gravity
from minusgrad_grids import misfits, waves
from minusgrad_heat import boundaries as surfaces
from minusgrad_heat import conduction as heat
from minusgrad_impacts import balls, boxes
from minusgrad_laser.dose import blanking as beams
from minusgrad_laser.dose import constant_power, even_power, gaussian_beam, spots, stencil_lines
from minusgrad_laser.losses import edge_placement, exposure_limits, overlap, path_costs, pixel_differences
from minusgrad_laser.materials import response_table, responses, thermal_memory
from minusgrad_molecular import bonded, electrostatics, lennard_jones, torsion_maps
from minusgrad_molecular.implicit import born_radii, generalized_born
from minusgrad_molecular.species import mixing_rules
from minusgrad_mpm import materials
from minusgrad_rendering.losses import view_l2
from minusgrad_rods import bends, drag
from minusgrad_rods import loads as rod_loads
from minusgrad_rods import obstacles as rod_obstacles
from minusgrad_shells import air, bending, fabrics, membranes, plate_bending, seams
from minusgrad_shells.koiter import energies as koiter
from minusgrad_sph import compression, density, viscosity
from tests.support import energies


@dataclass(frozen=True)
class MapInstance(Instance):
    """A map as the exam takes it, with an energy that reads what it gives.

    `grid` by the dimension of space. `each`: a parameter with a value for each element; `of_body`: one with a
    value for each of two bodies. `steady`: an argument that is read for its dimension alone.
    """

    grid: Mapping[int, Grid] = field(default_factory=dict)
    each: str = ""
    of_body: str = ""
    steady: str = ""

    @property
    def dimensions(self) -> tuple[int, ...]:
        return tuple(self.grid) or super().dimensions

    def potential(
        self, rng: np.random.Generator, d: int, n: int = 6, e: int = 5, precision: str = "f64"
    ) -> Potential:
        drawn = self._draw_fields(rng, n, d)
        receivers = len(self.grid[d]) if self.grid else n
        fields = Fields(drawn | {"lean": round_to_f32(rng.normal(size=receivers))}, precision=precision)
        given = self._bind_term(rng, fields, n, e, d)
        roles = energies.readout.roles | {"y": Node(given.gives.unit)}
        reader = replace(energies.readout, roles=roles)
        read = bind(reader, fields, renamed={"y": given.gives.name})
        return Potential(fields, [read], [given])

    def _element_options(self, rng: np.random.Generator, n: int, e: int, d: int) -> dict[str, Any]:
        options = super()._element_options(rng, n, e, d) | ({"grid": self.grid[d]} if self.grid else {})
        if self.of_body:
            half = n // 2
            rows = [distinct(rng, half, self.energy.over) + half * (k % 2) for k in range(e)]
            options |= {"tuples": rows, "bodies": [Body("front", range(half)), Body("back", range(half, n))]}
        return options

    def _draw_parameter(self, name: str, draw: Callable[[], np.ndarray], count: int) -> Any:
        if name == self.of_body:
            return {"front": draw(), "back": draw()}
        return np.array([draw() for _ in range(count)]) if name == self.each else draw()


def _touching(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Some nodes in a ball of radius 0.5 or more, whose centre is near (1, 1, ...)."""
    return {"x": 1.0 + 0.5 * rng.normal(size=(n, d))}


def _on_a_cylinder(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """The same in space, with velocities."""
    return _touching(rng, n, 3) | {"v": rng.normal(size=(n, 3))}


def _in_space(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Nodes in space, whose elements have the gradients of the plane."""
    return general(rng, n, 3)


def _of_triangles(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Gradients of triangles near one with two sides of 1 at a right angle, so that none is pressed flat."""
    slopes = np.eye(2) + rng.integers(-12, 13, (count, 2, 2)) / 64.0
    return {"gradients": np.concatenate([-slopes.sum(axis=1, keepdims=True), slopes], axis=1)}


def _of_facets(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Slopes of triangles as facets."""
    return {"tangents": _of_triangles(rng, count)["gradients"]}


def _upright(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Reference matrices near the unit matrix."""
    return {"inverse_rest": np.eye(2) + 0.1 * rng.normal(size=(count, 2, 2))}


def _minima(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Numbers of minima per turn, as torsions have them."""
    return {"multiplicity": rng.integers(1, 4, count)}


def _maps(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Maps of a table of 7 by 6 by 5 numbers."""
    return {"which": rng.integers(0, 7, count), "size": rng.integers(4, 6, count)}


def _mixture(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Atoms whose diameters are below their distances: others have numbers that differences cannot judge."""
    return lattice(rng, n, d) | {"sigma": rng.uniform(0.6, 1.0, n)}


def _overlapping(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Atoms apart, overlapping, and inside of others; none near a jump of second derivatives."""
    while True:
        radii = {"reduced_radius": rng.uniform(0.2, 0.6, n), "born_scale": rng.uniform(0.5, 2.0, n)}
        x, rho = lattice(rng, n, d)["x"], radii["reduced_radius"]
        r = np.linalg.norm(x[:, None] - x, axis=2) + 9.0 * np.eye(n)
        off = [r + sign * radii["born_scale"] * rho - rho[:, None] for sign in (-1, 1)]
        off.append(radii["born_scale"] * rho - r - rho[:, None])
        if n > 100 or np.abs(off).min() > 0.01:
            return radii | {"x": x}


def _solvated(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Atoms whose effective radii are above their own ones."""
    radii = {"born_radius": rng.uniform(0.9, 1.0, n), "effective_radius": rng.uniform(1.0, 2.0, n)}
    return lattice(rng, n, d) | radii


def _reduced(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Reduced radii below those of atoms."""
    return {"reduced_radius": rng.uniform(0.6, 0.8, n), "born_radius": rng.uniform(0.9, 1.0, n)}


def _deformed(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Deformation gradients near the unit matrix."""
    return {"F": np.eye(d) + 0.2 * rng.uniform(-1.0, 1.0, (n, d, d))}


def _deformed_in_the_plane(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    return _deformed(rng, n, 2)


def _framed(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Quaternions of several lengths, whose rotations are up to a radian apart."""
    return {"q": rng.uniform(0.5, 2.0, (n, 1)) * (np.eye(4)[0] + 0.2 * rng.normal(size=(n, 4)))}


def _turning_frames(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Frames of `_framed` with rates."""
    return _framed(rng, n, d) | {"q_rate": rng.normal(size=(n, 4))}


def _round_in_space(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Nodes of `_touching` in space."""
    return _touching(rng, n, 3)


def _branching(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Edges that are turned a little from the frame of their node."""
    return {"turn": np.eye(4)[0] + 0.2 * rng.normal(size=(count, 4))}


def _bent(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Joints with some rotation at rest."""
    return {"rest": 0.1 * rng.normal(size=(count, 3))}


def _walled(rng: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    """Walls near the frames of `_framed`, that turn about unit vectors."""
    axis = rng.normal(size=(count, 3))
    wall = np.eye(4)[0] + 0.2 * rng.normal(size=(count, 4))
    return {"wall": wall, "axis": axis / np.linalg.norm(axis, axis=1)[:, None]}


def _path(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Points on a canvas of 9 x 11 pixels and beyond its edges, none near a pixel's; written with power."""
    return {
        "x": 0.75 * (rng.integers(-1, 12, n) + rng.uniform(0.1, 0.9, n)),
        "y": 0.75 * (rng.integers(-1, 10, n) + rng.uniform(0.1, 0.9, n)),
        "power": rng.uniform(0.5, 1.5, n),
        "speed": rng.uniform(0.5, 1.5, n),
    }


def _planned_path(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """A path whose head speeds up and slows down in each move."""
    motion = {"passing": rng.uniform(0.1, 0.4, n), "acceleration": rng.uniform(0.5, 1.0, n)}
    return _path(rng, n, d) | motion


def _written(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Points that the spot reaches one after another, the last one first."""
    drawn = {name: rng.uniform(0.5, 1.5, n) for name in ("x", "y", "power", "speed", "duration")}
    return drawn | {"arrival": 2.0 * n - 2.0 * np.arange(n)}


def _doses(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Within and beside the doses of a random table."""
    return {"dose": rng.uniform(-2.0, 2.0, n)}


def _strewn(rng: np.random.Generator, n: int, d: int) -> dict[str, np.ndarray]:
    """Some on a grid of about five units, some beyond its edges."""
    return {"x": rng.uniform(-0.8, 5.8, (n, d))}


OF_STRETCHES = ("hencky", "corotated", "ogden")
"""Parts of the names of materials that are functions of principal stretches, which Taichi lacks."""


FREE_ACROSS = [
    "neo_hookean_plane_stress",
    "stable_neo_hookean_plane_stress",
    "st_venant_kirchhoff_plane_stress",
    "compressible_mooney_rivlin_plane_stress",
    "compressible_ogden_plane_stress",
]
"""Materials with an unknown that is eliminated by `least_value`, which Taichi lacks."""


STRETCHED = {"fibres": 1.4, "mooney_rivlin": 1.2, **dict.fromkeys(FREE_ACROSS, 1.2)}
STRETCHED["st_venant_kirchhoff_plane_stress"] = 1.0  # it collapses across where it is stretched far
"""By how much cells are stretched: fibres do nothing when they are pressed; I1 - 3 and ln J lose their digits
in single precision near the undeformed state."""


def _solid(material: LocalEnergy) -> Instance:
    of_stretches = any(part in material.name for part in OF_STRETCHES) or material.name in FREE_ACROSS
    return Instance(
        material, state=general, compiles=not of_stretches, stretched=STRETCHED.get(material.name, 1.0)
    )


CANONICAL: dict[str, Instance] = {
    "gravity": Instance(gravity),
    "oblateness": Instance(about_a_mass.oblateness),
    "post_newtonian": Instance(about_a_mass.post_newtonian),
    "radiation_pressure": Instance(about_a_mass.radiation_pressure),
    "plummer_field": Instance(external_fields.plummer_field),
    "hernquist_field": Instance(external_fields.hernquist_field),
    "nfw_field": Instance(external_fields.nfw_field),
    "logarithmic_field": Instance(external_fields.logarithmic_field),
    "disc_field": Instance(external_fields.disc_field),
    "poynting_robertson": Instance(drags.poynting_robertson),
    "gas_drag": Instance(drags.gas_drag),
    **{material.name: _solid(material) for material in (*MATERIALS, *PLATES.values())},
    "spring": Instance(springs.spring),
    "muscle": Instance(springs.muscle),
    "rod": Instance(rods.rod.weighted_energy()),
    "crank": Instance(rods.crank.weighted_energy()),
    "symmetry_plane": Instance(planes.symmetry_plane.weighted_energy()),
    "foundation": Instance(foundations.foundation),
    "side_spring": Instance(foundations.side_spring),
    "ground_spring": Instance(foundations.ground_spring),
    "side_dashpot": Instance(foundations.side_dashpot),
    "angle": Instance(angles.angle),
    "dihedral": Instance(angles.dihedral),
    "koiter_stretching": Instance(koiter.koiter_stretching, state=_in_space),
    "shell_bending": Instance(bending.shell_bending),
    "shell_stretching": Instance(bending.shell_stretching, state=_in_space),
    "membrane_st_venant_kirchhoff": Instance(membranes.membrane_st_venant_kirchhoff, state=_in_space),
    "membrane_neo_hookean": Instance(
        membranes.membrane_neo_hookean, state=_in_space, data=_of_triangles, compiles=False
    ),
    "fabric": Instance(fabrics.fabric, state=_in_space, compiles=False),
    "plate_bending": Instance(plate_bending.plate_bending),
    "quadratic_bending": Instance(plate_bending.quadratic_bending),
    "fabric_bending": Instance(plate_bending.fabric_bending),
    "sewn": Instance(seams.sewn),
    "air_drag": Instance(air.air_drag, state=_in_space, data=_of_facets),
    "body_force": Instance(loads.body_force),
    "traction": Instance(loads.traction),
    "heat_conduction": Instance(heat.conduction),
    "anisotropic_heat_conduction": Instance(heat.anisotropic_conduction),
    "heat_source": Instance(heat.heat_source),
    "convection": Instance(surfaces.convection),
    "heat_flux": Instance(surfaces.heat_flux),
    "thermal_radiation": Instance(surfaces.thermal_radiation),
    "load": Instance(loads.load),
    "pressure": Instance(loads.pressure),
    "floor": Instance(contacts.floor),
    "wall": Instance(contacts.wall),
    "sphere": Instance(contacts.sphere, state=_touching),
    "cylinder": Instance(contacts.cylinder, state=_on_a_cylinder),
    "mass_damping": Instance(damping.mass_damping),
    "strain_rate_damping": Instance(damping.strain_rate_damping, state=general),
    "ground_friction": Instance(damping.ground_friction),
    "cylinder_friction": Instance(damping.cylinder_friction, state=_on_a_cylinder),
    "pocket": Instance(balls.pocket),
    "travel": Instance(aims.travel),
    "running_cost": Instance(electrodes.running_cost),
    "motor": Instance(mechanisms.motor),
    "standing": Instance(mechanisms.standing),
    "distance": Instance(boxes.distance),
    "joint": Instance(boxes.joint),
    "harmonic_bond": Instance(bonded.harmonic_bond),
    "harmonic_angle": Instance(bonded.harmonic_angle),
    "periodic_torsion": Instance(bonded.periodic_torsion, data=_minima),
    "ryckaert_bellemans": Instance(torsion_maps.ryckaert_bellemans),
    "torsion_map": Instance(torsion_maps.torsion_map, data=_maps, compiles=False),
    "lennard_jones": Instance(lennard_jones.lennard_jones, state=lattice),
    "lennard_jones_mixture": Instance(lennard_jones.lennard_jones_mixture, state=_mixture),
    "lennard_jones_geometric": Instance(mixing_rules.lennard_jones_geometric, state=_mixture),
    "lennard_jones_waldman_hagler": Instance(mixing_rules.lennard_jones_waldman_hagler, state=_mixture),
    "lennard_jones_14": Instance(lennard_jones.lennard_jones_14, state=lattice),
    "coulomb": Instance(electrostatics.coulomb, state=lattice),
    "coulomb_reaction_field": Instance(electrostatics.coulomb_reaction_field, state=lattice),
    "coulomb_14": Instance(electrostatics.coulomb_14, state=lattice),
    "generalized_born": Instance(generalized_born.generalized_born, state=_solvated),
    "born_self": Instance(generalized_born.born_self, state=_solvated),
    "ace_surface": Instance(generalized_born.ace_surface, state=_solvated),
    "sutton_chen_repulsion": Instance(sutton_chen.sutton_chen_repulsion),
    "sutton_chen_embedding": Instance(sutton_chen.sutton_chen_embedding),
    "stillinger_weber_pair": Instance(stillinger_weber.stillinger_weber_pair, state=lattice),
    "stillinger_weber_triple": Instance(stillinger_weber.stillinger_weber_triple, state=lattice),
    "trap": Instance(energies.trap),
    "site": Instance(energies.site),
    "link": Instance(energies.link),
    "membrane": Instance(energies.membrane, state=corners, data=_upright, sorted=True),
    "contact": Instance(energies.contact),
    "limits": Instance(energies.limits),
    "kinds": Instance(energies.kinds),
    "powers": Instance(energies.powers),
    "flicker": Instance(energies.flicker),
    "grains": Instance(energies.grains),
    "flags": Instance(energies.flags),
    "staircase": Instance(energies.staircase, compiles=False),
    "readout": Instance(energies.readout),
    "dose_l2": Instance(pixel_differences.dose_l2),
    "dose_l1": Instance(pixel_differences.dose_l1),
    "soft_overlap": Instance(overlap.soft_overlap),
    "edge_placement": Instance(edge_placement.edge_placement),
    "dose_hinge": Instance(exposure_limits.dose_hinge),
    "over_dose": Instance(exposure_limits.over_dose),
    "job_time": Instance(path_costs.job_time),
    "curvature": Instance(path_costs.curvature),
    "travel_length": Instance(path_costs.travel_length),
    "surface_tension": Instance(waves.surface_tension, compiles=False),
    "height_l2": Instance(misfits.height_l2),
    "picture_l2": Instance(misfits.picture_l2),
    "corotated": Instance(materials.corotated, state=_deformed_in_the_plane),
    "neo_hookean_particles": Instance(materials.neo_hookean_particles, state=_deformed),
    "fluid": Instance(materials.fluid, state=_deformed),
    "particle_muscle": Instance(materials.particle_muscle, state=_deformed),
    "view_l2": Instance(view_l2),
    "rod_bend": Instance(bends.rod_bend, state=_framed, data=_bent),
    "rod_clamp": Instance(bends.rod_clamp, state=_framed, data=_walled),
    "rod_branch": Instance(bends.rod_branch, state=_framed, data=_branching),
    "rod_load": Instance(rod_loads.rod_load),
    "rod_couple": Instance(rod_loads.rod_couple, state=_framed, data=_walled),
    "rod_wall": Instance(rod_obstacles.rod_wall),
    "rod_ball": Instance(rod_obstacles.rod_ball, state=_round_in_space),
    "rod_cylinder": Instance(rod_obstacles.rod_cylinder, state=_round_in_space),
    "rod_wall_friction": Instance(rod_obstacles.rod_wall_friction),
    "rod_ball_friction": Instance(rod_obstacles.rod_ball_friction, state=_round_in_space),
    "rod_cylinder_friction": Instance(rod_obstacles.rod_cylinder_friction, state=_round_in_space),
    "rod_drag": Instance(drag.rod_drag),
    "rod_spin_drag": Instance(drag.rod_spin_drag, state=_turning_frames),
    "tait": Instance(compression.tait),
    "artificial_viscosity": Instance(viscosity.artificial_viscosity, state=lattice),
}
"""By the name of the energy; of every registered one, and of those in `energies.py`."""

MAPS: dict[str, MapInstance] = {
    "stencil_dose": MapInstance(spots.stencil_dose, state=_path, grid={2: Grid((9, 11), 0.75)}, each="peak"),
    "gaussian_dose": MapInstance(spots.gaussian_dose, state=_path, grid={2: Grid((9, 11), 0.75)}),
    "gaussian_beam_dose": MapInstance(
        gaussian_beam.gaussian_beam_dose, state=_path, grid={2: Grid((5, 6), 1.5)}
    ),
    "constant_power_dose": MapInstance(
        constant_power.constant_power_dose, state=_planned_path, grid={2: Grid((5, 6), 1.5)}
    ),
    "even_power": MapInstance(even_power.even_power),
    "blanking": MapInstance(beams.blanking),
    "drawn_line": MapInstance(stencil_lines.drawn_line, state=_path, grid={2: Grid((5, 6), 1.5)}),
    "thermal_memory": MapInstance(thermal_memory.thermal_memory, state=_written, sorted=True),
    "warm_power": MapInstance(thermal_memory.warm_power),
    "linear_response": MapInstance(responses.linear_response),
    "depth_table": MapInstance(response_table.depth_table, state=_doses),
    "sigmoid_threshold": MapInstance(responses.sigmoid_threshold),
    "neuron": MapInstance(layers.neuron, each="b"),
    "sutton_chen_density": MapInstance(sutton_chen.sutton_chen_density),
    "electron_density": MapInstance(energies.electron_density),
    "bonds": MapInstance(energies.bonds, each="c"),
    "threshold": MapInstance(energies.threshold),
    "splines": MapInstance(
        energies.splines,
        state=_strewn,
        grid={1: Grid((7,), 0.75), 2: Grid((7, 6), 0.75), 3: Grid((4, 5, 6), 1.25)},
    ),
    "clouds": MapInstance(energies.clouds, state=_strewn, grid={2: Grid((14, 11), 0.375)}, of_body="size"),
    "stamps": MapInstance(energies.stamps, state=_strewn, grid={2: Grid((5, 6))}),
    "kernel_density": MapInstance(density.kernel_density, state=lattice),
    "reduced_radius": MapInstance(born_radii.reduced_radius),
    "born_descreening": MapInstance(born_radii.born_descreening, state=_overlapping),
    "obc_radius": MapInstance(born_radii.obc_radius, state=_reduced),
    "polarization_charge": MapInstance(generalized_born.polarization_charge),
    "self_density": MapInstance(density.self_density, state=lattice, steady="x"),
}
"""By the name of the map; of every registered one, and of those in `energies.py`."""


def of_each_class(instances: Mapping[str, Any], besides: Collection[str] = ()) -> list[str]:
    """Of energies that differ by their function alone the first one, and those `besides`.

    A class has one kind of term, one kind of elements, and roles of the same kinds and ranks.
    """
    found: dict[Any, str] = {}
    for name, instance in instances.items():
        energy = instance.energy
        roles = {(type(role), len(getattr(role, "shape", ()))) for role in energy.roles.values()}
        found.setdefault((type(energy), type(energy.over), frozenset(roles)), name)
    return [name for name in instances if name in found.values() or name in besides]


MAGNETIC = {"uniform_field"}
"""Magnetic fields, which are no energies; `tests/steppers/magnetic` examines their steps and derivatives."""


LAGRANGIANS = {"double_pendulum", "cart_pole", "turning_weight"}
"""Functions of coordinates and rates; `tests/adjoint/variational` asks them what energies are asked."""


def missing(registered: Mapping[str, Any]) -> list[str]:
    """The energies, maps and magnetic fields without an exam, of those registered by name."""
    known = {*CANONICAL, *MAPS, *MAGNETIC, *LAGRANGIANS}
    return [name for name, one in registered.items() if name not in known and not examined_by_check(one)]


def examined_by_check(energy: Any) -> bool:
    """True for one without an instance: over named sets; or a map over cells, to several numbers, staged."""
    if not isinstance(energy, LocalEnergy):
        return isinstance(energy, StagedMap)
    kind = energy.element_kind
    return bool(kind.sets) or (isinstance(energy, LocalMap) and (energy.several or kind.cells))
