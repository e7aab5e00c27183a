"""How Sphinx builds the manual: `sphinx-build -W --keep-going -b html docs build/docs`."""

from docutils.nodes import SkipNode, caption, figure, image, paragraph
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

import hpcchain

project = "hpcchain"
release = hpcchain.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "off"  # notebooks have their outputs: tools/notebooks.py
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
    """Let formulas be MathML, which browsers draw by themselves, and give pictures captions."""
    app.add_html_math_renderer("mathml", (draw, None), (draw, None))
    app.connect("doctree-read", with_captions)


def draw(page, node) -> None:
    """Write a formula, in a line or on one of its own."""
    page.body.append(tex2mathml(node.astext(), as_block=node.tagname == "math_block"))
    raise SkipNode


def with_captions(_, page) -> None:
    """Write below each picture that stands alone what its text says."""
    for alone in list(page.findall(paragraph)):
        if len(alone.children) == 1 and isinstance(alone[0], image) and alone[0].get("alt"):
            shown = figure("", alone[0], caption("", alone[0]["alt"]))
            page.set_id(shown)
            alone.replace_self(shown)
