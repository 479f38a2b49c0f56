"""Potentials from files of other programs: embedded-atom tables, Stillinger-Weber and Tersoff parameters."""
