"""Text as outlines of a font's glyphs, placed by HarfBuzz."""
