"""Projects of LightBurn (.lbrn2, .lbrn): shapes in millimetres, and the cut settings of their layers."""
