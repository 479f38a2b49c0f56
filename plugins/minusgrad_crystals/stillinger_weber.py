"""The potential of Stillinger and Weber for tetrahedral solids: pairs, and triples that favour cos = -1/3.

    U(x) = sum_{i<j} epsilon A [B (sigma/r)^p - (sigma/r)^q] exp(sigma / (r - a sigma))
         + sum_i sum_{j<k} epsilon lambda exp(gamma sigma / (r_ij - a sigma) + gamma sigma / (r_ik - a sigma))
                           (cos theta_jik + 1/3)^2

where every r is below a sigma, else 0: all derivatives vanish there, so that a cutoff of a sigma with
`switch = "none"` cuts nothing off. x (n, d) [m], theta_jik the angle at i; epsilon [J], sigma [m], and
numbers A, B, p, q, a, lambda, gamma (Stillinger & Weber 1985, Phys. Rev. B 31, 5262). Silicon: epsilon = 50
kcal/mol, sigma = 2.0951 angstrom, A = 7.049556277, B = 0.6022245584, p = 4, q = 0, a = 1.8, lambda = 21,
gamma = 1.2. The argument `reach` is their a, `stiffness` their lambda.
"""

from math import inf

from minusgrad.plugin import Node, Parameter, local_energy, ti

EPSILON = Parameter("J", bounds=(0.0, inf), about="Depth of the well of two atoms.")
SIGMA = Parameter(
    "m",
    bounds=(0.0, inf),
    open=True,
    reason="it is a length",
    about="Length of the potential; the well is at 2^(1/6) of it.",
)
REACH = Parameter(
    default=1.8,
    bounds=(0.0, inf),
    open=True,
    reason="no pair interacts at 0",
    about="Distance at which the interaction ends, in parts of sigma.",
)
NUMBER = (0.0, inf)


@ti.func
def gap(r, end):
    """r - end, the distance to the end of the interaction; -end where r is beyond it, and the energy is 0."""
    return ti.select(r < end, r - end, -end)


@local_energy(
    "stillinger_weber_pair",
    over="pairs",
    symmetries=("translation", "rotation", "permutation"),
    x=Node("m", ("d",)),
    epsilon=EPSILON,
    sigma=SIGMA,
    A=Parameter(
        default=7.049556277, bounds=NUMBER, about="Strength of the pair energy, in parts of epsilon."
    ),
    B=Parameter(
        default=0.6022245584, bounds=NUMBER, about="Strength of the repulsion, relative to the attraction."
    ),
    p=Parameter(default=4.0, bounds=NUMBER, about="Exponent of the repulsion."),
    q=Parameter(default=0.0, bounds=NUMBER, about="Exponent of the attraction."),
    reach=REACH,
)
def stillinger_weber_pair(x, epsilon, sigma, A, B, p, q, reach):
    """The energy of two atoms: a well of depth epsilon at 2^(1/6) sigma."""
    r, end = (x[0] - x[1]).norm(), reach * sigma
    s = sigma / r
    u = epsilon * A * (B * s**p - s**q) * ti.exp(sigma / gap(r, end))
    return ti.select(r < end, u, 0.0)


@local_energy(
    "stillinger_weber_triple",
    over="triples",
    symmetries=("translation", "rotation"),
    x=Node("m", ("d",)),
    epsilon=EPSILON,
    sigma=SIGMA,
    stiffness=Parameter(
        default=21.0, bounds=NUMBER, about="Strength lambda of the triple energy, in parts of epsilon."
    ),
    gamma=Parameter(default=1.2, bounds=NUMBER, about="How fast the triple energy fades with distance."),
    reach=REACH,
)
def stillinger_weber_triple(x, epsilon, sigma, stiffness, gamma, reach):
    """The energy of two arms at an atom, x[0]: least where they meet at the tetrahedral angle."""
    a, b = x[1] - x[0], x[2] - x[0]
    r, s, end = a.norm(), b.norm(), reach * sigma
    bend = a.dot(b) / (r * s) + 1.0 / 3.0
    reached = ti.exp(gamma * sigma / gap(r, end) + gamma * sigma / gap(s, end))
    return ti.select(ti.max(r, s) < end, epsilon * stiffness * reached * bend * bend, 0.0)
