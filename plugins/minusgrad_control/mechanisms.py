"""Mechanisms by their Lagrangians: a double pendulum, a cart with a pole, a weight on turning ground.

Double pendulum of point masses m_1, m_2 on massless rods l_1, l_2; angles a, b from the vertical [rad]:

    L = (m_1 + m_2) l_1^2 a'^2 / 2 + m_2 l_2^2 b'^2 / 2 + m_2 l_1 l_2 a' b' cos(a - b)
        + (m_1 + m_2) g l_1 cos a + m_2 g l_2 cos b

Cart of mass M at place s with a pole, a point mass m at the length l; angle a from hanging down [rad]:

    L = (M + m) s'^2 / 2 + m l s' a' cos a + m l^2 a'^2 / 2 + m g l cos a

A point mass m in the frame of ground that turns by the vector w, such as that of the Earth at some latitude:

    L = m |v + w x x|^2 / 2 - m g z

A motor pushes the cart with a force of sines, which a fit may seek:

    F(t) = sum_k a_k sin(k pi t / T),   k = 1, ..., 8               U = -s F(t)

The loss of a pole that is to stand: 1 + cos a + (s / far)^2 + (s' / fast)^2 + (a' / turning)^2.

(Landau and Lifshitz, Mechanics, section 5; Barto, Sutton and Anderson 1983, IEEE Trans. SMC 13, 834.)
"""

from minusgrad.plugin import Node, Parameter, Time, Velocity, lagrangian, local_energy, ti

MASS = Parameter("kg", bounds=(0.0, float("inf")), open=True, about="Mass of the body.")
LENGTH = Parameter("m", bounds=(0.0, float("inf")), open=True, about="Length of the rod.")
GRAVITY = Parameter("m s^-2", scale=10.0, default=9.81, about="Acceleration of gravity.")


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


@lagrangian(
    "cart_pole",
    over="nodes",
    s=Node("m"),
    a=Node("rad"),
    v_s=Velocity("m/s", rate_of="s"),
    v_a=Velocity("rad/s", rate_of="a"),
    M=MASS,
    m=MASS,
    l=LENGTH,
    g=GRAVITY,
)
def cart_pole(s, a, v_s, v_a, M, m, l, g):  # noqa: E741  (the letter of the equation)
    """A cart on a track, and a pole with a point mass at its end, which hangs down at a = 0."""
    turning = m * l * ti.cos(a[0])
    moving = 0.5 * (M + m) * v_s[0] * v_s[0] + turning * v_s[0] * v_a[0] + 0.5 * m * l * l * v_a[0] * v_a[0]
    return moving + g * turning


@lagrangian(
    "turning_weight",
    over="nodes",
    x=Node("m", (3,)),
    v=Velocity("m/s", (3,)),
    m=MASS,
    w=Parameter("rad/s", (3,), about="Angular velocity of the ground."),
    g=GRAVITY,
)
def turning_weight(x, v, m, w, g):
    """A point mass under gravity, seen from ground that turns: with Coriolis and centrifugal forces."""
    u = v[0] + w.cross(x[0])
    return 0.5 * m * u.dot(u) - m * g * x[0][2]


@local_energy(
    "motor",
    over="nodes",
    s=Node("m"),
    t=Time(),
    a=Parameter("N", (8,), about="Amplitudes of the eight sines."),
    duration=Parameter("s", default=1.0, about="Time T of half a period of the first sine."),
)
def motor(s, t, a, duration):
    """A force on a cart, sum over k of a_k sin(k pi t / T)."""
    force = 0.0
    for k in ti.static(range(8)):
        force += a[k] * ti.sin((k + 1) * 3.141592653589793 * t / duration)
    return -s[0] * force


@local_energy(
    "standing",
    over="nodes",
    unit="1",
    s=Node("m"),
    a=Node("rad"),
    v_s=Node("m/s"),
    v_a=Node("rad/s"),
    far=Parameter("m", default=1.0, about="Distance from the origin that counts as one."),
    fast=Parameter("m/s", default=1.0, about="Speed of the cart that counts as one."),
    turning=Parameter("rad/s", default=1.0, about="Angular velocity of the pole that counts as one."),
)
def standing(s, a, v_s, v_a, far, fast, turning):
    """How far a pole is from standing still above a cart at the origin: 0 there, 2 hanging at rest."""
    x, u, w = s[0] / far, v_s[0] / fast, v_a[0] / turning
    return 1.0 + ti.cos(a[0]) + x * x + u * u + w * w
