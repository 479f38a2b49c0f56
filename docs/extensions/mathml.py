"""Mathematics as MathML: formulas of pages become elements that browsers draw by themselves.

docutils converts LaTeX to MathML. Pages need neither JavaScript nor fonts from the network, and Sphinx
depends on docutils anyway. Without it the choices are MathJax and KaTeX, which are loaded from a network or
must be shipped (MathJax 3 is 2 MB without its fonts).
"""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer; `html_math_renderer = "mathml"` in conf.py selects it."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(converted(node.astext(), as_block=False))
    raise nodes.SkipNode


def displayed(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{converted(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def converted(latex: str, *, as_block: bool) -> str:
    """The MathML of a formula; a formula that docutils cannot convert ends the build."""
    try:
        return tex2mathml(latex, as_block=as_block)
    except Exception as error:
        raise ExtensionError(f"the formula {latex!r} cannot be converted to MathML: {error}") from error
