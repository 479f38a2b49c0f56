"""Pictures of SVG files by resvg: examined, sized, drawn in tiles, each warning judged."""
