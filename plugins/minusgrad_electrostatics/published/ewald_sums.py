"""Published values of charges in periodic boxes: Madelung's constants, NIST's SPC/E water."""

from collections.abc import Sequence

import numpy as np

from minusgrad import Fields, Potential, bind
from minusgrad.plugin import Cutoff, PublishedValue, Workplace, published_value
from minusgrad_molecular.lennard_jones import lennard_jones
from minusgrad_molecular.published.liquids import SITE, configuration, half_digits

from ..pme import particle_mesh_ewald

FILES = tuple(f"spce_sample_config_periodic{k}.txt" for k in range(1, 5))
PARTS = {
    "dispersion": (9.95387e4, 1.93712e5, 3.54344e5, 4.48593e5),
    "pme_direct": (-5.58889e5, -1.19295e6, -1.96297e6, -3.57226e6),
    "pme_excluded": (2.80999e6, 5.61998e6, 8.42998e6, 1.41483e7),
    "pme_self": (-2.84469e6, -5.68938e6, -8.53407e6, -1.42235e7),
}
"""Of each configuration, in kelvin; what is excluded are the pairs of a molecule."""
WAVES = (6.27009e3, 6.03495e3, 5.24461e3, 7.58785e3)
END = 27
"""The square of the whole numbers (k, l, m) of a wave vector where NIST's sum ends."""
CHARGE, BOLTZMANN, PERMITTIVITY = 1.602176634e-19, 1.380649e-23, 8.8541878128e-12
"""SI of 2019 and CODATA 2018."""
COULOMB = CHARGE**2 / (4.0 * np.pi * PERMITTIVITY * BOLTZMANN) * 1e10
"""Of two elementary charges [K angstrom]."""


def _crystal_energy(x: np.ndarray, charge: np.ndarray, edge: float) -> float:
    """The Coulomb energy of charges in a cubic box, with 1 / (4 pi eps0) = 1."""
    fields = Fields({"x": x, "charge": charge, "box": edge * np.eye(3)[None]})
    pme = particle_mesh_ewald(
        fields,
        cutoff=Cutoff(0.49 * edge, sharp=True, skin=0.005 * edge),
        alpha=12.0 / edge,
        mesh=(60, 60, 60),
        coulomb_constant=1.0,
    )
    return float(Potential(fields, pme.terms, pme.maps).value())


@published_value(
    "Madelung constants",
    area="molecules",
    value=[1.747564595, 1.762674773],
    tolerance=1e-6,
    why="splines of order 5 on a mesh of 60 cells an edge, and a direct sum that is cut at alpha r = 5.9",
    source="Sakamoto 1958, J. Chem. Phys. 28, 164: NaCl and CsCl, by the distance of neighbours",
    quick=True,
)
def madelung_constants(place: Workplace) -> list[float]:
    """Energy of an ion pair of rock salt and of caesium chloride, in 1 / the distance of neighbours."""
    sites = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    salt = _crystal_energy(1.0 * sites, 1.0 - 2.0 * (sites.sum(axis=1) % 2), 4.0)
    cells = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    x = np.concatenate([cells, cells + 0.5])
    caesium = _crystal_energy(x, np.repeat([1.0, -1.0], len(cells)), 3.0)
    return [-salt / 32.0, -caesium / len(cells) * 0.75**0.5]


def _water(data: bytes) -> tuple[Fields, Fields, Sequence[tuple[int, int]]]:
    """The charges of a configuration, its oxygens, and the pairs within molecules."""
    x, edges, elements = configuration(data)
    is_oxygen = np.array(elements) == "O"
    box = np.diag(edges)[None]
    charged = Fields({"x": x, "charge": np.where(is_oxygen, -0.8476, 0.4238), "box": box})
    first = range(0, len(x), 3)
    pairs = [(k + a, k + b) for k in first for a, b in ((0, 1), (0, 2), (1, 2))]
    return charged, Fields({"x": x[is_oxygen], "box": box.copy()}), pairs


def _charges(fields: Fields, pairs: Sequence[tuple[int, int]]) -> Potential:
    """Particle-mesh Ewald at NIST's splitting parameter, 5.6 over the edge of the box [K]."""
    edge = float(fields["box"].values[0, 0, 0])
    pme = particle_mesh_ewald(
        fields,
        cutoff=_cutoff(edge),
        alpha=5.6 / edge,
        mesh=(64, 64, 64),
        exclude=pairs,
        coulomb_constant=COULOMB,
    )
    return Potential(fields, pme.terms, pme.maps)


def _cutoff(edge: float) -> Cutoff:
    """Of 10 angstrom, which is half of the smallest box."""
    return Cutoff(10.0, sharp=True, skin=0.0 if edge <= 20.0 else 0.5)


def _energies(data: bytes) -> dict[str, float]:
    """Every part of the energy of a configuration [K]."""
    charged, oxygens, pairs = _water(data)
    numbers = {"epsilon": 78.19743111, "sigma": 3.16555789}
    cutoff = _cutoff(float(oxygens["box"].values[0, 0, 0]))
    dispersion = Potential(oxygens, [bind(lennard_jones, oxygens, parameters=numbers, cutoff=cutoff)])
    return {"dispersion": float(dispersion.value()), **_charges(charged, pairs).by_term()}


@published_value(
    "NIST SPC/E water",
    area="molecules",
    value=[number for part in PARTS.values() for number in part],
    tolerance=[half for part in PARTS.values() for half in half_digits(part, 6)],
    why="half a unit of the sixth digit, the last that is published",
    source=f"{SITE}: SPC/E water reference calculations, cutoff of 10 angstrom",
    unit="K",
    data=FILES,
    quick=True,
)
def energies_of_water(place: Workplace) -> list[float]:
    """Of four configurations: Lennard-Jones, real-space, intramolecular and self energies."""
    found = [_energies(place.data_bytes(name)) for name in FILES]
    return [one[part] for part in PARTS for one in found]


def _beyond(fields: Fields) -> float:
    """The sum over wave vectors behind the end of NIST's sum [K]."""
    edge, x, charge = fields["box"].values[0, 0, 0], fields["x"].values, fields["charge"].values
    whole = np.stack(np.meshgrid(*[np.arange(-12, 13)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    squares = (whole**2).sum(axis=1)
    k = 2.0 * np.pi / edge * whole[(squares >= END) & (squares < 144)]
    square, structure = (k * k).sum(axis=1), np.exp(1j * k @ x.T) @ charge
    damping = np.exp(-0.25 * square * (edge / 5.6) ** 2) / square
    return float(COULOMB * 2.0 * np.pi / edge**3 * (damping * np.abs(structure) ** 2).sum())


@published_value(
    "NIST SPC/E water, wave vectors",
    area="molecules",
    value=WAVES,
    tolerance=half_digits(WAVES, 6),
    why="half a unit of the sixth digit; waves with k^2 + l^2 + m^2 > 26, left out by NIST, are taken off",
    source=f"{SITE}: SPC/E water reference calculations, cutoff of 10 angstrom",
    unit="K",
    data=FILES,
    quick=True,
)
def waves_of_water(place: Workplace) -> list[float]:
    """Of four configurations: the sum over wave vectors, by splines on a mesh."""
    found = []
    for name in FILES:
        charged, _, pairs = _water(place.data_bytes(name))
        found.append(_charges(charged, pairs).by_term()["pme_reciprocal"] - _beyond(charged))
    return found


ROWS: list[PublishedValue] = [madelung_constants, energies_of_water, waves_of_water]
