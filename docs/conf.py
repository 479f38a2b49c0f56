"""Sphinx: the documentation site. `make docs` builds it into build/site, without a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "minusgrad"
author = copyright = "the authors of minusgrad"
html_title = "minusgrad"
language = "en"
smartquotes = False

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "extensions.mathml",
    "extensions.docstrings",
    "extensions.generated",
]
exclude_patterns = ["pictures", "extensions", "_static"]

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_typehints_format = "short"
maximum_signature_line_length = 80
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "github-dark"
