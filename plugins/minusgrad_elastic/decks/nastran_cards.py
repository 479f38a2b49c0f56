"""What becomes of each card of Nastran in a deck that is read for its mesh.

    read       points, cells, coordinate systems, and cards that name points, cells or faces
    refused    says something about geometry, groups or coordinates that is not read: the file is refused
    said       supports, loads, sections: named in a remark, for the scene says them
    other      materials, solution, output, optimisation, aeroelasticity: nothing about the mesh

A name that ends with `-` is the beginning of names. Source: MSC Nastran 2021 Quick Reference Guide, "Bulk
data entries"; NX Nastran 12 Quick Reference Guide.
"""

from .keyword_lines import listed_names

SOLIDS = {"CTETRA": ("tetra", "tetra10"), "CHEXA": ("hexahedron", "hexahedron20"),
          "CPENTA": ("wedge", "wedge15"),
          "CPYRAM": ("pyramid", "pyramid13"), "CPYRA": ("pyramid", "pyramid13")}  # fmt: skip
"""Cells in space by their card, of order 1 and 2."""
FLAT = {
    "CTRIA3": "triangle", "CTRIAR": "triangle", "CTRIA6": "triangle6", "CQUAD4": "quad", "CQUADR": "quad",
    "CQUAD8": "quad8", "CQUAD": "quad9", "CSHEAR": "quad", "CPLSTN3": "triangle", "CPLSTN4": "quad",
    "CPLSTN6": "triangle6", "CPLSTN8": "quad8", "CPLSTS3": "triangle", "CPLSTS4": "quad",
    "CPLSTS6": "triangle6", "CPLSTS8": "quad8",
}  # fmt: skip
LINES = {"CBAR": 2, "CBEAM": 2, "CROD": 2, "CTUBE": 2, "CBEND": 2, "CONROD": 1, "PLOTEL": 1}
"""Lines, and the field of their first point."""
SYSTEMS = ("CORD1R", "CORD1C", "CORD1S", "CORD2R", "CORD2C", "CORD2S")
NAMING = (
    *(
        "SPC",
        "SPC1",
        "SPCADD",
        "SPCD",
        "PLOAD",
        "PLOAD2",
        "PLOAD4",
        "SET1",
        "SET3",
        "FORCE",
        "FORCE1",
        "FORCE2",
    ),
    *("MOMENT", "MOMENT1", "MOMENT2", "BSURF", "BSURFS", "BCPROP"),
)
"""Cards that name points, cells or faces by a number."""
READ = frozenset(("GRID", "GRDSET", *SOLIDS, *FLAT, *LINES, *SYSTEMS, *NAMING))

_CURES = {
    """
    INCLUDE, READFILE
    """: ("the deck is one file here; put the text of the other one in its place"),
    """
    RBE1, RBE2, RBE2A, RBE2F, RBE2GS, RBE3, RBE3U, RBAR, RBAR1, RROD, RTRPLT, RTRPLT1, RSPLINE, RSSCON,
    RJOINT, RCONN, RBAX3D, RVDOF, RVDOF1, MPC, MPCADD, MPCAX, MPCY, CWELD, CFAST, CSEAM, CINTC, BCONP,
    SPRELAX, JOINTG, GMBC, GENEL, CYSYM, CYJOIN, CYAX
    """: (
        "it connects points, and would be lost; mesh the parts as one, or take it out and say it in the scene"
    ),
    """
    CTRIAX, CTRIAX6, CQUADX, CQUADX4, CQUADX8, CTRAX3, CTRAX6, CIHEX1, CIHEX2, CHEXCZ, CPENTCZ, CIFHEX,
    CIFPENT, CIFQUAD, CIFQDX, CTETRAF, CHEXAF, CFLUID2, CFLUID3, CFLUID4, CAXIF2, CAXIF3, CAXIF4,
    CSLOT3, CSLOT4, CCONEAX, CTWIST, CWEDGE, CQDMEM, CQDMEM1, CQDMEM2, CTRMEM, CTRPLT, CTRPLT1, CQDPLT,
    CTRBSC, CTORDRG, CTRAPRG, CTRIARG, CTRAPAX, CTRSHL, CTRIM6, CELBOW, CHEX8, CHEX20, CTETRA1, CHEXP,
    CACINF3, CACINF4, CHACAB, CHACBR, CHEXAL, CHEXPR, CPENPR, CTETPR, CAABSF, CSLOT, CQUADP, CBEAM3,
    CDUM-, CUJET, CDDAM
    """: ("its shape is not read; mesh with CTETRA, CHEXA, CPENTA, CPYRAM, CTRIA3, CTRIA6, CQUAD4, CQUAD8"),
    """
    GRIDG, GRIDA, GRIDB, GRIDF, GRIDS, GRID1, CORD3G, CORD3R, CORD3RX, CORD1RX, CORD2RX, CORD4R, RINGAX,
    RINGFL, POINTAX, POINT, PRESPT, SECTAX, FEEDGE, FEFACE, GMCURV, GMSURF, PSET, PVAL, EGRID, CGEN,
    MESHOFF
    """: ("points or systems of this kind are not read; write GRID with CORD1R to CORD2S"),
    """
    SEELT, SEBNDRY, SEBULK, SECONCT, SELOC, SEMPLN, SEEXCLD, SESET, EXTRN, RELEASE, SETREE, SEUPPT,
    SELABEL, SENQSET, MODTRAK, DUPGRID, ASETSE, SEBSET, SEBSET1
    """: ("it joins parts that lie elsewhere; save the whole mesh"),
    """
    BCPROPS, BCRPARA, BSURFG, BOUTPUT-, FREEPT, SETREE1, SEQSET-, SET2, BCBODY, BCBODY1, BCPATCH,
    MESHSET, GROUP, ELSET, NSET
    """: ("it names a part of the mesh in a way that is not read; name it by SET1, SET3, SPC1 or PLOAD4"),
}
REFUSED = {name: cure for names, cure in _CURES.items() for name in listed_names(names)}
"""The cure of each, by card."""
SAID = listed_names(
    """
    SPOINT, EPOINT, SUPORT, SUPORT1, SPCOFF, SPCOFF1, SPCR, SPCNR-, PLOAD1, PLOADX, PLOADX1, PLOADB3,
    PLOADE1, RFORCE, RFORCE1, GRAV, ACCEL, ACCEL1, LOAD, LOADCYH, LOADCYN, LOADCYT, LOADT, CLOAD, SLOAD,
    LSEQ, TEMP, TEMPD, TEMPP1, TEMPP2, TEMPP3, TEMPRB, TEMPBC, TEMPEX, TEMPF, TEMPN1, DEFORM, QBDY1,
    QBDY2, QBDY3, QHBDY, QVECT, QVOL, QSET, QSET1, CHBDYE, CHBDYG, CHBDYP, CONV, CONVM, RADBC, RADBND,
    RADCAV, RADLST, RADMTX, RADSET, BDYOR, VIEW, VIEW3D, CELAS-, CDAMP-, CMASS-, CBUSH-, CGAP, CVISC,
    CONM1, CONM2, CONTRLT, CSPOT, CSLAVE, CMREBAI, CMREBAR, PSOLID, PSHELL, PCOMP, PCOMPG,
    PCOMPS, PCOMPG1, PCOMPLS, PLSOLID, PLPLANE, PPLANE, PBAR, PBARL, PBEAM, PBEAML, PBCOMP, PROD, PTUBE,
    PBEND, PSHEAR, PAXSYM, PTRSHL, PVISC, PELAS-, PDAMP-, PMASS, PGAP, PBUSH-, PLCOMP, PHBDY, PCONV,
    PCONVM, PSHLN1, PSHLN2, PSLDN1, PAABSF, PBMSECT, PBRSECT, PTSHELL, PEULER-, PRODN1, PBARN1, PSOLIDD,
    PSHELLD, PSHELL1, SNORM, BAROR, BEAMOR, NSM, NSM1, NSML, NSML1, NSMADD, ASET, ASET1, BSET, BSET1,
    CSET, CSET1, OMIT, OMIT1, USET, USET1, BNDFIX, BNDFIX1, BNDFREE, BNDFRE1, FLSYM, DAREA, DELAY,
    DPHASE, BCTABLE, BCTABL1, BCONECT, BCONP1, BCTSET, BCTADD, BCTPARM, BCTPARA, BCPARA, BCGRID,
    BCBMRAD, BCBZIER, BCNURBS, BCMOVE, BLSEG, BWIDTH, BFRIC, BGSET, BGADD, BGPARM, BEDGE, BSQUEAL,
    BCMATL, GUST, TIC, TICP, INIPRES, ISTRESS-, ISTRSSH, ISTRNTS-, INITS, INITADD, IPSTRAIN, IPSTRN,
    PLOTG, SEQGP, SWLDPRM, CSCHD, CRAC2D, CRAC3D, CRAC-, VCCT, COHESIV, PRETEN, CBOLT, BOLT, BOLTFOR-,
    BOLTSEQ, BOLTLD-
    """
)
"""Named in a remark."""
OTHER = listed_names(
    """
    PARAM, MAT-, MFLUID, NLPARM, NLPCI, NLSTEP, TSTEP, TSTEPNL, EIG-, DYN-, TABL-, TABLE-, TLOAD-,
    RLOAD-, FREQ-, DLOAD, RANDPS, RANDT1, ECHO-, DTI, DMI-, DMIG-, NOLIN-, SPLINE-, AERO, AEROS, CAERO-,
    PAERO-, AESURF-, AELINK, AELIST, AESTAT, AEPARM, AEFACT, AEFORCE, AEPRESS, AECOMP-, AEDW, AEGRID,
    AEQUAD4, AETRIA3, TRIM-, FLUTTER, FLFACT, MKAERO-, DIVERG, GUST-, MONPNT-, MONDSP-, MONGRP, MONSUM-,
    CSSCHD, UXVEC, SPBLND-, SPRBND-, DESVAR, DRESP-, DCON-, DVPREL-, DVCREL-, DVMREL-, DVGRID, DVBSHAP,
    DVSHAP, DEQATN, DLINK, DOPTPRM, DTABLE-, DVSET, DVPSURF, DSCREEN, DSCONS, DTOP-, TOPVAR, BEADVAR,
    DDVAL, DVBAZ, DVGEOM, DVLREL-, TOMVAR, STOCHAS, SOLUTION, SNSET, ROTOR-, RGYRO, RSPINR, RSPINT,
    UNBALNC, TEMPMAT, CREEP, DAMPING, DAMPGBL, ENDDATA, FATIGUE, FTG-, PFTG, ACMODL, ACPEMCP, ACSRCE,
    ACOUSTIC-, ADMRECVR, MDLPRM, NLRGAP, NLRSFD, NTHICK, RCROSS, RCPARM, RCONFIG, SPECSEL, MONCARL,
    VARIAN, PANEL, WETSURF, SHREL-, ENTUDS, UDNAME, UDSESV, SWLDPRMS, AMLREG, SELOADS, OUTRCV,
    OUTPUT, PLTSURF, PCOMPFQ, PDAMPT, EQUIV, SEUSET-, SECSET-, SEQSEP, SESUP, SEOUT, RSPEC-, EPOINTS,
    FORCEAX
    """
)
"""Passed over."""


def verdict_of(name: str) -> tuple[str, str]:
    """One of "read", "refused", "said", "other", and the cure of a refusal: of unknown cards, too."""
    if name in READ:
        return "read", ""
    for word, cure in REFUSED.items():
        if _is_meant(word, name):
            return "refused", cure
    for verdict, words in (("said", SAID), ("other", OTHER)):
        if any(_is_meant(word, name) for word in words):
            return verdict, ""
    return "refused", "is no card that is known here; take it out if it says nothing of the mesh"


def _is_meant(word: str, name: str) -> bool:
    return name == word or (word.endswith("-") and name.startswith(word[:-1]))
