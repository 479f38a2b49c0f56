"""Propanone as united atoms: an OpenMM System, and a PDB file of its places."""

PROPANONE = """\
<System openmmVersion="8.6.1" type="System" version="1">
<PeriodicBoxVectors>
<A x="3" y="0" z="0"/><B x="0.5" y="4" z="0"/><C x="0" y="0.25" z="5"/>
</PeriodicBoxVectors>
<Particles>
<Particle mass="16"/><Particle mass="12"/><Particle mass="15"/><Particle mass="15"/>
</Particles>
<Constraints/>
<Forces>
<Force type="HarmonicBondForce"><Bonds>
<Bond d=".12" k="400000" p1="1" p2="0"/><Bond d=".15" k="200000" p1="1" p2="2"/>
<Bond d=".15" k="200000" p1="1" p2="3"/><Bond d=".26" k="5000" p1="2" p2="3"/>
</Bonds></Force>
<Force type="HarmonicAngleForce"><Angles><Angle a="2" k="300" p1="2" p2="1" p3="3"/></Angles></Force>
<Force type="PeriodicTorsionForce"><Torsions>
<Torsion k="4" p1="2" p2="3" p3="1" p4="0" periodicity="2" phase="3"/>
<Torsion k="5" p1="0" p2="1" p3="2" p4="1" periodicity="3" phase="0"/>
</Torsions></Force>
<Force method="2" type="NonbondedForce"><GlobalParameters/><ParticleOffsets/><ExceptionOffsets/><Particles>
<Particle eps="0.5" q="-.5" sig=".3"/><Particle eps="0" q=".5" sig="1"/>
<Particle eps=".4" q="0" sig=".36"/><Particle eps=".4" q="0" sig=".36"/>
</Particles><Exceptions>
<Exception eps="0" p1="0" p2="1" q="0" sig="1"/><Exception eps="0.2" p1="0" p2="2" q="-.1" sig=".33"/>
</Exceptions></Force>
</Forces>
</System>
"""
"""United atoms, with a Urey-Bradley pair and an improper torsion; the last torsion returns along a bond."""
PLACES = [(0.0, 0.0, 1.2), (0.0, 0.0, 0.0), (1.3, 0.0, -0.75), (-1.3, 0.0, -0.75)]


def pdb(places=PLACES, residue: str = "PRO") -> str:
    return "".join(
        f"ATOM  {k + 1:5d}  C{k}  {residue} A   1    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           C\n"
        for k, (x, y, z) in enumerate(places)
    )
