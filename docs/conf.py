"""How Sphinx builds the manual: `sphinx-build -W --keep-going -b html docs build/docs`."""

import hpcchain

project = "hpcchain"
release = hpcchain.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
nb_execution_mode = "off"  # notebooks have their outputs: tools/notebooks.py
myst_heading_anchors = 4  # links to headings as code hosts have them: page.md#the-heading
exclude_patterns = ["images"]
html_theme = "furo"
html_title = f"hpcchain {release}"
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "member-order": "bysource"}
