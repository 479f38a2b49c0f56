"""The outer Solar System for 100 years by REBOUND's IAS15, from the table of our scene: a whole process.

python outer_in_rebound.py scenes/data/outer_solar_system.csv
"""

import csv
import sys

import rebound

G = 0.01720209895**2
"""Gauss's constant squared: AU^3 Msun^-1 day^-2."""

simulation = rebound.Simulation()
simulation.G = G
with open(sys.argv[1]) as file:
    for body in csv.DictReader(line for line in file if not line.startswith("#")):
        simulation.add(**{name: float(body[name]) for name in ("m", "x", "y", "z", "vx", "vy", "vz")})
simulation.integrator = "ias15"
before = simulation.energy()
simulation.integrate(36525.0)
print(f"energy error {simulation.energy() / before - 1.0:.1e}")
