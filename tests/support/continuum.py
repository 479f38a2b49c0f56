"""Continuum mechanics on paper: what the solids, springs and loads of the plugin are held against.

Derived apart from the plugin, and from other books. Both materials are sums of a shear and a bulk part,
psi = mu a + lambda b, of the principal stretches l (F = R diag(l) Q^T, in the plane l_3 = 1):

    St Venant-Kirchhoff    a = sum e^2            b = (sum e)^2 / 2    e = (l^2 - 1) / 2    Green's strain
    neo-Hookean            a = sum e - sum h      b = (sum h)^2 / 2    h = log l            Hencky's strain

and P = R diag(d psi / d l) Q^T (Ogden 1984, Non-linear Elastic Deformations, chapter 4). The moduli go by
way of the bulk modulus: K = E / (3 (1 - 2 nu)), mu = E / (2 (1 + nu)), lambda = K - 2 mu / 3. `MODES` are
worked out by hand, without principal axes. Small strains: Hooke's law as compliance (Timoshenko & Goodier
1951, Theory of Elasticity, section 6). A chain's modes: French 1971, Vibrations and Waves, chapter 5.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import wrightomega

from minusgrad_elastic import generators
from minusgrad_elastic.mesh import Mesh

Array = np.ndarray


@dataclass(frozen=True)
class Moduli:
    """E and nu, and what follows from them."""

    E: float = 1.7
    nu: float = 0.3

    @property
    def mu(self) -> float:
        return self.E / (2.0 * (1.0 + self.nu))

    @property
    def lam(self) -> float:
        return self.E / (3.0 * (1.0 - 2.0 * self.nu)) - 2.0 / 3.0 * self.mu

    @property
    def by_nu(self) -> tuple[float, float]:
        """d mu / d nu and d lambda / d nu."""
        mu = -self.E / (2.0 * (1.0 + self.nu) ** 2)
        return mu, 2.0 * self.E / (3.0 * (1.0 - 2.0 * self.nu) ** 2) - 2.0 / 3.0 * mu

    @property
    def given(self) -> dict[str, float]:
        """As the parameters of an energy."""
        return {"youngs_modulus": self.E, "poissons_ratio": self.nu}


# Any deformation, by its principal stretches -------------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    """psi and P without their moduli: of mu, of lambda."""

    shear: float
    bulk: float
    shear_stress: Array
    bulk_stress: Array

    def energy(self, m: Moduli) -> float:
        return m.mu * self.shear + m.lam * self.bulk

    def stress(self, m: Moduli) -> Array:
        return m.mu * self.shear_stress + m.lam * self.bulk_stress

    def energy_by_nu(self, m: Moduli) -> float:
        mu, lam = m.by_nu
        return mu * self.shear + lam * self.bulk


def _green(stretch: Array) -> Parts:
    e = (stretch**2 - 1.0) / 2.0
    return Parts((e**2).sum(), e.sum() ** 2 / 2.0, 2.0 * stretch * e, stretch * e.sum())


def _hencky(stretch: Array) -> Parts:
    e, h = (stretch**2 - 1.0) / 2.0, np.log(stretch)
    return Parts((e - h).sum(), h.sum() ** 2 / 2.0, stretch - 1.0 / stretch, h.sum() / stretch)


OF_STRETCHES: dict[str, Callable[[Array], Parts]] = {"st_venant_kirchhoff": _green, "neo_hookean": _hencky}


def principal(material: str, F: Array) -> Parts:
    """Of any F with det F > 0, in the plane or in space."""
    d = len(F)
    R, stretch, Q = np.linalg.svd(F)
    parts = OF_STRETCHES[material](np.append(stretch, np.ones(3 - d)))
    turned = [R @ np.diag(s[:d]) @ Q for s in (parts.shear_stress, parts.bulk_stress)]
    return replace(parts, shear_stress=turned[0], bulk_stress=turned[1])


# Homogeneous deformations, by hand -----------------------------------------------------------------------


@dataclass(frozen=True)
class Mode:
    """F, and psi and P of both materials; in the plane the first two axes."""

    F: Array
    energy: dict[str, float]
    stress: dict[str, Array]


def uniaxial_strain(d: int, m: Moduli, s: float = 1.4) -> Mode:
    """F = diag(s, 1, 1)."""
    ones, first = np.eye(d), np.diag([1.0] + [0.0] * (d - 1))
    stiff, log, side = m.lam + 2.0 * m.mu, np.log(s), ones - first
    return Mode(
        ones + (s - 1.0) * first,
        {
            "st_venant_kirchhoff": stiff / 8.0 * (s**2 - 1.0) ** 2,
            "neo_hookean": m.mu / 2.0 * (s**2 - 1.0) - m.mu * log + m.lam / 2.0 * log**2,
        },
        {
            "st_venant_kirchhoff": stiff / 2.0 * s * (s**2 - 1.0) * first + m.lam / 2.0 * (s**2 - 1.0) * side,
            "neo_hookean": (m.mu * (s - 1.0 / s) + m.lam * log / s) * first + m.lam * log * side,
        },
    )


def simple_shear(d: int, m: Moduli, g: float = 0.7) -> Mode:
    """x = X + g Y: the volume stays."""
    one, other, out = np.zeros((3, d, d))
    one[0, 1], other[1, 0] = 1.0, 1.0
    out[2:, 2:] = 1.0
    lower, bulk = np.diag([0.0, 1.0, 0.0][:d]), np.eye(d) * g**2 / 2.0
    sheared = np.eye(d) + g * one
    return Mode(
        sheared,
        {
            "st_venant_kirchhoff": m.mu * (g**2 / 2.0 + g**4 / 4.0) + m.lam * g**4 / 8.0,
            "neo_hookean": m.mu * g**2 / 2.0,
        },
        {  # F S with S = mu g (e1 e2 + e2 e1) + mu g^2 e2 e2 + lambda g^2 / 2 I;   mu (F - F^-T)
            "st_venant_kirchhoff": sheared @ (m.mu * (g * (one + other) + g**2 * lower) + m.lam * bulk),
            "neo_hookean": m.mu * g * (one + other),
        },
    )


def volumetric(d: int, m: Moduli, s: float = 0.8) -> Mode:
    """F = s I: equibiaxial in the plane, where the thickness stays."""
    log, e, ones = np.log(s), (s**2 - 1.0) / 2.0, np.eye(d)
    return Mode(
        s * ones,
        {
            "st_venant_kirchhoff": (m.mu + d * m.lam / 2.0) * d * e**2,
            "neo_hookean": d * m.mu * (e - log) + d**2 * m.lam / 2.0 * log**2,
        },
        {
            "st_venant_kirchhoff": s * (2.0 * m.mu + d * m.lam) * e * ones,
            "neo_hookean": (m.mu * (s - 1.0 / s) + d * m.lam * log / s) * ones,
        },
    )


MODES = {"uniaxial strain": uniaxial_strain, "simple shear": simple_shear, "volumetric": volumetric}


@dataclass(frozen=True)
class Pulled:
    """Uniaxial stress: a bar stretched by `stretch`, its sides free (in the plane: one of the two)."""

    stretch: float
    m: Moduli
    d: int

    @property
    def side(self) -> dict[str, float]:
        """The stretch of the free sides.

        St Venant-Kirchhoff: E_2 = -nu E_1, in plane strain -nu / (1 - nu) E_1. Neo-Hookean: with y the
        square of the stretch mu (y - 1) + lambda (log s + n/2 log y) = 0 for n free sides; hence y = c w,
        w + log w = (1 - lambda / mu log s) / c - log c, c = n lambda / 2 mu: Wright's omega function.
        """
        s, m, free = self.stretch, self.m, self.d - 1
        ratio = m.nu if free == 2 else m.nu / (1.0 - m.nu)
        c = free * m.lam / (2.0 * m.mu)
        w = wrightomega((1.0 - m.lam / m.mu * np.log(s)) / c - np.log(c)).real
        return {
            "st_venant_kirchhoff": np.sqrt(1.0 - ratio * (s**2 - 1.0)),
            "neo_hookean": np.sqrt(c * w),
        }

    @property
    def force(self) -> dict[str, float]:
        """Along the bar, per area at rest."""
        s, m, free = self.stretch, self.m, self.d - 1
        stiffness = m.E if free == 2 else m.E / (1.0 - m.nu**2)
        volume = s * self.side["neo_hookean"] ** free
        return {
            "st_venant_kirchhoff": stiffness * s * (s**2 - 1.0) / 2.0,
            "neo_hookean": (m.mu * (s**2 - 1.0) + m.lam * np.log(volume)) / s,
        }

    def deformation(self, material: str) -> Array:
        return np.diag([self.stretch] + [self.side[material]] * (self.d - 1))


def strain(stress: Array, m: Moduli) -> Array:
    """Hooke's law, solved for the strain; in plane strain sigma_33 = nu (sigma_11 + sigma_22)."""
    trace = np.trace(stress) * (1.0 if len(stress) == 3 else 1.0 + m.nu)
    return ((1.0 + m.nu) * stress - m.nu * trace * np.eye(len(stress))) / m.E


# A deformation that is not homogeneous, and the forces that it needs -------------------------------------


@dataclass(frozen=True)
class Manufactured:
    """x_i = X_i + a_i prod_j sin(k_ij X_j + p_ij), and b = -Div P (Roache 2002, J. Fluids Eng. 124, 4).

    The divergence is a complex step (Squire & Trapp 1998, SIAM Rev. 40, 110), so it has no truncation error.
    """

    material: str
    m: Moduli
    a: Array
    k: Array
    p: Array

    @classmethod
    def of(cls, material: str, d: int, m: Moduli, size: float = 0.12) -> "Manufactured":
        rng = np.random.default_rng(d)
        phases = rng.uniform(0.0, 1.0, (d, d))
        return cls(material, m, size * rng.uniform(0.7, 1.0, d), rng.uniform(1.5, 2.5, (d, d)), phases)

    def place(self, X: Array) -> Array:
        """x of points X (..., d)."""
        return X + self.a * np.sin(self._angles(X)).prod(axis=-1)

    def deformation(self, X: Array) -> Array:
        angles, d = self._angles(X), len(self.a)
        found = np.zeros((*X.shape, d), X.dtype) + np.eye(d)
        for j in range(d):
            factors = np.sin(angles)
            factors[..., j] = self.k[:, j] * np.cos(angles[..., j])
            found[..., j] += self.a * factors.prod(axis=-1)
        return found

    def stress(self, X: Array) -> Array:
        """P, by matrices."""
        F, ones = self.deformation(X), np.eye(len(self.a))
        if self.material == "st_venant_kirchhoff":
            E = 0.5 * (F.swapaxes(-1, -2) @ F - ones)
            trace = np.trace(E, axis1=-2, axis2=-1)[..., None, None]
            return F @ (2.0 * self.m.mu * E + self.m.lam * trace * ones)
        cofactor = np.linalg.inv(F).swapaxes(-1, -2)
        log = np.log(np.linalg.det(F))[..., None, None]
        return self.m.mu * (F - cofactor) + self.m.lam * log * cofactor

    def body_force(self, X: Array) -> Array:
        """Per volume at rest."""
        tiny = 1e-30
        steps = 1j * tiny * np.eye(len(self.a))
        return -sum(self.stress(X + h)[..., :, j].imag / tiny for j, h in enumerate(steps))

    def _angles(self, X: Array) -> Array:
        return self.k * X[..., None, :] + self.p


# Meshes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shaken:
    """A box of n parts along each axis, sides 1, 0.8, 0.6, whose inner nodes are shaken by 0.2 of a part."""

    d: int
    n: int = 3
    shake: float = 0.2

    @cached_property
    def mesh(self) -> Mesh:
        size = (1.0, 0.8, 0.6)[: self.d]
        made = (generators.rectangle if self.d == 2 else generators.box)(size, (self.n,) * self.d)
        inner, rng = np.ones(len(made.points), bool), np.random.default_rng(self.n)
        inner[np.unique(made.boundary())] = False
        noise = rng.uniform(-1.0, 1.0, made.points.shape) * np.array(size) / self.n
        return replace(made, points=made.points + self.shake * inner[:, None] * noise)

    @property
    def inner(self) -> Array:
        """Which nodes are not on the boundary."""
        return ~np.isin(np.arange(len(self.mesh.points)), self.mesh.boundary())

    @property
    def facet(self) -> float:
        """About the area of a facet: a stress times this is a force."""
        return (0.8 / self.n) ** (self.d - 1)


def outward(mesh: Mesh, facets: Array) -> Array:
    """Area vectors (B, d), by cross products."""
    corners = mesh.points[facets]
    legs = corners[:, 1:] - corners[:, :1]
    if mesh.dimension == 3:
        return 0.5 * np.cross(legs[:, 0], legs[:, 1])
    return np.stack([legs[:, 0, 1], -legs[:, 0, 0]], axis=1)


def surface_forces(mesh: Mesh, stress: Array) -> Array:
    """What a homogeneous stress pulls at each node with: P times the node's share of the surface; (n, d)."""
    facets, d = mesh.boundary(), mesh.dimension
    found = np.zeros_like(mesh.points)
    np.add.at(found, facets, (outward(mesh, facets) @ stress.T / d)[:, None, :])
    return found


def rule(d: int, n: int = 4) -> tuple[Array, Array]:
    """Points of a quadrature over a simplex, barycentric (q, d + 1), and weights of sum 1.

    Gauss's rule on a cube that is collapsed onto the simplex (Stroud 1971, Approximate Calculation of
    Multiple Integrals, section 2.4): exact for polynomials of degree 2 n - d.
    """
    nodes, weights = np.polynomial.legendre.leggauss(n)
    grid = np.stack(np.meshgrid(*[0.5 + 0.5 * nodes] * d, indexing="ij"), axis=-1).reshape(-1, d)
    w = np.stack(np.meshgrid(*[0.5 * weights] * d, indexing="ij"), axis=-1).reshape(-1, d).prod(axis=1)
    left, points = np.ones(len(grid)), []
    for j in range(d):
        w = w * left * (d - j)
        points.append(left * grid[:, j])
        left = left * (1.0 - grid[:, j])
    return np.stack([left, *points], axis=1), w


def nodal_loads(mesh: Mesh, density: Callable[[Array], Array]) -> Array:
    """Integral of N_a b over the body for each node; b a function of places (..., d)."""
    shapes, w = rule(mesh.dimension)
    b = density(shapes @ mesh.points[mesh.cells])
    shares = np.einsum("q,qa,eqi->eai", w, shapes, b) * mesh.volumes()[:, None, None]
    found = np.zeros_like(mesh.points)
    np.add.at(found, mesh.cells, shares)
    return found


def distance(mesh: Mesh, x: Array, place: Callable[[Array], Array]) -> float:
    """L2 norm, over the body at rest, of how far the linear x is from place(X)."""
    shapes, w = rule(mesh.dimension)
    off = shapes @ x[mesh.cells] - place(shapes @ mesh.points[mesh.cells])
    return float(np.sqrt(np.einsum("q,eqi,e->", w, off**2, mesh.volumes())))


# Springs -------------------------------------------------------------------------------------------------


def mode(n: int, k: int) -> tuple[Array, float]:
    """Mode k = 1..n of n equal masses in a row between walls: its shape, and omega^2 / (stiffness / mass)."""
    places = np.arange(1, n + 1)
    angle = np.pi * k / (n + 1)
    return np.sin(angle * places), 4.0 * np.sin(angle / 2.0) ** 2


def leapfrogged(steps: Array, square: float) -> Array:
    """x / x(0) of an oscillator that begins at rest, after leapfrogs with (omega dt)^2 = square.

    cos(steps a) with cos(a) = 1 - square / 2 (Birdsall & Langdon 1985, Plasma Physics via Computer
    Simulation, section 4-2).
    """
    return np.cos(steps * np.arccos(1.0 - square / 2.0))
