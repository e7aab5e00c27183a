"""The manual's notebooks run from top to bottom; what they assert holds; they are stored without output."""

import pytest

from tests.support.launching import ROOT, clean_environment

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(path, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=200, kernel_name="python3", resources=place).execute(env=clean_environment())
    assert len(cells) >= 5
