"""Particle-mesh Ewald of dispersion: Lennard-Jones energies whose attraction has no cutoff.

    U = direct + excluded + self + reciprocal + uniform            with g(r) the part of the wave vectors

    direct        sum over pairs within R of u(r) + g(r) - u(R) - g(R)
    excluded      sum over listed pairs of g(r)
    self          sum over atoms of beta^6 c_i^2 / 12
    reciprocal    - pi^(3/2) beta^3 / (6 V) sum over modes m /= 0 of w(m) f(pi h / beta) |S(m)|^2
    uniform       - pi^(3/2) beta^3 / (6 V) |S(0)|^2

    u(r) = 4 epsilon ((sigma / r)^12 - (sigma / r)^6),    sigma = (sigma_i + sigma_j) / 2
                                                          epsilon = sqrt(epsilon_i epsilon_j)
    g(r) = c_i c_j / r^6 (1 - (1 + a^2 + a^4 / 2) exp(-a^2)),    a = beta r
                                                          c_i = 2 sqrt(epsilon_i) sigma_i^3
    f(b) = (1 - 2 b^2) exp(-b^2) + 2 sqrt(pi) b^3 erfc(b)

x (n, 3) [m], epsilon (n,) [J], sigma (n,) [m], c (n,) [J^1/2 m^3], beta [1/m], V [m^3], R [m] the cutoff;
S is the transform of c on a mesh, h and w as in `ewald`. Within the cutoff pairs have Lorentz and Berthelot's
rules, beyond it the geometric mean of both; the shift makes the pair energy zero at R. f is the transform of
the long-ranged part, in units of that at h = 0. Essmann et al. 1995, J. Chem. Phys. 103, 8577, section 5;
Wennberg et al. 2013, J. Chem. Theory Comput. 9, 3527; OpenMM User Guide 8, "Lennard-Jones Interaction With
Particle Mesh Ewald".

Decisions 0150.
"""

from collections.abc import Sequence
from math import inf, pi, sqrt
from typing import Any

import numpy as np

from minusgrad import bind, bind_staged
from minusgrad.plugin import (
    Body,
    Box,
    Cell,
    Compound,
    Cutoff,
    Datum,
    Fields,
    Grid,
    LinkedPairs,
    Node,
    Output,
    Parameter,
    Stage,
    Term,
    UnitSystem,
    erfc,
    local_energy,
    local_map,
    staged_map,
    ti,
)

from .box import volume, wave_vector
from .mesh import mesh_charge, mesh_modes, modes_shape, reached_cells, transform, transpose_transform
from .modes import Modes

STRENGTH = "J^1/2 m^3"
SYMMETRIES = ("translation", "rotation")
WELLS: dict[str, Any] = {
    "x": Node("m", ("d",)),
    "epsilon": Node("J", bounds=(0.0, inf)),
    "sigma": Node("m", bounds=(0.0, inf)),
}
BETA = Parameter("m^-1", bounds=(0.0, inf), open=True)
OF_MODES: dict[str, Any] = {"strength_modes": Node(STRENGTH, (2,)), "box": Box(), "beta": BETA}
ON_MESH: dict[str, Any] = dict(mesh_charge.roles) | {
    "charge": Node(STRENGTH),
    "at": Cell(window=reached_cells),
}


@ti.func
def root_product(a, b):
    """sqrt(a b), with the derivative 0 where one is 0."""
    product = a * b
    return ti.select(product > 0.0, ti.sqrt(product), 0.0)


@ti.func
def long_range_part(strength, square, beta):
    """g, from the squared distance; a series where its parts cancel."""
    y = beta * beta * square
    part = 0.0
    if y < 1.0:
        rest = 1.0 / 720.0 + y * (1.0 / 5040.0 + y * (1.0 / 40320.0 + y * (1.0 / 362880.0)))
        high = y * y * y * y * (1.0 / 3628800.0 + y * (1.0 / 39916800.0 + y / 479001600.0)) + rest
        part = beta**6 * ti.exp(-y) * (1.0 / 6.0 + y * (1.0 / 24.0 + y * (1.0 / 120.0 + y * high)))
    else:
        part = (1.0 - ti.exp(-y) * (1.0 + y + 0.5 * y * y)) / (square * square * square)
    return strength * part


@local_map(
    "strength", gives="strength", over="nodes", unit=STRENGTH, epsilon=WELLS["epsilon"], sigma=WELLS["sigma"]
)
def strength(epsilon, sigma):
    """Strength of the attraction of an atom: the root of its coefficient of r^-6."""
    root = ti.select(epsilon[0] > 0.0, ti.sqrt(epsilon[0]), 0.0)
    return 2.0 * root * sigma[0] * sigma[0] * sigma[0]


mesh_strength = local_map(
    "mesh_strength",
    gives="mesh_strength",
    over="nodes",
    unit=STRENGTH,
    edges="periodic",
    **ON_MESH,
)(mesh_charge.function)

strength_modes = staged_map(
    "strength_modes",
    gives={"mesh_modes": Output(STRENGTH, (2,))},
    stages=[Stage(transform, writes=("mesh_modes",), backward=transpose_transform)],
    claim=mesh_modes.claim,
    linear=True,
    mesh_charge=Node(STRENGTH),
    mesh=Datum(shape=(3,), integer=True),
)


@local_energy(
    "dispersion_direct", over="pairs", symmetries=SYMMETRIES, **WELLS, beta=BETA,
    radius=Parameter("m", bounds=(0.0, inf), open=True),
)  # fmt: skip
def dispersion_direct(x, epsilon, sigma, beta, radius):
    """Lennard-Jones pairs without the part of the wave vectors, zero at the cutoff."""
    square, at = (x[0] - x[1]).norm_sqr(), radius * radius
    depth, s = root_product(epsilon[0], epsilon[1]), 0.5 * (sigma[0] + sigma[1])
    both = sigma[0] * sigma[1]
    strength = 4.0 * depth * both * both * both
    near, far = (s * s / square) ** 3, (s * s / at) ** 3
    well = 4.0 * depth * (near * (near - 1.0) - far * (far - 1.0))
    return well + long_range_part(strength, square, beta) - long_range_part(strength, at, beta)


@local_energy("dispersion_excluded", over=2, symmetries=SYMMETRIES, **WELLS, beta=BETA)
def dispersion_excluded(x, epsilon, sigma, beta):
    """Part of listed pairs, which do not interact, in the sum over wave vectors, subtracted."""
    both = sigma[0] * sigma[1]
    strength = 4.0 * root_product(epsilon[0], epsilon[1]) * both * both * both
    return long_range_part(strength, (x[0] - x[1]).norm_sqr(), beta)


@local_energy("dispersion_self", over="nodes", strength=Node(STRENGTH), beta=BETA)
def dispersion_self(strength, beta):
    """Energy of each atom with itself, which the sum over wave vectors contains, subtracted."""
    return beta**6 * strength[0] * strength[0] / 12.0


@local_energy(
    "dispersion_reciprocal", over=1, **OF_MODES, mode=Datum(shape=(3,), integer=True), weight=Datum()
)
def dispersion_reciprocal(strength_modes, box, beta, mode, weight):
    """The sum over wave vectors, from the transform of strengths on a mesh."""
    b = pi / beta * wave_vector(mode, box).norm()
    f = (1.0 - 2.0 * b * b) * ti.exp(-b * b) + 2.0 * sqrt(pi) * b * b * b * erfc(b)
    real, imaginary = strength_modes[0][0], strength_modes[0][1]
    size = pi * sqrt(pi) * beta * beta * beta / (6.0 * volume(box))
    return -size * weight * f * (real * real + imaginary * imaginary)


@local_energy("dispersion_uniform", over=1, **OF_MODES)
def dispersion_uniform(strength_modes, box, beta):
    """The same of the mode m = 0: the attraction at uniform density."""
    total = strength_modes[0][0]
    return -pi * sqrt(pi) * beta * beta * beta / (6.0 * volume(box)) * total * total


def dispersion_mesh_ewald(
    fields: Fields,
    *,
    cutoff: Cutoff,
    beta: float,
    mesh: Sequence[int],
    nodes: np.ndarray,
    exclude: Any = None,
    units: UnitSystem | None = None,
    name: str = "dispersion",
    direct: str = "lennard_jones",
) -> Compound:
    """The energies and maps over fields x (n, 3), epsilon (n,), sigma (n,) and box (1, 3, 3).

    cutoff: of the direct sum, sharp. beta [1/m]: the splitting parameter. mesh: cells along each edge of the
    box. nodes: the atoms with epsilon above 0. exclude (E, 2): pairs that do not interact. Terms are called
    `direct`, and `name`_excluded, _self, _reciprocal and _uniform. Raises `EnergyError` without a box.
    """
    cells = tuple(map(int, mesh))
    both: dict[str, Any] = {"parameters": {"beta": beta}, "units": units}
    of_atoms, on_mesh, in_modes = (f"{name}_{part}" for part in ("strength", "mesh", "modes"))
    modes, numbers = Modes.of(cells), {"mesh": np.array(cells, float)}
    maps: list[Any] = [
        bind(strength, fields, name=of_atoms, gives=of_atoms, units=units),
        bind(
            mesh_strength, fields, name=on_mesh, gives=on_mesh, renamed={"charge": of_atoms},
            grid=Grid(cells), parameters=numbers, units=units,
        ),
        bind_staged(
            strength_modes, fields, name=in_modes, gives=in_modes, renamed={"mesh_charge": on_mesh},
            data={"mesh": cells}, sizes={"n_mesh_modes": int(np.prod(modes_shape(cells)))},
        ),
    ]  # fmt: skip
    of_modes: dict[str, Any] = {"renamed": {"strength_modes": in_modes}, **both}
    wells: dict[str, Any] = {"parameters": {"beta": beta, "radius": cutoff.radius}, "units": units}
    terms: list[Term] = [
        bind(
            dispersion_direct, fields, name=direct, bodies=[Body(direct, nodes)], cutoff=cutoff,
            exclude=exclude, **wells,
        ),
        bind(dispersion_self, fields, name=f"{name}_self", renamed={"strength": of_atoms}, **both),
        bind(dispersion_reciprocal, fields, name=f"{name}_reciprocal", **modes.options, **of_modes),
        bind(dispersion_uniform, fields, name=f"{name}_uniform", tuples=[[0]], **of_modes),
    ]  # fmt: skip
    if exclude is not None:
        pairs = LinkedPairs.of(exclude)
        pairs = pairs.of_rows(np.flatnonzero(np.isin(pairs.pairs, nodes).all(axis=1)))
        if len(pairs):
            terms.append(bind(dispersion_excluded, fields, name=f"{name}_excluded", tuples=pairs, **both))
    return Compound(terms, maps)
