"""From the arrays of a file of atoms to a state: units, masses, charges, velocities, the cell, bodies.

Masses are those of `masses`, of the file, or of the elements (ASE's table: IUPAC 2016). Nothing else is known
of a species: what the scene does not say, and the file does not have, is asked for by name.

Decisions 0145.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minusgrad.plugin import AtomLabels, Body, Motion, State, StateContext, UnitSystem, UserError, memory

from .formats import AS_IT_STANDS, LAMMPS_UNITS, FileUnits

VELOCITIES = ("velocities", "velocity", "velo", "vel", "v")
"""Columns that have velocities, in units that extended XYZ does not say."""
FIELDS = ("x", "v", "m", "box", "charge", "species", "t")
"""Names of fields that a column cannot have."""
KNOWN_COLUMNS = {"bfactor": "angstrom^2"}
"""Units of columns that a format fixes."""
LISTS = {"bonds": "bonds", "angles": "angles", "dihedrals": "torsions"}
BYTES_PER_ATOM = 600
LEAST_VOLUME = 1e-6
"""Of a cell, in that of a cuboid with the same edges."""
BOLTZMANN = "1.380649e-23 J K^-1"


class FoundAtoms:
    """What a file has, on the way to a state."""

    def __init__(
        self, keys: Any, given: Mapping[str, Any], found: dict[str, Any], context: StateContext, format: str
    ):
        self.keys, self.given, self.found, self.context, self.format = keys, given, found, context, format
        self.what, self.remarks = f"'{keys.file}'", list[str](found["remarks"])
        self.units = self._file_units()
        types = format == "lammps" and not found["stated"]["labels"]
        usual = {one: f"type_{one}" if types else one for one in found["species"]}
        self.species = [keys.species.get(one, usual[one]) for one in found["species"]]
        self.names = [*dict.fromkeys(self.species)]
        if found["images"] > 1 and "index" not in keys.model_fields_set:
            self.remarks.append(f"has {found['images']} images, of which the last one is read; see `index`")

    def _file_units(self) -> FileUnits:
        """The units of the file's numbers. Raises `UserError` where they are not known, or do not fit."""
        named = self.keys.units or ("" if self.format != "lammps" else self.found["stated"]["units"])
        if self.format == "lammps":
            self._refuse_units(named)
        is_plain = not self.context.units.names
        if named == AS_IT_STANDS:
            if not is_plain:
                raise UserError(
                    "units: 'lj' are plain numbers of a dimensionless scene, got a scene with units; write"
                    ' [units] system = "dimensionless", or the units of the file'
                )
            return FileUnits("", "", "", "")
        if is_plain:
            raise UserError(
                f"file: {self.what} has units ({named or 'angstrom, u, e'}), got a dimensionless scene; give"
                ' [units], or units = "lj" to take its numbers as they are'
            )
        return LAMMPS_UNITS[named] if self.format == "lammps" else FileUnits()

    def _refuse_units(self, units: str) -> None:
        stated = self.found["stated"]
        if not units or units not in (*LAMMPS_UNITS, AS_IT_STANDS):
            raise UserError(
                f"units: {self.what} does not say its units, got {units or 'none'}; write the `units` of your"
                f" LAMMPS input ({', '.join((*LAMMPS_UNITS, AS_IT_STANDS))})"
            )
        if self.keys.units and stated["units"] and self.keys.units != stated["units"]:
            raise UserError(
                f"units: {self.what} says '{stated['units']}' itself, got '{self.keys.units}'; leave `units`"
                " out, or correct one of them"
            )

    def _factor(self, unit: str, dimension: str, what: str) -> float:
        """One unit of the file in the run's units."""
        if not self.context.units.names:
            return 1.0
        if not unit:
            raise UserError(
                f"units: {what} in LAMMPS's '{self.keys.units}' have no unit that is read, got some in"
                f" {self.what}; write the file in metal, real or si units"
            )
        return self.context.units.convert(f"1 {unit}", dimension)

    def state(self) -> State:
        """The state, with a remark for everything that is left out."""
        length = self._factor(self.units.length, "m", "lengths")
        x, m = self.found["positions"] * length, self._masses()
        cell, periodic = self._cell(length)
        fields: dict[str, np.ndarray] = {"x": x, "m": m}
        if (charges := self._charges()) is not None:
            fields["charge"] = charges
        numbers = {name: float(k) for k, name in enumerate(self.names)}
        fields["species"] = np.array([numbers[one] for one in self.species])
        v, others, units = self._columns(m)
        fields |= others
        rows, shifts = self._repeats(cell, periodic)
        fields = {name: values[rows] for name, values in fields.items()}
        fields["x"] = fields["x"] + shifts
        fields["v"] = self._velocities(v[rows], fields["m"])
        if periodic:
            fields["box"] = (np.array(self.keys.cells)[:, None] * cell)[None]
        self.context.remarks += [f"{self.what}: {one}" for one in self.remarks]
        usual = {"x": "m", "v": "m s^-1", "m": "kg", "box": "m", "charge": "C", "species": "1"}
        tuples = self._tuples()
        return State(
            fields=fields,
            units={name: units.get(name) or usual[name] for name in fields},
            motions=(Motion("x", "v", "m"),),
            bodies=tuple(self._bodies(rows)),
            tuples=tuples,
            shown=("bonds",) if "bonds" in tuples else (),
            labels={"x": "position", "v": "velocity", "m": "mass", "box": "edges"},
            periodic=periodic or None,
            atoms=self._labels(rows),
            absent={name: cure for name, cure in self._cures().items() if name not in fields},
        )

    def _cures(self) -> dict[str, str]:
        """What gives fields that a file may not have."""
        table = ", ".join(f'{_as_key(one)} = "..."' for one in self.names[:4])
        by_species = '[[compound]] kind = "lennard_jones_by_species" has it by species'
        return {
            "charge": f"{self.what} has no charges: write charges = {{ {table} }} in [state]",
            "epsilon": by_species,
            "sigma": by_species,
        }

    def _masses(self) -> np.ndarray:
        """Masses: of `masses`, else of the file, else of the elements. Raises `UserError` for others."""
        given = self.given["masses"]
        if strange := [one for one in given if one not in self.names]:
            raise UserError(f"masses: {self._no_species(strange[0])}")
        own = self.found.get("masses")
        factor = self._factor(self.units.mass, "kg", "masses") if own is not None else 0.0
        made, asked = np.zeros(len(self.species)), dict[str, None]()
        weights = {} if self.units.mass == "" else self.found["weights"]
        unit = self.context.units.convert("1 u", "kg") if self.context.units.names else 1.0
        for k, one in enumerate(self.species):
            if one in given:
                made[k] = given[one]
            elif own is not None and own[k] > 0.0:
                made[k] = own[k] * factor
            elif own is None and weights.get(one, 0.0) > 0.0:
                made[k] = weights[one] * unit
            else:
                asked[one] = None
        if asked:
            table = ", ".join(f'{_as_key(one)} = "..."' for one in [*asked][:4])
            raise UserError(
                f"masses: {self.what} has no mass above 0 for {', '.join([*asked][:8])}, which name no"
                f" element whose mass is known here; write masses = {{ {table} }}, or elements in `species`"
            )
        return made

    def _no_species(self, name: str) -> str:
        return f"no species '{name}' in {self.what} (there are: {', '.join(self.names)}); correct the name"

    def _charges(self) -> np.ndarray | None:
        given, own = self.given["charges"], self.found.get("charges")
        if not given:
            return None if own is None else own * self._factor(self.units.charge, "C", "charges")
        if strange := [one for one in given if one not in self.names]:
            raise UserError(f"charges: {self._no_species(strange[0])}")
        if missing := [one for one in self.names if one not in given]:
            raise UserError(
                f"charges: needs one for each species, got none for {', '.join(missing)}; add them, 0 for"
                " neutral atoms"
            )
        self.remarks += ["its charges are not taken, but those of `charges`"] if own is not None else []
        return np.array([given[one] for one in self.species])

    def _cell(self, length: float) -> tuple[np.ndarray, tuple[bool, ...]]:
        """The cell and its axes that repeat; none without a cell that repeats."""
        cell, periodic = self.found["cell"] * length, tuple(bool(one) for one in self.found["pbc"])
        if not cell.any():
            return cell, ()
        if not any(periodic):
            self.remarks.append("its cell is not taken: it repeats along no axis")
            return cell, ()
        edges = np.linalg.norm(cell, axis=1)
        free = [k for k in range(3) if not periodic[k] and not edges[k]]
        if free:
            one = self._factor(self.units.length, "m", "lengths")
            others = np.linalg.svd(cell)[2][::-1][: len(free)]  # normal to the vectors that there are
            cell = cell.copy()
            cell[free] = one * others
            edges = np.linalg.norm(cell, axis=1)
        if not abs(np.linalg.det(cell)) > LEAST_VOLUME * edges.prod():
            shown = (self.found["cell"]).tolist()
            raise UserError(
                f"file: {self.what} has a cell that spans no volume, got {shown}; correct its vectors"
            )
        return cell, periodic

    def _columns(self, m: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, str]]:
        """Velocities, and the other columns with their units, by name."""
        v, others, units, plain = np.zeros((len(m), 3)), dict[str, np.ndarray](), dict[str, str](), []
        if "velocities" in self.found:
            v = self.found["velocities"] * self._factor(self.units.velocity, "m s^-1", "velocities")
        if "momenta" in self.found:
            unit = self._factor(self.units.mass, "kg", "momenta") * self._factor(
                self.units.velocity, "m s^-1", "momenta"
            )
            v = self.found["momenta"] * unit / m[:, None]
        arrays: Mapping[str, np.ndarray] = self.found.get("arrays", {})
        if strange := [one for one in self.keys.columns if one not in arrays]:
            there = ", ".join(arrays) or "none"
            raise UserError(
                f"columns: {self.what} has no column '{strange[0]}' (there are: {there}); correct the name"
            )
        for name, values in arrays.items():
            unit = self.keys.columns.get(name, self.context.units.names and KNOWN_COLUMNS.get(name))
            si = UnitSystem.si().symbol(unit) if unit else "1"
            factor = self.context.units.convert(f"1 {unit}", si) if unit else 1.0
            if name in VELOCITIES and values.shape == v.shape:
                if unit is None and self.keys.temperature is None and self.context.units.names:
                    raise UserError(
                        f"columns: '{name}' of {self.what} has velocities, but the file does not say their"
                        f' unit; write it, columns = {{ {name} = "angstrom fs^-1" }}, or `temperature`'
                    )
                v = values * (self.context.units.convert(f"1 {unit}", "m s^-1") if unit else 1.0)
                continue
            own = re.sub(r"\W", "_", name)
            if own in FIELDS or own in others:
                self.remarks.append(f"its column '{name}' is not taken: a field has this name; rename it")
                continue
            others[own], units[own] = values * factor, si
            plain += [name] if unit is None and self.context.units.names and _has_fractions(values) else []
        if plain:
            self.remarks.append(
                f"its columns {', '.join(plain)} are fields of plain numbers; `columns` gives them units"
            )
        return v, others, units

    def _velocities(self, v: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Those of the file, or drawn: normal with variance k T / m, without a common velocity."""
        if self.keys.temperature is None:
            return v
        if v.any():
            self.remarks.append("its velocities are not taken, but those of `temperature`")
        units = self.context.units
        heat = (units.convert(BOLTZMANN, "J K^-1") if units.names else 1.0) * self.given["temperature"]
        drawn = self.context.random("atoms.velocities").normal(size=v.shape) * np.sqrt(heat / m)[:, None]
        return drawn - m @ drawn / m.sum()

    def _repeats(self, cell: np.ndarray, periodic: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
        """The atom of the file that each atom is, and its displacement; the atoms of a cell stay together."""
        cells, n = self.keys.cells, len(self.species)
        if cells == [1, 1, 1]:
            return np.arange(n), np.zeros((n, 3))
        if not periodic:
            raise UserError(f"cells: needs a cell that repeats, got none in {self.what}; leave `cells` out")
        if open_axes := [k for k in range(3) if cells[k] > 1 and not periodic[k]]:
            raise UserError(
                f"cells: the cell of {self.what} does not repeat along axis {open_axes[0]}, got {cells};"
                " write 1 there"
            )
        if self.found.get("lists"):
            raise UserError(
                f"cells: {self.what} has bonds, which are not repeated, got {cells}; leave it out"
            )
        count = n * int(np.prod([float(one) for one in cells]))
        memory.require(count * BYTES_PER_ATOM, f"{count:,} atoms", "use fewer cells")
        corners = np.indices(cells).reshape(3, -1).T @ cell
        return np.tile(np.arange(n), len(corners)), np.repeat(corners, n, axis=0)

    def _bodies(self, rows: np.ndarray) -> list[Body]:
        """Species first, then residues and names of atoms, and the fixed ones."""
        found: dict[str, np.ndarray] = {}
        for kind, texts in (
            ("species", self.species),
            ("residue", self.found.get("residues")),
            ("name", self.found.get("names")),
        ):
            words = np.array(texts or [], dtype=str)
            for name in dict.fromkeys(words.tolist()):
                nodes = np.flatnonzero((words == name)[rows])
                if name and name not in found:
                    found[name] = nodes
                elif name and not np.array_equal(found[name], nodes):
                    self.context.remarks.append(
                        f"{self.what}: its {kind} '{name}' is no body: another one has this name"
                    )
        if len(fixed := self.found.get("fixed", ())):
            chosen = np.zeros(len(self.species), bool)
            chosen[np.asarray(fixed, int)] = True
            found["fixed"] = np.flatnonzero(chosen[rows])
            self.context.remarks.append(
                f"{self.what}: its {len(found['fixed'])} fixed atoms are the body 'fixed';"
                " [[hold]] holds them"
            )
        return [Body(name, nodes) for name, nodes in found.items()]

    def _labels(self, rows: np.ndarray) -> AtomLabels:
        """What files of atoms say of each atom; residues of repeated cells are counted on."""
        found, n = self.found, len(self.species)
        elements = [one if AtomLabels.symbol_of(one) == one else "" for one in self.species]
        columns = {name: found[name] for name in ("names", "residues") if found.get(name)}
        labels = {name: tuple(words[k] for k in rows) for name, words in columns.items()}
        numbers = found.get("arrays", {}).get("residuenumbers")
        counted: list[int] = []
        if numbers is not None and "residues" in labels:
            apart = int(np.ptp(numbers)) + 1
            counted = [int(numbers[k]) + (place // n) * apart for place, k in enumerate(rows.tolist())]
        return AtomLabels(
            elements=tuple(elements[k] for k in rows),
            names=labels.get("names", ()),
            residues=labels.get("residues", ()),
            residue_numbers=tuple(counted),
        )

    def _tuples(self) -> dict[str, np.ndarray]:
        """Lists of LAMMPS data, and of several types each by itself, `bonds_1`."""
        made: dict[str, np.ndarray] = {}
        for name, one in self.found.get("lists", {}).items():
            made[LISTS[name]] = one["rows"].astype(np.int32)
            kinds = np.unique(one["types"])
            for kind in kinds if len(kinds) > 1 else ():
                made[f"{LISTS[name]}_{kind}"] = made[LISTS[name]][one["types"] == kind]
        return made


def _has_fractions(values: np.ndarray) -> bool:
    return bool((values != np.rint(values)).any())


def _as_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'
