"""How Sphinx builds the manual: `sphinx-build -W --keep-going -b html docs build/docs`."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

import hpcchain

project = "hpcchain"
release = hpcchain.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # links to headings as code hosts have them: page.md#the-heading
exclude_patterns = ["images"]
html_theme = "furo"
html_title = f"hpcchain {release}"
html_show_copyright = False  # whose it is, the licence will say
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_math_renderer = "mathml"
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "member-order": "bysource"}


def setup(app: Sphinx) -> None:
    """Let formulas be MathML, which browsers draw themselves: pages need nothing from elsewhere."""
    app.add_html_math_renderer("mathml", (draw, None), (draw, None))


def draw(page, node) -> None:
    """Write a formula, in a line or on one of its own."""
    page.body.append(tex2mathml(node.astext(), as_block=node.tagname == "math_block"))
    raise SkipNode
