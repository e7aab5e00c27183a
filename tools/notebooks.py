#!/usr/bin/env python3
"""Run the manual's notebooks and store their outputs, pictures among them.

    tools/notebooks.py [NAME ...]

NAME is that of a file in docs/notebooks without its suffix; all when left out. What they write goes to a folder that is
removed. Run this when a notebook, or what it shows, has changed.
"""

import os
import sys
import tempfile
from pathlib import Path

import environment  # noqa: F401  # first: it may hand over to the project's own Python
import nbclient
import nbformat

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def run(path):
    """Run a notebook and write it back with its outputs, and nothing that is of this machine or time."""
    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        given = {"metadata": {"path": place}}
        settings = {"timeout": 600, "kernel_name": "python3", "resources": given, "record_timing": False}
        nbclient.NotebookClient(book, **settings).execute(env=dict(os.environ))
    for cell in book.cells:
        if cell.cell_type == "code":  # what libraries say of this machine is left out
            cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
    book.metadata.language_info = {"name": "python"}
    nbformat.write(book, path)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        run(FOLDER / f"{name}.ipynb")
        print(f"docs/notebooks/{name}.ipynb")
