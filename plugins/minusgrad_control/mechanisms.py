"""Mechanisms in angles and lengths, by their Lagrangians: a double pendulum, a cart with a pole.

Double pendulum of point masses m_1, m_2 on massless rods l_1, l_2; angles a, b from the vertical [rad]:

    L = (m_1 + m_2) l_1^2 a'^2 / 2 + m_2 l_2^2 b'^2 / 2 + m_2 l_1 l_2 a' b' cos(a - b)
        + (m_1 + m_2) g l_1 cos a + m_2 g l_2 cos b

Cart of mass M at place s with a pole, a point mass m at the length l; angle a from hanging down [rad]:

    L = (M + m) s'^2 / 2 + m l s' a' cos a + m l^2 a'^2 / 2 + m g l cos a

(Landau and Lifshitz, Mechanics, section 5; Barto, Sutton and Anderson 1983, IEEE Trans. SMC 13, 834.)
"""

from minusgrad.plugin import Node, Parameter, Velocity, lagrangian, ti

MASS = Parameter("kg", bounds=(0.0, float("inf")), open=True)
LENGTH = Parameter("m", bounds=(0.0, float("inf")), open=True)
GRAVITY = Parameter("m s^-2", scale=10.0, default=9.81)


@lagrangian(
    "double_pendulum",
    over="nodes",
    q=Node("rad", (2,)),
    v=Velocity("rad/s", (2,)),
    m1=MASS,
    m2=MASS,
    l1=LENGTH,
    l2=LENGTH,
    g=GRAVITY,
)
def double_pendulum(q, v, m1, m2, l1, l2, g):
    """Two point masses on rods that turn in a vertical plane; angles from the vertical."""
    a, b = q[0][0], q[0][1]
    u, w = v[0][0], v[0][1]
    heavy = m1 + m2
    moving = 0.5 * heavy * l1 * l1 * u * u + 0.5 * m2 * l2 * l2 * w * w + m2 * l1 * l2 * u * w * ti.cos(a - b)
    return moving + heavy * g * l1 * ti.cos(a) + m2 * g * l2 * ti.cos(b)
