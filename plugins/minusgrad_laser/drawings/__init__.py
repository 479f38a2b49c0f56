"""Drawings as outlines: lines and curves of SVG, DXF, LightBurn and of text, in metres, with their layers."""
