"""SVG as outlines: what a file draws is resolved by the rules of SVG 2, or refused with its line and element.

`elements` reads the XML, `styles` the cascade, `walk` goes through what is rendered, `reading` is the door.
"""
