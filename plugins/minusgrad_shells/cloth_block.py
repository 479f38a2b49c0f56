"""`[[compound]] kind = "cloth"`: stretching and bending of a sheet in one block.

    D = E t^3 / (12 (1 - nu^2))        unless `bending_stiffness` is given, as fabrics are measured
    E = (force per width and strain) / t        where `tensile_stiffness` is given

Decisions 0133.
"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from minusgrad import bind
from minusgrad.plugin import (
    Compound,
    CompoundContext,
    Quantity,
    Record,
    Term,
    UserError,
    quantities,
)

from .bending import shell_bending
from .fabric_curves import FabricCurve, measured_curve
from .fabrics import fabric
from .membranes import membrane_neo_hookean, membrane_st_venant_kirchhoff
from .plate_bending import fabric_bending, plate_bending, quadratic_bending
from .surface_state import SheetParts

MATERIALS = {
    "st_venant_kirchhoff": membrane_st_venant_kirchhoff,
    "neo_hookean": membrane_neo_hookean,
    "fabric": fabric,
}
Stiffness = Annotated[float | str, Quantity("J", "positive")]
Spot = tuple[Annotated[float | str, Quantity("m")], Annotated[float | str, Quantity("m")]]
CURVES = ("warp", "weft", "shear")
COMMON = ("youngs_modulus", "poissons_ratio", "thickness")
"""What stretching and bending have in common."""
ON_LINE = 1e-6
"""How far nodes may lie from the line of a fold, in parts of its length."""
FLAT = 1e-6
"""Angle of a fold [rad] up to which a sheet is flat."""


class Fold(Record):
    """A line of a sheet along which it is folded at rest, on edges of its triangles."""

    start: Spot
    """First end of the line, lengths along the sides of the sheet from its corner bottom_left."""
    end: Spot
    """Second end of the line."""
    angle: Annotated[float | str, Quantity("rad")]
    """Angle of the fold at rest, less than half a turn; positive: both sides rise towards the normal."""


class Cloth(Record):
    """Stretching and bending of a sheet or a surface; the energies are NAME_stretch and NAME_bend.

    Modulus, Poisson's ratio and thickness are common to both: `cloth.thickness`.
    """

    name: str = "cloth"
    """Beginning of the names of the energies."""
    material: Literal["st_venant_kirchhoff", "neo_hookean", "fabric"] = "st_venant_kirchhoff"
    """Material of the membrane; "fabric": by three measured curves."""
    youngs_modulus: Annotated[float | str, Quantity("Pa", "positive")] | None = None
    """Young's modulus (default: of the tensile stiffness)."""
    tensile_stiffness: Annotated[float | str, Quantity("N/m", "positive")] | None = None
    """Force per width and strain of a strip, Young's modulus times thickness (default: of the modulus)."""
    poissons_ratio: Annotated[float, Field(gt=-1.0, lt=0.5)] = 0.3
    """Poisson's ratio, between -1 and 0.5."""
    thickness: Annotated[float | str, Quantity("m", "positive")] | None = None
    """Thickness (default: that of the state)."""
    warp: str | None = None
    """CSV file with the columns strain and tension, of a strip along the warp (default: none)."""
    weft: str | None = None
    """CSV file with the columns strain and tension, of a strip along the weft (default: none)."""
    shear: str | None = None
    """CSV file with the columns angle (rad) and tension, of a frame that is sheared (default: none)."""
    tension_unit: str = "N/m"
    """Unit of the tensions in the files."""
    fibre_angle: Annotated[float | str, Quantity("rad")] = 0.0
    """Angle of the warp from the first direction of the sheet."""
    bending: Literal["hinge", "quadratic", "fabric", "none"] = "hinge"
    """Model of bending: by folds, quadratic for flat sheets, by two directions, or none."""
    bending_stiffness: Stiffness | None = None
    """Stiffness of bending; of "fabric" along the warp (default: of modulus and thickness)."""
    bending_stiffness_weft: Stiffness | None = None
    """Stiffness of bending along the weft, for "fabric" (default: none)."""
    natural: Literal["shape", "flat"] = "shape"
    """Without bending the sheet is as it starts at rest, or flat."""
    folds: tuple[Fold, ...] = ()
    """Lines along which a sheet is folded at rest; empty: none."""

    def make(self, context: CompoundContext) -> Compound:
        parts = context.state.brings
        if not isinstance(parts, SheetParts):
            raise UserError("cloth: needs a sheet or a surface, got another state; use kind = 'sheet'")
        terms = _Builder(self, context, parts).terms()
        known = [key for key in COMMON if any(key in term.parameters for term in terms)]
        return Compound(terms, common={self.name: known} if known else {})


class _Builder:
    """The terms of one block."""

    def __init__(self, block: Cloth, context: CompoundContext, parts: SheetParts):
        self.block, self.context, self.parts = block, context, parts
        self.given: dict[str, Any] = quantities(block, context.units)
        self.flat, self.hinges = (context.state.data.get(name, {}) for name in ("triangles", "hinges"))
        if self.given["thickness"] is None:
            self.given["thickness"] = float(self.flat["volume"][0] / self.flat["area"][0])

    def terms(self) -> list[Term]:
        """Stretching, and bending unless there is none."""
        found = [self._stretch()]
        if self.block.bending != "none" and len(self.hinges):
            found.append(self._bend())
        return found

    def _stretch(self) -> Term:
        if self.block.material == "fabric":
            return self._fabric()
        if lost := [key for key in CURVES if getattr(self.block, key) is not None]:
            raise UserError(
                f'{lost[0]}: is of material = "fabric", got another one; leave it out, or give that'
            )
        parameters = self._moduli()
        return self._bound("stretch", MATERIALS[self.block.material], "triangles", self.flat, parameters)

    def _moduli(self) -> dict[str, float]:
        """E, nu, t. Raises `UserError` unless one of modulus and tensile stiffness is given."""
        given = self.given
        if (given["youngs_modulus"] is None) == (given["tensile_stiffness"] is None):
            got = "none" if given["youngs_modulus"] is None else "both"
            raise UserError(f"youngs_modulus, tensile_stiffness: needs one of both, got {got}; give one")
        young = given["youngs_modulus"] or given["tensile_stiffness"] / given["thickness"]
        return {"youngs_modulus": young} | {key: given[key] for key in ("poissons_ratio", "thickness")}

    def _fabric(self) -> Term:
        self._require_directions("material")
        lost = [key for key in CURVES if getattr(self.block, key) is None]
        if lost:
            raise UserError(f'{lost[0]}: material = "fabric" needs the file of this curve, got none; give it')
        if wrong := [key for key in ("youngs_modulus", "tensile_stiffness") if self.given[key] is not None]:
            raise UserError(f"{wrong[0]}: a fabric has curves in its place, got both; leave it out")
        unit = self.context.units.convert(f"1 {self.block.tension_unit}", "N/m")
        curves = {key: self._curve(key) for key in CURVES}
        parameters = {
            "starts": [curve.start for curve in curves.values()],
            "spacings": [curve.spacing for curve in curves.values()],
            "fibre_angle": self.given["fibre_angle"],
        }
        tables = {key: unit * curve.rows for key, curve in curves.items()}
        return self._bound("stretch", fabric, "triangles", self.flat, parameters, tables=tables)

    def _curve(self, key: str) -> FabricCurve:
        file = getattr(self.block, key)
        is_shear = key == "shear"
        return measured_curve(key, file, self.context.read(file), "angle" if is_shear else "strain", is_shear)

    def _require_directions(self, key: str) -> None:
        if self.parts.axes is None:
            raise UserError(
                f'{key}: "fabric" needs directions of the material, got a surface without; give [state] warp'
            )

    def _bend(self) -> Term:
        block, given = self.block, self.given
        if given["bending_stiffness_weft"] is not None and block.bending != "fabric":
            raise UserError('bending_stiffness_weft: is of bending = "fabric", got another; leave it out')
        data = dict(self.hinges) | {"rest": self._rest()}
        if block.bending == "fabric":
            self._require_directions("bending")
            both = {key: given[f"bending_stiffness{end}"] for key, end in (("warp", ""), ("weft", "_weft"))}
            if lost := [key for key, value in both.items() if value is None]:
                raise UserError(
                    f'bending_stiffness: bending = "fabric" needs both stiffnesses, got none along the'
                    f" {lost[0]}; give it"
                )
            stiffnesses = {f"stiffness_{key}": value for key, value in both.items()}
            if given["fibre_angle"] != 0.0:
                raise UserError(
                    'bending: "fabric" bends along the directions of the sheet, got a fibre_angle; turn'
                    " `along` of the sheet"
                )
            return self._bound("bend", fabric_bending, "hinges", data, stiffnesses)
        if block.bending == "quadratic":
            self._refuse_folded(data["rest"])
            return self._bound("bend", quadratic_bending, "hinges", data, {"stiffness": self._stiffness()})
        if given["bending_stiffness"] is not None or block.material == "fabric":
            return self._bound("bend", shell_bending, "hinges", data, {"stiffness": self._stiffness()})
        return self._bound("bend", plate_bending, "hinges", data, self._moduli())

    def _stiffness(self) -> float:
        """D. Raises `UserError` for a fabric without one."""
        if self.given["bending_stiffness"] is not None:
            return self.given["bending_stiffness"]
        if self.block.material == "fabric":
            raise UserError("bending_stiffness: a fabric has no modulus that gives it, got none; measure it")
        moduli = self._moduli()
        return (
            moduli["youngs_modulus"]
            * moduli["thickness"] ** 3
            / (12.0 * (1.0 - moduli["poissons_ratio"] ** 2))
        )

    def _rest(self) -> np.ndarray:
        """Angles (H,) of all hinges at rest."""
        rest = np.array(self.hinges["rest"])
        if self.block.natural == "flat":
            rest = np.zeros_like(rest)
        for k, fold in enumerate(self.block.folds):
            rest[self._hinges_on(k, fold)] = self._fold_angle(k, fold)
        return rest

    def _fold_angle(self, k: int, fold: Fold) -> float:
        angle = quantities(fold, self.context.units)["angle"]
        if not abs(angle) < np.pi:
            raise UserError(
                f"folds.{k}.angle: must be less than half a turn, got {angle:.4g} rad; correct it"
            )
        return angle

    def _hinges_on(self, k: int, fold: Fold) -> np.ndarray:
        """The hinges whose edges lie on the line of a fold. Raises `UserError` where there are none."""
        if self.parts.spots is None:
            raise UserError("folds: are lines of a flat sheet, got a surface from a file; leave them out")
        values = quantities(fold, self.context.units)
        start, end = np.array(values["start"], float), np.array(values["end"], float)
        length = float(np.linalg.norm(end - start))
        if not length > 0.0:
            raise UserError(f"folds.{k}: needs two different ends, got a line without length; correct it")
        along = (end - start) / length
        ends = self.parts.spots[self.context.state.tuples["hinges"][:, 1:3]] - start
        at, beside = ends @ along, ends @ np.array([-along[1], along[0]])
        near = (np.abs(beside) < ON_LINE * length) & (np.abs(at - 0.5 * length) < (0.5 + ON_LINE) * length)
        if not (found := np.flatnonzero(near.all(axis=1))).size:
            raise UserError(
                f"folds.{k}: must lie on edges between triangles, got a line with none on it; choose `cells`"
                " and `diagonals` so that edges follow it"
            )
        return found

    def _refuse_folded(self, rest: np.ndarray) -> None:
        worst = float(np.abs(rest).max())
        if worst > FLAT:
            raise UserError(
                f'bending: "quadratic" is for sheets that are flat at rest, got a fold of {worst:.3g} rad;'
                ' give natural = "flat", or bending = "hinge"'
            )

    def _bound(
        self,
        part: str,
        energy: Any,
        rows: str,
        data: Any,
        parameters: dict[str, Any],
        **more: Any,
    ) -> Term:
        return bind(
            energy,
            self.context.fields,
            name=f"{self.block.name}_{part}",
            tuples=self.context.state.tuples[rows],
            data={key: values for key, values in data.items() if key in energy.roles},
            parameters=parameters,
            units=self.context.units,
            **more,
        )
