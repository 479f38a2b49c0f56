"""Supports beside holds: planes at any angle, springs and dashpots on sides, rigid sides."""
