"""NAFEMS's linear elastic benchmarks LE1, LE10 and LE11, with meshes of cells of order 2 that are mapped.

LE1, LE10: a quarter of an elliptic membrane or plate between (x / 2)^2 + y^2 = 1 and (x / 3.25)^2 +
(y / 2.75)^2 = 1; LE11: a quarter of a hollow body of revolution, a sphere that tapers into a cylinder.

    x = (2 + 1.25 q) cos t,     y = (1 + 1.75 q) sin t,     q = (s + s^2) / 2,  0 <= s <= 1,  0 <= t <= pi / 2

Decisions 0169.
"""

import numpy as np

from minusgrad.plugin import Datum, PublishedValue, Workplace, local_energy, published_value, ti

from .. import generators
from ..hyperelastic import SOLID, lame
from ..materials.linear import hooke, linear, linear_plane_stress
from .linear_statics import LinearBody, holding, mapped, node_at

STEEL = {"youngs_modulus": 210e9, "poissons_ratio": 0.3}
BOOK = "NAFEMS 1990, The Standard NAFEMS Benchmarks, TNSB rev. 3"
ABAQUS = "abaqus-docs.mit.edu/2017/English/SIMACAEBMKRefMap"
SEAMPLEX = "seamplex.com/fino/cases"
ONSCALE = "onscale.com/help/solve/validation"
"""Public pages that quote the book."""
EXPANSION = 2.3e-4
"""Thermal expansion [1/K] of LE11."""
TOP = 1.79
"""Height [m] of LE11."""


@local_energy("heated", over="tuples", **SOLID | {"temperature": Datum("K"), "symmetries": ("translation",)})
def heated(F, volume, temperature, youngs_modulus, poissons_ratio):
    """Hooke's law for the strain beyond that of free thermal expansion."""
    mu, lam = lame(youngs_modulus, poissons_ratio)
    free = EXPANSION * temperature * ti.Matrix.identity(ti.f64, 3)
    return volume * hooke(F - free, mu, lam)


def elliptic(s: np.ndarray, t: np.ndarray, *z: np.ndarray) -> tuple:
    """The place between the ellipses of LE1 and LE10; cells are smaller at the hole."""
    q = 0.5 * (s + s * s)
    return (2.0 + 1.25 * q) * np.cos(t), (1.0 + 1.75 * q) * np.sin(t), *z


@published_value(
    "NAFEMS LE1",
    area="elasticity",
    value=92.7,
    tolerance=0.1,
    why="half of the last digit, and as much for the mesh: finer ones end at 92.66",
    source=f"{BOOK}: elliptic membrane, sigma_yy at D; {ABAQUS}/simabmk-c-le1.htm",
    unit="MPa",
    quick=True,
)
def stress_of_an_elliptic_membrane(place: Workplace) -> float:
    """Stress along the edge of an elliptic hole in plane stress, under a pull of 10 MPa on the outer edge."""
    mesh = mapped(generators.rectangle((1.0, np.pi / 2), (48, 48), "quadrilaterals", 2), elliptic)
    body = LinearBody(mesh, linear_plane_stress, STEEL, thickness=0.1)
    body.displaced(holding(mesh, bottom="y", top="x"), 10.0 * body.facet_load("right"))
    return float(body.stress_at(node_at(mesh, 2.0, 0.0))[1, 1])


@published_value(
    "NAFEMS LE10",
    area="elasticity",
    value=-5.38,
    tolerance=0.03,
    why="half of the last digit, and 0.5 % for the mesh: finer ones end near -5.39",
    source=f"{BOOK}: thick plate, sigma_yy at D; {SEAMPLEX}/012-nafems-le10",
    unit="MPa",
    quick=True,
)
def stress_of_a_thick_plate(place: Workplace) -> float:
    """Bending stress at the hole of a thick elliptic plate under a pressure of 1 MPa."""
    mesh = mapped(generators.box((1.0, np.pi / 2, 0.6), (8, 12, 6), "hexahedra", 2), elliptic)
    held = holding(mesh, front="y", back="x", right="xy")
    rim = mesh.bodies["right"]
    held[rim[np.abs(mesh.points[rim, 2] - 0.3) < 1e-9], 2] = True
    body = LinearBody(mesh, linear, STEEL)
    body.displaced(held, -body.facet_load("top"))
    return float(body.stress_at(node_at(mesh, 2.0, 0.0, 0.6))[1, 1])


def revolved(s: np.ndarray, angle: np.ndarray, h: np.ndarray) -> tuple:
    """The place in LE11: s across the wall, an angle around the axis z, h from 0 to 7 along the wall.

    The inner wall is a sphere of radius 1 up to 45 degrees (h = 5), then a cylinder; the outer one a sphere
    of radius 1.4 up to 30 degrees (h = 4), a cone (up to h = 6), and a cylinder.
    """
    low = np.interp(h, [0.0, 4.0, 5.0], np.radians([0.0, 22.5, 45.0]))
    bore = np.interp(h, [5.0, 7.0], [np.sqrt(0.5), TOP])
    inner = np.cos(low), np.where(h < 5.0, np.sin(low), bore)
    high, begin = np.radians(7.5 * h), 1.4 * np.exp(1j * np.pi / 6.0)
    cone = np.interp(h, [4.0, 6.0], [begin.real, 1.0]), np.interp(h, [4.0, 6.0, 7.0], [begin.imag, 1.39, TOP])
    outer = np.where(h < 4.0, 1.4 * np.array([np.cos(high), np.sin(high)]), cone)
    radius, height = (one + s * (other - one) for one, other in zip(inner, outer, strict=True))
    return radius * np.cos(angle), radius * np.sin(angle), height


@published_value(
    "NAFEMS LE11",
    area="elasticity",
    value=-105.0,
    tolerance=0.5,
    why="half of the last digit",
    source=f"{BOOK}: solid cylinder/taper/sphere, temperature, sigma_zz at A;"
    f" {ONSCALE}/validation-case-thermomechanical-nafems",
    unit="MPa",
    quick=True,
)
def stress_of_a_heated_body(place: Workplace) -> float:
    """Stress at the inner edge of a body of revolution that is heated by sqrt(x^2 + y^2) + z."""
    mesh = mapped(generators.box((1.0, np.pi / 2, 7.0), (6, 6, 14), "hexahedra", 2), revolved)
    (points,) = mesh.at_points
    x, y, z = np.einsum("pk,pki->ip", points.shares, mesh.points[mesh.cells[points.cell]])
    body = LinearBody(mesh, heated, STEEL, {"temperature": np.hypot(x, y) + z})
    body.displaced(holding(mesh, front="y", back="x", bottom="z", top="z"))
    return 1e-6 * float(body.stress_at(node_at(mesh, 1.0, 0.0, 0.0))[2, 2])


ROWS: list[PublishedValue] = [
    stress_of_an_elliptic_membrane,
    stress_of_a_thick_plate,
    stress_of_a_heated_body,
]
